//! The properties of a stream for tables: its width, and whether it has colours.
//!
//! Does not write anything.

use anstream::AutoStream;
use anstream::stream::RawStream;
use clap::ValueEnum;

use crate::report::{Ink, Lines, Screen};

/// When tables are drawn with colours and bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

impl Color {
    /// The screen of this stream. The usual variables are respected: NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM.
    pub(super) fn screen(self, stream: &impl RawStream) -> Screen {
        let is_coloured = match self {
            Color::Auto => AutoStream::choice(stream) != anstream::ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        };
        let ink = if is_coloured { Ink::Colour } else { Ink::Plain };
        Screen {
            width: width().unwrap_or(WITHOUT_TERMINAL),
            ink,
            lines: match stream.is_terminal() {
                true => Lines::Folded,
                false => Lines::Whole,
            },
        }
    }
}

/// The width of a table that is not shown on a terminal, in columns.
const WITHOUT_TERMINAL: usize = 100;
/// Narrower terminals do not show tables properly, so this is the minimum width.
const FEWEST: usize = 20;

/// The width of prose on the terminal, if there is one: longer lines are hard to read.
pub(super) fn text_width() -> Option<usize> {
    const WIDEST: usize = 100;
    width().map(|width| width.min(WIDEST))
}

/// The width of the terminal in columns, if there is one. `COLUMNS` overrides it.
fn width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let of_terminal = || Some(usize::from(terminal_size::terminal_size()?.0.0));
    let columns = columns.or_else(of_terminal);
    // Terminals that do not know their size report 0.
    let columns = columns.filter(|columns| *columns > 0);
    columns.map(|columns| columns.max(FEWEST))
}
