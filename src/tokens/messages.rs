//! The sizes of messages: the parts around their blocks, and messages that are counted as a whole.
//!
//! Never measures a block: that is done in `blocks`.

use super::blocks::is_bare;
use super::lengths::Lengths;
use super::{BlockLengths, Estimator, Measure, Size, in_units, json};
use crate::policy::{Images, Scope};
use crate::transcript::{Block, BlockKind, Conversation, Message, Role, Transcript};

impl Estimator {
    /// The size of a message whose content is the string `text`.
    pub fn message(&self, role: Role, text: &str) -> Size {
        let role = role.name();
        let measure = match self.settings.scope {
            Scope::Content | Scope::Strings => self.plain(text),
            Scope::RoleContent => self.plain(role) + self.plain(text),
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr => {
                let mut json = format!("{{\"role\":\"{role}\",\"content\":").into_bytes();
                let begins = json.len();
                crate::text::push_json_string(&mut json, text);
                json.push(b'}');
                match self.measure {
                    _ if self.settings.scope == Scope::HistoryRepr => self.json(&json),
                    Measure::Bpe(_) => self.raw(&json),
                    // In parts, as messages of a transcript are measured.
                    Measure::Chars(_) | Measure::Classes => {
                        let quoted = json.drain(begins..json.len() - 1);
                        let quoted: Vec<u8> = quoted.collect();
                        self.raw(&json) + self.raw(&quoted)
                    }
                }
            }
        };
        Size { measure, flat: 0 }
    }

    /// The size of a message besides its blocks: nothing, a role, or JSON braces.
    pub(super) fn around(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> u64 {
        let count = conversation.blocks(message).len() as u64;
        let list = if is_whole(transcript, conversation, message) {
            0
        } else {
            2 + count.saturating_sub(1)
        };
        let role = message.role.name();
        match self.settings.scope {
            Scope::Content | Scope::Strings => 0,
            Scope::RoleContent => self.plain(role) + list * self.plain(","),
            Scope::MessageJson | Scope::HistoryJson if !message.object.is_empty() => {
                let line = conversation.first_line(message);
                let frame = json::frame(transcript.bytes(line, message.object));
                // A list that is the whole value of a result already includes its brackets.
                let blocks = conversation.blocks(message).iter();
                let is_list = |block: &Block| {
                    block.kind == BlockKind::Result
                        && transcript.bytes(block.line, block.value).starts_with(b"[")
                };
                let lists = blocks.filter(|b| is_list(transcript.block(**b))).count() as u64;
                (self.raw(&frame) + commas(transcript, conversation, message) * self.plain(","))
                    .saturating_sub(lists * self.raw(b"[]"))
            }
            Scope::MessageJson | Scope::HistoryJson => {
                self.plain(&format!("{{\"role\":\"{role}\",\"content\":}}"))
                    + list * self.plain(",")
            }
            // Such a message is counted as a whole: see `joined`.
            Scope::HistoryRepr => 0,
        }
    }

    /// The size of a message that is counted as a whole: tokens of JSON extend across quotes and brackets, so the sum of its blocks
    /// would be about three tokens too high for each block; and Python uses its own separators.
    pub(super) fn joined(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
        lengths: &mut BlockLengths,
    ) -> Option<u64> {
        match (self.measure, self.settings.scope) {
            (_, Scope::HistoryRepr)
            | (Measure::Bpe(_), Scope::MessageJson | Scope::HistoryJson) => {}
            (Measure::Chars(_) | Measure::Classes, Scope::MessageJson | Scope::HistoryJson)
            | (_, Scope::Content | Scope::Strings | Scope::RoleContent) => return None,
        }
        if let (Measure::Chars(unit), Images::Written) = (self.measure, self.settings.images) {
            let lengths = printed(transcript, conversation, message, lengths);
            return Some(in_units(lengths.python, unit));
        }
        if !message.object.is_empty() {
            let line = conversation.first_line(message);
            let object = json::members(transcript.bytes(line, message.object));
            return Some(self.pictured(&object));
        }
        let is_string = is_whole(transcript, conversation, message);
        let role = message.role.name();
        let mut json = format!("{{\"role\":\"{role}\",\"content\":").into_bytes();
        if !is_string {
            json.push(b'[');
        }
        for (n, block) in conversation.blocks(message).iter().enumerate() {
            if n > 0 {
                json.push(b',');
            }
            let block = transcript.block(*block);
            let is_picture = matches!(block.kind, BlockKind::Image | BlockKind::Document);
            if !is_picture || self.writes_pictures() {
                json.extend(json::compact(transcript.bytes(block.line, block.value)));
            }
        }
        json.extend_from_slice(if is_string { b"}" } else { b"]}" });
        Some(self.pictured(&json))
    }
}

/// The length of a message written as a whole, with its pictures.
fn printed(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    known: &mut BlockLengths,
) -> Lengths {
    let blocks = conversation.blocks(message);
    if !message.object.is_empty() {
        let place = (conversation.first_line(message), message.object);
        return known.of_message(transcript, place, blocks);
    }
    let role = message.role.name();
    let mut lengths = Lengths::of(format!("{{\"role\":\"{role}\",\"content\":}}").as_bytes());
    if !is_whole(transcript, conversation, message) {
        lengths += Lengths::of(b"[]");
    }
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 {
            lengths += Lengths::of(b",");
        }
        lengths += known.of(transcript, *block);
    }
    lengths
}

/// Whether a message's content is a single block, mostly a bare string, rather than a list of blocks.
fn is_whole(transcript: &Transcript<'_>, conversation: &Conversation, message: &Message) -> bool {
    let [block] = conversation.blocks(message) else {
        return false;
    };
    let block = transcript.block(*block);
    is_bare(block) || block.kind == BlockKind::Result && block.value == block.content
}

/// The number of commas between the blocks of a single-line message: in its content, and in its calls.
fn commas(transcript: &Transcript<'_>, conversation: &Conversation, message: &Message) -> u64 {
    let (start, end) = (message.content.start, message.content.end());
    let is_in = |block: &&u32| {
        let value = transcript.block(**block).value;
        value.start > start && value.end() < end
    };
    let is_call = |block: &&u32| transcript.block(**block).kind == BlockKind::Call;
    let blocks = || conversation.blocks(message).iter();
    let between = |count: usize| count.saturating_sub(1) as u64;
    let calls = blocks().filter(|block| is_call(block) && !is_in(block));
    between(blocks().filter(is_in).count()) + between(calls.count())
}
