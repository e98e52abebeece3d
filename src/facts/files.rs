//! The files of a conversation: the operations on each, in order, and its content now if the conversation shows it.
//!
//! A content is known if it was shown or written whole and every edit since fits exactly. Otherwise it is unknown: a content
//! that is nearly right is worse than none.

use std::borrow::Cow;
use std::cell::Cell;

use super::attached::{self, attached};
use super::commands::status;
use super::exchanges::{Ended, Exchange, FactLocation, input_of, text_of};
use super::input::Input;
use super::lines::Lines;
use super::numbered::{Numbered, Style};
use super::operation::{Content, Done, FileAction, Occurrences, Operation, Replacement};
use super::path::{self, Folders};
use super::reads::{Reading, cut_off, mentions_more};
use super::refused::{is_unchanged_note, may_be_refusal};
use super::shape::{CONTENT, NEW, OLD};
use super::shell::{Look, VIEWERS, is_shell, look};
use super::tools::Basis;
use super::{beginning, block_text, patch};
use crate::ids::IdMap;
use crate::policy::ToolKind;
use crate::transcript::{BlockKind, Conversation, Outcome, Transcript};

/// A file and the operations on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its normalised path: without `.` and doubled slashes, and absolute if the working folder is recorded.
    pub path: String,
    /// In the order of the calls; at least one.
    pub operations: Vec<Operation>,
}

/// The files of a conversation, in the order in which they were first named.
pub fn files(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let mut by_path: IdMap<String, usize> = IdMap::default();
    let folders = Folders::new(transcript);
    for exchange in exchanges {
        for (path, operation) in operations(transcript, &folders, exchange) {
            push(&mut files, &mut by_path, path, operation);
        }
    }
    files
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
        push(&mut files, &mut by_path, path, operation);
    }
    for file in &mut files {
        file.operations.sort_by_key(|operation| operation.call);
    }
    files
}

fn push(
    files: &mut Vec<File>,
    by_path: &mut IdMap<String, usize>,
    path: String,
    operation: Operation,
) {
    let file = *by_path.entry(path).or_insert_with_key(|path| {
        files.push(File {
            path: path.clone(),
            operations: Vec::new(),
        });
        files.len() - 1
    });
    files[file].operations.push(operation);
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
        | ToolKind::Other => (path::of(&input).map(|(_, path)| path), Reading::of(&input)),
    };
    let done = || done(transcript, exchange, answered);
    let Some(written) = written else {
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
    let what = what(exchange.kind, &input);
    if !matches!(what, FileAction::Read(_)) {
        return vec![operation(&written, what, done())];
    }
    // What the cell has not printed, the conversation does not show.
    if let Some(inner) = &exchange.inner
        && answered == Done::Yes
    {
        match inner.output.as_deref() {
            None => {
                return vec![operation(
                    &written,
                    FileAction::Read(reading.lines()),
                    Done::Unanswered,
                )];
            }
            Some(output) if inner.ended == Ended::Returned && is_complaint(output) => {
                return vec![operation(
                    &written,
                    FileAction::Read(reading.lines()),
                    Done::Failed,
                )];
            }
            Some(_) => {}
        }
    }
    let shown = exchange
        .result
        .filter(|_| answered == Done::Yes)
        .map(|result| {
            let block = transcript.block(result.block);
            // A picture is always shown whole.
            let is_picture = block.images > 0 || block.documents > 0;
            let said = text_of(transcript, result, exchange.inner.as_deref());
            let shown = reading.shown(&said, result.block);
            shown
                .map(|shown| match exchange.kind {
                    ToolKind::Shell => shown.lines().up_to_the_end(&said),
                    ToolKind::Read
                    | ToolKind::Write
                    | ToolKind::Edit
                    | ToolKind::Search
                    | ToolKind::Web
                    | ToolKind::Other => shown.lines(),
                })
                .or(is_picture.then_some(Lines::ALL))
        });
    vec![match shown {
        Some(Some(lines)) => operation(&written, FileAction::Read(lines), answered),
        Some(None) => operation(&written, FileAction::Read(reading.lines()), Done::Failed),
        None => operation(&written, FileAction::Read(reading.lines()), answered),
    }]
}

