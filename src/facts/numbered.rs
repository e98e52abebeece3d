//! Results that show a file with line numbers, as `cat -n` does.
//!
//! Removes the numbers only if every line has one and they are consecutive. PURE.

/// A file as shown by a result.
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
    /// `12. text`, which may also be an item of a list
    Dotted,
    /// `  12 | text`, as wide as the last number
    Piped,
}

/// Which line numbers a tool may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// Those of `cat -n`.
    Plain,
    /// Also those of Copilot CLI, which not every version writes.
    Dotted,
    /// Only those of Cline.
    Piped,
}

impl Numbering {
    /// The line numbers that the tool of this name may write.
    pub(super) fn of(tool: &str) -> Numbering {
        match tool {
            "view" | "str_replace_editor" => Numbering::Dotted,
            "read_files" => Numbering::Piped,
            _ => Numbering::Plain,
        }
    }
}

impl<'t> Numbered<'t> {
    /// Reads a result, with or without one line before the first number.
    pub(super) fn read(text: &'t str, numbering: Numbering) -> Option<Numbered<'t>> {
        if numbering == Numbering::Dotted
            && let Some(file) = Numbered::dotted(text)
        {
            return file.is_no_list().then_some(file);
        }
        if numbering == Numbering::Piped {
            let (first, _) = barred(line_of(text).0)?;
            return Some(Numbered::lines(text, first, Style::Piped));
        }
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

    /// Reads a result whose lines all begin with a number and a dot: with line numbers, or a list.
    pub(super) fn dotted(text: &'t str) -> Option<Numbered<'t>> {
        let (first, _) = dotted(line_of(text).0)?;
        let file = Numbered::lines(text, first, Style::Dotted);
        file.after.is_empty().then_some(file)
    }

    /// Whether the lines cannot all be items of a list.
    fn is_no_list(&self) -> bool {
        let is_no_item = |line: &&str| line.is_empty() || line.starts_with([' ', '\t']);
        self.lines.iter().any(is_no_item)
    }

    fn lines(text: &'t str, first: u64, style: Style) -> Numbered<'t> {
        let mut lines = Vec::new();
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (line, next) = line_of(text);
            let numbered = match style {
                Style::Dotted => dotted(line).map(|(number, line)| (number, line, style)),
                Style::Piped => barred(line).map(|(number, line)| (number, line, style)),
                Style::Arrow | Style::Padded | Style::Bare => number(line),
            };
            match numbered {
                Some((number, line, its))
                    if its == style && Some(number) == first.checked_add(lines.len() as u64) =>
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
    match memchr::memchr(b'\n', text.as_bytes()) {
        Some(end) => (&text[..end], Some(&text[end + 1..])),
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

/// The number and the dot before a line, and the line.
fn dotted(line: &str) -> Option<(u64, &str)> {
    let (number, line) = line.split_once(". ")?;
    let is_one = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    Some((number.parse().ok().filter(|_| is_one)?, line))
}

/// The number and the bar before a line, and the line.
fn barred(line: &str) -> Option<(u64, &str)> {
    let (number, line) = line.split_once(" | ")?;
    let digits = number.trim_start_matches(' ');
    let is_one = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_one)?, line))
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
        assert_eq!(
            Numbered::read(text, Numbering::Plain),
            Some(expected),
            "{text}"
        );
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
        let last = "18446744073709551615→a\n18446744073709551615→b";
        let rest = "18446744073709551615→b";
        check(last, u64::MAX, &["a"], rest, Style::Arrow);
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
            assert_eq!(Numbered::read(text, Numbering::Plain), None, "{text}");
        }
    }

    #[test]
    fn bars_are_numbers_where_the_tool_writes_them() {
        let read = |text| Numbered::read(text, Numbering::Piped);
        let lines = |text| read(text).map(|file| (file.first, file.lines, file.after));
        let text = "  9 | use a;\n 10 | \n 11 | a | b\n\n[Showing lines 9-11 of 80.]";
        let after = "\n[Showing lines 9-11 of 80.]";
        assert_eq!(lines(text), Some((9, vec!["use a;", "", "a | b"], after)));
        assert_eq!(lines("9 | a\n11 | b"), Some((9, vec!["a"], "11 | b")));
        for text in ["", "a | b", " | a", "1|a", "1: a", "     1\ta"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Numbered::read("1 | a", Numbering::Plain), None);
    }

    #[test]
    fn dots_are_numbers_where_they_cannot_be_a_list() {
        let read = |text| Numbered::read(text, Numbering::Dotted);
        let lines = |text| read(text).map(|file| (file.first, file.lines));
        assert_eq!(
            lines("1. use a;\n2. \n3. \tb()"),
            Some((1, vec!["use a;", "", "\tb()"]))
        );
        assert_eq!(lines("9. a\n10.  b"), Some((9, vec!["a", " b"])));
        for text in [
            "1. a\n2. b",
            "9. a\n10. b",
            "1. a\n\n2. b",
            "1. a\n3. ",
            "01. ",
            "1.\ta",
            ". a",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Numbered::read("1. a\n2. ", Numbering::Plain), None);
        // Not every version numbers lines.
        assert_eq!(lines("     1\ta"), Some((1, vec!["a"])));
    }
}
