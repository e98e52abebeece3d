//! How the rows of commands say that these ended; and what became of those that an earlier summary says were running.

use super::commands_of::IN;
use super::form::{Row, Section};
use super::gather::Gather;
use crate::facts::{Command, Ending, Exit, endings};

/// The label of a command that had not ended, of one that may have ended since, and of one of which nobody knows how it did.
const IS_RUNNING: &str = "running";
const WAS_RUNNING: &str = "was running";
const HAS_RUN: &str = "ran";
/// What is before the name by which the agent can ask how a command goes on.
const AS: &str = " as ";

/// How a command ended, in this program's wording, with its status if it failed and that is known.
pub(super) fn ended(command: &Command) -> String {
    let name = command.name.as_deref().filter(|name| is_plain(name));
    match name {
        Some(name) => format!("{}{AS}{name}", label(command.exit)),
        None => label(command.exit),
    }
}

fn label(exit: Exit) -> String {
    match exit {
        Exit::Code(0) | Exit::Well => "ok".to_owned(),
        Exit::Code(code) => format!("exit {code}"),
        Exit::Badly => "failed".to_owned(),
        Exit::Interrupted => "interrupted".to_owned(),
        Exit::Running => IS_RUNNING.to_owned(),
        Exit::WasRunning => WAS_RUNNING.to_owned(),
        Exit::Refused => "refused".to_owned(),
        Exit::Unanswered => "unanswered".to_owned(),
        Exit::Unknown => HAS_RUN.to_owned(),
    }
}

/// Whether a name is one word, which cannot be taken for another part of its row.
fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Whether a label has a word of a result: a number, or the name of a command that goes on.
pub(super) fn is_of_result(label: &str) -> bool {
    label.contains(|c: char| c.is_ascii_digit())
        || running(label).is_some_and(|name| name.is_some())
}

/// Of the label of a command that had not ended, its name if that is known.
fn running(label: &str) -> Option<Option<&str>> {
    let rest = label
        .strip_prefix(WAS_RUNNING)
        .or_else(|| label.strip_prefix(IS_RUNNING))?;
    match rest {
        "" => Some(None),
        rest => rest.strip_prefix(AS).map(Some),
    }
}

/// A command of an earlier summary that had not ended then: what is said of its end since, or that nothing is.
pub(super) fn settle(gather: &Gather<'_, '_>, row: &mut Row) {
    if row.section != Section::Commands {
        return;
    }
    let (label_only, folder) = match row.label.split_once(IN) {
        Some((label, folder)) => (label, format!("{IN}{folder}")),
        None => (&row.label[..], String::new()),
    };
    let Some(name) = running(label_only) else {
        return;
    };
    // The agent may describe a command instead of repeating it; then only its name tells which it is. Another run of the same
    // command may have ended before.
    let is_later = |ending: &Ending| gather.mark(ending.at.line).line > row.mark.line;
    let is_its = |ending: &&Ending| match (name, &ending.text) {
        (Some(name), _) => ending.name == name,
        (None, Some(text)) => *text == row.text && is_later(ending),
        (None, None) => false,
    };
    let ends = endings(gather.transcript, gather.conversation, &gather.acts.calls);
    let label = match ends.iter().find(is_its) {
        Some(ending) => {
            row.mark.and = Some(gather.mark(ending.at.line).line);
            label(ending.exit)
        }
        None => match name {
            Some(name) => format!("{WAS_RUNNING}{AS}{name}"),
            None => WAS_RUNNING.to_owned(),
        },
    };
    row.label = label + &folder;
}
