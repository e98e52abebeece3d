//! Adds up the results of the transcripts of one input.

use crate::format::{Detected, LineWarning};
use crate::outcome::{
    ConversationOutcome, Coverage, Degraded, FaultKind, FileRecord, Outcome, OutcomeError, Status,
    Warning, WarningKind,
};
use crate::pipeline::{Compacted, Rejected};

/// The sum of the transcripts of one input.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) changed: bool,
    findings_before: u64,
    findings_after: u64,
    pub(super) conversations: Vec<ConversationOutcome>,
    rejected: Option<Rejected>,
    pub(super) offloads: Vec<String>,
    /// The names of the copies that summaries name.
    pub(super) copies: Vec<String>,
    /// The names in the store that the output no longer contains.
    pub(super) released: Vec<String>,
    pub(super) summarised: bool,
    /// Whether a summary is still to come.
    pub(super) waits: bool,
    coverage: Option<Coverage>,
    degraded: Vec<Degraded>,
    pub(super) warnings: Vec<Warning>,
}

impl Sum {
    /// `base` with the sums.
    pub(super) fn outcome(
        self,
        detected: Detected,
        warnings: Vec<LineWarning>,
        base: Outcome,
    ) -> Outcome {
        let (format, status) = match &detected {
            Detected::Unsupported(why) => (why.name, Status::Unsupported),
            Detected::Known(format, _) if self.rejected.is_some() => {
                (format.name(), Status::Rejected)
            }
            Detected::Known(format, _) if self.changed => (format.name(), Status::Compacted),
            Detected::Known(format, _) => (format.name(), Status::Unchanged),
        };
        let error = self.rejected.map(|rejected| OutcomeError {
            kind: FaultKind::Rejected(rejected.why),
            message: rejected.message,
            line: rejected.line,
            hint: None,
        });
        let why = match &detected {
            Detected::Unsupported(why) => why.reason(),
            Detected::Known(..) => None,
        };
        let why = why.map(|message| Warning {
            kind: WarningKind::Unsupported,
            line: None,
            message,
        });
        let warnings = warnings.into_iter().map(Warning::from).chain(self.warnings);
        let low = self.coverage.as_ref().filter(|coverage| coverage.is_low());
        let low = low.map(|coverage| Warning {
            kind: WarningKind::Coverage,
            line: None,
            message: coverage.sentence(),
        });
        let warnings = why.into_iter().chain(warnings).chain(low);
        Outcome {
            file: FileRecord {
                format: Some(format.to_owned()),
                error,
                ..base.file
            },
            status,
            findings_before: self.findings_before,
            findings_after: self.findings_after,
            coverage: self.coverage,
            degraded: self.degraded,
            warnings: warnings.collect(),
            conversations: self.conversations,
            ..base
        }
    }

    /// How many conversations have no model's summary, because the model or its server failed.
    pub(super) fn failed_summaries(&self) -> u64 {
        let summaries = self.conversations.iter().flat_map(|c| &c.summary);
        summaries.filter(|summary| summary.error.is_some()).count() as u64
    }

    pub(super) fn add(&mut self, mut compacted: Compacted<'_>) {
        self.changed |= compacted.is_changed();
        self.summarised |= compacted.is_summarised();
        self.warnings.append(&mut compacted.warnings);
        self.waits |= compacted.waits();
        for degraded in compacted.degraded.drain(..) {
            // With many conversations in one file, the first one represents all.
            if !self.degraded.contains(&degraded) {
                self.degraded.push(degraded);
            }
        }
        *self.coverage.get_or_insert_default() += &compacted.coverage;
        self.findings_before += compacted.findings_before;
        self.findings_after += compacted.findings_after;
        self.offloads
            .extend(compacted.offloads().map(|(name, _)| name.to_owned()));
        self.released.extend(compacted.released().iter().cloned());
        self.conversations.append(&mut compacted.conversations);
        if self.rejected.is_none() {
            self.rejected = compacted.rejection.take();
        }
    }
}
