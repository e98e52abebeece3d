//! A histogram with ten buckets of ten percent each, with its outliers by name.
//!
//! Positions and heights are percentages; text keeps its size at any width.

use std::io::{self, Write};

use super::Histogram;
use super::parts::percent;
use super::safe::{amount_of, escaped, figure};

/// The share of the height that the tallest column takes; its count is above it.
const TALLEST: f64 = 78.0;
/// The share of the height above the axis.
const AXIS: f64 = 88.0;

/// Writes the picture and the outliers.
pub(super) fn write(chart: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let most = chart.tenths.iter().copied().max().unwrap_or(0);
    let told: Vec<String> = chart
        .tenths
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(at, n)| format!("{}: {}", range(at), amount_of(*n, chart.what)))
        .collect();
    write!(
        out,
        "<svg class=\"plot low\" role=\"img\"><title>{}</title><desc>{}</desc>",
        escaped(chart.title),
        escaped(&told.join(", "))
    )?;
    for (at, n) in chart.tenths.iter().enumerate() {
        let height = percent(*n as f64, most as f64) * TALLEST / 100.0;
        if *n == 0 {
            continue;
        }
        write!(
            out,
            "<rect class=\"stays\" x=\"{}%\" y=\"{:.2}%\" width=\"9%\" height=\"{height:.2}%\"><title>{}: {}</title></rect>\
             <text class=\"mid\" x=\"{}%\" y=\"{:.2}%\" dy=\"-4\">{}</text>",
            at as f64 * 10.0 + 0.5,
            AXIS - height,
            range(at),
            escaped(&amount_of(*n, chart.what)),
            at * 10 + 5,
            AXIS - height,
            figure(*n)
        )?;
    }
    write!(
        out,
        "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{AXIS}%\" y2=\"{AXIS}%\"/>"
    )?;
    for at in [0, 20, 40, 60, 80, 100] {
        let anchor = match at {
            0 => "start",
            100 => "end",
            _ => "mid",
        };
        write!(
            out,
            "<text class=\"tick {anchor}\" x=\"{at}%\" y=\"100%\" dy=\"-3\">{at}%</text>"
        )?;
    }
    writeln!(out, "</svg>")?;
    if chart.outliers.is_empty() {
        return Ok(());
    }
    writeln!(out, "<p>Far from the others:</p>\n<ul class=\"outliers\">")?;
    for (name, value) in &chart.outliers {
        writeln!(
            out,
            "<li><span class=\"n\">{}</span> {}</li>",
            escaped(value),
            escaped(name)
        )?;
    }
    writeln!(out, "</ul>")
}

fn range(at: usize) -> String {
    format!("{}–{}%", at * 10, at * 10 + 10)
}
