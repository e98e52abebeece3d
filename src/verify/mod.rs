//! Checks whether a history is valid for its provider's API, and whether its agent can resume from it.
//!
//! A dialect checks a transcript by the rules here and by its own ([`crate::format::Format::verify`]), and `Findings` collects
//! the results; [`new_findings`] finds the [`Finding`]s that a compaction caused. The rules are those whose violation
//! providers answer with an error, in the provider's own wording where it is known ([`Rule::wording`]), and those by which
//! agents choose what they send. Bytes are read again only for ids, for a few keys that no record keeps, and to check that
//! what is sent is JSON that every reader accepts.
//!
//! Never changes anything, never does I/O, never fails: a history that cannot be read yields findings.

pub(crate) mod anthropic;
mod call_ids;
mod open_calls;
pub(crate) mod openai;
mod rule;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::IdMap;
use crate::scan::{Anomalies, Cursor, unescape};
use crate::transcript::{Block, Conversation, ConversationId, LineKind, Transcript};

pub(crate) use open_calls::OpenCalls;
pub use rule::{Provider, Rule};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// The provider refuses the history, or the agent silently loses a part of it.
    Error,
    /// Some providers or models refuse it, or it is odd.
    Warning,
}

/// One rule broken in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The line in the transcript, from 1; always 1 if each line of a file is a transcript.
    pub line: u64,
    /// The conversation: its [`crate::transcript::ConversationId`] as displayed. Shared by its findings, because an id can be long.
    pub conversation: Arc<str>,
    /// The id of the call or the uuid of the line concerned; empty where there is none.
    pub id: String,
    /// The finding as a text for people: the provider's wording where it is known, and the id.
    pub message: String,
}

/// The errors of `after` that are not in `before`, in the order of `after`.
///
/// Findings are counted by rule and id, never by line, since a compaction moves lines. Warnings are ignored on both sides.
pub fn new_findings<'a>(before: &[Finding], after: &'a [Finding]) -> Vec<&'a Finding> {
    let is_error = |f: &&Finding| f.severity == Severity::Error;
    let mut known: IdMap<(Rule, &str), usize> = IdMap::default();
    for finding in before.iter().filter(is_error) {
        *known.entry((finding.rule, &finding.id)).or_default() += 1;
    }
    after
        .iter()
        .filter(is_error)
        .filter(|f| match known.get_mut(&(f.rule, f.id.as_str())) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        })
        .collect()
}

/// The findings of one transcript, collected during the checks.
pub(crate) struct Findings<'t, 'a> {
    pub(crate) transcript: &'t Transcript<'a>,
    provider: Option<Provider>,
    /// The conversation that is being checked.
    conversation: Arc<str>,
    list: Vec<Finding>,
}

impl<'t, 'a> Findings<'t, 'a> {
    /// Begins with the finding that there is no conversation, where that is so; `provider` is the one whose wording is used.
    pub(crate) fn new(transcript: &'t Transcript<'a>, provider: Option<Provider>) -> Self {
        let first = transcript.conversations.first();
        let mut findings = Findings {
            transcript,
            provider,
            conversation: first.map(|c| c.id.to_string()).unwrap_or_default().into(),
            list: Vec::new(),
        };
        findings.without_conversation();
        findings
    }

    /// An empty list for the same conversation, for a check that runs beside others.
    pub(crate) fn beside(&self) -> Self {
        Findings {
            transcript: self.transcript,
            provider: self.provider,
            conversation: Arc::clone(&self.conversation),
            list: Vec::new(),
        }
    }

    /// Adds the findings of a check that ran beside this one.
    pub(crate) fn append(&mut self, other: Findings<'_, '_>) {
        self.list.extend(other.list);
    }

    /// All findings, in the order in which they were found.
    pub(crate) fn finish(self) -> Vec<Finding> {
        self.list
    }

    /// Sets the conversation of all findings from here on.
    pub(crate) fn within(&mut self, conversation: &ConversationId) {
        self.conversation = conversation.to_string().into();
    }

