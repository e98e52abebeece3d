//! The page of `stats`: what takes the tokens, by role, block, tool and file, and how the windows grew.
//!
//! A recorded compaction is marked on a curve where its summary is: the history before it is not in the live window.

use std::io::{self, Write};

use super::Stats;
use super::largest::hints;
use super::seen::CURVES;
use super::windows::name_of;
use crate::outcome::{Entries, Examined};
use crate::report::cells::{not_examined, percent};
use crate::report::column::{Column as Described, shown};
use crate::report::groups::{Sum, files};
use crate::report::left_out;
use crate::report::page::{
    self, Align, Axis, Bar, Bars, Cell, Chart, Column, ColumnKind, Curves, Detail, DetailTable,
    Fact, Line, Page, Rows, ShowDetail, ShowRow, Table, Tone, Unit, amount, amount_of, figure,
};
use crate::report::times::{phases, time};
use crate::stats::{By, ConversationStats, FileStats, PathCount, Share, ToolCount, Weigh};

/// The maximum number of bars in a chart; others are not shown.
const BARS: usize = 12;
/// The maximum number of conversations and blocks below a row.
const MOST: usize = 50;

/// Writes the page.
pub(super) fn write(stats: &Stats<'_>, out: &mut dyn Write) -> io::Result<()> {
    let counts = &stats.head.totals.counts;
    let files = Files {
        files: stats.entries,
        columns: stats.columns(),
    };
    let figures = shown(&files.columns)
        .into_iter()
        .flat_map(Described::on_page);
    let page = Page {
        command: "stats",
        headline: format!("{} tokens", figure(counts.live.tokens)),
        lead: format!(
            "In the live windows of {}, by the estimator {}.",
            amount_of(stats.head.totals.files, "file"),
            stats.head.about.estimator
        ),
        bar: None,
        facts: facts(stats)
            .into_iter()
            .chain(time(stats.head.timings()))
            .collect(),
        lists: vec![left_out::list(stats.head.not_read())],
        charts: charts(stats),
        table: Table {
            what: "file",
            columns: lead().into_iter().chain(figures).collect(),
            rows: &files,
        },
        policies: std::slice::from_ref(&stats.head.about.policy),
    };
    page::write(&page, out)
}

fn facts(stats: &Stats<'_>) -> Vec<Fact> {
    let counts = &stats.head.totals.counts;
    let mut facts = vec![
        Fact {
            name: "Messages",
            value: figure(counts.live.messages),
            note: format!(
                "{}, {}",
                amount_of(counts.live.turns, "turn"),
                amount_of(counts.live.conversations, "conversation")
            ),
        },
        Fact {
            name: "Size",
            value: amount(counts.bytes),
            note: format!("{} of it live", amount(counts.live.bytes)),
        },
        Fact {
            name: "No longer sent",
            value: figure(counts.dead.tokens),
            note: format!("tokens in {}", amount_of(counts.dead.lines, "dead line")),
        },
    ];
    if let Some(trigger) = stats.head.about.threshold {
        facts.push(Fact {
            name: "The policy summarises above",
            value: figure(trigger),
            note: "tokens in a window".to_owned(),
        });
    }
    facts
}

fn charts(stats: &Stats<'_>) -> Vec<Chart> {
    let counts = &stats.head.totals.counts;
    let whole = counts.live.tokens;
    let shares = |title, about: &str, by: &By<Share>| {
        let parts = vec![(Tone::Stays, "tokens")];
        bars(title, about, parts, whole, by, |share: &Share| {
            let note = amount_of(share.blocks, "block");
            (note, vec![(Tone::Stays, share.tokens)])
        })
    };
    let both = vec![(Tone::Nth(0), "calls"), (Tone::Nth(1), "results")];
    let pair = |call, result| vec![(Tone::Nth(0), call), (Tone::Nth(1), result)];
    let charts = [
        shares("By role", "", &counts.roles),
        shares("By kind of block", "", &counts.blocks),
        bars(
            "By tool",
            "",
            both.clone(),
            whole,
            &counts.tools,
            |tool: &ToolCount| {
                let failed = match tool.failed {
                    0 => String::new(),
                    n => format!(", {} failed", figure(n)),
                };
                let note = format!("{}{failed}", amount_of(tool.calls, "call"));
                (note, pair(tool.call_tokens, tool.result_tokens))
            },
        ),
        bars(
            "By file",
            "",
            both,
            whole,
            &counts.paths,
            |path: &PathCount| {
                let note = format!(
                    "{}, {}",
                    amount_of(path.reads, "read"),
                    amount_of(path.edits, "edit")
                );
                (note, pair(path.call_tokens, path.result_tokens))
            },
        ),
    ];
    let grouped = grouped(stats, whole);
    let charts = charts.into_iter().flatten().chain(growth(stats));
    charts.chain(grouped).collect()
}

