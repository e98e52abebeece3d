//! The report beside each output: written when the output is, so that a run which is killed leaves outputs with their reports.
//!
//! Only the rest is written at the end: reports shared by several outputs, reports amended at the end of the run, and those that
//! could not be written before. Never writes to folders where agents keep their sessions: agents list what is there.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::reports;
use crate::batch::{Overwrite, PlaceKey, Sorted, place_key, stats_beside, unread};
use crate::error::{Error, Result};
use crate::outcome::{Entries, Outcome};
use crate::report::{PolicyRef, Report, ReportFormat};
use crate::store::folder::folder_of;
use crate::store::{Missing, OpenPath};

/// When reports are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportTiming {
    /// As soon as an outcome is final.
    AtOnce,
    /// At the end, because they contain information about the whole run.
    AtTheEnd,
}

/// The reports beside the outputs of a run.
#[derive(Debug)]
pub(super) struct BesideReports {
    policy: PolicyRef,
    overwrite: Overwrite,
    when: ReportTiming,
    /// Folders in which no reports are written.
    spared: Vec<PathBuf>,
    /// The reports written so far: a few bytes for each.
    written: Mutex<HashMap<PlaceKey, Outputs>>,
    /// Whether any is left for the end.
    is_left: AtomicBool,
}

/// The outputs that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outputs {
    One,
    /// `a.jsonl` and `a.jsonl.gz` share one report.
    Several,
}

impl BesideReports {
    pub(super) fn new(policy: PolicyRef, overwrite: Overwrite, when: ReportTiming) -> Self {
        BesideReports {
            policy,
            overwrite,
            when,
            spared: Vec::new(),
            written: Mutex::default(),
            is_left: AtomicBool::new(when == ReportTiming::AtTheEnd),
        }
    }

    /// Writes no reports to these folders or their subfolders.
    pub(super) fn sparing(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let whole = folders
            .into_iter()
            .filter_map(|folder| folder.canonicalize().ok());
        BesideReports {
            spared: whole.collect(),
            ..self
        }
    }

    /// The path of the report next to an output, if there is an output and reports are written in its folder.
    fn report_of(&self, outcome: &Outcome) -> Option<PathBuf> {
        let output = outcome.output.as_deref().filter(|output| *output != "-")?;
        if !self.spared.is_empty() {
            let folder = folder_of(Path::new(output)).canonicalize().ok();
            let is_in = |spared| {
                folder
                    .as_ref()
                    .is_some_and(|folder| folder.starts_with(spared))
            };
            if self.spared.iter().any(is_in) {
                return None;
            }
        }
        Some(stats_beside(output))
    }

    /// Called when an outcome is final: writes the report next to its output, if it has one. No link is followed below `base`.
    pub(super) fn see(&self, outcome: &Outcome, base: Option<&Path>) {
        let Some(path) = self
            .report_of(outcome)
            .filter(|_| self.when == ReportTiming::AtOnce)
        else {
            return;
        };
        let place = place_key(&path);
        {
            // Taken before it is written, so that no two threads write to one file.
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            let before = written.insert(place, Outputs::One);
            if before.is_some() {
                written.insert(place, Outputs::Several);
                self.is_left.store(true, Ordering::Relaxed);
                return;
            }
        }
        let report = Report::new(self.policy.clone(), vec![outcome.clone()]);
        if self.write(&path, base, &report).is_err() {
            // Retried at the end, where the error is reported.
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.insert(place, Outputs::Several);
            self.is_left.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the remaining reports, each made by `finished` from the outcomes that share it; `changed` lists the inputs whose
    /// outcomes were amended at the end of the run. Returns the errors.
    ///
    /// # Errors
    /// If outcomes cannot be read back from disk.
    pub(super) fn end<'f>(
        &self,
        outcomes: &Sorted,
        changed: &[String],
        base_of: &dyn Fn(&str) -> io::Result<Option<&'f Path>>,
        finished: &dyn Fn(Report) -> Report,
    ) -> Result<Vec<Error>> {
        let mut unwritten = Vec::new();
        if !self.is_left.load(Ordering::Relaxed) && changed.is_empty() {
            return Ok(unwritten);
        }
        let is_written = |path: &Path| {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.get(&place_key(path)) == Some(&Outputs::One)
        };
        for places in outcomes
            .together(&|outcome| self.report_of(outcome))
            .map_err(unread)?
        {
            let mut together = Vec::new();
            for at in places {
                together.push(outcomes.get(at).map_err(unread)?.into_owned());
            }
            let Some(path) = together.first().and_then(|outcome| self.report_of(outcome)) else {
                continue;
            };
            let is_changed = |one: &Outcome| changed.contains(&one.file.path);
            if is_written(&path) && !together.iter().any(is_changed) {
                continue;
            }
            let mut base = None;
            for one in &together {
                base = base.or(base_of(&one.file.path).map_err(unread)?);
            }
            let report = finished(Report::new(self.policy.clone(), together));
            unwritten.extend(self.write(&path, base, &report).err());
        }
        Ok(unwritten)
    }

    fn write(&self, path: &Path, base: Option<&Path>, report: &Report) -> Result<()> {
        let spot = match base {
            Some(base) => OpenPath::below(base, path, Missing::Make),
            None => OpenPath::named(path, Missing::Make),
        };
        reports::write(spot?, report, ReportFormat::Json, self.overwrite).map(drop)
    }
}
