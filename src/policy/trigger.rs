//! `[window]`, `[trigger]`, `[target]`: when `summarize` runs, how small the result must be, and the resulting threshold.
//!
//! Arithmetic of keys only: never looks at a conversation.

use super::Policy;
use super::choice::choice;
use super::key::table;
use super::layer::Layer;

table! {
    /// The model's context window.
    "window" Window {
        /// The whole window.
        context: u64 = 200_000, unit("tokens");
        /// The longest answer of the model.
        max_output: u64 = 16_384, unit("tokens");
        /// No more than this is reserved for the answer; 0 means all of `window.max_output`.
        ///
        /// Otherwise a model with a very long answer would trigger too early.
        output_cap: u64 = 20_000, unit("tokens");
        /// Reserved for the system prompt, tool schemas and whatever else the transcript does not contain.
        buffer: u64 = 13_000, unit("tokens");
    }
}

table! {
    /// When the layer `summarize` runs. Not consulted if `summary.when` is "always".
    "trigger" Trigger {
        /// What the threshold is computed from.
        on: TriggerOn = TriggerOn::Tokens;
        /// A conversation with more tokens than this is summarised, if `trigger.on` is "tokens"; 0 means never.
        ///
        /// The sessions that agents store have 15 000 to 60 000 tokens, so a threshold near the window's limit would never be
        /// reached.
        tokens: u64 = 20_000, unit("tokens"), common();
        /// The threshold as a share of `window.context`, if `trigger.on` is "share"; 0 means none.
        share: f64 = 0.0, share();
        /// Whether the threshold itself is enough.
        compare: Compare = Compare::Over;
        /// The threshold is at most this share of `window.context` − `window.max_output`; 0 means no cap.
        cap_share: f64 = 0.0, share();
        /// A conversation is summarised only if at least this many tokens are in messages that would not be kept.
        ///
        /// A conversation whose tokens are mostly in its newest messages is not worth a summary.
        min_savings: u64 = 0, unit("tokens");
        /// A conversation is summarised only if the last offload freed fewer tokens than this; 0 means always. Read by
        /// `ctxpack replay` only: `ctxpack compact` repeats the offload until it frees nothing.
        offload_freed_below: u64 = 0, unit("tokens"), in_replay();
        /// How often a session is compacted after one typed message; 0 means no limit. Read by `ctxpack replay` only.
        max_compactions: u64 = 0, unit("compactions"), in_replay();
        /// A call of this tool forces a summary after its result, with the call's input `focus` as instructions; "" means
        /// none.
        manual_tool: String = "";
        /// The recorded finish reasons of a last answer that force a summary.
        force_on_finish: Vec<String> = [];
        /// Conversations that are left alone.
        skip: Vec<Skip> = &[Skip::Compaction, Skip::SessionMemory];
    }
}

choice! {
    /// `trigger.on`: what the threshold is computed from.
    TriggerOn {
        /// `trigger.tokens`.
        Tokens = "tokens",
        /// `trigger.share` of `window.context`.
        Share = "share",
        /// What remains of `window.context` after the answer (at most `window.output_cap`) and `window.buffer`.
        Window = "window",
    }
}

choice! {
    /// `trigger.compare`: whether the threshold itself is enough.
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
    /// `trigger.skip`: a conversation that is itself an agent's request about a conversation.
    Skip {
        /// A request for a summary.
        Compaction = "compaction",
        /// A request for notes to remember.
        SessionMemory = "session_memory",
    }
}

table! {
    /// How many live tokens the result may have.
    "target" Target {
        /// The target in tokens; 0 means none.
        ///
        /// Half of the default trigger.
        tokens: u64 = 10_000, unit("tokens"), implies("target.kind", "cap"), common();
        /// The target in percent of the live tokens before anything was compacted; if above 0, `target.tokens` is ignored.
        ///
        /// A summary and the store's record note that number, so that repeating the command changes nothing.
        percent: f64 = 0.0, percent(), implies("target.kind", "cap");
        /// What may be given up to reach the target. A file, flag or variable that sets `target.tokens` or
        /// `target.percent` sets this to "cap", unless it also sets this key itself.
        kind: TargetKind = TargetKind::Aim, common();
    }
}

choice! {
    /// `target.kind`: what may be given up to reach the target.
    TargetKind {
        /// Your own messages stay whole, and the summary keeps its minimum size, even if the target is missed; system lines do not
        /// count.
        Aim = "aim",
        /// Whatever can validly be left out; system lines count.
        Cap = "cap",
    }
}

impl Target {
    /// The target, in tokens, of a conversation that had `original` live tokens; `None` if there is none.
    pub fn asked(&self, original: u64) -> Option<u64> {
        if self.is_share() {
            return Some(share_of(self.percent / 100.0, original));
        }
        (self.tokens > 0).then_some(self.tokens)
    }

    /// Whether the target is a share of the original's tokens.
    pub fn is_share(&self) -> bool {
        self.percent > 0.0
    }
}

impl Window {
    /// The tokens that are reserved for the model's answer.
    pub fn output_reserve(&self) -> u64 {
        match self.output_cap {
            0 => self.max_output,
            cap => self.max_output.min(cap),
        }
    }
}

impl Policy {
    /// The threshold, in live tokens, that [`Trigger::compare`] compares a conversation with, or `None` if no number of
    /// tokens would make this policy summarise: the layer is off, or the keys concerned are 0.
    ///
    /// Does not depend on `summary.when`: the threshold is the same whether or not it is consulted.
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

/// A share of a number of tokens, rounded down. The published systems compute this in the same floating-point steps.
pub(super) fn share_of(share: f64, tokens: u64) -> u64 {
    (share * tokens as f64).floor() as u64
}
