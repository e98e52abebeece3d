//! Facts as units: files, commands, errors, to-dos and plans, and what the last edits put in.

use std::collections::{BTreeMap, BTreeSet};

use super::clip::clip;
use super::form::{Mark, Row, Section};
use super::names::hash;
use super::units::{Claim, Gather, LONGEST, ended};
use crate::facts::{
    Done, Exchange, File, Operation, Place, TodoState, What, commands, failures, files, proposal,
    todos,
};

/// How much of a command and of a plan is told, in bytes.
const COMMAND: usize = 240;
const PLAN: usize = 2_400;

/// As many edits as a person still has in mind, and lines of each.
const LAST_EDITS: usize = 6;
const ADDED_LINES: usize = 40;

/// Adds the facts of `own`, the exchanges of the span. Gives the results that show a file for the last time.
/// `is_replanned`: to-dos are written anew behind the span.
pub(super) fn gather(
    gather: &mut Gather<'_, '_>,
    own: &[Exchange],
    is_replanned: bool,
) -> BTreeSet<u32> {
    let files = files(gather.transcript, own);
    for file in &files {
        add_file(gather, file);
    }
    add_edits(gather, &files);
    add_commands(gather, own);
    add_failures(gather, own);
    if !is_replanned {
        add_todos(gather, own);
    }
    let last_read = |file: &File| {
        let is_read = |o: &&Operation| matches!(o.what, What::Read(_)) && o.done == Done::Yes;
        file.operations.iter().rfind(is_read)?.result
    };
    files
        .iter()
        .filter_map(last_read)
        .map(|p| p.block)
        .collect()
}

fn mark(gather: &Gather<'_, '_>, call: Place, result: Option<Place>) -> Mark {
    Mark {
        and: result.map(|result| gather.mark(result.line).line),
        ..gather.mark(call.line)
    }
}

fn add_file(gather: &mut Gather<'_, '_>, file: &File) {
    let is_change = |o: &&Operation| !matches!(o.what, What::Read(_)) && o.done != Done::Failed;
    let change = file.operations.iter().rfind(is_change);
    let Some(last) = file.last().or(file.operations.last()) else {
        return;
    };
    let told = change.unwrap_or(last);
    let row = Row {
        section: Section::Files,
        mark: mark(gather, told.call, told.result),
        label: label(gather, told),
        text: told.written.clone(),
    };
    match change {
        Some(_) => gather.add(row, told.call.message, Claim::Changed, 3.0),
        None => gather.ranked(row, told.call.message, Claim::Free, 0.6, 1),
    }
}

/// What was done, with the lines of a read where the transcript names their numbers.
fn label(gather: &Gather<'_, '_>, operation: &Operation) -> String {
    let what = match (operation.what, operation.done) {
        (What::Read(_), Done::Failed) => "read failed",
        (What::Write, Done::Failed) => "write failed",
        (What::Edit, Done::Failed) => "edit failed",
        (What::Delete, Done::Failed) => "delete failed",
        (What::Write, _) => "wrote",
        (What::Edit, _) => "edited",
        (What::Delete, _) => "deleted",
        (What::Read(lines), _) => match lines.last {
            Some(last) if is_said(gather, operation, &[lines.first, last]) => {
                return format!("read {}-{last}", lines.first);
            }
            _ => "read",
        },
    };
    match operation.done {
        Done::Unanswered => format!("{what}, unanswered"),
        Done::Yes | Done::Failed => what.to_owned(),
    }
}

/// Whether a row of a file tells of a change.
pub(super) fn is_change(label: &str) -> bool {
    ["wrote", "edited", "deleted"]
        .iter()
        .any(|what| label.starts_with(what))
}

/// Whether a row of a plan tells of one that was shown, rather than of to-dos.
pub(super) fn is_proposal(label: &str) -> bool {
    label.starts_with("plan")
}

