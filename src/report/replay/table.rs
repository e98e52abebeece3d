//! The tables for people: the sums for each policy, what it sends for each input, and the steps.
//!
//! If there are many inputs, those with the highest costs are shown; the JSON has all.

use std::borrow::Cow;
use std::io::{self, Write};

use super::columns::{Row, columns, replayed};
use super::{Detail, Replays};
use crate::outcome::{Examined, FileStatus, Find};
use crate::replay::{Event, FileReplay, PolicyReplay, SessionReplay, Step, TurnReplay, Verdict};
use crate::report::Screen;
use crate::report::cells::share;
use crate::report::column::shown;
use crate::report::rows::Table;
use crate::text::{count, printable, shown_name, thousands};

/// Writes the tables for this screen.
///
/// Errors are the writer's, and those of entries that cannot be read.
pub fn write(
    replays: &Replays<'_>,
    detail: Detail,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Rows of zeros would look like figures.
    if replays.head.totals.sessions == 0 {
        writeln!(out, "{}", note(replays))?;
    } else {
        policies(replays).write(screen, out)?;
        if replays.entries.len() > 1 {
            writeln!(out)?;
            files(replays)?.write(screen, out)?;
        }
    }
    match detail {
        Detail::Totals => {}
        Detail::Timeline => replays.entries.each(&mut |file| {
            replayed(file).try_for_each(|(_, session, policy)| {
                writeln!(out)?;
                timeline(file, session, policy).write(screen, out)
            })
        })?,
    }
    match replays.head.timings() {
        Some(times) => writeln!(out, "{}", times.line()),
        None => Ok(()),
    }
}

/// The sums for each policy over all inputs.
pub(super) fn policies(replays: &Replays<'_>) -> Table {
    let totals = &replays.head.totals;
    let all = columns();
    let figures = shown(&all);
    let header = figures.iter().map(|column| column.heading());
    let mut table = Table::new(["policy"].into_iter().chain(header));
    table.spare = &[
        "failed",
        "edits",
        "of whole",
        "cache lost",
        "final",
        "compactions",
    ];
    for policy in &totals.policies {
        let row = Row {
            path: "",
            session: "",
            policy: &policy.policy,
            requests: totals.requests,
            done: policy.done,
            whole: totals.whole,
            tokens: policy.tokens,
        };
        let mut cells = vec![printable(&policy.policy).into_owned()];
        cells.extend(figures.iter().flat_map(|column| column.figures(&[&row])));
        table.rows.push(cells);
        table
            .bars
            .push(share(policy.tokens.sent, totals.whole.sent));
    }
    table.note = Some(note(replays));
    table
}

/// What was replayed, and what was not.
fn note(replays: &Replays<'_>) -> String {
    let totals = &replays.head.totals;
    let mut note = format!(
        "{} in {}; tokens by {}, whole: {} sent",
        count(totals.requests, "request"),
        count(totals.sessions, "session"),
        replays.head.about.estimator,
        thousands(totals.whole.sent)
    );
    let not = [
        (totals.unsupported, "unsupported"),
        (totals.failed, "failed"),
    ];
    let not = not.into_iter().filter(|(number, _)| *number > 0);
    let not: Vec<String> = not
        .map(|(n, what)| format!("{} {what}", thousands(n)))
        .collect();
    if !not.is_empty() {
        note.push_str(&format!("\nnot replayed: {}", not.join(", ")));
    }
    note
}

/// What each policy sends for each input.
///
/// # Errors
/// If an entry cannot be read.
pub(super) fn files(replays: &Replays<'_>) -> io::Result<Table> {
    let shown = replays.seen.files.iter();
    let shown: io::Result<Vec<Cow<'_, _>>> = shown.map(|at| replays.entries.get(*at)).collect();
    let mut shown = shown?;
    // The sort is stable: equal paths keep their order.
    shown.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    let names = replays.head.totals.policies.iter();
    let names = names.map(|policy| printable(&policy.policy).into_owned());
    let header = ["tokens sent of".to_owned(), "whole".to_owned()];
    let mut table = Table::new(header.into_iter().chain(names));
    for file in &shown {
        let mut row = vec![printable(&shown_name(&file.file.path)).into_owned()];
        match file.status {
            FileStatus::Examined => {
                row.push(brief(file.found.weight()));
                let policies = 0..replays.head.totals.policies.len();
                row.extend(policies.map(|n| {
                    let sessions = file.found.sessions.iter();
                    brief(sessions.map(|s| s.policies[n].tokens.sent).sum())
                }));
            }
            FileStatus::Unsupported(_) => row.push("unsupported".to_owned()),
            FileStatus::Failed => row.push("failed".to_owned()),
        }
        table.rows.push(row);
    }
    let hidden = (replays.entries.len() - shown.len()) as u64;
    table.note = (hidden > 0).then(|| format!("and {}", count(hidden, "more file")));
    Ok(table)
}

/// Tokens in few characters: `812`, `9 120`, `81k`, `12.3M`.
fn brief(tokens: u64) -> String {
    match tokens {
        0..10_000 => thousands(tokens),
        10_000..999_500 => format!("{}k", (tokens + 500) / 1_000),
        _ => {
            let tenths = (tokens + 50_000) / 100_000;
            format!("{}.{}M", thousands(tenths / 10), tenths % 10)
        }
    }
}

/// A session under one policy, turn by turn.
fn timeline(file: &Examined<FileReplay>, session: &SessionReplay, policy: &PolicyReplay) -> Table {
    let mut name = file.file.path.clone();
    if file.found.sessions.len() > 1 {
        name = format!("{name} {}", session.id);
    }
    let title = format!("{}: {name}", policy.policy);
    let numbers = ["request", "line", "before", "after", "freed"];
    let header = [printable(&title).into_owned()];
    let header = header.into_iter().chain(numbers.map(str::to_owned));
    let mut table = Table::new(header);
    let mut steps = policy.steps.iter().peekable();
    for turn in &policy.turns {
        table.rows.push(turn_row(turn));
        while let Some(step) = steps.next_if(|step| step.turn <= turn.turn) {
            table.rows.extend(step.events.iter().map(|e| row(step, e)));
        }
    }
    let counted = match policy.threshold {
        Some(threshold) => format!("; trigger {}", thousands(threshold)),
        None => String::new(),
    };
    table.note = Some(format!(
        "{}; tokens by {} as {} counts{counted}",
        count(session.requests, "request"),
        policy.estimator,
        printable(&policy.policy)
    ));
    table
}

fn turn_row(turn: &TurnReplay) -> Vec<String> {
    let words = format!(
        "turn {}: {}, {} sent",
        thousands(turn.turn),
        count(turn.requests, "request"),
        thousands(turn.sent)
    );
    let line = turn.line.to_string();
    let context = thousands(turn.context);
    let none = String::new;
    vec![words, none(), line, none(), context, none()]
}

fn row(step: &Step, event: &Event) -> Vec<String> {
    let layer = event.layer.name();
    let words = match event.result {
        Verdict::LeftOut => format!(
            "  {layer} {} left out: {}",
            thousands(event.count),
            event.reason
        ),
        Verdict::Made => format!("  {layer} {}: {}", thousands(event.count), event.reason),
        Verdict::Failed => format!("  {layer} failed: {}", event.reason),
        Verdict::Held => format!("  {layer} not tried: {}", event.reason),
    };
    vec![
        printable(&words).into_owned(),
        thousands(step.request),
        step.line.to_string(),
        thousands(step.before),
        thousands(step.after),
        thousands(event.freed),
    ]
}
