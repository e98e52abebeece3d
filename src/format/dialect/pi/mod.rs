//! pi session files (and OpenClaw's, which have the same shape): a header, then entries that form a tree.
//!
//! One message is one entry. In the first version of the format entries have no ids, and each follows the one before it; in
//! later versions they name their parents. A `compaction` entry holds a summary and names the first entry that is still sent.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agent` | where the agent keeps sessions, and how it continues them |
//! | `evidence` | by what an entry is recognised |
//! | `record` | how a line is read |
//! | `tree` | how entries are linked, and which of them a model sees |
//! | `history` | which entries are dead |
//! | `compaction` | how a summary is written |
//! | `usage` | the tokens that a provider counted |
//! | `rules` | what the agent requires of a session |

mod agent;
mod compaction;
mod evidence;
mod history;
mod record;
mod rules;
mod tree;
mod usage;

use super::{Dialect, ToolNames};
use crate::format::agent::Agent;
use crate::format::detect::{Evidence, Line, Part};
use crate::format::shapes::splice::{Splice, Summary};
use crate::format::{Share, Summaries, Unsent, unsent, usage as recorded};
use crate::ids::IdSet;
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{
    ChangeSet, Conversation, LineKind, Link, Message, Record, Replace, Transcript,
};
use crate::verify::Findings;

/// The figures that add up to a request's tokens.
const USAGE: [&str; 3] = ["input", "cacheRead", "cacheWrite"];

/// The dialect.
pub(in crate::format) struct Pi;

impl Dialect for Pi {
    fn name(&self) -> &'static str {
        "pi"
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
        tree::link(transcript)
    }

    fn full_history(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        tree::full_history(transcript)
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

    fn unsent(&self, transcript: &Transcript<'_>, show: &mut unsent::Show<'_>) {
        unsent::by_line(transcript, show, |line| {
            let message = line.field("message");
            let mut parts = 0;
            message.field("content").elements(|_| parts += 1);
            let broke_off = matches!(
                message.field("stopReason").string(),
                Some(b"error" | b"aborted")
            );
            (broke_off && parts > 0).then_some((Unsent::Answer, 1))
        });
    }

    fn summaries(&self) -> Summaries {
        Summaries::Native
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.conversations(rules::messages);
        rules::session(findings);
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
            recorded::recorded(line, &["message", "usage"], USAGE)
        })
    }

    fn agent(&self) -> Option<&'static dyn Agent> {
        Some(&agent::PiAgent)
    }

    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["bash"],
            read: &["read"],
            write: &["write"],
            edit: &["edit"],
            search: &["grep", "find", "ls"],
            ..ToolNames::default()
        }
    }
}

#[cfg(test)]
mod tests;
