//! What the OpenAI chat completions API requires of a list of messages.
//!
//! The older `function_call` and its `function` message have no ids; they are paired in order, by name. Never looks at lines
//! without a message.

use std::borrow::Cow;

use super::{Findings, Rule};
use crate::ids::{IdMap, IdSet};
use crate::scan::{Kind, Span, Value};
use crate::transcript::{Block, BlockKind, Conversation, Message, Role, Shape};

/// A call that tool messages may answer.
struct Open<'t> {
    call: &'t Block,
    answered: Answered,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    Yes,
    NotYet,
}

/// Checks one conversation.
pub(crate) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let mut check = Check {
        f,
        conversation,
        open: Vec::new(),
        by_id: IdMap::default(),
        known: IdSet::default(),
    };
    let mut begun = false;
    for message in &conversation.messages {
        check.content(message);
        match message.role {
            Role::Tool => {
                check.result(message);
                continue;
            }
            Role::System if begun => {
                let line = conversation.first_line(message);
                check.f.warning(Rule::MisplacedSystem, line, b"");
            }
            Role::System => {}
            Role::User | Role::Assistant => begun = true,
        }
        check.close();
        check.calls(message);
    }
    check.close();
}

struct Check<'c, 't, 'a> {
    f: &'c mut Findings<'t, 'a>,
    conversation: &'c Conversation,
    /// The calls of the last message that was not a tool message.
    open: Vec<Open<'t>>,
    /// The indices in `open` of the calls with an id.
    by_id: IdMap<Cow<'t, [u8]>, Vec<usize>>,
    /// The ids of all calls so far.
    known: IdSet<Cow<'t, [u8]>>,
}

impl<'t> Check<'_, 't, '_> {
    fn blocks(&self, message: &Message, kind: BlockKind) -> Vec<&'t Block> {
        let transcript = self.f.transcript;
        let blocks = self.conversation.blocks(message).iter();
        blocks
            .map(|b| transcript.block(*b))
            .filter(|block| block.kind == kind)
            .collect()
    }

    /// Checks a message on its own.
    fn content(&mut self, message: &Message) {
        let line = self.conversation.first_line(message);
        for block in self.conversation.blocks(message) {
            self.f.readable(self.f.transcript.block(*block));
        }
        let has_content = match self.f.transcript.bytes(line, message.content) {
            b"" | b"null" => self.may_lack_content(message),
            // An empty string counts as content, an empty list does not.
            [b'"', ..] => true,
            [b'[', inner @ .., b']'] => !inner.trim_ascii().is_empty(),
            _ => false,
        };
        if !has_content {
            let id = self.blocks(message, BlockKind::Result);
            let id = id.first().map(|block| self.f.id_of(block));
            self.f
                .error(Rule::EmptyMessage, line, id.unwrap_or_default());
        }
    }

    /// Whether a message needs no content: an assistant message may have only calls, reasoning or a refusal; the older
    /// `function` result may be `null`.
    fn may_lack_content(&self, message: &Message) -> bool {
        match message.role {
            Role::Assistant => {
                let does = [BlockKind::Call, BlockKind::Thinking];
                does.into_iter()
                    .any(|kind| !self.blocks(message, kind).is_empty())
                    || self.has_rare_content(message)
            }
            Role::Tool => {
                let results = self.blocks(message, BlockKind::Result);
                results.iter().all(|block| block.call_id.is_empty())
            }
            Role::System | Role::User => false,
        }
    }

    /// Whether an assistant message has one of the rarer kinds of content, for which there are no blocks.
    fn has_rare_content(&self, message: &Message) -> bool {
        let line = self.conversation.first_line(message);
        let message = Value::part(self.f.transcript.line(line), message.object);
        let contents = message.fields(["refusal", "audio", "reasoning_details"]);
        let mut kinds = contents.into_iter().filter_map(Value::kind);
        kinds.any(|kind| kind != Kind::Null)
    }

    /// Opens the calls of a message.
    fn calls(&mut self, message: &Message) {
        for call in self.blocks(message, BlockKind::Call) {
            let raw = self.f.id_of(call);
            match call.shape {
                Shape::Other => self.f.error(Rule::ArgumentsNotString, call.line, raw),
                Shape::Absent => self.f.error(Rule::MalformedCall, call.line, raw),
                _ if call.tool == Span::default() => {
                    self.f.error(Rule::MalformedCall, call.line, raw)
                }
                _ => {}
            }
            let id = self.f.call_id(call);
            let same = self.by_id.entry(id.clone()).or_default();
            if !id.is_empty() {
                if !same.is_empty() {
                    self.f.error(Rule::DuplicateCall, call.line, raw);
                } else if !self.known.insert(id) {
                    // Some models number their calls from 0 in every answer; not every provider refuses that.
                    self.f.warning(Rule::DuplicateCall, call.line, raw);
                }
            }
            same.push(self.open.len());
            self.open.push(Open {
                call,
                answered: Answered::NotYet,
            });
        }
    }

    /// Matches a tool message with the open calls.
    fn result(&mut self, message: &Message) {
        for block in self.blocks(message, BlockKind::Result) {
            let id = self.f.call_id(block);
            let same = self.by_id.get(&id).map(Vec::as_slice).unwrap_or_default();
            let name = self.f.transcript.bytes(block.line, block.tool);
            let is_meant = |at: &&usize| {
                let call = self.open[**at].call;
                let called = self.f.transcript.bytes(call.line, call.tool);
                !id.is_empty() || name.is_empty() || name == called
            };
            let is_fresh = |at: &&usize| self.open[**at].answered == Answered::NotYet;
            if let Some(at) = same.iter().filter(is_meant).find(is_fresh) {
                self.open[*at].answered = Answered::Yes;
            } else if same.iter().any(|at| is_meant(&at)) {
                self.f.call_error(Rule::DuplicateResult, block);
            } else {
                self.f.call_error(Rule::OrphanResult, block);
            }
        }
    }

    /// Handles the end of the tool messages: calls that are still open will not get a result.
    fn close(&mut self) {
        self.by_id.clear();
        for Open { call, answered } in self.open.drain(..) {
            if answered == Answered::NotYet {
                self.f.call_error(Rule::MissingResult, call);
            }
        }
    }
}
