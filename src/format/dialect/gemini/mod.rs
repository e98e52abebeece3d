//! Session files of Gemini CLI: a header, then messages and changes to what was recorded, one per line. Older versions wrote a
//! single document, `{sessionId, projectHash, …, messages}`, whose messages are the same objects.
//!
//! A message is identified by its id: when it is written again, it replaces the earlier one in its place. `$set` with `messages`
//! replaces all of them, as every resumption and the agent's own compression do, and `$rewindTo` removes messages from the end. A
//! message of the agent contains its calls with their results (`toolCalls`); the results usually follow again as a user message,
//! and the agent sends both when it resumes. A model's thoughts are never sent again.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a line, or a document, is recognised |
//! | `record` | how a line is read |
//! | `message` | how a message object is read |
//! | `history` | which messages the agent has when it has read the file |
//! | `window` | which of them a model sees |
//! | `dead` | which lines are dead |
//! | `compaction` | how a summary is written |
//! | `removal` | how blocks are removed |
//! | `rules` | what the API and the agent require |

mod agent;
mod compaction;
mod dead;
mod evidence;
mod history;
mod message;
mod record;
mod removal;
mod rules;
mod window;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part, Unrecognised};
use crate::format::shapes::paired_calls;
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Summaries, Unsent, finish, unsent};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{ChangeSet, Conversation, LineKind, Link, Message, Record, Transcript};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        evidence::evidence(line)
    }

    fn understands(&self, part: Part<'_>) -> bool {
        evidence::understands(part)
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

    /// Includes what a resumption writes: nothing before it can be continued line by line.
    fn is_compaction(&self, link: &Link) -> bool {
        link.is_summary || link.is_root
    }

    fn dead(&self, transcript: &Transcript<'_>) -> ChangeSet {
        dead::dead(transcript)
    }

    fn splice(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
        tail: usize,
        summary: Option<Summary<'_>>,
    ) -> Option<Splice> {
        compaction::splice(transcript, tail, summary).map(Splice::from)
    }

    fn without(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        removal::without(transcript, blocks)
    }

    fn unsent(&self, transcript: &Transcript<'_>, show: &mut unsent::Show<'_>) {
        unsent::by_line(transcript, show, |message| {
            let mut thoughts = 0;
            message.field("thoughts").elements(|_| thoughts += 1);
            (thoughts > 0).then_some((Unsent::Thinking, thoughts))
        });
    }

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    /// The agent estimates what it sends; recorded figures are for display.
    fn acts_on_usage(&self) -> bool {
        false
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        let answer = self.answer(transcript, conversation, answer);
        answer.within(&["tokens", "input"]).number()
    }

    fn answer<'t>(
        &self,
        transcript: &'t Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Value<'t> {
        let line = conversation.first_line(answer);
        let block = conversation.blocks(answer).first().copied();
        let units = transcript.units();
        let mut units = units[units.partition_point(|unit| unit.line < line)..].iter();
        let unit =
            units.find(|unit| block.is_some_and(|b| (unit.blocks.0..unit.blocks.1).contains(&b)));
        unit.map_or(Value::default(), |unit| {
            Value::part(transcript.line(unit.line), unit.object)
        })
    }

    /// A resumption rewrites answers without their models.
    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        let model = |line: u32| {
            let [kind, model] = Value::of(transcript.line(line)).fields(["type", "model"]);
            let is_answer = kind.string() == Some(message::ANSWER);
            finish::string_of(model).filter(|_| is_answer)
        };
        let lines = 0..transcript.lines().len() as u32;
        lines.rev().find_map(model)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(paired_calls::messages);
        rules::session(findings);
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::GeminiAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["run_shell_command"],
            read: &["read_file", "read_many_files"],
            write: &["write_file"],
            edit: &["replace"],
            search: &[
                "grep_search",
                "search_file_content",
                "glob",
                "list_directory",
            ],
            web: &["web_fetch", "google_web_search"],
            steering: &[
                "activate_skill",
                "ask_user",
                "invoke_agent",
                "save_memory",
                "update_topic",
                "write_todos",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
