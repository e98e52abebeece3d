//! The targets of all inputs of a run.
//!
//! Decided before the first input is read, so that contradictions stop the run in time. Where inputs of
//! folders cannot contradict each other, [`Targets::below`] has their targets determined one by one.

mod below;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find::{PlaceKey, place_key};
use super::queue::QueuedInput;
use super::target::{Destination, RunStore, Target, open_run_store};
use super::{Effect, FileSource, Found, Options, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::store::FOLDER;
use crate::store::atomic::sweep;
use crate::store::folder::{Durability, Folder, folder_of};
use crate::text::shown_path;
use below::Shared;
/// All inputs of a run.
#[derive(Debug)]
pub struct Targets<'s> {
    /// One for each input that is not skipped.
    pub list: Vec<Target<'s>>,
    /// Inputs that have the name of another input's output: `*.jsonl` also matches outputs of an earlier run.
    pub left_out: Vec<PathBuf>,
    stores: BTreeMap<PathBuf, Arc<RunStore>>,
    durability: Durability,
    /// The output folder.
    folder: Option<Arc<Path>>,
    /// What inputs that are not in the list have in common.
    shared: Option<Shared>,
}

impl<'s> Targets<'s> {
    /// The outputs of `sources`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if several inputs would have the same output, an output would replace an input, or an output folder is
    /// not a folder.
    pub fn new(sources: &'s [Source], options: &'s Options) -> Result<Self> {
        if let (Destination::File(_) | Destination::Stdout, [_, _, ..]) =
            (&options.destination, sources)
        {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("-o takes one input, not {}", sources.len()),
            )
            .hint("use --out-dir DIR, or leave -o out to write beside the inputs"));
        }
        check_kind(&options.destination)?;
        let mut targets = Targets {
            list: Vec::with_capacity(sources.len()),
            left_out: Vec::new(),
            stores: BTreeMap::new(),
            durability: durability(&options.destination),
            folder: None,
            shared: None,
        };
        // Stored by number, which is smaller than a path.
        let mut inputs: HashMap<PlaceKey, u32> = HashMap::new();
        for (number, source) in (0..).zip(sources) {
            if let Ok(plain) = source.path().canonicalize() {
                inputs.insert(place_key(&plain), number);
            }
        }
        let path_of = |number: &u32| sources.get(*number as usize).map(Source::path);
        let mut left_out = BTreeSet::new();
        let mut taken: HashMap<PlaceKey, u32> = HashMap::new();
        for (number, source) in (0..).zip(sources) {
            let target = targets.target(source, options)?;
            let input = source.path();
            if let Some(output) = &target.output() {
                let replaced = output.canonicalize().ok();
                match replaced.and_then(|output| inputs.get(&place_key(&output)).and_then(path_of))
                {
                    None => {}
                    Some(_) if options.destination == Destination::InPlace => {}
                    Some(other) if other == input => {
                        return Err(Error::new(
                            ErrorKind::Usage,
                            "the output would replace its own input",
                        )
                        .at(input)
                        .hint("name another output"));
                    }
                    Some(other) if options.destination == Destination::Beside => {
                        left_out.insert(other.to_path_buf());
                    }
                    Some(other) => {
                        return Err(Error::new(
                            ErrorKind::Usage,
                            format!(
                                "the output of {} would overwrite this input",
                                shown_path(input)
                            ),
                        )
                        .at(other)
                        .hint("name another output"));
                    }
                }
                let other = taken.insert(place_key(output), number);
                if let Some(other) = other.as_ref().and_then(path_of) {
                    return Err(Error::new(
                        ErrorKind::Usage,
                        format!(
                            "the outputs of {} and of {} would be the same file",
                            shown_path(other),
                            shown_path(target.input_path())
                        ),
                    )
                    .at(output)
                    .hint("name the folder that contains both: its tree is kept"));
                }
            }
            targets.list.push(target);
        }
        targets
            .list
            .retain(|target| !left_out.contains(target.input_path()));
        targets.left_out = left_out.into_iter().collect();
        Ok(targets)
    }

    /// The stores of this run, by their folders.
    pub(super) fn stores(&self) -> impl Iterator<Item = (&Path, &RunStore)> {
        let stores = self.stores.iter();
        stores.map(|(root, kept)| (root.as_path(), kept.as_ref()))
    }

    fn target(&mut self, source: &'s Source, options: &'s Options) -> Result<Target<'s>> {
        match (&options.destination, source) {
            (Destination::InPlace, Source::Stdin) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "standard input cannot be compacted in place",
                )
                .hint(
                    "name files or folders, or leave --in-place out to write to standard output",
                ));
            }
            (Destination::Folder(_), Source::Stdin) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "standard input has no file name, so it cannot be written to --out-dir",
                )
                .hint("use -o FILE, or -o - for standard output"));
            }
            (Destination::File(_) | Destination::Stdout | Destination::Beside, _)
            | (Destination::InPlace | Destination::Folder(_), Source::File(_)) => {}
        }
        let mut target = Target {
            source,
            bytes: 0,
            look: None,
            destination: &options.destination,
            emit: options.emit,
            base: None,
            store: None,
        };
        let root = match (&options.store, &options.destination, source) {
            (Some(root), ..) => Some(root.clone()),
            (None, Destination::Folder(folder), ..) => Some(folder.join(FOLDER)),
            (
                None,
                Destination::Beside | Destination::InPlace,
                Source::File(FileSource {
                    folder: Some(folder),
                    ..
                }),
            ) => Some(folder.join(FOLDER)),
            (None, _, _) => target.file().map(|file| file.with_file_name(FOLDER)),
        };
        target.base = match (&options.destination, source) {
            (Destination::Folder(folder), _) => Some(Arc::clone(
                self.folder.get_or_insert_with(|| folder.as_path().into()),
            )),
            (Destination::Beside | Destination::InPlace, Source::File(file)) => file.folder.clone(),
            (Destination::File(_) | Destination::Stdout, _) | (_, Source::Stdin) => None,
        };
        target.bytes = match source {
            Source::Stdin => 0,
            Source::File(file) => file.path.metadata().map_or(0, |metadata| metadata.len()),
        };
        let durability = self.durability;
        target.store = root.map(|root| {
            Arc::clone(
                self.stores
                    .entry(root.clone())
                    .or_insert_with(|| open_run_store(root, durability)),
            )
        });
        Ok(target)
    }

    /// Removes incomplete files that killed runs left where this run writes. Errors are ignored: leftovers are harmless.
    pub fn sweep(&self) {
        for folder in self
            .folders()
            .iter()
            .filter_map(|path| Folder::open(path).ok())
        {
            sweep(&folder);
        }
        for kept in self.stores.values() {
            kept.store.sweep();
        }
    }

    /// Ends the run: turns journals into manifests, and flushes the names of new files to the disk. Returns the errors; `undo`
    /// finds the records in the journal even then.
    pub fn finish(&self, effect: Effect) -> Vec<Error> {
        if effect == Effect::DryRun {
            return Vec::new();
        }
        let stores = self.stores.values();
        let unfinished = stores
            .filter_map(|kept| kept.store.finish().err())
            .collect();
        if self.durability == Durability::Durable {
            for folder in self.folders() {
                // At worst, a power cut restores the originals.
                let _ = Folder::open(&folder).and_then(|folder| folder.sync());
            }
        }
        unfinished
    }

    /// The folders in which this run writes outputs.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let files = self.list.iter().filter_map(|target| target.file());
        let mut folders: BTreeSet<PathBuf> =
            files.map(|file| folder_of(&file).to_owned()).collect();
        folders.extend(self.shared.iter().flat_map(Shared::folders));
        folders
    }

    /// The target of an input that a walk of these folders has found; `None` if inputs are listed.
    pub(super) fn of<'t>(&self, met: &'t QueuedInput, options: &'t Options) -> Option<Target<'t>> {
        self.shared.as_ref()?.target(met, options)
    }

    /// Called before an input is processed: adds the folder of its output to those of the run.
    pub(super) fn begin(&self, target: &Target<'_>, effect: Effect) {
        if let (Some(shared), Some(file)) = (&self.shared, target.file()) {
            shared.writes_in(folder_of(&file), effect);
        }
    }
}

