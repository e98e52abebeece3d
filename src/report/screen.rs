//! The features of the screen that a table may use: its width, colours, bars.
//!
//! Never queries the system: the program determines what the screen is. Without colours, a table is the same plain text everywhere.

use std::borrow::Cow;

use super::page::unbroken;

/// Where a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The maximum length of a row, in characters.
    pub width: usize,
    /// What it is drawn with.
    pub ink: Ink,
    /// Whether longer lines of text are wrapped at words.
    pub lines: Lines,
}

/// What happens to lines of text that are longer than a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// They stay as they are, because another program reads them.
    Whole,
    /// They are wrapped at words, because a terminal would break them inside words and numbers.
    Folded,
}

impl Screen {
    /// A screen of that many characters that shows only text.
    pub const fn plain(width: usize) -> Screen {
        Screen {
            width,
            ink: Ink::Plain,
            lines: Lines::Whole,
        }
    }

    /// A line of text, wrapped if necessary; continuation lines are indented like the first.
    pub(super) fn folded<'t>(self, line: &'t str) -> Cow<'t, str> {
        match self.lines {
            Lines::Whole => Cow::Borrowed(line),
            Lines::Folded => fold(line, self.width),
        }
    }
}

/// The first words of a text that has no room in `width` characters, with an ellipsis. Numbers stay whole.
pub(super) fn first_words(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let folded = fold(text, width.saturating_sub(1));
    let first = folded.lines().next().unwrap_or_default();
    let first: String = first.chars().take(width.saturating_sub(1)).collect();
    first.trim_end_matches([' ', ',', ';']).to_owned() + "…"
}

/// Wraps a line at spaces, so that no piece is longer than `width` unless a single word is. Does not break at the spaces in
/// numbers.
fn fold(line: &str, width: usize) -> Cow<'_, str> {
    if line.chars().count() <= width {
        return Cow::Borrowed(line);
    }
    let text = line.trim_start_matches(' ');
    let indent = &line[..line.len() - text.len()];
    // The same length in characters, but with non-breaking spaces in numbers.
    let marked = unbroken(text);
    let mut pieces = vec![String::new()];
    let mut at = text.chars();
    for word in marked.split(' ') {
        let length = word.chars().count();
        let word: String = at.by_ref().take(length).collect();
        at.next();
        let last = pieces.last().map_or(0, |piece| piece.chars().count());
        let fits = indent.len() + last + 1 + length <= width;
        match pieces.last_mut() {
            Some(piece) if last == 0 => piece.push_str(&word),
            Some(piece) if fits => {
                piece.push(' ');
                piece.push_str(&word);
            }
            Some(_) | None => pieces.push(word),
        }
    }
    let pieces: Vec<String> = pieces
        .iter()
        .map(|piece| format!("{indent}{piece}"))
        .collect();
    Cow::Owned(pieces.join("\n"))
}

/// Whether a table is drawn with colours and bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Text only.
    Plain,
    /// With colours and bars, as on a terminal.
    Colour,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tint {
    /// A heading or a total.
    Strong,
    /// Less important text.
    Faint,
    /// All is well, or new.
    Good,
    /// Worth a look, or changed.
    Odd,
    /// Wrong, or gone.
    Bad,
    /// Where something is.
    Place,
}

impl Tint {
    /// Only uses the 16 colours that every terminal has, which its user has chosen to be readable.
    fn code(self) -> &'static str {
        match self {
            Tint::Strong => "1",
            Tint::Faint => "2",
            Tint::Good => "32",
            Tint::Odd => "33",
            Tint::Bad => "31",
            Tint::Place => "36",
        }
    }
}

impl Ink {
    /// A text in this tint.
    pub(super) fn paint(self, text: &str, tint: Option<Tint>) -> Cow<'_, str> {
        match (self, tint) {
            (Ink::Colour, Some(tint)) if !text.trim().is_empty() => {
                Cow::Owned(format!("\u{1b}[{}m{text}\u{1b}[0m", tint.code()))
            }
            (Ink::Colour | Ink::Plain, _) => Cow::Borrowed(text),
        }
    }
}

/// Eighths of a cell.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar of at most `cells` characters for a share in thousandths. Anything above zero is visible.
pub(super) fn bar(permille: u16, cells: usize) -> String {
    let eighths = (usize::from(permille.min(1000)) * cells * 8).div_ceil(1000);
    let rest = (eighths % 8).checked_sub(1).map(|rest| EIGHTHS[rest]);
    let whole = std::iter::repeat_n('█', eighths / 8);
    whole.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (permille, expected) in [
            (0, ""),
            (1, "▏"),
            (125, "█"),
            (500, "████"),
            (510, "████▏"),
            (1000, "████████"),
            (2000, "████████"),
        ] {
            assert_eq!(bar(permille, 8), expected, "{permille}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_never_in_a_number() {
        let line = "  12 results cleared −431 445, 3 outputs moved";
        assert_eq!(
            fold(line, 24),
            "  12 results cleared\n  −431 445, 3 outputs\n  moved"
        );
        assert_eq!(fold(line, 100), line);
        assert_eq!(fold("  abcdefghijkl mn", 6), "  abcdefghijkl\n  mn");
    }

    #[test]
    fn colours_are_for_screens_that_have_them() {
        assert_eq!(Ink::Plain.paint("a", Some(Tint::Bad)), "a");
        assert_eq!(Ink::Colour.paint("a", None), "a");
        assert_eq!(Ink::Colour.paint("  ", Some(Tint::Bad)), "  ");
        assert_eq!(
            Ink::Colour.paint("a", Some(Tint::Bad)),
            "\u{1b}[31ma\u{1b}[0m"
        );
    }
}
