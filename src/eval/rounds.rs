//! A session that is compacted several times in a row: each round compacts the result of the last one together with the next
//! stretch of the session, as an agent that continues from the result would have it.
//!
//! A round is scored like a cut, against the whole session before it, and its budget is a share of all tokens before it. Besides
//! the shares, things that must never be lost are counted individually: changed files, open to-dos, and sentences of the user in
//! messages short enough to be quoted whole.
//!
//! Rounds end where the lines of the session cannot follow an output because they refer to lines that no longer exist.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::events::EventKind;
use super::index::Index;
use super::open::open;
use super::references::{References, Remains, in_one_line, sentences_of};
use super::scores::ScoreSums;
use super::segment::{CutPoint, bytes_of, lines_before};
use super::sought::PatternSet;
use super::{Budget, Scores, SessionEval};
use crate::format::{Format, Warnings};
use crate::ids::IdSet;
use crate::pipeline::{Input, Part, Stored};
use crate::summarizer::extractive::Weights;
use crate::transcript::{Conversation, Transcript};

/// The scores of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundScores {
    /// The number of the round, from 1.
    pub round: u64,
    /// The name of the policy.
    pub method: String,
    /// How much it could keep.
    pub budget: Budget,
    /// Files that were changed before.
    pub files: Kept,
    /// To-dos that are open.
    pub todos: Kept,
    /// Sentences of the user, except those of messages that are too long to be quoted whole.
    pub sentences: Kept,
    /// Its scores.
    #[serde(flatten)]
    pub scores: Scores,
}

/// The number of things and how many of them were kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The total number.
    pub of: u64,
    /// The number that was kept.
    pub kept: u64,
    /// The first of those that were lost.
    pub lost: Vec<String>,
}

/// The maximum number of lost things in a report.
const EXAMPLES: usize = 10;

impl Kept {
    fn of(all: BTreeSet<String>, text: &str) -> Kept {
        let sought = PatternSet::new(all.iter().cloned());
        let found = sought.found_in(text.as_bytes());
        let kept = found.iter().filter(|found| **found).count();
        let lost = all.into_iter().zip(found).filter(|(_, found)| !found);
        Kept {
            of: sought.len() as u64,
            kept: kept as u64,
            lost: lost.map(|(thing, _)| thing).take(EXAMPLES).collect(),
        }
    }

    fn add(&mut self, other: &Kept) {
        self.of += other.of;
        self.kept += other.kept;
        self.lost.extend(other.lost.iter().cloned());
        self.lost.truncate(EXAMPLES);
    }
}

/// A session as a chain of inputs.
pub(super) struct Stretches {
    format: Format,
    /// For each round, the lines of the session that it adds.
    added: Vec<Vec<u8>>,
}

impl Stretches {
    /// Splits a session into stretches between these places, in its own format.
    pub(super) fn of(
        format: Format,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        places: &[CutPoint],
    ) -> Stretches {
        let mut taken: IdSet<u32> = IdSet::default();
        let added = places.iter().map(|place| {
            let mut lines = lines_before(transcript, conversation, *place);
            lines.retain(|line| taken.insert(*line));
            bytes_of(transcript, &lines)
        });
        Stretches {
            format,
            added: added.collect(),
        }
    }
}

impl Stretches {
    /// Compacts the stretches in turn, up to the first output that the session's lines cannot follow. `one` receives the number of
    /// a round, from 0, and its input; it returns the scores and the output.
    pub(super) fn rounds(
        &self,
        places: &[CutPoint],
        weights: &Weights,
        one: impl Fn(usize, Input<'_, '_>) -> (RoundScores, Vec<u8>),
    ) -> Vec<RoundScores> {
        let format = self.format;
        let mut rounds = Vec::new();
        let mut bytes: Vec<u8> = Vec::new();
        // The number of messages in the last output, and of the session's messages that it replaces.
        let (mut left, mut passed) = (0, 0);
        for (number, (place, added)) in places.iter().zip(&self.added).enumerate() {
            bytes.extend_from_slice(added);
            let new = place.message - passed;
            let Some((id, _)) = only(format, &bytes).filter(|(_, n)| *n == left + new) else {
                break;
            };
            let originals = BTreeMap::from([(id, place.tokens)]);
            let input = Input {
                format,
                bytes: &bytes,
                first_line: 1,
                part: Part::File,
                stored: Stored {
                    originals: Some(&originals),
                    ..Stored::default()
                },
                instruction_source: None,
                strings: &crate::scan::NO_STRINGS,
                weights,
            };
            let (round, output) = one(number, input);
            rounds.push(round);
            bytes = output;
            let Some((_, messages)) = only(format, &bytes) else {
                break;
            };
            (left, passed) = (messages, place.message);
        }
        rounds
    }
}

