//! Clips a long text to its start, a marker line that states roughly how much was omitted, and its end.
//!
//! PURE. Cuts fall between lines if possible, else between words, and never within a character. A text that was clipped
//! before loses more of its start and end, and its marker is updated.

use std::ops::Range;

use crate::text::{ceil_boundary, floor_boundary};
use crate::tokens::Estimator;

/// The marker around the number of omitted tokens. Agents that read files take "omitted" as a hint that there is more.
const AROUND: (&str, &str) = ("[… ", " tokens omitted …]");
/// The amounts below and above the range of rounded numbers. They are rounded so that no one takes them for part of the text.
const FEW: &str = "under 1k";
const MANY: &str = "over 99k";

/// How far a cut may be moved to reach a line or word boundary, in bytes.
const LOOK: usize = 256;

/// The most bytes of meaningful text per token, in any counting method.
const BYTES: usize = 32;

/// A text in two parts, between which something may be omitted.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'t> {
    head: &'t str,
    /// The number of omitted tokens; `None` if nothing is omitted, and then both parts are the whole text.
    omitted: Option<u64>,
    tail: &'t str,
}

/// As much of the start and the end of `text` as `fits` allows; only the marker if nothing fits. `text` has `tokens` tokens, of
/// which at most `budget` may stay.
pub(super) fn clipped(
    text: &str,
    tokens: u64,
    budget: u64,
    estimator: &Estimator,
    fits: impl Fn(&str) -> bool,
) -> String {
    let parts = Parts::of(text);
    let count = |text: &str| estimator.tokens(estimator.text(text));
    let all = match parts.omitted {
        Some(omitted) => count(parts.head) + omitted + count(parts.tail),
        None => tokens,
    };
    let of = |bytes: usize| {
        let (head, tail) = parts.ends(bytes);
        let omitted = all.saturating_sub(count(head) + count(tail));
        [head, &marker(omitted), tail]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (mut best, mut low) = (of(0), 0);
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let mut high = text.len().min(budget.saturating_mul(BYTES));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let longer = of(middle);
        if fits(&longer) {
            (best, low) = (longer, middle);
        } else {
            high = middle - 1;
        }
    }
    best
}

/// The marker line of `text`, if it was clipped.
pub fn marker_of(text: &str) -> Option<&str> {
    marked(text).map(|(line, _)| &text[line])
}

fn marker(tokens: u64) -> String {
    let amount = match (tokens + 500) / 1_000 {
        0 => FEW.to_owned(),
        thousands @ 1..=99 => format!("{thousands}k"),
        _ => MANY.to_owned(),
    };
    format!("{}{amount}{}", AROUND.0, AROUND.1)
}

/// The approximate number of tokens that a marker states.
fn stated(amount: &str) -> Option<u64> {
    match amount {
        FEW => Some(250),
        MANY => Some(100_000),
        amount => {
            let thousands: u32 = amount.strip_suffix('k')?.parse().ok()?;
            Some(u64::from(thousands) * 1_000)
        }
    }
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Self {
        match marked(text) {
            Some((line, omitted)) => Parts {
                head: text[..line.start].strip_suffix('\n').unwrap_or_default(),
                omitted: Some(omitted),
                tail: text[line.end..].strip_prefix('\n').unwrap_or_default(),
            },
            None => Parts {
                head: text,
                omitted: None,
                tail: text,
            },
        }
    }

    /// The start and the end with about `bytes` bytes together, a third of them from the end.
    fn ends(&self, bytes: usize) -> (&'t str, &'t str) {
        let head = before(self.head, bytes - bytes / 3);
        let mut from = after(self.tail, self.tail.len().saturating_sub(bytes / 3));
        if self.omitted.is_none() {
            from = from.max(head);
        }
        (&self.head[..head], &self.tail[from..])
    }
}

/// The place of the first marker line, and the number of tokens that it states.
fn marked(text: &str) -> Option<(Range<usize>, u64)> {
    text.match_indices(AROUND.0).find_map(|(start, _)| {
        // Checked first, so that each line is read once.
        if start > 0 && !text[..start].ends_with('\n') {
            return None;
        }
        let rest = &text[start..];
        let end = start + rest.find('\n').unwrap_or(rest.len());
        let says = text[start..end].strip_prefix(AROUND.0)?;
        let number = stated(says.strip_suffix(AROUND.1)?)?;
        Some((start..end, number))
    })
}

/// The end of the last line or word that ends at or before `limit`.
fn before(text: &str, limit: usize) -> usize {
    if limit >= text.len() {
        return text.len();
    }
    let limit = floor_boundary(text, limit);
    let near = floor_boundary(text, limit.saturating_sub(LOOK));
    // The next character counts too: if it is a blank, a word ends here.
    let next = text[limit..].chars().next().map_or(0, char::len_utf8);
    let seen = &text[near..limit + next];
    let line = seen.rfind('\n');
    let word = || seen.rfind(char::is_whitespace).filter(|at| *at > 0);
    line.or_else(word).map_or(limit, |at| near + at)
}

