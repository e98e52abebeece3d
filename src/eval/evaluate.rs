//! Cuts a session, compacts it by every method with every budget, and searches the results.

use std::path::Path;

use rayon::prelude::*;

use super::baselines::{KeptPassages, kept};
use super::candidate::{Budgeted, Candidate};
use super::cutting::Cutting;
use super::events::{Queued, events};
use super::index::Index;
use super::references::{References, Remains};
use super::rounds::{Losses, RoundScores, Stretches};
use super::segment::{
    CutPoint, Segment, bytes_of, folders, lines_before, nearest, places, segments,
};
use super::state::State;
use super::{Baseline, Budget, Cut, Kind, MethodScores, Scores, SessionEval, Skipped};
use crate::error::Result;
use crate::format::{Format, Warnings};
use crate::pipeline;
use crate::policy::{Encoding, Method, Per, Scope, Tokens, preset};
use crate::summarizer::extractive::{HeldOut, WEIGHTS, Weights};
use crate::text::floor_boundary;
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{Conversation, ConversationId, Transcript};

mod scoring;

/// Measures sessions.
#[derive(Debug)]
pub struct Evaluator<'p> {
    candidates: Vec<Candidate<'p>>,
    baselines: Vec<Baseline>,
    budgets: Vec<Budget>,
    cutting: Cutting,
    /// The weights for inputs in folds.
    held_out: Option<HeldOut>,
    /// The weights for all other inputs.
    weights: Weights,
    estimator: Estimator,
}

/// The data for measuring at one cut of a session.
struct At<'s> {
    place: CutPoint,
    /// The lines before it.
    bytes: Vec<u8>,
    /// The sizes of their blocks, which all policies share.
    sizes: Sizes,
    references: References,
    state: State<'s>,
    /// For each budget, the needed names that a sliding window does not contain.
    far: Vec<Vec<u32>>,
}

/// The result of a policy for an input.
struct Ran {
    scores: Scores,
    output: Vec<u8>,
    /// The readable text of the output.
    passages: Vec<String>,
}

/// A session with its index.
struct Session<'s, 'a> {
    format: Format,
    transcript: &'s Transcript<'a>,
    conversation: &'s Conversation,
    /// The sizes of its blocks.
    sizes: Sizes,
    weights: &'s Weights,
    index: Index,
    /// The tokens of each event.
    tokens: Vec<u64>,
}

impl<'p> Evaluator<'p> {
    /// An evaluator for these policies and baselines with these budgets (in percent of the tokens before a cut).
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn new(
        candidates: Vec<Candidate<'p>>,
        baselines: Vec<Baseline>,
        budgets: Vec<Budget>,
        cutting: Cutting,
    ) -> Result<Self> {
        let tokens = Tokens {
            method: Method::Bpe,
            encoding: Encoding::Cl100kBase,
            scope: Scope::Content,
            per: Per::Conversation,
            ..preset("")?.tokens
        };
        Ok(Evaluator {
            candidates,
            baselines,
            budgets,
            cutting,
            held_out: None,
            weights: WEIGHTS,
            estimator: Estimator::new(&tokens)?,
        })
    }

    /// Uses the weights of an input's fold for the built-in summary.
    #[must_use]
    pub fn held_out(self, held_out: Option<HeldOut>) -> Self {
        Evaluator { held_out, ..self }
    }

