//! Compacts one transcript from memory to memory, as it is held by a record of a stream.
//!
//! The steps are the same as for a file: only the source and destination of the bytes differ. The original is kept if there is a
//! store, since a stream cannot be read again. Never writes a file outside the store.

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

    /// Compacts the transcript `bytes`, which reports call `path`, into `output`, which is empty.
    ///
    /// # Errors
    /// As for a file. `output` then does not contain a result.
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
        // The cost of a record is not kept for a later run, which has no notes on it either.
        let context = InputContext {
            before,
            requester: None,
        };
        let worked = Work::of(self, target, path, (input, sink), context, laps)?;
        let mut outcome = worked.outcome;
        // Nothing was written to the output's future location.
        outcome.output = Some("-".to_owned());
        Ok(outcome)
    }
}