/// The start of the first line or word that starts at or after `limit`.
fn after(text: &str, limit: usize) -> usize {
    let limit = ceil_boundary(text, limit);
    if limit == 0 {
        return 0;
    }
    let near = ceil_boundary(text, limit.saturating_add(LOOK));
    let from = floor_boundary(text, limit - 1);
    let seen = &text[from..near];
    let ends = |at: usize| from + at + seen[at..].chars().next().map_or(0, char::len_utf8);
    let line = seen.find('\n');
    let word = || seen.find(char::is_whitespace);
    line.or_else(word).map_or(limit, ends)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::preset;

    fn estimator() -> Estimator {
        let mut tokens = preset("auto").unwrap().tokens;
        tokens.method = crate::policy::Method::Chars;
        Estimator::new(&tokens).unwrap()
    }

    /// `text` clipped to `most` tokens of four characters.
    fn to(text: &str, most: u64) -> String {
        let estimator = estimator();
        let count = |text: &str| estimator.tokens(estimator.text(text));
        clipped(text, count(text), most, &estimator, |text| {
            count(text) <= most
        })
    }

    #[test]
    fn the_start_and_the_end_stay_whole_lines() {
        // 100 lines of 8 characters: 200 tokens.
        let text: String = (0..100).map(|n| format!("line {n:02}\n")).collect();
        // 24 tokens are 99 characters. The marker and two line ends take 31; of the other 68, whole lines take 16 for the end
        // (a third) and 47 for the start.
        let expected = "line 00\nline 01\nline 02\nline 03\nline 04\nline 05\n\
                        [… under 1k tokens omitted …]\nline 98\nline 99\n";
        assert_eq!(to(&text, 24), expected);
        assert_eq!(to(&text, 0), "[… under 1k tokens omitted …]");
    }

    #[test]
    fn a_long_line_is_cut_between_words_or_characters() {
        let words = "word ".repeat(400);
        let clipped = to(&words, 30);
        let (head, tail) = clipped.split_once("\n[… ").unwrap();
        // A third of about 92 characters, in whole words, goes to the end; the rest goes to the start.
        assert_eq!(head, ["word"; 12].join(" "));
        let words = tail.split_once('\n').map(|(_, words)| words);
        assert_eq!(words, Some("word ".repeat(6).as_str()));
        let blob = "世".repeat(4_000);
        let clipped = to(&blob, 30);
        assert!(
            clipped.starts_with("世世") && clipped.ends_with("世世"),
            "{clipped}"
        );
    }

    #[test]
    fn what_was_clipped_is_clipped_again_to_the_same_sum() {
        let text: String = (0..9_000).map(|n| format!("line {n:04}\n")).collect();
        let once = to(&text, 100);
        let twice = to(&once, 40);
        let parts = Parts::of(&twice);
        let count = |text: &str| text.chars().count() as u64 / 4;
        let left = count(parts.head) + count(parts.tail);
        // The marker rounds: of 22 500 tokens all but some 100 are removed.
        assert_eq!((left / 100, parts.omitted), (0, Some(22_000)), "{twice}");
        assert!(text.starts_with(parts.head) && text.ends_with(parts.tail));
        assert_eq!(twice.matches("omitted").count(), 1);
        assert_eq!(to(&to(&text, 0), 0), to(&text, 0));
    }

    #[test]
    fn only_a_line_of_its_own_says_that_something_was_left_out() {
        assert_eq!(
            marker_of("a\n[… 12k tokens omitted …]\nb"),
            Some("[… 12k tokens omitted …]")
        );
        assert_eq!(
            marker_of("[… under 1k tokens omitted …]"),
            Some("[… under 1k tokens omitted …]")
        );
        for other in [
            "a [… 1k tokens omitted …]",
            "[… 1k tokens omitted …] b",
            "[… x tokens omitted …]",
            "",
        ] {
            assert_eq!(marker_of(other), None, "{other}");
        }
    }

    #[test]
    fn markers_without_end_are_not_read_to_the_end() {
        let text = AROUND.0.repeat(1_000_000);
        assert_eq!(marker_of(&text), None);
        assert_eq!(marker_of("[… 99999999999999999k tokens omitted …]"), None);
    }

    proptest! {
        #[test]
        fn what_is_left_is_the_start_and_the_end(text in "(?s)[a \n世🎉]{0,400}", most in 0u64..120) {
            let all = estimator().tokens(estimator().text(&text));
            prop_assume!(all > most);
            let clipped = to(&text, most);
            let parts = Parts::of(&clipped);
            prop_assert!(text.starts_with(parts.head) && text.ends_with(parts.tail));
            prop_assert!(parts.omitted.is_some());
            prop_assert!(clipped.chars().count() as u64 / 4 <= most || parts.head.is_empty() && parts.tail.is_empty());
        }
    }
}
