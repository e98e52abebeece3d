//! The formats: bytes of a line in, its record out; records in, conversations out.
//!
//! A closed enum with one match, [`Format::dialect`]. What depends on the format is a question that its [`Dialect`] answers;
//! all that a format needs is in one folder of `dialect`. What several of them need is in `shapes`, owned by none.
//!
//! Detection looks at content, never at names. What is not supported is named and left alone, never guessed at.

mod claude_code;
mod codex;
mod compaction;
mod detect;
mod dialect;
mod finish;
mod line;
mod pi;
mod removal;
mod shapes;
mod usage;

use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, RawLine, lines};
use crate::transcript::{
    ChangeSet, Conversation, ConversationId, LineKind, Link, Message, Record, Replace, Transcript,
};
use crate::verify::{Finding, Findings, Provider};
use detect::{Line, Part, Sign};

pub use claude_code::{MirrorCut, mirror_cuts};
pub use codex::SUMMARY_BEGINS;
pub use compaction::{Splice, Summary};
pub use detect::{Detected, Detector, Layout, Unsupported, unsupported};
pub use line::{LineWarning, WarningKind, Warnings};
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

/// What is known of a format. The defaults are those of a format where every line is a message that a model sees.
pub(crate) trait Dialect: Sync {
    /// The name that flags and reports use.
    fn name(&self) -> &'static str;

    /// By what a line of its own is known, in formats with an envelope.
    fn sign<'a>(&self, _line: &Line<'a>) -> Option<Sign<'a>> {
        None
    }

    /// Whether its reader understands a part of a message.
    fn understands(&self, _part: Part<'_>) -> bool {
        false
    }

    /// Whether messages of `"type": "message"` without an envelope may be its, in a file that has others of its lines.
    fn writes_bare_items(&self) -> bool {
        false
    }

    /// Reads the object at the cursor, a whole line, and adds what is on it to its record.
    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind>;

    /// Whether a model sees every message, in the order of the file, each of them an object of its own.
    fn every_message_is_live(&self) -> bool {
        true
    }

    /// What a model would see now: a live window each.
    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![transcript.conversation_of_units(ConversationId::Main)]
    }

    /// The conversations as they would be had nothing been compacted: across recorded compactions, without what these
    /// wrote.
    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        self.conversations(transcript)
    }

    /// Whether a line records a compaction, or what one has written.
    fn is_compaction(&self, _link: &Link) -> bool {
        false
    }

    /// How a summary is written.
    fn summaries(&self) -> Summaries;

    /// Whether its agent acts on what a provider has counted, as the file records it.
    fn acts_on_usage(&self) -> bool {
        false
    }

    /// The tokens of the request that an answer belongs to, as the provider counted them; `None` where nothing is recorded.
    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        let mut lines = conversation.lines(answer).iter().rev();
        lines.find_map(|line| usage::of_message(transcript.bytes(*line, answer.object)))
    }

    /// The string under one of these keys of an answer, the last of them that is there.
    fn answer_value(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
        keys: &[&[u8]],
    ) -> Option<String> {
        let line = *conversation.lines(answer).last()?;
        finish::string_of(transcript.bytes(line, answer.object), keys)
    }

    /// The model that gave an answer.
    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        self.answer_value(transcript, conversation, answer, &[b"model"])
    }

    /// The model of the last answer before a conversation, where none of its own is left.
    fn model_before(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        None
    }

    /// Whose words tell what rule is broken; `None` where that may change within a transcript, or is not known.
    fn provider(&self) -> Option<Provider> {
        None
    }

    /// Holds a transcript against the rules of its provider and of its agent.
    fn check(&self, findings: &mut Findings<'_, '_>);

    /// The names of its agent's tools.
    fn tools(&self) -> ToolNames {
        ToolNames::default()
    }

    /// The format of the plain lines that [`Dialect::push_plain`] writes.
    fn plain(&self) -> Format {
        Format::Anthropic
    }

    /// Writes a message as a plain line of its own, without the line's end.
    fn push_plain(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
        out: &mut Vec<u8>,
    ) {
        let line = conversation.first_line(message);
        out.extend_from_slice(transcript.bytes(line, message.object));
    }
}

/// The names of an agent's tools, by what they do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ToolNames {
    /// Run a command.
    pub(crate) shell: &'static [&'static str],
    /// Read a file.
    pub(crate) read: &'static [&'static str],
    /// Write a whole file.
    pub(crate) write: &'static [&'static str],
    /// Change a part of a file.
    pub(crate) edit: &'static [&'static str],
    /// Look for files or in them.
    pub(crate) search: &'static [&'static str],
    /// Fetch or search the web.
    pub(crate) web: &'static [&'static str],
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

    /// What is known of it: the one place where formats are told apart.
    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Format::Anthropic => &dialect::anthropic::Anthropic,
            Format::OpenAi => &dialect::openai::OpenAi,
            Format::ClaudeCode => &claude_code::ClaudeCode,
            Format::Codex => &codex::Codex,
            Format::Pi => &pi::Pi,
            Format::AiSdk => &dialect::ai_sdk::AiSdk,
        }
    }

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        self.dialect().name()
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

    /// The conversations as they were before any recorded compaction: see [`Dialect::full_history`].
    pub fn full_history(self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        self.dialect().full_history(transcript)
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

    /// What is wrong with a history, conversation by conversation.
    pub fn verify(self, transcript: &Transcript<'_>) -> Vec<Finding> {
        let dialect = self.dialect();
        let mut findings = Findings::new(transcript, dialect.provider());
        dialect.check(&mut findings);
        findings.finish()
    }

    /// How a summary is written: see [`Dialect::summaries`].
    pub fn summaries(self) -> Summaries {
        self.dialect().summaries()
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
