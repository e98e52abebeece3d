//! Whether files are as they were noted: an input, its output, and what the store keeps for it.
//!
//! By metadata as far as that is trusted, or else by hashes. A file that cannot be read is not as it was noted.

use std::fs::{self, File};
use std::path::Path;

use super::{Earlier, Trust};
use crate::batch::Target;
use crate::batch::target::RunStore;
use crate::error::Result;
use crate::outcome::Status;
use crate::store::finished::{Ended, Note, NoteHeader};
use crate::store::manifest::RecordedOutputs;
use crate::store::{self, FileIdentity, Missing};

impl Earlier<'_> {
    /// Whether an input that is replaced in place still holds what the interrupted run wrote, or what was found to need no change.
    pub(super) fn is_in_place_as_it_was(
        &self,
        target: &Target,
        header: &NoteHeader<'_>,
        ended: Ended,
    ) -> bool {
        let (seen, hash) = match (header.figures.status, ended) {
            // Its agent may have continued it at the very moment at which it was written.
            (Status::Compacted, Ended::Interrupted) => {
                let seen = header.output_seen.map(|seen| FileIdentity {
                    touched: None,
                    ..seen
                });
                (seen, &header.hash_after)
            }
            // This was the work of another run, which has reported it.
            (Status::Compacted, Ended::Whole) => return false,
            (
                Status::Unchanged
                | Status::Rejected
                | Status::Failed
                | Status::Unsupported
                | Status::Skipped,
                Ended::Whole | Ended::Interrupted,
            ) => (Some(header.input_seen), &header.hash_before),
        };
        self.is_still(target, seen, hash.as_deref()).is_some()
    }

    pub(super) fn is_output_as_it_was(
        &self,
        target: &Target,
        path: &Path,
        kept: &RunStore,
        note: &Note,
        header: &NoteHeader<'_>,
        recorded: Option<&RecordedOutputs>,
    ) -> bool {
        let is_as_it_was = || {
            let output = header.output.as_deref()?;
            let (before, after) = (
                header.hash_before.as_deref()?,
                header.hash_after.as_deref()?,
            );
            let is_named = kept.store.name_of(path).is_ok_and(|name| name == output);
            let is_recorded = || recorded.is_none_or(|all| all.has(output, (after, before)));
            (is_named && is_recorded()).then_some(())?;
            // The output is checked first: checking one that was removed costs nothing.
            let spot = target.spot(path, Missing::Refuse).ok()?;
            let (noted, now) = (header.output_seen?, spot.seen().ok()?);
            if !note.is_untouched_output(noted, now) {
                self.has_stayed(noted, now, || spot.read_seen(), Some(after))?;
            }
            self.is_still(target, Some(header.input_seen), Some(before))
        };
        is_as_it_was().is_some()
    }

    /// Whether the store still has, unchanged, what the output needs.
    pub(super) fn has_contents(
        &self,
        kept: &RunStore,
        note: &Note,
        header: &NoteHeader<'_>,
    ) -> bool {
        let (store, most) = (&kept.store, header.input_seen.bytes);
        header.contents.iter().all(|(name, noted)| {
            store.content_seen(name).is_some_and(|now| {
                note.is_untouched_output(*noted, now)
                    || self.options.trust == Trust::Time && noted.is_still(now)
                    || store.is_whole(name, now, most)
            })
        })
    }

    /// Whether the input is still as noted: without a hash, as far as its metadata tells.
    pub(super) fn is_still(
        &self,
        target: &Target,
        noted: Option<FileIdentity>,
        hash: Option<&str>,
    ) -> Option<()> {
        let (path, noted) = (target.input_path(), noted?);
        if let Some(look) = target.look {
            // The input may have waited for a long time: unless its bytes are read, it is examined again.
            let now = match noted.is_untouched(look.seen) && !look.is_fresh() {
                true => FileIdentity::of_input(path, &fs::metadata(path).ok()?),
                false => look.seen,
            };
            return match noted.is_untouched(now) {
                true => Some(()),
                false => self.has_stayed(noted, now, || store::open_met(path), hash),
            };
        }
        if self.options.trust == Trust::Time
            && noted.is_still(FileIdentity::of(&fs::metadata(path).ok()?))
        {
            return Some(());
        }
        let (file, now) = target.open_input().ok()?;
        let now = FileIdentity::of_input(path, &now);
        match noted.is_untouched(now) {
            true => Some(()),
            false => self.has_stayed(noted, now, || Ok(file), hash),
        }
    }

    /// Whether a file is still as noted: by its metadata, if that is trusted, or else by its bytes.
    fn has_stayed(
        &self,
        noted: FileIdentity,
        now: FileIdentity,
        open: impl FnOnce() -> Result<File>,
        hash: Option<&str>,
    ) -> Option<()> {
        if self.options.trust == Trust::Time && noted.is_still(now) {
            return Some(());
        }
        let hash = hash?;
        (noted.bytes == now.bytes).then_some(())?;
        let has_hash = store::has_hash(&mut open().ok()?, noted.bytes, hash).ok()?;
        has_hash.then_some(())
    }
}
