//! Facts as units: files, errors, to-dos and plans.

use std::borrow::Cow;

use super::clip::clip;
use super::command_units::add_commands;
use super::file_units::{add_edits, add_file};
use super::form::{Mark, Row, Section};
use super::gather::Gather;
use super::names::hash;
use super::todo_units::{self, PLAN, PLANNED, is_plan};
use super::units::{Claim, Separator};
use crate::facts::{
    Author, Done, Exchange, File, FileAction, Lines, UnrecognizedCalls, failures, folder, missed,
    proposal, spelled, writes_list,
};
use crate::ids::{IdMap, IdSet};
use crate::policy::ToolKind;
use crate::text::count;
use crate::transcript::{Message, Transcript};

/// The maximum length of a quoted plan, in bytes.
const LONGEST_PLAN: usize = 2_400;

/// The end of the label for undescribed calls, and the maximum number of their tools that are named.
const MISSED: &str = " not described";
const TOOLS: usize = 3;

/// The maximum length of a quoted error line, in bytes.
const LONGEST_ERROR: usize = 200;

/// The maximum number of parts of a file: those read last.
const PARTS_OF_A_FILE: usize = 32;

/// The values of facts besides their names.
pub(super) const FAILED: f64 = 4.0;

/// The roles of the blocks of calls and results.
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
    /// A file that a later result also shows.
    OldFile,
    /// A list of to-dos; only the last list is summarised.
    Todos,
    /// The output of a command.
    Command,
    /// Anything else.
    Other,
}

/// Adds the facts of `own`, the exchanges of the span; to-dos and plans only if the exchanges after the span, `later`, do not
/// rewrite them. Returns the roles of the blocks of files and commands.
pub(super) fn gather(gather: &mut Gather<'_, '_>, own: &[Exchange], later: &[Exchange]) -> Blocks {
    let transcript = gather.transcript;
    let files = gather.acts.files_of(gather.span.clone());
    let folder = folder_of_summary(gather);
    gather.found.separator = match &folder {
        Some(folder) if folder.contains('\\') => Separator::Backslash,
        Some(_) | None => Separator::Slash,
    };
    gather.found.folder = folder.map(|folder| spelled(&folder, None));
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
    todo_units::gather(gather, own, later);
    let keys = gather.found.units.iter().filter_map(|unit| key(&unit.row));
    gather.known.extend(keys);
    let is_write = |exchange: &&Exchange| matches!(exchange.kind, ToolKind::Write | ToolKind::Edit);
    let writes = own.iter().filter(is_write);
    Blocks {
        outputs: outputs(transcript, own, &files),
        writes: writes.map(|exchange| exchange.call.block).collect(),
    }
}

/// The key of a fact that is carried over from an earlier summary only if nothing newer is known: to-dos and the plan. Files are
/// identified by path, and commands by text and folder.
pub(super) fn key(row: &Row) -> Option<(Section, u64)> {
    match row.section {
        Section::Plan if is_plan(row) => Some(PROPOSAL),
        Section::Plan => Some(todo_units::key(row)),
        Section::Requests
        | Section::Earlier
        | Section::Files
        | Section::Commands
        | Section::Errors
        | Section::Findings
        | Section::Details
        | Section::State => None,
    }
}

const PROPOSAL: (Section, u64) = (Section::Plan, 0);

fn outputs(transcript: &Transcript<'_>, own: &[Exchange], files: &[File]) -> IdMap<u32, Output> {
    let mut outputs: IdMap<u32, Output> = own
        .iter()
        .filter_map(|exchange| {
            let output = match exchange.kind {
                ToolKind::Read => Output::OldFile,
                ToolKind::Shell => Output::Command,
                ToolKind::Other if writes_list(&exchange.tool(transcript)) => Output::Todos,
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
                    FileAction::Write
                    | FileAction::Delete
                    | FileAction::MoveFrom
                    | FileAction::MoveTo
                    | FileAction::Revert
                    | FileAction::Stash
                    | FileAction::Unstash,
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
                    | FileAction::MoveFrom
                    | FileAction::MoveTo
                    | FileAction::Revert
                    | FileAction::Stash
                    | FileAction::Unstash,
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
/// record states, if it is the same at the end of the conversation.
fn folder_of_summary(gather: &Gather<'_, '_>) -> Option<String> {
    let conversation = gather.conversation;
    let folder_at = |message: &Message| {
        let line = conversation.lines(message).last()?;
        folder(gather.transcript, *line)
    };
    let end = folder_at(conversation.messages[..gather.span.end].last()?)?;
    let last = folder_at(conversation.messages.last()?)?;
    (end == last).then_some(end)
}

/// Adds a row that states how many calls the summary does not describe, if there are many.
fn add_missed(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let missed = missed(gather.transcript, own, &gather.policy.tools);
    for UnrecognizedCalls {
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

/// Adds each error line once, ignoring numbers, at its last occurrence.
fn add_failures(gather: &mut Gather<'_, '_>, own: &[Exchange]) {
    let mut seen = IdSet::default();
    for failure in failures(gather.transcript, own).iter().rev() {
        let mut new: Vec<Cow<'_, str>> = Vec::new();
        for line in &failure.lines {
            let line = clip(line, LONGEST_ERROR);
            // An error line need not also be a detail of an output.
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
    let label = match (proposal.accepted, proposal.author) {
        (Done::Yes, Author::Agent) => "plan, accepted",
        (Done::Yes, Author::User) => "plan, accepted as the user has changed it",
        (Done::Failed, _) => "plan, refused",
        (Done::Unclear, _) => PLAN,
    };
    let text = clip(proposal.text.trim(), LONGEST_PLAN);
    let row = Row {
        label: label.to_owned(),
        ..gather.row(Section::Plan, proposal.call.line, &text)
    };
    gather.add(row, proposal.call.message, Claim::Plan, PLANNED);
}

/// Whether a row is about calls of a tool that are not described: others of that tool are not the same calls.
pub(super) fn is_missed(row: &Row) -> bool {
    row.section == Section::Commands && row.label.ends_with(MISSED)
}
