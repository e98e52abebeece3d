//! Finds what an output was made from, or reports exactly what is missing.
//!
//! Relies only on the stores' records. Writes nothing; `restore` does.

mod original;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::atomic::{FileVersion, Rights, Written};
use super::folder::Durability;
use super::manifest::{Ledger, Record};
use super::open_path::OpenPath;
use super::resolved::resolved;
use super::{COPY_BYTES, FOLDER, Store, hash_text, pour};
use crate::error::{Error, ErrorKind, Result};
use crate::text::count;

use original::one_original;
use restore::Swept;

pub use restore::{Appended, Dest, Found, State, Undone};

/// Finds where files came from. Caches the records that it reads, so that many files take one reading of a store.
#[derive(Debug)]
pub struct Undo {
    store: Option<PathBuf>,
    /// Stores above a walked folder that belong to another user.
    foreign: BTreeSet<PathBuf>,
    ledgers: BTreeMap<PathBuf, Ledger>,
    swept: Swept,
}

impl Undo {
    /// Searches only `store`; without one, each `.ctxpack` from the file's folder upward.
    pub fn new(store: Option<PathBuf>) -> Self {
        Undo {
            store,
            foreign: BTreeSet::new(),
            ledgers: BTreeMap::new(),
            swept: Swept::default(),
        }
    }

    /// Finds what `file` was made from.
    ///
    /// Its bytes decide. A record of this path is preferred (that of the last run), but a file that was moved or appended to is
    /// found as well. Of several stores, the nearest one that wrote to this path wins, else the nearest one that knows the bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when no store knows the file, or when several originals compact to these bytes; [`ErrorKind::Changed`] when a store knows the path, but with other bytes;
    /// [`ErrorKind::NotFound`] or [`ErrorKind::Io`] when something cannot be read.
    pub fn find(&mut self, file: &Path) -> Result<Found> {
        match self.search(file, SearchScope::Everywhere)? {
            SearchResult::Found(found) => Ok(*found),
            SearchResult::Unknown(error) => Err(error),
        }
    }

    /// Finds what `file`, which was found below the folder `base`, was made from; `None` if it is not an output: no record knows
    /// it, or it is a recorded original to which something was appended.
    ///
    /// As [`Undo::find`], but a file with something appended is recognised only by its path. So the work is proportional to the
    /// number of files, whatever the number of records.
    ///
    /// Since the user did not name the file, more is required of the records: an empty file is not an output; a store above
    /// `base` is searched only if it belongs to this user, to the owner of the file or to root, and knows only files at the paths
    /// that it recorded.
    ///
    /// # Errors
    ///
    /// Those of [`Undo::find`], except for a file that no store knows.
    pub fn find_below(&mut self, file: &Path, base: &Path) -> Result<Option<Found>> {
        match self.search(file, SearchScope::Below(base))? {
            SearchResult::Found(found) => Ok(Some(*found)),
            SearchResult::Unknown(_) => Ok(None),
        }
    }

