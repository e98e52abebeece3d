//! Which inputs are compacted again because a model failed, according to the store's records of their outputs.
//!
//! Reads outputs and records, and writes nothing. An output that has changed since is left alone, as is one without a record.

use std::path::Path;

use super::skipped::SkipReason;
use super::{Found, Options, Source, Target, Targets};
use crate::error::{Error, ErrorKind, Result};
use crate::store;
use crate::store::manifest::{By, Record};
use crate::store::open_transcript;
use crate::store::undo::Undo;

/// Moves inputs whose output has all requested summaries to the skipped ones; inputs that are outputs of others are left out.
///
/// # Errors
/// The errors of [`Targets::new`], and of records that cannot be read.
pub fn retain_degraded(found: &mut Found, options: &Options) -> Result<()> {
    let targets = Targets::new(&found.sources, options)?;
    let skipped = &mut found.skipped;
    let degraded = found.sources.filtered(&options.scratch(), |source| {
        if targets.leaves_out(source.path())? {
            return Ok(false);
        }
        let met = (source.clone(), None);
        let is_meant = is_degraded(&targets.of(&met, options))?;
        if let (false, Source::File(file)) = (is_meant, source) {
            skipped.count(file.path.clone(), SkipReason::NotDegraded);
        }
        Ok(is_meant)
    });
    found.sources = degraded?;
    Ok(())
}

/// Whether some summaries of a target's current output have failed.
///
/// # Errors
/// If the output or its records cannot be read.
fn is_degraded(target: &Target<'_>) -> Result<bool> {
    record(target).map(|record| record.is_some())
}

/// The record of a target's current output, if some of its summaries have failed.
fn record(target: &Target<'_>) -> Result<Option<Record>> {
    let (Some(kept), Some(file)) = (&target.store, target.file()) else {
        return Ok(None);
    };
    // A file that cannot be read is not one of our outputs, or the reason is reported when it is processed.
    let Ok((mut open, _)) = open_transcript(&file) else {
        return Ok(None);
    };
    let hash = store::hash_of(&mut open).map_err(|e| Error::io(&file, "read", e))?;
    let name = kept.store.name_of(&file)?;
    kept.index(By::Output)?.without_summary(&name, &hash)
}

/// The original of a file that was compacted in place.
///
/// # Errors
/// If the store cannot return it, or its offloaded contents have been moved since.
pub(super) fn original(target: &Target, path: &Path) -> Result<Vec<u8>> {
    if record(target)?.is_some_and(|record| !record.cleaned.is_empty()) {
        let message = "its original names offloaded contents that were moved into the archive";
        return Err(Error::new(ErrorKind::Store, message)
            .at(path)
            .hint("`ctxpack undo` restores all of it; then compact the file again"));
    }
    let root = target
        .store
        .as_ref()
        .map(|kept| kept.store.root().to_owned());
    let mut bytes = Vec::new();
    Undo::new(root).find(path)?.original(&mut bytes)?;
    Ok(bytes)
}