/// What must never be lost, and how much of it was kept.
pub(super) struct Losses {
    pub(super) files: Kept,
    pub(super) todos: Kept,
    pub(super) sentences: Kept,
}

impl Losses {
    /// The losses of a text that stands for the part before a cut. `is_short` states whether a user message can be quoted whole.
    pub(super) fn of(
        index: &Index,
        references: &References,
        remains: &Remains,
        is_short: impl Fn(&str) -> bool,
    ) -> Losses {
        let typed = index.events[..references.cut]
            .iter()
            .filter(|event| match event.what {
                EventKind::User => is_short(&event.text),
                EventKind::Agent
                | EventKind::Call { .. }
                | EventKind::Result { .. }
                | EventKind::Notice => false,
            });
        let sentences = typed.flat_map(|event| sentences_of(&event.text)).collect();
        let changed = references.changed.texts().map(str::to_owned).collect();
        let todos = open(index, references.cut).into_iter().collect();
        Losses {
            files: Kept::of(changed, remains.text()),
            todos: Kept::of(todos, &in_one_line(remains.text())),
            sentences: Kept::of(sentences, remains.text()),
        }
    }
}

/// The id of the only conversation of a transcript, and the number of its messages.
fn only(format: Format, bytes: &[u8]) -> Option<(String, usize)> {
    let transcript = format.read(bytes, 1, &mut Warnings::default());
    match &transcript.conversations[..] {
        [only] => Some((only.id.to_string(), only.messages.len())),
        _ => None,
    }
}

/// The rounds of sessions that are added up one by one.
#[derive(Debug, Default)]
pub(super) struct RoundSums {
    /// In the order in which they were first seen.
    all: Vec<RoundSum>,
}

/// A round of a method with a budget.
#[derive(Debug)]
struct RoundSum {
    round: u64,
    method: String,
    budget: Budget,
    files: Kept,
    todos: Kept,
    sentences: Kept,
    scores: ScoreSums,
}

impl RoundSums {
    pub(super) fn add(&mut self, session: &SessionEval) {
        for round in &session.rounds {
            let key = (&round.method[..], round.budget, round.round);
            let is_it = |sum: &RoundSum| (&sum.method[..], sum.budget, sum.round) == key;
            let at = self.all.iter().position(is_it).unwrap_or_else(|| {
                self.all.push(RoundSum {
                    round: round.round,
                    method: round.method.clone(),
                    budget: round.budget,
                    files: Kept::default(),
                    todos: Kept::default(),
                    sentences: Kept::default(),
                    scores: ScoreSums::default(),
                });
                self.all.len() - 1
            });
            let sum = &mut self.all[at];
            sum.files.add(&round.files);
            sum.todos.add(&round.todos);
            sum.sentences.add(&round.sentences);
            sum.scores.add(&round.scores);
        }
    }

    /// The means of each round over the sessions that have it, and the sums of what they kept.
    pub(super) fn means(self) -> Vec<RoundScores> {
        let mean = |sum: RoundSum| RoundScores {
            round: sum.round,
            method: sum.method,
            budget: sum.budget,
            files: sum.files,
            todos: sum.todos,
            sentences: sum.sentences,
            scores: sum.scores.mean(),
        };
        let mut means: Vec<RoundScores> = self.all.into_iter().map(mean).collect();
        // A session with more rounds may come after one with fewer.
        means.sort_by_key(|mean| mean.round);
        let first: Vec<(String, Budget)> = means
            .iter()
            .filter(|mean| mean.round == 1)
            .map(|mean| (mean.method.clone(), mean.budget))
            .collect();
        let place = |mean: &RoundScores| {
            let is_it = |(method, budget): &(String, Budget)| {
                (method, budget) == (&mean.method, &mean.budget)
            };
            first.iter().position(is_it)
        };
        means.sort_by_key(place);
        means
    }
}
