//! Sessions of Cline (its command line, version 3): one document, `{version, updated_at, agent, sessionId, origin, messages}`.
//!
//! Messages have Anthropic's roles and blocks. A result is a list with an object for each command, file or search of its call. The
//! agent sends all messages except those meant only for the user, and continues from this file. The result of its own compactions
//! is in another file, which it ignores once these messages have changed.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | what a document and its messages are recognised by |
//! | `record` | how a message is read |
//! | `result` | how a result is read |
//! | `compaction` | how a summary is written |

mod agent;
mod compaction;
mod evidence;
mod record;
mod result;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Line, Part, Unrecognised};
use crate::format::shapes::paired_calls;
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Summaries, finish, unsent};
use crate::scan::{Cursor, Parse, Span, Value};
use crate::transcript::{
    Conversation, ConversationId, LineKind, Link, Message, Record, Source, Transcript,
};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct Cline;

impl Dialect for Cline {
    fn name(&self) -> &'static str {
        "cline"
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
        vec![conversation(transcript, Taken::All)]
    }

    /// A summary replaces its source, so the full history is the window without summaries.
    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![conversation(transcript, Taken::Own)]
    }

    fn is_compaction(&self, link: &Link) -> bool {
        link.is_summary
    }

    fn splice(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        tail: usize,
        summary: Option<Summary<'_>>,
    ) -> Option<Splice> {
        compaction::splice(transcript, conversation, tail, summary).map(Splice::from)
    }

    fn unsent(&self, transcript: &Transcript<'_>, show: &mut unsent::Show<'_>) {
        let prompt = unsent::instructions(Value::of(transcript.base()).field("system_prompt"));
        if let Some((what, times)) = prompt {
            show(what, times);
        }
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
        answer.within(&["metrics", "inputTokens"]).number()
    }

    fn answer<'t>(
        &self,
        transcript: &'t Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Value<'t> {
        Value::of(transcript.line(conversation.first_line(answer)))
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        let answer = self.answer(transcript, conversation, answer);
        finish::string_of(answer.within(&["modelInfo", "id"]))
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(paired_calls::messages);
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::ClineAgent)
    }

    /// Includes the tools of the agent's editor extension, which have other names.
    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["run_commands", "execute_command"],
            read: &["read_files"],
            write: &["write_to_file"],
            edit: &["editor", "replace_in_file"],
            search: &[
                "search_codebase",
                "search_files",
                "list_files",
                "list_code_definition_names",
            ],
            web: &["fetch_web_content"],
            steering: &[
                "ask_followup_question",
                "ask_question",
                "attempt_completion",
                "new_task",
                "plan_mode_respond",
                "skills",
                "submit_and_exit",
            ],
        }
    }
}

/// Which messages a conversation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// All that the agent sends: all except those meant only for the user.
    All,
    /// The same without summaries.
    Own,
}

fn conversation(transcript: &Transcript<'_>, taken: Taken) -> Conversation {
    let mut conversation = Conversation::new(ConversationId::Main);
    for unit in transcript.units() {
        let is_summary = unit.source == Source::Summary;
        if is_summary && taken == Taken::Own {
            continue;
        }
        // No model sees what is around the content.
        let message = conversation.push(unit.role, Span::default(), unit.content);
        let blocks: Vec<u32> = (unit.blocks.0..unit.blocks.1).collect();
        let message = &mut conversation.messages[message];
        message.is_summary = is_summary;
        if unit.source == Source::Own {
            message.typed = transcript.is_typed(unit.role, &blocks);
        }
        conversation.extend(unit.line, blocks);
    }
    conversation.path = conversation.all_lines().to_vec();
    conversation
}

#[cfg(test)]
mod tests;
