//! The columns of a report on `stats`: of an input, and of a turn.
//!
//! The table, the Markdown report and the page show an input's name and format, then the columns with a heading.

use crate::outcome::{Examined, FileStatus};
use crate::report::column::{Column, Unit};
use crate::report::csv;
use crate::stats::{ConversationStats, Counts, FileStats, Turn};

/// An input's entry.
type File = Examined<FileStats>;
/// A turn of a live window, with its file and conversation.
pub(super) type TurnRow<'r> = (&'r File, &'r ConversationStats, &'r Turn);

/// A conversation, with its file.
pub(super) type ConversationRow<'r> = (&'r File, &'r ConversationStats);

/// The columns of inputs, in the order of the CSV report. A figure that was not counted is empty, not 0.
pub(super) fn columns() -> Vec<Column<File>> {
    type Of = Column<File>;
    let count = |name, read: fn(&Counts) -> u64| Of::amount(name, Unit::One, counted(read));
    let bytes = |name, read: fn(&Counts) -> u64| Of::amount(name, Unit::Byte, counted(read));
    vec![
        Of::text("path", |file| file.file.path.clone()),
        Of::text("format", |file| {
            file.file.format.clone().unwrap_or_default()
        }),
        Of::text("status", |file| {
            let status = match file.status {
                FileStatus::Examined => "counted",
                FileStatus::Unsupported(_) => "unsupported",
                FileStatus::Failed => "failed",
            };
            status.to_owned()
        }),
        Of::text("error_message", |file| {
            let error = file.file.error.as_ref();
            error.map(|error| error.message.clone()).unwrap_or_default()
        }),
        Of::amount("bytes", Unit::Byte, |file| match file.status {
            FileStatus::Examined | FileStatus::Unsupported(_) => Some(file.found.counts.bytes),
            FileStatus::Failed => None,
        })
        .shown(1, "bytes"),
        count("conversations", |c| c.live.conversations),
        count("messages", |c| c.live.messages).shown(2, "messages"),
        count("turns", |c| c.live.turns).shown(3, "turns"),
        count("tokens", |c| c.live.tokens).shown(4, "tokens"),
        bytes("live_bytes", |c| c.live.bytes),
        count("dead_lines", |c| c.dead.lines),
        bytes("dead_bytes", |c| c.dead.bytes),
        count("dead_tokens", |c| c.dead.tokens).shown(5, "dead tokens"),
        bytes("mirror_bytes", |c| c.mirrors.bytes),
        Of::text("project", |file| {
            file.file.project.clone().unwrap_or_default()
        }),
        Of::text("last_message", |file| {
            file.file.last_message.clone().unwrap_or_default()
        }),
        count("calls", |c| c.coverage.calls),
        count("calls_understood", |c| c.coverage.calls_understood),
    ]
}

/// The columns of conversations, for CSV. A figure that is not recorded is empty, not 0.
pub(super) fn conversation_columns<'r>() -> Vec<Column<ConversationRow<'r>>> {
    type Of<'r> = Column<ConversationRow<'r>>;
    vec![
        Of::text("path", |(file, _)| file.file.path.clone()),
        Of::text("format", |(file, _)| {
            file.file.format.clone().unwrap_or_default()
        }),
        Of::text("project", |(file, _)| {
            file.file.project.clone().unwrap_or_default()
        }),
        Of::text("last_message", |(file, _)| {
            file.file.last_message.clone().unwrap_or_default()
        }),
        Of::text("conversation", |(_, conversation)| conversation.id.clone()),
        Of::number("messages", |(_, conversation)| conversation.messages),
        Of::number("turns", |(_, conversation)| conversation.turns),
        Of::number("tokens", |(_, conversation)| conversation.tokens),
        Of::amount("recorded", Unit::One, |(_, conversation)| {
            conversation.usage.map(|usage| usage.recorded)
        }),
        Of::number("compactions", |(_, conversation)| {
            conversation.compactions.len() as u64
        }),
    ]
}

/// The columns of turns, for CSV.
pub(super) fn turn_columns<'r>() -> Vec<Column<TurnRow<'r>>> {
    type Of<'r> = Column<TurnRow<'r>>;
    vec![
        Of::text("path", |(file, _, _)| file.file.path.clone()),
        Of::text("conversation", |(_, conversation, _)| {
            conversation.id.clone()
        }),
        Of::number("turn", |(_, _, turn)| turn.turn),
        Of::number("line", |(_, _, turn)| turn.line),
        Of::number("messages", |(_, _, turn)| turn.messages),
        Of::number("tokens", |(_, _, turn)| turn.tokens),
        Of::number("context", |(_, _, turn)| turn.context),
        Of::amount("recorded", Unit::One, |(_, _, turn)| turn.recorded),
    ]
}

/// What `read` finds in an input that was counted.
fn counted(read: fn(&Counts) -> u64) -> impl Fn(&File) -> Option<u64> {
    move |file| match file.status {
        FileStatus::Examined => Some(read(&file.found.counts)),
        FileStatus::Unsupported(_) | FileStatus::Failed => None,
    }
}

/// The first lines of its CSV reports.
pub(in crate::report) fn csv_headers() -> [String; 3] {
    [
        csv::header(&columns()),
        csv::header(&turn_columns()),
        csv::header(&conversation_columns()),
    ]
}
