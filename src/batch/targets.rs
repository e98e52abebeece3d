//! Where the outputs of all inputs of a run go, and its stores.
//!
//! Checked before the first input is read, so that contradictions stop the run in time. The location and the store of an output
//! follow from its input alone, so no list of them is held.

mod contradiction;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::found::Found;
use super::key_set::{KeySet, PlaceKey, place_key};
use super::list::{SourceList, unkept};
use super::queue::QueuedInput;
use super::sorter::{SortedItems, Sorter};
use super::target::{Destination, RunStore, Target, open_run_store};
use super::{Effect, FileSource, Options, Origin, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::store::FOLDER;
use crate::store::atomic::sweep;
use crate::store::folder::{Durability, Folder, folder_of, names_folder};
use contradiction::explain;

/// The outputs of a run.
#[derive(Debug)]
pub struct Targets {
    /// By their folders.
    stores: Mutex<BTreeMap<PathBuf, Arc<RunStore>>>,
    durability: Durability,
    /// The output folder.
    out: Option<Arc<Path>>,
    /// Inputs at the places of other inputs' outputs, which are left out: `*.jsonl` also matches outputs of an earlier run.
    left_out: Option<KeySet>,
    /// The folders of the outputs so far, by their spelling.
    folders: Mutex<HashSet<OsString>>,
}

/// What is at a place, for sorting: its key and its kind.
type Placed = [u8; 17];

const INPUT: u8 = 0;
const OUTPUT: u8 = 1;

/// The paths of outputs, and the places at which inputs and existing outputs really are.
struct Places {
    outputs: Sorter<PlaceKey>,
    placed: Sorter<Placed>,
    existing: Existing,
}

/// Whether there are outputs already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    None,
    Some,
    /// One of them is its own input.
    OwnInput,
}

/// Whether outputs contradict inputs or each other.
enum Checked {
    /// They do.
    Contradictory,
    /// They do not; these inputs are outputs.
    Apart(Option<KeySet>),
}

