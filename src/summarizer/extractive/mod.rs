//! The summary that needs no model: words of the transcript, each row with the line that it comes from.
//!
//! Nothing is invented: every path, name and number stands in the transcript; ours are the headings, the marks and a few
//! labels. Everything that could be told becomes a typed unit (`gather`); some kinds have a claim to a part of the
//! budget, and all compete for the rest by the names that nobody has told yet (`choose`).
//!
//! The form reads back ([`parse`]), so that a summary of a summary carries rows on instead of retelling them. The user's
//! words stand in it exactly as they were written, and a reader finds each message by a plain search: one of several
//! lines stands between fences, and every other text that has several is indented. So no text can pass for structure.
//!
//! Never reads more than it is given, and never needs longer than a few passes over the span.

mod carried;
mod choose;
mod clip;
mod entities;
mod facts_of;
mod focus;
mod form;
mod gather;
mod lines;
mod names;
mod queued;
mod requests;
mod span;
mod state;
mod units;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::facts::{Earlier, MessageOrigin};
use crate::ids::{IdMap, IdSet};
use crate::policy::{Policy, UserWords};
use crate::summarizer::input::whole_within;
use crate::tokens::Estimator;
use crate::transcript::{Conversation, Transcript};

use focus::Focus;
use gather::{Gather, Index};
use units::Units;

pub use form::{Mark, Parsed, Row, Section, parse};
pub use requests::is_put_there;

/// What a span of messages has to tell; summaries of any size are made of it.
#[derive(Debug)]
pub struct Extract {
    found: Units,
    user_message_max: u64,
}

/// A summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its text; empty where there is nothing to tell, or no room for it.
    pub text: String,
    /// The rows that the text consists of.
    pub rows: Vec<Row>,
    /// Messages of the user in the span whose words are all there.
    pub user_verbatim: u64,
    /// Messages of the user in the span of whose words only a part is there.
    pub user_clipped: u64,
    /// The tokens of the text.
    pub tokens: u64,
    /// The tokens that count against the budget: without the user's words where these stand outside of it.
    pub counted: u64,
}

/// What summaries are made of.
#[derive(Debug, Clone, Copy)]
pub struct Source<'s, 'a> {
    /// The transcript.
    pub transcript: &'s Transcript<'a>,
    /// The conversation in it.
    pub conversation: &'s Conversation,
    /// What each of its messages is to this compaction.
    pub origins: &'s [MessageOrigin],
    /// How earlier summaries begin.
    pub earlier: &'s Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// What a summary must keep; "" = nothing special.
    pub instructions: &'s str,
    /// Of this `[tools]`, and of `[summary]` the text, how much of the span is read, and how long a message of the user may
    /// be.
    pub policy: &'s Policy,
}

impl Extract {
    /// Gathers what the messages `span` of a conversation tell.
    ///
    /// Where the policy has a summariser read only so many characters, what is not whole within them is not told, but for
    /// the last message that a person typed.
    pub fn of(source: Source<'_, '_>, span: Range<usize>) -> Extract {
        Extract::gathered(source, span, |gather| gather.all())
    }

    /// Gathers the user's words alone: what a summary with 0 tokens tells of the span is all that this can be asked for.
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
            origins,
            earlier,
            first_line,
            instructions,
            policy,
        } = source;
        let read = whole_within(policy, transcript, conversation, span.start, span.end);
        let gather = Gather {
            transcript,
            conversation,
            origins,
            earlier,
            span: span.start..read,
            end: span.end,
            first_line,
            policy,
            focus: Focus::of(instructions),
            found: Units::default(),
            index: Index::default(),
            lines: IdSet::default(),
            said: IdSet::default(),
            files: IdMap::default(),
            known: IdSet::default(),
        };
        Extract {
            found: gathered(gather),
            user_message_max: policy.summary.user_message_max,
        }
    }

    /// A summary of no more than `tokens` tokens, besides what has to be told: with `UserWords::Verbatim` all words of the
    /// user, else the last message of the conversation that a person typed, if the span holds it; each of them up to
    /// `summary.user_message_max`. With 0 tokens it tells just these.
    pub fn summary(&self, tokens: u64, words: UserWords, estimator: &Estimator) -> Summary {
        choose::choose(self, tokens, words, estimator)
    }

    /// What the summary `told`, which somebody else wrote, leaves out and must not: the words that [`Extract::summary`]
    /// tells with 0 tokens, what is to be done, the files that were changed, and the last error.
    pub fn completing(&self, told: &str, words: UserWords, estimator: &Estimator) -> Summary {
        choose::complete(self, told, words, estimator)
    }
}

/// The paths, symbols, addresses, ids and figures in a text, each once, in its order.
pub fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    entities::scan(text, |_, name| {
        if seen.insert(name) {
            names.push(name);
        }
    });
    names
}

#[cfg(test)]
mod tests;
