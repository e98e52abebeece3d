//! Where the output of each input goes, and which store belongs to it.
//!
//! Decided for all inputs before the first one is read, so that contradictions stop the run in time. Inputs of one walked folder
//! cannot contradict each other where [`Targets::below`] takes them: these are decided one by one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

mod below;

use super::emitted;
use super::find::{COMPACT, PlaceKey, place_key, split_ending};
use super::queue::QueuedInput;
use super::snapshot::Snapshot;
use super::{Effect, FileSource, Found, Options, Origin, Source};
use crate::emit::Messages;
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::Stored;
use crate::policy::Names;
use crate::store::atomic::sweep;
use crate::store::folder::{Durability, Folder, folder_of};
use crate::store::manifest::{By, OffloadOwners, Record, RecordIndex};
use crate::store::{FOLDER, Missing, OpenFolders, OpenPath, Store, open_seen, open_transcript};
use crate::text::shown_path;

use below::Shared;

/// Where outputs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// `in.compact.jsonl` beside `in.jsonl`; standard input goes to standard output.
    Beside,
    /// One file.
    File(PathBuf),
    /// Standard output.
    Stdout,
    /// A folder that keeps the tree of the inputs.
    Folder(PathBuf),
    /// The inputs themselves; originals go to the archive first.
    InPlace,
}

/// One input and where its output goes. Small, because there may be millions of them.
#[derive(Debug)]
pub struct Target<'s> {
    /// The input.
    pub source: &'s Source,
    /// Its size, as far as it is known beforehand.
    pub bytes: u64,
    /// What it was when a walk met it.
    pub(super) look: Option<Snapshot>,
    /// Where outputs go.
    pub(super) destination: &'s Destination,
    /// What outputs hold instead of a transcript.
    pub(super) emit: Option<Messages>,
    /// The folder that the user named and the output lies below; between them, no link is followed.
    pub base: Option<Arc<Path>>,
    /// The store for its content and records, if there is one.
    pub store: Option<Arc<RunStore>>,
}

/// A store of a run.
#[derive(Debug)]
pub struct RunStore {
    /// The store.
    pub store: Store,
    by_name: OnceLock<RecordIndex>,
    by_hash: OnceLock<RecordIndex>,
    owners: OnceLock<OffloadOwners>,
    folders: OpenFolders,
}

impl RunStore {
    /// Where the records of each output are, those from before this run: they take less memory than the records.
    pub(super) fn index(&self, by: By) -> Result<&RecordIndex> {
        let slot = match by {
            By::Output => &self.by_name,
            By::OutputHash => &self.by_hash,
        };
        read_once(slot, || self.store.record_index(by))
    }

    /// The outputs that need each offloaded content, of records from before this run.
    pub(super) fn owners(&self) -> Result<&OffloadOwners> {
        read_once(&self.owners, || self.store.offload_owners())
    }

    /// Records an output, unless the same command has written the same output before: so a store does not grow if a command is
    /// repeated.
    pub(super) fn record(&self, record: &Record) -> Result<()> {
        let index = self.by_name.get().or_else(|| self.by_hash.get());
        let is_known = index.map(|index| index.ends_with(record)).transpose()?;
        match is_known.unwrap_or(false) {
            true => Ok(()),
            false => self.store.record(record),
        }
    }
}

/// What is in a slot, or else what is read into it.
fn read_once<T>(slot: &OnceLock<T>, read: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(there) = slot.get() {
        return Ok(there);
    }
    let read = read()?;
    Ok(slot.get_or_init(|| read))
}

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
    /// What inputs have in common that are not in the list.
    shared: Option<Shared>,
}

