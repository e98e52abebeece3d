//! Notes the results of this run for the next one.
//!
//! An error in noting costs no result: the next run processes that input again.

use std::fs;
use std::sync::PoisonError;

use super::{Earlier, ResumeNote};
use crate::batch::{Target, Targets};
use crate::error::{Error, Result};
use crate::outcome::{Figures, Outcome};
use crate::store::FileIdentity;
use crate::store::finished::{Elsewhere, Finished, FinishedWork};

impl Earlier<'_> {
    /// Notes a finished input for the next run; returns where its outcome is then.
    pub(in crate::batch) fn note(
        &self,
        target: &Target,
        outcome: &Outcome,
        left: ResumeNote,
    ) -> Option<Elsewhere> {
        self.try_note(target, outcome, left)
            .unwrap_or_else(|error| {
                let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(error.hint("the next run processes this input again"));
                None
            })
    }

    fn try_note(
        &self,
        target: &Target,
        outcome: &Outcome,
        left: ResumeNote,
    ) -> Result<Option<Elsewhere>> {
        let (Some(work), Some(kept), Some(seen)) = (&self.work, &target.store, left.seen) else {
            return Ok(None);
        };
        // No store is made for the sake of a note: a run that changes nothing leaves nothing.
        if !Figures::of(outcome).is_final() || outcome.output.is_none() && !kept.store.exists()? {
            return Ok(None);
        }
        let Some(input) = self.name(target, kept) else {
            return Ok(None);
        };
        let output = target.output().filter(|_| outcome.output.is_some());
        let output_seen = match &output {
            Some(path) => {
                let seen = fs::metadata(path);
                let seen = seen.map_err(|e| Error::io(path, "look at the output", e))?;
                Some(match self.options.hooks.post {
                    None => FileIdentity::of_output(path, &seen),
                    // A hook may have written there.
                    Some(_) => FileIdentity::of(&seen),
                })
            }
            None => None,
        };
        let content = |name: String| {
            let seen = kept.store.content_to_note(&name)?;
            Some((name, seen))
        };
        // Contents that are already gone will not be there for the next run either.
        let contents: Option<Vec<_>> = left.contents.into_iter().map(content).collect();
        let Some(contents) = contents else {
            return Ok(None);
        };
        let place = kept.store.note_finished(
            work,
            &Finished {
                input,
                input_seen: seen,
                output: output
                    .as_deref()
                    .map(|path| kept.store.name_of(path))
                    .transpose()?,
                output_seen,
                contents,
                outcome: outcome.clone(),
            },
        )?;
        Ok(Some(place))
    }

    /// Called at the end of the run. Returns the errors.
    pub(in crate::batch) fn end(&self, targets: &Targets) -> Vec<Error> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let mut faults: Vec<Error> = fault.take().into_iter().collect();
        let Some(work) = &self.work else {
            return faults;
        };
        for (root, kept) in targets.stores() {
            let none = FinishedWork::default();
            let known = self.by_store.get(&root).map(|known| &known.finished);
            if let Some((server, _)) = &self.options.server {
                server.settle(&kept.store);
            }
            let ended = kept.store.end_finished(work, known.unwrap_or(&none));
            faults.extend(ended.err());
        }
        faults
    }
}
