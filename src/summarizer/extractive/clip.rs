//! Shortens texts, and splits them into sentences.
//!
//! Cuts fall between names if possible, since half a path looks like a path. Cuts are marked, and no word is added.

use std::borrow::Cow;

use super::entities::is_in_names;
use crate::text::floor_boundary;
use crate::tokens::Estimator;

/// Marks a cut.
pub(super) const CUT: &str = "…";

/// How far back a cut looks for a place between names, in bytes.
const LOOK_BACK: usize = 160;

/// The start of `text`, of about `most` bytes at most.
pub(super) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{} {CUT}", text[..cut(text, most)].trim_end()))
}

/// `text` if it has at most `most` tokens, otherwise its start and its end: the middle of a long text was mostly pasted between a
/// person's own words.
pub(super) fn clip_to_tokens<'t>(text: &'t str, most: u64, estimator: &Estimator) -> Cow<'t, str> {
    clip_by(text, most, estimator, |bytes| joined(around(text, bytes)))
}

/// As `clip_to_tokens`, in whole sentences and lines, so that no two halves read as one: "The user … proceed" does not mean "The
/// user doesn't want to proceed".
pub(super) fn clip_to_sentences<'t>(
    text: &'t str,
    most: u64,
    estimator: &Estimator,
) -> Cow<'t, str> {
    clip_by(text, most, estimator, |bytes| {
        let (head, tail) = around(text, bytes);
        let after = text.len() - tail.len();
        let begins = match starts(text).rev().find(|start| *start <= after) {
            Some(start) if start == after => tail,
            Some(_) | None => starts(tail).next().map_or("", |start| &tail[start..]),
        };
        let end = starts(text).rev().find(|start| *start <= head.len());
        let whole = end.map_or("", |end| head[..end].trim_end());
        joined((whole, begins))
    })
}

/// The start positions of the sentences and lines of a text, except the first one.
fn starts(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    text.match_indices(is_end).filter_map(|(at, end)| {
        let rest = &text[at + end.len()..];
        let begins = rest.trim_start();
        let is_start = end == "\n" || end.len() > 1 || begins.len() < rest.len();
        (is_start && !begins.is_empty()).then(|| text.len() - begins.len())
    })
}

/// `text` if it has at most `most` tokens, otherwise the longest fitting result of `shorter`, which shortens it to a number of
/// bytes.
fn clip_by<'t>(
    text: &'t str,
    most: u64,
    estimator: &Estimator,
    shorter: impl Fn(usize) -> String,
) -> Cow<'t, str> {
    let fits = |text: &str| estimator.tokens(estimator.text(text)) <= most;
    if fits(text) {
        return Cow::Borrowed(text);
    }
    let (mut clipped, mut low) = (CUT.to_owned(), 0);
    // No counting method has more bytes of meaningful text per token.
    let mut high = text.len().min(
        usize::try_from(most)
            .unwrap_or(usize::MAX)
            .saturating_mul(32),
    );
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let shorter = shorter(middle);
        if fits(&shorter) {
            (clipped, low) = (shorter, middle);
        } else {
            high = middle - 1;
        }
    }
    Cow::Owned(clipped)
}

/// The start and the end of a text, of about `bytes` bytes together.
fn around(text: &str, bytes: usize) -> (&str, &str) {
    let head = cut(text, bytes - bytes / 3);
    let after = cut(text, text.len() - bytes / 3).max(head);
    (text[..head].trim_end(), text[after..].trim_start())
}

fn joined((head, tail): (&str, &str)) -> String {
    let between = |part: &str| if part.is_empty() { "" } else { "\n" };
    format!("{head}{}{CUT}{}{tail}", between(head), between(tail))
}

/// The last position at or before `most` between two names, or at least between two characters.
fn cut(text: &str, most: usize) -> usize {
    let most = floor_boundary(text, most);
    let mut next = text[most..].chars().next();
    let mut at = most;
    for c in text[..most].chars().rev() {
        if !is_in_names(c) || !next.is_some_and(is_in_names) {
            return at;
        }
        next = Some(c);
        at -= c.len_utf8();
        if most - at > LOOK_BACK {
            return most;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::preset;

    #[test]
    fn a_cut_leaves_no_half_of_a_name() {
        assert_eq!(clip("see src/parser.rs", 17), "see src/parser.rs");
        assert_eq!(clip("see src/parser.rs", 14), "see …");
        assert_eq!(clip("修复解析器", 7), "修复 …");
        let blob = "x".repeat(400);
        assert_eq!(clip(&blob, 300), format!("{} …", "x".repeat(300)));
    }

    #[test]
    fn a_long_text_keeps_its_start_and_its_end() {
        let auto = preset("auto").unwrap();
        let estimator = Estimator::new(&auto.tokens).unwrap();
        let text = format!("Fix this:\n{}that is all", "some log line\n".repeat(500));
        let clipped = clip_to_tokens(&text, 30, &estimator);
        assert!(estimator.tokens(estimator.text(&clipped)) <= 30);
        assert!(clipped.starts_with("Fix this:\nsome log"), "{clipped}");
        assert!(
            clipped.contains("\n…\n") && clipped.ends_with("that is all"),
            "{clipped}"
        );
        assert_eq!(clip_to_tokens(&clipped, 30, &estimator), clipped);
        assert_eq!(clip_to_tokens(&text, 0, &estimator), CUT);
    }

    #[test]
    fn halves_of_sentences_are_not_joined() {
        let auto = preset("auto").unwrap();
        let estimator = Estimator::new(&auto.tokens).unwrap();
        let refusal = "The user doesn't want to proceed with this. The call was rejected, and nothing was written. \
                       STOP, and wait for what the user says next before you proceed.";
        let of = |most| clip_to_sentences(refusal, most, &estimator);
        assert_eq!(of(6), CUT);
        assert_eq!(of(20), "The user doesn't want to proceed with this.\n…");
        let longer = of(32);
        assert!(
            longer.starts_with("The user doesn't want to proceed with this."),
            "{longer}"
        );
        for part in longer.split(CUT) {
            let part = part.trim();
            assert!(part.is_empty() || part.ends_with('.'), "{longer}");
        }
        assert_eq!(of(500), refusal);
        let lines = format!("{}the last line", "some line of a log\n".repeat(99));
        let clipped = clip_to_sentences(&lines, 40, &estimator);
        assert!(clipped.starts_with("some line of a log\n"), "{clipped}");
        assert!(
            clipped.ends_with("\n…\nthe last line") || clipped.contains("a log\nthe last line"),
            "{clipped}"
        );
    }
}
