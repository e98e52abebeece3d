//! `[window]`, `[trigger]`, `[target]`: when `summarize` runs and how small the result may be; and the threshold that
//! follows from them.
//!
//! Plain arithmetic of keys: never looks at a conversation.

use serde::{Deserialize, Serialize};

use super::choice::choice;
use super::{Layer, Policy};

/// `[window]`: the model's context window. All in tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The whole window. 200 000 in most systems, 64 000 in the turn-based one.
    pub context: u64,
    /// What the model may write in one answer. 16 384 in `layered`.
    pub max_output: u64,
    /// At most this much of `max_output` is kept free; 0 = all of it.
    ///
    /// 20 000 in `layered`, so that a model with a very large output does not trigger too early.
    pub output_cap: u64,
    /// Kept free for the system prompt, tool schemas and what else is not in the transcript. 13 000 in `layered`.
    pub buffer: u64,
}

/// `[trigger]`: when `summarize` runs. Skipped where `summary.when` is `always`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// What the threshold is computed from.
    pub on: TriggerOn,
    /// The threshold in live tokens, for [`TriggerOn::Tokens`]; 0 = none.
    ///
    /// 20 000 in `auto`: sessions that agents keep hold 15 000 to 60 000, so that a threshold near the window's limit
    /// would never be met.
    pub tokens: u64,
    /// The threshold as a share of `window.context`, 0 to 1, for [`TriggerOn::Share`]; 0 = none.
    pub share: f64,
    /// Whether the threshold itself is already enough.
    pub compare: Compare,
    /// The threshold is at most this share, 0 to 1, of `window.context` − `window.max_output`; 0 = no cap.
    pub cap_share: f64,
    /// Tokens outside the kept tail: at least this many, or there is too little to gain.
    ///
    /// 20 000 in `layered`: a conversation whose weight is in its newest messages is not worth a summary.
    pub min_savings: u64,
    /// Summarise only if the last offload freed fewer tokens than this; 0 = whatever it freed. Read by `replay` only:
    /// `compact` repeats the offload until it frees nothing.
    pub offload_freed_below: u64,
    /// Compactions of one session; 0 = no limit. Read by `replay` only.
    pub max_compactions: u64,
    /// A call of this tool forces a summary after its result, with its input `focus` as instructions; "" = none.
    pub manual_tool: String,
    /// The last recorded finish reasons that force a summary.
    pub force_on_finish: Vec<String>,
    /// Conversations that are left alone.
    pub skip: Vec<Skip>,
}

choice! {
    /// `trigger.on`: what the threshold is computed from.
    TriggerOn {
        /// `trigger.tokens`.
        Tokens = "tokens",
        /// `trigger.share` of `window.context`.
        Share = "share",
        /// What `window.context` leaves after `max_output` (capped) and `buffer`.
        Window = "window",
    }
}

choice! {
    /// `trigger.compare`: whether the threshold itself is already enough.
    Compare {
        /// Only more than the threshold is enough.
        Over = ">",
        /// The threshold itself is enough.
        AtLeast = ">=",
    }
}

impl Compare {
    /// Whether `tokens` are enough for `threshold`.
    pub fn holds(self, tokens: u64, threshold: u64) -> bool {
        match self {
            Compare::Over => tokens > threshold,
            Compare::AtLeast => tokens >= threshold,
        }
    }
}

choice! {
    /// `trigger.skip`: a conversation that is itself an agent's query about a conversation.
    Skip {
        /// A request for a summary.
        Compaction = "compaction",
        /// A request for notes to remember.
        SessionMemory = "session_memory",
    }
}

/// `[target]`: how many live tokens the result may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// In tokens; 0 = no target. 10 000 in `auto`: half of its trigger.
    pub tokens: u64,
    /// In percent, 0 to 100, of the live tokens before anything was compacted; wins over `tokens` when above 0. A summary
    /// and the store's record note how many these were, so that the same command again changes nothing.
    pub percent: f64,
    /// What may be given up to reach it. A file, flag or variable that sets one of the keys above sets this to `cap`,
    /// unless it also sets this key itself.
    pub kind: TargetKind,
}

choice! {
    /// `target.kind`: what may be given up to reach the target.
    TargetKind {
        /// Typed messages and the least room of a summary are not; system lines do not count.
        Aim = "aim",
        /// Everything that validity allows; system lines count.
        Cap = "cap",
    }
}

impl Target {
    /// The tokens that are asked for in a conversation of so many live tokens, if any are.
    pub fn asked(&self, original: u64) -> Option<u64> {
        if self.is_share() {
            return Some(share_of(self.percent / 100.0, original));
        }
        (self.tokens > 0).then_some(self.tokens)
    }

    /// Whether it is a share of what the original has.
    pub fn is_share(&self) -> bool {
        self.percent > 0.0
    }
}

impl Window {
    /// What is kept free for the model's answer.
    pub fn output_reserve(&self) -> u64 {
        match self.output_cap {
            0 => self.max_output,
            cap => self.max_output.min(cap),
        }
    }
}

impl Policy {
    /// The live tokens that [`Trigger::compare`] holds against a conversation, or `None` where no number of tokens
    /// would make this policy summarise: the layer is off, or the keys concerned are 0.
    ///
    /// `summary.when` is not looked at: the threshold is the same number whether or not it is asked.
    pub fn threshold(&self) -> Option<u64> {
        if !self.has(Layer::Summarize) {
            return None;
        }
        let (trigger, window) = (&self.trigger, &self.window);
        let rule = match trigger.on {
            TriggerOn::Tokens => trigger.tokens,
            TriggerOn::Share => share_of(trigger.share, window.context),
            TriggerOn::Window => window
                .context
                .saturating_sub(window.output_reserve())
                .saturating_sub(window.buffer),
        };
        let cap = share_of(
            trigger.cap_share,
            window.context.saturating_sub(window.max_output),
        );
        [rule, cap].into_iter().filter(|&tokens| tokens > 0).min()
    }
}

/// The whole tokens in a share; the published systems compute this in the same floating-point steps.
pub(super) fn share_of(share: f64, tokens: u64) -> u64 {
    (share * tokens as f64).floor() as u64
}