    /// Whether a record names this path, which is below the folder `base`, as an output, whatever its bytes are now.
    ///
    /// # Errors
    ///
    /// Those of a store that cannot be read, which may know it.
    pub fn names(&mut self, file: &Path, base: &Path) -> Result<bool> {
        let (roots, unreadable) = self.load(file, SearchScope::Below(base));
        let stores = self.stores(&roots, file);
        match unreadable {
            _ if stores.iter().any(|store| store.records().next().is_some()) => Ok(true),
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    /// The stores above walked folders that were not searched, because they belong to another user.
    pub fn foreign(&self) -> impl Iterator<Item = &Path> {
        self.foreign.iter().map(PathBuf::as_path)
    }

    /// The stores with records that cannot be read, and how many of each: outputs that these name are not known.
    pub fn damaged(&self) -> impl Iterator<Item = (&Path, u64)> {
        let stores = self.ledgers.iter();
        let damaged = stores.map(|(root, ledger)| (root.as_path(), ledger.damaged()));
        damaged.filter(|(_, records)| *records > 0)
    }

    fn search(&mut self, file: &Path, reach: SearchScope<'_>) -> Result<SearchResult> {
        check_transcript(file)?;
        let base = match reach {
            SearchScope::Everywhere => None,
            SearchScope::Below(base) => Some(base),
        };
        let spot = OpenPath::resolved(file, base)?;
        let handle = spot.read()?;
        let metadata = handle
            .metadata()
            .map_err(|e| Error::io(file, "look at it", e))?;
        let rights = Rights::of(&handle).map_err(|e| Error::io(file, "look at it", e))?;
        let written = pour(&mut &handle, &mut io::sink(), |e| {
            Error::io(file, "read", e)
        })?;
        let (roots, unreadable) = self.load(file, reach);
        let stores = self.stores(&roots, file);
        if base.is_some() && written.bytes == 0 {
            return match unreadable {
                Some(error) => Err(error),
                None => Ok(SearchResult::Unknown(unknown(file, &stores))),
            };
        }
        let base = base.map(resolved);
        let is_above = |root: &Path| {
            let base = base.as_deref().filter(|_| self.store.is_none());
            base.is_some_and(|base| !resolved(root).starts_with(base))
        };
        let is_link = fs::symlink_metadata(file).is_ok_and(|seen| seen.is_symlink());
        let found = |root: &Path, records, state| {
            SearchResult::Found(Box::new(Found {
                file: file.to_owned(),
                spot: spot.clone(),
                stamp: FileVersion::of(&metadata),
                rights: rights.clone(),
                root: root.to_owned(),
                records,
                state,
                swept: self.swept.clone(),
            }))
        };

        let mut unchanged = None;
        // What was written to this very path counts more than equal bytes elsewhere, in whatever store.
        for reached in [Match::AtPath, Match::ByContent] {
            for store in &stores {
                let Known { root, name, .. } = store;
                let is_here = |record: &&Record| Some(&record.output) == name.as_ref();
                // An output that equals its input says nothing about equal files elsewhere, nor about an earlier compaction of
                // its own.
                let of_these_bytes = store.ledger.with_output(&written.hash);
                let (mut records, equal): (Vec<&Record>, Vec<&Record>) =
                    of_these_bytes.partition(|record| record.output_hash != record.input_hash);
                if let Some(record) = equal.into_iter().find(is_here) {
                    unchanged.get_or_insert_with(|| (*root, vec![record.clone()]));
                }
                if is_link || is_above(root) || unchanged.is_some() {
                    // A moved file is found by its bytes; but anyone who made a link, or put a store above a walked folder,
                    // may have made the record too.
                    records.retain(is_here);
                }
                if reached == Match::AtPath && !records.iter().any(is_here) {
                    continue;
                }
                if let Some(records) = one_original(file, &records, name.as_deref())? {
                    return Ok(found(root, records, State::Compacted));
                }
            }
        }
        let original = stores
            .iter()
            .find(|store| store.ledger.is_original(&written.hash));
        for store @ Known { root, name, .. } in &stores {
            let grown = match grown(&spot, &written, store, reach) {
                Err(_) if original.is_some() => continue,
                grown => grown?,
            };
            let Some((bytes, records)) = grown else {
                continue;
            };
            let is_here = |record: &Record| Some(&record.output) == name.as_ref();
            if (is_link || is_above(root)) && !records.iter().any(is_here) {
                continue;
            }
            // A file that was compacted twice was an original in between, but not the first one of this file.
            if original.is_none() || records.iter().any(is_here) {
                return Ok(found(root, records, State::Grown(written.bytes - bytes)));
            }
        }
        if let Some((root, records)) = unchanged {
            return Ok(found(root, records, State::AlreadyOriginal(written)));
        }
        match (original, unreadable) {
            (Some(store), _) => Ok(found(
                store.root,
                Vec::new(),
                State::AlreadyOriginal(written),
            )),
            (None, Some(error)) => Err(error),
            (None, None) if stores.iter().all(|store| store.records().next().is_none()) => {
                Ok(SearchResult::Unknown(unknown(file, &stores)))
            }
            (None, None) => {
                let error = changed_since(file);
                match reach {
                    SearchScope::Below(_) if is_continued(&spot, &written, &stores)? => {
                        Ok(SearchResult::Unknown(error))
                    }
                    SearchScope::Everywhere | SearchScope::Below(_) => Err(error),
                }
            }
        }
    }

    /// Reads the records of the stores that may know `file`: returns the stores, and why the next one cannot be read. The search
    /// ends there, because it may know the file.
    fn load(&mut self, file: &Path, reach: SearchScope<'_>) -> (Vec<PathBuf>, Option<Error>) {
        let mut roots = self.roots(file);
        if let (SearchScope::Below(base), None) = (reach, &self.store) {
            let base = resolved(base);
            roots.retain(|root| {
                let is_ours = root.starts_with(&base) || is_of_same_owner(root, file);
                if !is_ours {
                    self.foreign.insert(root.clone());
                }
                is_ours
            });
        }
        for (i, root) in roots.iter().enumerate() {
            if self.ledgers.contains_key(root) {
                continue;
            }
            match Store::new(root, Durability::Lazy).ledger() {
                Ok(ledger) => drop(self.ledgers.insert(root.clone(), ledger)),
                Err(error) => {
                    roots.truncate(i);
                    return (roots, Some(error));
                }
            }
        }
        (roots, None)
    }

    /// From the nearest store upward, each with the file's name as that store would record it.
    fn stores<'u>(&'u self, roots: &'u [PathBuf], file: &Path) -> Vec<Known<'u>> {
        // Records name what a link points to.
        let path = resolved(file);
        let known = |root: &'u PathBuf| {
            Some(Known {
                root,
                ledger: self.ledgers.get(root)?,
                name: Store::new(root, Durability::Lazy).name_of(&path).ok(),
            })
        };
        roots.iter().filter_map(known).collect()
    }

    fn roots(&self, file: &Path) -> Vec<PathBuf> {
        if let Some(store) = &self.store {
            return vec![store.clone()];
        }
        // Stores above the file itself: a store beside a link could make claims about files anywhere.
        let path = resolved(file);
        let above = path.ancestors().skip(1).map(|folder| folder.join(FOLDER));
        above
            .filter(|root| root.symlink_metadata().is_ok())
            .collect()
    }
}

/// Whether a store belongs to this user, to the owner of `file` or to root: others could make it name any file.
#[cfg(unix)]
fn is_of_same_owner(store: &Path, file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let owner = |path: &Path| fs::symlink_metadata(path).map(|seen| seen.uid()).ok();
    let this_user = rustix::process::geteuid().as_raw();
    owner(store).is_some_and(|uid| uid == 0 || uid == this_user || Some(uid) == owner(file))
}

/// Owners are not known here.
#[cfg(not(unix))]
fn is_of_same_owner(_store: &Path, _file: &Path) -> bool {
    true
}

/// How far the origin of a file is searched.
#[derive(Debug, Clone, Copy)]
enum SearchScope<'r> {
    /// By its bytes and its beginnings, in all records.
    Everywhere,
    /// By its bytes in all records, by its beginnings in those of its path; no link leads out of this folder.
    Below(&'r Path),
}

/// Where an output was written that has a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    AtPath,
    ByContent,
}

