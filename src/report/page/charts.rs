//! Charts as tables of HTML with small SVG pictures: they fit any width, print, and need no script.
//!
//! Lengths are percentages, so that nothing is scaled and text keeps its size. Every figure is also there as text.

use std::io::{self, Write};

use super::safe::{escaped, unbroken};
use super::{Bar, Bars, Chart, Tone, curves, histogram};

/// Writes a chart as a section; `number` tells its ids from those of others.
pub(super) fn write(chart: &Chart, number: usize, out: &mut dyn Write) -> io::Result<()> {
    let (title, about) = match chart {
        Chart::Bars(bars) => (bars.title, &bars.about),
        Chart::Histogram(histogram) => (histogram.title, &histogram.about),
        Chart::Curves(curves) => (curves.title, &curves.about),
    };
    writeln!(
        out,
        "<section class=\"chart\" aria-labelledby=\"chart-{number}\">\n<h2 id=\"chart-{number}\">{}</h2>",
        escaped(title)
    )?;
    if !about.is_empty() {
        writeln!(out, "<p class=\"about\">{}</p>", escaped(&unbroken(about)))?;
    }
    match chart {
        Chart::Bars(chart) => bars(chart, out)?,
        Chart::Histogram(chart) => histogram::write(chart, out)?,
        Chart::Curves(chart) => curves::write(chart, out)?,
    }
    writeln!(out, "</section>")
}

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

fn bars(chart: &Bars, out: &mut dyn Write) -> io::Result<()> {
    if chart.parts.len() > 1 {
        legend(chart.parts.iter().copied(), out)?;
    }
    let longest = chart.bars.iter().map(length).max().unwrap_or(0);
    let is_long = |bar: &Bar| bar.name.chars().count() > LONG_NAME;
    let class = match chart.bars.iter().any(is_long) {
        true => "bars tall",
        false => "bars",
    };
    writeln!(out, "<table class=\"{class}\">")?;
    for bar in &chart.bars {
        let note = match bar.note.is_empty() {
            true => String::new(),
            false => format!(" <small>{}</small>", escaped(&bar.note)),
        };
        write!(
            out,
            "<tr><th scope=\"row\">{}{note}</th><td class=\"bar\">",
            escaped(&bar.name)
        )?;
        picture(
            &bar.parts,
            longest,
            &format!("{}: {}", bar.name, bar.value),
            out,
        )?;
        writeln!(
            out,
            "</td><td class=\"n\">{}</td></tr>",
            escaped(&bar.value)
        )?;
    }
    writeln!(out, "</table>")
}

fn length(bar: &Bar) -> u64 {
    bar.parts.iter().map(|(_, size)| size).sum()
}

/// The parts of a bar, side by side; `longest` is as wide as there is room.
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

/// A longer name stands above its bar.
const LONG_NAME: usize = 20;

/// How many tones without a meaning there are.
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
