//! Lines over a common axis, with marks where something happened and limits across.
//!
//! The browser stretches lines to the width; text, marks and axes are positioned by percentages, and keep their size. The values of
//! the axis are to the left of it, where no line crosses them, and nothing at the edge is cut off.

use std::io::{self, Write};

use super::parts::{legend, percent};
use super::safe::{escaped, figure};
use super::{Axis, Curves, Line, Unit};

/// The share of the height above the axis.
const AXIS: f64 = 90.0;
/// Leaves some room above the highest value for its mark.
const HEADROOM: f64 = 1.08;
/// A line with up to this many points shows each of them.
const POINTS_SHOWN: usize = 60;
/// Values longer than this many characters get more room.
const NARROW: usize = 6;

/// Maps values to positions in the picture, in percent.
struct Scale {
    x: (f64, f64),
    y: f64,
}

impl Scale {
    fn of(chart: &Curves) -> Self {
        let xs = || {
            chart
                .lines
                .iter()
                .flat_map(|line| line.points.iter().map(|p| p.0))
        };
        let ys = chart
            .lines
            .iter()
            .flat_map(|line| line.points.iter().map(|p| p.1));
        let limits = chart.limits.iter().map(|(limit, _)| *limit);
        let highest = ys.chain(limits).fold(0.0, f64::max);
        Scale {
            x: match chart.x.unit {
                Unit::Percent => (0.0, xs().fold(0.0, f64::max).max(1.0)),
                Unit::One => (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max)),
            },
            y: match chart.y.unit {
                Unit::Percent => 105.0,
                Unit::One => (highest * HEADROOM).max(1.0),
            },
        }
    }

    fn x(&self, x: f64) -> f64 {
        percent(x - self.x.0, self.x.1 - self.x.0)
    }

    fn y(&self, y: f64) -> f64 {
        (AXIS * 100.0 - percent(y, self.y) * AXIS).round() / 100.0
    }
}

/// Writes the picture.
pub(super) fn write(chart: &Curves, out: &mut dyn Write) -> io::Result<()> {
    if chart.lines.len() > 1 {
        legend(
            chart.lines.iter().map(|line| (line.tone, &line.name[..])),
            out,
        )?;
    }
    let scale = Scale::of(chart);
    writeln!(out, "<p class=\"axis-name\">{}</p>", escaped(chart.y.name))?;
    let is_narrow = |value: &f64| chart.y.unit.shown(*value).chars().count() <= NARROW;
    let class = match values(&chart.y, &scale).iter().all(is_narrow) {
        true => "plot ruled",
        false => "plot ruled wide",
    };
    writeln!(
        out,
        "<svg class=\"{class}\" role=\"img\"><title>{}</title><desc>{}</desc>",
        escaped(chart.title),
        escaped(&told(chart))
    )?;
    grid(&chart.y, &scale, out)?;
    for (limit, _) in &chart.limits {
        let y = scale.y(*limit);
        writeln!(
            out,
            "<line class=\"limit\" x1=\"0\" x2=\"100%\" y1=\"{y}%\" y2=\"{y}%\"/>"
        )?;
    }
    write!(
        out,
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"100%\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">"
    )?;
    for line in &chart.lines {
        let points = line.points.iter();
        let points: Vec<String> = points
            .map(|(x, y)| format!("{},{}", scale.x(*x), scale.y(*y)))
            .collect();
        write!(
            out,
            "<polyline class=\"{}\" points=\"{}\"/>",
            line.tone.class(),
            points.join(" ")
        )?;
    }
    writeln!(out, "</svg>")?;
    for line in &chart.lines {
        points(line, chart, &scale, out)?;
    }
    // Above the lines, so that it can be read where they cross it.
    for (limit, name) in &chart.limits {
        let y = scale.y(*limit);
        writeln!(
            out,
            "<text class=\"end limit-name\" x=\"100%\" y=\"{y}%\" dy=\"-4\">{}</text>",
            escaped(name)
        )?;
    }
    ends(&chart.x, &scale, out)?;
    writeln!(
        out,
        "</svg>\n<p class=\"axis-name end\">{}</p>",
        escaped(chart.x.name)
    )
}