impl Target<'_> {
    /// The output; `None`: standard output.
    pub fn output(&self) -> Option<PathBuf> {
        match (self.destination, self.source) {
            (Destination::File(path), _) => Some(path.clone()),
            (Destination::Stdout, _) | (_, Source::Stdin) => None,
            (Destination::Beside, Source::File(file)) => Some(match self.emit {
                Some(_) => emitted::named(&file.path),
                None => compacted_beside(&file.path),
            }),
            (Destination::InPlace, Source::File(file)) => Some(file.path.clone()),
            (Destination::Folder(folder), Source::File(file)) => {
                let below = file.relative();
                let bytes = folder.as_os_str().len() + 1 + below.as_os_str().len();
                let mut output = PathBuf::with_capacity(bytes);
                output.push(folder);
                output.push(below);
                Some(match self.emit {
                    Some(_) => emitted::named(&output),
                    None => output,
                })
            }
        }
    }

    /// The input as a report names it.
    pub fn input_path(&self) -> &Path {
        self.source.path()
    }

    /// Opens the input's file.
    ///
    /// # Errors
    /// The errors of [`open_transcript`].
    pub(super) fn open_input(&self) -> Result<(File, Metadata)> {
        match self.source {
            Source::File(file) if file.origin == Origin::Walked => open_seen(&file.path),
            Source::File(_) | Source::Stdin => open_transcript(self.input_path()),
        }
    }

    /// What the store has of the input.
    pub(super) fn stored<'s>(&'s self, originals: &'s BTreeMap<String, u64>) -> Stored<'s> {
        Stored {
            store: self.store.as_ref().map(|kept| &kept.store),
            originals: Some(originals),
            ..Stored::default()
        }
    }

    /// How texts of the output name the store's folder; the folder of a stream is the one that the program runs in. `None`
    /// without a store, and where no text can name it.
    pub(super) fn store_path(&self, names: Names) -> Option<String> {
        let store = &self.store.as_ref()?.store;
        match (names, self.file()) {
            (Names::Absolute, _) => store.whole_path(),
            (Names::Relative, Some(file)) => store.path_beside(&file),
            (Names::Relative, None) => store.given_path(),
        }
    }

    /// The live tokens that the conversations of an input of this hash had before the first compaction, if it is an output that
    /// the store knows.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub(super) fn originals(&self, hash: &str) -> Result<BTreeMap<String, u64>> {
        let mut originals = BTreeMap::new();
        let Some(kept) = &self.store else {
            return Ok(originals);
        };
        let records = kept.index(By::OutputHash)?.of(hash)?.into_iter();
        for (id, tokens) in records.flat_map(|record| record.originals) {
            let most = originals.entry(id).or_insert(0);
            *most = tokens.max(*most);
        }
        Ok(originals)
    }

    /// Where the output goes, opened.
    ///
    /// # Errors
    /// Where its folder cannot be opened, or a link is on the way to it.
    pub(super) fn spot(&self, output: &Path, missing: Missing) -> Result<OpenPath> {
        match (&self.base, &self.store) {
            (Some(base), Some(kept)) => kept.folders.below(base, output, missing),
            (Some(base), None) => OpenPath::below(base, output, missing),
            (None, _) => OpenPath::named(output, missing),
        }
    }

    /// The input itself, to be replaced; for a link, its target.
    ///
    /// # Errors
    /// Where it no longer exists, or a link leads out of the folder that was walked.
    pub(super) fn own_spot(&self) -> Result<OpenPath> {
        OpenPath::resolved(self.input_path(), self.base.as_deref())
    }

    /// The file that is written; in place, for a link, its target. Any other output goes through no link.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let output = self.output();
        match self.destination {
            Destination::InPlace => output.as_deref().map(resolve_link),
            Destination::Beside
            | Destination::File(_)
            | Destination::Stdout
            | Destination::Folder(_) => output,
        }
    }
}

impl<'s> Targets<'s> {
    /// The outputs of `sources`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if several inputs would go to one output, an output would replace an input, or an output folder is
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
        // By number, which is smaller than a path.
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

    /// Removes incomplete files of killed runs where this run writes. Errors are ignored: leftovers are harmless.
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

    /// Ends the run: turns journals into manifests, and flushes the names of new files to the disk. Returns what failed; `undo`
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

    /// The target of an input that a walk has met; `None` where inputs are listed.
    pub(super) fn of<'t>(
        &self,
        (source, look): &'t QueuedInput,
        options: &'t Options,
    ) -> Option<Target<'t>> {
        let shared = self.shared.as_ref();
        shared.map(|shared| shared.target(source, *look, options))
    }

    /// An input is about to be worked on: its output's folder is one of the run's from now on.
    pub(super) fn begin(&self, target: &Target<'_>, effect: Effect) {
        if let (Some(shared), Some(file)) = (&self.shared, target.file()) {
            shared.writes_in(folder_of(&file), effect);
        }
    }
}

/// The folders of the stores that belong to what was found, whether they are there or not.
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

/// A file is not a folder, and a folder is not a file.
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

/// The target of a link; any other path as it is.
pub(super) fn resolve_link(path: &Path) -> PathBuf {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => {
            path.canonicalize().unwrap_or_else(|_| path.to_owned())
        }
        Ok(_) | Err(_) => path.to_owned(),
    }
}

/// The store at `root`, for a run.
pub(super) fn open_run_store(root: PathBuf, durability: Durability) -> Arc<RunStore> {
    Arc::new(RunStore {
        store: Store::new(root, durability),
        by_name: OnceLock::new(),
        by_hash: OnceLock::new(),
        owners: OnceLock::new(),
        folders: OpenFolders::default(),
    })
}

/// `dir/in.jsonl` → `dir/in.compact.jsonl`, `in.json` → `in.compact.json`; the ending is added to a file without one.
pub fn compacted_beside(input: &Path) -> PathBuf {
    let name = input.file_name().unwrap_or_default();
    let ending = split_ending(&name.to_string_lossy()).1.to_owned();
    // Names may be no Unicode; their endings are.
    let mut output = PathBuf::from(name);
    for _ in ending.matches('.') {
        output.set_extension("");
    }
    let mut output = output.into_os_string();
    output.push(COMPACT);
    output.push(if ending.is_empty() { ".jsonl" } else { &ending });
    input.with_file_name(output)
}
