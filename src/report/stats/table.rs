//! The tables for people: inputs, then the shares of all together, then their windows.
//!
//! In long lists, only the largest entries are shown; the JSON has all.

use std::borrow::Cow;
use std::io::{self, Write};

use super::largest::largest;
use super::windows::{estimates, growth, presets, thresholds};
use super::{Stats, View};
use crate::outcome::{Examined, FileStatus};
use crate::report::cells::{percent, share};
use crate::report::column;
use crate::report::rows::{Foot, Table};
use crate::report::screen::Tint;
use crate::stats::{By, Counts, FileStats, PathCount, ToolCount, Weigh};
use crate::text::{count, printable, size, thousands};

/// Writes the tables.
///
/// Errors are the writer's, and those of entries that cannot be read.
pub fn write(stats: &Stats<'_>, view: View, out: &mut dyn Write) -> io::Result<()> {
    let folder = stats.folder();
    if !folder.is_empty() {
        writeln!(out, "in {}", printable(folder))?;
    }
    let [files, others] = parts(stats, view)?;
    for table in files {
        table.write(view.screen, out)?;
    }
    if let Some(times) = stats.head.timings() {
        writeln!(out, "{}", times.line())?;
    }
    if stats.head.totals.counted == 0 {
        return Ok(());
    }
    let counts = &stats.head.totals.counts;
    writeln!(out, "{}", view.screen.folded(&whereabouts(counts)))?;
    if counts.coverage.calls > 0 {
        writeln!(out, "{}", view.screen.folded(&counts.coverage.sentence()))?;
    }
    for table in others {
        writeln!(out)?;
        table.write(view.screen, out)?;
    }
    Ok(())
}

/// The columns that a narrow screen omits first: those that can be seen elsewhere, or matter less.
const SPARE: &[&str] = &[
    "dead tokens",
    "bytes",
    "messages",
    "turns",
    "format",
    "failed",
    "call tokens",
    "result tokens",
    "reads",
    "edits",
    "blocks",
    "message",
    "estimator",
    "summarises",
    "turn",
    "line",
    "overhead",
    "factor",
];

/// The table of inputs, and the non-empty tables of their contents.
pub(super) fn parts(stats: &Stats<'_>, view: View) -> io::Result<[Vec<Table>; 2]> {
    let top = view.top;
    let counts = &stats.head.totals.counts;
    let shown = stats.seen.files.iter();
    let shown: io::Result<Vec<Cow<'_, _>>> = shown.map(|at| stats.entries.get(*at)).collect();
    let mut shown = shown?;
    // The sort is stable: equal paths keep their order.
    shown.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    let shown: Vec<&Examined<FileStats>> = shown.iter().map(|file| &**file).collect();

    let mut inputs = vec![files(stats, &shown)];
    inputs[0].spare = SPARE;
    if stats.head.totals.counted == 0 {
        return Ok([inputs, Vec::new()]);
    }
    let whole = counts.live.tokens;
    let weight = |tokens: u64| vec![thousands(tokens), percent(tokens, whole)];
    let folder = stats.folder();
    let mut tables = Vec::new();
    for (name, shares) in [("role", &counts.roles), ("block", &counts.blocks)] {
        tables.push(ranked(
            [name, "blocks", "tokens", "share"],
            shares,
            usize::MAX,
            whole,
            |s| [vec![thousands(s.blocks)], weight(s.tokens)].concat(),
        ));
    }
    tables.push(ranked(
        [
            "tool",
            "calls",
            "failed",
            "call tokens",
            "result tokens",
            "share",
        ],
        &counts.tools,
        top,
        whole,
        |t: &ToolCount| {
            let numbers = [t.calls, t.failed, t.call_tokens, t.result_tokens];
            let mut cells: Vec<String> = numbers.into_iter().map(thousands).collect();
            cells.push(percent(t.weight(), whole));
            cells
        },
    ));
    tables.push(ranked(
        ["path", "reads", "edits", "tokens", "share"],
        &counts.paths,
        top,
        whole,
        |p: &PathCount| {
            let numbers = vec![thousands(p.reads), thousands(p.edits)];
            [numbers, weight(p.weight())].concat()
        },
    ));
    tables.push(largest(
        &counts.largest,
        (stats.entries.len(), folder),
        view,
    ));
    tables.extend(growth(stats, view));
    tables.push(thresholds(stats));
    tables.push(presets(stats));
    tables.push(estimates(stats, &shown));
    tables.retain(|table| !table.rows.is_empty());
    tables.iter_mut().for_each(|table| table.spare = SPARE);
    Ok([inputs, tables])
}

fn files(stats: &Stats<'_>, shown: &[&Examined<FileStats>]) -> Table {
    let folder = stats.folder();
    let columns = stats.columns();
    let figures = column::shown(&columns);
    let header = figures.iter().map(|column| column.heading());
    let mut table = Table::new(["file", "format"].into_iter().chain(header));
    table.words = &[0, 1];
    for file in shown {
        let format = file.file.format.as_deref().unwrap_or_default();
        let (format, tint) = match file.status {
            FileStatus::Examined => (format.to_owned(), None),
            FileStatus::Unsupported(_) => (format!("unsupported: {format}"), Some(Tint::Odd)),
            FileStatus::Failed => ("failed".to_owned(), Some(Tint::Bad)),
        };
        let number = table.rows.len();
        table.tints.extend(tint.map(|tint| (number, 1, tint)));
        let mut row = vec![
            printable(&file.file.path[folder.len()..]).into_owned(),
            format,
        ];
        row.extend(figures.iter().flat_map(|column| column.figures(&[file])));
        table.rows.push(row);
    }
    let all = stats.entries.len();
    if all > 1 {
        let hidden = (all - shown.len()) as u64;
        let rest = match hidden {
            0 => String::new(),
            _ => format!(", {} not shown", thousands(hidden)),
        };
        let files = count(all as u64, "file");
        let mut row = vec![format!("total{rest}"), files];
        row.extend(stats.seen.figures(&figures));
        table.rows.push(row);
        table.foot = Foot::Sum;
    }
    table
}

/// Where the bytes are.
fn whereabouts(counts: &Counts) -> String {
    let Counts {
        bytes,
        live,
        dead,
        mirrors,
        ..
    } = counts;
    let other = bytes.saturating_sub(live.bytes + dead.bytes + mirrors.bytes);
    format!(
        "live {}, dead {} in {}, repeated for viewers {}, other {}",
        size(live.bytes),
        size(dead.bytes),
        count(dead.lines, "line"),
        size(mirrors.bytes),
        size(other)
    )
}

fn ranked<T: Weigh + Default>(
    header: impl IntoIterator<Item = &'static str>,
    by: &By<T>,
    top: usize,
    whole: u64,
    cells: impl Fn(&T) -> Vec<String>,
) -> Table {
    let mut table = Table::new(header);
    let all = by.ranked();
    for (name, counted) in all.iter().take(top) {
        let mut row = vec![printable(name).into_owned()];
        row.extend(cells(counted));
        table.rows.push(row);
        table.bars.push(share(counted.weight(), whole));
    }
    let hidden = all.len().saturating_sub(top) as u64;
    table.note = (hidden > 0).then(|| format!("and {} more", thousands(hidden)));
    table
}
