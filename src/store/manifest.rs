//! Who came from what: one record an output, in the journal while its run goes on, in a manifest afterwards.
//!
//! A record is appended before its output takes its name, so whatever kills a run, `undo` finds every output
//! that there is. Each run has a journal of its own, so runs never write to one file and never wait for each
//! other. Never deletes a record: a run's end moves its records from `journal/<token>.jsonl` to
//! `manifests/<hash of them>.jsonl`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::atomic::{Durability, Existing, Mode, write};
use super::folders::sync_folder;
use super::offload::OFFLOADED;
use super::{NAME_DIGITS, Store, private};
use crate::error::{Error, ErrorKind, Result};

pub(super) const JOURNAL: &str = "journal";
pub(super) const MANIFESTS: &str = "manifests";
const ENDING: &str = "jsonl";

/// Where an output came from. Hashes and lengths are those of the files on the disk, compressed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The output, named by [`Store::name_of`]; `-` is the standard output.
    pub output: String,
    /// Hash of its bytes.
    pub output_hash: String,
    /// Length in bytes: what lies behind it was appended later.
    pub output_bytes: u64,
    /// The input, named by [`Store::name_of`]; `-` is the standard input.
    pub input: String,
    /// Hash of its bytes.
    pub input_hash: String,
    /// Length in bytes.
    pub input_bytes: u64,
    /// Where the original bytes are.
    pub original: Original,
    /// The archive's name, where there is one.
    pub archive: Option<String>,
    /// Names of the offloaded contents that the output needs.
    pub offloads: Vec<String>,
    /// Offloaded contents that the input needed and the output does not: they are in the archive now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleaned: Vec<Cleaned>,
    /// Hash of the effective policy.
    pub policy_hash: String,
}

/// An offloaded content that has moved into the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// Its name among the offloads.
    pub name: String,
    /// Its name in the archive.
    pub archive: String,
}

/// Where the bytes are that an output was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Original {
    /// In the input, which the run left alone.
    Input,
    /// In the store's archive.
    Archive,
}

/// The journal of the run in this process.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: Arc<File>,
    /// A line was cut short (a full disk); the next one must not be glued to it.
    torn: bool,
}

/// Every record of a store, from the oldest to the newest.
#[derive(Debug, Default)]
pub struct Ledger {
    records: Vec<Record>,
    by_output_hash: HashMap<String, Vec<usize>>,
    input_hashes: HashSet<String>,
    damaged: u64,
    first_damaged: Option<(PathBuf, u64)>,
}

impl Store {
    /// Writes down an output that is about to take its name: after its archive and offloads, before its commit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; the output must not be committed then.
    pub fn record(&self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record)
            .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot write a record: {e}")))?;
        line.push(b'\n');
        if self.durability == Durability::Durable && !record.offloads.is_empty() {
            sync_folder(&self.root.join(OFFLOADED))?;
        }
        let (file, path) = {
            let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            let mut journal = match slot.take() {
                Some(journal) => journal,
                None => self.start_journal()?,
            };
            let appended = journal.append(&line);
            let journal = slot.insert(journal);
            appended.map_err(|e| Error::io(&journal.path, "write", e))?;
            (Arc::clone(&journal.file), journal.path.clone())
        };
        // Outside the lock, so that the threads' flushes are joined into one by the file system.
        if self.durability == Durability::Durable {
            file.sync_data().map_err(|e| Error::io(&path, "flush", e))?;
        }
        Ok(())
    }

    /// Ends the run: its records leave the journal for a manifest, whose name (`manifests/<32hex>.jsonl`) is
    /// given back. A run without records leaves nothing.
    ///
    /// The manifest depends on the records alone, not on their order, the clock or the number of threads. A run
    /// that was interrupted, but lives to say so, ends like any other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses. The journal stays then, and `undo` reads it as well.
    pub fn finish(&self) -> Result<Option<String>> {
        let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = slot.take() else {
            return Ok(None);
        };
        let bytes = fs::read(&journal.path).map_err(|e| Error::io(&journal.path, "read", e))?;
        let mut lines: Vec<&[u8]> = lines(&bytes)
            .filter(|line| serde_json::from_slice::<Record>(line).is_ok())
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let mut manifest = lines.join(&b'\n');
        manifest.push(b'\n');
        let hash = blake3::hash(&manifest).to_hex();
        let name = format!("{MANIFESTS}/{}.{ENDING}", &hash[..NAME_DIGITS]);
        self.folder(MANIFESTS)?;
        write(
            &self.root.join(&name),
            &manifest,
            Existing::Overwrite,
            Mode::Private,
            self.durability,
        )?;
        fs::remove_file(&journal.path).map_err(|e| Error::io(&journal.path, "remove", e))?;
        Ok(Some(name))
    }

    /// Reads every record of the store, of finished runs and of others. A store that is not there has none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses. A line that is no record (a killed run's last) is no error.
    pub fn ledger(&self) -> Result<Ledger> {
        // Journals first: a run that ends meanwhile writes its manifest before it removes its journal, so its
        // records are seen twice or once, but seen.
        let mut sources = read_folder(&self.root.join(JOURNAL))?;
        sources.extend(read_folder(&self.root.join(MANIFESTS))?);
        // Records carry no time of their own, so that manifests are the same in every run.
        sources.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        let mut ledger = Ledger::default();
        for source in sources {
            for (line, number) in source.bytes.split(|&b| b == b'\n').zip(1..) {
                match serde_json::from_slice(line) {
                    Ok(record) => ledger.push(record),
                    Err(_) if line.is_empty() => {}
                    Err(_) => {
                        ledger.damaged += 1;
                        let place = || (source.path.clone(), number);
                        ledger.first_damaged.get_or_insert_with(place);
                    }
                }
            }
        }
        Ok(ledger)
    }

    fn start_journal(&self) -> Result<Journal> {
        let folder = self.folder(JOURNAL)?;
        loop {
            // The standard library's only source of chance. The token is gone when the run ends.
            let token = RandomState::new().hash_one(std::process::id());
            let path = folder.join(format!("{token:016x}.{ENDING}"));
            let mut options = OpenOptions::new();
            options.append(true).create_new(true);
            match private(&mut options).open(&path) {
                Ok(file) => {
                    if self.durability == Durability::Durable {
                        sync_folder(&folder)?;
                    }
                    return Ok(Journal {
                        path,
                        file: Arc::new(file),
                        torn: false,
                    });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(&path, "create", e)),
            }
        }
    }
}

