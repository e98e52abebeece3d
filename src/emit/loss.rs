//! What an emitted conversation could not hold, by kind and number.
//!
//! Plain data; decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why something of a conversation is not in what was emitted, or is there in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// A model's thinking, which the target has no place for, which has no signature of Anthropic's, or which its agent does not
    /// send again.
    Thinking,
    /// A picture where the target holds only text, or in a form that it does not take.
    Image,
    /// A document where the target holds none, or in a form that it does not take.
    Document,
    /// A call or a result of a tool that the provider ran itself.
    ServerTool,
    /// Content of another kind.
    Other,
    /// A call without a result, which the providers refuse.
    UnansweredCall,
    /// A result without a call before it, which the providers refuse.
    OrphanResult,
    /// A further result of a call that has one.
    RepeatedResult,
    /// The mark that a call has failed; its text stays.
    FailedMark,
    /// The id of a call was missing, is not allowed, or was there before; the call and its result have a new one.
    CallId,
    /// Arguments that are no object became the member `input` of one.
    Arguments,
    /// A result was moved up to its call, across other messages.
    ResultMoved,
    /// A system message among the others became a text of the user's.
    SystemPlace,
    /// A conversation of system messages alone, which Anthropic's API refuses.
    SystemAlone,
    /// The name of who wrote a message.
    Name,
    /// A conversation begins with an answer, which Anthropic's API refuses.
    AnswerFirst,
    /// A message without content, or a text of white space, which the provider refuses.
    EmptyMessage,
    /// Bytes that are no Unicode text, or half of a surrogate pair, became U+FFFD.
    BrokenText,
    /// A line with a message that no model would see again: an abandoned branch, before a recorded compaction, or an answer that
    /// broke off.
    DeadLine,
    /// A line of an unknown kind.
    UnknownLine,
    /// A line that cannot be read.
    BadLine,
    /// A key beside the messages of a conversation on one line.
    Field,
    /// Instructions that the agent adds to each request by itself, recorded beside the messages: its system prompt, and a
    /// developer's messages.
    Instructions,
}

impl Loss {
    /// Every kind.
    pub const ALL: [Loss; 23] = [
        Loss::Thinking,
        Loss::Image,
        Loss::Document,
        Loss::ServerTool,
        Loss::Other,
        Loss::UnansweredCall,
        Loss::OrphanResult,
        Loss::RepeatedResult,
        Loss::FailedMark,
        Loss::CallId,
        Loss::Arguments,
        Loss::ResultMoved,
        Loss::SystemPlace,
        Loss::SystemAlone,
        Loss::Name,
        Loss::AnswerFirst,
        Loss::EmptyMessage,
        Loss::BrokenText,
        Loss::DeadLine,
        Loss::UnknownLine,
        Loss::BadLine,
        Loss::Field,
        Loss::Instructions,
    ];

    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Thinking => "thinking",
            Loss::Image => "image",
            Loss::Document => "document",
            Loss::ServerTool => "server_tool",
            Loss::Other => "other",
            Loss::UnansweredCall => "unanswered_call",
            Loss::OrphanResult => "orphan_result",
            Loss::RepeatedResult => "repeated_result",
            Loss::FailedMark => "failed_mark",
            Loss::CallId => "call_id",
            Loss::Arguments => "arguments",
            Loss::ResultMoved => "result_moved",
            Loss::SystemPlace => "system_place",
            Loss::SystemAlone => "system_alone",
            Loss::Name => "name",
            Loss::AnswerFirst => "answer_first",
            Loss::EmptyMessage => "empty_message",
            Loss::BrokenText => "broken_text",
            Loss::DeadLine => "dead_line",
            Loss::UnknownLine => "unknown_line",
            Loss::BadLine => "bad_line",
            Loss::Field => "field",
            Loss::Instructions => "instructions",
        }
    }
}

/// The losses of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<Loss, u64>);

impl Losses {
    /// Counts `number` more of a kind.
    pub(super) fn add(&mut self, loss: Loss, number: u64) {
        if number > 0 {
            *self.0.entry(loss).or_default() += number;
        }
    }

    /// Each kind that there is, with its number, in the order of [`Loss::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        self.0.iter().map(|(loss, number)| (*loss, *number))
    }
}