/// What a call of a tool of that kind does. One tool has a parameter for it.
fn what(kind: ToolKind, input: &Input<'_>) -> FileAction {
    match (kind, input.text(&["command"]).as_deref()) {
        (ToolKind::Read | ToolKind::Shell, _) | (ToolKind::Edit, Some("view")) => {
            FileAction::Read(Lines::ALL)
        }
        (ToolKind::Write, _) | (ToolKind::Edit, Some("create")) => FileAction::Write,
        _ => FileAction::Edit,
    }
}

/// Whether there is a result, and whether it says by a flag or a status that the call failed.
fn answered(transcript: &Transcript<'_>, exchange: &Exchange) -> Done {
    let Some(result) = exchange.result else {
        return Done::Unanswered;
    };
    if let Some(inner) = &exchange.inner {
        return inner.ended.done();
    }
    let block = transcript.block(result.block);
    let is_shell = exchange.kind == ToolKind::Shell;
    let has_failed = || is_shell && status(transcript, block).is_some_and(|status| status != 0);
    match block.outcome {
        Outcome::Fine if !has_failed() => Done::Yes,
        Outcome::Fine | Outcome::Failed => Done::Failed,
    }
}

/// Whether an output is only what a command that shows files says of a file that it cannot read: `cat: a: No such file`. Asked
/// only if its exit status is unknown.
fn is_complaint(output: &str) -> bool {
    let mut lines = output.trim().lines();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let program = line.split_once(": ").map(|(program, _)| program);
    program.is_some_and(|program| VIEWERS.contains(&program))
}

/// Whether the text of the result of a call that changes a file says that it failed, for results without a flag. Not for calls
/// that show a file, which may contain any text.
fn done(transcript: &Transcript<'_>, exchange: &Exchange, answered: Done) -> Done {
    /// How results begin that have no flag for it.
    const BEGINNINGS: [&str; 10] = [
        "<tool_use_error>",
        "<error",
        "{\"error\"",
        "error",
        "failed",
        "no replacement",
        "cannot ",
        "could not ",
        "unable to ",
        "permission denied",
    ];
    /// At least as long as the longest of them, in characters.
    const LONGEST: usize = 20;
    let Some(result) = exchange.result.filter(|_| answered == Done::Yes) else {
        return answered;
    };
    if exchange.inner.is_some() {
        // What a cell has is no text of its own.
        return answered;
    }
    let block = transcript.block(result.block);
    let beginning = beginning(transcript, block, LONGEST).to_lowercase();
    if BEGINNINGS.iter().any(|b| beginning.starts_with(b)) {
        Done::Failed
    } else {
        Done::Yes
    }
}

impl Operation {
    /// The content that a write gives the file.
    pub fn content(&self, transcript: &Transcript<'_>) -> Option<String> {
        match (self.what, &self.patch) {
            (FileAction::Write, Some(body)) => Some(patch::added(body)),
            (FileAction::Write, None) => {
                let input = input_of(transcript, self.call, self.inner.as_deref());
                let text = input.text(&CONTENT);
                text.map(Cow::into_owned)
            }
            (
                FileAction::Read(_) | FileAction::Search | FileAction::Edit | FileAction::Delete,
                _,
            ) => None,
        }
    }

    /// What an edit replaces, in order; `None` if its input does not say it literally.
    pub fn replacements(&self, transcript: &Transcript<'_>) -> Vec<Replacement> {
        if self.what != FileAction::Edit {
            return Vec::new();
        }
        if let Some(body) = &self.patch {
            return patch::replacements(body);
        }
        let input = input_of(transcript, self.call, self.inner.as_deref());
        match input.objects("edits") {
            Some(edits) => {
                let edits: Option<Vec<Replacement>> = edits.iter().map(replacement).collect();
                edits.unwrap_or_default()
            }
            None => match patch::of(&input) {
                Some(patch) => {
                    let parts = patch::parts(&patch).into_iter();
                    let own = parts.filter(|part| part.path == self.written);
                    own.flat_map(|part| patch::replacements(part.body))
                        .collect()
                }
                None => replacement(&input).into_iter().collect(),
            },
        }
    }