/// Whether the call or its result names these numbers.
fn is_said(gather: &Gather<'_, '_>, operation: &Operation, numbers: &[u64]) -> bool {
    let transcript = gather.transcript;
    let places = [Some(operation.call), operation.result];
    numbers.iter().all(|number| {
        let digits = number.to_string();
        places.iter().flatten().any(|place| {
            let block = transcript.block(place.block);
            let bytes = transcript.bytes(block.line, block.content);
            memchr::memmem::find(bytes, digits.as_bytes()).is_some()
        })
    })
}

/// Lines that the last edits and writes put in.
fn add_edits(gather: &mut Gather<'_, '_>, files: &[File]) {
    let transcript = gather.transcript;
    let operations = files.iter().flat_map(|file| &file.operations);
    let mut edits: Vec<&Operation> = operations
        .filter(|o| matches!(o.what, What::Edit | What::Write) && o.done != Done::Failed)
        .collect();
    edits.sort_by_key(|operation| operation.call);
    for edit in &edits[edits.len().saturating_sub(LAST_EDITS)..] {
        let mut added: Vec<String> = Vec::new();
        for replacement in edit.replacements(transcript) {
            let old: BTreeSet<&str> = replacement.old.split('\n').collect();
            let new = replacement
                .new
                .split('\n')
                .filter(|line| !old.contains(line));
            added.extend(new.map(str::to_owned));
        }
        let written = edit.content(transcript).unwrap_or_default();
        let added = added.iter().map(String::as_str).chain(written.split('\n'));
        for line in added
            .filter(|line| !line.trim().is_empty())
            .take(ADDED_LINES)
        {
            gather.detail(line, edit.call.message, edit.call.line, 0.0);
        }
    }
}

/// Each command once: with how it ended last.
fn add_commands(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    let commands = commands(gather.transcript, own);
    for (n, command) in commands.iter().enumerate() {
        last.insert(clip(command.text.trim(), COMMAND).into_owned(), n);
    }
    for (text, n) in last {
        let command = &commands[n];
        let row = Row {
            section: Section::Commands,
            mark: mark(gather, command.call, command.result),
            label: ended(command.exit),
            text,
        };
        gather.add(row, command.call.message, Claim::Free, 1.0);
    }
}

/// Each error once, whatever numbers are in it: where it was met last.
fn add_failures(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let mut told = BTreeSet::new();
    for failure in failures(gather.transcript, own).iter().rev() {
        let lines: Vec<_> = failure
            .lines
            .iter()
            .map(|line| clip(line, LONGEST))
            .collect();
        let text = lines.join("\n");
        let kind: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        // What is told as an error is no detail of an output besides.
        gather
            .lines
            .extend(failure.lines.iter().map(|line| hash(&clip(line, LONGEST))));
        if told.insert(hash(&kind)) {
            let row = gather.row(Section::Errors, failure.result.line, &text);
            gather.add(row, failure.result.message, Claim::Free, 2.0);
        }
    }
}

fn add_todos(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    if let Some(proposal) = proposal(gather.transcript, own) {
        let label = match proposal.accepted {
            Done::Yes => "plan, accepted",
            Done::Failed => "plan, refused",
            Done::Unanswered => "plan",
        };
        let row = Row {
            label: label.to_owned(),
            ..gather.row(
                Section::Plan,
                proposal.call.line,
                &clip(proposal.text.trim(), PLAN),
            )
        };
        gather.add(row, proposal.call.message, Claim::Plan, 1.0);
    }
    let Some(todos) = todos(gather.transcript, own) else {
        return;
    };
    for todo in todos.items {
        let (label, claim) = match todo.state {
            TodoState::Pending => ("pending", Claim::Plan),
            TodoState::InProgress => ("in progress", Claim::Plan),
            TodoState::Completed => ("done", Claim::Free),
            TodoState::Cancelled => ("cancelled", Claim::Free),
        };
        let row = Row {
            label: label.to_owned(),
            ..gather.row(
                Section::Plan,
                todos.call.line,
                &clip(todo.text.trim(), COMMAND),
            )
        };
        gather.add(row, todos.call.message, claim, 0.5);
    }
}
