//! The formats: they turn the bytes of a line into its record, and records into conversations.
//!
//! A closed enum with one match, `Format::dialect`. What depends on the format is a method of its `Dialect`; all code of a
//! format is in one folder of `dialect`. Code that several formats share is in `shapes` and belongs to none of them.
//!
//! Detection looks at content, never at file names. An unsupported format is reported and not processed; nothing is guessed.

pub mod agent;
mod detect;
mod dialect;
mod finish;
mod line;
mod parts;
mod shapes;
mod unsent;
mod usage;

use crate::scan::{Eol, NO_STRINGS, RawLine, Strings, Text, document, lines};
use crate::transcript::{ChangeSet, Conversation, LineKind, Record, Transcript};
use crate::verify::{Finding, Findings};

pub use detect::{Detected, Detector, Fit, Layout, Unsupported, may_be_document, unsupported};
pub use dialect::codex::SUMMARY_BEGINS;
pub(crate) use dialect::{Dialect, Plain, ToolNames};
pub use line::{LineWarning, WarningKind, Warnings};
use parts::PART;
pub use shapes::mirror::{MirrorCut, mirror_cuts};
pub use shapes::splice::{Splice, Summary};
pub(crate) use unsent::Unsent;
pub use usage::Share;

/// A format that ctxpack reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Anthropic messages, one per line.
    Anthropic,
    /// OpenAI chat completions: one message or one conversation per line.
    OpenAi,
    /// Claude Code session files.
    ClaudeCode,
    /// Codex CLI rollouts.
    Codex,
    /// pi session files, of all versions.
    Pi,
    /// Model messages of the Vercel AI SDK, one per line.
    AiSdk,
    /// Session logs of GitHub Copilot CLI.
    Copilot,
    /// Session files of Gemini CLI.
    Gemini,
    /// The event log of Gemini CLI (`stream-json`); read only.
    GeminiStream,
    /// Session files of Qwen Code.
    Qwen,
    /// Session files of Factory Droid.
    Droid,
    /// Session files of Kimi Code.
    Kimi,
    /// Sessions that opencode exported, one document each.
    OpenCode,
    /// Sessions of Cline, one document each.
    Cline,
    /// The event log of Claude Code (`stream-json`); read only.
    ClaudeStream,
}

/// How a format writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summaries {
    /// As a message.
    Message(Opening),
    /// As a record of its own, which counts as a user message and has no acknowledgement.
    Native,
}

