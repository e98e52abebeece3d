//! One transcript, counted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::estimates::{Estimators, Exact};
use super::subject::Subject;
use super::thresholds::{ResultSize, Thresholds};
use super::totals::keep_largest;
use super::turns::turns;
use super::{Consumer, ConversationStats, Counts, FileStats};
use crate::error::Result;
use crate::facts::{self, Earlier, coverage, failed_results, kind_of_call};
use crate::format::Format;
use crate::ids::IdMap;
use crate::plan::tool_named_by;
use crate::policy::{Policy, ToolKind, Tools};
use crate::tokens::{Estimator, Sizes, Voice, split, usage};
use crate::transcript::{
    BlockKind, Conversation, ConversationId, LineKind, Outcome, Role, Transcript,
};

/// Counts transcripts with one policy's estimator.
#[derive(Debug)]
pub struct Counter<'p> {
    estimator: Estimator,
    tools: &'p Tools,
    top: usize,
    thresholds: Thresholds,
    earlier: Earlier,
    estimators: Estimators,
}

/// A live block that may be one of the largest.
struct Candidate {
    tokens: u64,
    conversation: usize,
    message: usize,
    block: u32,
}

/// A call, for its results.
struct Call {
    block: u32,
    /// The path that it names, for tools that work on one file.
    path: Option<String>,
}

/// A block as a part of its window.
struct Part {
    message: usize,
    block: u32,
    /// Its tokens on its own.
    size: u64,
    /// Its share of the tokens that its message adds to the window.
    tokens: u64,
}

/// The block of the call for each block of a result that answers it.
type Answered = IdMap<u32, u32>;

/// The calls and the results of a conversation.
struct Seen {
    answered: Answered,
    results: Vec<ResultSize>,
}

impl<'p> Counter<'p> {
    /// A counter for one policy that lists the `top` largest consumers.
    ///
    /// # Errors
    /// If the policy counts in a way that is not built in.
    pub fn new(policy: &'p Policy, top: usize, exact: Exact) -> Result<Self> {
        Ok(Counter {
            estimator: Estimator::new(&policy.tokens)?,
            tools: &policy.tools,
            top,
            thresholds: Thresholds::of(policy),
            earlier: Earlier::of(policy)?,
            estimators: Estimators::new(policy, exact)?,
        })
    }

