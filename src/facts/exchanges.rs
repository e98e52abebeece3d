//! Calls and their results, paired.
//!
//! By id; older calls without ids by the tool's name. Only within a conversation, since ids are unique only there.

use std::borrow::Cow;

use super::{kind_of, lossy};
use crate::ids::IdMap;
use crate::policy::{ToolKind, Tools};
use crate::scan::unescape;
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

/// A call, and its result if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// What the tool does.
    pub kind: ToolKind,
    /// The call.
    pub call: FactLocation,
    /// The first result that came after it and answers it.
    pub result: Option<FactLocation>,
}

impl Exchange {
    /// The tool's name.
    pub fn tool<'t>(&self, transcript: &'t Transcript<'_>) -> Cow<'t, str> {
        name(transcript, self.call.block)
    }
}

/// All calls of a conversation, in its order. `added` are the policy's names for kinds of tools.
pub fn exchanges(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    added: &Tools,
) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    // If two calls have the same id, each gets the results that follow it.
    let mut by_id: IdMap<&[u8], usize> = IdMap::default();
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
                exchanges.push(Exchange {
                    kind: kind_of(&name(transcript, number), added),
                    call: place,
                    result: None,
                });
            }
            BlockKind::Result => {
                let of = if id.is_empty() {
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

fn name<'t>(transcript: &'t Transcript<'_>, block: u32) -> Cow<'t, str> {
    let block = transcript.block(block);
    lossy(unescape(transcript.bytes(block.line, block.tool)))
}
