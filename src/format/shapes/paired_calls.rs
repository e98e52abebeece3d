//! The rule of Gemini's API that several agents follow: each result answers a call of the model's last messages, and each call has
//! one. Calls without ids are not tied. Never looks at messages that are not sent.

use std::borrow::Cow;

use crate::ids::IdSet;
use crate::transcript::{Block, BlockKind, Conversation, Role};
use crate::verify::{Findings, Rule};

/// Checks the messages of a conversation: each result answers a call of the model's last messages.
pub(in crate::format) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    let mut open = Open::default();
    let mut known = IdSet::default();
    for message in &conversation.messages {
        let blocks = conversation.blocks(message).iter();
        let blocks: Vec<&Block> = blocks.map(|block| transcript.block(*block)).collect();
        if let Role::User | Role::Tool = message.role {
            let results = blocks
                .iter()
                .filter(|block| block.kind == BlockKind::Result);
            results.for_each(|result| open.result(f, result));
            if message.role == Role::User {
                open.close(f);
            }
            continue;
        }
        let calls = blocks.iter().filter(|block| block.kind == BlockKind::Call);
        for call in calls {
            let id = f.call_id(call);
            if !id.is_empty() && !known.insert(id.clone()) {
                f.call_error(Rule::DuplicateCall, call);
            }
            open.call(call, id);
        }
    }
    open.close(f);
}

/// The calls since the user's last message.
#[derive(Default)]
struct Open<'t> {
    calls: Vec<(&'t Block, Cow<'t, [u8]>)>,
    /// The ids of `calls`.
    ids: IdSet<Cow<'t, [u8]>>,
    answered: IdSet<Cow<'t, [u8]>>,
}

impl<'t> Open<'t> {
    fn call(&mut self, block: &'t Block, id: Cow<'t, [u8]>) {
        self.ids.insert(id.clone());
        self.calls.push((block, id));
    }

    fn result(&mut self, f: &mut Findings<'t, '_>, block: &Block) {
        let id = f.call_id(block);
        if id.is_empty() {
        } else if !self.ids.contains(&id) {
            f.call_error(Rule::OrphanResult, block);
        } else if !self.answered.insert(id) {
            f.call_error(Rule::DuplicateResult, block);
        }
    }

    fn close(&mut self, f: &mut Findings<'t, '_>) {
        for (call, id) in self.calls.drain(..) {
            if !id.is_empty() && !self.answered.contains(&id) {
                f.call_error(Rule::MissingResult, call);
            }
        }
        self.ids.clear();
        self.answered.clear();
    }
}
