//! Calls and their results, paired.
//!
//! Pairs by id, unless both are in one element; older calls without ids by the tool's name. Pairs only within a conversation, since
//! ids are unique only there.

use std::borrow::Cow;
use std::sync::Arc;

use super::block_text;
use super::exit::CommandStatus;
use super::input::Input;
use super::tools::{Basis, recognised};
use crate::ids::IdMap;
use crate::policy::{ToolKind, Tools};
use crate::scan::decoded;
use crate::transcript::{BlockKind, Conversation, Transcript};

/// Where a fact is in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactLocation {
    /// The message of its conversation, from 0.
    pub message: u32,
    /// The line of the transcript, from 0.
    pub line: u32,
    /// The block of the transcript.
    pub block: u32,
}

/// Where the transcript states something: in a block, or on a line that is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TellingLocation {
    /// The message of its conversation, from 0; for a line that is not a message, the preceding one.
    pub message: u32,
    /// The line of the transcript, from 0.
    pub line: u32,
    /// The block of the transcript, if any.
    pub block: Option<u32>,
}

impl From<FactLocation> for TellingLocation {
    fn from(at: FactLocation) -> Self {
        TellingLocation {
            message: at.message,
            line: at.line,
            block: Some(at.block),
        }
    }
}

/// A call, and its result if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// What the tool does.
    pub kind: ToolKind,
    /// How that is known.
    pub(super) basis: Basis,
    /// The call.
    pub call: FactLocation,
    /// The first result that came after it and answers it.
    pub result: Option<FactLocation>,
    /// The call inside a cell, if this is one; `call` is then the one that runs the cell.
    pub(super) inner: Option<Arc<InnerCall>>,
    /// Later status updates of a command that was still running, in order.
    pub(super) looks: Vec<Look>,
}

/// A later status update of a background command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Where the update is: in the result of a call, or on a line that is not a message.
    pub(super) at: TellingLocation,
    /// The command's status at that point.
    pub(super) exit: CommandStatus,
}

/// A call in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InnerCall {
    /// The tool's name.
    pub(super) tool: String,
    /// Its input as JSON.
    pub(super) input: Vec<u8>,
    /// Its output, if the cell has printed it.
    pub(super) output: Option<String>,
    /// How it ended.
    pub(super) ended: Ended,
    /// The session in which it continued, if it was still running when the cell ended.
    pub(super) session: Option<i64>,
}

/// How a call in a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// A command with this status.
    Status(i64),
    /// The cell has run to its end, so the call was made and raised no error.
    Returned,
    /// It is the only call of a cell that failed.
    Failed,
    /// The cell was interrupted.
    Interrupted,
    /// It is still running.
    Running,
    /// No result states how it ended.
    Unknown,
}

impl Ended {
    /// The status of a command, by a call in a cell that reads from it; `None` if the cell does not state it.
    pub(super) fn of_look(self) -> Option<CommandStatus> {
        match self {
            Ended::Status(status) => Some(CommandStatus::Code(status)),
            Ended::Running => Some(CommandStatus::Running),
            Ended::Returned | Ended::Failed | Ended::Interrupted | Ended::Unknown => None,
        }
    }
}

impl Exchange {
    /// The tool's name.
    pub fn tool<'e>(&'e self, transcript: &'e Transcript<'_>) -> Cow<'e, str> {
        match &self.inner {
            Some(inner) => Cow::Borrowed(&inner.tool),
            None => name(transcript, self.call.block),
        }
    }

    /// The call's input.
    pub(super) fn input<'e>(&'e self, transcript: &'e Transcript<'_>) -> Input<'e> {
        input_of(transcript, self.call, self.inner.as_deref())
    }
}

/// The input of a call, or of one in its cell.
pub(super) fn input_of<'e>(
    transcript: &'e Transcript<'_>,
    call: FactLocation,
    inner: Option<&'e InnerCall>,
) -> Input<'e> {
    match inner {
        Some(inner) => Input::in_json(&inner.input),
        None => Input::of(transcript, transcript.block(call.block)),
    }
}

/// The text of a result, or of the call in a cell that it contains; "" if that was not printed.
pub(super) fn text_of<'e>(
    transcript: &'e Transcript<'_>,
    result: FactLocation,
    inner: Option<&'e InnerCall>,
) -> Cow<'e, str> {
    match inner {
        Some(inner) => Cow::Borrowed(inner.output.as_deref().unwrap_or_default()),
        None => block_text(transcript, transcript.block(result.block)),
    }
}

/// All calls of a conversation, in order. `added` holds the policy's additional tool names.
pub fn exchanges(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    added: &Tools,
) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    // If two calls have the same id, each gets the results that follow it.
    let mut by_id: IdMap<&[u8], usize> = IdMap::default();
    let mut by_block: IdMap<u32, usize> = IdMap::default();
    let mut without_id = None;
    for (message, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        let place = FactLocation {
            message: message as u32,
            line: block.line,
            block: number,
        };
        let id = transcript.bytes(block.line, block.call_id);
        match block.kind {
            BlockKind::Call => {
                if id.is_empty() {
                    without_id = Some(exchanges.len());
                } else {
                    by_id.insert(id, exchanges.len());
                }
                by_block.insert(number, exchanges.len());
                let input = || Input::of(transcript, block);
                let (kind, basis) = recognised(&name(transcript, number), input, added);
                exchanges.push(Exchange {
                    kind,
                    basis,
                    call: place,
                    result: None,
                    inner: None,
                    looks: Vec::new(),
                });
            }
            BlockKind::Result => {
                let beside = transcript.call_beside(number);
                let of = if let Some(call) = beside {
                    by_block.get(&call).copied()
                } else if id.is_empty() {
                    let answers =
                        |of: &usize| exchanges[*of].tool(transcript) == name(transcript, number);
                    without_id.take().filter(answers)
                } else {
                    by_id.get(id).copied()
                };
                if let Some(of) = of {
                    exchanges[of].result.get_or_insert(place);
                }
            }
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => {}
        }
    }
    exchanges
}

/// The name of a block's tool.
pub(super) fn name<'t>(transcript: &'t Transcript<'_>, block: u32) -> Cow<'t, str> {
    let block = transcript.block(block);
    decoded(transcript.bytes(block.line, block.tool))
}