/// The result of a search.
enum SearchResult {
    Found(Box<Found>),
    /// No record knows the file, or there is nothing to undo; as an error for a file that was named.
    Unknown(Error),
}

/// A store that may know a file, with the file's name as it would record it.
struct Known<'u> {
    root: &'u Path,
    ledger: &'u Ledger,
    name: Option<String>,
}

impl<'u> Known<'u> {
    /// The records of outputs at the file's path.
    fn records(&self) -> impl Iterator<Item = &'u Record> + use<'u> {
        let ledger = self.ledger;
        let name = self.name.as_deref();
        name.map(|name| ledger.of_output(name))
            .into_iter()
            .flatten()
    }
}

/// The longest recorded output that `file` begins with, and its records.
///
/// Outputs elsewhere that are equal to their inputs do not count: a growing transcript begins with each older copy of itself and
/// has nothing to undo. Nor do outputs that were made from the file's current bytes: an original can begin with its own output.
fn grown(
    file: &OpenPath,
    now: &Written,
    store: &Known<'_>,
    reach: SearchScope<'_>,
) -> Result<Option<(u64, Vec<Record>)>> {
    let name = store.name.as_deref();
    let counts = |record: &&Record| {
        record.input_hash != now.hash
            && (record.output_hash != record.input_hash || Some(record.output.as_str()) == name)
    };
    let all: Vec<&Record> = match reach {
        SearchScope::Everywhere => store.ledger.records().iter().collect(),
        SearchScope::Below(_) => store.records().collect(),
    };
    let lengths: BTreeSet<u64> = all
        .into_iter()
        .filter(counts)
        .map(|record| record.output_bytes)
        .filter(|&length| 0 < length && length < now.bytes)
        .collect();
    let mut longest = None;
    for (length, hash) in prefix_hashes(file, &lengths)? {
        let known = store.ledger.with_output(&hash);
        let records: Vec<&Record> = known
            .filter(|record| record.output_bytes == length)
            .filter(counts)
            .collect();
        if !records.is_empty() {
            longest = Some((length, records));
        }
    }
    match longest {
        None => Ok(None),
        Some((length, records)) => {
            Ok(one_original(file.path(), &records, name)?.map(|records| (length, records)))
        }
    }
}

