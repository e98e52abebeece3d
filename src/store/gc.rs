//! Deletes from a store what nothing names any more: mark and sweep.
//!
//! Named is what a record names (manifests and journals), and what an output of a record that is still there mentions in its
//! bytes. Never deletes a record, nor a file that is not of our own naming. Where it cannot be certain of what is named (a
//! damaged record, an output that cannot be read, a run that goes on) it deletes nothing at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::archive::{ARCHIVE, is_archive_name};
use super::atomic::{is_temp, remove_leftover};
use super::manifest::{JOURNAL, MANIFESTS, Record};
use super::offload::OFFLOADED;
use super::{COPY_BYTES, NAME_DIGITS, Store, is_offload_name, open_transcript};
use crate::error::{Error, ErrorKind, Result};

/// Whether anything is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// What nothing names.
    Delete,
    /// Nothing; what would be is told.
    Tell,
}

/// What nothing named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Relative to the store, sorted.
    pub names: Vec<String>,
    /// Of all of them.
    pub bytes: u64,
}

/// What a record needs of the store.
fn named(record: &Record) -> impl Iterator<Item = &str> {
    let cleaned = record.cleaned.iter().map(|cleaned| &cleaned.archive);
    let archive = record.archive.iter().chain(cleaned);
    archive.chain(&record.offloads).map(String::as_str)
}

impl Store {
    /// Deletes what nothing names, and what killed runs have left half written.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when there is no store, when a run uses it, when it has no record, or when a record is damaged;
    /// [`ErrorKind::Io`] or [`ErrorKind::Decode`] when an output cannot be read. Nothing is deleted then.
    pub fn gc(&self, sweep: Sweep) -> Result<Swept> {
        let has = |name: &str| self.root.join(name).exists();
        if self.root.is_dir() && !["lock", MANIFESTS, JOURNAL].into_iter().any(has) {
            // The lock would be the first file of ours in there.
            let error = Error::new(ErrorKind::Store, "this folder is no store");
            return Err(error
                .at(&self.root)
                .hint("a store is a folder named .ctxpack, or what --store named"));
        }
        let _alone = self.lock()?;
        let mut unnamed = self.unnamed()?;
        unnamed.extend(self.leftovers()?);
        let mut swept = Swept::default();
        for (name, bytes) in unnamed {
            let is_gone = match sweep {
                Sweep::Tell => true,
                Sweep::Delete => remove(&self.root.join(&name))?,
            };
            if is_gone {
                swept.names.push(name);
                swept.bytes += bytes;
            }
        }
        Ok(swept)
    }

    /// Contents that are kept for nobody, with their sizes.
    fn unnamed(&self) -> Result<BTreeMap<String, u64>> {
        let mut kept = BTreeMap::new();
        for folder in [ARCHIVE, OFFLOADED] {
            for entry in entries(&self.root.join(folder))? {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if is_archive_name(&name) || is_offload_name(&name) {
                    kept.extend(size(&entry)?.map(|bytes| (name, bytes)));
                }
            }
        }
        let ledger = self.ledger()?;
        if let Some((path, line)) = ledger.damage() {
            return Err(Error::new(
                ErrorKind::Store,
                "this record is damaged, and what it names cannot be told from what nothing names",
            )
            .at(path)
            .on_line(line)
            .hint("mend the line, from a backup; take it out only if its output is gone"));
        }
        if ledger.records().is_empty() && !kept.is_empty() {
            return Err(Error::new(
                ErrorKind::Store,
                "the store has no record, so that nothing in it is named",
            )
            .at(&self.root)
            .hint("if its manifests are not lost, no output needs it: delete the folder"));
        }
        for name in ledger.records().iter().flat_map(named) {
            kept.remove(name);
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
            let mentioned = mentioned(&self.path_of(output), &kept)?;
            kept.retain(|name, _| !mentioned.contains(digits(name)));
        }
        Ok(kept)
    }

    /// Temporary files: whoever wrote them is dead, for nobody else uses the store now.
    fn leftovers(&self) -> Result<BTreeMap<String, u64>> {
        let mut left = BTreeMap::new();
        for folder in ["", ARCHIVE, OFFLOADED, MANIFESTS, JOURNAL] {
            for entry in entries(&self.root.join(folder))? {
                let name = entry.file_name();
                if is_temp(&name) {
                    let name = format!("{folder}/{}", name.to_string_lossy());
                    let name = name.trim_start_matches('/').to_owned();
                    left.extend(size(&entry)?.map(|bytes| (name, bytes)));
                }
            }
        }
        Ok(left)
    }
}

/// The digits in a name of a content.
fn digits(name: &str) -> &[u8] {
    let after = name.split_once('/').map_or(name, |(_, file)| file);
    &after.as_bytes()[..NAME_DIGITS.min(after.len())]
}

/// The digits of the names in `kept` that a file has in its text, in whatever surroundings: another program may have written
/// the file anew, with other escapes. A file that is not there mentions nothing.
fn mentioned(path: &Path, kept: &BTreeMap<String, u64>) -> Result<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(found);
    }
    let wanted: BTreeSet<&[u8]> = kept.keys().map(|name| digits(name)).collect();
    let mut text = plain(path)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut run: Vec<u8> = Vec::new();
    loop {
        let n = match text.read(&mut buffer) {
            Ok(0) => return Ok(found),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                return Err(
                    Error::io(path, "read, to see what it names of the store", e)
                        .hint("repair the file, or move it away if nothing in it is wanted"),
                );
            }
        };
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

/// The text of an output, which is compressed where its input was.
fn plain(path: &Path) -> Result<Box<dyn Read>> {
    let failed = |e| Error::io(path, "read, to see what it names of the store", e);
    let (file, _) = open_transcript(path)?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(failed)?;
    Ok(match start {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file).map_err(failed)?),
        _ => Box::new(file),
    })
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let failed = |e| Error::io(folder, "list", e);
    match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .map_err(failed)?
            .map(|entry| entry.map_err(failed))
            .collect(),
    }
}

/// The size of a regular file; none of anything else, which is not ours.
fn size(entry: &DirEntry) -> Result<Option<u64>> {
    let metadata = entry
        .metadata()
        .map_err(|e| Error::io(entry.path(), "look at the file", e))?;
    Ok(metadata.is_file().then_some(metadata.len()))
}

/// Removes a file; says whether it did.
fn remove(path: &Path) -> Result<bool> {
    if path.file_name().is_some_and(is_temp) {
        return remove_leftover(path);
    }
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(path, "remove", e)),
    }
}
