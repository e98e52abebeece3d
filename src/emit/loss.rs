//! What an emitted conversation could not hold, counted by kind.
//!
//! Plain data; decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why a part of a conversation is missing from the output or changed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// A model's thinking that the target cannot hold, that has no signature of Anthropic's, or that its agent does not send again.
    Thinking,
    /// A picture where the target holds only text, or in a form that it does not accept.
    Image,
    /// A document where the target holds none, or in a form that it does not accept.
    Document,
    /// A call or a result of a tool that the provider ran itself.
    ServerTool,
    /// Content of another kind.
    Other,
    /// A call without a result, which the providers reject.
    UnansweredCall,
    /// A result without a preceding call, which the providers reject.
    OrphanResult,
    /// A further result of a call that already has one.
    RepeatedResult,
    /// The flag that a call failed; its text stays.
    FailedMark,
    /// The id of a call was missing, not allowed, or used before; the call and its result got a new one.
    CallId,
    /// Arguments that are not an object became the member `input` of one.
    Arguments,
    /// A result was moved up to its call, across other messages.
    ResultMoved,
    /// A system message between other messages became user text.
    SystemPlace,
    /// A conversation of only system messages, which Anthropic's API rejects.
    SystemAlone,
    /// The name of a message's author.
    Name,
    /// A conversation begins with an answer, which Anthropic's API rejects.
    AnswerFirst,
    /// A message without content, or a text of only white space, which the provider rejects.
    EmptyMessage,
    /// Invalid UTF-8 or a lone surrogate became U+FFFD.
    BrokenText,
    /// A line with a message that no model would see again: on an abandoned branch, before a recorded compaction, or an aborted
    /// answer.
    DeadLine,
    /// A line of an unknown kind.
    UnknownLine,
    /// A line that cannot be read.
    BadLine,
    /// A key next to the messages of a conversation on one line.
    Field,
    /// Instructions that the agent itself adds to each request, recorded outside of the messages: its system prompt and developer
    /// messages.
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
    /// Adds `number` to the count of a kind.
    pub(super) fn add(&mut self, loss: Loss, number: u64) {
        if number > 0 {
            *self.0.entry(loss).or_default() += number;
        }
    }

    /// Each kind that occurred with its count, in the order of [`Loss::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        self.0.iter().map(|(loss, number)| (*loss, *number))
    }
}
