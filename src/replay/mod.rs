//! Runs a policy step by step over a recorded session, as a live agent would.
//!
//! A *step* is a model request. The messages before the next recorded answer are appended, the policy's layers run once, and the
//! window is sent. Then the recorded answer is appended, although a model might have answered the shorter history differently.
//! Messages after the last answer are appended and the layers run, but that is not counted as a request. An answer that the agent
//! itself wrote is not a request either.
//!
//! Some gates look back over the session: `trigger.offload_freed_below` (what this step's offloading freed),
//! `trigger.max_compactions` (summaries, and messages removed without one, since the last typed message) and `summary.breaker`
//! (consecutive failures; a success resets it; an attempt without a result is a failure). An aborted answer and a call for a
//! compaction force a summary as in `compact`, within the same gates. Summaries are scripted or extractive: no request is ever
//! sent.
//!
//! # Figures
//!
//! Policies count tokens in different ways, and one that counts fewer has not sent less. So each figure is given twice: in
//! `tokens`, counted by the default policy's estimator for all, to compare policies; and in `own`, in the timeline and in the
//! reasons, counted by the policy's own estimator, to compare with its threshold.
//!
//! | figure | what it is |
//! | --- | --- |
//! | `sent` | the tokens of all requests, added up |
//! | `cache_lost` | tokens of messages that were also in the previous request, but at or after the first difference, so that they were cached but could not be reused |
//! | `peak` | the largest request |
//! | `final` | the window at the end |
//!
//! PURE. The fields of the results are the JSON's keys, in its order.

mod gates;
mod plain;
mod play;
mod recording;
mod round;
mod totals;
mod window;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::outcome::{Examined, Find, ReadBack};
use crate::policy::Layer;

pub use play::{Player, Replayer};
pub use recording::{Answers, Recorded, Recording, recordings};
pub use totals::Totals;

/// The result for one input.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileReplay {
    /// Its sessions, in the order of the transcript.
    pub sessions: Vec<SessionReplay>,
}

impl ReadBack for Examined<FileReplay> {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

impl Find for FileReplay {
    fn status(&self) -> &'static str {
        "replayed"
    }

    fn weight(&self) -> u64 {
        self.sessions.iter().map(|session| session.whole.sent).sum()
    }

    fn parts(&self) -> usize {
        let policies = self.sessions.iter().flat_map(|session| &session.policies);
        policies.map(PolicyReplay::parts).sum()
    }
}

impl PolicyReplay {
    /// An estimate, see [`Find::parts`]. The sizes of requests, and turns, are small.
    fn parts(&self) -> usize {
        let events: usize = self.steps.iter().map(|step| step.events.len()).sum();
        1 + self.steps.len() + events + self.turns.len() / 4 + self.windows.len() / 32
    }
}

/// One session under all policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionReplay {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// Recorded messages.
    pub messages: u64,
    /// Of these, typed messages.
    pub turns: u64,
    /// Model requests.
    pub requests: u64,
    /// The cost without compaction.
    pub whole: Figures,
    /// The result of each policy, in the given order.
    pub policies: Vec<PolicyReplay>,
}

/// One session under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyReplay {
    /// The policy's name.
    pub policy: String,
    /// What was done.
    #[serde(flatten)]
    pub done: Done,
    /// Tokens by the estimator that is the same for all policies.
    pub tokens: Figures,
    /// Tokens by the policy's own estimator.
    pub own: Figures,
    /// The name of its estimator.
    pub estimator: Cow<'static, str>,
    /// The tokens above which it summarises, if it does.
    pub threshold: Option<u64>,
    /// The tokens of each request, as the policy counts them. Reports of older versions lack this field.
    #[serde(default)]
    pub windows: Vec<u64>,
    /// The turns, with the policy's token counts.
    pub turns: Vec<TurnReplay>,
    /// The steps at which something happened, with the policy's token counts.
    pub steps: Vec<Step>,
}

/// How often a policy acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {
    /// The number of summaries, and of times that messages were removed without one.
    pub compactions: u64,
    /// The number of times that no summary could be written.
    pub failures: u64,
    /// Results that were cleared, demoted or offloaded.
    pub edits: u64,
}

/// What a session costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Tokens of all requests.
    pub sent: u64,
    /// Tokens that a prompt cache held but could not serve.
    pub cache_lost: u64,
    /// Tokens of the largest request.
    pub peak: u64,
    /// Tokens at the end.
    #[serde(rename = "final")]
    pub last: u64,
}

/// One turn: from a typed message to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnReplay {
    /// Its number, from 1; 0 is the part before the first typed message.
    pub turn: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Model requests.
    pub requests: u64,
    /// Tokens of these requests.
    pub sent: u64,
    /// Tokens at its end.
    pub context: u64,
}

/// A step at which something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The number of the model request, from 1; one more than the last for what follows the last answer.
    pub request: u64,
    /// The number of its turn.
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

/// What a layer did or failed to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The layer.
    pub layer: Layer,
    /// Whether it did something.
    pub result: Verdict,
    /// The number of replaced results, summarised messages or restored files.
    pub count: u64,
    /// Tokens that this freed.
    pub freed: u64,
    /// Why.
    pub reason: String,
}

/// Whether a layer did what was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It did.
    Made,
    /// Messages were removed without a summary, because none could be written or it would have been too large.
    LeftOut,
    /// It could not.
    Failed,
    /// A gate prevented it; reported once for each gate.
    Held,
}
