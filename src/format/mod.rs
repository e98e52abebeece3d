//! The formats: bytes of a line in, its record out; records in, conversations out.
//!
//! A closed enum and exhaustive matches: adding a format breaks the build in every place that must know. Each format is
//! one module with a `line` (what is on a line) and a `link` (which lines form a live window).
//!
//! Detection looks at content, never at names. What is not supported is named and left alone, never guessed at.

mod ai_sdk;
mod anthropic;
mod blocks;
mod claude_code;
mod codex;
mod compaction;
mod detect;
mod finish;
mod line;
mod openai;
mod pi;
mod removal;
mod usage;

use crate::ids::IdSet;
use crate::scan::{RawLine, lines};
use crate::transcript::{
    ChangeSet, Conversation, ConversationId, LineKind, Record, Replace, Transcript,
};

pub use claude_code::{MirrorCut, mirror_cuts};
pub use codex::SUMMARY_BEGINS;
pub use compaction::{Splice, Summary};
pub use detect::{Detected, Detector, Layout, Unsupported, unsupported};
pub use line::{LineWarning, WarningKind, Warnings};
pub(crate) use pi::{Kept as PiKept, Tree as PiTree};
pub use usage::Share;

/// A format that ctxpack reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Anthropic messages, one a line.
    Anthropic,
    /// OpenAI chat completions: one message a line, or one conversation a line.
    OpenAi,
    /// Claude Code session files.
    ClaudeCode,
    /// Codex CLI rollouts.
    Codex,
    /// pi session files, of all versions.
    Pi,
    /// Model messages of the Vercel AI SDK, one a line.
    AiSdk,
}

/// How a format writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summaries {
    /// As a message.
    Message(Opening),
    /// As a record of its own, which the user says and nobody acknowledges.
    Native,
}

/// Who may say a conversation's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The user alone.
    User,
    /// Anybody.
    Any,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] = [
        Format::Anthropic,
        Format::OpenAi,
        Format::ClaudeCode,
        Format::Codex,
        Format::Pi,
        Format::AiSdk,
    ];

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::OpenAi => "openai",
            Format::ClaudeCode => "claude-code",
            Format::Codex => "codex",
            Format::Pi => "pi",
            Format::AiSdk => "ai-sdk",
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

    /// Adds the next line of its bytes to a transcript; the conversations do not know of it until [`Format::link`].
    pub fn push<'a>(self, transcript: &mut Transcript<'a>, raw: RawLine, warnings: &mut Warnings) {
        warnings.line(raw);
        transcript.push_line(raw, |bytes, record| self.line(bytes, record, warnings));
    }

    /// The conversations as they were lived: in formats that record compactions, across these and without what they wrote.
    pub fn lived(self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => {
                vec![transcript.conversation_of_units(ConversationId::Main)]
            }
            Format::ClaudeCode => claude_code::lived(transcript),
            Format::Codex => codex::lived(transcript),
            Format::Pi => pi::lived(transcript),
        }
    }

    /// Drops what no model will see again; nothing in formats where every line is live.
    pub fn dead(self, transcript: &Transcript<'_>) -> ChangeSet {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => ChangeSet::default(),
            Format::ClaudeCode => claude_code::dead(transcript),
            Format::Codex => codex::dead(transcript),
            Format::Pi => pi::dead(transcript),
        }
    }

    /// Corrects the recorded figures that an agent would act on, where only this share of a conversation is left.
    pub fn corrected_usage(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        share: Share,
    ) -> Vec<Replace> {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => Vec::new(),
            Format::ClaudeCode => claude_code::corrected(transcript, conversation, share),
            Format::Codex => codex::corrected(transcript, share),
            Format::Pi => pi::corrected(transcript, conversation, share),
        }
    }

    /// Puts a summary, or nothing, in the place of the messages of a conversation before `tail` (from 0; the number of
    /// messages where none stays), but for system messages. `None` where its place cannot be marked.
    pub fn splice(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        tail: usize,
        summary: Option<Summary<'_>>,
    ) -> Option<Splice> {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => {
                let changes = compaction::splice(transcript, conversation, tail, summary);
                let begins = None;
                Some(Splice { changes, begins })
            }
            Format::ClaudeCode => claude_code::splice(transcript, conversation, tail, summary),
            Format::Codex => {
                let changes = codex::splice(transcript, tail, summary)?;
                let begins = None;
                Some(Splice { changes, begins })
            }
            Format::Pi => pi::splice(transcript, conversation, tail, summary),
        }
    }

    /// Takes blocks out of a conversation, and the messages that say nothing without them.
    pub fn without(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => {
                removal::without(transcript, blocks)
            }
            Format::ClaudeCode => claude_code::without(transcript, conversation, blocks),
            Format::Codex => codex::without(transcript, blocks),
            Format::Pi => pi::without(transcript, conversation, blocks),
        }
    }

    /// How a summary is written: as a record that the format has for it, or as a message like any other.
    pub fn summaries(self) -> Summaries {
        match self {
            Format::Anthropic => Summaries::Message(Opening::User),
            Format::OpenAi | Format::AiSdk => Summaries::Message(Opening::Any),
            Format::ClaudeCode | Format::Codex | Format::Pi => Summaries::Native,
        }
    }

    /// Reads one line: what is on it goes into its record.
    pub(crate) fn line(
        self,
        bytes: &[u8],
        record: &mut Record<'_, '_>,
        warnings: &mut Warnings,
    ) -> LineKind {
        let (kind, oddities) = line::read(bytes, warnings, |cursor| match self {
            Format::Anthropic => anthropic::line(cursor, record),
            Format::OpenAi => openai::line(cursor, record),
            Format::ClaudeCode => claude_code::line(cursor, record),
            Format::Codex => codex::line(cursor, record),
            Format::Pi => pi::line(cursor, record),
            Format::AiSdk => ai_sdk::line(cursor, record),
        });
        record.oddities(oddities);
        kind
    }

    /// Adds the messages of lines that were pushed since to the conversations; where every line is a message of its own, no
    /// more than these are looked at.
    pub fn extend(self, transcript: &mut Transcript<'_>) {
        match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => transcript.extend_by_units(),
            Format::ClaudeCode | Format::Codex | Format::Pi => self.link(transcript),
        }
    }

    /// Forms the conversations of the lines that are there.
    pub fn link(self, transcript: &mut Transcript<'_>) {
        transcript.conversations = match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => {
                vec![transcript.conversation_of_units(ConversationId::Main)]
            }
            Format::ClaudeCode => claude_code::link(transcript),
            Format::Codex => codex::link(transcript),
            Format::Pi => pi::link(transcript),
        };
    }
}

#[cfg(test)]
mod tests;
