//! Handles a conversation that is longer than its model can read: its parts are summarised one by one, and the summaries are merged
//! into one.
//!
//! The size that a model can read comes from the policy, or is learned from what the server refuses and from its token counts: some
//! servers truncate a prompt silently. It is learned separately for each conversation, so that the result does not depend on their
//! order. Sends nothing itself; answers that are in the store already cost nothing again.

mod sending;

use std::collections::BTreeSet;

use super::counts::{Counts, PromptCut};
use super::parts::{before_last, clamped, first_part, part_of};
use super::{Ending, ModelError, ModelReply};
use crate::outcome::{RoundsRead, Spent};
use crate::policy::{Summary, TooLong};
use crate::summarizer::gate::Given;
use crate::summarizer::prompt::{of_last, of_merge, of_part};
use crate::summarizer::reading::begun;
use crate::text::count;
use crate::tokens::Estimator;

/// Divisor: an answer may use at most this fraction of the window that remains beside the prompt. Then two summaries fit beside an
/// answer.
const ANSWER: u64 = 4;
/// Divisor: this fraction of the window stays free, since tokens are estimated.
const SPARE: u64 = 10;
/// Tokens of a request besides the prompt and the rounds.
const AROUND: u64 = 120;
/// With less room for rounds, in tokens, nothing can be told.
const LEAST_ROOM: u64 = 100;
/// Tokens of the line before a part.
const LABEL: u64 = 8;
/// The smallest summary of a part that is asked for, in tokens, so that many of them can be merged at once.
const LEAST_SUMMARY: u64 = 400;
/// Attempts for a part whose answer is not a summary.
const ASKED: usize = 2;

/// What a model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCoverage {
    /// The rounds.
    pub rounds: RoundsRead,
    /// Those that `summary.input_chars` leaves out, or clips.
    pub beyond: u64,
    /// Whether the server truncated a prompt silently.
    pub cut: PromptCut,
}

/// A request.
#[derive(Debug, Clone, Default)]
pub(super) struct PartRequest {
    pub(super) prompt: String,
    pub(super) rounds: Vec<String>,
    /// The largest size of the answer, in tokens.
    pub(super) max_tokens: u64,
    /// Whether it requests the summary of everything, from the summaries of earlier parts and the last part itself.
    is_last: bool,
}

/// Summarises one conversation with a model, in parts if necessary.
pub(super) struct PartReader<'r> {
    pub(super) summary: &'r Summary,
    /// The tokens that the model reads at once; 0 = not known.
    pub(super) window: u64,
    pub(super) estimator: &'r Estimator,
    /// The size of the summary, in tokens.
    pub(super) size: u64,
    /// The policy's prompt for a summary of that size.
    pub(super) prompt: &'r dyn Fn(u64) -> String,
    /// What the summary of the whole conversation may name.
    pub(super) given: &'r Given,
    /// Sends a request; the answer may name what is in the second argument.
    pub(super) ask: &'r dyn Fn(&PartRequest, &Given) -> ModelReply,
}

/// The reply, the last request that led to it, and what was read for it.
pub(super) struct SummaryReply {
    pub(super) reply: ModelReply,
    pub(super) asked: PartRequest,
    pub(super) reading: ReadCoverage,
}

/// The outcome of a request.
enum Reply {
    /// A summary of what was sent.
    Summary(ModelReply),
    /// The window is smaller than assumed; contains the answer, if the prompt seems to have been truncated.
    Narrower(Option<ModelReply>),
    /// The answer to the request for the whole conversation did cover the whole of it after all.
    WholeAfterAll(ModelReply),
    Failed(ModelError),
}

/// A request that was sent, and what came of it.
struct SentPart {
    asked: PartRequest,
    /// How many rounds it tells.
    length: usize,
    heard: Reply,
}

/// What is learned while one conversation is read.
struct Progress<'r> {
    reader: &'r PartReader<'r>,
    /// The tokens that the model reads and writes at once, by our estimate.
    window: Option<u64>,
    /// What the server last said about it.
    why: String,
    counts: Counts,
    /// The answer to the whole conversation, while it is not known whether it was cut.
    whole: Option<ModelReply>,
    rounds: RoundsRead,
    attempts: u64,
    spent: Spent,
    model: Option<String>,
    left_out: BTreeSet<String>,
}

