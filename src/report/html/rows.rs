//! The rows of the page on `compact`: one for each input, and below it what was done to it and why.
//!
//! In a report on several inputs, edits of the same kind, tool and reason share a line; the JSON report has each.

use std::io;

use super::messages;
use crate::diff::Diff;
use crate::format::unsupported;
use crate::ids::IdMap;
use crate::outcome::{
    Action, ActionKind, ConversationOutcome, Entries, Outcome, Status, WarningKind,
};
use crate::report::cells::{has_sizes, problems};
use crate::report::column::{Column as Described, shown};
use crate::report::page::{
    Align, Cell, Column, ColumnKind, Detail, DetailTable, Rows, ShowDetail, ShowRow, amount_of,
    figure, unbroken,
};
use crate::report::times::phases;
use crate::report::view::View;
use crate::text::shown_name;

/// A report on up to this many inputs includes everything about each.
const WHOLE: usize = 2_000;
/// The maximum number of lines for a conversation's edits and an input's warnings: in such a report, and in a longer one.
const MOST: [usize; 2] = [500, 20];
/// The maximum number of lines that a group names.
const LINES: usize = 8;

/// The inputs of a report.
pub(super) struct Files<'r> {
    files: &'r dyn Entries,
    columns: Vec<Described<Outcome>>,
    most: usize,
    /// The fates of the messages of the only file.
    diff: Option<&'r Diff>,
}

/// The columns, in the order of the cells.
pub(super) fn columns(report: &View<'_>) -> Vec<Column> {
    let mut columns = vec![
        Column::new("file", ColumnKind::Name),
        Column::new("why", ColumnKind::Note),
        Column::new("status", ColumnKind::Word),
        Column::new("format", ColumnKind::Word),
        Column::new("tokens saved", ColumnKind::Number),
    ];
    let figures = report.columns();
    columns.extend(shown(&figures).into_iter().flat_map(Described::on_page));
    columns
}

impl<'r> Files<'r> {
    pub(super) fn of(report: View<'r>) -> Self {
        let files = report.entries;
        let most = MOST[usize::from(files.len() > WHOLE)];
        let columns = report.columns();
        Files {
            files,
            columns,
            most,
            diff: report.diff,
        }
    }
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
        self.files.each(&mut |outcome| show(&self.cells(outcome)))
    }

    fn each_detail(&self, show: ShowDetail<'_>) -> io::Result<()> {
        self.files.each(&mut |outcome| show(self.unfolds(outcome)))
    }
}

impl Files<'_> {
    fn cells(&self, outcome: &Outcome) -> Vec<Cell<'static>> {
        let format = outcome.file.format.clone();
        let mut cells = vec![
            Cell::Text(shown_name(&outcome.file.path).into_owned().into()),
            Cell::Text(unbroken(&why(outcome)).into()),
            Cell::Text(outcome.status.to_string().into()),
            Cell::Text(format.unwrap_or_default().into()),
        ];
        let known = has_sizes(outcome.status);
        let (before, after) = (outcome.tokens_before(), outcome.tokens_after());
        cells.push(match known {
            true => Cell::Fall(before, after),
            false => Cell::Nothing,
        });
        let row = known.then_some(outcome);
        let figures = shown(&self.columns);
        cells.extend(figures.into_iter().flat_map(|c| c.page_cells(row)));
        cells
    }

    fn unfolds(&self, outcome: &Outcome) -> Option<Detail> {
        let tables = outcome.conversations.iter();
        let mut detail = Detail {
            facts: facts(outcome),
            tables: tables.filter_map(|c| self.conversation(c)).collect(),
        };
        detail.tables.extend(self.warnings(outcome));
        let aligned = self.diff.into_iter().flat_map(messages::tables);
        detail.tables.extend(aligned);
        let says = !detail.facts.is_empty() || !detail.tables.is_empty();
        says.then_some(detail)
    }
}