impl Targets {
    /// The outputs of `sources`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if several inputs would have the same output, an output would replace an input, or an output folder is
    /// not a folder.
    pub fn new(sources: &SourceList, options: &Options) -> Result<Self> {
        if let Destination::File(_) | Destination::Stdout = options.destination
            && sources.len() > 1
        {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("-o takes one input, not {}", sources.len()),
            )
            .hint("use --out-dir DIR, or leave -o out to write beside the inputs"));
        }
        let mut targets = Targets::none(options)?;
        let scratch = options.scratch();
        let mut places = Places {
            outputs: Sorter::new(&scratch),
            placed: Sorter::new(&scratch),
            existing: Existing::None,
        };
        for source in sources.iter() {
            let met = (source?.into_owned(), None);
            refuse_stream(&met.0, options)?;
            let target = targets.of(&met, options);
            if let Some(file) = target.file() {
                let mut folders = targets.lock_folders();
                if !folders.contains(folder_of(&file).as_os_str()) {
                    folders.insert(folder_of(&file).as_os_str().to_owned());
                }
            }
            if let Some(output) = target.output() {
                places.add(&met.0, &output, options)?;
            }
        }
        match places.checked(sources, options, &scratch)? {
            Checked::Contradictory => Err(explain(&targets, sources, options)?),
            Checked::Apart(left_out) => {
                targets.left_out = left_out;
                Ok(targets)
            }
        }
    }

    /// The outputs of the inputs below `folders`, which do not contradict each other.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if an output folder is not a folder.
    pub(super) fn below(folders: &[PathBuf], options: &Options) -> Result<Self> {
        let targets = Targets::none(options)?;
        for folder in folders {
            let top = targets.out.as_deref().unwrap_or(folder);
            let root = options.store.clone().unwrap_or_else(|| top.join(FOLDER));
            targets.store(root);
        }
        Ok(targets)
    }

    fn none(options: &Options) -> Result<Self> {
        check_kind(&options.destination)?;
        Ok(Targets {
            stores: Mutex::default(),
            durability: durability(&options.destination),
            out: match &options.destination {
                Destination::Folder(out) => Some(out.as_path().into()),
                Destination::Beside
                | Destination::InPlace
                | Destination::File(_)
                | Destination::Stdout => None,
            },
            left_out: None,
            folders: Mutex::default(),
        })
    }

    fn lock_stores(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<RunStore>>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_folders(&self) -> MutexGuard<'_, HashSet<OsString>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store in a folder.
    fn store(&self, root: PathBuf) -> Arc<RunStore> {
        let mut stores = self.lock_stores();
        if let Some(there) = stores.get(&root) {
            return Arc::clone(there);
        }
        let opened = open_run_store(root.clone(), self.durability);
        stores.insert(root, Arc::clone(&opened));
        opened
    }

    /// The stores of this run, in the order of their folders.
    pub(super) fn stores(&self) -> Vec<(PathBuf, Arc<RunStore>)> {
        let stores = self.lock_stores();
        let stores = stores.iter();
        stores
            .map(|(root, kept)| (root.clone(), Arc::clone(kept)))
            .collect()
    }

    /// The target of an input.
    pub(super) fn of<'t>(
        &self,
        (source, look): &'t QueuedInput,
        options: &'t Options,
    ) -> Target<'t> {
        let has_hooks = options.hooks.pre.is_some() || options.hooks.post.is_some();
        let (folder, is_walked) = match source {
            Source::Stdin => (None, false),
            Source::File(FileSource { folder, origin, .. }) => {
                (folder.as_ref(), *origin == Origin::Walked)
            }
        };
        let mut target = Target {
            source,
            bytes: look.map_or(0, |look| look.seen.bytes),
            // A hook for another input may have changed it since; and what was named may be a link.
            look: look.filter(|_| is_walked && !has_hooks),
            destination: &options.destination,
            emit: options.emit,
            base: match &options.destination {
                Destination::Folder(_) => self.out.clone(),
                Destination::Beside | Destination::InPlace => folder.cloned(),
                Destination::File(_) | Destination::Stdout => None,
            },
            store: None,
        };
        let root = match (&options.store, &options.destination, folder) {
            (Some(root), ..) => Some(root.clone()),
            (None, Destination::Folder(out), _) => Some(out.join(FOLDER)),
            (None, Destination::Beside | Destination::InPlace, Some(folder)) => {
                Some(folder.join(FOLDER))
            }
            (None, _, _) => target.file().map(|file| file.with_file_name(FOLDER)),
        };
        target.store = root.map(|root| self.store(root));
        target
    }

    /// Whether an input is left out because it is the output of another one.
    ///
    /// # Errors
    /// If that cannot be looked up.
    pub(super) fn leaves_out(&self, path: &Path) -> Result<bool> {
        let Some(left_out) = &self.left_out else {
            return Ok(false);
        };
        match path.canonicalize() {
            Ok(plain) => left_out.has(&plain).map_err(unkept),
            Err(_) => Ok(false),
        }
    }

    /// Whether inputs may be left out.
    pub(super) fn may_leave_out(&self) -> bool {
        self.left_out.is_some()
    }

    /// Removes incomplete files that killed runs left where this run writes, as far as that is known. Errors are ignored: leftovers
    /// are harmless.
    pub fn sweep(&self) {
        for folder in self.folders() {
            if let Ok(folder) = Folder::open(&folder) {
                sweep(&folder);
            }
        }
        for (_, kept) in self.stores() {
            kept.store.sweep();
        }
    }

    /// Ends the run: turns journals into manifests, and flushes the names of new files to the disk. Returns the errors; `undo`
    /// finds the records in the journal even then.
    pub fn finish(&self, effect: Effect) -> Vec<Error> {
        if effect == Effect::DryRun {
            return Vec::new();
        }
        let stores = self.stores().into_iter();
        let unfinished = stores
            .filter_map(|(_, kept)| kept.store.finish().err())
            .collect();
        if self.durability == Durability::Durable {
            for folder in self.folders() {
                // At worst, a power cut restores the originals.
                let _ = Folder::open(&folder).and_then(|folder| folder.sync());
            }
        }
        unfinished
    }

    /// The folders in which this run writes outputs, as far as they are known.
    fn folders(&self) -> BTreeSet<PathBuf> {
        self.lock_folders().iter().map(PathBuf::from).collect()
    }

    /// Called before an input is processed: adds the folder of its output to those of the run. Removes incomplete files of killed
    /// runs there, once, before any thread writes to it.
    pub(super) fn begin(&self, target: &Target<'_>, effect: Effect) {
        let Some(file) = target.file() else {
            return;
        };
        let folder = folder_of(&file);
        let mut folders = self.lock_folders();
        if folders.contains(folder.as_os_str()) {
            return;
        }
        folders.insert(folder.as_os_str().to_owned());
        if effect == Effect::Write
            && let Ok(folder) = Folder::open(folder)
        {
            sweep(&folder);
        }
    }
}

impl Places {
    /// Adds the output of an input.
    fn add(&mut self, source: &Source, output: &Path, options: &Options) -> Result<()> {
        self.outputs.add(place_key(output)).map_err(unkept)?;
        // In place, each replaces its own input.
        if !options.destination.is_in_place()
            && let Ok(plain) = output.canonicalize()
        {
            if source.path().canonicalize().is_ok_and(|own| own == plain) {
                self.existing = Existing::OwnInput;
            } else if self.existing == Existing::None {
                self.existing = Existing::Some;
            }
            self.placed.add(placed(&plain, OUTPUT)).map_err(unkept)?;
        }
        Ok(())
    }