impl Journal {
    /// One write a line, so that a kill leaves the line whole or not there at all.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let mut file = &*self.file;
        let done = if self.torn {
            file.write_all(&[b"\n", line].concat())
        } else {
            file.write_all(line)
        };
        self.torn = done.is_err();
        done
    }
}

impl Ledger {
    /// All records, the oldest first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The records of outputs with these bytes, the newest first.
    pub fn with_output(&self, hash: &str) -> impl Iterator<Item = &Record> {
        self.by_output_hash
            .get(hash)
            .into_iter()
            .flatten()
            .rev()
            .map(|&i| &self.records[i])
    }

    /// Whether we wrote a file of this name (by [`Store::name_of`]) with these bytes, as an output or by an undo of one,
    /// so that we may replace it.
    pub fn wrote(&self, output: &str, hash: &str) -> bool {
        self.with_output(hash).any(|record| record.output == output)
            || self.is_original(hash)
                && self
                    .records
                    .iter()
                    .any(|record| record.output == output && record.input_hash == hash)
    }

    /// Whether the output of this name, and no other one, was made with this offloaded content.
    pub fn is_offload_of(&self, offload: &str, output: &str) -> bool {
        let names = |record: &&Record| record.offloads.iter().any(|name| name == offload);
        let mut owners = self.records.iter().filter(names).peekable();
        owners.peek().is_some() && owners.all(|record| record.output == output)
    }

    /// Whether these are the bytes that some output was made from.
    pub fn is_original(&self, hash: &str) -> bool {
        self.input_hashes.contains(hash)
    }

    /// Lines that are no records: cut short by a kill, or damaged.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The file of the first of these lines, and its number from 1.
    pub fn damage(&self) -> Option<(&Path, u64)> {
        let (path, line) = self.first_damaged.as_ref()?;
        Some((path, *line))
    }

    fn push(&mut self, record: Record) {
        self.by_output_hash
            .entry(record.output_hash.clone())
            .or_default()
            .push(self.records.len());
        self.input_hashes.insert(record.input_hash.clone());
        self.records.push(record);
    }
}

struct Source {
    modified: Option<SystemTime>,
    path: PathBuf,
    bytes: Vec<u8>,
}

fn read_folder(folder: &Path) -> Result<Vec<Source>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| Error::io(folder, "list", e))?,
    };
    let mut sources = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::io(folder, "list", e))?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        let modified = fs::metadata(&path).and_then(|m| m.modified()).ok();
        match fs::read(&path) {
            Ok(bytes) => sources.push(Source {
                modified,
                path,
                bytes,
            }),
            // A run ended between the listing and the reading; its manifest is read next.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(&path, "read", e)),
        }
    }
    Ok(sources)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests;