/// The folders of the stores for what was found, whether they exist or not.
///
/// # Errors
/// The errors of [`Targets::new`].
pub fn stores(found: &Found, options: &Options) -> Result<Vec<PathBuf>> {
    let targets = Targets::new(&found.sources, options)?;
    Ok(targets.stores.into_keys().collect())
}

/// Whether the store must survive a power cut: a replaced input cannot be recreated without it.
fn durability(destination: &Destination) -> Durability {
    match destination {
        Destination::InPlace => Durability::Durable,
        Destination::Beside
        | Destination::File(_)
        | Destination::Stdout
        | Destination::Folder(_) => Durability::Lazy,
    }
}

/// Fails if a folder is given where a file is needed, or the reverse.
fn check_kind(destination: &Destination) -> Result<()> {
    match destination {
        Destination::File(path) if path.is_dir() => Err(Error::new(
            ErrorKind::Usage,
            "-o needs a file, and this is a folder",
        )
        .at(path)
        .hint("--out-dir DIR writes into a folder")),
        Destination::Folder(path) if path.exists() && !path.is_dir() => {
            Err(Error::new(ErrorKind::Usage, "--out-dir names a file")
                .at(path)
                .hint("-o FILE writes one output into a file"))
        }
        Destination::Beside
        | Destination::File(_)
        | Destination::Stdout
        | Destination::Folder(_)
        | Destination::InPlace => Ok(()),
    }
}