fn points(line: &Line, chart: &Curves, scale: &Scale, out: &mut dyn Write) -> io::Result<()> {
    let shown = match line.points.len() <= POINTS_SHOWN {
        true => &line.points[..],
        false => &[],
    };
    for (x, y) in shown {
        writeln!(
            out,
            "<circle class=\"{}\" cx=\"{}%\" cy=\"{}%\" r=\"3\"><title>{}: {} {}, {} {}</title></circle>",
            line.tone.class(),
            scale.x(*x),
            scale.y(*y),
            escaped(&line.name),
            escaped(chart.x.name),
            chart.x.unit.shown(*x),
            chart.y.unit.shown(*y),
            escaped(chart.y.name)
        )?;
    }
    for (x, y, what) in &line.marks {
        writeln!(
            out,
            "<circle class=\"mark {}\" cx=\"{}%\" cy=\"{}%\" r=\"5\"><title>{}</title></circle>",
            line.tone.class(),
            scale.x(*x),
            scale.y(*y),
            escaped(what)
        )?;
    }
    Ok(())
}

/// The round values at which grid lines are drawn.
fn values(axis: &Axis, scale: &Scale) -> Vec<f64> {
    let top = match axis.unit {
        Unit::Percent => 100.0,
        Unit::One => scale.y,
    };
    let step = step(top);
    let values = (0..).map(|n| f64::from(n) * step);
    values.take_while(|value| *value <= top).collect()
}

/// Grid lines at round values.
fn grid(axis: &Axis, scale: &Scale, out: &mut dyn Write) -> io::Result<()> {
    for value in values(axis, scale) {
        let y = scale.y(value);
        let class = if value == 0.0 { "axis" } else { "grid" };
        writeln!(
            out,
            "<line class=\"{class}\" x1=\"0\" x2=\"100%\" y1=\"{y}%\" y2=\"{y}%\"/>\
             <text class=\"tick end\" x=\"0\" y=\"{y}%\" dx=\"-8\" dy=\"4\">{}</text>",
            axis.unit.shown(value)
        )?;
    }
    Ok(())
}

/// The first and the last value below the axis.
fn ends(axis: &Axis, scale: &Scale, out: &mut dyn Write) -> io::Result<()> {
    let (first, last) = scale.x;
    writeln!(
        out,
        "<text class=\"tick start\" x=\"0\" y=\"100%\" dy=\"-4\">{}</text>\
         <text class=\"tick end\" x=\"100%\" y=\"100%\" dy=\"-4\">{}</text>",
        axis.unit.shown(first),
        axis.unit.shown(last)
    )
}

/// A round distance between grid lines that yields three to six of them.
fn step(top: f64) -> f64 {
    let rough = (top / 4.0).max(1.0);
    let mut power = 1.0;
    while power * 10.0 <= rough {
        power *= 10.0;
    }
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= rough)
        .unwrap_or(10.0);
    factor * power
}

/// A description of the lines: where each begins, ends, and peaks.
fn told(chart: &Curves) -> String {
    let line = |line: &Line| {
        let [first, .., last] = &line.points[..] else {
            return line.name.clone();
        };
        let highest = line.points.iter().map(|p| p.1).fold(0.0, f64::max);
        let show = |y: f64| chart.y.unit.shown(y);
        format!(
            "{}: {} at first, {} at the end, {} at most",
            line.name,
            show(first.1),
            show(last.1),
            show(highest)
        )
    };
    let lines: Vec<String> = chart.lines.iter().map(line).collect();
    lines.join("; ")
}

impl Unit {
    /// A value of an axis, as people read it.
    fn shown(self, value: f64) -> String {
        match self {
            Unit::One => figure(value.round().max(0.0) as u64),
            Unit::Percent => format!("{}%", (value * 10.0).round() / 10.0),
        }
    }
}
