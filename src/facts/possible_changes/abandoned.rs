//! The calls of turns that the session has gone back on: rolled back, rewound, or on another branch.
//!
//! No agent takes back what such calls did to files. Takes each for one that ran, whatever its result says.

use std::cell::OnceCell;

use super::super::exchanges::{Exchange, FactLocation, name};
use super::super::input::Input;
use super::super::tools::recognised;
use crate::ids::IdSet;
use crate::policy::Tools;
use crate::transcript::{BlockKind, Conversation, LineKind, Transcript};

/// The calls of all conversations of a transcript: their lines, and their ids, under which a line may come again.
struct Live<'t> {
    lines: IdSet<u32>,
    ids: IdSet<&'t [u8]>,
}

impl<'t> Live<'t> {
    fn of(transcript: &'t Transcript<'_>) -> Self {
        let mut live = Live {
            lines: IdSet::default(),
            ids: IdSet::default(),
        };
        let blocks = transcript.conversations.iter().flat_map(|c| c.all_blocks());
        for (_, block) in blocks {
            let block = transcript.block(block);
            if block.kind == BlockKind::Call {
                live.lines.insert(block.line);
                live.ids.insert(transcript.bytes(block.line, block.call_id));
            }
        }
        live
    }

    fn has(&self, transcript: &Transcript<'_>, call: u32) -> bool {
        let call = transcript.block(call);
        let id = transcript.bytes(call.line, call.call_id);
        self.lines.contains(&call.line) || !id.is_empty() && self.ids.contains(id)
    }
}

/// The calls on lines after the beginning of a conversation that no conversation contains any more, each as if it stood behind the
/// message before it.
pub(super) fn calls(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Exchange> {
    let own: IdSet<u32> = conversation.all_lines().iter().copied().collect();
    let (Some(first), Some(last)) = (own.iter().min(), own.iter().max()) else {
        return Vec::new();
    };
    let end = match transcript.conversations.len() {
        1 => transcript.lines().len() as u32,
        // What is behind the last line may belong to any of them.
        _ => last + 1,
    };
    let live: OnceCell<Live<'_>> = OnceCell::new();
    let is_gone = |block: &u32| {
        transcript.block(*block).kind == BlockKind::Call
            && !live
                .get_or_init(|| Live::of(transcript))
                .has(transcript, *block)
    };
    let is_other = |line: &u32| {
        transcript.lines()[*line as usize].kind == LineKind::Message && !own.contains(line)
    };
    let blocks = (*first..end)
        .filter(is_other)
        .flat_map(|line| transcript.blocks_of_line(line));
    let call = |block: u32| {
        let line = transcript.block(block).line;
        let messages = &conversation.messages;
        let after = messages.partition_point(|message| conversation.first_line(message) < line);
        let input = || Input::of(transcript, transcript.block(block));
        let (kind, basis) = recognised(&name(transcript, block), input, &Tools::default());
        Exchange {
            kind,
            basis,
            call: FactLocation {
                message: after.saturating_sub(1) as u32,
                line,
                block,
            },
            result: None,
            inner: None,
            looks: Vec::new(),
        }
    };
    blocks.filter(is_gone).map(call).collect()
}
