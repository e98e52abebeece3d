//! What happened to one conversation: its sizes, the edits with their reasons, the summary, the restored files.
//!
//! Plain data; decides nothing.

use std::ops::{AddAssign, Sub};

use serde::{Deserialize, Serialize};

use super::RoleOutcome;
use crate::emit::Loss;
use crate::policy::{Layer, TargetKind};
use crate::tokens::{Usage, Voices};

/// Begins the part of a conversation's reason that says why there is no summary.
pub const NOT_SUMMARISED: &str = "not summarised: ";

/// What happened to one conversation of a transcript. Tokens and messages are those of its live window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversationOutcome {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// The name of the estimator that counted the tokens.
    pub estimator: String,
    /// What the provider counted, if the transcript recorded it.
    pub usage: Option<Usage>,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
    /// Messages before.
    pub messages_before: u64,
    /// Messages after.
    pub messages_after: u64,
    /// The tokens of each role that has any, in a fixed order; they add up to the totals before and after. Reports of older
    /// versions lack this field.
    #[serde(default)]
    pub roles: Vec<RoleOutcome>,
    /// The tokens above which the policy summarises, if it does at all.
    pub threshold: Option<u64>,
    /// The target, if there is one.
    pub target: Option<TargetOutcome>,
    /// Why it was summarised, or why not.
    pub reason: String,
    /// The edits, in the order of the transcript.
    pub actions: Vec<Action>,
    /// The summary, if one was tried.
    pub summary: Option<SummaryOutcome>,
    /// Files whose content was restored after the summary.
    pub restored: Vec<Restored>,
    /// Our offloaded files that were deleted because no kept message refers to them any more.
    pub deleted_files: Vec<String>,
    /// What was emitted, if messages were written instead of a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<EmittedOutcome>,
}

impl ConversationOutcome {
    /// A conversation that is left as it is.
    pub fn unchanged(
        id: impl Into<String>,
        estimator: impl Into<String>,
        tokens: u64,
        messages: u64,
    ) -> Self {
        ConversationOutcome {
            id: id.into(),
            estimator: estimator.into(),
            usage: None,
            tokens_before: tokens,
            tokens_after: tokens,
            messages_before: messages,
            messages_after: messages,
            roles: Vec::new(),
            threshold: None,
            target: None,
            reason: String::new(),
            actions: Vec::new(),
            summary: None,
            restored: Vec::new(),
            deleted_files: Vec::new(),
            emitted: None,
        }
    }

    /// Why there is no summary, in words, if one was due: the part of the reason that begins with [`NOT_SUMMARISED`].
    pub fn why_not_summarised(&self) -> Option<&str> {
        let at = self.reason.find(NOT_SUMMARISED)?;
        self.reason.get(at..)
    }

    /// The same conversation with these tokens.
    #[must_use]
    pub(crate) fn said_by(self, voices: &Voices) -> Self {
        let tokens = voices.total();
        ConversationOutcome {
            tokens_before: tokens,
            tokens_after: tokens,
            roles: RoleOutcome::unchanged(voices),
            ..self
        }
    }

    /// Records the current tokens.
    pub(crate) fn becomes(&mut self, voices: &Voices) {
        self.roles = RoleOutcome::become_of(&self.roles, voices);
        self.tokens_after = voices.total();
    }

    /// The same conversation as it was in the input, without anything done to it.
    #[must_use]
    pub fn left_alone(self) -> Self {
        ConversationOutcome {
            usage: self.usage,
            roles: RoleOutcome::left_alone(self.roles),
            threshold: self.threshold,
            target: self.target.map(|t| t.after(self.tokens_before)),
            reason: self.reason,
            ..ConversationOutcome::unchanged(
                self.id,
                self.estimator,
                self.tokens_before,
                self.messages_before,
            )
        }
    }
}

/// A conversation that was written as messages of a provider's API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmittedOutcome {
    /// The number of emitted messages; 0 if nothing was written.
    pub messages: u64,
    /// What the messages do not hold, by kind.
    pub losses: Vec<LossOutcome>,
}

/// How often something could not be emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LossOutcome {
    /// What it is.
    pub kind: Loss,
    /// How often.
    pub count: u64,
}