/// The hashes of the first bytes of the file for each of these lengths, in one reading.
fn prefix_hashes(spot: &OpenPath, lengths: &BTreeSet<u64>) -> Result<Vec<(u64, String)>> {
    let file = spot.read()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut hashes = Vec::with_capacity(lengths.len());
    for &length in lengths {
        while hasher.count() < length {
            let want = (length - hasher.count()).min(COPY_BYTES as u64) as usize;
            match (&file).read(&mut buffer[..want]) {
                // The file has become shorter.
                Ok(0) => return Ok(hashes),
                Ok(n) => hasher.update(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::io(spot.path(), "read", e)),
            };
        }
        hashes.push((length, hash_text(&hasher.finalize())));
    }
    Ok(hashes)
}

/// Refuses a folder or a stream in the place of a transcript, with a message of its own.
fn check_transcript(path: &Path) -> Result<()> {
    let seen = fs::metadata(path).map_err(|e| Error::io(path, "open", e))?;
    super::regular::check_regular(path, &seen)
}

/// Whether the file is what was recorded as the original of its path, with something appended: its agent continued after an undo.
fn is_continued(file: &OpenPath, now: &Written, stores: &[Known<'_>]) -> Result<bool> {
    let records = || stores.iter().flat_map(Known::records);
    let lengths = records().map(|record| record.input_bytes);
    let lengths = lengths.filter(|&length| 0 < length && length < now.bytes);
    let beginnings = prefix_hashes(file, &lengths.collect())?;
    Ok(beginnings
        .iter()
        .any(|(_, hash)| records().any(|record| record.input_hash == *hash)))
}

fn changed_since(file: &Path) -> Error {
    Error::new(
        ErrorKind::Changed,
        "the file has changed since ctxpack wrote it, so its original cannot be determined",
    )
    .at(file)
    .hint("the store's manifests name the originals of this path")
}

fn unknown(file: &Path, stores: &[Known<'_>]) -> Error {
    let damaged: u64 = stores.iter().map(|store| store.ledger.damaged()).sum();
    let message = if stores.is_empty() {
        "found no store beside this file or in a parent folder".to_owned()
    } else if damaged > 0 {
        format!(
            "no store has a record of this file (unreadable: {})",
            count(damaged, "record")
        )
    } else {
        "no store has a record of this file".to_owned()
    };
    Error::new(ErrorKind::Store, message)
        .at(file)
        .hint("name the store of the run that wrote it with --store")
}

#[cfg(test)]
mod tests;
