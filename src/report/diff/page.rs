//! The pages of `diff`: the fates of the tokens, and every message, with the text of new ones.

use std::io::{self, Write};

use super::compared::outside;
use super::{ComparisonReport, DiffReport, share};
use crate::diff::compare::{AddedComparison, RowComparison};
use crate::diff::{At, Fate, Row, Stat};
use crate::report::page::{
    self, Align, Bar, Bars, Cell, Chart, Column, ColumnKind, Detail, DetailTable, Fact, Page,
    RowsByIndex, Table, Tone, amount_of, figure,
};

/// Writes the page of a diff.
pub(super) fn write(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let diff = &report.diff;
    let (before, after) = (diff.tokens_before, diff.tokens_after);
    let rows: Vec<(&str, &Row)> = diff
        .conversations
        .iter()
        .flat_map(|c| c.rows.iter().map(|row| (&c.id[..], row)))
        .collect();
    let page = Page {
        command: "diff",
        headline: format!(
            "{} of {} tokens are left ({})",
            figure(after),
            figure(before),
            share(before, after)
        ),
        lead: format!(
            "{} became {}; {}, tokens by {}.",
            report.old.path, report.new.path, report.format, report.estimator
        ),
        bar: Some(vec![
            (Tone::Stays, after),
            (Tone::Gone, before.saturating_sub(after)),
        ]),
        facts: facts(report),
        lists: Vec::new(),
        charts: bars(&report.stat).into_iter().collect(),
        table: Table {
            what: "message",
            columns: columns(&[
                ("message", ColumnKind::Name),
                ("what it says", ColumnKind::Note),
                ("became", ColumnKind::Word),
                ("role", ColumnKind::Word),
                ("tool", ColumnKind::Word),
                ("tokens before", ColumnKind::Number),
                ("tokens after", ColumnKind::Number),
                ("tokens saved", ColumnKind::Number),
            ]),
            rows: &Messages(rows),
        },
        policies: std::slice::from_ref(&report.policy),
    };
    page::write(&page, out)
}

fn columns(columns: &[(&'static str, ColumnKind)]) -> Vec<Column> {
    let columns = columns.iter();
    columns
        .map(|(heading, kind)| Column::new(*heading, *kind))
        .collect()
}

fn facts(report: &DiffReport) -> Vec<Fact> {
    let diff = &report.diff;
    let restored = diff.conversations.iter().flat_map(|c| &c.rows);
    let restored: usize = restored.map(|row| row.restored.len()).sum();
    let fact = |name, value: u64, note: String| Fact {
        name,
        value: figure(value),
        note,
    };
    vec![
        fact(
            "Messages left",
            diff.messages_after,
            format!("of {}", figure(diff.messages_before)),
        ),
        fact(
            "Restored",
            restored as u64,
            "files and the like, in summaries".to_owned(),
        ),
        fact(
            "Lines dropped",
            diff.outside.lines_dropped(),
            format!(
                "that no model sees, {} among them",
                amount_of(diff.outside.messages_dropped(), "message")
            ),
        ),
    ]
}

/// A bar for each fate of messages.
fn bars(stats: &[Stat]) -> Option<Chart> {
    let bars = stats.iter().map(|stat| Bar {
        name: stat.fate.name().to_owned(),
        note: amount_of(stat.messages, "message"),
        parts: vec![
            (Tone::Stays, stat.tokens_before.min(stat.tokens_after)),
            (
                Tone::Gone,
                stat.tokens_before.saturating_sub(stat.tokens_after),
            ),
            (
                Tone::Added,
                stat.tokens_after.saturating_sub(stat.tokens_before),
            ),
        ],
        value: format!(
            "{} → {}",
            figure(stat.tokens_before),
            figure(stat.tokens_after)
        ),
    });
    let bars: Vec<Bar> = bars.collect();
    (!bars.is_empty()).then(|| {
        Chart::Bars(Bars {
            title: "What became of the tokens",
            about: "Tokens of messages before and after.".to_owned(),
            parts: vec![
                (Tone::Stays, "stays"),
                (Tone::Gone, "gone"),
                (Tone::Added, "new"),
            ],
            bars,
        })
    })
}

/// Every message, with the id of its conversation.
struct Messages<'r>(Vec<(&'r str, &'r Row)>);

impl RowsByIndex for Messages<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, at: usize) -> Vec<Cell<'_>> {
        let (conversation, row) = self.0[at];
        vec![
            Cell::Text(name(conversation, row.old.or(row.new), row.old.is_none()).into()),
            Cell::Text(row.words.as_str().into()),
            Cell::Text(row.fate.name().into()),
            Cell::Text(row.role.name().into()),
            Cell::Text(row.tools.join(" ").into()),
            Cell::Number(row.tokens_before),
            Cell::Number(row.tokens_after),
            Cell::Fall(row.tokens_before, row.tokens_after),
        ]
    }

    fn detail(&self, at: usize) -> Option<Detail> {
        let (_, row) = self.0[at];
        if row.fate == Fate::Kept {
            return None;
        }
        let mut detail = Detail::default();
        detail
            .facts
            .extend(row.reason.clone().map(|reason| ("why", reason)));
        detail.facts.extend(
            row.restored
                .iter()
                .map(|header| ("restored", header.clone())),
        );
        for change in &row.changes {
            let tool = change.tool.as_deref().unwrap_or(&change.part);
            let title = format!("{tool}: {}", change.fate.name());
            detail
                .tables
                .extend(change.text.as_deref().map(|text| lines(title, text)));
        }
        let text = row.text.as_deref();
        detail
            .tables
            .extend(text.map(|text| lines("Text".to_owned(), text)));
        Some(detail).filter(|detail| !detail.facts.is_empty() || !detail.tables.is_empty())
    }
}

