//! The files of a conversation, with the operations on each, in order.
//!
//! PURE. Says which file, what was done to it, and how that ended; `known` says what the file contains then.

use std::borrow::Cow;

use super::attached::attached;
use super::exchanges::{Exchange, text_of};
use super::file_history::{File, FileHistory};
use super::input::Input;
use super::lines::Lines;
use super::operation::{Done, FileAction, Operation};
use super::outcome::{self, answered, lists_a_folder};
use super::patch;
use super::path::{self, Folders};
use super::path_scope::UnmatchedOperation;
use super::reads::Reading;
use super::refused::is_empty;
use super::shape::{deletes, moved};
use super::shell::{Look, is_shell, look, output};
use crate::ids::IdMap;
use crate::policy::ToolKind;
use crate::transcript::{Conversation, Transcript};

/// The files of a conversation, in the order in which they were first named.
pub fn files(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<File> {
    files_and_unmatched(transcript, exchanges).0
}

/// The same, and what commands did to files that nothing has named before.
pub(super) fn files_and_unmatched(
    transcript: &Transcript<'_>,
    exchanges: &[Exchange],
) -> (Vec<File>, Vec<UnmatchedOperation>) {
    let folders = Folders::new(transcript);
    let mut history = FileHistory::new(transcript, &folders);
    for exchange in exchanges {
        for (path, operation) in operations(transcript, &folders, exchange) {
            history.push(path, operation);
        }
        history.follow(exchange);
    }
    history.done()
}

/// The same files and those that the agent attached, each with its operations in order.
pub fn with_attached(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    mut files: Vec<File>,
) -> Vec<File> {
    let paths = files.iter().map(|file| file.path.clone());
    let mut by_path: IdMap<String, usize> = paths.zip(0..).collect();
    for (path, operation) in attached(transcript, conversation) {
        let file = *by_path.entry(path).or_insert_with_key(|path| {
            files.push(File {
                path: path.clone(),
                operations: Vec::new(),
            });
            files.len() - 1
        });
        files[file].operations.push(operation);
    }
    for file in &mut files {
        file.operations.sort_by_key(|operation| operation.call);
    }
    files
}

/// The operations of one call: one, except for a patch, which may change many files.
fn operations(
    transcript: &Transcript<'_>,
    folders: &Folders<'_, '_>,
    exchange: &Exchange,
) -> Vec<(String, Operation)> {
    let is_known = match exchange.kind {
        ToolKind::Read | ToolKind::Write | ToolKind::Edit => true,
        ToolKind::Shell => is_shell(transcript, exchange),
        ToolKind::Search | ToolKind::Web | ToolKind::Other => false,
    };
    if !is_known {
        return Vec::new();
    }
    let input = exchange.input(transcript);
    let operation = |written: &str, what: FileAction, done: Done| {
        let operation = Operation {
            call: exchange.call,
            result: exchange.result,
            written: written.to_owned(),
            what,
            done,
            patch: None,
            basis: exchange.basis,
            inner: exchange.inner.clone(),
        };
        (
            folders.in_one_spelling(exchange.call.line, written),
            operation,
        )
    };
    let answered = answered(transcript, exchange);
    let (written, reading) = match exchange.kind {
        ToolKind::Shell => match look(transcript, exchange, &input) {
            Some(Look::At { path, lines }) => (Some(Cow::Owned(path)), Reading::asking(lines)),
            // No match is not a failure, but shows nothing.
            Some(Look::For { .. }) if answered == Done::Failed => return Vec::new(),
            Some(Look::For { path }) => {
                return vec![operation(&path, FileAction::Search, answered)];
            }
            None => (None, Reading::asking(Lines::ALL)),
        },
        ToolKind::Read
        | ToolKind::Write
        | ToolKind::Edit
        | ToolKind::Search
        | ToolKind::Web
        | ToolKind::Other => (
            path::of(&input).map(|(_, path)| path),
            Reading::of(&input, &exchange.tool(transcript)),
        ),
    };
    let done = || outcome::of_change(transcript, exchange, answered);
    let tool = exchange.tool(transcript);
    if exchange.kind == ToolKind::Edit
        && let Some([from, to]) = moved(&tool, &input)
    {
        return vec![
            operation(&from, FileAction::MoveFrom, done()),
            operation(&to, FileAction::MoveTo, done()),
        ];
    }
    let Some(written) = written else {
        if exchange.kind == ToolKind::Read {
            // Which part of the result shows which of several files, it does not say.
            let files = input.files();
            let read = |file: &Input<'_>| {
                let (_, path) = path::of(file)?;
                let lines = Reading::of(file, &exchange.tool(transcript)).lines();
                Some(operation(&path, FileAction::Read(lines), Done::Unclear))
            };
            return files.iter().filter_map(read).collect();
        }
        let patch = patch::of(&input);
        let parts = patch.as_deref().map(patch::parts).unwrap_or_default();
        return parts
            .into_iter()
            .map(|part| {
                let (path, mut operation) = operation(part.path, part.what, done());
                operation.patch = Some(part.body.to_owned());
                (path, operation)
            })
            .collect();
    };
    let what = what(exchange.kind, &tool, &input);
    if !matches!(what, FileAction::Read(_)) {
        return vec![operation(&written, what, done())];
    }
    let read = |lines: Lines, done: Done| vec![operation(&written, FileAction::Read(lines), done)];
    let Some(result) = exchange.result.filter(|_| answered == Done::Yes) else {
        return read(reading.lines(), answered);
    };
    // What the cell has not printed, the conversation does not show.
    if exchange
        .inner
        .as_ref()
        .is_some_and(|inner| inner.output.is_none())
    {
        return read(reading.lines(), Done::Unclear);
    }
    let block = transcript.block(result.block);
    let mut said = text_of(transcript, result, exchange.inner.as_deref());
    if exchange.kind == ToolKind::Shell {
        said = output(said);
    }
    // A picture is always shown whole.
    if (block.images > 0 || block.documents > 0) && is_empty(&said) {
        return read(Lines::ALL, answered);
    }
    if lists_a_folder(transcript, result, &said) {
        return vec![operation(&written, FileAction::Search, answered)];
    }
    let done = outcome::of_read(transcript, exchange, answered, &said);
    let shown = match (done, reading.shown(&said, result.block)) {
        (Done::Yes, Some(shown)) if exchange.kind == ToolKind::Shell => {
            shown.lines().up_to_the_end(&said)
        }
        (Done::Yes, Some(shown)) => shown.lines(),
        (Done::Yes, None) | (Done::Failed | Done::Unclear, _) => reading.lines(),
    };
    read(shown, done)
}

/// What a call of a tool of that kind does. One tool has a parameter for it.
fn what(kind: ToolKind, tool: &str, input: &Input<'_>) -> FileAction {
    match (kind, input.text(&["command"]).as_deref()) {
        (ToolKind::Read | ToolKind::Shell, _) | (ToolKind::Edit, Some("view")) => {
            FileAction::Read(Lines::ALL)
        }
        (ToolKind::Write, _) | (ToolKind::Edit, Some("create")) => FileAction::Write,
        (ToolKind::Edit, None) if deletes(tool, input) => FileAction::Delete,
        _ => FileAction::Edit,
    }
}
