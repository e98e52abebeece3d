//! `[summary]`: who writes the summary, from what, how large it is, what is kept besides it, and what happens when it fails.
//!
//! Data only: no request is made and no prompt is read here.

use super::choice::{Choice, choice};
use super::domain::Domain;
use super::key::Found::{AtMost, Empty, Except, OneOfItsWords};
use super::key::{Type, table};
use super::layer::Layer;
use super::prompt::{Prompt, ShippedPrompt};
use super::template::{Slot, Template};
use super::trigger::{Window, share_of};

table! {
    /// The summary and what is kept besides it.
    "summary" Summary {
        /// When a summary is written.
        when: SummaryWhen = SummaryWhen::Auto, common();
        /// What a summary must keep, in your own words; "" means nothing in particular.
        instructions: String = "", common();
        /// Who writes summaries.
        source: Source = Source::Extractive,
            found(Except(&["anthropic", "openai", "scripted"], "would replace the built-in summariser"));
        /// The provider's model; "" means the one that the transcript recorded.
        model: String = "", found(Empty("would choose the model that transcripts are sent to"));
        /// The provider's address; "" means its own.
        base_url: String = "", found(Empty("would say where transcripts are sent"));
        /// The prompt for a provider: one of the shipped ones, `"file:PATH"`, or `"text:WORDS"`.
        ///
        /// PATH is a file in the folder of the policy file or below it. In both, `{targetTokens}` stands for the requested size,
        /// and `{instructions}` for what the summary must keep; without the latter, this text follows the prompt.
        prompt: Prompt = ShippedPrompt::Handover, found(OneOfItsWords("would choose what a provider is told"));
        /// Which message the prompt is in.
        prompt_role: PromptRole = PromptRole::User;
        /// The system prompt that goes with it; "" means none.
        system: String = "";
        /// Which messages a provider receives.
        reads: Reads = Reads::Replaced;
        /// The form in which a provider is given the conversation.
        input: Input = Input::Blocks;
        /// Only the beginning of that form is sent to a model, up to this length; 0 means all of it. The built-in summary reads
        /// every message.
        input_chars: u64 = 0, unit("characters");

        /// The newest messages that are kept. Of `keep_messages`, `keep_turns` and `keep_tokens`, the one that keeps the most
        /// applies; if all are 0, nothing is kept.
        keep_messages: u64 = 0, unit("messages"), common();
        /// The newest turns that are kept; a turn begins with a typed message. If these alone exceed the trigger, only as many of
        /// them as do not, or the last round of the last one.
        keep_turns: u64 = 0, unit("turns"), common();
        /// The newest messages that are kept, up to this size; a call is never separated from its result.
        ///
        /// No published system has such a rule.
        keep_tokens: u64 = 1_500, unit("tokens"), common();

        /// Further parameters of the requests to a provider, such as `temperature` or `reasoning_effort`, sent unchanged.
        ///
        /// One that the server rejects is left out, and a warning says so.
        extra: Parameters = [], found(Empty("would change what is asked of a provider"));

        /// Whose message the summary is.
        role: Role = Role::User;
        /// The summary's message; must contain `{summary}`, may contain `{name}`, the archived original.
        text: Template = "[Earlier conversation, summarised by ctxpack]\n{summary}",
            slots(&[Slot::Summary], &[Slot::Name]), needed_by(Layer::Summarize);
        /// The assistant's message after it; "" means none.
        ack: String = "";

        /// The size of the summary; 0 means `summary.share` of what it replaces. If a target is set and `summary.too_large` is
        /// `"shrink"`, the summary takes the room that the target leaves instead.
        tokens: u64 = 4_000, unit("tokens");
        /// The size as a share of what the summary replaces. For a target that is an aim, the summary does not become smaller than
        /// this or `summary.tokens`, whichever is less.
        share: f64 = 0.05, share();
        /// The minimum size that `summary.share` can yield.
        min_tokens: u64 = 2_000, unit("tokens");
        /// The maximum size that `summary.share` can yield.
        max_tokens: u64 = 10_000, unit("tokens");
        /// The output limit of a request, as a multiple of the summary's size.
        output_factor: f64 = 1.2;
        /// Whether your own words count in the size.
        user_words: UserWords = UserWords::Verbatim;
        /// A typed message that is larger than this is clipped, and the report says so.
        ///
        /// No published system has such a limit.
        user_message_max: u64 = 2_000, unit("tokens");

        /// How many times a provider is asked for one summary.
        tries: u64 = 3, at_least(1), unit("requests"), found(AtMost(10));
        /// The wait before the next try.
        wait_ms: u64 = 1_000, unit("milliseconds"), found(AtMost(60_000));
        /// How the wait grows.
        wait: Wait = Wait::Exponential;
        /// Tries after "prompt too long", each without the oldest rounds. After them, `summary.too_long` decides.
        drop_rounds: u64 = 0, unit("requests"), found(AtMost(10));
        /// What happens if the conversation is too long for the provider's model.
        too_long: TooLong = TooLong::Parts;
        /// The context window of the provider's model; 0 means the one that the session recorded for its own model (as Codex does),
        /// or the one learned from the first "too long".
        ///
        /// No published system has such a key.
        window: u64 = 0, unit("tokens");
        /// What becomes of an answer that ended at its size limit.
        cut_off: CutOff = CutOff::Retry;
        /// After this many consecutive failures, no more requests are made; 0 sets no limit, neither on failures nor on the retries
        /// of all conversations of a run together.
        breaker: u64 = 3, unit("failures");
        /// Whose failures count.
        breaker_scope: BreakerScope = BreakerScope::Host;
        /// What happens if no summary could be written.
        on_failure: OnFailure = OnFailure::Extractive;
        /// What happens if the result is still too large.
        too_large: TooLarge = TooLarge::Shrink;
        /// A result is too large if it has more live tokens than this share of `window.context`; if this and
        /// `summary.too_large_tokens` are 0, the target decides.
        too_large_share: f64 = 0.0, share();
        /// A result is too large if it has more live tokens than this; if above 0, `summary.too_large_share` is ignored.
        too_large_tokens: u64 = 0, unit("tokens");
        /// Maximum number of invented names in a provider's summary; if this and `summary.max_invented_share` are both exceeded,
        /// the summary is requested once more. The sentences that still contain one are left out. -1 means that nothing is checked.
        ///
        /// Names are paths, addresses, ids, flags, and identifiers with a dot, an underscore or a call.
        max_invented: i64 = 0, at_least(-1), unit("names");
        /// See `summary.max_invented`.
        max_invented_share: f64 = 0.05, share();
        /// Whether a provider's summary is a narrative that the rows of the built-in summary follow, as far as the size goes: your
        /// own words, files, commands, errors, to-dos. Otherwise it consists of the provider's text and your own words.
        must_keep: bool = true;
        /// The share of the size that a provider is asked to write, if rows follow. The rows get the rest, and whatever the
        /// provider leaves unused.
        narrative_share: f64 = 0.5, share();
    }
}