impl PartReader<'_> {
    /// Reads a conversation, in one part if it can be.
    pub(super) fn read(&self, rounds: Vec<String>) -> SummaryReply {
        let known = self.window;
        let all = rounds.len() as u64;
        let mut run = Progress {
            reader: self,
            window: (known > 0).then_some(known),
            why: String::new(),
            counts: Counts::default(),
            whole: None,
            rounds: RoundsRead {
                all,
                ..RoundsRead::default()
            },
            attempts: 0,
            spent: Spent::default(),
            model: None,
            left_out: BTreeSet::new(),
        };
        let (asked, result) = match run.all(rounds) {
            Ok((asked, reply)) => (asked, Ok(reply)),
            Err(error) => (PartRequest::default(), Err(error)),
        };
        let (ending, unread, counted, text) = match result {
            Ok(reply) => (reply.ending, reply.unread, reply.counted, reply.text),
            Err(error) => (Ending::Whole, 0, 0, Err(error)),
        };
        SummaryReply {
            reply: ModelReply {
                text,
                attempts: run.attempts,
                model: run.model,
                spent: run.spent,
                unread,
                ending,
                left_out: run.left_out,
                counted,
            },
            asked,
            reading: ReadCoverage {
                rounds: run.rounds,
                beyond: 0,
                cut: run.counts.cut(),
            },
        }
    }

    fn tokens(&self, text: &str) -> u64 {
        self.estimator.tokens(self.estimator.text(text))
    }

    /// The largest answer to a request for a summary of `size` tokens.
    fn max_tokens(&self, size: u64) -> u64 {
        (size as f64 * self.summary.output_factor).ceil() as u64
    }
}

