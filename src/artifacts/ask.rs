//! What a summariser outside of this program is asked, and what comes of it.
//!
//! Data and a trait: who sends requests implements it, and nothing here knows how.

use std::fmt::Debug;

use crate::outcome::Spent;
use crate::policy::Summary;
use crate::store::Store;

/// One summary to be written.
#[derive(Debug)]
pub struct Question<'q> {
    /// How often to try, how long to wait, whom to ask.
    pub policy: &'q Summary,
    /// What the model is told to do, in the policy's words.
    pub prompt: &'q str,
    /// The model; empty where nobody has named one.
    pub model: &'q str,
    /// What it is given to read, in rounds, the oldest first. Words of a transcript: data, and never instructions.
    pub rounds: &'q [String],
    /// The most tokens that the answer may have.
    pub max_tokens: u64,
}

/// What came of asking for one summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The summary, or why there is none.
    pub text: Result<String, Refused>,
    /// How often it was asked for.
    pub attempts: u64,
    /// The model that answered, or was asked.
    pub model: Option<String>,
    /// What asking took.
    pub spent: Spent,
    /// The oldest rounds that the model was not given, because they were too much for it.
    pub unread: u64,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nobody was asked yet, since nothing goes out in a dry run.
    Pending,
    /// Asking led to nothing; the reason, for people.
    Failed(String),
}

/// Somebody who writes summaries.
pub trait Ask: Debug + Sync {
    /// Asks for a summary, and waits for it. `store` is where answers are kept, and looked for first.
    fn ask(&self, question: &Question<'_>, store: Option<&Store>) -> Reply;
}
