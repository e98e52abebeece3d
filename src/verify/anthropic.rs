//! What the Anthropic Messages API requires of a list of messages.
//!
//! Consecutive messages of the same role count as one, as in the API. Never looks at lines that no model sees.

use std::borrow::Cow;

use super::call_ids::CallIds;
use super::{Findings, Rule, Severity};
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{Answer, Block, BlockKind, Conversation, Message, Role, Transcript};

/// Who sends the messages as a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// They are sent as they are.
    Api,
    /// Claude Code sends them: it moves results to the front, omits its own error messages and always adds the user's next
    /// message.
    ClaudeCode,
}

/// Alternating turns: consecutive messages of one role count as one.
#[derive(Default)]
struct Turns {
    /// The blocks of all turns.
    blocks: Vec<u32>,
    /// The role of each turn, and where its blocks end.
    ends: Vec<(Role, usize)>,
}

/// A turn, by its role and its blocks.
type Turn<'s> = (Role, &'s [u32]);

impl Turns {
    fn add(&mut self, role: Role, blocks: &[u32]) {
        self.blocks.extend_from_slice(blocks);
        let end = self.blocks.len();
        match self.ends.last_mut().filter(|(last, _)| *last == role) {
            Some((_, last)) => *last = end,
            None => self.ends.push((role, end)),
        }
    }

    /// The turns in their order.
    fn iter(&self) -> impl DoubleEndedIterator<Item = Turn<'_>> + ExactSizeIterator {
        (0..self.ends.len()).map(|turn| {
            let before = turn.checked_sub(1).map_or(0, |before| self.ends[before].1);
            let (role, end) = self.ends[turn];
            (role, &self.blocks[before..end])
        })
    }
}

/// Checks one conversation.
pub(crate) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation, sender: Sender) {
    let mut check = Check {
        f,
        conversation,
        sender,
    };
    let sent = check.sent();
    check.messages(&sent);
    let turns = check.turns(&sent);
    check.pairs(&turns);
    check.server_tools(&turns);
    check.thinking(&turns);
}

struct Check<'c, 't, 'a> {
    f: &'c mut Findings<'t, 'a>,
    conversation: &'c Conversation,
    sender: Sender,
}