/// Inputs by format, project and week.
fn grouped(stats: &Stats<'_>, whole: u64) -> impl Iterator<Item = Chart> {
    let charts = stats.seen.groups.shown().map(|(grouping, groups)| {
        let bar = |(name, sum): (String, Sum)| Bar {
            name,
            note: files(&sum),
            parts: vec![(Tone::Stays, sum.before)],
            value: format!("{}, {}", figure(sum.before), percent(sum.before, whole)),
        };
        Bars {
            title: grouping.title(),
            about: format!("{}Tokens of live windows.", grouping.about()),
            parts: vec![(Tone::Stays, "tokens")],
            bars: groups.into_iter().map(bar).collect(),
        }
    });
    charts.map(Chart::Bars).collect::<Vec<_>>().into_iter()
}

/// A chart of the largest entries of `by`, if there are any.
fn bars<T: Weigh + Default>(
    title: &'static str,
    about: &str,
    parts: Vec<(Tone, &'static str)>,
    whole: u64,
    by: &By<T>,
    shown: impl Fn(&T) -> (String, Vec<(Tone, u64)>),
) -> Option<Chart> {
    let all = by.ranked();
    if all.is_empty() {
        return None;
    }
    let about = match all.len().checked_sub(BARS) {
        Some(left @ 1..) => format!("{about}The {BARS} largest; {} more.", figure(left as u64)),
        Some(0) | None => about.to_owned(),
    };
    let bar = |(name, counted): &(&str, &T)| {
        let (note, parts) = shown(counted);
        let tokens = counted.weight();
        Bar {
            name: (*name).to_owned(),
            note,
            parts,
            value: format!("{}, {}", figure(tokens), percent(tokens, whole)),
        }
    };
    Some(Chart::Bars(Bars {
        title,
        about,
        parts,
        bars: all.iter().take(BARS).map(bar).collect(),
    }))
}

/// How the largest windows grew.
fn growth(stats: &Stats<'_>) -> Option<Chart> {
    let largest = &stats.seen.largest_curves;
    let mut lines = Vec::new();
    for (number, shown) in largest.iter().enumerate() {
        let conversation = &shown.conversation;
        let points = conversation.timeline.iter();
        lines.push(Line {
            name: name_of(shown, ""),
            tone: Tone::Nth(number),
            points: points.map(|t| (t.turn as f64, t.context as f64)).collect(),
            marks: marks(conversation),
        });
    }
    if let [only] = &largest[..] {
        let recorded = only.conversation.timeline.iter();
        let points: Vec<_> = recorded
            .filter_map(|t| Some((t.turn as f64, t.recorded? as f64)))
            .collect();
        if points.len() > 1 {
            lines.push(Line {
                name: "as the provider counted".to_owned(),
                tone: Tone::Nth(5),
                points,
                marks: Vec::new(),
            });
        }
    }
    let trigger = stats
        .head
        .about
        .threshold
        .map(|limit| (limit as f64, "trigger".to_owned()));
    (!lines.is_empty()).then(|| {
        Chart::Curves(Curves {
            title: "Context over turns",
            about: about(stats.seen.curves, &lines),
            x: Axis {
                name: "turn",
                unit: Unit::One,
            },
            y: Axis {
                name: "tokens",
                unit: Unit::One,
            },
            lines,
            limits: trigger.into_iter().collect(),
        })
    })
}

/// Which curves are drawn and what they show, if there are `all` conversations.
fn about(all: u64, lines: &[Line]) -> String {
    let mut said = Vec::new();
    if all > CURVES as u64 {
        let all = amount_of(all, "conversation");
        said.push(format!(
            "The {CURVES} largest of {all} with more than one turn."
        ));
    }
    if lines.iter().any(|line| !line.marks.is_empty()) {
        said.push("A large dot is the summary of a compaction that the agent recorded.".to_owned());
    }
    said.join(" ")
}

/// A mark at the turn with the summary of each recorded compaction.
fn marks(conversation: &ConversationStats) -> Vec<(f64, f64, String)> {
    let marks = conversation.compactions.iter().filter_map(|compaction| {
        let mut turns = conversation.timeline.iter();
        let turn = turns.find(|turn| turn.turn == compaction.turn)?;
        let what = format!(
            "a recorded compaction, {} tokens up to its summary on line {}",
            figure(compaction.context),
            compaction.line
        );
        Some((turn.turn as f64, turn.context as f64, what))
    });
    marks.collect()
}

/// The name and the columns before the figures.
fn lead() -> Vec<Column> {
    vec![
        Column::new("file", ColumnKind::Name),
        Column::new("why", ColumnKind::Note),
        Column::new("format", ColumnKind::Word),
    ]
}

struct Files<'r> {
    files: &'r dyn Entries<Examined<FileStats>>,
    columns: Vec<Described<Examined<FileStats>>>,
}

