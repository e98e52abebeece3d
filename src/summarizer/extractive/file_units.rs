//! Files as units: the last operation on each, its state in an earlier summary, and the lines that the last edits added.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::form::{Row, Section};
use super::gather::Gather;
use super::names::hash;
use super::units::{Claim, Unit};
use crate::facts::{
    Done, FactLocation, File, FileAction, Operation, UnmatchedOperation, is_relative, spelled,
};
use crate::ids::IdSet;

/// The values of files besides their names: of a changed file, and of one that was only read.
pub(super) const CHANGED: f64 = 3.0;
pub(super) const SEEN: f64 = 0.6;

/// Separates a change of a file from a later read of it.
const BEFORE: &str = " before";

/// The label of a file whose changes are in a stash, and all labels for changes that git may have reverted.
const STASHED: &str = "stashed";
const UNDONE: [&str; 3] = ["reverted", STASHED, "unstashed"];

/// The maximum number of lines taken from one edit or write.
const ADDED_LINES: usize = 400;

/// The path of a file in a summary: as written, unless it is relative to another folder.
fn path_of<'f>(gather: &Gather<'_, '_>, file: &'f File, written: &'f str) -> Cow<'f, str> {
    let folder = gather.found.folder.as_deref();
    match is_relative(written) && spelled(written, folder) != file.path {
        true => gather.found.separator.shown(&file.path),
        false => Cow::Borrowed(written),
    }
}

/// Adds a file with its last operation.
pub(super) fn add_file(gather: &mut Gather<'_, '_>, file: &File) {
    let Some(last) = file.last().or(file.operations.last()) else {
        return;
    };
    let mut done = file.operations.iter().rev();
    let mut done = done.by_ref().filter(|o| o.done != Done::Failed);
    let change = done.find(|o| !o.what.is_read_only());
    let mut text = label(gather, last);
    if last.what.is_read_only() {
        // A changed file stays marked as changed even if it was read since.
        if let Some(change) = change {
            text = format!("{text}, {}{BEFORE}", label(gather, change));
        }
    } else if let Some(change) = done.find(|o| o.what.is_change())
        && leaves_open(last)
    {
        text = format!("{text}, {}{BEFORE}", label(gather, change));
    }
    let row = Row {
        section: Section::Files,
        mark: gather.mark_of(last.call, last.result.map(Into::into), &text),
        label: text,
        text: path_of(gather, file, &last.written).into_owned(),
    };
    let (claim, base) = match change {
        Some(_) => (Claim::Changed, CHANGED),
        None => (Claim::Free, SEEN),
    };
    if gather.add(row, last.call.message, claim, base).is_some() {
        let unit = gather.found.units.len() - 1;
        gather.files.insert(hash(&file.path), unit);
    }
}

/// Whether the state before this operation may still exist, or matters for understanding it.
fn leaves_open(operation: &Operation) -> bool {
    match operation.what {
        FileAction::Revert | FileAction::Stash | FileAction::Unstash => true,
        FileAction::Delete | FileAction::MoveFrom => operation.done == Done::Unclear,
        FileAction::Read(_)
        | FileAction::Search
        | FileAction::Write
        | FileAction::Edit
        | FileAction::MoveTo => false,
    }
}

/// Updates the row of a file from an earlier summary if a command has since deleted, moved or reverted it or a folder that contains
/// it.
pub(super) fn removed_since(gather: &Gather<'_, '_>, path: &str, row: &mut Row) {
    let is_it = |stray: &&UnmatchedOperation| {
        let operation = &stray.operation;
        let concerns = match operation.what {
            FileAction::Stash => is_change(&row.label),
            // An unchanged file is not affected by a revert, unless it is named.
            FileAction::Revert => stray.names(path) || is_change(&row.label),
            FileAction::Unstash => row.label.starts_with(STASHED),
            FileAction::Read(_)
            | FileAction::Search
            | FileAction::Write
            | FileAction::Edit
            | FileAction::Delete
            | FileAction::MoveFrom
            | FileAction::MoveTo => true,
        };
        concerns
            && gather.span.contains(&(operation.call.message as usize))
            && operation.done != Done::Failed
            && stray.may_be_of(path)
    };
    let Some(stray) = gather.acts.unmatched.iter().rfind(is_it) else {
        return;
    };
    let operation = &stray.operation;
    let change = change_in(&row.label);
    let mut text = label(gather, operation);
    if let Some(change) = change.filter(|_| leaves_open(operation)) {
        text = format!("{text}, {change}{BEFORE}");
    }
    row.label = text;
    let named = row.mark.line;
    row.mark = gather.mark_of(operation.call, operation.result.map(Into::into), &row.label);
    // A command on a folder does not name the files in it.
    if !stray.names(path) {
        row.mark.and = Some(named);
    }
}

/// The words of labels for unknown outcomes.
const OPEN: [&str; 2] = ["outcome unknown", "unanswered"];

/// The first change in a label, with its outcome.
fn change_in(label: &str) -> Option<String> {
    let bare = |words: &str| words.strip_suffix(BEFORE).unwrap_or(words).to_owned();
    let mut parts = label.split(", ").skip_while(|words| !is_change(words));
    let change = bare(parts.next()?);
    let outcome = parts.next().map(bare);
    let outcome = outcome.filter(|outcome| OPEN.contains(&&outcome[..]));
    Some(match outcome {
        Some(outcome) => format!("{change}, {outcome}"),
        None => change,
    })
}

