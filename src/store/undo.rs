//! Finds what an output was made from, or reports exactly what is missing.
//!
//! Relies only on the stores' records. Writes nothing; `restore` does.

mod original;
mod restore;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::folder::Durability;
use super::manifest::{RecordLookup, Sought};
use super::resolved::resolved;
use super::{FOLDER, Store};
use crate::error::{Error, ErrorKind, Result};
use crate::text::count;

use restore::Swept;
use search::{ByBytes, Known, Origin, Searched, by_beginning, by_bytes, is_continued};

pub use restore::{Appended, Dest, Found, State, Undone};

/// Finds where files came from. Keeps an index of the records of each store, so that all of them are read only once for many files.
#[derive(Debug)]
pub struct Undo {
    store: Option<PathBuf>,
    /// Stores above a walked folder that belong to another user.
    foreign: BTreeSet<PathBuf>,
    lookups: BTreeMap<PathBuf, RecordLookup>,
    swept: Swept,
}

impl Undo {
    /// Searches only `store`; without one, each `.ctxpack` from the file's folder upward.
    pub fn new(store: Option<PathBuf>) -> Self {
        Undo {
            store,
            foreign: BTreeSet::new(),
            lookups: BTreeMap::new(),
            swept: Swept::default(),
        }
    }

    /// Finds what `file` was made from.
    ///
    /// The file's bytes decide. A record of this path is preferred (that of the last run), but a file that was moved or appended to
    /// is found as well. Of several stores, the nearest one that wrote to this path wins, else the nearest one that knows the
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when no store knows the file, or when several originals compact to these bytes; [`ErrorKind::Changed`] when a store knows the path, but with other bytes;
    /// [`ErrorKind::NotFound`] or [`ErrorKind::Io`] when something cannot be read.
    pub fn find(&mut self, file: &Path) -> Result<Found> {
        match self.up_to_date(|undo| undo.search(file, SearchScope::Everywhere))? {
            SearchResult::Found(found) => Ok(*found),
            SearchResult::Unknown(error) => Err(error),
        }
    }

    /// Finds what `file`, which was found below the folder `base`, was made from; `None` if it is not an output: no record knows
    /// it, or it is a recorded original to which something was appended.
    ///
    /// Works like [`Undo::find`], but a file to which something was appended is recognised only by its path. So the work is
    /// proportional to the number of files, whatever the number of records.
    ///
    /// Since the user did not name the file, the requirements on records are stricter: an empty file is not an output; a store
    /// above `base` is searched only if it belongs to this user, to the owner of the file or to root, and identifies only files at
    /// the paths that it recorded.
    ///
    /// # Errors
    ///
    /// Those of [`Undo::find`], except for a file that no store knows.
    pub fn find_below(&mut self, file: &Path, base: &Path) -> Result<Option<Found>> {
        match self.up_to_date(|undo| undo.search(file, SearchScope::Below(base)))? {
            SearchResult::Found(found) => Ok(Some(*found)),
            SearchResult::Unknown(_) => Ok(None),
        }
    }

    /// Whether a record names this path, which is below the folder `base`, as an output, whatever its bytes are now.
    ///
    /// # Errors
    ///
    /// Those of a store that cannot be read but may know it.
    pub fn names(&mut self, file: &Path, base: &Path) -> Result<bool> {
        self.up_to_date(|undo| {
            let (roots, unreadable) = undo.load(file, SearchScope::Below(base));
            let stores = undo.stores(&roots, file, SearchScope::Below(base))?;
            match unreadable {
                _ if stores.iter().any(|store| !store.here.is_empty()) => Ok(true),
                Some(error) => Err(error),
                None => Ok(false),
            }
        })
    }

    /// The stores above walked folders that were not searched, because they belong to another user.
    pub fn foreign(&self) -> impl Iterator<Item = &Path> {
        self.foreign.iter().map(PathBuf::as_path)
    }

    /// The stores with unreadable records, and the number of these in each: outputs that only these name are not recognised.
    pub fn damaged(&self) -> impl Iterator<Item = (&Path, u64)> {
        let stores = self.lookups.iter();
        let damaged = stores.map(|(root, lookup)| (root.as_path(), lookup.damaged()));
        damaged.filter(|(_, records)| *records > 0)
    }

    /// What `ask` returns. If a file of records has lost its name since it was indexed, because its run has ended, the store is
    /// indexed again.
    fn up_to_date<T>(&mut self, ask: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        ask(self).or_else(|error| {
            let path = error.path.as_deref().unwrap_or(Path::new(""));
            let mut roots = self.lookups.keys();
            let root = roots.find(|root| path.starts_with(root)).cloned();
            match root.filter(|_| error.kind == ErrorKind::NotFound) {
                Some(root) => {
                    self.lookups.remove(&root);
                    ask(self)
                }
                None => Err(error),
            }
        })
    }