/// Parameters of requests, by name.
pub type Parameters = serde_json::Map<String, serde_json::Value>;

impl Summary {
    /// The requested size, in tokens, of a summary that replaces `span` tokens.
    pub fn size(&self, span: u64) -> u64 {
        match self.tokens {
            0 => self.share_of(span),
            tokens => tokens,
        }
    }

    /// The size, in tokens, that `share` yields for `span` tokens.
    pub fn share_of(&self, span: u64) -> u64 {
        let share = (self.share * span as f64).floor() as u64;
        share.clamp(self.min_tokens, self.max_tokens)
    }

    /// Whether a provider receives the conversation as evidence for a narrative: each part with its line, and outputs as they were
    /// before they were cleared. An explicitly set form or limit takes precedence.
    pub fn gives_evidence(&self) -> bool {
        self.must_keep && self.input == Input::Blocks && self.input_chars == 0
    }

    /// The tokens that a provider is asked to write for a summary of `size` tokens.
    pub fn narrative(&self, size: u64) -> u64 {
        match self.must_keep {
            true => (size as f64 * self.narrative_share) as u64,
            false => size,
        }
    }

    /// The tokens that rows may take in a summary of `size` tokens with a narrative of `narrative` tokens: at least their share.
    pub fn rows(&self, size: u64, narrative: u64) -> u64 {
        let rest = size.saturating_sub(narrative);
        rest.max(size - self.narrative(size).min(narrative))
    }

    /// Whether the result may consist of the last turns alone, without a summary before them.
    pub fn may_leave_last_turns(&self) -> bool {
        self.too_large == TooLarge::LastTurns || self.on_failure == OnFailure::Prune
    }

    /// The number of consecutive failures, over all conversations, after which a server gets no more requests; 0 = no limit.
    pub fn host_breaker(&self) -> u64 {
        match self.breaker_scope {
            BreakerScope::Host => self.breaker,
            BreakerScope::Conversation => 0,
        }
    }

    /// Whether the summary names the archive of what it replaces.
    pub fn names_archive(&self) -> bool {
        self.text.holds(Slot::Name)
    }