/// Keeps a file marked as changed if it was so in an earlier summary, even if it was read since.
pub(super) fn changed_before(unit: &mut Unit, earlier: &Row) {
    let label = &unit.row.label;
    let is_bare = || UNDONE.iter().any(|what| label.starts_with(what)) && !label.ends_with(BEFORE);
    if is_change(&earlier.label) && (!is_change(label) || is_bare()) {
        let what = change_in(&earlier.label).unwrap_or_default();
        unit.row.label = format!("{}, {what}{BEFORE}", unit.row.label);
        unit.claim = Claim::Changed;
        unit.base = unit.base.max(CHANGED);
    }
}

/// The label of an operation, with the line numbers of a read if the transcript states them.
fn label(gather: &Gather<'_, '_>, operation: &Operation) -> String {
    let what = match (operation.what, operation.done) {
        (FileAction::Read(_), Done::Failed) => "read failed",
        (FileAction::Search, Done::Failed) => "search failed",
        (FileAction::Write, Done::Failed) => "write failed",
        (FileAction::Edit, Done::Failed) => "edit failed",
        (FileAction::Delete, Done::Failed) => "delete failed",
        (FileAction::MoveFrom | FileAction::MoveTo, Done::Failed) => "move failed",
        (FileAction::Revert, Done::Failed) => "revert failed",
        (FileAction::Stash, Done::Failed) => "stash failed",
        (FileAction::Unstash, Done::Failed) => "unstash failed",
        (FileAction::Revert, _) => "reverted",
        (FileAction::Stash, _) => "stashed",
        (FileAction::Unstash, _) => "unstashed",
        (FileAction::MoveFrom, _) => "moved away",
        (FileAction::MoveTo, _) => "moved here",
        (FileAction::Search, _) => "searched",
        (FileAction::Write, _) => "wrote",
        (FileAction::Edit, _) => "edited",
        (FileAction::Delete, _) => "deleted",
        (FileAction::Read(lines), _) => match lines.last {
            Some(last) if is_said(gather, operation, &[lines.first, last]) => {
                return format!("read {}-{last}", lines.first);
            }
            _ => "read",
        },
    };
    match operation.done {
        Done::Unclear if operation.result.is_none() => format!("{what}, unanswered"),
        Done::Unclear => format!("{what}, outcome unknown"),
        Done::Yes | Done::Failed => what.to_owned(),
    }
}

/// Whether the label of a file is about a change.
pub(super) fn is_change(label: &str) -> bool {
    let changes = ["wrote", "edited", "deleted", "moved"];
    let is_one = |words: &str| {
        let mut changes = changes.iter().chain(&UNDONE);
        changes.any(|what| words.starts_with(what))
    };
    label.split(", ").any(is_one)
}

/// Whether the call or its result names these numbers.
fn is_said(gather: &Gather<'_, '_>, operation: &Operation, numbers: &[u64]) -> bool {
    let transcript = gather.transcript;
    let places = [Some(operation.call), operation.result];
    numbers.iter().all(|number| {
        let digits = number.to_string();
        places.iter().flatten().any(|place| {
            let block = transcript.block(place.block);
            contains_number(transcript.bytes(block.line, block.content), &digits)
        })
    })
}

/// Whether a number occurs on its own, not only as part of another.
fn contains_number(bytes: &[u8], digits: &str) -> bool {
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let mut places = memchr::memmem::find_iter(bytes, digits.as_bytes());
    places.any(|at| !is_digit(at.checked_sub(1)) && !is_digit(at.checked_add(digits.len())))
}

/// Adds lines that edits and writes added and that no later one of the same file removed.
pub(super) fn add_edits(gather: &mut Gather<'_, '_>, files: &[File]) {
    let transcript = gather.transcript;
    let mut added: Vec<(FactLocation, Vec<String>)> = Vec::new();
    for file in files {
        let mut overwritten: IdSet<u64> = IdSet::default();
        let done = file.operations.iter().rev();
        for operation in done.filter(|operation| operation.done != Done::Failed) {
            let is_there = |line: &&str| !line.trim().is_empty();
            let mut lines: Vec<String> = Vec::new();
            match operation.what {
                FileAction::Read(_) | FileAction::Search => continue,
                FileAction::Delete
                | FileAction::MoveFrom
                | FileAction::MoveTo
                | FileAction::Revert
                | FileAction::Stash
                | FileAction::Unstash => break,
                FileAction::Write => {
                    let text = operation.content(transcript).unwrap_or_default();
                    let new = text.split('\n').filter(is_there);
                    lines.extend(
                        new.filter(|line| !overwritten.contains(&hash(line)))
                            .map(str::to_owned),
                    );
                }
                FileAction::Edit => {
                    let mut taken = Vec::new();
                    for replacement in operation.replacements(transcript) {
                        let old: BTreeSet<&str> = replacement.old.split('\n').collect();
                        let new: BTreeSet<&str> = replacement.new.split('\n').collect();
                        taken.extend(old.difference(&new).map(|line| hash(line)));
                        let new = replacement.new.split('\n').filter(is_there);
                        let new = new.filter(|line| !old.contains(line));
                        lines.extend(
                            new.filter(|line| !overwritten.contains(&hash(line)))
                                .map(str::to_owned),
                        );
                    }
                    overwritten.extend(taken);
                }
            }
            added.push((operation.call, lines));
            // The earlier content no longer exists.
            if operation.what == FileAction::Write {
                break;
            }
        }
    }
    added.sort_by_key(|(call, _)| *call);
    for (call, lines) in added {
        for line in lines.iter().take(ADDED_LINES) {
            gather.detail(line, call.message, call.line, 0.0);
        }
    }
}
