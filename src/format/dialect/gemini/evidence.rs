//! Recognises a line of a session: a header, a change to what was recorded, or a message that has an id and a time but no role. A
//! session that is a document has the header's ids around such messages.

use super::message::{ANSWER, NOTES, TYPED};
use crate::format::Format;
use crate::format::detect::{
    Evidence, Family, ID, Line, MESSAGE, PARENT_ID, PATCH, PROJECT, Part, SESSION_ID, TIMESTAMP,
    Unrecognised,
};
use crate::ids::IdSet;
use crate::scan::Value;

const OWN: Family = Family::Of(Format::Gemini);

/// The evidence of a line.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    if line.has(PATCH) || line.has(SESSION_ID | PROJECT) {
        return Some(match line.patched {
            Some(unrecognised) => Evidence::message(OWN, unrecognised),
            None => Evidence::mark(OWN),
        });
    }
    let is_message = line.has(ID | TIMESTAMP) && !line.has(MESSAGE) && line.own.role.is_empty();
    match line.kind {
        // Its messages have no role.
        TYPED if is_message && !line.own.has_content() => {
            Some(Evidence::message(OWN, Some(Unrecognised::NoContent)))
        }
        kind if is_message && (kind == TYPED || kind == ANSWER) => Some(Evidence::message(
            OWN,
            line.own.unrecognised(Format::Gemini),
        )),
        kind if is_message && NOTES.contains(&kind) => Some(Evidence::mark(OWN)),
        // In this format, only messages have an id, a time and content; in formats that link their lines, other lines may have them
        // too.
        kind if is_message
            && !kind.is_empty()
            && !line.has(PARENT_ID)
            && line.own.has_content() =>
        {
            Some(Evidence::message(OWN, Some(Unrecognised::Line(kind))))
        }
        _ => None,
    }
}

/// Whether a document is a session, by its keys. A header has no messages, or an empty list of them.
pub(super) fn is_document(document: &Line<'_>) -> bool {
    let is_line = document.has(ID) || document.has(PATCH);
    document.has(SESSION_ID | PROJECT) && document.has_messages && !is_line
}

/// What the reader does not understand about the messages as a whole: which of several messages with the same id the agent sends
/// depends on the document's line breaks.
pub(super) fn unrecognised_around(document: Value<'_>) -> Option<Unrecognised<'_>> {
    let (mut known, mut is_twice) = (IdSet::default(), false);
    document.field("messages").elements(|message| {
        let id = message.field("id").unescaped();
        is_twice |= id.is_some_and(|id| !known.insert(id));
    });
    is_twice.then_some(Unrecognised::Key("the id of another one"))
}

/// What the reader does not understand in a message of a document. An object can change what was recorded only if it is on a line
/// of its own.
pub(super) fn unrecognised(message: Value<'_>) -> Option<Unrecognised<'_>> {
    let [id, kind] = message.fields(["id", "type"]);
    let other = Unrecognised::Line(kind.string().unwrap_or_default());
    let line = Line::read(message.raw()).filter(|line| id.string().is_some() && !line.has(PATCH));
    match line.as_ref().and_then(evidence) {
        Some(evidence) => evidence.unrecognised,
        None => Some(other),
    }
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::CallKey(key) => key == "toolCalls",
        Part::Block(kind) => kind.is_empty(),
        Part::BareString => true,
        Part::Role(_) | Part::ObjectContent | Part::ObjectResult | Part::Piece => false,
    }
}
