//! Session logs of GitHub Copilot CLI (`events.jsonl`): one event per line, each with its type, its data and the id of the event
//! before it.
//!
//! Four types of events form what a model sees: `user.message`, `assistant.message` with its calls, `tool.execution_complete`, and
//! the agent's notices. A `session.compaction_complete` replaces everything before its `session.compaction_start` with its summary.
//! Events of subagents are interleaved with the others and form conversations of their own. The system prompt is recorded but never
//! read again: the agent sends its own.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what an event is recognised |
//! | `record` | how a line is read |
//! | `data` | the data of the events that a model sees |
//! | `window` | which events form the live window, and what messages they form |
//! | `history` | which events are dead, and how the others are linked without them |
//! | `compaction` | how a summary is written |
//! | `usage` | the tokens that a provider counted, and the model |
//! | `rules` | what the agent requires of a session |

mod agent;
mod compaction;
mod data;
mod evidence;
mod history;
mod record;
mod rules;
mod usage;
mod window;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line};
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Summaries, Unsent, finish, unsent};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, LinkKind, Message, Record, Transcript,
};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct Copilot;

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        evidence::evidence(line)
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        record::line(c, record)
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        window::link(transcript)
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        window::full_history(transcript)
    }

    fn is_compaction(&self, link: &Link) -> bool {
        matches!(link.kind, LinkKind::Compaction(_))
    }

    fn dead(&self, transcript: &Transcript<'_>) -> ChangeSet {
        history::dead(transcript)
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
        conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        compaction::without(transcript, conversation, blocks)
    }

    fn unsent(&self, transcript: &Transcript<'_>, show: &mut unsent::Show<'_>) {
        unsent::by_line(transcript, show, |line| {
            let is_prompt = line.field("type").string() == Some(b"system.message");
            is_prompt.then_some((Unsent::Instructions, 1))
        });
    }

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    /// The agent does its own count when it resumes.
    fn acts_on_usage(&self) -> bool {
        false
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        usage::recorded(transcript, conversation, answer)
    }

    fn answer<'t>(
        &self,
        transcript: &'t Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Value<'t> {
        let last = conversation.lines(answer).last();
        last.map_or(Value::default(), |line| {
            Value::of(transcript.line(*line)).field("data")
        })
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        let data = self.answer(transcript, conversation, answer);
        let own = finish::string_of(data.field("model"));
        own.or_else(|| usage::model_before(transcript, *conversation.lines(answer).last()?))
    }

    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<String> {
        let end = conversation.path.last().map_or(0, |line| line + 1);
        usage::model_before(transcript, end.max(1))
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(rules::messages);
        rules::session(findings);
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::CopilotAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["bash", "powershell"],
            read: &["view"],
            write: &["create"],
            edit: &["edit", "str_replace_editor", "apply_patch"],
            search: &["grep", "rg", "glob"],
            web: &["web_fetch", "web_search"],
            steering: &[
                "ask_user",
                "exit_plan_mode",
                "fetch_copilot_cli_documentation",
                "list_agents",
                "read_agent",
                "read_bash",
                "read_powershell",
                "report_intent",
                "skill",
                "sql",
                "stop_bash",
                "stop_powershell",
                "store_memory",
                "task",
                "task_complete",
                "update_todo",
                "write_bash",
                "write_powershell",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