/// The target of a conversation in live tokens, and whether the result is within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TargetOutcome {
    /// The target, in tokens.
    pub tokens: u64,
    /// Whether it may be missed for the sake of the user's words.
    pub kind: TargetKind,
    /// Whether the result is within it.
    pub reached: bool,
    /// Why an aim was missed, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<MissReason>,
    /// The tokens that do not count: those of system messages for an aim, otherwise 0.
    #[serde(skip)]
    beside: u64,
}

/// Why an aim was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissReason {
    /// The user's typed words are kept.
    UserWords,
    /// A summary has its minimum size.
    SummaryRoom,
    /// The newest messages are kept, or nothing may be summarised.
    KeptMessages,
}

impl MissReason {
    /// One sentence.
    pub fn message(self) -> &'static str {
        match self {
            MissReason::UserWords => {
                "over the policy's own target: typed messages are kept whole, and --target would clip them"
            }
            MissReason::SummaryRoom => {
                "over the policy's own target: the summary keeps its smallest size, and --target would shrink it"
            }
            MissReason::KeptMessages => {
                "over the policy's own target: the newest messages are kept, or nothing may be summarised"
            }
        }
    }
}

impl TargetOutcome {
    /// The outcome of a cap of `tokens` for a result of `tokens_after` live tokens.
    pub fn new(tokens: u64, tokens_after: u64) -> Self {
        TargetOutcome {
            tokens,
            kind: TargetKind::Cap,
            reached: tokens_after <= tokens,
            reason: None,
            beside: 0,
        }
    }

    /// The same for a target of this kind, if `beside` tokens of the result do not count.
    #[must_use]
    pub fn of_kind(self, kind: TargetKind, beside: u64) -> Self {
        TargetOutcome {
            kind,
            beside,
            ..self
        }
    }

    /// The same target for a result of `tokens_after` live tokens.
    #[must_use]
    pub fn after(self, tokens_after: u64) -> Self {
        let reached = tokens_after.saturating_sub(self.beside) <= self.tokens;
        // If the result was discarded after it was settled (it broke a rule), the only reason is what stays.
        let is_missed = self.kind == TargetKind::Aim && !reached;
        let reason = self.reason.unwrap_or(MissReason::KeptMessages);
        TargetOutcome {
            reached,
            reason: is_missed.then_some(reason),
            ..self
        }
    }

    /// The same target with the reason why it was missed, if it is an aim and was missed.
    #[must_use]
    pub fn because(self, reason: MissReason) -> Self {
        let is_missed = self.kind == TargetKind::Aim && !self.reached;
        TargetOutcome {
            reason: is_missed.then_some(reason),
            ..self
        }
    }

    /// The maximum number of live tokens of the whole conversation within the target.
    pub fn cap(&self) -> u64 {
        self.tokens + self.beside
    }

    /// Whether the exit code reports it: a cap was exceeded.
    pub fn is_broken(&self) -> bool {
        self.kind == TargetKind::Cap && !self.reached
    }
}

/// One edit, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Action {
    /// What was done.
    pub kind: ActionKind,
    /// The line of the input, from 1.
    pub line: u64,
    /// The message in the conversation, from 1; 0 for lines outside of the live window.
    pub message: u64,
    /// The tool's name in the transcript, if the edit concerns a call or a result.
    pub tool: Option<String>,
    /// Why.
    pub reason: String,
    /// Tokens of the edited content in the input; for a summary, those of the messages that it replaced. The savings of all actions
    /// add up to the conversation's total saving, so this figure absorbs rounding differences.
    pub tokens_before: u64,
    /// Tokens of the new content.
    pub tokens_after: u64,
}

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionKind {
    /// The secrets of a conversation were masked.
    Redact,
    /// Lines outside the live window were removed.
    Drop,
    /// An oversize output was written to the store; a preview stays.
    Demote,
    /// An old result's content became a placeholder.
    Clear,
    /// An old result was written to the store; its name stays.
    Offload,
    /// A span of messages became a summary.
    Summarize,
    /// A file's content was restored.
    Restore,
    /// Messages, or parts of kept ones, were removed without a summary: it failed or would have been too large.
    Prune,
}

