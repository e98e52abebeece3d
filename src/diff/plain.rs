//! A transcript as text for line-by-line comparison, as `git diff` shows it.
//!
//! Each message has a heading, followed by its text. There are no ids, times or links, and no line or message numbers, so that
//! earlier messages do not affect a message's text. Contains no terminal control sequences.

use crate::facts::Earlier;
use crate::format::{Format, Layout, Warnings};
use crate::scan::decoded;
use crate::text::printable;
use crate::transcript::{Block, BlockKind, Conversation, ConversationId, Transcript};

use super::{Source, parts};

/// Writes the live windows of a transcript, piece by piece.
pub fn plain(source: Source<'_>, earlier: &Earlier, mut write: impl FnMut(&str)) {
    let Source { format, .. } = source;
    for part in parts(source) {
        let transcript = read(format, part.bytes, part.first_line);
        for conversation in &transcript.conversations {
            let heading = match (source.layout, &conversation.id) {
                (Layout::Line, _) => Some("== conversation"),
                (Layout::File, ConversationId::Main) => None,
                (Layout::File, ConversationId::Sidechain(_) | ConversationId::Line(_)) => {
                    Some("== sidechain")
                }
            };
            if let Some(heading) = heading.filter(|_| !conversation.messages.is_empty()) {
                write(&format!("{heading}\n\n"));
            }
            messages(&transcript, conversation, earlier, &mut write);
        }
    }
}

fn read(format: Format, bytes: &[u8], first_line: u64) -> Transcript<'_> {
    format.read(bytes, first_line, &mut Warnings::default())
}

fn messages(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    earlier: &Earlier,
    write: &mut impl FnMut(&str),
) {
    use crate::facts::MessageOrigin::{Acknowledgement, Session, Summary};
    let origins = earlier.origins(transcript, conversation);
    for (message, origin) in conversation.messages.iter().zip(origins) {
        let role = message.role.name();
        let what = match origin {
            Summary => "summary",
            Acknowledgement | Session => role,
        };
        for block in conversation.blocks(message) {
            let block = transcript.block(*block);
            let name = decoded(transcript.bytes(block.line, block.tool));
            let tool = match name.is_empty() {
                true => String::new(),
                false => format!(" {}", printable(&name)),
            };
            let kind = match block.kind {
                BlockKind::Text => String::new(),
                BlockKind::Image
                | BlockKind::Document
                | BlockKind::Thinking
                | BlockKind::Redacted
                | BlockKind::Call
                | BlockKind::Result
                | BlockKind::Server
                | BlockKind::Attachment
                | BlockKind::Other => format!(" {}{tool}", block.kind.name()),
            };
            write(&format!("## {what}{kind}\n"));
            for line in block_text(transcript, block).lines() {
                write(&printable(line));
                write("\n");
            }
            write("\n");
        }
    }
}

/// The content of a block: its texts, or its JSON.
fn block_text(transcript: &Transcript<'_>, block: &Block) -> String {
    match block.kind {
        BlockKind::Text | BlockKind::Thinking | BlockKind::Result => {
            transcript.block_text(block).into_owned()
        }
        BlockKind::Call | BlockKind::Server | BlockKind::Attachment => {
            let content = transcript.bytes(block.line, block.content);
            String::from_utf8_lossy(content).into_owned()
        }
        // A picture's bytes say nothing to a reader.
        BlockKind::Image | BlockKind::Document | BlockKind::Redacted | BlockKind::Other => {
            String::new()
        }
    }
}