/// Why an input has its status, in a sentence; empty if the status says everything.
pub(super) fn why(outcome: &Outcome) -> String {
    if let Some(problems) = problems(outcome) {
        return problems;
    }
    match outcome.status {
        Status::Unsupported => {
            let mut warnings = outcome.warnings.iter();
            let why = warnings.find(|w| w.kind == WarningKind::Unsupported);
            let format = || outcome.file.format.as_deref().unwrap_or("unknown");
            why.map_or_else(|| unsupported(format()), |w| w.message.clone())
        }
        Status::Unchanged => {
            let mut reasons: Vec<&str> = Vec::new();
            for conversation in &outcome.conversations {
                let reason = conversation.reason.as_str();
                if !reason.is_empty() && !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            reasons.join("; ")
        }
        Status::Compacted | Status::Rejected | Status::Failed | Status::Skipped => String::new(),
    }
}

fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut say = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    say("output", outcome.output.clone());
    say("project", outcome.file.project.clone());
    say("last message", outcome.file.last_message.clone());
    say(
        "original",
        outcome.original.as_ref().map(|o| o.path.clone()),
    );
    if has_sizes(outcome.status) && outcome.status == Status::Compacted {
        let (before, after) = (outcome.messages_before(), outcome.messages_after());
        say(
            "messages",
            Some(format!("{} → {}", figure(before), figure(after))),
        );
    }
    let findings = [outcome.findings_before, outcome.findings_after];
    if findings != [0, 0] {
        let [before, after] = findings.map(figure);
        say("rules broken", Some(format!("{before} → {after}")));
    }
    let timings = outcome.file.timings.as_ref();
    facts.extend(timings.map(|timings| ("time", phases(timings))));
    facts
}

impl Files<'_> {
    /// What was done to a conversation, if anything was.
    fn conversation(&self, conversation: &ConversationOutcome) -> Option<DetailTable> {
        if conversation.actions.is_empty() {
            return None;
        }
        let groups = match self.files.len() {
            1 => conversation.actions.iter().map(Group::one).collect(),
            _ => Group::of(&conversation.actions),
        };
        let mut notes = Vec::new();
        if let Some(left) = groups.len().checked_sub(self.most).filter(|n| *n > 0) {
            let left = amount_of(left as u64, "more group");
            notes.push(format!("and {left} of edits, which the JSON report has"));
        }
        notes.extend(summary(conversation));
        let rows = groups.iter().take(self.most);
        let (before, after) = (conversation.tokens_before, conversation.tokens_after);
        let reason = match conversation.reason.is_empty() {
            true => String::new(),
            false => format!(": {}", conversation.reason),
        };
        Some(DetailTable {
            title: unbroken(&format!(
                "{}, {} → {} tokens{reason}",
                conversation.id,
                figure(before),
                figure(after)
            )),
            headings: &[
                ("what", Align::Left),
                ("tool", Align::Left),
                ("why", Align::Left),
                ("lines", Align::Left),
                ("before", Align::Right),
                ("after", Align::Right),
            ],
            rows: rows.map(Group::cells).collect(),
            note: notes.join(". "),
        })
    }

    fn warnings(&self, outcome: &Outcome) -> Option<DetailTable> {
        let warnings = &outcome.warnings;
        if warnings.is_empty() {
            return None;
        }
        let rows = warnings.iter().take(self.most).map(|warning| {
            vec![
                warning
                    .line
                    .map(|line| line.to_string())
                    .unwrap_or_default(),
                warning.kind.name().to_owned(),
                warning.message.clone(),
            ]
        });
        let left = warnings.len().saturating_sub(self.most) as u64;
        Some(DetailTable {
            title: amount_of(warnings.len() as u64, "warning"),
            headings: &[
                ("line", Align::Right),
                ("kind", Align::Left),
                ("warning", Align::Left),
            ],
            rows: rows.collect(),
            note: match left {
                0 => String::new(),
                _ => format!(
                    "and {}, which the JSON report has",
                    amount_of(left, "more warning")
                ),
            },
        })
    }
}

