//! What became of commands that were running according to an earlier summary.

use super::form::{Row, Section};
use super::gather::Gather;
use super::label::{AS, IN, WAS_RUNNING, label, running};
use crate::facts::{Ending, endings};

/// Updates the row of a command that had not ended in an earlier summary: with its end if that was stated since, otherwise as one
/// that was running.
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
    // The agent may describe a command instead of repeating it; then only its name identifies it. Another run of the same command
    // may have ended before.
    let is_later = |ending: &Ending| gather.mark(ending.at.line).line > row.mark.line;
    let is_its = |ending: &&Ending| match (name, &ending.text) {
        (Some(name), _) => ending.name == name && is_later(ending),
        (None, Some(text)) => *text == row.text && is_later(ending),
        (None, None) => false,
    };
    let ends = gather
        .endings
        .get_or_init(|| endings(gather.transcript, gather.conversation, &gather.acts.calls));
    let ended = match ends.iter().find(is_its) {
        Some(ending) => {
            row.mark.and = Some(gather.mark(ending.at.line).line);
            label(ending.exit)
        }
        None => match name {
            Some(name) => format!("{WAS_RUNNING}{AS}{name}"),
            None => WAS_RUNNING.to_owned(),
        },
    };
    row.label = ended + &folder;
}
