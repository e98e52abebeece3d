//! What the agent requires of a session to resume it.
//!
//! It adds results for calls that have none. It silently omits a result without its call, and a second result of a call: their
//! content is lost. A session without its first event cannot be resumed. Never looks at events that no model sees.

use std::borrow::Cow;

use crate::ids::IdSet;
use crate::scan::Value;
use crate::transcript::{BlockKind, Conversation, LineKind, Role};
use crate::verify::{Findings, Rule};

/// Checks the messages of a conversation.
pub(super) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut known: IdSet<Cow<'_, [u8]>> = IdSet::default();
    let mut answered: IdSet<Cow<'_, [u8]>> = IdSet::default();
    for message in &conversation.messages {
        for block in conversation.blocks(message) {
            let block = transcript.block(*block);
            match block.kind {
                BlockKind::Call => {
                    let id = f.call_id(block);
                    if id.is_empty() {
                        f.call_error(Rule::InvalidId, block);
                    } else if !known.insert(id) {
                        f.call_error(Rule::DuplicateCall, block);
                    }
                }
                // The output of a command that the user ran answers nothing.
                BlockKind::Result if message.role != Role::Tool => {}
                BlockKind::Result => {
                    let id = f.call_id(block);
                    if !known.contains(&id) {
                        f.call_error(Rule::OrphanResult, block);
                    } else if !answered.insert(id) {
                        f.call_error(Rule::DuplicateResult, block);
                    }
                }
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
}

/// Checks that the session begins with its header; lines that are not events of its agent may precede it.
pub(super) fn session(f: &mut Findings<'_, '_>) {
    let transcript = f.transcript;
    let is_event = |line: &u32| {
        let is_known = match transcript.lines()[*line as usize].kind {
            LineKind::Bad | LineKind::Unknown => false,
            LineKind::Message | LineKind::Mirror | LineKind::Control | LineKind::Session => true,
        };
        is_known && transcript.is_there(*line) && !transcript.line(*line).trim_ascii().is_empty()
    };
    let Some(first) = (0..transcript.lines().len() as u32).find(is_event) else {
        return;
    };
    let kind = Value::of(transcript.line(first)).field("type");
    if kind.string() != Some(b"session.start") {
        f.error(Rule::HeaderMissing, first, b"");
    }
}
