//! Recognises an exported session by `info` beside `messages`, and by messages of `info` and `parts`, all of known types.

use crate::format::detect::{INFO, Line, MESSAGES, Unrecognised};
use crate::scan::{Kind, Value};

/// The types of parts.
const PARTS: [&[u8]; 12] = [
    b"text",
    b"reasoning",
    b"tool",
    b"file",
    b"step-start",
    b"step-finish",
    b"snapshot",
    b"patch",
    b"agent",
    b"retry",
    b"compaction",
    b"subtask",
];
/// The states of a call.
const STATES: [&[u8]; 4] = [b"pending", b"running", b"completed", b"error"];

/// Whether a document is an exported session, by its keys.
pub(super) fn is_document(document: &Line<'_>) -> bool {
    document.has(INFO | MESSAGES) && !document.has_bare_messages()
}

/// What the reader does not understand around the messages: undone messages, which the agent deletes when it continues.
pub(super) fn unrecognised_around(document: Value<'_>) -> Option<Unrecognised<'_>> {
    let revert = document.field("info").field("revert");
    (revert.kind() == Some(Kind::Object))
        .then_some(Unrecognised::Key("info.revert (undone messages)"))
}

/// What the reader does not understand in a message.
pub(super) fn unrecognised(message: Value<'_>) -> Option<Unrecognised<'_>> {
    let [info, parts] = message.fields(["info", "parts"]);
    if info.kind() != Some(Kind::Object) || parts.kind() != Some(Kind::Array) {
        return Some(Unrecognised::Line(b""));
    }
    let [role, id] = info.fields(["role", "id"]);
    match (role.string(), id.string()) {
        (Some(b"user" | b"assistant"), Some(_)) => {}
        (role, _) => return Some(Unrecognised::Role(role.unwrap_or_default())),
    }
    let mut found = None;
    parts.elements(|part| found = found.or(unrecognised_part(part)));
    found
}

fn unrecognised_part(part: Value<'_>) -> Option<Unrecognised<'_>> {
    let [kind, state, tool, call] = part.fields(["type", "state", "tool", "callID"]);
    let kind = kind.string().unwrap_or_default();
    if !PARTS.contains(&kind) {
        return Some(Unrecognised::Block(kind));
    }
    if kind != b"tool" {
        let is_read = kind != b"text" || part.field("text").string().is_some();
        return (!is_read).then_some(Unrecognised::Text);
    }
    let [status, output] = state.fields(["status", "output"]);
    let status = status.string().unwrap_or_default();
    let is_named = tool.string().is_some() && call.string().is_some();
    match is_named && STATES.contains(&status) {
        false => Some(Unrecognised::Calls),
        true if status == b"completed" && output.string().is_none() => Some(Unrecognised::Result),
        true => None,
    }
}
