//! What an earlier compaction has left in a conversation: a summary of ours, by its rows, or one that somebody wrote.

use super::form::{self, Row};
use crate::facts::said;
use crate::policy::Policy;
use crate::transcript::{BlockKind, Conversation, Marks, Message, Transcript};

/// An earlier summary.
pub(super) enum Earlier {
    /// In our form.
    Ours(Vec<Row>),
    /// In somebody's words.
    Prose(String),
}

/// The summary that `message` holds, if it holds one: the format says so, or it begins as those of `policy` do.
pub(super) fn read(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    policy: &Policy,
) -> Option<Earlier> {
    let line = conversation.first_line(message);
    let link = transcript.links().get(line as usize);
    let is_marked = link.is_some_and(|link| link.marks.has(Marks::SUMMARY));
    let before = policy.summary.text.prefix();
    let first = *conversation.blocks(message).first()?;
    let block = transcript.block(first);
    if block.kind != BlockKind::Text {
        return None;
    }
    let text = said(transcript, block);
    let begins_so = !before.trim().is_empty() && text.starts_with(before);
    if !is_marked && !begins_so {
        return None;
    }
    let rows = form::parse(&text);
    Some(if rows.is_empty() {
        Earlier::Prose(text.strip_prefix(before).unwrap_or(&text).to_owned())
    } else {
        Earlier::Ours(rows)
    })
}

/// Whether `message` only acknowledges a summary.
pub(super) fn is_acknowledgement(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    policy: &Policy,
) -> bool {
    let [block] = conversation.blocks(message) else {
        return false;
    };
    let block = transcript.block(*block);
    let ack = &policy.summary.ack;
    block.kind == BlockKind::Text && !ack.is_empty() && said(transcript, block) == *ack
}
