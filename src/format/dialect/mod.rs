//! One folder per format, with what is specific to it; [`Dialect`] is its interface.
//!
//! No code here compares format names. A new format is a folder, a variant of [`Format`] and its line in [`Format::dialect`]; only
//! detection, which has to tell formats apart, knows several at once (`detect/`).

pub(super) mod ai_sdk;
pub(super) mod anthropic;
pub(super) mod claude_code;
pub(super) mod claude_stream;
pub(super) mod cline;
pub(super) mod codex;
pub(super) mod copilot;
pub(super) mod droid;
pub(super) mod gemini;
pub(super) mod gemini_stream;
pub(super) mod kimi;
pub(super) mod openai;
pub(super) mod opencode;
pub(super) mod pi;
pub(super) mod qwen;

use super::agent::{Agent, Importer};
use super::detect::{Evidence, Line, Part, Unrecognised};
use super::shapes::removal;
use super::shapes::splice::{self, Splice, Summary};
use super::usage::{self, Share};
use super::{Format, Summaries, finish, unsent};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, Message, Record, Replace, SummaryMark, Transcript,
};
use crate::verify::{Findings, Provider};

/// What is specific to a format. The defaults are those of a format in which every line is a message that a model sees.
pub(crate) trait Dialect: Sync {
    /// The name that flags and reports use.
    fn name(&self) -> &'static str;

    /// The evidence that a line is of this format; only formats with an envelope have any.
    fn evidence<'a>(&self, _line: &Line<'a>) -> Option<Evidence<'a>> {
        None
    }

    /// Whether its reader understands a part of a message.
    fn understands(&self, _part: Part<'_>) -> bool {
        false
    }

    /// Whether a file of this format may contain messages of `"type": "message"` without an envelope among its other lines.
    fn writes_bare_items(&self) -> bool {
        false
    }

    /// Whether a file of this format may be a single document ([`crate::scan::document()`]), each message of which is read like a
    /// line.
    fn may_be_document(&self) -> bool {
        false
    }

    /// Whether a document is of this format, by the keys around its messages.
    fn is_document(&self, _document: &Line<'_>) -> bool {
        false
    }

    /// What its reader does not understand in a document around its messages.
    fn unrecognised_around<'a>(&self, _document: Value<'a>) -> Option<Unrecognised<'a>> {
        None
    }

    /// What its reader does not understand in a message of a document.
    fn unrecognised<'a>(&self, _message: Value<'a>) -> Option<Unrecognised<'a>> {
        None
    }

    /// Reads the object at the cursor, a whole line, and adds its content to its record.
    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind>;

    /// Whether its transcripts are compacted. Transcripts from which no agent continues are only read, counted and checked.
    fn is_compacted(&self) -> bool {
        true
    }

    /// Whether a model sees every message, in the order of the file, each of them an object of its own.
    fn every_message_is_live(&self) -> bool {
        match self.summaries() {
            Summaries::Message(_) => true,
            Summaries::Native => false,
        }
    }

    /// The conversations, each of them the live window: what a model would see now.
    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![transcript.conversation_of_units()]
    }

    /// The conversations as they would be if nothing had been compacted: across recorded compactions, without the messages
    /// that these wrote.
    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        self.conversations(transcript)
    }

    /// Whether a line records a compaction, or was written by one.
    fn is_compaction(&self, _link: &Link) -> bool {
        false
    }

    /// Drops the lines that no model will see again.
    fn dead(&self, _transcript: &Transcript<'_>) -> ChangeSet {
        ChangeSet::default()
    }

    /// Replaces the messages of a conversation before `tail` (from 0; the number of messages if none is kept), except system
    /// messages, with a summary or with nothing. `None` if the file cannot record the place of the summary.
    fn splice(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        tail: usize,
        summary: Option<Summary<'_>>,
    ) -> Option<Splice> {
        Some(splice::splice(transcript, conversation, tail, summary).into())
    }

    /// Removes blocks from a conversation, and the messages that have no other content.
    fn without(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        removal::without(transcript, blocks)
    }

    /// Corrects the recorded figures that its agent acts on, given the share of a conversation that is left.
    fn corrected_usage(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
        _share: Share,
    ) -> Vec<Replace> {
        Vec::new()
    }

    /// Reports content of the file that no model reads as a message.
    fn unsent(&self, _transcript: &Transcript<'_>, _show: &mut unsent::Show<'_>) {}

    /// How a summary is written.
    fn summaries(&self) -> Summaries;

    /// How the summaries in a transcript are told from its other messages.
    fn summary_marks(&self, _transcript: &Transcript<'_>) -> SummaryMark {
        match self.summaries() {
            Summaries::Message(_) => SummaryMark::Words,
            Summaries::Native => SummaryMark::Record,
        }
    }

    /// Whether its agent acts on a provider's counts that the file records.
    fn acts_on_usage(&self) -> bool {
        match self.summaries() {
            Summaries::Message(_) => false,
            Summaries::Native => true,
        }
    }

    /// The tokens of the request that an answer belongs to, as the provider counted them; `None` if nothing is recorded.
    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        let mut lines = conversation.lines(answer).iter().rev();
        lines.find_map(|line| {
            if !usage::may_be_on(transcript, *line) {
                return None;
            }
            let message = Value::part(transcript.line(*line), answer.object);
            usage::recorded(message, &["usage"], usage::ANTHROPIC)
        })
    }

    /// The message object of an answer, with its model and similar data; the last line's if it has several.
    fn answer<'t>(
        &self,
        transcript: &'t Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Value<'t> {
        let Some(line) = conversation.lines(answer).last() else {
            return Value::default();
        };
        match transcript.line(*line) {
            line if answer.object.is_empty() => Value::of(line).field("message"),
            line => Value::part(line, answer.object),
        }
    }

    /// The model that gave an answer.
    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        finish::string_of(self.answer(transcript, conversation, answer).field("model"))
    }

    /// The size of its model's context window in tokens, as last recorded in the session.
    fn context_window(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<u64> {
        None
    }

    /// The model of the last answer before a conversation; needed when none of its own answers is left.
    fn model_before(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        None
    }

    /// The provider whose wording describes a broken rule; `None` if it may change within a transcript or is unknown.
    fn provider(&self) -> Option<Provider> {
        None
    }

    /// Checks a transcript against the rules of its provider and of its agent.
    fn check(&self, findings: &mut Findings<'_, '_>);

    /// The agent that continues sessions from its files.
    fn agent(&self) -> Option<&'static dyn Agent> {
        None
    }

    /// How its agent takes sessions from documents, if it keeps them in a database.
    fn importer(&self) -> Option<&'static dyn Importer> {
        None
    }

    /// The names of its agent's tools.
    fn tools(&self) -> ToolNames {
        ToolNames::default()
    }

    /// The form in which its messages are written, for a replay.
    fn plain(&self) -> Plain {
        Plain::Other
    }
}

/// The form in which a format writes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// As objects that are lines of this format.
    Objects(Format),
    /// In blocks of Anthropic's Messages API.
    Blocks,
    /// In a form of its own.
    Other,
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
    /// Search for files or within files.
    pub(crate) search: &'static [&'static str],
    /// Fetch or search the web.
    pub(crate) web: &'static [&'static str],
    /// Steer the agent: plans, questions, other agents, waiting. These tools touch no file and run no command themselves.
    pub(crate) steering: &'static [&'static str],
}
