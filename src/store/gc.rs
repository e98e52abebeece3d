//! Deletes contents of a store that nothing refers to any more: mark and sweep.
//!
//! A content is referenced if a record names it (in a manifest or a journal), or if an output of a record still exists and mentions
//! it; an offload that a run has moved to the archive, only if its output mentions it. Records, and files whose names are not ours,
//! are never deleted. If the references cannot be known for certain (a damaged record, an unreadable output, an active run),
//! nothing is deleted. Only plain files that were opened below opened folders are deleted; a link anywhere in the store is an
//! error.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read};

use super::archive::{ARCHIVE, is_archive_name, is_copy_name};
use super::atomic::{is_temp, remove_leftover, remove_opened};
use super::folder::{Folder, not_plain};
use super::manifest::{ArchivedOffload, JOURNAL, Ledger, MANIFESTS, Record, newest};
use super::offload::OFFLOADED;
use super::open_path::{Missing, OpenPath};
use super::unpack::unpacked;
use super::{COPY_BYTES, LOCK, NAME_DIGITS, Store, digits, is_offload_name, look_over};
use crate::error::{Error, ErrorKind, Result};

/// An output is read until it has unpacked to this many times its size, or to this many bytes; agents do not read more than that.
const MOST_RATIO: u64 = 200;
const ALWAYS_READ: u64 = 64 << 20;

/// Whether anything is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// Contents without references are deleted.
    Delete,
    /// Nothing is deleted; the report lists what would be.
    Tell,
}

/// Contents without references.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Their names relative to the store, sorted.
    pub names: Vec<String>,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// The files in the store that a record needs.
fn named(record: &Record) -> impl Iterator<Item = &str> {
    let cleaned = record.cleaned.iter().map(|cleaned| &cleaned.archive);
    let archive = record.archive.iter().chain(cleaned);
    let named = archive.chain(&record.offloads).chain(&record.copies);
    named.map(String::as_str)
}

impl Store {
    /// Deletes contents without references, and incomplete files of killed runs.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when there is no store, when a run uses it, when it has no record, or when a record is damaged;
    /// [`ErrorKind::Io`] or [`ErrorKind::Decode`] when an output cannot be read. Nothing is deleted then.
    pub fn gc(&self, sweep: Sweep) -> Result<Swept> {
        if let Some(folder) = self.opened()? {
            // Locking would create our first file there.
            if !has_ours(&folder)? {
                return Err(Error::new(ErrorKind::Store, "this folder is not a store")
                    .at(&self.root)
                    .hint("a store is a folder named .ctxpack, or what --store named"));
            }
            look_over(&folder)?;
        }
        let _alone = self.lock()?;
        let mut unnamed = self.unnamed()?;
        unnamed.extend(self.leftovers()?);
        unnamed.extend(self.stale_finished()?);
        let mut swept = Swept::default();
        for (name, bytes) in unnamed {
            let is_gone = match sweep {
                Sweep::Tell => true,
                Sweep::Delete => self.remove(&name)?,
            };
            if is_gone {
                swept.names.push(name);
                swept.bytes += bytes;
            }
        }
        Ok(swept)
    }

    /// Contents without references, with their sizes.
    fn unnamed(&self) -> Result<BTreeMap<String, u64>> {
        let mut kept = BTreeMap::new();
        for folder in [ARCHIVE, OFFLOADED] {
            for (file, bytes) in files(self.part(folder)?.as_ref())? {
                let name = format!("{folder}/{file}");
                if is_archive_name(&name) || is_copy_name(&name) || is_offload_name(&name) {
                    kept.insert(name, bytes);
                }
            }
        }
        let ledger = self.ledger()?;
        if let Some((path, line)) = ledger.damage() {
            return Err(Error::new(
                ErrorKind::Store,
                "this record is damaged, so what it refers to is unknown",
            )
            .at(path)
            .on_line(line)
            .hint("restore the line from a backup; delete it only if its output is gone"));
        }
        if ledger.records().is_empty() && !kept.is_empty() {
            return Err(Error::new(
                ErrorKind::Store,
                "the store has no records, so nothing can be proved unreferenced",
            )
            .at(&self.root)
            .hint(
                "if the manifests were not lost, nothing refers to this store: delete the folder",
            ));
        }
        let released = released(&ledger, &kept);
        for name in ledger.records().iter().flat_map(named) {
            if !released.contains(name) {
                kept.remove(name);
            }
        }
        let outputs: BTreeSet<&str> = ledger
            .records()
            .iter()
            .map(|record| record.output.as_str())
            .filter(|output| *output != "-")
            .collect();
        for output in outputs {
            if kept.is_empty() {
                break;
            }
            let mentioned = mentioned(self, output, &kept)?;
            kept.retain(|name, _| !mentioned.contains(digits(name).as_bytes()));
        }
        Ok(kept)
    }

    /// Temporary files. Their runs are dead, since no other run is using the store.
    fn leftovers(&self) -> Result<BTreeMap<String, u64>> {
        let mut left = BTreeMap::new();
        let own = self.opened()?.map(|folder| (String::new(), folder));
        let parts = super::PARTS.into_iter().map(|part| {
            let folder = self.part(part)?;
            Ok(folder.map(|folder| (format!("{part}/"), folder)))
        });
        let parts: Vec<Option<(String, Folder)>> = parts.collect::<Result<_>>()?;
        for (prefix, folder) in own.into_iter().chain(parts.into_iter().flatten()) {
            for (file, bytes) in files(Some(&folder))? {
                if is_temp(OsStr::new(&file)) {
                    left.insert(format!("{prefix}{file}"), bytes);
                }
            }
        }
        Ok(left)
    }