    /// The live tokens above which a result is too large; `None` if the target decides.
    pub fn too_large_limit(&self, window: &Window) -> Option<u64> {
        match self.too_large_tokens {
            0 => {
                (self.too_large_share > 0.0).then(|| share_of(self.too_large_share, window.context))
            }
            tokens => Some(tokens),
        }
    }
}

choice! {
    /// `summary.when`: when a summary is written.
    SummaryWhen {
        /// If the trigger says so.
        Auto = "auto",
        /// Even below the trigger.
        Always = "always",
        /// Not at all.
        Never = "never",
    }
}

choice! {
    /// `summary.source`: who writes summaries.
    Source {
        /// ctxpack itself, from the transcript's own statements, without a network.
        Extractive = "extractive",
        /// A provider that speaks Anthropic's Messages API.
        Anthropic = "anthropic",
        /// A provider that speaks OpenAI's Chat Completions API.
        Openai = "openai",
        /// A file of answers next to the policy, for fixtures.
        Scripted = "scripted",
    }
}

impl Type for Prompt {
    type Written = ShippedPrompt;
    const DOMAIN: Domain = Domain::Prompt(ShippedPrompt::WORDS);
    fn from_written(written: ShippedPrompt) -> Self {
        Prompt::Shipped(written)
    }
}

choice! {
    /// `summary.prompt_role`: which message the prompt is in.
    PromptRole {
        /// The user's, before the conversation.
        User = "user",
        /// The user's, after the conversation.
        UserAfter = "user_after",
        /// The system's, after `summary.system`.
        System = "system",
    }
}

choice! {
    /// `summary.reads`: which messages a provider receives.
    Reads {
        /// Those that the summary replaces.
        Replaced = "replaced",
        /// The whole conversation, so that the summary may also cover the kept messages.
        All = "all",
    }
}

choice! {
    /// `summary.input`: the form in which a provider receives the conversation.
    Input {
        /// As messages and blocks.
        Blocks = "blocks",
        /// As one JSON text in the style of Python's `json.dumps`: ", ", ": " and `\uXXXX`.
        AsciiJson = "ascii_json",
    }
}

choice! {
    /// `summary.role`: whose message the summary is.
    Role {
        /// The user's.
        User = "user",
        /// The assistant's, or the user's if the API wants a user's message first.
        Assistant = "assistant",
    }
}

choice! {
    /// `summary.user_words`: whether typed messages that the summary replaces count in its size.
    UserWords {
        /// They are in the summary word for word and do not count in its size.
        Verbatim = "verbatim",
        /// They share the size with everything else.
        Budget = "budget",
    }
}

choice! {
    /// `summary.wait`: how the wait before the next try grows.
    Wait {
        /// It doubles with each try, with jitter.
        Exponential = "exponential",
        /// `summary.wait_ms` times the number of tries.
        Linear = "linear",
    }
}

choice! {
    /// `summary.too_long`: what happens if the conversation is too long for the provider's model.
    TooLong {
        /// Parts of whole rounds are summarised one by one, and their summaries become one.
        Parts = "parts",
        /// It is a failure.
        Fail = "fail",
    }
}

choice! {
    /// `summary.cut_off`: what becomes of an answer that ended at its size limit.
    CutOff {
        /// It is used as the summary as far as it goes, and the report says so.
        Accept = "accept",
        /// The provider is asked once more with three times the limit; an answer that is cut off again is a failure.
        Retry = "retry",
        /// It is a failure.
        Reject = "reject",
    }
}

choice! {
    /// `summary.breaker_scope`: whose failures count for `summary.breaker`.
    BreakerScope {
        /// Those of all conversations of a run; no more requests go to that host for a while.
        Host = "host",
        /// Those of one conversation over its turns, as `ctxpack replay` plays them; the conversation is then no longer compacted.
        Conversation = "conversation",
    }
}

choice! {
    /// `summary.on_failure`: what happens if no summary could be written.
    OnFailure {
        /// The extractive summary takes its place.
        Extractive = "extractive",
        /// The messages stay, and the report says so.
        Keep = "keep",
        /// The file fails: it stays as it was, and no output is written.
        Fail = "fail",
        /// Reasoning, tool calls and empty messages are removed, then everything but the newest `summary.keep_turns`.
        Prune = "prune",
    }
}

choice! {
    /// `summary.too_large`: what happens if the result is still too large.
    TooLarge {
        /// Less is kept, and a smaller summary is requested.
        Shrink = "shrink",
        /// It is accepted.
        Accept = "accept",
        /// Only the last turns are kept.
        LastTurns = "last_turns",
    }
}
