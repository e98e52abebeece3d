//! A transcript of any format as messages of a provider's API, one conversation a line, for training and analysis.
//!
//! The output is what a model would see: the live windows of a transcript. Texts, calls with their arguments, results and their
//! order are the transcript's own; strings are copied as written. Anything that the target cannot hold or the provider would reject
//! is counted as a [`Loss`]; nothing is made up. Metadata of a session or a message (times, models, usage, message ids) is left
//! out.
//!
//! Never reads a file and never compacts: the caller passes the bytes of a result.

mod anthropic;
mod chat;
mod ids;
mod json;
mod loss;
mod media;
mod pairs;
mod said;

pub use loss::{Loss, Losses};
pub(crate) use media::anthropic_media;

use crate::format::{Format, Layout, Unsent, Warnings};
use crate::ids::IdSet;
use crate::scan::{BOM, Cursor, Kind};
use crate::transcript::{ConversationId, LineKind, Transcript};

/// Which messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Messages {
    /// Messages of OpenAI's Chat Completions.
    Chat,
    /// Messages of Anthropic's Messages API.
    Anthropic,
}

/// An emitted conversation.
#[derive(Debug)]
pub struct Emitted {
    /// The id of the conversation in the transcript.
    pub id: ConversationId,
    /// The line, including its line end; empty if nothing is left of the conversation.
    pub line: Vec<u8>,
    /// The number of its messages.
    pub messages: u64,
    /// What could not be emitted.
    pub losses: Losses,
}

/// Emits the conversations of a transcript. `layout` states whether the bytes are a file or one conversation of a file.
pub fn emit(format: Format, bytes: &[u8], layout: Layout, messages: Messages) -> Vec<Emitted> {
    let transcript = format.read(bytes, 1, &mut Warnings::default());
    let mut emitted: Vec<Emitted> = transcript
        .conversations
        .iter()
        .map(|conversation| {
            let mut losses = Losses::default();
            let mut items = said::items(&transcript, conversation, &mut losses);
            if layout == Layout::Line && !transcript.lines().is_empty() {
                items.splice(0..0, said::beside(transcript.line(0)));
            }
            let said = pairs::paired(items, &mut losses);
            let written = match messages {
                Messages::Chat => chat::line(&said, &mut losses),
                Messages::Anthropic => anthropic::line(&said, &mut losses),
            };
            let (line, messages) = written.unwrap_or_default();
            Emitted {
                id: conversation.id.clone(),
                line,
                messages,
                losses,
            }
        })
        .collect();
    // Losses outside of all conversations are counted with the first one.
    if let Some(first) = emitted.first_mut() {
        outside(&transcript, &mut first.losses);
        let mut unsent = |what, times| {
            let loss = match what {
                Unsent::Instructions => Loss::Instructions,
                Unsent::Thinking => Loss::Thinking,
                Unsent::Answer => Loss::DeadLine,
            };
            first.losses.add(loss, times);
        };
        format.dialect().unsent(&transcript, &mut unsent);
        if layout == Layout::Line {
            first.losses.add(Loss::Field, fields_beside(bytes));
        }
    }
    emitted
}

/// Counts the lines that belong to no conversation although they may have content.
fn outside(transcript: &Transcript<'_>, losses: &mut Losses) {
    let live: IdSet<u32> = transcript
        .conversations
        .iter()
        .flat_map(|conversation| conversation.all_lines())
        .copied()
        .collect();
    for (line, number) in transcript.lines().iter().zip(0..) {
        let loss = match line.kind {
            LineKind::Message if !live.contains(&number) => Loss::DeadLine,
            LineKind::Unknown => Loss::UnknownLine,
            LineKind::Bad if !is_blank(transcript.line(number)) => Loss::BadLine,
            LineKind::Message
            | LineKind::Mirror
            | LineKind::Control
            | LineKind::Session
            | LineKind::Bad => continue,
        };
        losses.add(loss, 1);
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.strip_prefix(BOM)
        .unwrap_or(line)
        .trim_ascii()
        .is_empty()
}

/// The number of keys next to the messages of a conversation on one line.
fn fields_beside(line: &[u8]) -> u64 {
    let mut others = 0;
    let mut cursor = Cursor::new(line.strip_prefix(BOM).unwrap_or(line));
    // An unreadable line is counted as such.
    let _ = cursor.object(|key, c| {
        let kind = c.kind()?;
        let is_read = match key {
            b"messages" => kind == Kind::Array,
            b"system" => matches!(kind, Kind::String | Kind::Array),
            _ => false,
        };
        others += u64::from(!is_read);
        c.skip().map(drop)
    });
    others
}
