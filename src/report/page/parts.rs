//! What several charts have in common: the parts of a bar, the legend, lengths in percent, the classes of colours.
//!
//! Decides nothing about what is shown.

use std::io::{self, Write};

use super::Tone;
use super::safe::escaped;

/// The names of tones, each with a patch of its colour.
pub(super) fn legend<'t>(
    parts: impl Iterator<Item = (Tone, &'t str)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "<ul class=\"legend\">")?;
    for (tone, name) in parts {
        write!(
            out,
            "<li><svg class=\"key\" aria-hidden=\"true\"><rect class=\"{}\" width=\"100%\" height=\"100%\"/></svg>{}</li>",
            tone.class(),
            escaped(name)
        )?;
    }
    writeln!(out, "</ul>")
}

/// The parts of a bar, side by side; a bar of size `longest` takes the full width.
pub(super) fn picture(
    parts: &[(Tone, u64)],
    longest: u64,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "<svg role=\"img\" width=\"100%\" height=\"14\"><title>{}</title>",
        escaped(title)
    )?;
    let mut start = 0;
    for (tone, size) in parts.iter().filter(|(_, size)| *size > 0) {
        write!(
            out,
            "<rect class=\"{}\" x=\"{}%\" width=\"{}%\" height=\"14\"/>",
            tone.class(),
            percent(start as f64, longest as f64),
            percent(*size as f64, longest as f64)
        )?;
        start += size;
    }
    write!(out, "</svg>")
}

/// `part` of `whole` in percent, to 2 decimals; written without trailing zeros.
pub(super) fn percent(part: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => (part / whole * 10_000.0).round() / 100.0,
        false => 0.0,
    }
}

/// The number of tones without a meaning.
const NTH: usize = 8;

impl Tone {
    /// Its class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Stays => "stays",
            Tone::Gone => "gone",
            Tone::Added => "added",
            Tone::Nth(n) => ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"][n % NTH],
        }
    }
}
