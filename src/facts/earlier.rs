//! Recognises what an earlier compaction left in a conversation: its summary, and the answer that acknowledges it.
//!
//! A summary is recognised by the mark of its format. In formats where a summary is an ordinary message, it must be the first
//! message of the window, have the role that the policy gives it, and begin like the summaries of this policy or of a preset. Text
//! alone does not make a summary, since anyone can type it.

use std::ops::Range;

use crate::error::Result;
use crate::format::SUMMARY_BEGINS;
use crate::policy::{self, Policy, Template, presets};
use crate::transcript::{BlockKind, Conversation, Message, Role, SummaryMark, Transcript};

use super::{Placeholders, block_text};

/// How summaries begin, what acknowledges them, and what stands in the place of results.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    summaries: Vec<(Template, Role)>,
    acknowledgements: Vec<String>,
    pub(super) placeholders: Placeholders,
}

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOrigin {
    /// It is the summary of an earlier compaction.
    Summary,
    /// It is the answer that acknowledges a summary.
    Acknowledgement,
    /// It is a message of the session.
    Session,
}

/// How the headers of restored entries after a summary begin.
const PUT_BACK: [&str; 4] = [
    "[File restored",
    "[Plan restored",
    "[To-dos restored",
    "[Skill restored",
];

/// Prefix and suffix of the line `[Original: N tokens]`, which ends a summary with a relative target.
const ORIGINAL: (&str, &str) = ("[Original: ", " tokens]");

/// The last line of a summary whose target is a share of the original, which had `tokens` tokens: a later run with the same share
/// needs that number.
pub fn note_of_original(tokens: u64) -> String {
    let (before, after) = ORIGINAL;
    format!("{before}{tokens}{after}")
}

/// The text of a summary before the `[Original: N tokens]` line, and N. Only restored entries may follow the line.
fn noted(summary: &str) -> Option<(&str, u64)> {
    let quoted = quotations(summary);
    let is_quoted = |at: usize| {
        let next = quoted.partition_point(|quotation| quotation.end <= at);
        quoted.get(next).is_some_and(|next| next.contains(&at))
    };
    let notes = summary.rmatch_indices(ORIGINAL.0);
    notes
        .filter(|(at, _)| !is_quoted(*at))
        .find_map(|(at, prefix)| {
            let (before, note) = (&summary[..at], &summary[at + prefix.len()..]);
            let digits = note.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = note.split_at(digits);
            let after = after.strip_prefix(ORIGINAL.1)?;
            let is_last =
                after.is_empty() || after.strip_prefix("\n\n").is_some_and(is_restored_header);
            let is_line = before.is_empty() || before.ends_with('\n');
            let tokens = digits.parse().ok().filter(|_| is_last && is_line)?;
            Some((before.trim_end_matches('\n'), tokens))
        })
}

/// The ranges where a summary quotes multi-line messages: between two equal rows of tildes, the first of which follows a line that
/// is only a line number. The text there is not the summary's own.
fn quotations(summary: &str) -> Vec<Range<usize>> {
    let is_mark = |line: &str| {
        let mark = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'));
        let numbers = mark.unwrap_or(line).strip_prefix('L').unwrap_or_default();
        let is_part = |b: u8| b.is_ascii_digit() || matches!(b, b',' | b'L');
        !numbers.is_empty() && numbers.bytes().all(is_part)
    };
    let is_fence = |line: &str| line.len() >= 3 && line.bytes().all(|b| b == b'~');
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let (mut above, mut at) = ("", 0);
    for whole in summary.split_inclusive('\n') {
        let line = whole.trim_end_matches('\n');
        match open {
            Some((fence, from)) if line == fence => {
                found.push(from..at);
                open = None;
            }
            Some(_) => {}
            None if is_fence(line) && is_mark(above) => open = Some((line, at)),
            None => {}
        }
        above = line;
        at += whole.len();
    }
    found
}

/// Whether a line is the header of a restored entry.
pub fn is_restored_header(line: &str) -> bool {
    PUT_BACK.iter().any(|header| line.starts_with(header))
}

impl Earlier {
    /// Recognises the summaries that `policy` and all presets write.
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn of(policy: &Policy) -> Result<Self> {
        let mut earlier = Earlier {
            placeholders: Placeholders::of(policy)?,
            ..Earlier::default()
        };
        let shipped = presets()?;
        for summary in shipped.iter().chain([policy]).map(|policy| &policy.summary) {
            if !summary.text.prefix().trim().is_empty() {
                let role = match summary.role {
                    policy::Role::User => Role::User,
                    policy::Role::Assistant => Role::Assistant,
                };
                earlier.summaries.push((summary.text.clone(), role));
            }
            if !summary.ack.trim().is_empty() {
                earlier.acknowledgements.push(summary.ack.clone());
            }
        }
        Ok(earlier)
    }

