//! Facts as units: files, commands, errors, to-dos and plans, and the lines that the last edits added.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::clip::clip;
use super::ends::{ended, is_of_result};
use super::form::{Mark, Row, Section};
use super::gather::Gather;
use super::names::hash;
use super::todos_of;
use super::units::{Claim, Unit};
use crate::facts::{
    Done, Exchange, FactLocation, File, FileAction, Lines, Missed, Operation, commands, failures,
    folder, is_relative, missed, proposal, spelled,
};
use crate::ids::{IdMap, IdSet};
use crate::policy::ToolKind;
use crate::text::count;
use crate::transcript::Message;

/// How much of a command and of a plan is quoted, in bytes.
pub(super) const LONGEST_COMMAND: usize = 240;
const LONGEST_PLAN: usize = 2_400;

/// How many characters of a command are always quoted.
const HEAD: usize = 56;

/// How the label of calls that are not described ends, and how many of their tools are named.
const MISSED: &str = " not described";
const TOOLS: usize = 3;

/// How much of a line of an error is quoted, in bytes.
const LONGEST_ERROR: usize = 200;

/// How labels of plans begin, other than those of to-dos.
const PLAN: &str = "plan";

/// Separates a change of a file from a later read of it.
const BEFORE: &str = " before";

/// The most parts of a file: those that were read last.
const PARTS_OF_A_FILE: usize = 32;

/// The most lines of one edit or write.
const ADDED_LINES: usize = 400;

/// The values of facts besides their names.
pub(super) const CHANGED: f64 = 3.0;
pub(super) const SEEN: f64 = 0.6;
pub(super) const RAN: f64 = 2.0;
pub(super) const PLANNED: f64 = 1.0;
pub(super) const FAILED: f64 = 4.0;

/// What the blocks of calls and results are.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// What results show.
    pub(super) outputs: IdMap<u32, Output>,
    /// Calls that write or edit.
    pub(super) writes: IdSet<u32>,
}

/// What a result shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// A file or a part of it, and no later result shows as much.
    File,
    /// One that a later result shows.
    OldFile,
    /// The output of a command.
    Command,
    /// Anything else.
    Other,
}

/// Adds the facts of `own`, the exchanges of the span; to-dos and plans only if the exchanges after the span, `later`, do not
/// rewrite them. Returns what the blocks of files and commands are.
pub(super) fn gather(gather: &mut Gather<'_, '_>, own: &[Exchange], later: &[Exchange]) -> Blocks {
    let transcript = gather.transcript;
    let files = gather.acts.files_of(gather.span.clone());
    gather.found.folder = folder_of_summary(gather);
    for file in &files {
        add_file(gather, file);
    }
    add_edits(gather, &files);
    add_commands(gather, own, later);
    add_missed(gather, own);
    add_failures(gather, own);
    if proposal(transcript, later).is_some() {
        gather.known.insert(PROPOSAL);
    } else {
        add_proposal(gather, own);
    }
    todos_of::gather(gather, own, later);
    let keys = gather.found.units.iter().filter_map(|unit| key(&unit.row));
    gather.known.extend(keys);
    let is_write = |exchange: &&Exchange| matches!(exchange.kind, ToolKind::Write | ToolKind::Edit);
    let writes = own.iter().filter(is_write);
    Blocks {
        outputs: outputs(own, &files),
        writes: writes.map(|exchange| exchange.call.block).collect(),
    }
}

/// Facts that an earlier summary may repeat only if nothing newer is known: a command, the to-dos, the plan. Files are
/// identified by their paths.
pub(super) fn key(row: &Row) -> Option<(Section, u64)> {
    match row.section {
        // Others of that tool are not the same calls.
        Section::Commands if row.label.ends_with(MISSED) => None,
        Section::Commands => Some((row.section, hash(&row.text))),
        Section::Plan if is_plan(row) => Some(PROPOSAL),
        Section::Plan => Some(todos_of::key(row)),
        Section::Requests
        | Section::Earlier
        | Section::Files
        | Section::Errors
        | Section::Findings
        | Section::Details
        | Section::State => None,
    }
}

const PROPOSAL: (Section, u64) = (Section::Plan, 0);

fn outputs(own: &[Exchange], files: &[File]) -> IdMap<u32, Output> {
    let mut outputs: IdMap<u32, Output> = own
        .iter()
        .filter_map(|exchange| {
            let output = match exchange.kind {
                ToolKind::Read => Output::OldFile,
                ToolKind::Shell => Output::Command,
                ToolKind::Write
                | ToolKind::Edit
                | ToolKind::Search
                | ToolKind::Web
                | ToolKind::Other => Output::Other,
            };
            Some((exchange.result?.block, output))
        })
        .collect();
    for file in files {
        let mut shown: Vec<Lines> = Vec::new();
        for operation in file.operations.iter().rev() {
            let lines = match (operation.what, operation.done) {
                (FileAction::Read(lines), Done::Yes) => lines,
                // The earlier content no longer exists.
                (
                    FileAction::Write | FileAction::Delete | FileAction::Leave | FileAction::Arrive,
                    Done::Yes,
                ) => break,
                (FileAction::Search, _) | (FileAction::Edit, Done::Yes) | (_, Done::Failed) => {
                    continue;
                }
                // The earlier content may no longer exist.
                (
                    FileAction::Read(_)
                    | FileAction::Write
                    | FileAction::Edit
                    | FileAction::Delete
                    | FileAction::Leave
                    | FileAction::Arrive,
                    Done::Unclear,
                ) => break,
            };
            if shown.len() >= PARTS_OF_A_FILE {
                break;
            }
            if !shown.iter().any(|later| later.hold(lines)) {
                shown.push(lines);
                if let Some(result) = operation.result
                    && let Some(output @ Output::OldFile) = outputs.get_mut(&result.block)
                {
                    *output = Output::File;
                }
            }
        }
    }
    outputs
}

