//! The sentences of `sentences/`, written before the phrases: ten of each kind and sign in each language.
//!
//! Every second one was held out while the phrases were written.

use super::*;

const LANGUAGES: [(&str, &str); 10] = [
    ("de", include_str!("sentences/de.txt")),
    ("en", include_str!("sentences/en.txt")),
    ("es", include_str!("sentences/es.txt")),
    ("fr", include_str!("sentences/fr.txt")),
    ("ja", include_str!("sentences/ja.txt")),
    ("ko", include_str!("sentences/ko.txt")),
    ("pt", include_str!("sentences/pt.txt")),
    ("ru", include_str!("sentences/ru.txt")),
    ("vi", include_str!("sentences/vi.txt")),
    ("zh", include_str!("sentences/zh.txt")),
];

/// Which of the sentences of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Shown,
    HeldOut,
}

#[derive(Debug, Default)]
struct Counts {
    positive: usize,
    found: usize,
    wrong: usize,
    /// The misjudged sentences.
    errors: Vec<String>,
}

impl Counts {
    fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.wrong).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.positive.max(1) as f64
    }
}

fn count(kind: &str, half: Half, only: Option<&str>) -> Counts {
    let holds: fn(&str) -> bool = match kind {
        "decision" => decides,
        "todo" => leaves_open,
        "refusal" => refuses,
        "correction" => corrects,
        other => panic!("{other}"),
    };
    let mut counts = Counts::default();
    for (language, text) in LANGUAGES {
        if only.is_some_and(|only| only != language) {
            continue;
        }
        let mut section = "";
        let mut seen = [0; 2];
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# ") {
                (section, seen) = (name, [0; 2]);
                continue;
            }
            let (sign, sentence) = line.split_once(' ').unwrap();
            let is_positive = sign == "+";
            let number = &mut seen[usize::from(is_positive)];
            *number += 1;
            let this = if *number % 2 == 1 {
                Half::Shown
            } else {
                Half::HeldOut
            };
            if section != kind || this != half {
                continue;
            }
            let is_found = holds(sentence);
            counts.positive += usize::from(is_positive);
            counts.found += usize::from(is_positive && is_found);
            counts.wrong += usize::from(!is_positive && is_found);
            if is_found != is_positive {
                counts.errors.push(format!("{language} {line}"));
            }
        }
    }
    counts
}

const KINDS: [&str; 4] = ["decision", "todo", "refusal", "correction"];

/// Precision and recall of each kind, and of each language over all kinds.
fn judge(half: Half) {
    for kind in KINDS {
        let all = count(kind, half, None);
        println!(
            "{half:?} {kind}: precision {:.3}, recall {:.3} {:#?}",
            all.precision(),
            all.recall(),
            all.errors
        );
        assert_eq!(all.positive, 50, "{kind}");
        assert!(all.precision() >= 0.95, "{kind} {all:#?}");
        assert!(all.recall() >= 0.7, "{kind} {all:#?}");
    }
    for (language, _) in LANGUAGES {
        let kinds = KINDS.map(|kind| count(kind, half, Some(language)));
        let found: usize = kinds.iter().map(|of| of.found).sum();
        let wrong: usize = kinds.iter().map(|of| of.wrong).sum();
        println!("{half:?} {language}: {found} found, {wrong} wrong");
        assert!(wrong * 20 <= found + wrong, "{language}: {wrong} wrong");
    }
}

#[test]
fn what_is_found_is_right_in_every_language() {
    judge(Half::Shown);
}

#[test]
fn what_was_held_out_is_found_too() {
    judge(Half::HeldOut);
}

#[test]
fn items_of_lists_have_boxes() {
    let state = |line| item(line).map(|item| (item.state, item.text));
    assert_eq!(state("- [ ] one"), Some((ItemState::Open, "one")));
    assert_eq!(state("  12) [X] two "), Some((ItemState::Done, "two")));
    assert_eq!(state("☐ three"), Some((ItemState::Open, "three")));
    for none in ["- [ ]", "- one", "[x](a.md) b", "12 [ ] a", "", "[ ]x", "-"] {
        assert_eq!(state(none), None, "{none}");
    }
}

#[test]
fn code_and_logs_do_nothing() {
    for text in [
        "let decided_at = now();",
        "fn instead_of() {}",
        "error: no such file",
        "0123456789",
        "....................",
        "\u{202e}\u{0}",
        "[x]",
    ] {
        assert!(
            !decides(text) && !leaves_open(text) && !refuses(text) && !corrects(text),
            "{text}"
        );
    }
}
