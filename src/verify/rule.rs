//! The rules by name, and the provider's error message when one is broken.
//!
//! A name is stable: scripts and comparisons rely on it. Never checks anything.

use serde::{Deserialize, Serialize};

/// A rule that a history must or should follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Rule {
    /// Every tool call has its result in the next message (OpenAI: in the tool messages right after it).
    MissingResult,
    /// Every result answers a call of the message before it (OpenAI: before the run of tool messages).
    OrphanResult,
    /// No two calls have the same id.
    DuplicateCall,
    /// A call has only one result.
    DuplicateResult,
    /// A call has an id, which consists only of letters, digits, `_` and `-` (Anthropic).
    InvalidId,
    /// Results come before all other content of their message (Anthropic).
    ResultsNotFirst,
    /// A call of a tool that the provider runs has its result in the same answer or in the next one.
    MissingServerResult,
    /// A result of a tool that the provider runs comes after its call.
    OrphanServerResult,
    /// A call's arguments are a string (OpenAI).
    ArgumentsNotString,
    /// A call names its tool, and has an input that is an object (Anthropic) or arguments (OpenAI).
    MalformedCall,
    /// Calls are in answers, and results are not (Anthropic).
    MisplacedBlock,
    /// A text block has text (Anthropic).
    EmptyText,
    /// A message has content.
    EmptyMessage,
    /// A thinking block has its signature.
    UnsignedThinking,
    /// The history does not end with thinking.
    ThinkingLast,
    /// The last answer of a tool loop begins with its thinking, if it has any.
    ThinkingNotFirst,
    /// The first message is the user's (Anthropic).
    FirstNotUser,
    /// The last message is the user's (Anthropic); newer models do not accept a prefilled answer.
    LastNotUser,
    /// System messages come first (OpenAI; some compatible servers insist on it) or are not messages (Anthropic).
    MisplacedSystem,
    /// What is sent is JSON that every reader accepts: UTF-8, and no half of a surrogate pair.
    InvalidJson,
    /// A model would see at least one of the messages in a file.
    NoConversation,
    /// The parent of a live line is in the file; otherwise everything before it is silently lost.
    ChainParentMissing,
    /// No message after the last compaction has a missing line as its parent.
    ChainBroken,
    /// A compaction's boundary is the parent of a line.
    BoundaryAlone,
    /// The summary of the last compaction is part of what the model sees.
    SummaryNotSent,
    /// A summary is a user line with a parent, a role and content.
    SummaryMalformed,
    /// The lines that a compaction preserved are in the file.
    PreservedMissing,
    /// No two lines have the same uuid.
    DuplicateUuid,
    /// The leaf that the last `last-prompt` names is in the file.
    LeafMissing,
    /// A session begins with its header (otherwise pi starts a new file, and Codex does not find the session).
    HeaderMissing,
    /// The content is a list: that of a result (otherwise pi sends its characters one by one), or of a tool message (AI SDK).
    ContentNotList,
    /// The last answer has its usage (otherwise pi does not start).
    UsageMissing,
}

/// An API that accepts or refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's Responses API.
    Responses,
    /// The AI SDK, which checks a request before it sends it to a provider.
    AiSdk,
}

/// The providers' own messages, as far as they are known.
const WORDINGS: [(Provider, Rule, &str); 16] = [
    (
        Provider::Anthropic,
        Rule::MissingResult,
        "`tool_use` ids were found without `tool_result` blocks immediately after",
    ),
    (
        Provider::Anthropic,
        Rule::OrphanResult,
        "unexpected `tool_use_id` found in `tool_result` blocks",
    ),
    (
        Provider::Anthropic,
        Rule::DuplicateCall,
        "`tool_use` ids must be unique",
    ),
    (
        Provider::Anthropic,
        Rule::DuplicateResult,
        "each tool_use must have a single result",
    ),
    (
        Provider::Anthropic,
        Rule::InvalidId,
        "String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        Provider::Anthropic,
        Rule::EmptyText,
        "text content blocks must be non-empty",
    ),
    (
        Provider::Anthropic,
        Rule::EmptyMessage,
        "all messages must have non-empty content except for the optional final assistant message",
    ),
    (
        Provider::Anthropic,
        Rule::ThinkingLast,
        "The final block in an assistant message cannot be `thinking`",
    ),
    (
        Provider::Anthropic,
        Rule::ThinkingNotFirst,
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    ),
    (
        Provider::Anthropic,
        Rule::LastNotUser,
        "This model does not support assistant message prefill",
    ),
    (
        Provider::OpenAi,
        Rule::MissingResult,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
    ),
    (
        Provider::OpenAi,
        Rule::OrphanResult,
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    ),
    (
        Provider::OpenAi,
        Rule::DuplicateResult,
        "Duplicate value for 'tool_call_id'",
    ),
    (
        Provider::Responses,
        Rule::MissingResult,
        "No tool output found for function call",
    ),
    (
        Provider::Responses,
        Rule::OrphanResult,
        "No tool call found for function call output with call_id",
    ),
    (
        Provider::AiSdk,
        Rule::MissingResult,
        "Tool results are missing for tool calls",
    ),
];

