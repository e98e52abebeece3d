//! The columns of a report on `compact`.
//!
//! Its table, Markdown and page show an input's name and status, then the columns with a heading. The JSON report is the record
//! itself.

use super::column::{Column, Unit};
use crate::outcome::{Action, Outcome, OutcomeError};
use crate::text::shown_name;

/// All columns, in the order of the CSV report.
pub(super) fn columns() -> Vec<Column<Outcome>> {
    type Of = Column<Outcome>;
    vec![
        Of::text("input", |o| shown_name(&o.file.path).into_owned()),
        Of::text("output", |o| {
            shown_name(o.output.as_deref().unwrap_or_default()).into_owned()
        }),
        Of::text("format", |o| o.file.format.clone().unwrap_or_default()),
        Of::text("status", |o| o.status.to_string()),
        Of::text("error_kind", |o| error(o, |e| Some(e.kind.to_string()))),
        Of::text("error_line", |o| {
            error(o, |e| e.line.map(|n| n.to_string()))
        }),
        Of::text("error_message", |o| error(o, |e| Some(e.message.clone()))),
        Of::text("original", |o| {
            let original = o.original.as_ref();
            original.map(|o| o.path.clone()).unwrap_or_default()
        }),
        Of::change("findings", Unit::One, |o| {
            [o.findings_before, o.findings_after]
        }),
        Of::text("hash_before", |o| o.hash_before.clone().unwrap_or_default()),
        Of::text("hash_after", |o| o.hash_after.clone().unwrap_or_default()),
        Of::change("bytes", Unit::Byte, |o| [o.bytes_before, o.bytes_after]).shown(3, "bytes"),
        Of::change("tokens", Unit::One, tokens).shown(1, "tokens"),
        Of::ratio("ratio", tokens).shown(2, "saved"),
        Of::change("messages", Unit::One, |o| {
            [o.messages_before(), o.messages_after()]
        }),
        Of::number("conversations", |o| o.conversations.len() as u64),
        Of::number("actions", |o| {
            o.conversations.iter().map(|c| c.actions.len() as u64).sum()
        }),
        Of::text("degraded", |o| {
            let kinds: Vec<&str> = o.degraded.iter().map(|d| d.kind.name()).collect();
            kinds.join(" ")
        }),
        Of::number("warnings", |o| o.warnings.len() as u64),
        // Empty for a file that is not compressed.
        Of::amount("stored_before", Unit::Byte, |o| o.stored_before),
        Of::amount("stored_after", Unit::Byte, |o| o.stored_after),
        Of::text("project", |o| o.file.project.clone().unwrap_or_default()),
        Of::text("last_message", |o| {
            o.file.last_message.clone().unwrap_or_default()
        }),
        Of::amount("calls", Unit::One, |o| Some(o.coverage.as_ref()?.calls)),
        Of::amount("calls_understood", Unit::One, |o| {
            Some(o.coverage.as_ref()?.calls_understood)
        }),
        Of::text("reasons", why),
    ]
}

/// The columns of the CSV report with a row for each action: an input, a conversation's name, and what was done to it.
pub(super) fn action_columns<'r>() -> Vec<Column<ActionRow<'r>>> {
    type Of<'r> = Column<ActionRow<'r>>;
    vec![
        Of::text("input", |(outcome, _, _)| {
            shown_name(&outcome.file.path).into_owned()
        }),
        Of::text("conversation", |(_, id, _)| (*id).to_owned()),
        Of::text("kind", |(_, _, action)| action.kind.to_string()),
        Of::number("line", |(_, _, action)| action.line),
        Of::number("message", |(_, _, action)| action.message),
        Of::text("tool", |(_, _, action)| {
            action.tool.clone().unwrap_or_default()
        }),
        Of::text("reason", |(_, _, action)| action.reason.clone()),
        Of::change("tokens", Unit::One, |(_, _, action)| {
            [action.tokens_before, action.tokens_after]
        }),
    ]
}

/// Something that was done to a conversation of an input.
pub(super) type ActionRow<'r> = (&'r Outcome, &'r str, &'r Action);

/// Everything that was done to an input.
pub(super) fn actions(outcome: &Outcome) -> impl Iterator<Item = ActionRow<'_>> {
    let conversations = outcome.conversations.iter();
    conversations.flat_map(move |c| c.actions.iter().map(move |a| (outcome, &c.id[..], a)))
}

fn tokens(outcome: &Outcome) -> [u64; 2] {
    [outcome.tokens_before(), outcome.tokens_after()]
}

/// Why each conversation was or was not compacted; with names if there are several.
fn why(outcome: &Outcome) -> String {
    if let [only] = &outcome.conversations[..] {
        return only.reason.clone();
    }
    let told = outcome
        .conversations
        .iter()
        .filter(|c| !c.reason.is_empty());
    let told = told.map(|c| format!("{}: {}", c.id, c.reason));
    told.collect::<Vec<_>>().join("; ")
}

fn error(outcome: &Outcome, part: fn(&OutcomeError) -> Option<String>) -> String {
    outcome
        .file
        .error
        .as_ref()
        .and_then(part)
        .unwrap_or_default()
}
