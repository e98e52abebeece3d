//! A second implementation of superseded reads: the lines that each read shows, by its line numbers or its parameters.
//!
//! Supports only the tools of the generator, and compares line numbers one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ctxpack::plan::kind_of;
use ctxpack::policy::ToolKind;
use ctxpack::transcript::Outcome;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use super::case::{Case, Run, split};
use super::dialect;
use super::replaced::{Replaced, changed_results};
use super::view::{AskView, is_all_text, result_text, view};

/// A normalised path, and the other parameters.
type File = (PathBuf, Option<Value>);

/// The line number that represents the end of a file.
const END: u64 = 1_000_000;

/// A read of the input.
struct Seen {
    line: usize,
    at: usize,
    file: File,
    text: String,
    /// The lines that the result numbers, and the end where there is no more; `None` if it has no numbers.
    numbered: Option<BTreeSet<u64>>,
    /// The first and the last line that the call asks for.
    asked: (u64, u64),
    is_changed: bool,
    replaced: Option<Replaced>,
}

impl Seen {
    /// Whether this shows everything that `earlier` shows.
    fn shows(&self, earlier: &Seen) -> bool {
        let holds = |asked: (u64, u64)| self.asked.0 <= asked.0 && self.asked.1 >= asked.1;
        match (&self.numbered, &earlier.numbered) {
            // A file that has become shorter is still complete.
            (Some(now), Some(before)) => {
                before.is_subset(now) || now.contains(&END) && now.first() <= before.first()
            }
            (Some(now), None) => now.contains(&1) && now.contains(&END),
            (None, Some(_)) => false,
            (None, None) => holds(earlier.asked) && self.text.contains(&earlier.text),
        }
    }
}

/// Every superseded read has a later one in the same conversation that shows the same lines and is kept.
pub(super) fn check(case: &Case, run: &Run) -> TestCaseResult {
    for window in &case.known.windows {
        // Of several copies, only the one that is sent counts.
        let is_sent = |line: &&usize| !window.copies.contains(line);
        let lines: Vec<usize> = window.lines.iter().filter(is_sent).copied().collect();
        let seen = seen(case, run, &lines);
        for (number, read) in seen.iter().enumerate() {
            if read.replaced != Some(Replaced::Superseded) {
                continue;
            }
            let mut later = seen[number + 1..].iter();
            prop_assert!(
                later
                    .any(|later| later.file == read.file && !later.is_changed && later.shows(read)),
                "line {} result {}",
                read.line,
                read.at
            );
        }
    }
    Ok(())
}

/// The reads of a conversation, in its order.
fn seen(case: &Case, run: &Run, conversation: &[usize]) -> Vec<Seen> {
    let (_, lines) = split(&case.bytes);
    let changed = changed_results(case, run);
    let mut asks = BTreeMap::new();
    let mut seen = Vec::new();
    for line in conversation {
        let Some(view) = view(case.format, lines[*line].0) else {
            continue;
        };
        let mut here = view.asks.into_iter().peekable();
        for (at, result) in view.results.iter().enumerate() {
            while let Some(ask) = here.next_if(|ask| ask.results_before <= at) {
                asks.insert(ask.id.clone(), ask);
            }
            let content = result.content.as_ref();
            let content = content.filter(|content| is_all_text(lines[*line].0, content));
            let (Some(ask), Some(content), Outcome::Fine) =
                (asks.get(&result.id), content, result.outcome)
            else {
                continue;
            };
            let Some((file, asked)) = asked(case, ask) else {
                continue;
            };
            let text = String::from_utf8_lossy(&result_text(lines[*line].0, content)).into_owned();
            let changed = changed.iter().find(|c| (c.line, c.at) == (*line, at));
            seen.push(Seen {
                line: *line,
                at,
                file,
                numbered: numbered(&text, asked),
                text,
                asked,
                is_changed: changed.is_some(),
                replaced: changed.and_then(|changed| changed.replaced),
            });
        }
        asks.extend(here.map(|ask| (ask.id.clone(), ask)));
    }
    seen
}

/// The file that a call reads, and the first and last line.
fn asked(case: &Case, ask: &AskView) -> Option<(File, (u64, u64))> {
    let input: Value = serde_json::from_str(&ask.input).ok()?;
    let is_read = match kind_of(&ask.tool, &case.policy.tools) {
        ToolKind::Read => true,
        ToolKind::Edit => input["command"] == "view",
        _ => false,
    };
    let path = input.get("file_path").or(input.get("path"))?.as_str()?;
    let folder = dialect::of(case.format).folder(&case.bytes);
    let path = Path::new(folder)
        .join(path)
        .components()
        .collect::<PathBuf>();
    let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
    let number = |key: &str| match &input[key] {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let range = &input["view_range"];
    let first = range[0]
        .as_u64()
        .or(number("offset"))
        .or(number("start_line"));
    let first = first.unwrap_or(1);
    let last = number("end_line").or(number("limit").map(|limit| first + limit - 1));
    let file = (path, input.get("encoding").cloned());
    is_read.then_some((file, (first, last.unwrap_or(END))))
}

/// The lines for which a result has numbers.
fn numbered(text: &str, asked: (u64, u64)) -> Option<BTreeSet<u64>> {
    let number = |line: &str| -> Option<u64> {
        let (number, _) = line.split_once(['→', '\t'])?;
        number.trim_start_matches(' ').parse().ok()
    };
    let mut rest: Vec<&str> = text.split('\n').collect();
    if number(rest[0]).is_none() {
        rest.remove(0);
    }
    let first = number(rest.first()?)?;
    let mut lines = BTreeSet::new();
    while !rest.is_empty() && number(rest[0]) == Some(first + lines.len() as u64) {
        lines.insert(first + lines.len() as u64);
        rest.remove(0);
    }
    let after = rest.concat();
    let wanted = (asked.1 - asked.0 + 1).min(2_000);
    let is_end = after.trim().is_empty() || after.starts_with("<system-reminder>");
    if is_end && first == asked.0 && (lines.len() as u64) < wanted {
        lines.insert(END);
    }
    Some(lines)
}
