//! One transcript in memory, as a record of a stream holds it, into memory.
//!
//! The same steps as for a file: what differs is where the bytes come from and go to. The original is kept where a store is,
//! since a stream cannot be read again. Never writes a file outside the store.

use std::path::Path;

use super::work::Work;
use super::{Input, InputContext, Laps, PreHook, Reservation, Result, Run, Sink, Target};
use crate::outcome::Outcome;

impl Run<'_> {
    /// Fails if the server accepts no request of the whole run.
    ///
    /// # Errors
    /// As [`super::Refusal::check`].
    pub(in crate::batch) fn check_refusal(&self) -> Result<()> {
        self.refusal.check()
    }

    /// Compacts the transcript `bytes`, which reports call `path`; the output is added to `output`, which is empty.
    ///
    /// # Errors
    /// As for a file. What is in `output` then is no result.
    pub(in crate::batch) fn compact_record(
        &self,
        target: &Target,
        path: &Path,
        bytes: &[u8],
        output: &mut Vec<u8>,
        share: Reservation<'_>,
        before: &PreHook<'_>,
    ) -> Result<Outcome> {
        let laps = Laps::start(self.options.clock());
        self.may_begin(target)?;
        let stop = &self.options.stop;
        let input = Input::of_bytes(bytes, path, stop, share)?;
        let sink = Sink::memory(output, stop);
        // What a record cost is not kept for a later run, which has no notes on it either.
        let context = InputContext {
            before,
            requester: None,
        };
        let worked = Work::of(self, target, path, (input, sink), context, laps)?;
        let mut outcome = worked.outcome;
        // Nothing was written where the output may go one day.
        outcome.output = Some("-".to_owned());
        Ok(outcome)
    }
}
