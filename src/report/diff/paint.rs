//! Colour for listings: what is gone, what is new, what has changed, what says where one is.
//!
//! Only ever around text that was made safe for a terminal.

use crate::diff::Fate;
use crate::report::Ink;

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Gone,
    New,
    Changed,
    Place,
    Faint,
}

impl Meaning {
    /// What a message is shown as.
    pub(super) fn of(fate: Fate) -> Self {
        match fate {
            Fate::Kept => Meaning::Faint,
            Fate::Cleared | Fate::Offloaded | Fate::Demoted | Fate::Edited => Meaning::Changed,
            Fate::Summarised | Fate::Dropped => Meaning::Gone,
            Fate::Summary | Fate::Acknowledgement | Fate::Inserted => Meaning::New,
        }
    }

    /// What a line of a unified diff is shown as.
    pub(super) fn of_line(line: &str) -> Self {
        match line.as_bytes().first() {
            Some(b'-') => Meaning::Gone,
            Some(b'+') => Meaning::New,
            Some(b'@') => Meaning::Place,
            Some(_) | None => Meaning::Faint,
        }
    }
}

impl Ink {
    /// A line in its colour; the text is safe already.
    pub(super) fn line(self, meaning: Meaning, text: &str) -> String {
        let code = match meaning {
            Meaning::Gone => 31,
            Meaning::New => 32,
            Meaning::Changed => 33,
            Meaning::Place => 36,
            Meaning::Faint => 2,
        };
        match self {
            Ink::Plain => text.to_owned(),
            Ink::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