/// Who may send a conversation's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Only the user.
    User,
    /// Anyone.
    Any,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 15] = [
        Format::Anthropic,
        Format::OpenAi,
        Format::ClaudeCode,
        Format::Codex,
        Format::Pi,
        Format::AiSdk,
        Format::Copilot,
        Format::Gemini,
        Format::GeminiStream,
        Format::Qwen,
        Format::Droid,
        Format::Kimi,
        Format::OpenCode,
        Format::Cline,
        Format::ClaudeStream,
    ];

    /// The format's dialect: the only place where formats are distinguished.
    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Format::Anthropic => &dialect::anthropic::Anthropic,
            Format::OpenAi => &dialect::openai::OpenAi,
            Format::ClaudeCode => &dialect::claude_code::ClaudeCode,
            Format::Codex => &dialect::codex::Codex,
            Format::Pi => &dialect::pi::Pi,
            Format::AiSdk => &dialect::ai_sdk::AiSdk,
            Format::Copilot => &dialect::copilot::Copilot,
            Format::Gemini => &dialect::gemini::Gemini,
            Format::GeminiStream => &dialect::gemini_stream::GeminiStream,
            Format::Qwen => &dialect::qwen::Qwen,
            Format::Droid => &dialect::droid::Droid,
            Format::OpenCode => &dialect::opencode::OpenCode,
            Format::Cline => &dialect::cline::Cline,
            Format::Kimi => &dialect::kimi::Kimi,
            Format::ClaudeStream => &dialect::claude_stream::ClaudeStream,
        }
    }

    /// The formats whose transcripts are compacted.
    pub fn compacted() -> Vec<Format> {
        let mut formats = Format::ALL.to_vec();
        formats.retain(|format| format.is_compacted());
        formats
    }

    /// Whether its transcripts are compacted, rather than only read.
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

    /// The agent that takes sessions from its documents, if it keeps them in a database.
    pub fn importer(self) -> Option<&'static dyn agent::Importer> {
        self.dialect().importer()
    }

    /// The formats that have an agent which continues sessions from their files.
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
        self.read_again(bytes, &NO_STRINGS, first_line, warnings)
    }

    /// The same for bytes that were already scanned for detection; `strings` are the long strings found then.
    pub fn read_again<'a>(
        self,
        bytes: &'a [u8],
        strings: &Strings,
        first_line: u64,
        warnings: &mut Warnings,
    ) -> Transcript<'a> {
        let mut transcript = Transcript::new(bytes);
        warnings.begin(bytes, first_line);
        let units = match self.dialect().may_be_document() {
            true => document(bytes).ok(),
            false => None,
        };
        match units {
            Some(units) => units
                .into_iter()
                .for_each(|unit| self.push(&mut transcript, unit, warnings)),
            None if transcript.is_shared() => {
                self.push_parts(&mut transcript, strings, PART, warnings);
            }
            None => lines(bytes).for_each(|raw| {
                let strings = strings.of_line(raw.start);
                self.push_known(&mut transcript, raw, strings, warnings);
            }),
        }
        self.link(&mut transcript);
        if let Some(spared) = transcript.spared() {
            warnings.spared(spared, first_line);
        }
        transcript
    }

    /// Adds the next line to a transcript. The line is in no conversation until [`Format::extend`] or [`Format::link`] is called.
    pub fn push<'a>(self, transcript: &mut Transcript<'a>, raw: RawLine, warnings: &mut Warnings) {
        self.push_known(transcript, raw, &[], warnings);
    }

    fn push_known<'a>(
        self,
        transcript: &mut Transcript<'a>,
        raw: RawLine,
        strings: &[Text],
        warnings: &mut Warnings,
    ) {
        warnings.line(raw);
        transcript.push_line(raw, |bytes, record| {
            self.known_line(bytes, strings, record, warnings)
        });
    }

    /// The conversations as they would be if nothing had been compacted.
    pub fn full_history(self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        self.marked(transcript, self.dialect().full_history(transcript))
    }

    /// Drops the lines that no model will see again, or none if some of them may still be needed.
    pub fn dead(self, transcript: &Transcript<'_>) -> ChangeSet {
        match transcript.spared() {
            Some(_) => ChangeSet::default(),
            None => self.dialect().dead(transcript),
        }
    }

    /// The findings in a history, conversation by conversation.
    pub fn verify(self, transcript: &Transcript<'_>) -> Vec<Finding> {
        let dialect = self.dialect();
        let mut findings = Findings::new(transcript, dialect.provider());
        dialect.check(&mut findings);
        findings.finish()
    }

    /// Reads one line and adds its content to its record.
    pub(crate) fn line(
        self,
        bytes: &[u8],
        record: &mut Record<'_, '_>,
        warnings: &mut Warnings,
    ) -> LineKind {
        self.known_line(bytes, &[], record, warnings)
    }

    fn known_line(
        self,
        bytes: &[u8],
        strings: &[Text],
        record: &mut Record<'_, '_>,
        warnings: &mut Warnings,
    ) -> LineKind {
        let dialect = self.dialect();
        let before = record.block_mark();
        let (kind, anomalies) = match record.eol() {
            Eol::Frame | Eol::Within => line::frame(bytes, warnings),
            Eol::Lf | Eol::CrLf | Eol::None | Eol::Element => {
                line::read((bytes, strings), warnings, |c| dialect.line(c, record))
            }
        };
        record.anomalies(anomalies);
        if kind == LineKind::Unknown || kind == LineKind::Message && record.reads_nothing(before) {
            warnings.unknown(bytes);
        }
        kind
    }

    /// Adds the messages of lines pushed since the last call to the conversations. If every message of the format is live, only
    /// these lines are looked at.
    pub fn extend(self, transcript: &mut Transcript<'_>) {
        if self.dialect().every_message_is_live() {
            transcript.extend_by_units();
        } else {
            self.link(transcript);
        }
    }

    /// Builds the conversations from all lines.
    pub fn link(self, transcript: &mut Transcript<'_>) {
        let conversations = self.dialect().conversations(transcript);
        transcript.conversations = self.marked(transcript, conversations);
    }

    /// Notes how summaries are told in conversations.
    fn marked(
        self,
        transcript: &Transcript<'_>,
        mut conversations: Vec<Conversation>,
    ) -> Vec<Conversation> {
        let marks = self.dialect().summary_marks(transcript);
        for conversation in &mut conversations {
            conversation.marks = marks;
        }
        conversations
    }
}

#[cfg(test)]
mod tests;