/// The summary and the restored files of a conversation, in sentences.
fn summary(conversation: &ConversationOutcome) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(summary) = &conversation.summary {
        let by = summary.model.as_ref().unwrap_or(&summary.source);
        let what = format!(
            "of {}, {} kept after it",
            amount_of(summary.messages, "message"),
            figure(summary.preserved_messages)
        );
        said.push(match (summary.success, &summary.fallback) {
            (true, _) => format!("Summary by {by} {what}, {} tokens", figure(summary.tokens)),
            (false, Some(fallback)) => format!("No summary by {by} {what}: {fallback}"),
            (false, None) => format!("No summary by {by} {what}"),
        });
    }
    if !conversation.restored.is_empty() {
        let files = conversation.restored.iter();
        let files: Vec<String> = files
            .map(|file| format!("{} ({})", file.path, figure(file.tokens)))
            .collect();
        said.push(format!("Restored: {}", files.join(", ")));
    }
    said
}

/// Edits of the same kind and tool whose reasons differ only in numbers.
struct Group<'a> {
    like: &'a Action,
    times: u64,
    /// The minimum and maximum of each number in the reason.
    numbers: Vec<(u64, u64)>,
    lines: Vec<u64>,
    before: u64,
    after: u64,
}

impl<'a> Group<'a> {
    /// A group of one.
    fn one(action: &'a Action) -> Self {
        Group {
            like: action,
            times: 1,
            numbers: numbers(&action.reason).map(|n| (n, n)).collect(),
            lines: vec![action.line],
            before: action.tokens_before,
            after: action.tokens_after,
        }
    }

    /// The groups, largest savings first.
    fn of(actions: &'a [Action]) -> Vec<Self> {
        type Key<'k> = (ActionKind, Option<&'k str>, Vec<&'k str>);
        let mut at: IdMap<Key<'a>, usize> = IdMap::default();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for action in actions {
            let words = action.reason.split(is_digit).filter(|s| !s.is_empty());
            let key = (action.kind, action.tool.as_deref(), words.collect());
            let next = groups.len();
            let number = *at.entry(key).or_insert(next);
            if number == next {
                groups.push(Group::one(action));
                continue;
            }
            let group = &mut groups[number];
            group.times += 1;
            for (range, n) in group.numbers.iter_mut().zip(numbers(&action.reason)) {
                *range = (range.0.min(n), range.1.max(n));
            }
            if group.lines.len() < LINES {
                group.lines.push(action.line);
            }
            group.before += action.tokens_before;
            group.after += action.tokens_after;
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.before.saturating_sub(group.after)));
        groups
    }

    /// The reason, with differing numbers shown as ranges.
    fn reason(&self) -> String {
        let mut reason = String::new();
        let mut rest = self.like.reason.as_str();
        for (least, most) in &self.numbers {
            let start = rest.find(is_digit).unwrap_or(rest.len());
            let length = rest[start..].find(|c| !is_digit(c));
            let end = length.map_or(rest.len(), |length| start + length);
            reason.push_str(&rest[..start]);
            match least == most {
                true => reason.push_str(&rest[start..end]),
                false => reason.push_str(&format!("{least}–{most}")),
            }
            rest = &rest[end..];
        }
        reason + rest
    }

    fn cells(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
        if self.times as usize > lines.len() {
            lines.push("…".to_owned());
        }
        vec![
            match self.times {
                1 => self.like.kind.to_string(),
                n => format!("{} ×{}", self.like.kind, figure(n)),
            },
            self.like.tool.clone().unwrap_or_default(),
            unbroken(&self.reason()),
            lines.join(", "),
            figure(self.before),
            figure(self.after),
        ]
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// The numbers in a sentence; one that overflows counts as the maximum.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    let digits = text.split(|c| !is_digit(c)).filter(|s| !s.is_empty());
    digits.map(|digits| digits.parse().unwrap_or(u64::MAX))
}