    /// Whether its result is flagged as failed: then the file is unchanged. (A text that only looks like an error may be the
    /// content of the file.)
    fn is_flagged(&self, transcript: &Transcript<'_>) -> bool {
        let result = self.result.map(|result| transcript.block(result.block));
        result.is_some_and(|block| block.outcome == Outcome::Failed)
    }

    /// Whether a read shows no content because nothing has changed, or because it only names the file.
    fn shows_nothing_new(&self, transcript: &Transcript<'_>) -> bool {
        let is_named = transcript.block(self.call.block).kind == BlockKind::Attachment;
        let result = self.result.map(|result| transcript.block(result.block));
        is_named || result.is_some_and(|block| is_unchanged_note(&block_text(transcript, block)))
    }

    /// What the result of a read shows, without line numbers.
    fn shown(&self, transcript: &Transcript<'_>, lines: Lines) -> Option<Content> {
        /// How an agent marks a line that it has cut.
        const CUT: &str = "... [truncated]";
        let result = transcript.block(self.result?.block);
        let call = transcript.block(self.call.block);
        if call.kind == BlockKind::Attachment {
            return attached::content(transcript, self.call.block);
        }
        if result.images > 0 || result.documents > 0 || result.others > 0 {
            return None;
        }
        let said = text_of(transcript, self.result?, self.inner.as_deref());
        let tool = transcript.bytes(call.line, call.tool);
        let text = match Numbered::read(&said) {
            Some(file) => {
                // A table may begin with its own numbers.
                let is_sure = file.style != Style::Bare || tool == b"Read";
                let is_whole = file.lines.iter().all(|line| !line.ends_with(CUT));
                if is_sure && !is_whole {
                    return attached::repeated(transcript, self.result?, &self.written);
                }
                is_sure.then(|| file.lines.join("\n"))?
            }
            // This tool always numbers lines; text without numbers is not from the file.
            None if tool == b"Read" || said.starts_with("<file") => return None,
            // A file with a log of errors, or an error with its log.
            None if may_be_refusal(&said) => return None,
            // Such a tool may write anything around the file's text.
            None if self.basis == Basis::Shape => return None,
            // The agent marks where it omitted a part of the output.
            None if (result.header > 0 || self.inner.is_some()) && mentions_more(&said) => {
                return None;
            }
            None => cut_off(&said).0.to_owned(),
        };
        Some(Content { text, lines })
    }
}

fn replacement(input: &Input<'_>) -> Option<Replacement> {
    if input.is_true(&["regex", "use_regex", "is_regex"]) {
        return None;
    }
    let old = input.text(&OLD)?;
    let new = input.text(&NEW);
    Some(Replacement {
        old: old.into_owned(),
        new: new.unwrap_or_default().into_owned(),
        at: if input.is_true(&["replace_all", "replaceAll", "allow_multiple"]) {
            Occurrences::Everywhere
        } else {
            Occurrences::Once
        },
    })
}

impl Replacement {
    /// The text after it; `None` if it does not fit exactly.
    fn apply(&self, text: &str) -> Option<String> {
        if self.old.is_empty() {
            return text.is_empty().then(|| self.new.clone());
        }
        if self.at == Occurrences::Lines {
            let places = text.match_indices(&self.old).map(|(at, _)| at);
            let mut places = places.filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n');
            let (place, None) = (places.next()?, places.next()) else {
                return None;
            };
            let (before, rest) = text.split_at(place);
            return Some([before, &self.new, &rest[self.old.len()..]].concat());
        }
        let first = text.find(&self.old)?;
        let next = first + self.old.chars().next().map_or(1, char::len_utf8);
        match self.at {
            Occurrences::Everywhere => Some(text.replace(&self.old, &self.new)),
            Occurrences::Once if text[next..].contains(&self.old) => None,
            Occurrences::Once | Occurrences::Lines => Some(text.replacen(&self.old, &self.new, 1)),
        }
    }
}

