//! What the Anthropic Messages API requires of a list of messages.
//!
//! Consecutive messages of the same role count as one, as in the API. Never looks at lines that no model sees.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::call_ids::CallIds;
use super::{Findings, Rule, Severity};
use crate::ids::{IdMap, IdSet};
use crate::scan::{Span, Value};
use crate::threads;
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
    /// Joins consecutive messages of one role. Claude Code's attachments may join either side, so they are omitted.
    fn of(transcript: &Transcript<'_>, conversation: &Conversation, sent: &[&Message]) -> Self {
        let is_attachment = |b: &u32| transcript.block(*b).kind == BlockKind::Attachment;
        let mut turns = Turns::default();
        for message in sent {
            let blocks = conversation.blocks(message);
            if blocks.is_empty() || !blocks.iter().all(is_attachment) {
                turns.add(message.role, blocks);
            }
        }
        turns
    }

    fn add(&mut self, role: Role, blocks: &[u32]) {
        self.blocks.extend_from_slice(blocks);
        let end = self.blocks.len();
        match self.ends.last_mut().filter(|(last, _)| *last == role) {
            Some((_, last)) => *last = end,
            None => self.ends.push((role, end)),
        }
    }

    /// Their number.
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// One of them.
    fn get(&self, turn: usize) -> Turn<'_> {
        let before = turn.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (role, end) = self.ends[turn];
        (role, &self.blocks[before..end])
    }

    /// The turns in their order.
    fn iter(&self) -> impl DoubleEndedIterator<Item = Turn<'_>> + ExactSizeIterator {
        (0..self.len()).map(|turn| self.get(turn))
    }
}

/// Checks one conversation. Threads share the work on a large one.
pub(crate) fn check(f: &mut Findings<'_, '_>, conversation: &Conversation, sender: Sender) {
    let of = Of {
        conversation,
        sender,
    };
    let sent = of.check(f).sent();
    let (transcript, here) = (f.transcript, f.beside());
    let last = sent.last().copied();
    let hasher = RandomState::default();
    let (of_messages, turns) = transcript.both(
        || {
            in_parts(transcript, sent.len(), |range| {
                let mut found = here.beside();
                let calls = of.check(&mut found).each(&sent[range], last, &hasher);
                (found, calls)
            })
        },
        || Turns::of(transcript, conversation, &sent),
    );
    let mut calls = Vec::new();
    for (found, of_part) in of_messages {
        f.append(found);
        calls.extend(of_part);
    }
    let again = repeated(f, calls);
    of.check(f).last(&sent);
    let (of_pairs, of_others) = transcript.both(
        || {
            in_parts(transcript, turns.len(), |range| {
                let mut found = here.beside();
                of.check(&mut found).pairs(&turns, range, &again);
                found
            })
        },
        || {
            let mut found = here.beside();
            let mut check = of.check(&mut found);
            check.server_tools(&turns);
            check.thinking(&turns);
            found
        },
    );
    of_pairs.into_iter().for_each(|found| f.append(found));
    f.append(of_others);
}

/// What is checked.
#[derive(Clone, Copy)]
struct Of<'c> {
    conversation: &'c Conversation,
    sender: Sender,
}

impl<'c> Of<'c> {
    /// A check that adds to `f`.
    fn check<'f, 't, 'a>(self, f: &'f mut Findings<'t, 'a>) -> Check<'f, 'c, 't, 'a> {
        let Of {
            conversation,
            sender,
        } = self;
        Check {
            f,
            conversation,
            sender,
        }
    }
}

/// The hash of a call's id, and the call's block.
type HashedCall = (u64, u32);

/// What is found in each part of a list, in the order of the parts: there is only one if the transcript is not large.
fn in_parts<T: Send>(
    transcript: &Transcript<'_>,
    len: usize,
    find: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    /// The length of a part.
    const PART: usize = if cfg!(debug_assertions) { 16 } else { 4096 };
    if !transcript.is_shared() {
        return vec![find(0..len)];
    }
    let parts = 0..len.div_ceil(PART);
    threads::each(parts, |part| find(part * PART..len.min((part + 1) * PART)))
}

struct Check<'f, 'c, 't, 'a> {
    f: &'f mut Findings<'t, 'a>,
    conversation: &'c Conversation,
    sender: Sender,
}

