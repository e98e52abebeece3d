//! Citations in a model's text: `[L12]` names the line of the transcript that a statement comes from.
//!
//! PURE. Knows only their form; `gate` checks whether a citation is correct.

use std::ops::Range;

/// The longest citation, in bytes.
const LONGEST: usize = 80;

/// A citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citation {
    /// Its range in the text.
    pub(super) at: Range<usize>,
    /// The line ranges that it names, first and last; equal for a single line.
    pub(super) lines: Vec<(u64, u64)>,
}

/// The citations in a text: `[L3]`, `[L3, L5]`, `[L3-L5]`. A word next to them, as in the label `[L3 user]`, is ignored.
pub(super) fn citations(text: &str) -> Vec<Citation> {
    let begins = text.match_indices("[L").map(|(at, _)| at);
    let citation = |at: usize| {
        let near = &text.as_bytes()[at..text.len().min(at + LONGEST + 1)];
        let end = at + memchr::memchr(b']', near)?;
        let parts = text[at + 1..end].split([',', ';', ' ']);
        let is_word = |part: &&str| part.chars().all(|c| c.is_ascii_lowercase());
        let lines: Option<Vec<_>> = parts.filter(|part| !is_word(part)).map(lines).collect();
        Some(Citation {
            at: at..end + 1,
            lines: lines?,
        })
    };
    begins.filter_map(citation).collect()
}

/// The lines of one part: `L3`, `3`, `L3-L5` or `L3–5`.
fn lines(part: &str) -> Option<(u64, u64)> {
    let number = |part: &str| {
        let digits = part.strip_prefix('L').unwrap_or(part);
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    };
    match part.split_once(['-', '–']) {
        Some((from, to)) => Some((number(from)?, number(to)?)),
        None => number(part).map(|line| (line, line)),
    }
}

/// The text without its citations and the blank before each; at the start of a line, the blank after it.
pub(super) fn without_citations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for citation in citations(text) {
        let before = &text[end..citation.at.start];
        out.push_str(before.strip_suffix(' ').unwrap_or(before));
        end = citation.at.end;
        if (out.is_empty() || out.ends_with('\n')) && text[end..].starts_with(' ') {
            end += 1;
        }
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_known_by_their_form() {
        let lines = |text: &str| {
            let found = citations(text).into_iter();
            found.map(|citation| citation.lines).collect::<Vec<_>>()
        };
        assert_eq!(
            lines("a [L3]. b [L3, L5; 7] [L8-L10][L11–12] [L4 user]"),
            [
                vec![(3, 3)],
                vec![(3, 3), (5, 5), (7, 7)],
                vec![(8, 10)],
                vec![(11, 12)],
                vec![(4, 4)],
            ]
        );
        for text in ["[L]", "[Lx]", "[L3", "[ L3]", "[L-3]", "[L3-]", "[List]"] {
            assert_eq!(lines(text), Vec::<Vec<(u64, u64)>>::new(), "{text}");
        }
    }

    #[test]
    fn a_citation_that_does_not_end_is_not_sought_to_the_end() {
        assert_eq!(citations(&"[L".repeat(4_000_000)), []);
    }

    #[test]
    fn a_text_is_as_it_was_without_them() {
        let text = "Done [L3] and [L4,L5]\n- [L6] more [Lx].\n[L7] read: a";
        assert_eq!(without_citations(text), "Done and\n- more [Lx].\nread: a");
    }
}
