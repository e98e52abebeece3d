//! The files of a conversation, with the operations on each, in order.
//!
//! PURE. States which file, what was done to it, and whether that succeeded; `known` derives the resulting content.

use std::borrow::Cow;

use super::answers_of_several::{about, answers};
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

/// As `files`, with what commands did to files that nothing had named before.
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
    let call = FileCall {
        transcript,
        folders,
        exchange,
        input: exchange.input(transcript),
        tool: exchange.tool(transcript),
        answered: answered(transcript, exchange),
    };
    match exchange.kind == ToolKind::Shell {
        true => call.shell(),
        false => call.tool(),
    }
}

/// A call that names files.
struct FileCall<'f, 't> {
    transcript: &'f Transcript<'t>,
    folders: &'f Folders<'f, 't>,
    exchange: &'f Exchange,
    input: Input<'f>,
    tool: Cow<'f, str>,
    answered: Done,
}

impl FileCall<'_, '_> {
    fn operation(&self, written: &str, what: FileAction, done: Done) -> (String, Operation) {
        let operation = Operation {
            call: self.exchange.call,
            result: self.exchange.result,
            written: written.to_owned(),
            what,
            done,
            patch: None,
            basis: self.exchange.basis,
            inner: self.exchange.inner.clone(),
        };
        let path = self
            .folders
            .in_one_spelling(self.exchange.call.line, written);
        (path, operation)
    }

    fn shell(&self) -> Vec<(String, Operation)> {
        match look(self.transcript, self.exchange, &self.input) {
            Some(Look::At { path, lines }) => vec![self.read(&path, Reading::asking(lines))],
            // No match is not a failure, but shows nothing.
            Some(Look::For { .. }) if self.answered == Done::Failed => Vec::new(),
            Some(Look::For { path }) => {
                vec![self.operation(&path, FileAction::Search, self.answered)]
            }
            None => self.patch(),
        }
    }

    fn tool(&self) -> Vec<(String, Operation)> {
        let kind = self.exchange.kind;
        if kind == ToolKind::Edit
            && let Some([from, to]) = moved(&self.tool, &self.input)
        {
            return vec![
                self.operation(&from, FileAction::MoveFrom, self.changed()),
                self.operation(&to, FileAction::MoveTo, self.changed()),
            ];
        }
        let Some((_, written)) = path::of(&self.input) else {
            return match kind == ToolKind::Read {
                true => self.several_reads(),
                false => self.patch(),
            };
        };
        match what(kind, &self.tool, &self.input) {
            FileAction::Read(_) => {
                vec![self.read(&written, Reading::of(&self.input, &self.tool))]
            }
            what => vec![self.operation(&written, what, self.changed())],
        }
    }

    /// How a change ended.
    fn changed(&self) -> Done {
        outcome::of_change(self.transcript, self.exchange, self.answered)
    }

    /// A call that reads several files: which part of the result shows which of them, it does not say.
    /// Which part of the result shows which of several files, most tools do not say.
    fn several_reads(&self) -> Vec<(String, Operation)> {
        let files = self.input.files();
        let result = self.exchange.result;
        let own = result.filter(|_| self.exchange.inner.is_none());
        let answers = own.map_or_else(Vec::new, |result| answers(self.transcript, result));
        let read = |file: &Input<'_>| {
            let (_, path) = path::of(file)?;
            let reading = Reading::of(file, &self.tool);
            let answer = about(&answers, &path);
            let shown = answer.zip(result).and_then(|(answer, result)| {
                let shown = reading.shown(&answer.text, result.block)?;
                (answer.done == Done::Yes).then(|| shown.lines())
            });
            let done = match (answer, shown) {
                (Some(answer), None) if answer.done == Done::Failed => Done::Failed,
                (Some(_), Some(_)) => Done::Yes,
                (_, _) => Done::Unclear,
            };
            let lines = shown.unwrap_or(reading.lines());
            Some(self.operation(&path, FileAction::Read(lines), done))
        };
        files.iter().filter_map(read).collect()
    }

    fn patch(&self) -> Vec<(String, Operation)> {
        let patch = patch::of(&self.input);
        let parts = patch.as_deref().map(patch::parts).unwrap_or_default();
        let change = |part: patch::Part<'_>| {
            let (path, mut operation) = self.operation(part.path, part.what, self.changed());
            operation.patch = Some(part.body.to_owned());
            (path, operation)
        };
        parts.into_iter().map(change).collect()
    }

    /// A call that shows a file, or a part of it.
    fn read(&self, written: &str, reading: Reading) -> (String, Operation) {
        let &FileCall {
            transcript,
            exchange,
            answered,
            ..
        } = self;
        let read =
            |lines: Lines, done: Done| self.operation(written, FileAction::Read(lines), done);
        let Some(result) = exchange.result.filter(|_| answered == Done::Yes) else {
            return read(reading.lines(), answered);
        };
        // The conversation does not show what the cell did not print.
        let inner = exchange.inner.as_deref();
        if inner.is_some_and(|inner| inner.output.is_none()) {
            return read(reading.lines(), Done::Unclear);
        }
        let block = transcript.block(result.block);
        let mut said = text_of(transcript, result, inner);
        if exchange.kind == ToolKind::Shell {
            said = output(said);
        }
        // A picture is always shown whole.
        if (block.images > 0 || block.documents > 0) && is_empty(&said) {
            return read(Lines::ALL, answered);
        }
        if lists_a_folder(transcript, result, &said) {
            return self.operation(written, FileAction::Search, answered);
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
}

/// What a call of a tool of this kind does. For one tool, a parameter decides.
fn what(kind: ToolKind, tool: &str, input: &Input<'_>) -> FileAction {
    match (kind, input.text(&["command"]).as_deref()) {
        (ToolKind::Read, _) | (ToolKind::Edit, Some("view")) => FileAction::Read(Lines::ALL),
        (ToolKind::Write, _) | (ToolKind::Edit, Some("create")) => FileAction::Write,
        (ToolKind::Edit, None) if deletes(tool, input) => FileAction::Delete,
        _ => FileAction::Edit,
    }
}
