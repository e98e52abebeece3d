//! The texts of a transcript that a model reads, for expectations about them.
//!
//! Does not include headings, roles, tools or ids: these describe a message but are not its text.

use crate::batch::each_transcript;
use crate::diff::Source;
use crate::format::Warnings;
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, Transcript};

/// The texts of the live windows of a transcript.
pub(super) struct Texts(Vec<String>);

impl Texts {
    pub(super) fn of(source: Source<'_>) -> Self {
        let mut texts = Texts(Vec::new());
        each_transcript(source.bytes, source.layout, |bytes, first_line, _| {
            let read = source
                .format
                .read(bytes, first_line, &mut Warnings::default());
            for conversation in &read.conversations {
                let messages = conversation.messages.iter();
                for block in messages.flat_map(|message| conversation.blocks(message)) {
                    texts.add(&read, read.block(*block));
                }
            }
        });
        texts
    }

    /// Whether one of the texts contains `text`, ignoring differences in line endings.
    pub(super) fn hold(&self, text: &str) -> bool {
        let text = with_plain_ends(text.to_owned());
        self.0.iter().any(|said| said.contains(&text))
    }

    fn add(&mut self, transcript: &Transcript<'_>, block: &Block) {
        match block.kind {
            BlockKind::Text | BlockKind::Thinking | BlockKind::Result => {
                self.0
                    .push(with_plain_ends(transcript.block_text(block).into_owned()));
            }
            // As JSON has it, and as the tool reads it; some formats have JSON in a string.
            BlockKind::Call | BlockKind::Server | BlockKind::Attachment => {
                let content = transcript.bytes(block.line, block.content);
                let is_string = content.starts_with(b"\"");
                let once = unescape(content);
                let twice = is_string.then(|| unescape(&once));
                let all = [Some(content.into()), Some(once.clone()), twice];
                let all = all.into_iter().flatten();
                self.0.extend(
                    all.map(|text| with_plain_ends(String::from_utf8_lossy(&text).into_owned())),
                );
            }
            // A picture's bytes say nothing to a reader.
            BlockKind::Image | BlockKind::Document | BlockKind::Redacted | BlockKind::Other => {}
        }
    }
}

fn with_plain_ends(text: String) -> String {
    match text.contains('\r') {
        true => text.replace("\r\n", "\n"),
        false => text,
    }
}
