//! What an earlier compaction has left in a conversation: its summary, and the answer that only acknowledges it.
//!
//! A format may mark a summary; else it is known by how it begins, in the words of the policy at work or of any that
//! ships with the program. Never says what a summary tells.

use crate::error::Result;
use crate::format::SUMMARY_BEGINS;
use crate::policy::{Policy, Template, presets};
use crate::transcript::{BlockKind, Conversation, Marks, Message, Transcript};

use super::said;

/// How summaries begin, and what acknowledges them.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    summaries: Vec<Template>,
    acknowledgements: Vec<String>,
}

/// What a message is to a later compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The summary of what was before.
    Summary,
    /// The answer to a summary, which says no more than that it was read.
    Acknowledgement,
    /// No compaction has left this.
    Nothing,
}

/// What may be put back behind a summary: each entry begins with one of these in a header of its own.
const PUT_BACK: [&str; 4] = [
    "[File restored",
    "[Plan restored",
    "[To-dos restored",
    "[Skill restored",
];

/// Whether a line is the header of what was put back behind a summary.
pub fn is_put_back(line: &str) -> bool {
    PUT_BACK.iter().any(|header| line.starts_with(header))
}

impl Earlier {
    /// What `policy` and the shipped policies leave.
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn of(policy: &Policy) -> Result<Self> {
        let mut earlier = Earlier::default();
        let shipped = presets()?;
        for summary in shipped.iter().chain([policy]).map(|policy| &policy.summary) {
            if !summary.text.prefix().trim().is_empty() {
                earlier.summaries.push(summary.text.clone());
            }
            if !summary.ack.trim().is_empty() {
                earlier.acknowledgements.push(summary.ack.clone());
            }
        }
        Ok(earlier)
    }

    /// What each message of a conversation is.
    pub fn left(&self, transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Left> {
        let mut left: Vec<Left> = Vec::with_capacity(conversation.messages.len());
        for message in &conversation.messages {
            let is_behind = left.last() == Some(&Left::Summary);
            left.push(if self.is_summary(transcript, conversation, message) {
                Left::Summary
            } else if is_behind && self.is_acknowledgement(transcript, conversation, message) {
                Left::Acknowledgement
            } else {
                Left::Nothing
            });
        }
        left
    }

    /// A summary's text without what stands around it.
    pub fn told<'t>(&self, text: &'t str) -> &'t str {
        let told = |text: &'t str| {
            let found = self.summaries.iter().filter_map(|own| own.matches(text));
            found.map(|values| values.summary).min_by_key(|s| s.len())
        };
        // What ends the summary stands before what was put back behind it.
        let headers = text.match_indices("\n\n[").map(|(at, _)| at);
        let headers = headers.filter(|at| is_put_back(&text[at + 2..]));
        told(text)
            .or_else(|| headers.map(|at| &text[..at]).find_map(told))
            .or_else(|| {
                let prefixes = self.summaries.iter().map(Template::prefix);
                let rest = prefixes.filter_map(|prefix| text.strip_prefix(prefix));
                rest.min_by_key(|rest| rest.len())
            })
            .unwrap_or(text)
    }

    fn is_summary(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> bool {
        let line = conversation.first_line(message);
        let link = transcript.links().get(line as usize);
        if link.is_some_and(|link| link.marks.has(Marks::SUMMARY)) {
            return true;
        }
        let Some(first) = conversation.blocks(message).first() else {
            return false;
        };
        let block = transcript.block(*first);
        block.kind == BlockKind::Text && {
            let said = said(transcript, block);
            let is_ours = self.summaries.iter().any(|s| said.starts_with(s.prefix()));
            is_ours || said.starts_with(SUMMARY_BEGINS)
        }
    }

    fn is_acknowledgement(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> bool {
        let [block] = conversation.blocks(message) else {
            return false;
        };
        let block = transcript.block(*block);
        block.kind == BlockKind::Text
            && self
                .acknowledgements
                .iter()
                .any(|ack| said(transcript, block) == *ack)
    }
}
