//! A policy, turn by turn over a recorded session, as the live agent would have run it.
//!
//! A *step* is a model request: what came before the next recorded answer is appended, the policy's layers run once, and
//! what is there then is sent; the recorded answer is appended afterwards, whatever the model would have said to a shorter
//! history. What follows the last answer is appended, and the layers run on it, but nobody is known to have sent it. An
//! answer that the agent made up itself is no request.
//!
//! Gates that look back are kept for the whole session: `trigger.offload_freed_below` (against what this step's offload
//! freed), `trigger.max_compactions` (summaries that were made, and messages that left without one) and `summary.breaker`
//! (failures in a row; a success begins anew; an attempt that comes to nothing is a failure). An answer that broke off and a
//! call for a compaction force a summary as in `compact`, behind the same gates. Summaries are scripted or extractive: no
//! request is ever made.
//!
//! # Figures
//!
//! Policies count in their own ways, and a policy that counts less has not sent less. So each figure is there twice: in
//! `tokens` all are counted by the default policy's estimator, and can be compared; in `own`, in the timeline and in the
//! reasons they are counted as the policy does, and can be held against its threshold.
//!
//! | figure | what it is |
//! | --- | --- |
//! | `sent` | the tokens of all requests, added up |
//! | `cache_lost` | of a request's tokens, those of messages that the request before held, too, and that stand at or behind the first message that differs from it: a prompt cache had them, and was no use |
//! | `peak` | the largest request |
//! | `final` | what is there at the end |
//!
//! PURE. The fields of what comes of it are the JSON's keys, in its order.

mod gates;
mod play;
mod recording;
mod round;
mod totals;
mod window;

use serde::Serialize;

use crate::outcome::Find;
use crate::policy::Layer;

pub use play::{Player, Replaying};
pub use recording::{Answers, Recorded, Recording, recordings};
pub use totals::Totals;

/// What came of one input.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FileReplay {
    /// Its sessions, in the order of the transcript.
    pub sessions: Vec<SessionReplay>,
}

impl Find for FileReplay {
    fn status(&self) -> &'static str {
        "replayed"
    }
}

/// One session under all policies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionReplay {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// Messages that were recorded.
    pub messages: u64,
    /// Of these, those that a person typed.
    pub turns: u64,
    /// Model requests.
    pub requests: u64,
    /// What it comes to where nothing is taken out.
    pub whole: Figures,
    /// What comes of each policy, in the order in which they were given.
    pub policies: Vec<PolicyReplay>,
}

/// One session under one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyReplay {
    /// The policy's name.
    pub policy: String,
    /// What was done.
    #[serde(flatten)]
    pub done: Done,
    /// Tokens, counted alike for all policies.
    pub tokens: Figures,
    /// Tokens as the policy counts them.
    pub own: Figures,
    /// The name of its estimator.
    pub estimator: &'static str,
    /// The tokens above which it summarises, if it does at all.
    pub threshold: Option<u64>,
    /// The turns, as the policy counts.
    pub turns: Vec<TurnReplay>,
    /// The steps at which something happened, as the policy counts.
    pub steps: Vec<Step>,
}

/// How often a policy did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Done {
    /// Summaries, and messages that left without one.
    pub compactions: u64,
    /// Times that no summary could be had.
    pub failures: u64,
    /// Results that were cleared, demoted or offloaded.
    pub edits: u64,
}

/// What a session costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Figures {
    /// Tokens of all requests.
    pub sent: u64,
    /// Tokens that a prompt cache had and could not give.
    pub cache_lost: u64,
    /// Tokens of the largest request.
    pub peak: u64,
    /// Tokens at the end.
    #[serde(rename = "final")]
    pub last: u64,
}

/// One turn: from a typed message to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnReplay {
    /// Its number, from 1; 0 is what stands before the first typed message.
    pub turn: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Model requests.
    pub requests: u64,
    /// Tokens of these.
    pub sent: u64,
    /// Tokens at its end.
    pub context: u64,
}

/// A step at which something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The model request, from 1; one more than there are for what follows the last answer.
    pub request: u64,
    /// The turn that it is a part of.
    pub turn: u64,
    /// The line of the newest message in it, from 1.
    pub line: u64,
    /// Tokens before the layers ran.
    pub before: u64,
    /// Tokens afterwards.
    pub after: u64,
    /// What happened, in the order of the layers.
    pub events: Vec<Event>,
}

/// What a layer did, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The layer.
    pub layer: Layer,
    /// Whether it did.
    pub result: Verdict,
    /// Results that were replaced, messages that were summarised, files that were put back.
    pub count: u64,
    /// Tokens that this freed.
    pub freed: u64,
    /// Why.
    pub reason: String,
}

/// Whether a layer did what it was to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It did.
    Made,
    /// The messages left without a summary: none could be had, or it would have been too large.
    LeftOut,
    /// It could not.
    Failed,
    /// A gate held it back; said once for each gate.
    Held,
}