/// The folder that paths in a summary may be relative to: the agent's working folder at the end of the span, which the summary's
/// record names, if it is still the same at the end of the conversation.
fn folder_of_summary(gather: &Gather<'_, '_>) -> Option<String> {
    let conversation = gather.conversation;
    let folder_at = |message: &Message| {
        let line = conversation.lines(message).last()?;
        folder(gather.transcript, *line)
    };
    let end = folder_at(conversation.messages[..gather.end].last()?)?;
    let last = folder_at(conversation.messages.last()?)?;
    (end == last).then_some(end)
}

/// The path of a file in a summary: as written, unless it is relative to another folder.
fn path_of<'f>(gather: &Gather<'_, '_>, file: &'f File, written: &'f str) -> &'f str {
    let folder = gather.found.folder.as_deref();
    match is_relative(written) && spelled(written, folder) != file.path {
        true => &file.path,
        false => written,
    }
}

/// The line of the call; and that of the result if the label has a word which may occur only there.
fn mark(
    gather: &Gather<'_, '_>,
    call: FactLocation,
    result: Option<FactLocation>,
    label: &str,
) -> Mark {
    Mark {
        and: result
            .filter(|_| is_of_result(label))
            .map(|result| gather.mark(result.line).line),
        ..gather.mark(call.line)
    }
}

