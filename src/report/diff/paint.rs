//! Colours for listings: gone, new, changed, and position.
//!
//! Only ever around text that was made safe for a terminal.

use std::borrow::Cow;

use crate::diff::Fate;
use crate::report::Ink;
use crate::report::screen::Tint;

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
    /// The meaning of a message with this fate.
    pub(super) fn of(fate: Fate) -> Self {
        match fate {
            Fate::Kept => Meaning::Faint,
            Fate::Cleared | Fate::Offloaded | Fate::Demoted | Fate::Edited => Meaning::Changed,
            Fate::Summarised | Fate::Dropped => Meaning::Gone,
            Fate::Summary | Fate::Acknowledgement | Fate::Inserted => Meaning::New,
        }
    }

    /// The meaning of a line of a unified diff.
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
    /// A line in its colour; the text must already be safe.
    pub(super) fn line(self, meaning: Meaning, text: &str) -> Cow<'_, str> {
        let tint = match meaning {
            Meaning::Gone => Tint::Bad,
            Meaning::New => Tint::Good,
            Meaning::Changed => Tint::Odd,
            Meaning::Place => Tint::Place,
            Meaning::Faint => Tint::Faint,
        };
        self.paint(text, Some(tint))
    }
}