impl Progress<'_> {
    fn all(&mut self, rounds: Vec<String>) -> Result<(PartRequest, ModelReply), ModelError> {
        let sizes: Vec<u64> = rounds.iter().map(|r| self.reader.tokens(r)).collect();
        let whole = PartRequest {
            prompt: (self.reader.prompt)(self.reader.size),
            rounds,
            max_tokens: self.reader.max_tokens(self.reader.size),
            is_last: false,
        };
        if !self.must_be_in_parts(&whole, sizes.iter().sum()) {
            match self.send(&whole, self.reader.given) {
                Reply::Summary(reply) | Reply::WholeAfterAll(reply) => {
                    let rounds = &mut self.rounds;
                    rounds.read = rounds.all.saturating_sub(reply.unread);
                    rounds.parts = 1;
                    return Ok((whole, reply));
                }
                Reply::Failed(error) => return Err(error),
                Reply::Narrower(answer) => self.whole = answer,
            }
        }
        self.in_parts(whole, &sizes)
    }

    /// Whether it is known that a request whose rounds have `rounds` tokens does not fit the window.
    fn must_be_in_parts(&self, whole: &PartRequest, rounds: u64) -> bool {
        let needed = self.sent(&whole.prompt, rounds) + whole.max_tokens;
        // If the policy drops rounds instead, the server says how many.
        self.window.is_some_and(|window| needed > window)
            && self.reader.summary.too_long == TooLong::Parts
            && self.reader.summary.drop_rounds == 0
    }

    /// Reads the rounds of `whole`, of these sizes, part by part.
    fn in_parts(
        &mut self,
        whole: PartRequest,
        sizes: &[u64],
    ) -> Result<(PartRequest, ModelReply), ModelError> {
        let mut answers = Vec::new();
        // All parts but one can be asked for at once, and answered later.
        let (mut parts, mut to_come) = (0, None);
        while (self.rounds.read as usize) < sizes.len() {
            let at = self.rounds.read as usize;
            let (rounds, sizes_left) = (&whole.rounds[at..], &sizes[at..]);
            let SentPart {
                asked,
                length,
                heard,
            } = match self.last(parts, sizes_left)? {
                // The last part needs all earlier answers.
                Some(_) if to_come.is_some() => break,
                Some(asked) => self.send_last(asked, parts, &answers, rounds),
                None => self.send_next(parts, rounds, sizes_left)?,
            };
            let end = (at + length) as u64;
            match heard {
                Reply::Summary(reply) => {
                    self.rounds.read = end;
                    self.rounds.parts += 1;
                    if asked.is_last {
                        return Ok((asked, reply));
                    }
                    parts += 1;
                    answers.push((asked, reply));
                }
                Reply::WholeAfterAll(reply) => {
                    self.rounds = RoundsRead {
                        read: sizes.len() as u64,
                        all: sizes.len() as u64,
                        parts: 1,
                        shortened: 0,
                    };
                    return Ok((whole, reply));
                }
                Reply::Narrower(_) => {}
                Reply::Failed(error) if error.is_to_come() && !asked.is_last => {
                    to_come.get_or_insert(error);
                    self.rounds.read = end;
                    parts += 1;
                }
                Reply::Failed(error) => return Err(error),
            }
        }
        self.whole = None;
        if let Some(error) = to_come {
            self.rounds.read = 0;
            return Err(error);
        }
        self.merged(answers)
    }

    /// Asks for the summary of all from those of `parts` earlier parts and these rounds, which are the last.
    fn send_last(
        &mut self,
        mut asked: PartRequest,
        parts: u64,
        answers: &[(PartRequest, ModelReply)],
        rounds: &[String],
    ) -> SentPart {
        asked.rounds = labelled_summaries(answers);
        asked
            .rounds
            .push(format!("[part {}, in full]\n", parts + 1));
        asked.rounds.extend(from_the_middle(rounds));
        let heard = self.send(&asked, self.reader.given);
        SentPart {
            asked,
            length: rounds.len(),
            heard,
        }
    }

    /// Asks for the summary of the next part, after `parts` earlier ones: of as many of these rounds as have room.
    fn send_next(
        &mut self,
        parts: u64,
        rounds: &[String],
        sizes: &[u64],
    ) -> Result<SentPart, ModelError> {
        let (mut asked, room, length) = self.part(parts, sizes)?;
        asked.rounds = from_the_middle(&rounds[..length]);
        let is_long = sizes[0] > room;
        if is_long {
            asked.rounds[0] = self.clamped(&asked.rounds[0], room);
        }
        let heard = self.send_part(&asked)?;
        if is_long && matches!(heard, Reply::Summary(_)) {
            self.rounds.shortened += 1;
        }
        Ok(SentPart {
            asked,
            length,
            heard,
        })
    }

    /// The request for the summary of everything from the summaries of `parts` earlier parts and the last rounds, which have these
    /// sizes; without its texts, and only if it fits. It saves a request that only merges.
    ///
    /// Where parts end depends on the room for their summaries, never on the actual summaries, so that a later run makes the same
    /// requests.
    fn last(&self, parts: u64, sizes: &[u64]) -> Result<Option<PartRequest>, ModelError> {
        if parts == 0 {
            return Ok(None);
        }
        let (mut asked, room) = self.request(of_last, self.reader.size)?;
        asked.is_last = true;
        let taken = parts * (asked.max_tokens + LABEL) + LABEL;
        let rest: u64 = sizes.iter().sum();
        Ok((rest.saturating_add(taken) <= room).then_some(asked))
    }

    /// The request for the next part, after `parts` earlier ones, without its rounds; the room for them in tokens; and how many of
    /// the rounds of these sizes it is to cover.
    fn part(&self, parts: u64, sizes: &[u64]) -> Result<(PartRequest, u64, usize), ModelError> {
        let (asked, room) = self.request(of_part, self.reader.size)?;
        let summary = asked.max_tokens + LABEL;
        let rest: u64 = sizes.iter().sum();
        let (_, last_room) = self.request(of_last, self.reader.size)?;
        let taken = parts * summary + LABEL + room.saturating_sub(last_room);
        if let Some(aim) = before_last(rest, room, taken, summary) {
            return Ok((asked, room, part_of(sizes, room, aim)));
        }
        // The number of parts, if they are merged from their summaries alone: all at once, if the summaries are short.
        let parts = rest.div_ceil(room) + parts;
        let most = (room / parts.max(1)) as f64 / self.reader.summary.output_factor.max(1.0);
        let (asked, room) = self.request(of_part, (most as u64).max(LEAST_SUMMARY))?;
        Ok((asked, room, first_part(sizes, room)))
    }

    /// Merges all parts into one summary, in as many steps as necessary.
    fn merged(
        &mut self,
        mut answers: Vec<(PartRequest, ModelReply)>,
    ) -> Result<(PartRequest, ModelReply), ModelError> {
        loop {
            if answers.len() < 2 {
                return answers.pop().ok_or_else(|| self.too_small());
            }
            let parts = labelled_summaries(&answers);
            let sizes: Vec<u64> = parts.iter().map(|p| self.reader.tokens(p)).collect();
            let before = answers.len();
            let window = self.window;
            let mut next = Vec::new();
            let mut to_come = None;
            let mut at = 0;
            while at < parts.len() {
                let (mut asked, room) = self.request(of_merge, self.reader.size)?;
                let end = at + first_part(&sizes[at..], room);
                if end - at == 1 {
                    next.push(answers[at].clone());
                    at = end;
                    continue;
                }
                let is_last = end - at == parts.len();
                asked.rounds = parts[at..end].to_vec();
                let heard = match is_last {
                    true => self.send(&asked, self.reader.given),
                    false => self.send_part(&asked)?,
                };
                match heard {
                    Reply::Summary(reply) | Reply::WholeAfterAll(reply) => {
                        next.push((asked, reply));
                        at = end;
                    }
                    Reply::Narrower(_) => {}
                    Reply::Failed(error) if error.is_to_come() => {
                        to_come.get_or_insert(error);
                        at = end;
                    }
                    Reply::Failed(error) => return Err(error),
                }
            }
            if let Some(error) = to_come {
                return Err(error);
            }
            if next.len() == before && self.window == window {
                return Err(self.too_small());
            }
            answers = next;
        }
    }

    /// A request for a summary of at most `largest` tokens without its rounds, and the room for them, in tokens.
    fn request(
        &self,
        told: fn(&str) -> String,
        largest: u64,
    ) -> Result<(PartRequest, u64), ModelError> {
        let reader = self.reader;
        let window = self.window.unwrap_or(u64::MAX);
        let longest = told(&(reader.prompt)(reader.size));
        let taken = self.sent(&longest, 0) + window / SPARE;
        let free = window.saturating_sub(taken);
        let most = (free / ANSWER) as f64 / reader.summary.output_factor.max(1.0);
        let size = reader.size.min(largest).min(most as u64);
        let prompt = told(&(reader.prompt)(size));
        let max_tokens = reader.max_tokens(size);
        let room = free.saturating_sub(max_tokens);
        if room < LEAST_ROOM {
            return Err(self.too_small());
        }
        let asked = PartRequest {
            prompt,
            rounds: Vec::new(),
            max_tokens,
            is_last: false,
        };
        Ok((asked, room))
    }

    fn too_small(&self) -> ModelError {
        let window = count(self.window.unwrap_or_default(), "token");
        let said = match self.why.as_str() {
            "" => String::new(),
            why => format!("; {why}"),
        };
        ModelError::Failed(format!(
            "the model's context window (about {window}) is too small to summarise the conversation even in parts{said}"
        ))
    }

    /// A round clamped to about this many tokens.
    fn clamped(&self, round: &str, room: u64) -> String {
        let mut short = round.to_owned();
        let mut most = round.len();
        loop {
            let tokens = self.reader.tokens(&short);
            if tokens <= room || most < 2 {
                return short;
            }
            let share = room as f64 / tokens as f64;
            most = (most as f64 * share * 0.9) as usize;
            short = clamped(round, most);
        }
    }

    /// The tokens of a request whose rounds have `rounds` tokens.
    fn sent(&self, prompt: &str, rounds: u64) -> u64 {
        self.reader.tokens(prompt) + rounds + AROUND
    }
}

/// The summaries of parts, with their numbers.
fn labelled_summaries(answers: &[(PartRequest, ModelReply)]) -> Vec<String> {
    let told = |(number, (_, reply)): (usize, &(PartRequest, ModelReply))| match &reply.text {
        Ok(text) => format!("[part {number}]\n{text}\n\n"),
        Err(_) => String::new(),
    };
    (1..).zip(answers).map(told).collect()
}

/// Rounds from the middle of a conversation.
fn from_the_middle(rounds: &[String]) -> Vec<String> {
    let mut rounds = rounds.to_vec();
    if let Some(first) = rounds.first_mut() {
        *first = begun(first).into_owned();
    }
    rounds
}

#[cfg(test)]
#[path = "chunked/tests.rs"]
mod tests;
