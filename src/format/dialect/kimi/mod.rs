//! Session files of Kimi Code (`wire.jsonl`): records of what happened, from which the agent rebuilds its messages when it resumes.
//!
//! `context.append_message` adds a whole message, `context.append_loop_event` a part of an answer, a call or a result. A
//! `context.apply_compaction` contains a summary and says which of the messages before it are kept; the user can clear the context
//! or undo turns. Everything else describes the session, or repeats messages for other readers.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a record is recognised |
//! | `record` | how a record is read |
//! | `message` | the messages, events and copies in it |
//! | `chain` | which records count after turns were taken back |
//! | `window` | what messages they form |
//! | `history` | which records are dead |
//! | `compaction` | how a summary is written, and how blocks are removed |
//! | `usage` | the tokens that the agent believes to be in its window, and the model |
//! | `rules` | what the agent requires of a session |

mod agent;
mod chain;
mod compaction;
mod evidence;
mod history;
mod message;
mod record;
mod rules;
mod usage;
mod window;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::usage::Share;
use crate::format::{Summaries, unsent};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, LinkKind, Message, Record, Replace, Transcript,
};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct Kimi;

impl Dialect for Kimi {
    fn name(&self) -> &'static str {
        "kimi"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        evidence::evidence(line)
    }

    fn understands(&self, part: Part<'_>) -> bool {
        evidence::understands(part)
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        record::line(c, record)
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![window::link(transcript)]
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![window::full_history(transcript)]
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
        compaction::splice(transcript, conversation, tail, summary).map(Splice::from)
    }

    fn without(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        compaction::removed(transcript, conversation, blocks)
    }

    fn corrected_usage(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
        share: Share,
    ) -> Vec<Replace> {
        usage::corrected(transcript, share)
    }

    fn unsent(&self, transcript: &Transcript<'_>, show: &mut unsent::Show<'_>) {
        unsent::by_line(transcript, show, |line| {
            unsent::instructions(line.field("systemPrompt"))
        });
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
            Value::of(transcript.line(*line)).field("event")
        })
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        usage::model_of(transcript, conversation, answer)
    }

    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<String> {
        let end = conversation.path.iter().max().map_or(0, |line| line + 1);
        usage::model_before(transcript, end)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(rules::messages);
        rules::session(findings);
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::KimiAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["Bash"],
            read: &["Read"],
            write: &["Write"],
            edit: &["Edit"],
            search: &["Grep", "Glob"],
            web: &["WebSearch", "FetchURL"],
            steering: &[
                "Agent",
                "AgentSwarm",
                "AskUserQuestion",
                "CreateGoal",
                "CronCreate",
                "CronDelete",
                "CronList",
                "EnterPlanMode",
                "ExitPlanMode",
                "GetGoal",
                "SetGoalBudget",
                "Skill",
                "TaskList",
                "TaskOutput",
                "TaskStop",
                "TodoList",
                "UpdateGoal",
                "WaitFor",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
