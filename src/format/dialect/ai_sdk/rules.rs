//! What the AI SDK and the provider require of a list of model messages.
//!
//! Calls stay open until the next user or system message, or the end of the messages: the SDK rejects calls without a result at
//! that point. A call that waits for an approval is not open. Never looks at lines without a message.

use std::borrow::Cow;

use crate::ids::IdSet;
use crate::transcript::{Block, BlockKind, Conversation, Message, Role};
use crate::verify::{Findings, Rule};

/// Checks one conversation.
pub(super) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let mut check = Check {
        f,
        conversation,
        open: Vec::new(),
        open_ids: IdSet::default(),
        answered: IdSet::default(),
        waiting: IdSet::default(),
        known: IdSet::default(),
    };
    let mut begun = false;
    for message in &conversation.messages {
        check.content(message);
        match message.role {
            Role::System => {
                if begun {
                    let line = conversation.first_line(message);
                    check.f.warning(Rule::MisplacedSystem, line, b"");
                }
                check.close();
            }
            Role::User => check.close(),
            Role::Assistant => check.calls(message),
            Role::Tool => check.results(message),
        }
        begun |= message.role != Role::System;
    }
    check.close();
}

struct Check<'c, 't, 'a> {
    f: &'c mut Findings<'t, 'a>,
    conversation: &'c Conversation,
    /// The calls since the last user or system message.
    open: Vec<(&'t Block, Cow<'t, [u8]>)>,
    /// The ids of `open`.
    open_ids: IdSet<Cow<'t, [u8]>>,
    /// The ids of the open calls that have a result.
    answered: IdSet<Cow<'t, [u8]>>,
    /// The ids of the open calls that wait for an approval.
    waiting: IdSet<Cow<'t, [u8]>>,
    /// The ids of all calls so far.
    known: IdSet<Cow<'t, [u8]>>,
}

impl<'t> Check<'_, 't, '_> {
    fn blocks(&self, message: &Message) -> Vec<&'t Block> {
        let transcript = self.f.transcript;
        let blocks = self.conversation.blocks(message).iter();
        blocks.map(|block| transcript.block(*block)).collect()
    }

    /// Checks a message by itself.
    fn content(&mut self, message: &Message) {
        let line = self.conversation.first_line(message);
        for block in self.blocks(message) {
            self.f.readable(block);
        }
        match self.f.transcript.bytes(line, message.content).first() {
            Some(b'[') => {}
            Some(b'"') if message.role != Role::Tool => {}
            Some(b'"') => self.f.error(Rule::ContentNotList, line, b""),
            Some(_) | None => self.f.error(Rule::EmptyMessage, line, b""),
        }
    }

    /// Opens the calls of a message.
    fn calls(&mut self, message: &Message) {
        self.open.retain(|(_, id)| !self.answered.contains(id));
        self.open_ids.retain(|id| !self.answered.contains(id));
        self.answered.clear();
        for block in self.blocks(message) {
            let id = self.f.call_id(block);
            match block.kind {
                BlockKind::Call if id.is_empty() => self.f.call_error(Rule::InvalidId, block),
                BlockKind::Call => {
                    if self.open_ids.contains(&id) {
                        self.f.call_error(Rule::DuplicateCall, block);
                    } else if !self.known.insert(id.clone()) {
                        // Some models number their calls from 0 in every answer; not every provider rejects that.
                        let raw = self.f.id_of(block);
                        self.f.warning(Rule::DuplicateCall, block.line, raw);
                    }
                    self.open_ids.insert(id.clone());
                    self.open.push((block, id));
                }
                // A request for the approval of a call names the call.
                BlockKind::Other if !id.is_empty() => drop(self.waiting.insert(id)),
                BlockKind::Text
                | BlockKind::Image
                | BlockKind::Document
                | BlockKind::Thinking
                | BlockKind::Redacted
                | BlockKind::Result
                | BlockKind::Server
                | BlockKind::Attachment
                | BlockKind::Other => {}
            }
        }
    }

    /// Matches the results of a tool message with the open calls.
    fn results(&mut self, message: &Message) {
        for block in self.blocks(message) {
            if block.kind != BlockKind::Result {
                continue;
            }
            let id = self.f.call_id(block);
            if !self.open_ids.contains(&id) {
                self.f.call_error(Rule::OrphanResult, block);
            } else if !self.answered.insert(id) {
                self.f.call_error(Rule::DuplicateResult, block);
            }
        }
    }

    /// Handles a user or system message: calls that are still open will not get a result.
    fn close(&mut self) {
        for (call, id) in self.open.drain(..) {
            if !self.answered.contains(&id) && !self.waiting.contains(&id) {
                self.f.call_error(Rule::MissingResult, call);
            }
        }
        self.open_ids.clear();
        self.answered.clear();
        self.waiting.clear();
    }
}