    /// Whether outputs contradict inputs or each other.
    fn checked(
        mut self,
        sources: &SourceList,
        options: &Options,
        scratch: &Path,
    ) -> Result<Checked> {
        let outputs = self.outputs.sorted().map_err(unkept)?;
        if is_any_twice(&outputs)? {
            return Ok(Checked::Contradictory);
        }
        match self.existing {
            Existing::None => return Ok(Checked::Apart(None)),
            Existing::OwnInput => return Ok(Checked::Contradictory),
            Existing::Some => {}
        }
        for source in sources.iter() {
            if let Ok(plain) = source?.path().canonicalize() {
                self.placed.add(placed(&plain, INPUT)).map_err(unkept)?;
            }
        }
        let placed = self.placed.sorted().map_err(unkept)?;
        let mut both = Sorter::new(scratch);
        let mut last = Placed::default();
        for placed in placed.iter(&()).map_err(unkept)? {
            let placed = placed.map_err(unkept)?;
            let (key, kind) = placed.split_at(size_of::<PlaceKey>());
            if kind == [OUTPUT] && last.ends_with(&[INPUT]) && last.starts_with(key) {
                let mut place = PlaceKey::default();
                place.copy_from_slice(key);
                both.add(place).map_err(unkept)?;
            }
            last = placed;
        }
        let both = KeySet::of(both, scratch).map_err(unkept)?;
        Ok(match (both.is_empty(), &options.destination) {
            (true, _) => Checked::Apart(None),
            (false, Destination::Beside) => Checked::Apart(Some(both)),
            (false, _) => Checked::Contradictory,
        })
    }
}

/// A place and the kind of what is there.
fn placed(plain: &Path, kind: u8) -> Placed {
    let mut placed = Placed::default();
    let (key, last) = placed.split_at_mut(size_of::<PlaceKey>());
    key.copy_from_slice(&place_key(plain));
    last.fill(kind);
    placed
}

/// Whether two of these are the same.
fn is_any_twice(keys: &SortedItems<PlaceKey>) -> Result<bool> {
    let mut last = None;
    for key in keys.iter(&()).map_err(unkept)? {
        let key = key.map_err(unkept)?;
        if last.replace(key) == Some(key) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fails for a stream that cannot be written where outputs go.
fn refuse_stream(source: &Source, options: &Options) -> Result<()> {
    match (&options.destination, source) {
        (Destination::InPlace, Source::Stdin) => Err(Error::new(
            ErrorKind::Usage,
            "standard input cannot be compacted in place",
        )
        .hint("name files or folders, or leave --in-place out to write to standard output")),
        (Destination::Folder(_), Source::Stdin) => Err(Error::new(
            ErrorKind::Usage,
            "standard input has no file name, so it cannot be written to --out-dir",
        )
        .hint("use -o FILE, or -o - for standard output")),
        (Destination::File(_) | Destination::Stdout | Destination::Beside, _)
        | (Destination::InPlace | Destination::Folder(_), Source::File(_)) => Ok(()),
    }
}

/// The folders of the stores for what was found, whether they exist or not.
///
/// # Errors
/// The errors of [`Targets::new`].
pub fn stores(found: &Found, options: &Options) -> Result<Vec<PathBuf>> {
    let stores = Targets::new(&found.sources, options)?.stores().into_iter();
    Ok(stores.map(|(root, _)| root).collect())
}

/// Whether the store must survive a power cut: a replaced input cannot be recreated without it.
fn durability(destination: &Destination) -> Durability {
    match destination.is_in_place() {
        true => Durability::Durable,
        false => Durability::Lazy,
    }
}

/// Fails if a folder is given where a file is needed, or the reverse.
fn check_kind(destination: &Destination) -> Result<()> {
    match destination {
        Destination::File(path) => refuse_folder(path, "--out-dir DIR writes into a folder"),
        Destination::Folder(path) if path.exists() && !path.is_dir() => {
            Err(Error::new(ErrorKind::Usage, "--out-dir names a file")
                .at(path)
                .hint("-o FILE writes one output into a file"))
        }
        Destination::Beside
        | Destination::Stdout
        | Destination::Folder(_)
        | Destination::InPlace => Ok(()),
    }
}

/// Fails if `-o` names a folder, whether there is one or the path is only spelled like one.
///
/// # Errors
/// [`ErrorKind::Usage`], with this hint.
pub fn refuse_folder(path: &Path, hint: &str) -> Result<()> {
    match names_folder(path) {
        true => Err(
            Error::new(ErrorKind::Usage, "-o needs a file, and this is a folder")
                .at(path)
                .hint(hint),
        ),
        false => Ok(()),
    }
}
