//! The result of compacting a transcript, or why it is rejected and the input is kept.

use crate::artifacts::Content;
use crate::outcome::{
    ActionKind, ConversationOutcome, Coverage, Degraded, DegradedKind, Rejection, Timings, Warning,
};
use crate::settle::Change;
use crate::transcript::Transcript;
use crate::verify::{Finding, Severity, new_findings};

/// The result of compacting a transcript.
#[derive(Debug)]
pub struct Compacted<'a> {
    pub(super) transcript: Transcript<'a>,
    pub(super) changes: Vec<Change>,
    /// The number of dropped lines.
    pub(super) dropped: usize,
    /// The number of lines that contained secrets.
    pub(super) masked: usize,
    /// The number of summarised conversations.
    pub(super) summarised: usize,
    /// The names in the store that the input contains and the output does not.
    pub(super) released: Vec<String>,
    /// What the policy asks for but could not be done.
    pub degraded: Vec<Degraded>,
    /// Warnings about the result.
    pub warnings: Vec<Warning>,
    /// The number of findings in the input.
    pub findings_before: u64,
    /// The number of findings in the result; in the input if the result was rejected.
    pub findings_after: u64,
    /// What happened to each conversation.
    pub conversations: Vec<ConversationOutcome>,
    /// Why the result was rejected, if it was.
    pub rejection: Option<Rejected>,
    /// How much of the input is understood.
    pub coverage: Coverage,
    /// How long it took, if there was a clock.
    pub timings: Option<Timings>,
}

/// Why a result was rejected.
#[derive(Debug)]
pub struct Rejected {
    /// The kind of reason.
    pub why: Rejection,
    /// The reason in words.
    pub message: String,
    /// The line of the result that is affected, from 1.
    pub line: Option<u64>,
}

impl<'a> Compacted<'a> {
    /// Whether the output differs from the input.
    pub fn is_changed(&self) -> bool {
        let some = !self.changes.is_empty() || self.dropped > 0 || self.is_summarised();
        self.masked > 0 || self.rejection.is_none() && some
    }

    /// Whether threads share the work on it.
    pub(crate) fn is_shared(&self) -> bool {
        self.transcript.is_shared()
    }

    /// Whether the output contains a new summary.
    pub fn is_summarised(&self) -> bool {
        self.rejection.is_none() && self.summarised > 0
    }

    /// Whether a summary is still pending, so that nothing may be written yet.
    pub fn waits(&self) -> bool {
        let mut degraded = self.degraded.iter();
        degraded.any(|one| one.kind == DegradedKind::SummaryPending)
    }

    /// The output's bytes, in pieces; the input's if nothing changed or the result was rejected.
    pub fn pieces(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        if self.is_changed() {
            Box::new(self.transcript.pieces())
        } else {
            Box::new(std::iter::once(self.transcript.base()))
        }
    }

    /// The name and content of everything in the store that the output newly refers to.
    pub fn offloads(&self) -> impl Iterator<Item = (&str, Content<'_>)> + '_ {
        let changes = if self.is_changed() {
            self.changes.as_slice()
        } else {
            &[]
        };
        changes.iter().filter_map(|change| {
            let stored = change.stored.as_ref()?;
            let content = Content::stored(stored, &self.transcript, change.block);
            Some((stored.name.as_str(), content))
        })
    }

    /// The names in the store that the input contains and the output does not, if the policy cleans up after a summary.
    pub fn released(&self) -> &[String] {
        if self.is_summarised() {
            &self.released
        } else {
            &[]
        }
    }

    /// The transcript as it is now, for comparisons.
    pub fn transcript(&self) -> &Transcript<'a> {
        &self.transcript
    }
}

/// The number of findings that are errors.
pub(super) fn errors(findings: &[Finding]) -> u64 {
    findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count() as u64
}

/// Why a result is rejected, if it is: it breaks a rule that the input keeps, or has more tokens.
pub(super) fn reject(
    before: &[Finding],
    after: &[Finding],
    conversations: &[ConversationOutcome],
    first_line: u64,
) -> Option<Rejected> {
    if let Some(finding) = new_findings(before, after).first() {
        return Some(Rejected {
            why: Rejection::NewFinding,
            message: format!(
                "the result would violate a rule that the input satisfies: {}",
                finding.message
            ),
            line: Some(finding.line + first_line - 1),
        });
    }
    // A mask may be longer than the secret.
    let masked = |c: &ConversationOutcome| {
        let mut actions = c.actions.iter();
        let masked = actions.find(|action| action.kind == ActionKind::Redact);
        masked.map_or(c.tokens_before, |action| action.tokens_after)
    };
    let worse = conversations.iter().find(|c| c.tokens_after > masked(c))?;
    Some(Rejected {
        why: Rejection::MoreTokens,
        message: format!(
            "the result would have more tokens ({} instead of {}) in conversation {}",
            worse.tokens_after,
            masked(worse),
            worse.id
        ),
        line: None,
    })
}
