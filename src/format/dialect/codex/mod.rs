//! Codex CLI rollouts: one item of the Responses API per line, in an envelope (`payload`) or, until August 2025, bare.
//!
//! Only `response_item` and `compacted` lines form what a model sees. A compaction with a `replacement_history` starts a new
//! history with it; one without it keeps the user's messages. Events repeat the items for a viewer, and record that the user went
//! back. Developer messages contain what the agent sends to a model before the first request and again after every compaction: like
//! the base instructions in the header, they are not part of the conversation and stay where they are.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what a line is recognised |
//! | `record` | how a line is read |
//! | `output` | the header of a tool's output |
//! | `events` | what an event contains |
//! | `link` | which items form the live window |
//! | `history` | which lines are dead |
//! | `compaction` | how a summary is written |
//! | `usage` | the tokens that a provider counted |
//! | `rules` | what the API and the agent require |

mod agent;
mod compaction;
mod events;
mod evidence;
mod history;
mod link;
mod output;
mod record;
mod rules;
mod usage;

use memchr::memmem;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Share, Summaries, Unsent, finish, unsent};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, LinkKind, Message, Record, Replace, SummaryMark,
    Transcript,
};
use crate::verify::{Findings, Provider};

/// How Codex begins the summary that it writes itself.
pub const SUMMARY_BEGINS: &str =
    "Another language model started to solve this problem and produced a summary";

/// The dialect.
pub(in crate::format) struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        evidence::evidence(line)
    }

    fn understands(&self, part: Part<'_>) -> bool {
        evidence::understands(part)
    }

    fn writes_bare_items(&self) -> bool {
        true
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        record::line(c, record)
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        link::link(transcript)
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        link::full_history(transcript)
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
        compaction::without(transcript, blocks)
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
            let payload = line.field("payload");
            match payload.field("role").string() {
                Some(b"developer" | b"system") => Some((Unsent::Instructions, 1)),
                _ => unsent::instructions(payload.field("base_instructions"))
                    .or_else(|| unsent::instructions(payload.field("instructions"))),
            }
        });
    }

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    /// Items without an envelope have no place for a record.
    fn summary_marks(&self, transcript: &Transcript<'_>) -> SummaryMark {
        let first = transcript.lines().first().map(|_| transcript.line(0));
        match first.is_some_and(|line| memmem::find(line, b"\"session_meta\"").is_some()) {
            true => SummaryMark::Record,
            false => SummaryMark::Words,
        }
    }

    fn provider(&self) -> Option<Provider> {
        Some(Provider::Responses)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(rules::check);
        rules::rollout(findings);
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        usage::recorded(transcript, conversation, answer)
    }

    /// An answer records neither a model nor a stop reason.
    fn answer<'t>(
        &self,
        _transcript: &'t Transcript<'_>,
        _conversation: &Conversation,
        _answer: &Message,
    ) -> Value<'t> {
        Value::default()
    }

    fn model_of(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<String> {
        model_of_turn(transcript, *conversation.lines(answer).last()?)
    }

    fn context_window(&self, transcript: &Transcript<'_>, _: &Conversation) -> Option<u64> {
        usage::context_window(transcript)
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::CodexAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &[
                "shell",
                "exec_command",
                "shell_command",
                "container.exec",
                "exec",
                "write_stdin",
                "local_shell",
            ],
            edit: &["apply_patch"],
            web: &["web__run"],
            steering: &[
                "close_agent",
                "followup_task",
                "list_agents",
                "request_user_input",
                "resume_agent",
                "send_input",
                "send_message",
                "spawn_agent",
                "update_plan",
                "view_image",
                "wait",
                "wait_agent",
            ],
            ..ToolNames::default()
        }
    }
}

/// Codex records the model once per turn: the last one recorded before `line`.
fn model_of_turn(transcript: &Transcript<'_>, line: u32) -> Option<String> {
    let turn = |line: u32| {
        let bytes = transcript.line(line);
        memchr::memmem::find(bytes, b"\"turn_context\"")?;
        let [kind, payload] = Value::of(bytes).fields(["type", "payload"]);
        let is_turn = kind.string() == Some(b"turn_context");
        finish::string_of(payload.field("model")).filter(|_| is_turn)
    };
    (0..line).rev().find_map(turn)
}

/// The `type` of the object at the cursor, which does not move. It is nearly always the first key.
fn type_of<'a>(c: &Cursor<'a>) -> Parse<&'a [u8]> {
    let mut c = c.clone();
    let line = c.line();
    let start = c.place()?;
    if let Some(rest) = line[start..].strip_prefix(b"{\"type\":\"")
        && let Some(end) = memchr::memchr(b'"', rest)
    {
        return Ok(&rest[..end]);
    }
    let [kind] = c.fields(["type"])?;
    Ok(kind.string().unwrap_or_default())
}

/// Whether bytes are only white space.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests;