    /// Runs a check over every conversation; its findings carry the conversation's name.
    pub(crate) fn conversations(&mut self, mut check: impl FnMut(&mut Self, &'t Conversation)) {
        for conversation in &self.transcript.conversations {
            self.within(&conversation.id);
            check(self, conversation);
        }
    }

    /// Adds an error about a line; `id` is as written between its quotes.
    pub(crate) fn error(&mut self, rule: Rule, line: u32, id: &[u8]) {
        self.add(rule, Severity::Error, line, id);
    }

    /// Adds an error about a call or a result.
    pub(crate) fn call_error(&mut self, rule: Rule, block: &Block) {
        self.error(rule, block.line, self.id_of(block));
    }

    /// Adds a warning about a line; `id` is as written between its quotes.
    pub(crate) fn warning(&mut self, rule: Rule, line: u32, id: &[u8]) {
        self.add(rule, Severity::Warning, line, id);
    }

    /// Adds a finding in the provider's wording, or in the rule's own if there is none.
    pub(crate) fn add(&mut self, rule: Rule, severity: Severity, line: u32, id: &[u8]) {
        let wording = self.provider.and_then(|provider| rule.wording(provider));
        let words = wording.unwrap_or(rule.ours());
        self.report(rule, severity, line, id, words);
    }

    /// Adds a finding with a message other than the rule's. `id` is as written between its quotes.
    pub(crate) fn report(
        &mut self,
        rule: Rule,
        severity: Severity,
        line: u32,
        id: &[u8],
        words: &str,
    ) {
        let id = String::from_utf8_lossy(&unescape(id)).into_owned();
        let message = if id.is_empty() {
            words.to_owned()
        } else {
            format!("{words}: {id}")
        };
        self.list.push(Finding {
            rule,
            severity,
            line: u64::from(line) + 1,
            conversation: Arc::clone(&self.conversation),
            id,
            message,
        });
    }

    /// A block's call id, unescaped.
    pub(crate) fn call_id(&self, block: &Block) -> Cow<'t, [u8]> {
        unescape(self.transcript.bytes(block.line, block.call_id))
    }

    /// The uuid of a line, as written; empty in formats without uuids.
    pub(crate) fn uuid(&self, line: u32) -> &'t [u8] {
        match self.transcript.links().get(line as usize) {
            Some(link) => self.transcript.bytes(line, link.id),
            None => b"",
        }
    }

    /// The id that identifies a block best, as written: its call's id, or its line's uuid.
    pub(crate) fn id_of(&self, block: &Block) -> &'t [u8] {
        match self.transcript.bytes(block.line, block.call_id) {
            b"" => self.uuid(block.line),
            id => id,
        }
    }

    fn without_conversation(&mut self) {
        let main = self.transcript.conversations.first();
        if main.is_some_and(|c| !c.messages.is_empty()) {
            return;
        }
        let mut lines = (0u32..).zip(self.transcript.lines());
        if let Some((line, _)) = lines.find(|(_, line)| line.kind == LineKind::Message) {
            self.error(Rule::NoConversation, line, b"");
        }
    }

    /// Reports lines that cannot be read in a file where every line should be a message. Blank lines do no harm.
    pub(crate) fn unreadable_lines(&mut self) {
        for (number, line) in (0u32..).zip(self.transcript.lines()) {
            if line.kind == LineKind::Bad && !self.transcript.line(number).trim_ascii().is_empty() {
                let words = "a line that is not a message";
                self.report(Rule::InvalidJson, Severity::Warning, number, b"", words);
            }
        }
    }

    /// Checks that every reader accepts the bytes of a block.
    pub(crate) fn readable(&mut self, block: &Block) {
        // Most lines have no anomalies; this block is searched for one only if its line has any.
        let odd = self.transcript.lines()[block.line as usize].anomalies;
        if !odd.contains(Anomalies::INVALID_UTF8) && !odd.contains(Anomalies::LONE_SURROGATE) {
            return;
        }
        let bytes = self.transcript.bytes(block.line, block.value);
        let id = self.id_of(block);
        if std::str::from_utf8(bytes).is_err() {
            let words = "bytes that are not UTF-8";
            self.report(Rule::InvalidJson, Severity::Error, block.line, id, words);
        }
        if has_lone_surrogate(bytes) {
            let words = "no low surrogate in string";
            self.report(Rule::InvalidJson, Severity::Error, block.line, id, words);
        }
    }
}

/// Whether a JSON value has half of a surrogate pair in an escape.
fn has_lone_surrogate(value: &[u8]) -> bool {
    let mut cursor = Cursor::new(value);
    cursor.skip().is_ok() && cursor.anomalies.contains(Anomalies::LONE_SURROGATE)
}

#[cfg(test)]
mod tests;
