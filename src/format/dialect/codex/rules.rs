//! What the Responses API requires of a list of items, and what Codex requires of a rollout to resume it.
//!
//! A call's output may be anywhere after it. A rollout that was copied while its agent was working ends with calls that have no
//! output yet: these are not errors. The agent silently ignores a compaction that it cannot read, and continues with the history
//! before it. Never looks at events.

use std::borrow::Cow;

use crate::ids::IdMap;
use crate::transcript::{
    Block, BlockKind, Compaction, Conversation, LineKind, LinkKind, Role, Shape,
};
use crate::verify::{Findings, Rule, Severity};

/// A call, and whether it was answered.
struct Called<'t> {
    call: &'t Block,
    message: usize,
    answered: Answered,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    Yes,
    NotYet,
}

/// Checks one conversation.
pub(super) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut calls: Vec<Called<'_>> = Vec::new();
    let mut by_id: IdMap<Cow<'_, [u8]>, usize> = IdMap::default();
    for (message, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        f.readable(block);
        match block.kind {
            BlockKind::Call => {
                let is_custom = block.shape == Shape::Other && !is_function(f, block);
                if block.shape != Shape::String && !is_custom {
                    let id = f.id_of(block);
                    f.error(Rule::ArgumentsNotString, block.line, id);
                }
                if by_id.insert(f.call_id(block), calls.len()).is_some() {
                    f.call_error(Rule::DuplicateCall, block);
                }
                calls.push(Called {
                    call: block,
                    message,
                    answered: Answered::NotYet,
                });
            }
            BlockKind::Result => match by_id.get(&f.call_id(block)) {
                None => f.call_error(Rule::OrphanResult, block),
                Some(at) if calls[*at].answered == Answered::Yes => {
                    f.call_error(Rule::DuplicateResult, block);
                }
                Some(at) => calls[*at].answered = Answered::Yes,
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
    let is_said = |role: Role| matches!(role, Role::User | Role::Assistant);
    let last = conversation.messages.iter().rposition(|m| is_said(m.role));
    for Called { call, .. } in calls.iter().filter(|called| {
        called.answered == Answered::NotYet && last.is_some_and(|last| called.message < last)
    }) {
        f.call_error(Rule::MissingResult, call);
    }
    thoughts(f, conversation, last);
}

/// Whether a call's arguments must be a string.
fn is_function(f: &Findings<'_, '_>, call: &Block) -> bool {
    f.transcript.bytes(call.line, call.tool) != b"local_shell"
}

/// Checks that reasoning is followed by the item that it led to, except at the end of the conversation.
fn thoughts(f: &mut Findings<'_, '_>, conversation: &Conversation, last: Option<usize>) {
    let transcript = f.transcript;
    for (number, message) in conversation.messages.iter().enumerate() {
        let blocks = conversation.blocks(message);
        let block = blocks.last().map(|block| transcript.block(*block));
        let Some(block) = block.filter(|_| last.is_some_and(|last| number < last)) else {
            continue;
        };
        if message.role == Role::Assistant && block.kind == BlockKind::Thinking {
            let words = "reasoning without the item that it led to";
            f.report(
                Rule::ThinkingLast,
                Severity::Warning,
                block.line,
                b"",
                words,
            );
        }
    }
}

/// Checks what the agent needs to load the rollout: a header, and compactions that it can read.
pub(super) fn rollout(f: &mut Findings<'_, '_>) {
    let transcript = f.transcript;
    let links = transcript.links();
    for (number, link) in (0u32..).zip(links) {
        if link.kind == LinkKind::Compaction(Compaction::Unreadable) {
            let words = "a compaction without timestamp or message, which the agent ignores";
            f.report(Rule::SummaryMalformed, Severity::Error, number, b"", words);
        }
    }
    let mut lines = (0u32..).zip(transcript.lines());
    let has_envelopes = transcript.units().iter().any(|unit| unit.object.start > 0);
    let Some((first, line)) = lines.find(|(number, _)| transcript.is_there(*number)) else {
        return;
    };
    let head = transcript.line(first);
    let is_header =
        line.kind == LineKind::Session && memchr::memmem::find(head, b"session_meta").is_some();
    if has_envelopes && !is_header {
        f.warning(Rule::HeaderMissing, first, b"");
    }
}
