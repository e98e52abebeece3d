//! What the agent requires of a session.
//!
//! It adds results for calls that have none. It silently omits a result that no call waits for, and a second result of a call. A
//! line that is not JSON ends the session for it: everything after that line is lost. It does not load a session whose header lacks
//! a version or time.

use std::borrow::Cow;

use super::window::{Compactions, Window};
use crate::ids::IdMap;
use crate::scan::{Cursor, Value};
use crate::transcript::{BlockKind, Conversation, LineKind};
use crate::verify::{Findings, Rule};

/// Whether a call has got its result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Waits,
    Answered,
}

/// Checks the messages of a conversation.
pub(super) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut calls: IdMap<Cow<'_, [u8]>, Call> = IdMap::default();
    for (_, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        match block.kind {
            // The agent restarts its call numbering whenever it continues a session, so ids may repeat.
            BlockKind::Call => drop(calls.insert(f.call_id(block), Call::Waits)),
            BlockKind::Result => match calls.insert(f.call_id(block), Call::Answered) {
                Some(Call::Waits) => {}
                Some(Call::Answered) => f.call_error(Rule::DuplicateResult, block),
                None => f.call_error(Rule::OrphanResult, block),
            },
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => {}
        }
    }
}

/// Checks the records around the messages.
pub(super) fn session(f: &mut Findings<'_, '_>) {
    let transcript = f.transcript;
    for line in Window::of(transcript, Compactions::Apply).ignored {
        if let Some(block) = transcript.blocks_of_line(line).next() {
            f.call_error(Rule::OrphanResult, transcript.block(block));
        }
    }
    let lines = (0u32..).zip(transcript.lines());
    let mut lines = lines
        .filter(|(line, _)| transcript.is_there(*line))
        .peekable();
    while let Some((number, line)) = lines.next() {
        let bytes = transcript.line(number);
        let is_last = lines.peek().is_none();
        if line.kind == LineKind::Bad && !bytes.is_empty() && !is_last && !is_json(bytes) {
            let words = "a line that is not JSON: the agent reads nothing after it";
            f.report(
                Rule::InvalidJson,
                crate::verify::Severity::Error,
                number,
                b"",
                words,
            );
        }
    }
    let mut lines = 0..transcript.lines().len() as u32;
    let first = lines.find(|line| transcript.is_there(*line) && !transcript.line(*line).is_empty());
    if let Some(first) = first {
        let [kind, version, time] =
            Value::of(transcript.line(first)).fields(["type", "protocol_version", "created_at"]);
        let is_whole = version.string().is_some() && time.number::<f64>().is_some();
        if kind.string() == Some(b"metadata") && !is_whole {
            f.error(Rule::HeaderMissing, first, b"");
        }
    }
}

fn is_json(line: &[u8]) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.skip().and_then(|_| cursor.end()).is_ok()
}
