//! Claude Code session files: a tree of lines, of which the model sees one path.
//!
//! One API message is spread over several lines (one block per line) and interleaved with the results of its calls; lines
//! that are not messages are in the same tree; a result is repeated in `toolUseResult` and in `progress` lines.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a line is recognised |
//! | `record` | how a line is read |
//! | `tree` | how lines are linked |
//! | `link` | which lines form a live window |
//! | `messages` | which messages they form |
//! | `history` | which lines are dead |
//! | `spared` | why none of them may be dropped |
//! | `full_history` | the conversation across compactions |
//! | `compaction` | how a summary is written |
//! | `preserved` | what a compaction keeps of the messages before it |
//! | `answered` | which line records the model |
//! | `usage` | the tokens that a provider counted |
//! | `rules` | what the agent requires of a session |

mod agent;
mod compaction;
mod evidence;
mod full_history;
mod history;
mod link;
mod messages;
mod model_anchor;
mod preserved;
mod record;
mod rules;
mod spared;
mod tree;
mod usage;

use super::{Dialect, Plain, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::shapes::blocks;
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Share, Summaries, finish, usage as recorded};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    Answer, ChangeSet, Conversation, LineKind, Link, Message, Record, Replace, Transcript,
};
use crate::verify::anthropic::{self, Sender};
use crate::verify::{Findings, Provider};

/// The dialect.
pub(in crate::format) struct ClaudeCode;

impl Dialect for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        evidence::evidence(line)
    }

    fn understands(&self, part: Part<'_>) -> bool {
        blocks::understands(part)
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        record::line(c, record)
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        link::link(transcript)
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        full_history::full_history(transcript)
    }

    fn is_compaction(&self, link: &Link) -> bool {
        link.is_boundary() || link.is_summary
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

    fn provider(&self) -> Option<Provider> {
        Some(Provider::Anthropic)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(|f, c| anthropic::check(f, c, Sender::ClaudeCode));
        rules::check(findings);
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        let mut lines = conversation.lines(answer).iter().rev();
        lines.find_map(|line| {
            let link = transcript.links().get(*line as usize)?;
            let line = Value::of(transcript.line(*line));
            match link.answer {
                Answer::Given => {
                    recorded::recorded(line, &["message", "usage"], recorded::ANTHROPIC)
                }
                // An answer that the agent itself wrote had no request.
                Answer::Uncounted | Answer::ApiError => None,
            }
        })
    }

    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<String> {
        let line = model_anchor::last_answer(transcript, conversation)?;
        finish::string_of(Value::of(transcript.line(line)).within(&["message", "model"]))
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::ClaudeCodeAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["Bash", "PowerShell"],
            read: &["Read"],
            write: &["Write"],
            edit: &["Edit", "MultiEdit", "NotebookEdit"],
            search: &["Grep", "Glob", "LS"],
            web: &["WebFetch", "WebSearch"],
            steering: &[
                "Agent",
                "AskUserQuestion",
                "BashOutput",
                "EnterPlanMode",
                "EnterWorktree",
                "ExitPlanMode",
                "ExitWorktree",
                "KillBash",
                "KillShell",
                "SendMessage",
                "Skill",
                "SlashCommand",
                "StructuredOutput",
                "Task",
                "TaskCreate",
                "TaskGet",
                "TaskList",
                "TaskOutput",
                "TaskStop",
                "TaskUpdate",
                "TodoRead",
                "TodoWrite",
                "ToolSearch",
            ],
        }
    }

    fn plain(&self) -> Plain {
        Plain::Blocks
    }
}

#[cfg(test)]
mod tests;