    /// The name of the estimator in use.
    pub fn estimator(&self) -> &'static str {
        self.estimator.name()
    }

    /// The thresholds of the policy.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Adds a transcript to the statistics of its file; `line` is its number (from 1) if it is one line of a conversation-per-line
    /// file.
    pub fn add(
        &self,
        file: &mut FileStats,
        format: Format,
        transcript: &Transcript<'_>,
        line: Option<u64>,
    ) {
        let mut all_sizes = self.estimators.sizes();
        let mut candidates = Vec::new();
        let mut answered = Vec::new();
        for (number, conversation) in transcript.conversations.iter().enumerate() {
            let sizes = &mut all_sizes[0];
            let growth = sizes.growth(transcript, conversation);
            let seen = self.blocks(
                (number, conversation, &growth),
                transcript,
                sizes,
                &mut file.counts,
                &mut candidates,
            );
            answered.push(seen.answered);
            if conversation.messages.is_empty() {
                continue;
            }
            let tokens = growth.last().copied().unwrap_or(0);
            let first_line = line.unwrap_or(1);
            let input = (format, transcript, first_line);
            let answers = self.earlier.answers_in_window(transcript, conversation);
            let grown = turns(input, conversation, &self.earlier, (&growth, &answers));
            let timeline = grown.turns;
            let usage = usage(format, transcript, conversation, &answers, sizes);
            let counts = self
                .estimators
                .count(tokens, &mut all_sizes, transcript, conversation);
            let stats = ConversationStats {
                id: id_of(conversation, line),
                messages: conversation.messages.len() as u64,
                turns: timeline.last().map_or(0, |turn| turn.turn),
                tokens,
                compactions: grown.compactions,
                usage,
                estimates: self.estimators.estimates(&counts),
                standing: self.thresholds.standing(&timeline, &seen.results),
                timeline,
            };
            let live = &mut file.counts.live;
            live.conversations += 1;
            live.messages += stats.messages;
            live.turns += stats.turns;
            live.tokens += stats.tokens;
            file.counts.estimates += &stats.estimates;
            file.counts.presets += &self.estimators.presets(&counts);
            file.conversations.push(stats);
        }
        self.lines(transcript, &mut all_sizes[0], &mut file.counts);
        file.counts.coverage += &coverage(transcript, self.tools);

        candidates.sort_by_key(|c| (Reverse(c.tokens), transcript.block(c.block).line, c.block));
        candidates.truncate(self.top);
        let consumers = candidates.iter().map(|candidate| {
            consumer(
                candidate,
                transcript,
                &answered[candidate.conversation],
                line,
            )
        });
        file.counts.largest.extend(consumers);
        keep_largest(&mut file.counts.largest, self.top);
    }

    /// Counts the blocks of a conversation whose window grew as in `growth`. The tokens that a message adds are divided among its
    /// blocks, so that all counts add up to the window.
    fn blocks(
        &self,
        (number, conversation, growth): (usize, &Conversation, &[u64]),
        transcript: &Transcript<'_>,
        sizes: &mut Sizes,
        counts: &mut Counts,
        candidates: &mut Vec<Candidate>,
    ) -> Seen {
        let mut calls: Vec<Call> = Vec::new();
        // If two calls have the same id, each gets the results that follow it.
        let mut by_id: IdMap<&[u8], usize> = IdMap::default();
        let mut by_block: IdMap<u32, usize> = IdMap::default();
        let mut results = Vec::new();
        for part in self.parts(conversation, growth, transcript, sizes, counts) {
            let Part {
                message, tokens, ..
            } = part;
            let block = transcript.block(part.block);
            let role = role_name(block.kind, conversation.messages[message].role);
            for (shares, name) in [
                (&mut counts.roles, role),
                (&mut counts.blocks, block.kind.name()),
            ] {
                let share = shares.entry(name);
                share.blocks += 1;
                share.tokens += tokens;
            }
            candidates.push(Candidate {
                tokens,
                conversation: number,
                message,
                block: part.block,
            });
            match block.kind {
                BlockKind::Call => {
                    let call = self.call(transcript, part.block, tokens, counts);
                    if !block.call_id.is_empty() {
                        by_id.insert(transcript.bytes(block.line, block.call_id), calls.len());
                    }
                    by_block.insert(part.block, calls.len());
                    calls.push(call);
                }
                BlockKind::Result => {
                    let id = transcript.bytes(block.line, block.call_id);
                    let call = match transcript.call_beside(part.block) {
                        Some(beside) => by_block.get(&beside),
                        None => by_id.get(id),
                    };
                    results.push((part, call.copied()));
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
        let answered = self.results(transcript, conversation, &calls, &results, counts);
        let results = results.iter().map(|(part, _)| ResultSize {
            message: part.message,
            tokens: part.size,
        });
        Seen {
            answered,
            results: results.collect(),
        }
    }

    /// Counts results, each with its call, by the number of that in `calls`.
    fn results(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        calls: &[Call],
        results: &[(Part, Option<usize>)],
        counts: &mut Counts,
    ) -> Answered {
        // Results count as failed exactly as in a summary.
        let failed = match results.is_empty() {
            true => BTreeSet::new(),
            false => failed_results(
                transcript,
                &facts::calls(transcript, conversation, self.tools),
            ),
        };
        let mut answered = Answered::default();
        for (Part { block, tokens, .. }, call) in results {
            let result = transcript.block(*block);
            let call = call.map(|call| &calls[call]);
            answered.extend(call.map(|call| (*block, call.block)));
            let named_by = call.map_or(*block, |call| call.block);
            let count = counts.tools.entry(&tool_named_by(transcript, named_by));
            count.results += 1;
            count.result_tokens += *tokens;
            let has_failed = result.outcome == Outcome::Failed || failed.contains(block);
            count.failed += u64::from(has_failed);
            if let Some(path) = call.and_then(|call| call.path.as_deref()) {
                counts.paths.entry(path).result_tokens += *tokens;
            }
        }
        answered
    }

    /// The tokens that each message adds to its window, divided among its blocks. Also counts the tokens of messages without
    /// blocks.
    fn parts(
        &self,
        conversation: &Conversation,
        growth: &[u64],
        transcript: &Transcript<'_>,
        sizes: &mut Sizes,
        counts: &mut Counts,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut weights: Vec<u64> = Vec::new();
        let mut before = 0;
        for (number, (message, window)) in conversation.messages.iter().zip(growth).enumerate() {
            let added = window - before;
            before = *window;
            let blocks = conversation.blocks(message);
            if blocks.is_empty() && added > 0 {
                counts
                    .roles
                    .entry(role_name(BlockKind::Other, message.role))
                    .tokens += added;
                counts.blocks.entry(BlockKind::Other.name()).tokens += added;
            }
            weights.clear();
            weights.extend(
                blocks
                    .iter()
                    .map(|block| self.estimator.tokens(sizes.block(transcript, *block))),
            );
            let each = blocks.iter().zip(&weights).zip(split(added, &weights));
            parts.extend(each.map(|((block, size), tokens)| Part {
                message: number,
                block: *block,
                size: *size,
                tokens,
            }));
        }
        parts
    }

    fn call(
        &self,
        transcript: &Transcript<'_>,
        block: u32,
        tokens: u64,
        counts: &mut Counts,
    ) -> Call {
        let tool = tool_named_by(transcript, block);
        let count = counts.tools.entry(&tool);
        count.calls += 1;
        count.call_tokens += tokens;
        let call = transcript.block(block);
        let input = transcript.bytes(call.line, call.content);
        let (reads, edits) = match kind_of_call(&tool, input, self.tools) {
            ToolKind::Read => (1, 0),
            ToolKind::Write | ToolKind::Edit => (0, 1),
            ToolKind::Shell | ToolKind::Search | ToolKind::Web | ToolKind::Other => {
                return Call { block, path: None };
            }
        };
        let path = Subject::of(transcript, transcript.block(block)).path;
        if let Some(path) = &path {
            let count = counts.paths.entry(path);
            count.reads += reads;
            count.edits += edits;
            count.call_tokens += tokens;
        }
        Call { block, path }
    }

    /// Counts lines: live ones, dead ones, mirrors of results.
    fn lines(&self, transcript: &Transcript<'_>, sizes: &mut Sizes, counts: &mut Counts) {
        let mut is_live = vec![false; transcript.lines().len()];
        for line in transcript.conversations.iter().flat_map(|c| c.all_lines()) {
            is_live[*line as usize] = true;
        }
        // In formats without a tree of lines, a message line without a message is just empty.
        let is_tree = !transcript.links().is_empty();
        for (number, line) in (0u32..).zip(transcript.lines()) {
            let bytes = u64::from(line.len) + line.eol.bytes().len() as u64;
            if is_live[number as usize] {
                counts.live.bytes += bytes;
            } else if line.kind == LineKind::Mirror {
                counts.mirrors.lines += 1;
                counts.mirrors.bytes += bytes;
            } else if line.kind == LineKind::Message && is_tree {
                counts.dead.lines += 1;
                counts.dead.bytes += bytes;
                for block in transcript.blocks_of_line(number) {
                    counts.dead.tokens += self.estimator.tokens(sizes.block(transcript, block));
                }
            }
        }
        for mirror in transcript.mirrors() {
            if is_live[mirror.line as usize] {
                counts.live.bytes -= u64::from(mirror.value.len);
                counts.mirrors.bytes += u64::from(mirror.value.len);
            }
        }
    }
}

fn id_of(conversation: &Conversation, line: Option<u64>) -> String {
    match line {
        None => conversation.id.to_string(),
        Some(line) => ConversationId::Line(line).to_string(),
    }
}

fn consumer(
    candidate: &Candidate,
    transcript: &Transcript<'_>,
    answered: &Answered,
    line: Option<u64>,
) -> Consumer {
    let block = transcript.block(candidate.block);
    let conversation = &transcript.conversations[candidate.conversation];
    let of_tool = matches!(block.kind, BlockKind::Call | BlockKind::Result);
    let call = if block.kind == BlockKind::Result {
        answered.get(&candidate.block).copied()
    } else {
        of_tool.then_some(candidate.block)
    };
    let tool = || tool_named_by(transcript, call.unwrap_or(candidate.block)).into_owned();
    let subject = call.map(|call| Subject::of(transcript, transcript.block(call)));
    Consumer {
        path: None,
        line: u64::from(block.line) + line.unwrap_or(1),
        conversation: id_of(conversation, line),
        message: candidate.message as u64 + 1,
        role: role_name(block.kind, conversation.messages[candidate.message].role).into(),
        kind: block.kind,
        tool: of_tool.then(tool),
        tokens: candidate.tokens,
        hint: subject.and_then(Subject::hint),
    }
}

/// The role for counting: results and attachments are in user messages but are not the user's words.
fn role_name(kind: BlockKind, role: Role) -> &'static str {
    Voice::of(kind, role).name()
}
