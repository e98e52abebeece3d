//! Processes one record of a stream: finds the transcript in its line, compacts it, and puts it back.
//!
//! Each thread processes one record at a time; a record is processed alone if others hold the memory that it needs. Never fails
//! because of a record's contents.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError, RwLock};

use super::super::budget::Budget;
use super::super::hooks::{HookContext, PreHook};
use super::super::record::{Record, has_another, with_error, with_member};
use super::super::target::RunStore;
use super::super::{Destination, Source, Target, is_crowded, one};
use super::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{FaultKind, Outcome, Status, WarningKind};
use crate::semaphore::Semaphore;

/// A record to be compacted, and the channel for its answer.
pub(super) struct Task {
    /// Its line, from 1.
    pub(super) number: u64,
    pub(super) line: Vec<u8>,
    pub(super) answer: SyncSender<Answer>,
}

/// The result of a record; an error ends the stream.
pub(super) type Answer = Result<(Vec<u8>, Outcome)>;

/// The name in reports of a record without a path.
pub(super) fn name_of(number: u64) -> PathBuf {
    PathBuf::from(format!("line:{number}"))
}

/// What all workers share.
pub(super) struct Work<'r> {
    pub(super) run: one::Run<'r>,
    pub(super) stream: &'r Stream,
    pub(super) store: Option<Arc<RunStore>>,
    pub(super) budget: Budget,
    pub(super) turns: &'r Semaphore,
    pub(super) hook_context: HookContext<'r>,
    /// Read-locked by each record in progress; write-locked by a record that has to be processed alone.
    pub(super) together: RwLock<()>,
}

impl Work<'_> {
    /// The result of a record, with its entry of the report if that is requested; a panic is an error of this record.
    ///
    /// A record that already has another value in the entry's member gets no entry: it is returned unchanged, with an error.
    pub(super) fn answer(&self, task: &Task) -> Answer {
        let stats = self.stream.stats.as_deref();
        if let Some(name) = stats.filter(|name| has_another(&task.line, name)) {
            let message =
                format!("the record has a member {name:?} of its own, which --stats-field names");
            return Ok(refused(task, &Error::new(ErrorKind::Exists, message)));
        }
        let compacted = catch_unwind(AssertUnwindSafe(|| self.compacted(task)));
        let (line, outcome) = compacted.unwrap_or_else(|_| {
            let message = "internal error on this record; it is unchanged";
            Ok(refused(task, &Error::new(ErrorKind::Internal, message)))
        })?;
        let Some(name) = stats else {
            return Ok((line, outcome));
        };
        let stats = serde_json::to_string(&outcome);
        let stats = stats.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
        Ok((with_member(&line, name, &stats), outcome))
    }

    fn compacted(&self, task: &Task) -> Answer {
        let Task { number, line, .. } = task;
        let format = self.run.options.format;
        let record = Record::of(line, self.stream.field.as_deref(), format);
        let record = match record {
            Ok(record) => record,
            Err(error) => return Ok(refused(task, &error)),
        };
        let path = record.path.clone().unwrap_or_else(|| name_of(*number));
        let tried = self.compact(&record, &path);
        let tried = tried.and_then(|(outcome, output)| match outcome.status {
            Status::Compacted => Ok((record.with(&output)?, outcome)),
            Status::Unchanged => Ok((record.unchanged(), outcome)),
            Status::Rejected | Status::Failed | Status::Unsupported | Status::Skipped => {
                Ok((unchanged(line, &outcome), outcome))
            }
        });
        match tried {
            Err(error) if matches!(error.kind, ErrorKind::Interrupted) => Err(error),
            Err(error) => {
                self.run.check_refusal()?;
                let outcome = Outcome::failed(&path, &error);
                Ok((
                    with_error(line, &FaultKind::Error(error.kind), &error.message),
                    outcome,
                ))
            }
            Ok(answer) => Ok(answer),
        }
    }

    /// Compacts the record's transcript; alone, if others hold the memory that it needs.
    fn compact(&self, record: &Record<'_>, path: &Path) -> Result<(Outcome, Vec<u8>)> {
        let transcript = record.transcript();
        let tried = {
            let _together = self.together.read().unwrap_or_else(PoisonError::into_inner);
            self.attempt(record, &transcript, path)
        };
        match tried {
            Err(error) if is_crowded(&error) => {
                let _alone = self
                    .together
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                self.attempt(record, &transcript, path)
            }
            tried => tried,
        }
    }

    /// Compacts it once, alongside others or alone.
    fn attempt(
        &self,
        record: &Record<'_>,
        transcript: &[u8],
        path: &Path,
    ) -> Result<(Outcome, Vec<u8>)> {
        let bytes = transcript.len() as u64;
        // The output's future location: names in its texts are relative to it.
        let output = record.path.as_ref().filter(|_| self.store.is_some());
        let destination = output.map_or(Destination::Stdout, |path| {
            Destination::File(self.stream.folder.join(path))
        });
        let target = Target {
            source: &Source::Stdin,
            bytes,
            look: None,
            destination: &destination,
            emit: None,
            base: None,
            store: self.store.clone(),
        };
        let before = PreHook::new(self.hook_context, &target, self.turns);
        let share = self.budget.take(bytes);
        let _turn = self.turns.acquire();
        let mut output = Vec::new();
        let outcome =
            self.run
                .compact_record(&target, path, transcript, &mut output, share, &before)?;
        Ok((outcome, output))
    }
}

/// The result of a record that cannot be compacted: its line with the reason.
fn refused(task: &Task, error: &Error) -> (Vec<u8>, Outcome) {
    let line = with_error(&task.line, &FaultKind::Error(error.kind), &error.message);
    (line, Outcome::failed(&name_of(task.number), error))
}

/// The line of a record that was read but is returned unchanged, with the reason.
fn unchanged(line: &[u8], outcome: &Outcome) -> Vec<u8> {
    if let Some(error) = &outcome.file.error {
        return with_error(line, &error.kind, &error.message);
    }
    let mut warnings = outcome.warnings.iter();
    let unsupported = warnings.find(|warning| warning.kind == WarningKind::Unsupported);
    let message = unsupported.map_or("not a known transcript format", |why| &why.message);
    with_error(line, &FaultKind::Error(ErrorKind::Unsupported), message)
}
