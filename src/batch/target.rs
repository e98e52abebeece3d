//! Where the output of each input goes, and which store belongs to it.
//!
//! Opens files at these paths; [`Targets`](super::Targets) decides which of them an input gets.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::emitted;
use super::names::{COMPACT, split_ending};
use super::snapshot::Snapshot;
use super::{Origin, Source};
use crate::emit::Messages;
use crate::error::Result;
use crate::pipeline::Stored;
use crate::policy::Names;
use crate::store::folder::Durability;
use crate::store::manifest::{By, OffloadOwners, Record, RecordIndex};
use crate::store::{Missing, OpenFolders, OpenPath, Store, open_seen, open_transcript};

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

impl Destination {
    /// Whether outputs replace their inputs.
    pub fn is_in_place(&self) -> bool {
        match self {
            Destination::InPlace => true,
            Destination::Beside
            | Destination::File(_)
            | Destination::Stdout
            | Destination::Folder(_) => false,
        }
    }
}

/// One input and where its output goes. Small, because there may be millions of them.
#[derive(Debug)]
pub struct Target<'s> {
    /// The input.
    pub source: &'s Source,
    /// Its size, as far as it is known beforehand.
    pub bytes: u64,
    /// Its snapshot from when a walk found it.
    pub(super) look: Option<Snapshot>,
    /// Where outputs go.
    pub(super) destination: &'s Destination,
    /// The format of outputs other than transcripts.
    pub(super) emit: Option<Messages>,
    /// The folder that the user named and that contains the output; no link is followed between them.
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
    /// The index of each output's records from before this run: it takes less memory than the records.
    pub(super) fn index(&self, by: By) -> Result<&RecordIndex> {
        let slot = match by {
            By::Output => &self.by_name,
            By::OutputHash => &self.by_hash,
        };
        read_once(slot, || self.store.record_index(by))
    }

    /// The outputs that need each offloaded content, according to records from before this run.
    pub(super) fn owners(&self) -> Result<&OffloadOwners> {
        read_once(&self.owners, || self.store.offload_owners())
    }

    /// Records an output, unless the same command has already recorded the same output: a store does not grow when a command is
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

/// The value in a slot, or else what `read` puts there.
fn read_once<T>(slot: &OnceLock<T>, read: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(there) = slot.get() {
        return Ok(there);
    }
    let read = read()?;
    Ok(slot.get_or_init(|| read))
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

    /// The input as it is called in a report.
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

    /// The name of the store's folder in texts of the output; for a stream, relative to the working directory of the program.
    /// `None` if there is no store, or no text can name it.
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
    /// If the store cannot be read.
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

    /// The location of the output, opened.
    ///
    /// # Errors
    /// If its folder cannot be opened, or there is a link on the way to it.
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
    /// If it no longer exists, or a link leads out of the walked folder.
    pub(super) fn own_spot(&self) -> Result<OpenPath> {
        OpenPath::resolved(self.input_path(), self.base.as_deref())
    }

    /// The file to be written; in place, for a link, its target. Any other output goes through no link.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let output = self.output();
        match self.destination.is_in_place() {
            true => output.as_deref().map(resolve_link),
            false => output,
        }
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

/// `dir/in.jsonl` → `dir/in.compact.jsonl`, `in.json` → `in.compact.json`; the ending is added to a file without one.
pub fn compacted_beside(input: &Path) -> PathBuf {
    let name = input.file_name().unwrap_or_default();
    let ending = split_ending(&name.to_string_lossy()).1.to_owned();
    // Names may not be valid Unicode; their extensions are.
    let mut output = PathBuf::from(name);
    for _ in ending.matches('.') {
        output.set_extension("");
    }
    let mut output = output.into_os_string();
    output.push(COMPACT);
    output.push(if ending.is_empty() { ".jsonl" } else { &ending });
    input.with_file_name(output)
}