    /// Removes a plain file of the store; returns whether it did.
    fn remove(&self, name: &str) -> Result<bool> {
        let path = self.root.join(name);
        let failed = |e| not_plain(&path, "remove", e);
        let (folder, file) = match name.split_once('/') {
            Some((part, file)) => (self.part(part)?, file),
            None => (self.opened()?, name),
        };
        let (Some(folder), file) = (folder, OsStr::new(file)) else {
            return Ok(false);
        };
        if is_temp(file) {
            return remove_leftover(&folder, file).map_err(failed);
        }
        match folder.read(file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            opened => opened
                .and_then(|opened| remove_opened(&folder, file, &opened))
                .map_err(failed),
        }
    }
}

/// Offloads that a run has moved to the archive but did not get to delete: only one output was ever made with them, and its newest
/// record no longer names them. Whether the output itself mentions them is checked later.
fn released(ledger: &Ledger, kept: &BTreeMap<String, u64>) -> BTreeSet<String> {
    let owners = single_owners(ledger);
    let mut released = BTreeSet::new();
    for record in ledger.records() {
        for ArchivedOffload { name, archive } in &record.cleaned {
            let newest = || {
                let records: Vec<&Record> = ledger.of_output(&record.output).collect();
                newest(&records).is_some_and(|newest| !newest.offloads.contains(name))
            };
            if kept.contains_key(name)
                && kept.contains_key(archive)
                && owners.get(name.as_str()) == Some(&Some(&record.output))
                && newest()
            {
                released.insert(name.to_owned());
            }
        }
    }
    released
}

/// The output that was made with each offload; `None` if there are several.
fn single_owners(ledger: &Ledger) -> BTreeMap<&str, Option<&str>> {
    let mut owners: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for record in ledger.records() {
        for offload in &record.offloads {
            let owner = owners.entry(offload).or_insert(Some(&record.output));
            *owner = owner.filter(|owner| *owner == record.output);
        }
    }
    owners
}

/// Whether a folder contains anything that makes it a store.
fn has_ours(folder: &Folder) -> Result<bool> {
    for name in [LOCK, MANIFESTS, JOURNAL] {
        let seen = folder.look(OsStr::new(name));
        let path = folder.path().join(name);
        if seen
            .map_err(|e| not_plain(&path, "look at it", e))?
            .is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The digits of the names in `kept` that occur anywhere in an output: another program may have rewritten the file with other
/// escapes. A missing file mentions nothing.
fn mentioned(
    store: &Store,
    output: &str,
    kept: &BTreeMap<String, u64>,
) -> Result<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    let path = &store.path_of(output);
    let base = super::folder_of(store.root());
    // An output next to the folder that holds the store is treated like any other file of the user's.
    let spot = match output.starts_with("../") {
        true => OpenPath::named(path, Missing::Refuse),
        false => OpenPath::below(base, path, Missing::Refuse),
    };
    let file = spot.and_then(|spot| match spot.look()? {
        Some(seen) if !seen.is_dir() => spot.read().map(Some),
        Some(_) | None => Ok(None),
    });
    let file = match file {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(found),
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    let wanted: BTreeSet<&[u8]> = kept.keys().map(|name| digits(name).as_bytes()).collect();
    let failed = |e| Error::io(path, "read to find what it needs of the store", e);
    // Files that the system generates when they are read have no length, and perhaps no end.
    let length = file.metadata().map_err(failed)?.len();
    let most = length.saturating_mul(MOST_RATIO).max(ALWAYS_READ);
    // An output is compressed if its input was.
    let mut text = unpacked(file.take(length)).map_err(failed)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut run: Vec<u8> = Vec::new();
    let mut all: u64 = 0;
    loop {
        let n = match text.read(&mut buffer) {
            Ok(0) => return Ok(found),
            Ok(_) if all > most => {
                let message = "it unpacks to far more than a transcript does";
                return Err(Error::new(ErrorKind::Decode, message)
                    .at(path)
                    .hint("move it away if it is not needed"));
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                return Err(failed(e).hint("repair the file, or move it away if it is not needed"));
            }
        };
        all += n as u64;
        for &byte in &buffer[..n] {
            if !matches!(byte, b'0'..=b'9' | b'a'..=b'f') {
                run.clear();
                continue;
            }
            if run.len() == 2 * NAME_DIGITS {
                run.drain(..=NAME_DIGITS);
            }
            run.push(byte);
            if let Some(start) = run.len().checked_sub(NAME_DIGITS)
                && wanted.contains(&run[start..])
            {
                found.insert(run[start..].to_vec());
            }
        }
    }
}

/// The plain files in one of our folders, with their sizes.
fn files(folder: Option<&Folder>) -> Result<Vec<(String, u64)>> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let names = folder.names();
    let mut files = Vec::new();
    for name in names.map_err(|e| Error::io(folder.path(), "list", e))? {
        let seen = folder.look(&name);
        let path = folder.path().join(&name);
        let seen = seen.map_err(|e| not_plain(&path, "look at it", e))?;
        if let (Some(seen), Some(name)) = (seen.filter(|seen| seen.is_file()), name.to_str()) {
            files.push((name.to_owned(), seen.len()));
        }
    }
    Ok(files)
}
