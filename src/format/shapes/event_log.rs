//! The rules for a complete event log, from which no agent continues: each result follows its call, and no id is used twice. Calls
//! at the end may lack results, since the run may have been stopped.

use std::borrow::Cow;

use crate::ids::IdMap;
use crate::transcript::{BlockKind, Conversation};
use crate::verify::{Findings, Rule};

/// How often a call was answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    NotYet,
    Once,
}

/// Checks a conversation of a log.
pub(in crate::format) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut calls: IdMap<Cow<'_, [u8]>, Answered> = IdMap::default();
    for (_, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        f.readable(block);
        match block.kind {
            BlockKind::Call => {
                if calls.insert(f.call_id(block), Answered::NotYet).is_some() {
                    f.call_error(Rule::DuplicateCall, block);
                }
            }
            BlockKind::Result => match calls.insert(f.call_id(block), Answered::Once) {
                None => f.call_error(Rule::OrphanResult, block),
                Some(Answered::Once) => f.call_error(Rule::DuplicateResult, block),
                Some(Answered::NotYet) => {}
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