fn add_file(gather: &mut Gather<'_, '_>, file: &File) {
    let is_done = |o: &&Operation| o.done != Done::Failed;
    let is_look = |o: &Operation| matches!(o.what, FileAction::Read(_) | FileAction::Search);
    let Some(last) = file.last().or(file.operations.last()) else {
        return;
    };
    let mut done = file.operations.iter().filter(is_done);
    let change = done.rfind(|o| !is_look(o));
    let mut text = label(gather, last);
    // A changed file stays marked as changed even if it was read since.
    if let Some(change) = change.filter(|_| is_look(last)) {
        text = format!("{text}, {}{BEFORE}", label(gather, change));
    }
    let row = Row {
        section: Section::Files,
        mark: mark(gather, last.call, last.result, &text),
        label: text,
        text: path_of(gather, file, &last.written).to_owned(),
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

/// A file of an earlier summary that a command has deleted or moved since, itself or a folder that it is in.
pub(super) fn removed_since(gather: &Gather<'_, '_>, path: &str, row: &mut Row) {
    let is_it = |(removed, operation): &&(String, Operation)| {
        let rest = path.strip_prefix(&removed[..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && gather.span.contains(&(operation.call.message as usize))
            && operation.done != Done::Failed
    };
    if let Some((removed, operation)) = gather.acts.strays.iter().rfind(is_it) {
        row.label = label(gather, operation);
        let named = row.mark.line;
        row.mark = mark(gather, operation.call, operation.result, &row.label);
        // Of a folder, the command does not name what is in it.
        if removed != path {
            row.mark.and = Some(named);
        }
    }
}

/// A file that was changed according to an earlier summary: it stays marked as changed even if it was read since.
pub(super) fn changed_before(unit: &mut Unit, earlier: &Row) {
    if is_change(&earlier.label) && !is_change(&unit.row.label) {
        let words = earlier.label.split(", ").find(|words| is_change(words));
        let what = words.unwrap_or_default();
        let what = what.strip_suffix(BEFORE).unwrap_or(what);
        unit.row.label = format!("{}, {what}{BEFORE}", unit.row.label);
        unit.claim = Claim::Changed;
        unit.base = unit.base.max(CHANGED);
    }
}

/// What was done, with the line numbers of a read if the transcript names them.
fn label(gather: &Gather<'_, '_>, operation: &Operation) -> String {
    let what = match (operation.what, operation.done) {
        (FileAction::Read(_), Done::Failed) => "read failed",
        (FileAction::Search, Done::Failed) => "search failed",
        (FileAction::Write, Done::Failed) => "write failed",
        (FileAction::Edit, Done::Failed) => "edit failed",
        (FileAction::Delete, Done::Failed) => "delete failed",
        (FileAction::Leave | FileAction::Arrive, Done::Failed) => "move failed",
        (FileAction::Leave, _) => "moved away",
        (FileAction::Arrive, _) => "moved here",
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

/// Whether a row is about a plan and not a to-do.
pub(super) fn is_plan(row: &Row) -> bool {
    row.section == Section::Plan && row.label.starts_with(PLAN)
}

/// Whether the label of a file is about a change.
pub(super) fn is_change(label: &str) -> bool {
    let is_one = |words: &str| {
        ["wrote", "edited", "deleted", "moved"]
            .iter()
            .any(|what| words.starts_with(what))
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

/// Whether a number is there, and not only as a part of another.
fn contains_number(bytes: &[u8], digits: &str) -> bool {
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let mut places = memchr::memmem::find_iter(bytes, digits.as_bytes());
    places.any(|at| !is_digit(at.checked_sub(1)) && !is_digit(at.checked_add(digits.len())))
}

/// Lines that edits and writes added and no later one of the same file removed.
fn add_edits(gather: &mut Gather<'_, '_>, files: &[File]) {
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
                FileAction::Delete | FileAction::Leave | FileAction::Arrive => break,
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

/// Each command once, with its last result.
fn add_commands(gather: &mut Gather<'_, '_>, own: &[Exchange], later: &[Exchange]) {
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    let commands = commands(gather.transcript, own);
    for (n, command) in commands.iter().enumerate() {
        last.insert(clip(command.text.trim(), LONGEST_COMMAND).into_owned(), n);
    }
    let after = commands_of(gather, later);
    let all: BTreeSet<String> = last.keys().cloned().chain(after).collect();
    for (text, n) in last {
        let command = &commands[n];
        let label = ended(command);
        let row = Row {
            section: Section::Commands,
            mark: mark(gather, command.call, command.result, &label),
            label,
            text,
        };
        let head = head(&row.text, &all);
        if let Some(unit) = gather.add(row, command.call.message, Claim::Free, RAN) {
            unit.head = head;
        }
    }
}

/// The commands of exchanges, as they are quoted.
fn commands_of(gather: &Gather<'_, '_>, exchanges: &[Exchange]) -> Vec<String> {
    let commands = commands(gather.transcript, exchanges);
    let quoted = commands
        .iter()
        .map(|command| clip(command.text.trim(), LONGEST_COMMAND));
    quoted.map(Cow::into_owned).collect()
}

/// How many bytes of a command are needed to know it: some words, and what tells it from all others.
fn head(text: &str, all: &BTreeSet<String>) -> usize {
    let same = |other: &String| {
        let pairs = text.chars().zip(other.chars());
        let same = pairs.take_while(|(a, b)| a == b);
        same.map(|(c, _)| c.len_utf8()).sum::<usize>()
    };
    let before = all.range::<str, _>((Bound::Unbounded, Bound::Excluded(text)));
    let after = all.range::<str, _>((Bound::Excluded(text), Bound::Unbounded));
    let shared = [before.last().map(same), after.take(1).map(same).last()];
    let shared = shared.into_iter().flatten().max().unwrap_or(0);
    let words = text
        .char_indices()
        .nth(HEAD)
        .map_or(text.len(), |(at, _)| at);
    let at = text[shared..]
        .chars()
        .next()
        .map_or(shared, |c| shared + c.len_utf8());
    at.max(words)
}

/// Says of how many calls the summary tells nothing, where these are many.
fn add_missed(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let missed = missed(gather.transcript, own, &gather.policy.tools);
    for Missed {
        tool,
        calls,
        first,
        last,
    } in missed.into_iter().take(TOOLS)
    {
        let row = Row {
            section: Section::Commands,
            mark: Mark {
                and: (last.line > first.line).then(|| gather.first_line + u64::from(last.line)),
                ..gather.mark(first.line)
            },
            label: format!("{}{MISSED}", count(calls, "call")),
            text: tool,
        };
        gather.add(row, last.message, Claim::Plan, PLANNED);
    }
}

/// Each line of an error once, ignoring numbers: where it occurred last.
fn add_failures(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let mut seen = IdSet::default();
    for failure in failures(gather.transcript, own).iter().rev() {
        let mut new: Vec<Cow<'_, str>> = Vec::new();
        for line in &failure.lines {
            let line = clip(line, LONGEST_ERROR);
            // A line that is an error need not be a detail of an output too.
            gather.lines.insert(hash(&line));
            let kind: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
            if seen.insert(hash(&kind)) {
                new.push(line);
            }
        }
        for line in new {
            let row = gather.row(Section::Errors, failure.result.line, &line);
            gather.add(row, failure.result.message, Claim::Free, FAILED);
        }
    }
}

fn add_proposal(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let Some(proposal) = proposal(gather.transcript, own) else {
        return;
    };
    let label = match proposal.accepted {
        Done::Yes => "plan, accepted",
        Done::Failed => "plan, refused",
        Done::Unclear => PLAN,
    };
    let text = clip(proposal.text.trim(), LONGEST_PLAN);
    let row = Row {
        label: label.to_owned(),
        ..gather.row(Section::Plan, proposal.call.line, &text)
    };
    gather.add(row, proposal.call.message, Claim::Plan, PLANNED);
}