impl<'c, 't> Check<'_, 'c, 't, '_> {
    /// The messages that reach the API; the first of them has to be the user's.
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
        if let Some(first) = sent.first()
            && first.role == Role::Assistant
        {
            let line = self.conversation.first_line(first);
            self.f.error(Rule::FirstNotUser, line, self.f.uuid(line));
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

    /// Checks each message by itself; an answer at the very end may be empty. Returns the calls in them that have an id.
    fn each(
        &mut self,
        messages: &[&Message],
        last: Option<&Message>,
        hasher: &RandomState,
    ) -> Vec<HashedCall> {
        let mut calls = Vec::new();
        for message in messages {
            let is_last = last.is_some_and(|last| std::ptr::eq(*message, last));
            let blocks = self.conversation.blocks(message);
            if blocks.iter().all(|b| self.is_empty_string(self.block(*b))) {
                if !(is_last && message.role == Role::Assistant) {
                    let line = self.conversation.first_line(message);
                    self.f.error(Rule::EmptyMessage, line, self.f.uuid(line));
                }
                continue;
            }
            for number in blocks {
                let block = self.block(*number);
                self.f.readable(block);
                self.content(block, message.role);
                if block.kind == BlockKind::Call && message.role == Role::Assistant {
                    let id = self.f.call_id(block);
                    if !id.is_empty() {
                        calls.push((hasher.hash_one(id), *number));
                    }
                }
            }
        }
        calls
    }

    /// Checks that the last message is not an answer.
    fn last(&mut self, sent: &[&Message]) {
        if let Some(last) = sent.last()
            && last.role == Role::Assistant
            && self.sender == Sender::Api
        {
            let line = self.conversation.first_line(last);
            self.f.warning(Rule::LastNotUser, line, b"");
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

    /// Checks the calls and results of some turns: each call has exactly one result, in the turn after it. `again` has the calls
    /// whose ids other calls have before them.
    fn pairs(&mut self, turns: &Turns, range: Range<usize>, again: &IdSet<u32>) {
        let (mut calls, mut answered) = (CallIds::default(), CallIds::default());
        let is_answer = |turn: &usize| turns.get(*turn).0 == Role::Assistant;
        if let Some(before) = (0..range.start).rev().find(is_answer) {
            self.collect(turns.get(before).1, BlockKind::Call, &mut calls);
        }
        for turn in range {
            let (role, blocks) = turns.get(turn);
            if role != Role::Assistant {
                self.results(blocks, &calls, &mut answered);
                continue;
            }
            let next = (turn + 1 < turns.len()).then(|| turns.get(turn + 1).1);
            self.collect(next.unwrap_or(&[]), BlockKind::Result, &mut answered);
            calls.clear();
            for number in of_kind(self.f.transcript, blocks, BlockKind::Call) {
                let block = self.block(number);
                let id = self.f.call_id(block);
                self.call(block, &id);
                if again.contains(&number) {
                    self.f.call_error(Rule::DuplicateCall, block);
                }
                if !id.is_empty() && !answered.contains(&id) {
                    self.f.call_error(Rule::MissingResult, block);
                }
                calls.insert(id);
            }
        }
    }

    /// Collects the ids of the blocks of one kind.
    fn collect(&self, blocks: &[u32], kind: BlockKind, ids: &mut CallIds<'t>) {
        ids.clear();
        for block in of_kind(self.f.transcript, blocks, kind) {
            ids.insert(self.f.call_id(self.block(block)));
        }
    }

    /// Checks that the id of a call of either kind is well formed.
    fn call(&mut self, block: &Block, id: &[u8]) {
        let is_plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if id.is_empty() || !id.iter().all(is_plain) {
            self.f.call_error(Rule::InvalidId, block);
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
                let block = self.block(block);
                let id = self.f.call_id(block);
                let answered = self.value(block).field("tool_use_id");
                if answered.string().is_none() {
                    self.call(block, &id);
                    if !id.is_empty() && !known.insert(id.clone()) {
                        self.f.call_error(Rule::DuplicateCall, block);
                    }
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

/// The calls whose ids other calls have before them.
fn repeated(f: &Findings<'_, '_>, calls: Vec<HashedCall>) -> IdSet<u32> {
    let id = |block: u32| f.call_id(f.transcript.block(block));
    let mut known: IdMap<u64, u32> = IdMap::default();
    known.reserve(calls.len());
    let is_again = |&(mut hash, block): &HashedCall| {
        // Ids are compared only where their hashes are equal, since most of them would have to be fetched from memory.
        while let Some(other) = known.get(&hash) {
            if id(*other) == id(block) {
                return true;
            }
            hash = hash.wrapping_add(1);
        }
        known.insert(hash, block);
        false
    };
    let again = calls.into_iter().filter(is_again);
    again.map(|(_, block)| block).collect()
}

/// Those of `blocks` that are of one kind.
fn of_kind(
    transcript: &Transcript<'_>,
    blocks: &[u32],
    kind: BlockKind,
) -> impl Iterator<Item = u32> {
    let blocks = blocks.iter().copied();
    blocks.filter(move |block| transcript.block(*block).kind == kind)
}
