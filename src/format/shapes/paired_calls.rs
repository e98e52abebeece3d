//! The rule of Gemini's API that several agents follow: each result answers a call in the model's last messages, and each call has
//! a result. Calls without ids are not checked. Never looks at messages that are not sent.

use crate::ids::IdSet;
use crate::transcript::{Block, BlockKind, Conversation, Role};
use crate::verify::{Findings, OpenCalls, Rule};

/// Checks that each result in a conversation answers a call in the model's last messages.
pub(in crate::format) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut open = OpenCalls::default();
    let mut known = IdSet::default();
    for message in &conversation.messages {
        let blocks = conversation.blocks(message).iter();
        let blocks: Vec<&Block> = blocks.map(|block| transcript.block(*block)).collect();
        if let Role::User | Role::Tool = message.role {
            for result in blocks
                .iter()
                .filter(|block| block.kind == BlockKind::Result)
            {
                if !f.call_id(result).is_empty() {
                    open.result(f, result);
                }
            }
            if message.role == Role::User {
                open.close(f);
            }
            continue;
        }
        let calls = blocks.iter().filter(|block| block.kind == BlockKind::Call);
        for call in calls {
            let id = f.call_id(call);
            if id.is_empty() {
                continue;
            }
            if !known.insert(id.clone()) {
                f.call_error(Rule::DuplicateCall, call);
            }
            open.call(call, id);
        }
    }
    open.close(f);
}
