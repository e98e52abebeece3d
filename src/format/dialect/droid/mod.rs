//! Session files of Factory Droid: a header, then messages made of Anthropic's blocks, one per line.
//!
//! A `compaction_state` holds a summary and names the last message that it covers. Results are in user messages, and messages that
//! only the model or only the user sees are marked as such.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a line is recognised |
//! | `record` | how a line is read |
//! | `window` | what a model sees |
//! | `history` | which lines are dead |
//! | `compaction` | how a summary is written, and how blocks are removed |

mod agent;
mod compaction;
mod evidence;
mod history;
mod record;
mod window;

use super::{Dialect, Plain, ToolNames};
use crate::format::Summaries;
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::finish;
use crate::format::shapes::paired_calls;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{ChangeSet, Conversation, LineKind, Link, Message, Record, Transcript};
use crate::verify::{Findings, Rule};

/// The dialect.
pub(in crate::format) struct Droid;

impl Dialect for Droid {
    fn name(&self) -> &'static str {
        "droid"
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
        link.is_boundary()
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

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    /// The agent keeps what a provider counted in another file, and forgets it when it resumes.
    fn acts_on_usage(&self) -> bool {
        false
    }

    fn recorded(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
        _answer: &Message,
    ) -> Option<u64> {
        None
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        let line = Value::of(transcript.line(conversation.first_line(answer)));
        let model = line.within(&["message", "modelId"]);
        finish::string_of(if model.is_there() {
            model
        } else {
            line.field("modelId")
        })
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(paired_calls::messages);
        let transcript = findings.transcript;
        let mut lines = transcript.lines().iter();
        let has_header = lines.any(|line| line.kind == LineKind::Session);
        if !has_header && !transcript.lines().is_empty() {
            findings.error(Rule::HeaderMissing, 0, b"");
        }
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::DroidAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["Execute"],
            read: &["Read"],
            write: &["Create"],
            edit: &["Edit", "MultiEdit", "ApplyPatch"],
            search: &["Grep", "Glob", "LS"],
            web: &["WebSearch", "FetchUrl"],
            steering: &[
                "AskUser",
                "ExitSpecMode",
                "Skill",
                "Task",
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
