//! Where the result of an input goes: opened before anything is compacted, so that what may not be written is said at once.
//!
//! Replaces nothing that ctxpack did not write, unless it may. Creates no folder and no file in a dry run.

use std::fs::{File, Metadata};

use super::{Input, Run, Sink};
use crate::batch::{Effect, Overwrite, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::{Existing, Mode, Replace, Rights, Stamp, changed, check_replaceable};
use crate::store::folder::Durability;
use crate::store::manifest::By;
use crate::store::{self, Missing, Spot};

impl<'r> Run<'r> {
    /// The output; `opened` is the input, which says who may read the output.
    pub(super) fn open_output(
        &self,
        target: &Target,
        opened: Option<&(File, Metadata)>,
    ) -> Result<Sink<'r>> {
        let stop = &self.options.stop;
        let Some(path) = &target.output() else {
            return Ok(match self.options.effect {
                Effect::Write => Sink::stdout(stop),
                Effect::DryRun => Sink::nothing(stop),
            });
        };
        let is_dry = self.options.effect == Effect::DryRun;
        let missing = if is_dry {
            Missing::Refuse
        } else {
            Missing::Make
        };
        let spot = match target.spot(path, missing) {
            // A dry run makes no folder; nothing is in one that is not there.
            Err(error) if is_dry && error.kind == ErrorKind::NotFound => {
                return Ok(Sink::nothing(stop));
            }
            spot => spot?,
        };
        let seen = spot.look()?;
        let existing = self.existing(target, &spot, seen.as_ref())?;
        if is_dry {
            return Ok(Sink::nothing(stop));
        }
        let mode = opened.map_or(Mode::Default, |(file, metadata)| {
            Mode::Like(Rights::with(file, metadata))
        });
        let replace = Replace::create_over(spot, seen, existing, mode, Durability::Lazy)?;
        Ok(Sink::file(replace, stop))
    }

    /// The output that will take the input's own place, unless that changes meanwhile.
    pub(super) fn open_in_place(&self, target: &Target, input: &Input<'_>) -> Result<Sink<'r>> {
        let stop = &self.options.stop;
        let Some(stamp) = input.stamp.clone() else {
            return Err(Error::new(ErrorKind::Internal, "a stream has no place"));
        };
        let spot = target.own_spot()?;
        let there = spot.look()?.ok_or_else(|| changed(spot.path()))?;
        check_replaceable(spot.path(), &there)?;
        if Stamp::of(&there) != stamp {
            return Err(changed(spot.path()));
        }
        if self.options.effect == Effect::DryRun {
            return Ok(Sink::nothing(stop));
        }
        let existing = Existing::IfUnchanged(stamp);
        let mut replace = Replace::create(spot, existing, Mode::Default, Durability::Lazy)?;
        replace.keep_time();
        Ok(Sink::file(replace, stop))
    }

    /// Whether an output that is there already may be replaced.
    fn existing(&self, target: &Target, spot: &Spot, seen: Option<&Metadata>) -> Result<Existing> {
        let path = spot.path();
        let Some(seen) = seen else {
            return Ok(Existing::Refuse);
        };
        if self.options.overwrite == Overwrite::Any {
            return Ok(Existing::Overwrite);
        }
        if let (Some(kept), true) = (&target.store, seen.is_file()) {
            let mut file = spot.read()?;
            let stamp = Stamp::of(&file.metadata().map_err(|e| Error::io(path, "read", e))?);
            let hash = store::hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
            let name = kept.store.name_of(path)?;
            let is_recorded = kept.index(By::Output)?.wrote(&name, &hash)?;
            if is_recorded || self.options.reported.names(target, path, &hash) {
                return Ok(Existing::IfUnchanged(stamp));
            }
        }
        Err(Error::new(
            ErrorKind::Exists,
            "a file of that name exists, and neither the store nor a report says that ctxpack wrote it as it is now",
        )
        .at(path)
        .hint("--overwrite replaces it; -o or --out-dir writes elsewhere"))
    }
}
