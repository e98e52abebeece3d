//! What happened to one conversation: its sizes, the edits with their reasons, the summary, the restored files.
//!
//! Plain data; never decides anything.

use std::ops::AddAssign;

use serde::Serialize;

use crate::policy::{Layer, TargetKind};
use crate::tokens::Usage;

/// What happened to one conversation of a transcript. Tokens and messages are those of its live window.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationOutcome {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// The name of the estimator that counted the tokens.
    pub estimator: String,
    /// What the provider counted, where the transcript recorded it.
    pub usage: Option<Usage>,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
    /// Messages before.
    pub messages_before: u64,
    /// Messages after.
    pub messages_after: u64,
    /// The tokens above which the policy summarises, if it does at all.
    pub threshold: Option<u64>,
    /// The cap that was asked for, if one was.
    pub target: Option<TargetOutcome>,
    /// Why it was summarised, or why not.
    pub reason: String,
    /// The edits, in the order of the transcript.
    pub actions: Vec<Action>,
    /// The summary, if one was tried.
    pub summary: Option<SummaryOutcome>,
    /// Files whose content was put back after the summary.
    pub restored: Vec<Restored>,
    /// Offloads of our own that no kept message names any more, cleaned up.
    pub deleted_files: Vec<String>,
}

impl ConversationOutcome {
    /// A conversation to which nothing was done.
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
            threshold: None,
            target: None,
            reason: String::new(),
            actions: Vec::new(),
            summary: None,
            restored: Vec::new(),
            deleted_files: Vec::new(),
        }
    }

    /// The same conversation with what is true of the input, and without what was done to it.
    #[must_use]
    pub fn left_alone(self) -> Self {
        ConversationOutcome {
            usage: self.usage,
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

/// How many live tokens a conversation was to have, and whether it has no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TargetOutcome {
    /// What was asked for, in tokens.
    pub tokens: u64,
    /// Whether it may be missed for the sake of the user's words.
    pub kind: TargetKind,
    /// Whether the result is within it.
    pub reached: bool,
    /// Why it is not, where it may be missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Missed>,
    /// The tokens that do not count in it: those of system messages, where it is an aim.
    #[serde(skip)]
    beside: u64,
}

/// Why an aim was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Missed {
    /// What the user typed stays.
    UserWords,
    /// A summary has its least room.
    SummaryRoom,
    /// The newest messages stay, or nothing may be summarised.
    KeptMessages,
}

impl Missed {
    /// One sentence.
    pub fn message(self) -> &'static str {
        match self {
            Missed::UserWords => {
                "over the policy's own target: typed messages stay whole, and --target would clip them"
            }
            Missed::SummaryRoom => {
                "over the policy's own target: the summary keeps its least room, and --target would not"
            }
            Missed::KeptMessages => {
                "over the policy's own target: the newest messages stay, or nothing may be summarised"
            }
        }
    }
}

impl TargetOutcome {
    /// What a result of `tokens_after` live tokens means for a cap of `tokens`.
    pub fn new(tokens: u64, tokens_after: u64) -> Self {
        TargetOutcome {
            tokens,
            kind: TargetKind::Cap,
            reached: tokens_after <= tokens,
            reason: None,
            beside: 0,
        }
    }

    /// The same for a target of this kind, in which so many tokens of the result do not count.
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
        TargetOutcome {
            reached,
            reason: self.reason.filter(|_| !reached),
            ..self
        }
    }

    /// The same, with the reason why it was missed, if it is an aim and was.
    #[must_use]
    pub fn because(self, reason: Missed) -> Self {
        let is_missed = self.kind == TargetKind::Aim && !self.reached;
        TargetOutcome {
            reason: is_missed.then_some(reason),
            ..self
        }
    }

    /// The live tokens of the whole conversation that are within it.
    pub fn cap(&self) -> u64 {
        self.tokens + self.beside
    }

    /// Whether somebody has to be told by the exit code: a cap is not kept to.
    pub fn is_broken(&self) -> bool {
        self.kind == TargetKind::Cap && !self.reached
    }
}

/// One edit, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Action {
    /// What was done.
    pub kind: ActionKind,
    /// The line of the input, from 1.
    pub line: u64,
    /// The message in the conversation, from 1.
    pub message: u64,
    /// The tool's name in the transcript, where the edit concerns a call or a result.
    pub tool: Option<String>,
    /// Why.
    pub reason: String,
    /// Tokens of what was edited, before.
    pub tokens_before: u64,
    /// Tokens of what stands there now.
    pub tokens_after: u64,
}

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionKind {
    /// Lines outside the live window left the output.
    Drop,
    /// An oversize output was written to the store; a preview stays.
    Demote,
    /// An old result's content became a placeholder.
    Clear,
    /// An old result was written to the store; its name stays.
    Offload,
    /// A span of messages became a summary.
    Summarize,
    /// A file's content was put back.
    Restore,
    /// Reasoning, calls or empty messages were removed because the summary failed.
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

/// How a summary came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SummaryOutcome {
    /// The name of the summariser that wrote it.
    pub source: String,
    /// The model, where one was asked.
    pub model: Option<String>,
    /// Whether a summary by `source` stands in the result.
    pub success: bool,
    /// Messages that it replaces.
    pub messages: u64,
    /// Messages that stay behind it.
    pub preserved_messages: u64,
    /// Its tokens.
    pub tokens: u64,
    /// How often a summary was asked for.
    pub attempts: u64,
    /// What was done instead, when it failed.
    pub fallback: Option<String>,
    /// Names and figures in it that the transcript does not have.
    pub invented: u64,
    /// Messages by which the cut moved so that no pair is split.
    pub cut_moved: u64,
    /// Typed messages kept verbatim in it.
    pub user_verbatim: u64,
    /// Typed messages that were clipped.
    pub user_clipped: u64,
    /// What asking a server took, where one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// What asking took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Spent {
    /// Requests that were sent.
    pub requests: u64,
    /// Answers that an earlier run had left in the store.
    pub cached: u64,
    /// Tokens that the provider counted in what it was sent.
    pub input_tokens: u64,
    /// Tokens that the provider counted in its answers.
    pub output_tokens: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.requests += other.requests;
        self.cached += other.cached;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

/// A file whose content was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// Its path as the transcript names it.
    pub path: String,
    /// Tokens that it takes.
    pub tokens: u64,
    /// Where the content came from.
    pub source: RestoredFrom,
}

/// Where a restored file's content came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RestoredFrom {
    /// The last read in the transcript, with the later edits.
    Transcript,
    /// The file under `--files-root`.
    Disk,
}
