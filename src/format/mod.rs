//! The formats: bytes of a line in, its record out; records in, conversations out.
//!
//! A closed enum and exhaustive matches: adding a format breaks the build in every place that must know. Each format is
//! one module with a `line` (what is on a line) and a `link` (which lines form a live window).
//!
//! Detection looks at content, never at names. What is not supported is named and left alone, never guessed at.

mod anthropic;
mod blocks;
mod claude_code;
mod detect;
mod line;
mod openai;
mod usage;

use std::collections::{BTreeMap, BTreeSet};

use crate::scan::{RawLine, lines};
use crate::transcript::{Conversation, ConversationId, LineKind, Record, Transcript};

pub use claude_code::{Dead, Figure, MirrorCut, Relink, mirror_cuts};
pub use detect::{Detected, Detector, Layout};
pub use line::{LineWarning, WarningKind, Warnings};

/// A format that ctxpack reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Anthropic messages, one a line.
    Anthropic,
    /// OpenAI chat completions: one message a line, or one conversation a line.
    OpenAi,
    /// Claude Code session files.
    ClaudeCode,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Anthropic, Format::OpenAi, Format::ClaudeCode];

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::OpenAi => "openai",
            Format::ClaudeCode => "claude-code",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Reads a whole transcript. `first_line` is the number (from 1) of its first line in its file.
    pub fn read<'a>(
        self,
        bytes: &'a [u8],
        first_line: u64,
        warnings: &mut Warnings,
    ) -> Transcript<'a> {
        let mut transcript = Transcript::new(bytes);
        warnings.begin(bytes, first_line);
        for raw in lines(bytes) {
            self.push(&mut transcript, raw, warnings);
        }
        self.link(&mut transcript);
        transcript
    }

    fn push<'a>(self, transcript: &mut Transcript<'a>, raw: RawLine, warnings: &mut Warnings) {
        warnings.line(raw);
        transcript.push_line(raw, |bytes, record| self.line(bytes, record, warnings));
    }

    /// What of a transcript no model will see again; nothing in formats where every line is live.
    pub fn dead(self, transcript: &Transcript<'_>) -> Dead {
        match self {
            Format::Anthropic | Format::OpenAi => Dead::default(),
            Format::ClaudeCode => claude_code::dead(transcript),
        }
    }

    /// Recorded figures that an agent would act on, after `saved` tokens have left a conversation.
    pub fn corrected_usage(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        saved: u64,
    ) -> Vec<Figure> {
        match self {
            Format::Anthropic | Format::OpenAi => Vec::new(),
            Format::ClaudeCode => claude_code::corrected(transcript, conversation, saved),
        }
    }

    /// Gives lines new bytes, takes others out, reads the new ones and forms the conversations again.
    pub fn edit(
        self,
        transcript: &mut Transcript<'_>,
        new: BTreeMap<u32, Vec<u8>>,
        dropped: &BTreeSet<u32>,
    ) {
        // The new bytes are made of read bytes and JSON strings; what was odd in them has been said.
        let mut said = Warnings::default();
        transcript.drop_lines(dropped);
        transcript.replace_lines(new, |bytes, record| self.line(bytes, record, &mut said));
        self.link(transcript);
    }

    fn line(self, bytes: &[u8], record: &mut Record<'_, '_>, warnings: &mut Warnings) -> LineKind {
        let (kind, oddities) = line::read(bytes, warnings, |cursor| match self {
            Format::Anthropic => anthropic::line(cursor, record),
            Format::OpenAi => openai::line(cursor, record),
            Format::ClaudeCode => claude_code::line(cursor, record),
        });
        record.oddities(oddities);
        kind
    }

    fn link(self, transcript: &mut Transcript<'_>) {
        transcript.conversations = match self {
            Format::Anthropic | Format::OpenAi => {
                vec![transcript.conversation_of_units(ConversationId::Main)]
            }
            Format::ClaudeCode => claude_code::link(transcript),
        };
    }
}

#[cfg(test)]
mod tests;
