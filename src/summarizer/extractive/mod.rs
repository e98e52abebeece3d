//! Summaries without a model: text of the transcript, each row with the line that it comes from.
//!
//! Nothing is invented: every path, name and number is in the transcript; only headings, marks and a few labels are ours. All
//! candidates become typed units (`gather`). Some kinds have a claim to a part of the budget, and all compete for the rest by
//! the names that are not covered yet (`choose`).
//!
//! The form can be read back ([`parse`]), so that a summary of a summary keeps its rows instead of rephrasing them. The user's
//! words are quoted exactly, so that a plain search finds each message: a message of several lines is between fences, and any
//! other text of several lines is indented. So no text can be mistaken for structure.
//!
//! Takes a few passes over the span.

mod chances;
mod choose;
mod clip;
mod command_ends;
mod command_units;
mod entities;
mod fact_units;
mod file_units;
mod focus;
mod form;
mod gather;
mod label;
mod left_out;
mod lines;
mod names;
mod prior_summary;
mod queued;
mod requests;
mod settings;
mod span;
mod state;
mod task_changes;
mod todo_units;
mod units;
mod weights;
mod words_in_results;

use std::cell::OnceCell;
use std::ops::Range;

use crate::facts::{Activity, Earlier, MessageOrigin};
use crate::ids::{IdMap, IdSet};
use crate::policy::{Policy, UserWords};
use crate::tokens::Estimator;
use crate::transcript::{Conversation, Transcript};

use choose::{Measured, Places};
pub(super) use entities::Class;
use focus::Focus;
pub(super) use form::write_unmarked;
use gather::{Gather, Index};
use units::Units;

pub use chances::FEATURES;
pub use form::{Mark, Parsed, Row, Section, as_prose, parse};
pub use left_out::left_out;
pub use weights::{Fold, HeldOut, NameWeights, UnitWeights, WEIGHTS, Weights};
pub use words_in_results::words_with_results;

/// The extract of a span of messages, from which summaries of any size are made.
#[derive(Debug)]
pub struct Extract {
    found: Units,
    /// The size of the source, in bytes.
    bytes: u64,
    weights: Weights,
    /// The number of messages, including those after the span.
    end: usize,
    user_message_max: u64,
    /// What is looked up in the text of each unit; computed on demand.
    places: Vec<OnceCell<Box<Places>>>,
    /// What is measured of the text of each unit; computed on demand.
    measured: Vec<OnceCell<Measured>>,
}

/// A summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractiveSummary {
    /// Its text; empty if there is no content or no room.
    pub text: String,
    /// The rows that the text consists of.
    pub rows: Vec<Row>,
    /// Typed messages in the span that are quoted in full.
    pub user_verbatim: u64,
    /// Typed messages in the span that are quoted in part.
    pub user_clipped: u64,
    /// The tokens of the text.
    pub tokens: u64,
    /// The tokens that count against the budget; without the user's words if these do not count.
    pub counted: u64,
}

/// The source of an extract.
#[derive(Debug, Clone, Copy)]
pub struct Source<'s, 'a> {
    /// The transcript.
    pub transcript: &'s Transcript<'a>,
    /// The conversation in it.
    pub conversation: &'s Conversation,
    /// What the agent did in it.
    pub acts: &'s Activity,
    /// Where each of its messages comes from.
    pub origins: &'s [MessageOrigin],
    /// Recognises earlier summaries.
    pub earlier: &'s Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// What a summary must keep; "" = nothing special.
    pub instructions: &'s str,
    /// The policy: `[tools]`, and in `[summary]` the text, and how long a quoted message may be.
    pub policy: &'s Policy,
    /// What units are worth.
    pub weights: &'s Weights,
}

impl Extract {
    /// Gathers the extract of the messages `span`: of all of them, since `summary.input_chars` limits only what a model is sent.
    pub fn of(source: Source<'_, '_>, span: Range<usize>) -> Extract {
        Extract::gathered(source, span, |gather| gather.all())
    }

    /// Gathers the user's words alone: enough for a summary of 0 tokens.
    pub fn words(source: Source<'_, '_>, span: Range<usize>) -> Extract {
        Extract::gathered(source, span, |gather| gather.words())
    }

    fn gathered(
        source: Source<'_, '_>,
        span: Range<usize>,
        gathered: impl FnOnce(Gather<'_, '_>) -> Units,
    ) -> Extract {
        let Source {
            transcript,
            conversation,
            acts,
            origins,
            earlier,
            first_line,
            instructions,
            policy,
            weights,
        } = source;
        let messages = &conversation.messages[span.clone()];
        let blocks = messages
            .iter()
            .flat_map(|message| conversation.blocks(message));
        let bytes = blocks
            .map(|block| u64::from(transcript.block(*block).content.len))
            .sum();
        let gather = Gather {
            transcript,
            conversation,
            acts,
            origins,
            earlier,
            span,
            first_line,
            policy,
            focus: Focus::of(instructions),
            found: Units::default(),
            index: Index::default(),
            lines: IdSet::default(),
            user_texts: IdSet::default(),
            files: IdMap::default(),
            known: IdSet::default(),
            ran: Vec::new(),
            weights,
            task_changes: task_changes::TaskChanges::default(),
            endings: OnceCell::new(),
        };
        let found = gathered(gather);
        Extract {
            places: found.units.iter().map(|_| OnceCell::new()).collect(),
            measured: vec![OnceCell::new(); found.units.len()],
            found,
            bytes,
            weights: *weights,
            end: conversation.messages.len(),
            user_message_max: policy.summary.user_message_max,
        }
    }

    /// A summary of at most `tokens` tokens, not counting what must be quoted: all typed messages with `UserWords::Verbatim`,
    /// otherwise the last typed message of the conversation if it is in the span; each up to `summary.user_message_max`. With 0
    /// tokens, it consists of these alone.
    pub fn summary(
        &self,
        tokens: u64,
        words: UserWords,
        estimator: &Estimator,
    ) -> ExtractiveSummary {
        choose::choose(self, None, tokens, words, estimator)
    }

    /// The rows to follow a `narrative` by another writer, which is not part of the result. Names in the narrative are already
    /// covered, and so is an earlier summary, which its writer has read.
    pub fn rows_after(
        &self,
        narrative: &str,
        tokens: u64,
        words: UserWords,
        estimator: &Estimator,
    ) -> ExtractiveSummary {
        choose::choose(self, Some(narrative), tokens, words, estimator)
    }
}

impl Extract {
    /// The features of each name of the span that is not mentioned after it, and whether it is one of `needed`: for fitting
    /// [`NameWeights`].
    #[doc(hidden)]
    pub fn labelled<'n>(
        &self,
        needed: impl Iterator<Item = &'n str>,
    ) -> Vec<([f64; FEATURES], bool)> {
        let names = &self.found.names;
        let mut is_needed = vec![Some(false); names.len()];
        for name in needed.filter_map(|name| names.find(name)) {
            is_needed[name as usize] = Some(true);
        }
        for name in &self.found.seen_after {
            is_needed[*name as usize] = None;
        }
        let features = chances::features(&self.found, self.end);
        let labelled = features.into_iter().zip(is_needed).zip(names.all());
        let labelled = labelled.filter(|(_, name)| name.messages > 0);
        labelled
            .filter_map(|((features, label), _)| Some((features, label?)))
            .collect()
    }
}

/// Calls `found` with each name in a text and what it refers to, in order, repeated ones included.
pub(super) fn named<'t>(text: &'t str, found: impl FnMut(Class, &'t str)) {
    entities::scan(text, found);
}

#[cfg(test)]
mod tests;