impl<'c, 't> Check<'c, 't, '_> {
    /// The messages that reach the API.
    fn sent(&mut self) -> Vec<&'c Message> {
        let mut sent = Vec::with_capacity(self.conversation.messages.len());
        for message in &self.conversation.messages {
            let line = self.conversation.first_line(message);
            if message.role == Role::System {
                self.f
                    .warning(Rule::MisplacedSystem, line, self.f.uuid(line));
            } else if !(self.sender == Sender::ClaudeCode && self.is_synthetic(line)) {
                sent.push(message);
            }
        }
        sent
    }

    fn is_synthetic(&self, line: u32) -> bool {
        let link = self.f.transcript.links().get(line as usize);
        link.is_some_and(|link| link.answer == Answer::ApiError)
    }

    fn block(&self, block: u32) -> &'t Block {
        self.f.transcript.block(block)
    }

    /// Checks each message by itself, and which messages are first and last.
    fn messages(&mut self, sent: &[&Message]) {
        let line_of = |m: &Message| self.conversation.first_line(m);
        if let Some(line) = sent
            .first()
            .filter(|m| m.role == Role::Assistant)
            .map(|m| line_of(m))
        {
            self.f.error(Rule::FirstNotUser, line, self.f.uuid(line));
        }
        for (i, message) in sent.iter().enumerate() {
            let is_last = i + 1 == sent.len();
            let blocks = self.conversation.blocks(message);
            if blocks.iter().all(|b| self.is_empty_string(self.block(*b))) {
                if !(is_last && message.role == Role::Assistant) {
                    let line = line_of(message);
                    self.f.error(Rule::EmptyMessage, line, self.f.uuid(line));
                }
                continue;
            }
            for block in blocks {
                let block = self.block(*block);
                self.f.readable(block);
                self.content(block, message.role);
            }
        }
        if let Some(last) = sent.last()
            && last.role == Role::Assistant
            && self.sender == Sender::Api
        {
            self.f.warning(Rule::LastNotUser, line_of(last), b"");
        }
    }

    /// Whether a block is a message's content that is the string `""`.
    fn is_empty_string(&self, block: &Block) -> bool {
        block.kind == BlockKind::Text && block.value == block.content && self.is_empty(block)
    }

    fn is_empty(&self, block: &Block) -> bool {
        let texts = self.f.transcript.texts(block);
        texts.iter().all(|text| text.scalars == 0)
    }

    /// Checks a block on its own.
    fn content(&mut self, block: &Block, role: Role) {
        match block.kind {
            BlockKind::Call if role != Role::Assistant => {
                self.f.call_error(Rule::MisplacedBlock, block);
            }
            BlockKind::Result if role == Role::Assistant => {
                self.f.call_error(Rule::MisplacedBlock, block);
            }
            BlockKind::Call if !self.is_whole(block) => {
                self.f.call_error(Rule::MalformedCall, block);
            }
            BlockKind::Text if self.is_empty(block) => {
                self.f
                    .error(Rule::EmptyText, block.line, self.f.uuid(block.line));
            }
            BlockKind::Thinking => {
                let texts = self.f.transcript.texts(block);
                let signature = self.value(block).field_beside(texts, "signature");
                let severity = match signature.string() {
                    None => Severity::Error,
                    // Providers that imitate this API write an empty signature, and accept it.
                    Some(b"") => Severity::Warning,
                    Some(_) => return,
                };
                let uuid = self.f.uuid(block.line);
                self.f
                    .add(Rule::UnsignedThinking, severity, block.line, uuid);
            }
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Redacted
            | BlockKind::Call
            | BlockKind::Result
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => {}
        }
    }

    /// Whether a call names its tool and has an input.
    fn is_whole(&self, call: &Block) -> bool {
        let line = self.f.transcript.line(call.line);
        call.tool != Span::default() && call.content.of(line).first() == Some(&b'{')
    }

    fn value(&self, block: &Block) -> Value<'t> {
        Value::part(self.f.transcript.line(block.line), block.value)
    }

    /// Joins consecutive messages of one role into alternating turns. Claude Code's attachments may join either side, so they are
    /// omitted.
    fn turns(&self, sent: &[&Message]) -> Turns {
        let mut turns = Turns::default();
        for message in sent {
            let blocks = self.conversation.blocks(message);
            let is_attachment = |b: &u32| self.block(*b).kind == BlockKind::Attachment;
            if blocks.is_empty() || !blocks.iter().all(is_attachment) {
                turns.add(message.role, blocks);
            }
        }
        turns
    }

    /// Checks calls and results: each call has exactly one result, in the turn after it.
    fn pairs(&mut self, turns: &Turns) {
        let transcript = self.f.transcript;
        let mut known = IdSet::default();
        let (mut calls, mut answered) = (CallIds::default(), CallIds::default());
        let mut rest = turns.iter().peekable();
        while let Some((role, blocks)) = rest.next() {
            if role != Role::Assistant {
                self.results(blocks, &calls, &mut answered);
                continue;
            }
            answered.clear();
            if let Some((_, next)) = rest.peek() {
                for block in of_kind(transcript, next, BlockKind::Result) {
                    answered.insert(self.f.call_id(block));
                }
            }
            calls.clear();
            for block in of_kind(transcript, blocks, BlockKind::Call) {
                let id = self.f.call_id(block);
                self.call(block, id.clone(), &mut known);
                if !id.is_empty() && !answered.contains(&id) {
                    self.f.call_error(Rule::MissingResult, block);
                }
                calls.insert(id);
            }
        }
    }

    /// Checks the id of a call of either kind: it must be well formed and unique.
    fn call(&mut self, block: &Block, id: Cow<'t, [u8]>, known: &mut IdSet<Cow<'t, [u8]>>) {
        let is_plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if id.is_empty() || !id.iter().all(is_plain) {
            self.f.call_error(Rule::InvalidId, block);
        }
        if !id.is_empty() && !known.insert(id) {
            self.f.call_error(Rule::DuplicateCall, block);
        }
    }

    /// Checks the results of one turn against the calls of the turn before it; `answered` collects the calls that have a result.
    fn results(&mut self, blocks: &[u32], calls: &CallIds<'t>, answered: &mut CallIds<'t>) {
        answered.clear();
        let mut after_other = false;
        for block in blocks {
            let block = self.block(*block);
            match block.kind {
                BlockKind::Result => {}
                BlockKind::Text
                | BlockKind::Image
                | BlockKind::Document
                | BlockKind::Thinking
                | BlockKind::Redacted
                | BlockKind::Call
                | BlockKind::Server
                | BlockKind::Attachment
                | BlockKind::Other => {
                    after_other = true;
                    continue;
                }
            }
            let id = self.f.call_id(block);
            let broken = if id.is_empty() || !calls.contains(&id) {
                Some(Rule::OrphanResult)
            } else if !answered.insert(id) {
                Some(Rule::DuplicateResult)
            } else if after_other && self.sender == Sender::Api {
                Some(Rule::ResultsNotFirst)
            } else {
                None
            };
            if let Some(rule) = broken {
                self.f.call_error(rule, block);
            }
        }
    }

    /// Checks tools that the provider runs: a result comes after its call, in the same answer or the next one.
    fn server_tools(&mut self, turns: &Turns) {
        let transcript = self.f.transcript;
        let mut known = IdSet::default();
        let mut open = IdSet::default();
        let mut before = Vec::new();
        for (_, blocks) in turns.iter().filter(|(role, _)| *role == Role::Assistant) {
            let mut calls = Vec::new();
            for block in of_kind(transcript, blocks, BlockKind::Server) {
                let id = self.f.call_id(block);
                let answered = self.value(block).field("tool_use_id");
                if answered.string().is_none() {
                    self.call(block, id.clone(), &mut known);
                    open.insert(id.clone());
                    calls.push((block, id));
                } else if !open.remove(&id) {
                    self.f.call_error(Rule::OrphanServerResult, block);
                }
            }
            // Calls without a result in the very last answer may still get one: the provider paused.
            for (block, id) in std::mem::replace(&mut before, calls) {
                if open.remove(&id) {
                    self.f.call_error(Rule::MissingServerResult, block);
                }
            }
        }
    }

    /// Checks the position of thinking in the last answer. A transcript does not record whether a request has thinking turned on.
    fn thinking(&mut self, turns: &Turns) {
        let transcript = self.f.transcript;
        let kind = |b: &u32| transcript.block(*b).kind;
        let is_thinking = |b: &u32| matches!(kind(b), BlockKind::Thinking | BlockKind::Redacted);
        let mut from_end = turns.iter().rev().enumerate();
        let Some((after, (_, last))) = from_end.find(|(_, (role, _))| *role == Role::Assistant)
        else {
            return;
        };
        if let Some(first) = last.first()
            && last.iter().any(|b| kind(b) == BlockKind::Call)
            && !is_thinking(first)
            && last.iter().any(is_thinking)
        {
            let line = self.block(*first).line;
            self.f
                .warning(Rule::ThinkingNotFirst, line, self.f.uuid(line));
        }
        if let Some(end) = last.last()
            && after == 0
            && self.sender == Sender::Api
            && is_thinking(end)
        {
            self.f.error(Rule::ThinkingLast, self.block(*end).line, b"");
        }
    }
}

/// Those of `blocks` that are of one kind.
fn of_kind<'t>(
    transcript: &'t Transcript<'_>,
    blocks: &[u32],
    kind: BlockKind,
) -> impl Iterator<Item = &'t Block> {
    let blocks = blocks.iter().map(|block| transcript.block(*block));
    blocks.filter(move |block| block.kind == kind)
}
