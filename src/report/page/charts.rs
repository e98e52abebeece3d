//! Charts as HTML tables with small SVG pictures: they fit any width, can be printed, and need no script.
//!
//! Lengths are percentages, so that nothing is scaled and text keeps its size. Every figure is also there as text.

use std::io::{self, Write};

use super::parts::{legend, picture};
use super::safe::{escaped, unbroken};
use super::{Bar, Bars, Chart, curves, histogram};

/// Names longer than this are placed above their bar.
const LONG_NAME: usize = 20;

/// Writes a chart as a section; `number` makes its ids unique.
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
