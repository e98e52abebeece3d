//! The formats: bytes of a line in, its record out; records in, conversations out.
//!
//! A closed enum with one match, `Format::dialect`. What depends on the format is a question that its `Dialect` answers;
//! all that a format needs is in one folder of `dialect`. What several of them need is in `shapes`, owned by none.
//!
//! Detection looks at content, never at names. What is not supported is named and left alone, never guessed at.

pub mod agent;
mod detect;
mod dialect;
mod finish;
mod line;
mod shapes;
mod usage;

use crate::scan::{RawLine, lines};
use crate::transcript::{ChangeSet, Conversation, LineKind, Record, Transcript};
use crate::verify::{Finding, Findings};

pub use detect::{Detected, Detector, Layout, Unsupported, unsupported};
pub use dialect::codex::SUMMARY_BEGINS;
pub(crate) use dialect::{Dialect, ToolNames};
pub use line::{LineWarning, WarningKind, Warnings};
pub use shapes::mirror::{MirrorCut, mirror_cuts};
pub use shapes::splice::{Splice, Summary};
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
    /// The event log of Gemini CLI (`stream-json`); only read.
    GeminiStream,
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
    pub const ALL: [Format; 7] = [
        Format::Anthropic,
        Format::OpenAi,
        Format::ClaudeCode,
        Format::Codex,
        Format::Pi,
        Format::AiSdk,
        Format::GeminiStream,
    ];

    /// What is known of it: the one place where formats are told apart.
    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Format::Anthropic => &dialect::anthropic::Anthropic,
            Format::OpenAi => &dialect::openai::OpenAi,
            Format::ClaudeCode => &dialect::claude_code::ClaudeCode,
            Format::Codex => &dialect::codex::Codex,
            Format::Pi => &dialect::pi::Pi,
            Format::AiSdk => &dialect::ai_sdk::AiSdk,
            Format::GeminiStream => &dialect::gemini_stream::GeminiStream,
        }
    }

    /// Those whose transcripts are compacted.
    pub fn compacted() -> Vec<Format> {
        let mut formats = Format::ALL.to_vec();
        formats.retain(|format| format.is_compacted());
        formats
    }

    /// Whether its transcripts are compacted, and not only read.
    pub fn is_compacted(self) -> bool {
        self.dialect().is_compacted()
    }

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        self.dialect().name()
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The agent that continues sessions from its files.
    pub fn agent(self) -> Option<&'static dyn agent::Agent> {
        self.dialect().agent()
    }

    /// Those that an agent continues sessions from.
    pub fn of_agents() -> Vec<Format> {
        let mut formats = Format::ALL.to_vec();
        formats.retain(|format| format.agent().is_some());
        formats
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

    /// The conversations as they would be had nothing been compacted.
    pub fn full_history(self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        self.dialect().full_history(transcript)
    }

    /// Drops what no model will see again.
    pub fn dead(self, transcript: &Transcript<'_>) -> ChangeSet {
        self.dialect().dead(transcript)
    }

    /// What is wrong with a history, conversation by conversation.
    pub fn verify(self, transcript: &Transcript<'_>) -> Vec<Finding> {
        let dialect = self.dialect();
        let mut findings = Findings::new(transcript, dialect.provider());
        dialect.check(&mut findings);
        findings.finish()
    }

    /// Reads one line: what is on it goes into its record.
    pub(crate) fn line(
        self,
        bytes: &[u8],
        record: &mut Record<'_, '_>,
        warnings: &mut Warnings,
    ) -> LineKind {
        let dialect = self.dialect();
        let (kind, oddities) = line::read(bytes, warnings, |c| dialect.line(c, record));
        record.oddities(oddities);
        kind
    }

    /// Adds the messages of lines that were pushed since to the conversations; where every line is a message of its own, no
    /// more than these are looked at.
    pub fn extend(self, transcript: &mut Transcript<'_>) {
        if self.dialect().every_message_is_live() {
            transcript.extend_by_units();
        } else {
            self.link(transcript);
        }
    }

    /// Forms the conversations of the lines that are there.
    pub fn link(self, transcript: &mut Transcript<'_>) {
        transcript.conversations = self.dialect().conversations(transcript);
    }
}

#[cfg(test)]
mod tests;
