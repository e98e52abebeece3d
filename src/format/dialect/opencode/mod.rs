//! Sessions that opencode exported: one document, `{info, messages: [{info, parts}]}`.
//!
//! A part of type `tool` is a call with its result. Going back, what a model sees ends at the last compaction: a user message with
//! a part `compaction`, and the answer to it, which is the summary. The agent keeps its sessions in a database; `opencode import`
//! loads a document into it, and sorts messages by time and id.
//!
//! | file | what it does |
//! | --- | --- |
//! | `evidence` | what a document and its messages are recognised by |
//! | `import` | how the agent takes a session back |
//! | `record` | how a message is read |
//! | `part` | how the parts of a message are read |
//! | `window` | which messages a model sees |
//! | `compaction` | how a summary is written, and what is dead after it |
//! | `removal` | how blocks are removed |
//! | `usage` | the tokens that a provider counted |
//! | `rules` | what the agent requires |

mod compaction;
mod evidence;
mod import;
mod part;
mod record;
mod removal;
mod rules;
mod usage;
mod window;

use super::{Dialect, ToolNames};
use crate::format::agent::Importer;
use crate::format::detect::{Line, Unrecognised};
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::usage::Share;
use crate::format::{Summaries, finish};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, LinkKind, Message, Record, Replace, Transcript,
};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct OpenCode;

impl Dialect for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn may_be_document(&self) -> bool {
        true
    }

    fn is_document(&self, document: &Line<'_>) -> bool {
        evidence::is_document(document)
    }

    fn unrecognised_around<'a>(&self, document: Value<'a>) -> Option<Unrecognised<'a>> {
        evidence::unrecognised_around(document)
    }

    fn unrecognised<'a>(&self, message: Value<'a>) -> Option<Unrecognised<'a>> {
        evidence::unrecognised(message)
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        record::line(c, record)
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![window::conversation(transcript)]
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![window::full_history(transcript)]
    }

    fn is_compaction(&self, link: &Link) -> bool {
        matches!(link.kind, LinkKind::Compaction(_))
    }

    fn dead(&self, transcript: &Transcript<'_>) -> ChangeSet {
        compaction::dead(transcript)
    }

    fn splice(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        tail: usize,
        summary: Option<Summary<'_>>,
    ) -> Option<Splice> {
        compaction::splice(transcript, conversation, tail, summary)
    }

    fn without(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        removal::without(transcript, blocks)
    }

    /// The agent immediately compacts again if the last answer's figures say that the window is full.
    fn corrected_usage(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        share: Share,
    ) -> Vec<Replace> {
        usage::corrected(transcript, conversation, share)
    }

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        usage::recorded(self.answer(transcript, conversation, answer))
    }

    fn answer<'t>(
        &self,
        transcript: &'t Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Value<'t> {
        Value::of(transcript.line(conversation.first_line(answer))).field("info")
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        finish::string_of(
            self.answer(transcript, conversation, answer)
                .field("modelID"),
        )
    }

    /// The summary names the model of the answers that it replaced.
    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        let model = |line: u32| {
            let info = Value::of(transcript.line(line)).field("info");
            finish::string_of(info.field("modelID"))
        };
        let lines = 0..transcript.lines().len() as u32;
        lines.rev().find_map(model)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(rules::messages);
    }

    fn importer(&self) -> Option<&'static dyn Importer> {
        Some(&import::OpenCode)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["bash"],
            read: &["read"],
            write: &["write"],
            edit: &["edit", "multiedit", "patch", "apply_patch"],
            search: &["grep", "glob", "list", "lsp", "codesearch"],
            web: &["webfetch", "websearch"],
            steering: &[
                "plan_enter",
                "plan_exit",
                "question",
                "skill",
                "task",
                "todoread",
                "todowrite",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