impl File {
    /// The last operation that succeeded or may have.
    pub fn last(&self) -> Option<&Operation> {
        self.operations
            .iter()
            .rfind(|operation| operation.done != Done::Failed)
    }

    /// The content after all operations, if the conversation shows it: whole, or the part that was read last. Unknown if finding
    /// it out takes more than is left of `effort`.
    pub fn known(&self, transcript: &Transcript<'_>, effort: &Effort) -> Option<Known> {
        let mut known: Option<Known> = None;
        for operation in &self.operations {
            known = match (operation.what, operation.done) {
                (FileAction::Read(_), Done::Failed) => {
                    known.filter(|_| operation.is_flagged(transcript))
                }
                (_, Done::Failed)
                | (FileAction::Read(_), Done::Unanswered)
                | (FileAction::Search, _) => known,
                (FileAction::Read(lines), Done::Yes) => match operation.shown(transcript, lines) {
                    Some(content) => {
                        let shown_by = operation.result;
                        after_read(known, Known { content, shown_by }, effort)
                    }
                    // If the result does not state it, it is not known whether the content was the same as before.
                    None => known.filter(|_| operation.shows_nothing_new(transcript)),
                },
                (FileAction::Write, Done::Yes) => operation.content(transcript).map(|text| Known {
                    content: Content::whole(text),
                    shown_by: Some(operation.call),
                }),
                (FileAction::Edit, Done::Yes) => {
                    after_edits(known, &operation.replacements(transcript), effort)
                }
                (FileAction::Delete, _)
                | (FileAction::Write | FileAction::Edit, Done::Unanswered) => None,
            };
        }
        known
    }

    /// The same, without the place.
    #[cfg(test)]
    pub(super) fn content(&self, transcript: &Transcript<'_>) -> Option<Content> {
        let known = self.known(transcript, &Effort::default());
        known.map(|known| known.content)
    }
}

/// A known content, and where the transcript shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What the file holds.
    pub content: Content,
    /// The result of the read, or the call of the write, from which the content follows, whatever came before.
    pub shown_by: Option<FactLocation>,
}

impl Content {
    fn whole(text: String) -> Self {
        Content {
            text,
            lines: Lines::ALL,
        }
    }
}

/// How much text may still be processed to find out the contents of a conversation's files. Each edit takes time proportional
/// to its whole file, so that many edits of a large file would take quadratic time.
#[derive(Debug)]
pub struct Effort(Cell<usize>);

impl Effort {
    /// In bytes: enough for hundreds of edits of a large source file.
    const MOST: usize = 128 << 20;

    /// Whether there is enough left to process `bytes` more; uses it up.
    fn takes(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

impl Default for Effort {
    fn default() -> Self {
        Effort(Cell::new(Self::MOST))
    }
}

/// A part that matches the known content leaves the whole file known.
fn after_read(known: Option<Known>, shown: Known, effort: &Effort) -> Option<Known> {
    match known {
        Some(known) if known.content.lines == Lines::ALL && shown.content.lines != Lines::ALL => {
            let part = &shown.content;
            let skipped = usize::try_from(part.lines.first - 1).unwrap_or(usize::MAX);
            let mut rest = known.content.text.split('\n').skip(skipped);
            let is_same = effort.takes(known.content.text.len())
                && part.text.split('\n').all(|line| rest.next() == Some(line));
            Some(if is_same { known } else { shown })
        }
        Some(_) | None => Some(shown),
    }
}

fn after_edits(
    known: Option<Known>,
    replacements: &[Replacement],
    effort: &Effort,
) -> Option<Known> {
    let whole = known.filter(|known| known.content.lines == Lines::ALL);
    let (mut text, shown_by) = match (whole, replacements) {
        (Some(whole), [_, ..]) => (whole.content.text, whole.shown_by),
        // An edit that replaces an empty text creates a file.
        (None, [first, ..]) if first.old.is_empty() => (String::new(), None),
        (_, _) => return None,
    };
    for replacement in replacements {
        if !effort.takes(text.len()) {
            return None;
        }
        text = replacement.apply(&text)?;
    }
    Some(Known {
        content: Content::whole(text),
        shown_by,
    })
}

#[cfg(test)]
mod tests;
