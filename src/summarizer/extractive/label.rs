//! The words in the labels of command rows that state how the commands ended.

use crate::facts::{Command, CommandStatus};

/// Labels for running, possibly ended, and unknown commands.
const IS_RUNNING: &str = "running";
pub(super) const WAS_RUNNING: &str = "was running";
const HAS_RUN: &str = "ran";
/// Precedes the name by which the agent can poll a command.
pub(super) const AS: &str = " as ";
/// Precedes the folder that a command ran in.
pub(super) const IN: &str = " in ";

/// How a command ended, in this program's wording, with the exit status of a failure if known.
pub(super) fn ended(command: &Command) -> String {
    let name = command.name.as_deref().filter(|name| is_plain(name));
    match name {
        Some(name) => format!("{}{AS}{name}", label(command.exit)),
        None => label(command.exit),
    }
}

/// The same without a name.
pub(super) fn label(exit: CommandStatus) -> String {
    match exit {
        CommandStatus::Code(0) | CommandStatus::Succeeded => "ok".to_owned(),
        CommandStatus::Code(code) => format!("exit {code}"),
        CommandStatus::Failed => "failed".to_owned(),
        CommandStatus::Interrupted => "interrupted".to_owned(),
        CommandStatus::Begun => "begun in the background".to_owned(),
        CommandStatus::Running => IS_RUNNING.to_owned(),
        CommandStatus::WasRunning => WAS_RUNNING.to_owned(),
        CommandStatus::Refused => "refused".to_owned(),
        CommandStatus::Unanswered => "unanswered".to_owned(),
        CommandStatus::Unknown => HAS_RUN.to_owned(),
    }
}

/// Whether a name is a single word, which cannot be mistaken for another part of its row.
fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Whether a label has a word from a result: a number, or the name of a running command.
pub(super) fn is_of_result(label: &str) -> bool {
    label.contains(|c: char| c.is_ascii_digit())
        || running(label).is_some_and(|name| name.is_some())
}

/// The name in the label of a command that had not ended, if known; `None` for any other label.
pub(super) fn running(label: &str) -> Option<Option<&str>> {
    let rest = label
        .strip_prefix(WAS_RUNNING)
        .or_else(|| label.strip_prefix(IS_RUNNING))?;
    match rest {
        "" => Some(None),
        rest => rest.strip_prefix(AS).map(Some),
    }
}