impl Rule {
    /// The stable name, in kebab case.
    pub fn name(self) -> &'static str {
        self.name_and_description().0
    }

    /// What is wrong, in this program's wording.
    pub(super) fn ours(self) -> &'static str {
        self.name_and_description().1
    }

    /// The provider's error message when the rule is broken, where it is known.
    pub fn wording(self, provider: Provider) -> Option<&'static str> {
        let mut wordings = WORDINGS.iter();
        let found = wordings.find(|(of, rule, _)| (*of, *rule) == (provider, self));
        found.map(|(.., wording)| *wording)
    }

    fn name_and_description(self) -> (&'static str, &'static str) {
        match self {
            Rule::MissingResult => ("missing-result", "a call has no result right after it"),
            Rule::OrphanResult => (
                "orphan-result",
                "a result has no matching call directly before it",
            ),
            Rule::DuplicateCall => ("duplicate-call", "two calls have the same id"),
            Rule::DuplicateResult => ("duplicate-result", "a call has two results"),
            Rule::InvalidId => ("invalid-id", "a call's id is missing or malformed"),
            Rule::ResultsNotFirst => (
                "results-not-first",
                "a result comes after other content in its message",
            ),
            Rule::MissingServerResult => (
                "missing-server-result",
                "a call of a provider's tool has no result in its answer or the next one",
            ),
            Rule::OrphanServerResult => (
                "orphan-server-result",
                "a result of a provider's tool has no call before it",
            ),
            Rule::ArgumentsNotString => (
                "arguments-not-string",
                "a call's arguments are not a string",
            ),
            Rule::MalformedCall => ("malformed-call", "a call has no name or an invalid input"),
            Rule::MisplacedBlock => (
                "misplaced-block",
                "a call outside an assistant message, or a result inside one",
            ),
            Rule::EmptyText => ("empty-text", "a text block is empty"),
            Rule::EmptyMessage => ("empty-message", "a message has no content"),
            Rule::UnsignedThinking => ("unsigned-thinking", "a thinking block has no signature"),
            Rule::ThinkingLast => ("thinking-last", "the history ends with thinking"),
            Rule::ThinkingNotFirst => (
                "thinking-not-first",
                "the last answer has thinking but does not begin with it",
            ),
            Rule::FirstNotUser => ("first-not-user", "the first message is not the user's"),
            Rule::LastNotUser => ("last-not-user", "the last message is not the user's"),
            Rule::MisplacedSystem => ("misplaced-system", "a system message among the others"),
            Rule::InvalidJson => ("invalid-json", "JSON that some readers reject"),
            Rule::NoConversation => (
                "no-conversation",
                "the file has messages, but a model would see none of them",
            ),
            Rule::ChainParentMissing => (
                "chain-parent-missing",
                "a live line's parent is not in the file, so the agent may not see what is before it",
            ),
            Rule::ChainBroken => (
                "chain-broken",
                "messages after the last compaction are attached to a line whose parent is missing",
            ),
            Rule::BoundaryAlone => ("boundary-alone", "nothing follows a compaction's boundary"),
            Rule::SummaryNotSent => (
                "summary-not-sent",
                "the summary of the last compaction is not part of the conversation",
            ),
            Rule::SummaryMalformed => (
                "summary-malformed",
                "a summary is not a user line with parent, role and content",
            ),
            Rule::PreservedMissing => (
                "preserved-missing",
                "a compaction preserves a line that is not in the file",
            ),
            Rule::DuplicateUuid => ("duplicate-uuid", "two lines have the same uuid"),
            Rule::LeafMissing => ("leaf-missing", "the last prompt's leaf is not in the file"),
            Rule::HeaderMissing => (
                "header-missing",
                "the file does not begin with the header that its agent looks for",
            ),
            Rule::ContentNotList => ("content-not-list", "the content is not a list"),
            Rule::UsageMissing => ("usage-missing", "the last answer has no usage"),
        }
    }
}