impl Rows for Files<'_> {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn first_rows(&self, most: usize, show: ShowRow<'_>) -> io::Result<()> {
        let mut first = 0..self.files.len().min(most);
        first.try_for_each(|at| show(&self.cells(&*self.files.get(at)?)))
    }

    fn each_row(&self, show: ShowRow<'_>) -> io::Result<()> {
        self.files.each(&mut |file| show(&self.cells(file)))
    }

    fn each_detail(&self, show: ShowDetail<'_>) -> io::Result<()> {
        self.files.each(&mut |file| show(self.unfolds(file)))
    }
}

impl Files<'_> {
    fn cells(&self, file: &Examined<FileStats>) -> Vec<Cell<'static>> {
        let format = file.file.format.clone();
        let mut cells = vec![
            Cell::Text(file.file.path.clone().into()),
            Cell::Text(not_examined(file).into()),
            Cell::Text(format.unwrap_or_default().into()),
        ];
        let figures = shown(&self.columns);
        cells.extend(figures.into_iter().flat_map(|c| c.page_cells(Some(file))));
        cells
    }

    fn unfolds(&self, file: &Examined<FileStats>) -> Option<Detail> {
        let found = &file.found;
        let conversations = found.conversations.iter().take(MOST).map(|c| {
            let recorded = c.usage.map(|usage| figure(usage.recorded));
            vec![
                c.id.clone(),
                figure(c.messages),
                figure(c.turns),
                figure(c.tokens),
                recorded.unwrap_or_default(),
            ]
        });
        let largest = &found.counts.largest;
        let largest = &largest[..largest.len().min(MOST)];
        let hints = hints(largest, usize::MAX);
        let largest = largest.iter().zip(hints).map(|(consumer, hint)| {
            vec![
                consumer.line.to_string(),
                consumer.role.clone().into_owned(),
                consumer.tool.clone().unwrap_or_default(),
                hint,
                figure(consumer.tokens),
            ]
        });
        let left = found.conversations.len().saturating_sub(MOST) as u64;
        let tables = [
            DetailTable {
                title: "Conversations".to_owned(),
                headings: &[
                    ("id", Align::Left),
                    ("messages", Align::Right),
                    ("turns", Align::Right),
                    ("tokens", Align::Right),
                    ("as recorded", Align::Right),
                ],
                rows: conversations.collect(),
                note: match left {
                    0 => String::new(),
                    _ => format!("and {}", amount_of(left, "more conversation")),
                },
            },
            DetailTable {
                title: "Largest blocks".to_owned(),
                headings: &[
                    ("line", Align::Right),
                    ("role", Align::Left),
                    ("tool", Align::Left),
                    ("what", Align::Left),
                    ("tokens", Align::Right),
                ],
                rows: largest.collect(),
                note: String::new(),
            },
        ];
        let tables: Vec<_> = tables.into_iter().filter(|t| !t.rows.is_empty()).collect();
        let timings = file.file.timings.as_ref();
        let facts = [
            ("project", file.file.project.clone()),
            ("last message", file.file.last_message.clone()),
            ("time", timings.map(phases)),
        ];
        let facts = facts.into_iter();
        let facts: Vec<_> = facts
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let says = !tables.is_empty() || !facts.is_empty();
        says.then_some(Detail { facts, tables })
    }
}
