//! Session files of Qwen Code: Claude Code's envelope around messages of Gemini's API, one per line.
//!
//! Each record names the one before it; the path to the last one is the session. A `chat_compression` contains the whole remaining
//! history, and a result is repeated in `toolCallResult`. Records of the agent's own are in the same chain.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a line is recognised |
//! | `record` | how a line is read |
//! | `chain` | how records are linked |
//! | `window` | what a model sees of them |
//! | `history` | which lines are dead |
//! | `compaction` | how a summary is written |
//! | `removal` | how blocks are removed |
//! | `usage` | the tokens that a provider counted |
//! | `rules` | what the agent requires of a session |

mod agent;
mod chain;
mod compaction;
mod evidence;
mod history;
mod record;
mod removal;
mod rules;
mod usage;
mod window;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::shapes::paired_calls;
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Share, Summaries, finish};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, Message, Record, Replace, Transcript,
};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct Qwen;

impl Dialect for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
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
        vec![window::conversation(transcript)]
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![window::full_history(transcript)]
    }

    fn is_compaction(&self, link: &Link) -> bool {
        link.is_boundary()
    }

    fn dead(&self, transcript: &Transcript<'_>) -> ChangeSet {
        history::dead(transcript)
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
        conversation: &Conversation,
        blocks: &IdSet<u32>,
    ) -> ChangeSet {
        removal::without(transcript, conversation, blocks)
    }

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
        let mut lines = conversation.lines(answer).iter().rev();
        lines.find_map(|line| {
            let line = Value::of(transcript.line(*line));
            line.within(&["usageMetadata", "promptTokenCount"]).number()
        })
    }

    /// The model is recorded beside the message.
    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        let line = conversation.first_line(answer);
        finish::string_of(Value::of(transcript.line(line)).field("model"))
    }

    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        let mut lines = (0..transcript.links().len() as u32).rev();
        lines.find_map(|line| {
            let [kind, model] = Value::of(transcript.line(line)).fields(["type", "model"]);
            finish::string_of(model).filter(|_| kind.string() == Some(b"assistant"))
        })
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(paired_calls::messages);
        rules::session(findings);
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::QwenAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["run_shell_command"],
            read: &["read_file", "read_many_files"],
            write: &["write_file"],
            edit: &["edit", "replace", "notebook_edit"],
            search: &[
                "grep_search",
                "search_file_content",
                "glob",
                "list_directory",
            ],
            web: &["web_fetch", "web_search"],
            steering: &[
                "agent",
                "ask_user_question",
                "create_sub_session",
                "cron_create",
                "cron_delete",
                "cron_list",
                "enter_plan_mode",
                "enter_worktree",
                "exit_plan_mode",
                "exit_worktree",
                "get_goal",
                "list_agents",
                "loop_wakeup",
                "propose_goal",
                "report_findings",
                "request_shutdown",
                "save_memory",
                "send_message",
                "skill",
                "structured_output",
                "task",
                "task_create",
                "task_list",
                "task_stop",
                "task_update",
                "team_create",
                "team_delete",
                "team_plan_approval",
                "todo_write",
                "tool_call",
                "tool_search",
                "update_goal",
                "workflow",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