    fn search(&mut self, file: &Path, reach: SearchScope<'_>) -> Result<SearchResult> {
        check_transcript(file)?;
        let file = Searched::read(file, reach)?;
        let (roots, unreadable) = self.load(file.path, reach);
        let stores = self.stores(&roots, file.path, reach)?;
        if matches!(reach, SearchScope::Below(_)) && file.written.bytes == 0 {
            return match unreadable {
                Some(error) => Err(error),
                None => Ok(SearchResult::Unknown(unknown(file.path, &stores))),
            };
        }
        let ByBytes {
            compacted,
            unchanged,
        } = by_bytes(&file, &stores)?;
        if let Some(origin) = compacted {
            return Ok(self.found(file, origin, State::Compacted));
        }
        let mut original = None;
        for store in &stores {
            if original.is_none() && store.lookup.is_original(&file.written.hash)? {
                original = Some(store);
            }
        }
        if let Some((origin, bytes)) = by_beginning(&file, &stores, original, reach)? {
            let appended = file.written.bytes - bytes;
            return Ok(self.found(file, origin, State::Grown(appended)));
        }
        let original = unchanged.or_else(|| Some(original?.origin(Vec::new())));
        match (original, unreadable) {
            (Some(origin), _) => {
                let state = State::AlreadyOriginal(file.written.clone());
                Ok(self.found(file, origin, state))
            }
            (None, Some(error)) => Err(error),
            (None, None) => none_of(&file, &stores, reach),
        }
    }

    fn found(&self, file: Searched<'_>, origin: Origin<'_>, state: State) -> SearchResult {
        SearchResult::Found(Box::new(Found {
            file: file.path.to_owned(),
            spot: file.spot,
            stamp: file.stamp,
            rights: file.rights,
            root: origin.root.to_owned(),
            records: origin.records,
            state,
            swept: self.swept.clone(),
        }))
    }

    /// Reads the records of the stores that may know `file`: returns the stores, and the error of the first one that cannot be
    /// read. The search ends there, because it may know the file.
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
            if self.lookups.contains_key(root) {
                continue;
            }
            match Store::new(root, Durability::Lazy).lookup() {
                Ok(lookup) => drop(self.lookups.insert(root.clone(), lookup)),
                Err(error) => {
                    roots.truncate(i);
                    return (roots, Some(error));
                }
            }
        }
        (roots, None)
    }

    /// The stores, from the nearest one upward, each with the file's name as that store would record it.
    fn stores<'u>(
        &'u self,
        roots: &'u [PathBuf],
        file: &Path,
        reach: SearchScope<'_>,
    ) -> Result<Vec<Known<'u>>> {
        // Records name what a link points to.
        let path = resolved(file);
        let base = match (reach, &self.store) {
            (SearchScope::Below(base), None) => Some(resolved(base)),
            (SearchScope::Below(_), Some(_)) | (SearchScope::Everywhere, _) => None,
        };
        let is_above = |root: &Path| {
            let is_outside = |base: &PathBuf| !resolved(root).starts_with(base);
            base.as_ref().is_some_and(is_outside)
        };
        let mut stores = Vec::new();
        for root in roots {
            let Some(lookup) = self.lookups.get(root) else {
                continue;
            };
            let name = Store::new(root, Durability::Lazy).name_of(&path).ok();
            let here = name.as_deref();
            let here = here.map(|name| lookup.of(Sought::Output(name)).collect::<Result<_>>());
            stores.push(Known {
                root,
                is_above: is_above(root),
                lookup,
                here: here.transpose()?.unwrap_or_default(),
                name,
            });
        }
        Ok(stores)
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

/// Owners are not available on this system.
#[cfg(not(unix))]
fn is_of_same_owner(_store: &Path, _file: &Path) -> bool {
    true
}

/// How far to search for the origin of a file.
#[derive(Debug, Clone, Copy)]
enum SearchScope<'r> {
    /// By its bytes and its beginnings, in all records.
    Everywhere,
    /// By its bytes in all records, by its beginnings in those of its path; no link leads out of this folder.
    Below(&'r Path),
}

/// The result of a search.
enum SearchResult {
    Found(Box<Found>),
    /// No record knows the file, or there is nothing to undo; as the error for a file that was named.
    Unknown(Error),
}

/// Refuses a folder or a stream in the place of a transcript, with a message of its own.
fn check_transcript(path: &Path) -> Result<()> {
    let seen = fs::metadata(path).map_err(|e| Error::io(path, "open", e))?;
    super::regular::check_regular(path, &seen)
}

/// The result for a file that no record knows by its bytes, and no beginning of it.
fn none_of(
    file: &Searched<'_>,
    stores: &[Known<'_>],
    reach: SearchScope<'_>,
) -> Result<SearchResult> {
    if stores.iter().all(|store| store.here.is_empty()) {
        return Ok(SearchResult::Unknown(unknown(file.path, stores)));
    }
    let error = changed_since(file.path);
    match reach {
        SearchScope::Below(_) if is_continued(file, stores)? => Ok(SearchResult::Unknown(error)),
        SearchScope::Everywhere | SearchScope::Below(_) => Err(error),
    }
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
    let damaged: u64 = stores.iter().map(|store| store.lookup.damaged()).sum();
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