    /// Where each message of a conversation comes from.
    pub fn origins(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Vec<MessageOrigin> {
        let mut origins: Vec<MessageOrigin> = Vec::with_capacity(conversation.messages.len());
        // System messages come before the summary.
        let mut messages = conversation.messages.iter();
        let first = messages.position(|message| message.role != Role::System);
        for (number, message) in conversation.messages.iter().enumerate() {
            let follows_summary = origins.last() == Some(&MessageOrigin::Summary);
            let is_summary = message.is_summary
                || first == Some(number) && self.begins(transcript, conversation, message);
            origins.push(if is_summary {
                MessageOrigin::Summary
            } else if follows_summary && self.is_acknowledgement(transcript, conversation, message)
            {
                MessageOrigin::Acknowledgement
            } else {
                MessageOrigin::Session
            });
        }
        origins
    }

    /// The token count of the original, as noted in the summaries of a conversation; `origins` identifies these messages.
    pub fn original(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        origins: &[MessageOrigin],
    ) -> Option<u64> {
        let summaries = conversation.messages.iter().zip(origins);
        let summaries = summaries.filter(|(_, origin)| **origin == MessageOrigin::Summary);
        let blocks = summaries.flat_map(|(message, _)| conversation.blocks(message));
        let blocks = blocks.map(|block| transcript.block(*block));
        let texts = blocks.filter(|block| block.kind == BlockKind::Text);
        let tokens = texts.filter_map(|block| {
            let text = block_text(transcript, block);
            noted(self.inside(&text)).map(|(_, tokens)| tokens)
        });
        tokens.max()
    }

    /// The summary in a message: without the template around it and without the note of the original.
    pub fn summary_in<'t>(&self, text: &'t str) -> &'t str {
        let summary = self.inside(text);
        noted(summary).map_or(summary, |(before, _)| before)
    }

    /// The summary in a message, without the template around it.
    fn inside<'t>(&self, text: &'t str) -> &'t str {
        let shortest = |text: &'t str| {
            let found = self
                .summaries
                .iter()
                .filter_map(|(own, _)| own.matches(text));
            found.map(|values| values.summary).min_by_key(|s| s.len())
        };
        // The end of the template comes before restored entries.
        let headers = text.match_indices("\n\n[").map(|(at, _)| at);
        let headers = headers.filter(|at| is_restored_header(&text[at + 2..]));
        shortest(text)
            .or_else(|| headers.map(|at| &text[..at]).find_map(shortest))
            .or_else(|| {
                let prefixes = self.summaries.iter().map(|(own, _)| own.prefix());
                let rest = prefixes.filter_map(|prefix| text.strip_prefix(prefix));
                rest.min_by_key(|rest| rest.len())
            })
            .unwrap_or(text)
    }

    /// Whether a summary begins like those of this policy or of a preset, not like an agent's own.
    pub(super) fn is_ours(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        summary: &Message,
    ) -> bool {
        let words = first_words(transcript, conversation, summary);
        words.is_some_and(|words| {
            let mut own = self.summaries.iter();
            own.any(|(text, _)| words.starts_with(text.prefix()))
        })
    }

    /// Whether the first message of a window is a summary that was written as a message.
    fn begins(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> bool {
        let words = match conversation.marks {
            SummaryMark::Record => None,
            SummaryMark::Words => first_words(transcript, conversation, message),
        };
        words.is_some_and(|words| {
            let is_by = |role: Role| message.role == Role::User || message.role == role;
            let mut own = self.summaries.iter();
            own.any(|(text, role)| is_by(*role) && words.starts_with(text.prefix()))
                || message.role == Role::User && words.starts_with(SUMMARY_BEGINS)
        })
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
                .any(|ack| block_text(transcript, block) == *ack)
    }
}

fn first_words(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> Option<String> {
    let block = transcript.block(*conversation.blocks(message).first()?);
    (block.kind == BlockKind::Text).then(|| block_text(transcript, block).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_notes_its_original_in_its_last_line() {
        let note = note_of_original(46_166);
        assert_eq!(note, "[Original: 46166 tokens]");
        assert_eq!(noted(&note), Some(("", 46_166)));
        let summary = |after: &str| format!("## Files\nL1 read: a.rs\n\n{note}{after}");
        let before = "## Files\nL1 read: a.rs";
        assert_eq!(noted(&summary("")), Some((before, 46_166)));
        assert_eq!(
            noted(&summary("\n\n[File restored: a.rs]\nx")),
            Some((before, 46_166))
        );
        // Nor is what the user quotes.
        let quoted = format!("L1\n~~~\nx\n{note}\n\n[File restored: a.rs]\n~~~\nL3 go on");
        assert_eq!(noted(&quoted), None);
        let both = format!("{quoted}\n\n[Original: 7 tokens]\n\n[File restored: a.rs]\nL1\n~~~");
        assert_eq!(noted(&both), Some((&quoted[..], 7)));
        // Text of the transcript is not a note.
        assert_eq!(noted(&summary("\nmore")), None);
        assert_eq!(noted(&format!("L1 {note}")), None);
        assert_eq!(noted("[Original: +5 tokens]"), None);
        assert_eq!(noted("[Original:  tokens]"), None);
    }

    #[test]
    fn notes_that_do_not_end_are_not_read_to_the_end() {
        assert_eq!(noted(&"[Original: ".repeat(1_000_000)), None);
        let quoted = "[L1]\n~~~\n[Original: 5 tokens]\n~~~\n".repeat(100_000);
        assert_eq!(noted(&quoted), None);
    }
}
