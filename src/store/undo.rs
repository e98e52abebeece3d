//! Finds what an output was made from, or says exactly what is missing.
//!
//! Relies on the stores' records alone. Writes nothing; `restore` does.

mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::atomic::{Rights, Stamp, Written};
use super::folder::Durability;
use super::manifest::{Ledger, Original, Record, newest};
use super::spot::Spot;
use super::{COPY_BYTES, FOLDER, Store, hash_text, pour, resolved};
use crate::error::{Error, ErrorKind, Result};
use crate::text::count;

use restore::Swept;

pub use restore::{Appended, Dest, Found, State, Undone};

/// Finds where files came from. Caches the records that it reads, so that many files take one reading of a store.
#[derive(Debug)]
pub struct Undo {
    store: Option<PathBuf>,
    ledgers: BTreeMap<PathBuf, Ledger>,
    swept: Swept,
}

impl Undo {
    /// Searches `store` alone; without one, each `.ctxpack` from the file's folder upward.
    pub fn new(store: Option<PathBuf>) -> Self {
        Undo {
            store,
            ledgers: BTreeMap::new(),
            swept: Swept::default(),
        }
    }

    /// Finds what `file` was made from.
    ///
    /// Its bytes decide. A record of this path is preferred (that of the last run), but a file that was moved or appended to is
    /// found as well. The nearest store that knows the file wins.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when no store knows the file, or when these bytes came from several different
    /// originals; [`ErrorKind::Changed`] when a store knows the path, but with other bytes;
    /// [`ErrorKind::NotFound`] or [`ErrorKind::Io`] when something cannot be read.
    pub fn find(&mut self, file: &Path) -> Result<Found> {
        check_transcript(file)?;
        let spot = Spot::resolved(file, None)?;
        let handle = spot.read()?;
        let metadata = handle
            .metadata()
            .map_err(|e| Error::io(file, "look at it", e))?;
        let rights = Rights::of(&handle).map_err(|e| Error::io(file, "look at it", e))?;
        let written = pour(&mut &handle, &mut io::sink(), |e| {
            Error::io(file, "read", e)
        })?;
        let mut roots = self.roots(file);
        // Stop at a store that cannot be read: it may know the file.
        let mut unreadable = None;
        for (i, root) in roots.iter().enumerate() {
            if self.ledgers.contains_key(root) {
                continue;
            }
            match Store::new(root, Durability::Lazy).ledger() {
                Ok(ledger) => drop(self.ledgers.insert(root.clone(), ledger)),
                Err(error) => {
                    unreadable = Some(error);
                    roots.truncate(i);
                    break;
                }
            }
        }
        // From the nearest store upward, each with the file's name as that store would record it.
        let stores: Vec<(&PathBuf, &Ledger, Option<String>)> = roots
            .iter()
            .filter_map(|root| Some((root, self.ledgers.get(root)?)))
            .map(|(root, ledger)| {
                // Records name what a link points to.
                let name = Store::new(root, Durability::Lazy).name_of(&resolved(file));
                let name = name.ok();
                (root, ledger, name)
            })
            .collect();
        let is_link = fs::symlink_metadata(file).is_ok_and(|seen| seen.is_symlink());
        let found = |root: &Path, records, state| Found {
            file: file.to_owned(),
            spot: spot.clone(),
            stamp: Stamp::of(&metadata),
            rights: rights.clone(),
            root: root.to_owned(),
            records,
            state,
            swept: self.swept.clone(),
        };

        for (root, ledger, name) in &stores {
            let mut records: Vec<&Record> = ledger.with_output(&written.hash).collect();
            if is_link {
                // A moved file is found by its bytes; but whoever made a link may have made the record too.
                records.retain(|record| Some(&record.output) == name.as_ref());
            }
            if let Some(records) = one_original(file, &records, name.as_deref())? {
                let state = match records.first() {
                    Some(first) if first.input_hash == written.hash => {
                        State::AlreadyOriginal(written)
                    }
                    Some(_) | None => State::Compacted,
                };
                return Ok(found(root, records, state));
            }
        }
        let original = stores
            .iter()
            .find(|(_, ledger, _)| ledger.is_original(&written.hash));
        for (root, ledger, name) in &stores {
            let grown = match grown(&spot, &written, ledger, name.as_deref()) {
                Err(_) if original.is_some() => continue,
                grown => grown?,
            };
            let Some((bytes, records)) = grown else {
                continue;
            };
            let is_here = |record: &Record| Some(&record.output) == name.as_ref();
            if is_link && !records.iter().any(is_here) {
                continue;
            }
            // A file that was compacted twice was an original in between, but not the first one of this file.
            if original.is_none() || records.iter().any(is_here) {
                return Ok(found(root, records, State::Grown(written.bytes - bytes)));
            }
        }
        match (original, unreadable) {
            (Some((root, ..)), _) => Ok(found(root, Vec::new(), State::AlreadyOriginal(written))),
            (None, Some(error)) => Err(error),
            (None, None) => Err(unknown(file, &stores)),
        }
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

/// The records of the one original that `records` agree on; empty if there are none.
///
/// Records of this path take precedence, because two inputs can give the same output; of several, the last one.
fn one_original(
    file: &Path,
    records: &[&Record],
    name: Option<&str>,
) -> Result<Option<Vec<Record>>> {
    let is_here = |record: &Record| Some(record.output.as_str()) == name;
    let here: Vec<&Record> = records.iter().copied().filter(|r| is_here(r)).collect();
    let chosen = match (records, here.as_slice()) {
        ([], _) => return Ok(None),
        ([first, rest @ ..], []) => {
            let is_other = |record: &&Record| record.input_hash != first.input_hash;
            if rest.iter().any(is_other) {
                return Err(several(
                    file,
                    "these bytes came from several different originals",
                    records,
                    "move the file back to where it was written, then its own original is known",
                ));
            }
            first
        }
        (_, here) => newest(here).ok_or_else(|| {
            several(
                file,
                "this file was made from several different originals, and the records do not say which came last",
                here,
                "take the right one out of the store's archive by its name, or use the input that is named",
            )
        })?,
    };
    let all = records.iter().copied();
    let mut same: Vec<Record> = all
        .filter(|record| record.input_hash == chosen.input_hash)
        .cloned()
        .collect();
    same.sort_by_key(|record| !is_here(record));
    Ok(Some(same))
}

/// The different originals of `records`.
fn several(file: &Path, message: &str, records: &[&Record], hint: &str) -> Error {
    let originals: BTreeSet<String> = records
        .iter()
        .map(|record| match (record.original, &record.archive) {
            (Original::Archive, Some(archive)) => format!("{} ({archive})", record.input),
            (Original::Input | Original::Fork, _) | (Original::Archive, None) => {
                record.input.clone()
            }
        })
        .collect();
    let originals: Vec<String> = originals.into_iter().collect();
    Error::new(
        ErrorKind::Store,
        format!("{message}: {}", originals.join(", ")),
    )
    .at(file)
    .hint(hint)
}

/// The longest recorded output that `file` begins with, and its records.
///
/// Outputs elsewhere that are equal to their inputs do not count: a growing transcript begins with each older copy of itself and
/// has nothing to undo. Nor do outputs that were made from the file's current bytes: an original can begin with its own output.
fn grown(
    file: &Spot,
    now: &Written,
    ledger: &Ledger,
    name: Option<&str>,
) -> Result<Option<(u64, Vec<Record>)>> {
    let counts = |record: &&Record| {
        record.input_hash != now.hash
            && (record.output_hash != record.input_hash || Some(record.output.as_str()) == name)
    };
    let lengths: BTreeSet<u64> = ledger
        .records()
        .iter()
        .filter(counts)
        .map(|record| record.output_bytes)
        .filter(|&length| 0 < length && length < now.bytes)
        .collect();
    let mut longest = None;
    for (length, hash) in prefix_hashes(file, &lengths)? {
        let records: Vec<&Record> = ledger
            .with_output(&hash)
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
fn prefix_hashes(spot: &Spot, lengths: &BTreeSet<u64>) -> Result<Vec<(u64, String)>> {
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
    super::check_regular(path, &seen)
}

fn unknown(file: &Path, stores: &[(&PathBuf, &Ledger, Option<String>)]) -> Error {
    let path_known = stores.iter().any(|(_, ledger, name)| {
        ledger
            .records()
            .iter()
            .any(|record| Some(&record.output) == name.as_ref())
    });
    if path_known {
        return Error::new(
            ErrorKind::Changed,
            "the file was changed since ctxpack wrote it, so its original is not certain",
        )
        .at(file)
        .hint("the store's manifests name the originals of this path");
    }
    let damaged: u64 = stores.iter().map(|(_, ledger, _)| ledger.damaged()).sum();
    let message = if stores.is_empty() {
        "no store is beside this file or above it".to_owned()
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