    /// Uses these weights for the built-in summary of inputs that are in no fold.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Evaluator { weights, ..self }
    }

    /// The weights for an input: those of its fold, otherwise those of the evaluator, which default to the shipped ones.
    pub fn weights(&self, input: &Path) -> &Weights {
        let fold = self.held_out.as_ref().and_then(|folds| folds.of(input));
        fold.unwrap_or(&self.weights)
    }

    /// Whether an input is in a fold.
    pub fn is_held_out(&self, input: &Path) -> bool {
        let mut folds = self.held_out.iter();
        folds.any(|folds| folds.of(input).is_some())
    }

    /// Measures the sessions of a transcript, with these `weights` for the built-in summary. `line` is the transcript's line number
    /// (from 1) if it is one line of a conversation-per-line file; `first_line` is the number of its first line in its file.
    pub fn evaluate(
        &self,
        format: Format,
        transcript: &Transcript<'_>,
        first_line: u64,
        line: Option<u64>,
        weights: &Weights,
    ) -> Vec<SessionEval> {
        let speaks = transcript.conversations.iter();
        if !speaks.clone().any(|c| !c.messages.is_empty()) {
            return Vec::new();
        }
        let segments = segments(format, transcript, first_line, line);
        if segments.is_empty() {
            let id = line.map_or(ConversationId::Main, ConversationId::Line);
            let nothing = SessionEval::skipped(id.to_string(), Skipped::CompactedFromTheStart);
            return vec![nothing];
        }
        segments
            .iter()
            .map(|segment| self.segment(segment, weights))
            .collect()
    }

    fn segment(&self, segment: &Segment, weights: &Weights) -> SessionEval {
        let mut warnings = Warnings::default();
        let transcript = segment.format.read(&segment.bytes, 1, &mut warnings);
        let mut session = SessionEval::skipped(segment.id.clone(), Skipped::NoCut);
        let Some(conversation) = transcript.conversations.first() else {
            return session;
        };
        let mut sizes = Sizes::new(self.estimator.clone());
        let growth = sizes.growth(&transcript, conversation);
        session.messages = conversation.messages.len() as u64;
        session.tokens = growth.last().copied().unwrap_or(0);
        let places = places(&transcript, conversation, &growth);
        let mut chosen: Vec<CutPoint> = Vec::new();
        for cut in self.cutting.percents() {
            let place = nearest(&places, cut, session.tokens);
            chosen.extend(place.filter(|place| !chosen.contains(place)));
        }
        if session.tokens < self.cutting.min_tokens {
            session.skipped = Some(Skipped::TooSmall);
            return session;
        }
        if chosen.is_empty() {
            return session;
        }
        if self.cutting.rounds > 0 {
            chosen.sort_by_key(|place| place.message);
        }
        session.skipped = None;
        let events = events(&transcript, conversation, Queued::Counted);
        let tokens = events.iter().map(|event| {
            let size = match event.block {
                Some(block) => sizes.block(&transcript, block),
                None => self.estimator.text(&event.text),
            };
            self.estimator.tokens(size)
        });
        let read = Session {
            format: segment.format,
            transcript: &transcript,
            conversation,
            tokens: tokens.collect(),
            sizes,
            weights,
            index: Index::new(events, folders(&segment.bytes)),
        };
        let cuts: Vec<At<'_>> = chosen
            .par_iter()
            .map(|place| self.at(&read, *place))
            .collect();
        session.cuts = cuts.iter().map(|at| at.cut(segment)).collect();
        if self.cutting.rounds == 0 {
            session.scores = self.scores(&read, &cuts);
        } else {
            let stretches = Stretches::of(segment.format, &transcript, conversation, &chosen);
            (session.scores, session.rounds) = self.rounds(&read, &cuts, &stretches);
        }
        session
    }

    /// The scores of each policy with each budget over all rounds, and round by round.
    fn rounds(
        &self,
        session: &Session<'_, '_>,
        cuts: &[At<'_>],
        stretches: &Stretches,
    ) -> (Vec<MethodScores>, Vec<RoundScores>) {
        let mut all = Vec::new();
        for budget in 0..self.budgets.len() {
            let candidates = self.candidates.iter();
            all.extend(candidates.map(|candidate| Budgeted { candidate, budget }));
        }
        let run = |one: &Budgeted<'_, '_>| {
            let of_one = |number: usize, input: pipeline::Input<'_, '_>| {
                let at = &cuts[number];
                let mut ran = self.ran(session, *one, at, input, None);
                // The summaries of this and earlier rounds also noted these numbers.
                let is_noted = |name: &String| {
                    let passed = cuts[..=number].iter();
                    passed
                        .map(|at| at.place.tokens.to_string())
                        .any(|tokens| tokens == *name)
                };
                ran.scores.examples.retain(|name| !is_noted(name));
                ran.scores.invented = ran.scores.examples.len() as u64;
                let round = self.round(session, *one, number, at, &ran);
                (round, ran.output)
            };
            let places: Vec<CutPoint> = cuts.iter().map(|at| at.place).collect();
            stretches.rounds(&places, session.weights, of_one)
        };
        let rounds: Vec<Vec<RoundScores>> = all.par_iter().with_max_len(1).map(run).collect();
        let scores = all.iter().zip(&rounds).map(|(one, rounds)| MethodScores {
            method: one.candidate.name.clone(),
            kind: Kind::Policy,
            budget: self.budget(*one),
            scores: Scores::mean(rounds.iter().map(|round| &round.scores)),
            intervals: None,
        });
        (scores.collect(), rounds.into_iter().flatten().collect())
    }

    fn budget(&self, one: Budgeted<'_, '_>) -> Budget {
        self.budgets[one.budget]
    }

    fn round(
        &self,
        session: &Session<'_, '_>,
        one: Budgeted<'_, '_>,
        number: usize,
        at: &At<'_>,
        ran: &Ran,
    ) -> RoundScores {
        let most = one.candidate.user_message_max;
        let is_short = |text: &str| self.estimator.tokens(self.estimator.text(text)) <= most;
        let remains = Remains::new(ran.passages.iter().map(AsRef::as_ref));
        let Losses {
            files,
            todos,
            sentences,
        } = Losses::of(&session.index, &at.references, &remains, is_short);
        RoundScores {
            round: number as u64 + 1,
            method: one.candidate.name.clone(),
            budget: self.budget(one),
            files,
            todos,
            sentences,
            scores: ran.scores.clone(),
        }
    }

    /// Prepares what to search for at a cut.
    fn at<'s>(&self, session: &'s Session<'_, '_>, place: CutPoint) -> At<'s> {
        let index = &session.index;
        let cut = index.event_of(place.message);
        let references = References::new(index, cut, |text| self.quoted(text));
        let far = |budget: &Budget| {
            // Without a budget, there is no window.
            if !Baseline::Window.works_with(*budget) {
                return Vec::new();
            }
            let window = self.kept(session, Baseline::Window, cut, budget.tokens(place.tokens));
            let seen = index.seen(window.passages.iter().map(AsRef::as_ref), cut);
            let needed = references.needed.iter().copied();
            needed.filter(|name| !seen.names.contains(name)).collect()
        };
        let lines = lines_before(session.transcript, session.conversation, place);
        let bytes = bytes_of(session.transcript, &lines);
        let part = session.format.read(&bytes, 1, &mut Warnings::default());
        let mut sizes = session.sizes.of_lines(session.transcript, &lines, &part);
        for conversation in &part.conversations {
            sizes.conversation(&part, conversation);
        }
        drop(part);
        At {
            place,
            bytes,
            sizes,
            far: self.budgets.iter().map(far).collect(),
            references,
            state: State::new(index, cut),
        }
    }

    /// The start and the end of a user message that must be quoted: the whole message, unless every policy may shorten it. Where a
    /// policy cuts depends on its token count, so only three quarters of the quotable text are required.
    fn quoted<'t>(&self, text: &'t str) -> [&'t str; 2] {
        let caps = self.candidates.iter().map(|one| one.user_message_max);
        let most = caps.max().unwrap_or(u64::MAX);
        // Every token has at least one byte.
        let tokens = match text.len() as u64 {
            bytes if bytes <= most => bytes,
            _ => self.estimator.tokens(self.estimator.text(text)),
        };
        if tokens <= most {
            return [text, ""];
        }
        let quoted = text.len() as f64 * most as f64 / tokens as f64;
        let [head, tail] = [quoted / 2.0, text.len() as f64 - quoted / 4.0];
        let [head, tail] = [head, tail].map(|at| floor_boundary(text, at as usize));
        [&text[..head], &text[tail..]]
    }

    fn kept<'s>(
        &self,
        session: &'s Session<'_, '_>,
        baseline: Baseline,
        cut: usize,
        budget: u64,
    ) -> KeptPassages<'s> {
        let events = &session.index.events[..cut];
        kept(
            baseline,
            events,
            &session.tokens[..cut],
            budget,
            &self.estimator,
        )
    }
}

impl At<'_> {
    fn cut(&self, segment: &Segment) -> Cut {
        let references = &self.references;
        Cut {
            message: self.place.message as u64 + 1,
            line: segment.lines[self.place.line as usize],
            tokens: self.place.tokens,
            need: references.needed.len() as u64,
            user: references.sentences.len() as u64,
            modified: references.changed.len() as u64,
            commands: references.commands.len() as u64,
            errors: references.errors.len() as u64,
        }
    }
}

impl SessionEval {
    /// A session that was not measured.
    fn skipped(id: String, why: Skipped) -> SessionEval {
        SessionEval {
            id,
            messages: 0,
            tokens: 0,
            skipped: Some(why),
            cuts: Vec::new(),
            scores: Vec::new(),
            rounds: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
