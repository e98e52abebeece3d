//! The policies to be measured: each with a pipeline for each budget.
//!
//! Sets only what makes policies comparable. PURE.

use super::Budget;
use crate::artifacts::Replies;
use crate::error::Result;
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::Policy;

/// A policy to be measured.
#[derive(Debug)]
pub struct Candidate<'p> {
    pub(super) name: String,
    /// The policy's own texts, such as how a summary begins.
    pub(super) words: String,
    /// One for each budget.
    pub(super) pipelines: Vec<Pipeline<'p>>,
    /// The maximum number of tokens of a user message that is quoted whole.
    pub(super) user_message_max: u64,
}

/// A policy with one of the budgets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budgeted<'c, 'p> {
    pub(super) candidate: &'c Candidate<'p>,
    /// The index of the budget.
    pub(super) budget: usize,
}

impl<'p> Candidate<'p> {
    /// The settings of a policy without a budget: its own, but that nothing is written.
    pub const OWN: [(&'static str, &'static str); 1] = [("archive", "never")];

    /// The settings of each policy with a budget, besides the budget: all count alike, and one with a summary reaches the budget by
    /// that, whenever it would summarise by itself.
    pub const FOR_BUDGETS: [(&'static str, &'static str); 6] = [
        ("tokens.method", "bpe"),
        ("tokens.encoding", "cl100k_base"),
        ("tokens.scope", "content"),
        ("tokens.per", "conversation"),
        ("archive", "never"),
        ("summary.when", "always"),
    ];

    /// The key that takes a budget.
    pub const BUDGET: &'static str = "target.percent";

    /// A policy in its form for each budget of its [`super::Evaluator`], with the answers of its scripted summariser. Without a
    /// budget it demotes and offloads as it would with a store; a budget is reached by a summary.
    ///
    /// # Errors
    /// If the policy asks for something that is not built in.
    pub fn new(
        name: String,
        of_budgets: impl Iterator<Item = (&'p Policy, Budget)>,
        replies: &Replies,
    ) -> Result<Self> {
        let mut words = String::new();
        let mut user_message_max = 0;
        let pipeline = |(policy, budget): (&'p Policy, Budget)| {
            words = words_of(policy)?;
            user_message_max = policy.summary.user_message_max;
            let keeping = match budget {
                Budget::Percent(_) => Keeping::Nothing,
                Budget::Own => Keeping::Store,
            };
            let pipeline = Pipeline::new(policy, keeping)?;
            Ok(pipeline.with_replies(replies.clone()))
        };
        let pipelines = of_budgets.map(pipeline).collect::<Result<_>>()?;
        Ok(Candidate {
            name,
            words,
            pipelines,
            user_message_max,
        })
    }
}

/// All values of a policy.
fn words_of(policy: &Policy) -> Result<String> {
    let mut words = String::new();
    for (_, value) in policy.keys()? {
        match value.as_str() {
            Some(text) => words.push_str(text),
            None => words.push_str(&value.to_string()),
        }
        words.push('\n');
    }
    Ok(words)
}
