//! The interfaces to what is outside of this program: a model, with the request for a summary and the reply, and the source of
//! instructions that is asked before a compaction.
//!
//! Data and traits, which are implemented where requests are sent and commands are run.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::outcome::Spent;
use crate::policy::Summary;
use crate::store::Store;
use crate::summarizer::gate::Given;

/// A request for one summary.
#[derive(Debug)]
pub struct ModelRequest<'q> {
    /// How often to try and how long to wait in between.
    pub policy: &'q Summary,
    /// What the model is instructed to do, in the policy's words.
    pub prompt: &'q str,
    /// The model's name; empty where neither a flag nor the transcript names one.
    pub model: &'q str,
    /// The conversation as text, in rounds, the oldest first. It is data from a transcript, never instructions.
    pub rounds: &'q [String],
    /// What the answer may name. An answer that is not a summary of it is not kept for later runs.
    pub given: &'q Given,
    /// The largest size of the answer, in tokens.
    pub max_tokens: u64,
    /// Names the input and the command that the summary is for. An answer that an interrupted run has paid for on behalf of the
    /// same requester, but has not reported, is reported as paid. `None`: every answer from the store costs nothing.
    pub requester: Option<&'q str>,
}

/// The result of a [`ModelRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The summary, or why there is none.
    pub text: Result<String, ModelError>,
    /// The number of requests that were made for it.
    pub attempts: u64,
    /// The model that answered, or that was named in the request.
    pub model: Option<String>,
    /// What the requests cost.
    pub spent: Spent,
    /// How many of the oldest rounds were left out because the prompt was too long for the model.
    pub unread: u64,
    /// How the summary ends.
    pub ending: Ending,
    /// Parameters of `summary.extra` that the server refused.
    pub left_out: BTreeSet<String>,
    /// How many tokens the server says that it has read for it; 0 = it does not say.
    pub counted: u64,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Where the model ended it.
    #[default]
    Whole,
    /// At its size limit.
    CutOff,
}

/// What is wrong with an answer that the policy rejects because of its ending.
pub const CUT_OFF: &str = "the answer was cut off at the output limit";
/// What is wrong with an answer that says nothing.
pub const EMPTY: &str = "the answer is empty";
/// The factor by which the output limit grows when a provider is asked again because its answer was cut off.
pub const MORE: u64 = 3;

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// Nothing was requested: a dry run sends no requests.
    Pending,
    /// It is requested together with others, and the answer comes later; contains what it waits for, for people.
    Waiting(String),
    /// The request failed; the reason, for people.
    Failed(String),
    /// The server accepts no request of this run, and has accepted none; the reason, for people.
    Refused(String),
    /// It is longer than the model can read.
    TooLong {
        /// The reason, for people.
        why: String,
        /// By how much, if the server says so.
        excess: Option<Excess>,
    },
}

impl ModelError {
    /// Whether the answer may come in a later run.
    pub fn is_to_come(&self) -> bool {
        match self {
            ModelError::Pending | ModelError::Waiting(_) => true,
            ModelError::Failed(_) | ModelError::Refused(_) | ModelError::TooLong { .. } => false,
        }
    }
}

/// By how much a prompt is too long, as a server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excess {
    /// Tokens of the prompt.
    pub prompt: u64,
    /// The most tokens that a prompt may have.
    pub limit: u64,
}

/// Asked before anything is compacted; may say what a summary must keep.
pub trait InstructionSource: Debug {
    /// What a summary must keep besides what the policy says; "" = nothing. `None`: nothing may be compacted. Gives the same answer
    /// however often it is called.
    fn instructions(&self) -> Option<&str>;
}

/// A model that writes summaries.
pub trait SummaryModel: Debug + Sync {
    /// Requests a summary and waits for it. Looks up answers in `store` first, and keeps new ones there.
    fn summarize(&self, request: &ModelRequest<'_>, store: Option<&Store>) -> ModelReply;

    /// Called at the end of a run, which now reports what it has paid: no later run reports the answers in this store again.
    fn settle(&self, store: &Store);
}
