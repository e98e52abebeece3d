//! Results that show a file with line numbers, as `cat -n` does.
//!
//! Removes the numbers only if every line has one and they are consecutive.

/// A file as a result shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numbered<'t> {
    /// The first line's number.
    pub(super) first: u64,
    /// The lines without their numbers.
    pub(super) lines: Vec<&'t str>,
    /// The text after them, which is not part of the file: a reminder, a hint that there is more.
    pub(super) after: &'t str,
    /// How the numbers are written.
    pub(super) style: Style,
}

/// How line numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `    12→text`
    Arrow,
    /// `    12⇥text`, as wide as `cat -n` writes it
    Padded,
    /// `12⇥text`, which may also be a line of tab-separated values
    Bare,
}

impl<'t> Numbered<'t> {
    /// Reads a result, with or without one line before the first number.
    pub(super) fn read(text: &'t str) -> Option<Numbered<'t>> {
        let (first, style) = match number(line_of(text).0) {
            Some((number, _, style)) => (number, style),
            None => {
                let (_, rest) = line_of(text);
                let (number, _, style) = number(line_of(rest?).0)?;
                return Some(Numbered::lines(rest?, number, style));
            }
        };
        Some(Numbered::lines(text, first, style))
    }

    fn lines(text: &'t str, first: u64, style: Style) -> Numbered<'t> {
        let mut lines = Vec::new();
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (line, next) = line_of(text);
            match number(line) {
                Some((number, line, its))
                    if its == style && number == first + lines.len() as u64 =>
                {
                    lines.push(line);
                }
                Some(_) | None => break,
            }
            rest = next;
        }
        Numbered {
            first,
            lines,
            after: rest.unwrap_or_default(),
            style,
        }
    }
}

/// The first line of `text`, and what comes after it.
fn line_of(text: &str) -> (&str, Option<&str>) {
    match text.split_once('\n') {
        Some((line, rest)) => (line, Some(rest)),
        None => (text, None),
    }
}

/// The number before a line, and the line.
fn number(line: &str) -> Option<(u64, &str, Style)> {
    let unpadded = line.trim_start_matches(' ');
    let digits = unpadded.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = unpadded.split_at(digits);
    let width = line.len() - rest.len();
    let (rest, style) = if let Some(rest) = rest.strip_prefix('→') {
        (rest, Style::Arrow)
    } else if width >= WIDTH {
        (rest.strip_prefix('\t')?, Style::Padded)
    } else {
        (rest.strip_prefix('\t')?, Style::Bare)
    };
    Some((number.parse().ok()?, rest, style))
}

/// The width of a number as `cat -n` writes it, in characters.
const WIDTH: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, first: u64, lines: &[&str], after: &str, style: Style) {
        let expected = Numbered {
            first,
            lines: lines.to_vec(),
            after,
            style,
        };
        assert_eq!(Numbered::read(text), Some(expected), "{text}");
    }

    #[test]
    fn numbers_come_off_exactly() {
        check(
            "     1→a\n     2→  b\n     3→",
            1,
            &["a", "  b", ""],
            "",
            Style::Arrow,
        );
        check(
            "    99→x\n   100→\ty\n",
            99,
            &["x", "\ty"],
            "",
            Style::Arrow,
        );
        check(
            "     7\ta\n     8\t\tb\r",
            7,
            &["a", "\tb\r"],
            "",
            Style::Padded,
        );
        check("1\ta\n2\tb\n\nmore", 1, &["a", "b"], "\nmore", Style::Bare);
        check("     1→     2→a", 1, &["     2→a"], "", Style::Arrow);
        check("100000\ta", 100_000, &["a"], "", Style::Padded);
    }

    #[test]
    fn a_number_that_is_not_the_next_one_ends_the_file() {
        check("     1→a\n     3→b", 1, &["a"], "     3→b", Style::Arrow);
        check("     1→a\n     2\tb", 1, &["a"], "     2\tb", Style::Arrow);
        check("head\n     5→a\nfoot", 5, &["a"], "foot", Style::Arrow);
    }

    #[test]
    fn other_texts_have_no_numbers() {
        for text in [
            "",
            "a",
            "1 a",
            "→a",
            "\ta",
            "x1→a",
            "one\ntwo\n     1→a",
            "99999999999999999999→a",
        ] {
            assert_eq!(Numbered::read(text), None, "{text}");
        }
    }
}
