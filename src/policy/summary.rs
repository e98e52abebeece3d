//! `[summary]`: who writes the summary, from what, how large, what stays beside it, and what happens when it fails.
//!
//! Data only: no request is made and no prompt is read here.

use serde::{Deserialize, Serialize};

use super::choice::choice;
use super::trigger::share_of;
use super::{Slot, Template, Window};

/// `[summary]`: the summary and what is kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Whether the trigger is asked.
    pub when: SummaryWhen,
    /// What the summary must keep, in the user's words; "" = nothing in particular.
    pub instructions: String,
    /// Who writes it.
    pub source: Source,
    /// The provider's model; "" = the one that the transcript recorded.
    pub model: String,
    /// The provider's address; "" = its own.
    pub base_url: String,
    /// The prompt that a provider is given.
    pub prompt: Prompt,
    /// The system prompt beside it; "" = none.
    pub system: String,
    /// The form in which a provider is given the conversation.
    pub input: Input,
    /// Only the first characters of that form; 0 = all. 80 000 in the system that resets everything.
    pub input_chars: u64,

    /// The newest messages that stay. Of this, `keep_turns` and `keep_tokens`, the rule that keeps most wins; all 0 =
    /// nothing stays. 5 in `layered`.
    pub keep_messages: u64,
    /// The messages that stay, from the n-th last typed message on.
    pub keep_turns: u64,
    /// The newest messages that stay, in tokens, cut between pairs. No system behind it.
    pub keep_tokens: u64,

    /// Who says the summary.
    pub role: Role,
    /// The summary's message; holds `{summary}`, may hold `{name}`, the archived original.
    pub text: Template,
    /// The assistant's message after it; "" = none.
    pub ack: String,

    /// The size asked for, in tokens; 0 = `share` of the span.
    pub tokens: u64,
    /// The size as a share, 0 to 1, of the span that the summary replaces.
    pub share: f64,
    /// That share is at least this many tokens.
    pub min_tokens: u64,
    /// That share is at most this many tokens.
    pub max_tokens: u64,
    /// A provider's limit is the size times this, above 0. 1.2 in the offload-first system: a fifth to spare.
    pub output_factor: f64,
    /// Where the user's own words count.
    pub user_words: UserWords,
    /// Tokens of one typed message; a longer one is clipped, and reported. No system behind it.
    pub user_message_max: u64,

    /// Requests for one summary, at least 1.
    pub tries: u64,
    /// Milliseconds before the next try.
    pub wait_ms: u64,
    /// How the wait grows.
    pub wait: Wait,
    /// Tries after "prompt too long", each without the oldest rounds.
    pub drop_rounds: u64,
    /// Failures in a row after which no more requests go to that host for a while; 0 = none of the policy's own: after three.
    pub breaker: u64,
    /// What happens when no summary could be had.
    pub on_failure: OnFailure,
    /// What happens when the result is still too large.
    pub too_large: TooLarge,
    /// Live tokens over this share, 0 to 1, of `window.context` are too large; 0 = `target.tokens` decides.
    pub too_large_share: f64,
    /// Names, paths and numbers of a provider's summary that the transcript lacks: more is a failure; -1 = no limit.
    pub max_invented: i64,
    /// Whether facts that a provider's summary lost are appended.
    pub must_keep: bool,
}

impl Summary {
    /// The size asked for, in tokens, of a summary that replaces so many.
    pub fn size(&self, span: u64) -> u64 {
        match self.tokens {
            0 => self.share_of(span),
            tokens => tokens,
        }
    }

    /// The size, in tokens, that `share` asks for in place of so many.
    pub fn share_of(&self, span: u64) -> u64 {
        let share = (self.share * span as f64).floor() as u64;
        share.clamp(self.min_tokens, self.max_tokens)
    }

    /// Whether the last turns may be all that is left, without a summary in front of them.
    pub fn may_leave_last_turns(&self) -> bool {
        self.too_large == TooLarge::LastTurns || self.on_failure == OnFailure::Prune
    }

    /// Whether the summary names the archive of what it replaces.
    pub fn names_archive(&self) -> bool {
        self.text.holds(Slot::Name)
    }

    /// The live tokens above which a result is too large; `None` where the target decides.
    pub fn too_large_limit(&self, window: &Window) -> Option<u64> {
        (self.too_large_share > 0.0).then(|| share_of(self.too_large_share, window.context))
    }
}

choice! {
    /// `summary.when`: whether the trigger is asked.
    SummaryWhen {
        /// The trigger decides.
        Auto = "auto",
        /// Below the trigger too.
        Always = "always",
        /// Nothing is summarised.
        Never = "never",
    }
}

choice! {
    /// `summary.source`: who writes the summary.
    Source {
        /// ctxpack itself, from the transcript's own statements, without a network.
        Extractive = "extractive",
        /// A provider that speaks Anthropic's Messages.
        Anthropic = "anthropic",
        /// A provider that speaks OpenAI's Chat Completions.
        Openai = "openai",
        /// A file of answers beside the policy, for fixtures.
        Scripted = "scripted",
    }
}

choice! {
    /// `summary.prompt`: which of the shipped prompts a provider is given.
    Prompt {
        /// Ours.
        Auto = "auto",
        /// Chronological: goals, actions, decisions, current state.
        Layered = "layered",
        /// Eight sections, from technical context to key decisions.
        OffloadFirst = "offload-first",
        /// Accomplished, current state, key decisions.
        Reset = "reset",
        /// Needs, decisions, file changes, to-dos.
        Boundary = "boundary",
        /// Of a turn-based agent.
        Turns = "turns",
    }
}

choice! {
    /// `summary.input`: the form in which a provider is given the conversation.
    Input {
        /// As messages and blocks.
        Blocks = "blocks",
        /// As one JSON text as Python's `json.dumps` writes it: ", ", ": " and `\uXXXX`.
        AsciiJson = "ascii_json",
    }
}

choice! {
    /// `summary.role`: who says the summary.
    Role {
        /// The user.
        User = "user",
        /// The assistant; the user where the API wants a user's message first.
        Assistant = "assistant",
    }
}

choice! {
    /// `summary.user_words`: where typed messages of the summarised span count.
    UserWords {
        /// They stand in the summary word for word, outside its size.
        Verbatim = "verbatim",
        /// They share its size with all else.
        Budget = "budget",
    }
}

choice! {
    /// `summary.wait`: how the wait before the next try grows.
    Wait {
        /// Doubles with each attempt, with jitter.
        Exponential = "exponential",
        /// `wait_ms` times the attempt.
        Linear = "linear",
    }
}

choice! {
    /// `summary.on_failure`: what happens when no summary could be had.
    OnFailure {
        /// The extractive summary takes its place.
        Extractive = "extractive",
        /// The messages stay, and the report says so.
        Keep = "keep",
        /// Reasoning, tool calls and empty messages leave, then all but `keep_turns`.
        Prune = "prune",
    }
}

choice! {
    /// `summary.too_large`: what happens when the result is still too large.
    TooLarge {
        /// Less is kept and a smaller summary asked for.
        Shrink = "shrink",
        /// It stands.
        Accept = "accept",
        /// Only the last turns stay.
        LastTurns = "last_turns",
    }
}
