//! What a table may use of the screen that shows it: its width, colours, bars.
//!
//! Never asks the system: the program finds out what the screen is. Without colours, a table is the same plain text everywhere.

use std::borrow::Cow;

/// Where a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The longest row, in characters.
    pub width: usize,
    /// What it is drawn with.
    pub ink: Ink,
}

impl Screen {
    /// A screen of that many characters, which shows text alone.
    pub const fn plain(width: usize) -> Screen {
        Screen {
            width,
            ink: Ink::Plain,
        }
    }
}

/// Whether a table is drawn with colours and bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Text alone.
    Plain,
    /// As a terminal shows it.
    Colour,
}

/// What a colour says.
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
    /// Of the 16 colours that every terminal has, and that its user has chosen to be readable.
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

/// A bar of at most `cells` characters for a share in thousandths. What is more than nothing is drawn.
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
