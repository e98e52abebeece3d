//! Opens the output of an input before anything is compacted, so that an output that may not be written is reported at once.
//!
//! Replaces only what ctxpack wrote, unless allowed otherwise. Creates no folder and no file in a dry run.

use std::fs::{File, Metadata};

use super::{Input, Run, Sink};
use crate::batch::input::Codec;
use crate::batch::{Destination, Effect, Overwrite, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Warning, WarningKind, path_text};
use crate::store::atomic::{
    AtomicWriter, Existing, FileVersion, Mode, Rights, changed, check_replaceable,
};
use crate::store::folder::Durability;
use crate::store::manifest::{By, Record};
use crate::store::{self, Missing, OpenPath, Store};

impl<'r> Run<'r> {
    /// The output, and a warning about what it replaces; `opened` is the input, whose permissions the output gets.
    pub(super) fn open_output(
        &self,
        target: &Target,
        opened: Option<&(File, Metadata)>,
    ) -> Result<(Sink<'r>, Option<Warning>)> {
        let stop = &self.options.stop;
        let Some(path) = &target.output() else {
            let sink = match self.options.effect {
                Effect::Write => Sink::stdout(stop),
                Effect::DryRun => Sink::nothing(stop),
            };
            return Ok((sink, None));
        };
        let is_dry = self.options.effect == Effect::DryRun;
        let missing = if is_dry {
            Missing::Refuse
        } else {
            Missing::Make
        };
        let spot = match target.spot(path, missing) {
            // A dry run creates no folder; a folder that does not exist contains nothing.
            Err(error) if is_dry && error.kind == ErrorKind::NotFound => {
                return Ok((Sink::nothing(stop), None));
            }
            spot => spot?,
        };
        let seen = spot.look()?;
        let (existing, over) = self.existing(target, &spot, seen.as_ref())?;
        if is_dry {
            return Ok((Sink::nothing(stop), over));
        }
        let mode = opened.map_or(Mode::Default, |(file, metadata)| {
            Mode::Like(Rights::with(file, metadata))
        });
        let replace = AtomicWriter::create_over(spot, seen, existing, mode, Durability::Lazy)?;
        Ok((Sink::file(replace, stop), over))
    }

    /// The output that will replace the input itself, unless the input changes in the meantime.
    pub(super) fn open_in_place(&self, target: &Target, input: &Input<'_>) -> Result<Sink<'r>> {
        let stop = &self.options.stop;
        let Some(stamp) = input.stamp.clone() else {
            return Err(Error::new(ErrorKind::Internal, "a stream has no place"));
        };
        let spot = target.own_spot()?;
        let there = spot.look()?.ok_or_else(|| changed(spot.path()))?;
        check_replaceable(spot.path(), &there)?;
        if FileVersion::of(&there) != stamp {
            return Err(changed(spot.path()));
        }
        if self.options.effect == Effect::DryRun {
            return Ok(Sink::nothing(stop));
        }
        let existing = Existing::IfUnchanged(stamp);
        let mut replace = AtomicWriter::create(spot, existing, Mode::Default, Durability::Lazy)?;
        replace.keep_time();
        Ok(Sink::file(replace, stop))
    }

    /// Whether an existing output may be replaced, and a warning about that.
    fn existing(
        &self,
        target: &Target,
        spot: &OpenPath,
        seen: Option<&Metadata>,
    ) -> Result<(Existing, Option<Warning>)> {
        let path = spot.path();
        let Some(seen) = seen else {
            return Ok((Existing::Refuse, None));
        };
        if !seen.is_file() {
            check_replaceable(path, seen)?;
        }
        if self.options.overwrite == Overwrite::Any {
            return Ok((Existing::Overwrite, None));
        }
        let mut wrote_it_before = false;
        if let (Some(kept), true) = (&target.store, seen.is_file()) {
            let mut file = spot.read()?;
            let stamp = FileVersion::of(&file.metadata().map_err(|e| Error::io(path, "read", e))?);
            let hash = store::hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
            let name = kept.store.name_of(path)?;
            let writer = kept.index(By::Output)?.writer(&name, &hash)?;
            if writer.is_some() || self.options.reported.names(target, path, &hash) {
                let made = writer.filter(|record| record.output_hash == hash);
                let over = made.and_then(|record| self.over_another(target, &kept.store, &record));
                return Ok((Existing::IfUnchanged(stamp), over));
            }
            wrote_it_before = !kept.index(By::Output)?.of(&name)?.is_empty();
        }
        let (message, hint) = match (wrote_it_before, &self.options.fork) {
            (true, Some(_)) => (
                "this fork has changed since ctxpack wrote it: the session was probably continued",
                "compact or fork that session; --overwrite replaces it, and what was added to it is lost",
            ),
            (true, None) => (
                "this output has changed since ctxpack wrote it",
                "--overwrite replaces it, and what was added to it is lost; -o or --out-dir writes elsewhere",
            ),
            (false, Some(_)) => (
                "a file with the name of the fork exists, and neither the store nor a report shows that ctxpack wrote it",
                "--overwrite replaces it",
            ),
            (false, None) => (
                "a file of that name exists, and neither the store nor a report shows that ctxpack wrote it",
                "--overwrite replaces it; -o or --out-dir writes elsewhere",
            ),
        };
        Err(Error::new(ErrorKind::Exists, message).at(path).hint(hint))
    }

    /// The warning if the name that the user gave the output does not say how it is compressed, which is as the input is.
    pub(super) fn misnamed(&self, codec: Codec) -> Option<Warning> {
        let path = match (&self.options.destination, &self.options.fork) {
            (Destination::File(path), None) => path,
            // Named like the input, whatever that is called.
            (
                Destination::File(_)
                | Destination::Beside
                | Destination::Stdout
                | Destination::Folder(_)
                | Destination::InPlace,
                _,
            ) => return None,
        };
        let message = match codec {
            _ if codec == Codec::of_name(path) => return None,
            Codec::Plain => {
                "the output is not compressed, like its input, but is named as if it were"
            }
            Codec::Gzip => {
                "the output is compressed with gzip, like its input, but is not named so"
            }
            Codec::Zstd => {
                "the output is compressed with zstd, like its input, but is not named so"
            }
        };
        Some(Warning {
            kind: WarningKind::Misnamed,
            line: None,
            message: message.to_owned(),
        })
    }

    /// The warning if an output replaces that of another input that still exists: neither of the two has its output anywhere else.
    fn over_another(&self, target: &Target, store: &Store, record: &Record) -> Option<Warning> {
        let Destination::Folder(_) = self.options.destination else {
            // A user who names one output for several inputs does so on purpose.
            return None;
        };
        let other = store.path_of(&record.input);
        let is_same = || {
            let [one, two] = [target.input_path(), &other].map(|path| path.canonicalize().ok());
            one == two
        };
        if record.input == "-" || !other.is_file() || is_same() {
            return None;
        }
        let shown = path_text(&store.shown_path_of(&record.input));
        Some(Warning {
            kind: WarningKind::WroteOver,
            line: None,
            message: format!("replaced the output of {shown}"),
        })
    }
}