fn name(conversation: &str, at: Option<At>, is_new: bool) -> String {
    let line = at.map_or(0, |at| at.line);
    let what = if is_new { "new line" } else { "line" };
    match conversation {
        "main" => format!("{what} {line}"),
        id => format!("{id} {what} {line}"),
    }
}

/// A text as a table, one row per line.
fn lines(title: String, text: &str) -> DetailTable {
    DetailTable {
        title,
        headings: &[("", Align::Left)],
        rows: text.lines().map(|line| vec![line.to_owned()]).collect(),
        note: String::new(),
    }
}

/// Writes the page on the results of two policies on the same transcript.
pub(super) fn write_of_two(report: &ComparisonReport, out: &mut dyn Write) -> io::Result<()> {
    let compared = &report.comparison;
    let [first, second] = report.names();
    let [left, right] = compared.tokens_after;
    let before = compared.tokens_before;
    let mut rows: Vec<Two<'_>> = Vec::new();
    for conversation in &compared.conversations {
        let id = conversation.id.as_str();
        rows.extend(conversation.rows.iter().map(|row| Two::Message(id, row)));
        rows.extend(conversation.added.iter().map(|added| Two::Added(id, added)));
    }
    let bar = |name: &str, after: u64| Bar {
        name: name.to_owned(),
        note: share(before, after),
        parts: vec![
            (Tone::Stays, after),
            (Tone::Gone, before.saturating_sub(after)),
        ],
        value: figure(after),
    };
    let page = Page {
        command: "diff",
        headline: format!(
            "{} tokens by {first}, {} by {second}",
            figure(left),
            figure(right)
        ),
        lead: format!(
            "Of {} in {}; {}, tokens by {}.",
            amount_of(before, "token"),
            report.input.path,
            report.format,
            report.estimator
        ),
        bar: None,
        facts: vec![Fact {
            name: "Messages that differ",
            value: figure(rows.len() as u64),
            note: outside(compared).unwrap_or_default(),
        }],
        lists: Vec::new(),
        charts: vec![Chart::Bars(Bars {
            title: "What is left",
            about: "Tokens after each policy.".to_owned(),
            parts: vec![(Tone::Stays, "stays"), (Tone::Gone, "gone")],
            bars: vec![bar(first, left), bar(second, right)],
        })],
        table: Table {
            what: "message that differs",
            columns: columns(&[
                ("message", ColumnKind::Name),
                ("what it says", ColumnKind::Note),
                ("by the first", ColumnKind::Word),
                ("by the second", ColumnKind::Word),
                ("tool", ColumnKind::Word),
                ("tokens before", ColumnKind::Number),
                ("after the first", ColumnKind::Number),
                ("after the second", ColumnKind::Number),
            ]),
            rows: &Both(rows),
        },
        policies: &report.policies,
    };
    page::write(&page, out)
}

/// What differs between two outputs, with the id of its conversation.
enum Two<'r> {
    Message(&'r str, &'r RowComparison),
    Added(&'r str, &'r AddedComparison),
}

struct Both<'r>(Vec<Two<'r>>);

impl RowsByIndex for Both<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, at: usize) -> Vec<Cell<'_>> {
        let text = |text: &str| Cell::Text(text.to_owned().into());
        match &self.0[at] {
            Two::Message(id, row) => vec![
                text(&name(id, Some(row.old), false)),
                text(&row.words),
                text(row.fates[0].name()),
                text(row.fates[1].name()),
                text(&row.tools.join(" ")),
                Cell::Number(row.tokens_before),
                Cell::Number(row.tokens_after[0]),
                Cell::Number(row.tokens_after[1]),
            ],
            Two::Added(id, added) => {
                let there =
                    |at: Option<At>| text(if at.is_some() { added.fate.name() } else { "" });
                vec![
                    text(&format!("{} of {id}", added.fate.name())),
                    text(""),
                    there(added.new[0]),
                    there(added.new[1]),
                    text(""),
                    Cell::Nothing,
                    Cell::Number(added.tokens_after[0]),
                    Cell::Number(added.tokens_after[1]),
                ]
            }
        }
    }

    fn detail(&self, at: usize) -> Option<Detail> {
        let (facts, text) = match &self.0[at] {
            Two::Message(_, row) => {
                let names = ["why by the first", "why by the second"];
                let reasons = names.into_iter().zip(row.reasons.clone());
                let reasons = reasons.filter_map(|(name, reason)| Some((name, reason?)));
                (reasons.collect(), &row.texts)
            }
            Two::Added(_, added) => {
                let names = ["restored by the first", "restored by the second"];
                let restored = names.into_iter().zip(&added.restored);
                let restored = restored.map(|(name, headers)| (name, headers.join("; ")));
                (
                    restored
                        .filter(|(_, headers)| !headers.is_empty())
                        .collect(),
                    &added.text,
                )
            }
        };
        let table = (!text.is_empty()).then(|| lines("Text".to_owned(), &text.join("\n")));
        let detail = Detail {
            facts,
            tables: table.into_iter().collect(),
        };
        let says = !detail.facts.is_empty() || !detail.tables.is_empty();
        says.then_some(detail)
    }
}