impl ActionKind {
    /// What a layer does to a result or a line.
    pub(crate) fn of(layer: Layer) -> Self {
        match layer {
            Layer::Drop => ActionKind::Drop,
            Layer::Superseded | Layer::Clear => ActionKind::Clear,
            Layer::Demote => ActionKind::Demote,
            Layer::Offload => ActionKind::Offload,
            Layer::Summarize => ActionKind::Summarize,
            Layer::Restore => ActionKind::Restore,
        }
    }
}

impl std::fmt::Display for ActionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ActionKind::Redact => "redact",
            ActionKind::Drop => "drop",
            ActionKind::Demote => "demote",
            ActionKind::Clear => "clear",
            ActionKind::Offload => "offload",
            ActionKind::Summarize => "summarize",
            ActionKind::Restore => "restore",
            ActionKind::Prune => "prune",
        })
    }
}

/// How a summary was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SummaryOutcome {
    /// The name of the summariser that the policy asks for.
    pub source: String,
    /// The model, if one was asked.
    pub model: Option<String>,
    /// Whether the result contains a summary by `source`.
    pub success: bool,
    /// Messages that it replaces.
    pub messages: u64,
    /// Messages that are kept after it.
    pub preserved_messages: u64,
    /// Its tokens.
    pub tokens: u64,
    /// The number of requests made for it.
    pub attempts: u64,
    /// What was done instead, if it failed.
    pub fallback: Option<String>,
    /// Why the requested model wrote no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Names in it that the transcript does not have.
    pub invented: u64,
    /// Sentences of a model's answer that were left out because they contain such names.
    #[serde(default)]
    pub sentences_dropped: u64,
    /// Messages by which the cut moved so that no pair is split.
    pub cut_moved: u64,
    /// Typed messages kept verbatim in it.
    pub user_verbatim: u64,
    /// Typed messages that were clipped.
    pub user_clipped: u64,
    /// How much of the conversation the model has read, if a server was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsRead>,
    /// Its narrative, if a model wrote one that rows follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrative: Option<Narrative>,
    /// What the requests cost, if a server was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// How much of a conversation a model has read. A round is a user message, or an answer with the results of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoundsRead {
    /// The rounds that the summary replaces.
    pub all: u64,
    /// Those that the model has read.
    pub read: u64,
    /// The number of parts in which they were sent, each in a request of its own.
    pub parts: u64,
    /// Rounds in which long outputs were sent only in part, with their beginnings and ends.
    pub shortened: u64,
}

/// The part of a summary that a model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Narrative {
    /// Its tokens.
    pub tokens: u64,
    /// Lines that it cites correctly.
    pub citations: u64,
    /// Citations of lines that were removed: there is no such line, or it does not contain what is cited.
    pub citations_removed: u64,
}

/// What requests to a server cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spent {
    /// Requests that were sent.
    pub requests: u64,
    /// Answers that were found in the store.
    pub cached: u64,
    /// Input tokens as the provider counted them.
    pub input_tokens: u64,
    /// Output tokens as the provider counted them.
    pub output_tokens: u64,
}

impl Spent {
    /// The cost of the same summaries once all of their answers are in the store.
    #[must_use]
    pub fn from_the_store(self) -> Self {
        Spent {
            cached: self.requests.saturating_add(self.cached),
            ..Spent::default()
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.requests = self.requests.saturating_add(other.requests);
        self.cached = self.cached.saturating_add(other.cached);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

impl Sub for Spent {
    type Output = Spent;

    /// The cost between two points in time: `self` is the later sum.
    fn sub(self, earlier: Spent) -> Spent {
        Spent {
            requests: self.requests.saturating_sub(earlier.requests),
            cached: self.cached.saturating_sub(earlier.cached),
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
        }
    }
}

/// A file whose content was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Restored {
    /// Its path as the transcript names it.
    pub path: String,
    /// Tokens of the restored content.
    pub tokens: u64,
    /// Where the content came from.
    pub source: RestoredFrom,
}

/// Where a restored file's content came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RestoredFrom {
    /// The last read in the transcript, with the later edits.
    Transcript,
    /// The file under `--files-root`.
    Disk,
}
