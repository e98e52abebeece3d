//! What the API requires of the messages that the agent sends: each call has a unique id. A result is part of its call, and the
//! agent makes one up for a call that has none.

use std::borrow::Cow;

use crate::ids::IdSet;
use crate::transcript::{BlockKind, Conversation};
use crate::verify::{Findings, Rule};

/// Checks the messages of a conversation.
pub(super) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut known: IdSet<Cow<'_, [u8]>> = IdSet::default();
    for (_, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        if block.kind == BlockKind::Call {
            let id = f.call_id(block);
            if id.is_empty() {
                f.call_error(Rule::InvalidId, block);
            } else if !known.insert(id) {
                f.call_error(Rule::DuplicateCall, block);
            }
        }
        f.readable(block);
    }
}
