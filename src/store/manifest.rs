//! Records of outputs and their originals: in a journal during the run, in a manifest afterwards.
//!
//! A record is appended before its output gets its name, so `undo` finds every output however a run ends. Each run has its own
//! journal, so runs never write to the same file and never wait for each other. Records are never deleted: at its end, a run
//! moves its records from `journal/<number>-<random>.jsonl` to `manifests/<number>-<random>.jsonl`. These names are
//! unpredictable. Records contain the run's number, so that their order does not depend on the times or names of files; the
//! number in the name only serves to find the next one. Beside a large manifest, a `.rows` file contains keys of its records.
//!
//! Records are not trusted, since anyone may have made a store. A record that no run of ours would write counts as damaged; a
//! good one is only ever compared with the bytes on the disk.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Store;
use super::atomic::{AtomicWriter, Existing, Mode};
use super::folder::Durability;
use super::folder::{Folder, not_plain, random_name};
use super::line_file::{ENDING, LineFile, blocks, is_alive, names, next_line};
use super::offload::OFFLOADED;
use super::open_path::OpenPath;
use super::sorted::distinct_lines;
use crate::error::{Error, ErrorKind, Result};

mod index;
mod lookup;
mod record;

pub(super) use index::output_key;
pub use index::{By, OffloadOwners, RecordIndex, RecordedOutputs};
pub use lookup::{RecordLookup, Records, Sought};
pub(super) use record::newest;
pub use record::{ArchivedOffload, Names, Original, Record, name_in_folder, path_in_folder};

pub(super) const JOURNAL: &str = "journal";
pub(super) const MANIFESTS: &str = "manifests";
/// Longer than any record, in bytes; at most this much of a file is held in memory.
const MOST_LINE: u64 = 16 << 20;

/// The place of a run among those of its store.
#[derive(Debug, Clone, Copy)]
struct RunOrder {
    sequence: u64,
    overlaps: Option<u64>,
}

/// The journal of the run in this process.
#[derive(Debug)]
pub(super) struct Journal {
    turn: RunOrder,
    lines: LineFile,
}

/// Every record of a store, in no particular order.
#[derive(Debug, Default)]
pub struct Ledger {
    records: Vec<Record>,
    by_output: HashMap<String, Vec<usize>>,
    damage: Damage,
}

/// Lines that are not records: incomplete, or damaged.
#[derive(Debug, Default)]
pub struct Damage {
    lines: u64,
    first: Option<(PathBuf, u64)>,
}

impl Store {
    /// Records an output that is about to get its name: after its archive and offloads, before its commit. The record is given the
    /// number of the run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; the output must not be committed then.
    pub fn record(&self, record: &Record) -> Result<()> {
        if self.durability == Durability::Durable && !record.offloads.is_empty() {
            let folder = self.folder(OFFLOADED)?;
            let synced = folder.sync();
            synced.map_err(|e| Error::io(folder.path(), "flush the folder", e))?;
        }
        let (file, path) = {
            let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            let mut journal = match slot.take() {
                Some(journal) => journal,
                None => self.start_journal()?,
            };
            let line = line_of(&Record {
                sequence: journal.turn.sequence,
                overlaps: journal.turn.overlaps,
                ..record.clone()
            })?;
            let appended = journal.lines.append(&line);
            let journal = slot.insert(journal);
            appended?;
            (journal.lines.file(), journal.lines.path().to_owned())
        };
        // Done outside the lock, so that the file system can combine the threads' flushes.
        if self.durability == Durability::Durable {
            file.sync_data().map_err(|e| Error::io(&path, "flush", e))?;
        }
        Ok(())
    }

    /// Ends the run: moves its records from the journal to a manifest, and returns the manifest's name. A run without records
    /// leaves nothing.
    ///
    /// The manifest depends only on the records, not on their order, the clock or the number of threads. An interrupted run
    /// that can still do so ends like any other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses. The journal stays then, and `undo` reads it as well.
    pub fn finish(&self) -> Result<Option<String>> {
        let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = slot.take() else {
            return Ok(None);
        };
        let folder = self.folder(MANIFESTS)?;
        let name = name_of(journal.turn);
        let spot = OpenPath::of(&folder, OsStr::new(&name));
        let mut manifest =
            AtomicWriter::create(spot, Existing::Refuse, Mode::Private, self.durability)?;
        let is_record = |line: &[u8]| serde_json::from_slice::<Record>(line).is_ok();
        let sorted = distinct_lines(&journal.lines.file(), is_record, &mut |line| {
            manifest.write_all(line)?;
            manifest.write_all(b"\n")
        });
        sorted.map_err(|e| Error::io(journal.lines.path(), "make a manifest of", e))?;
        manifest.commit()?;
        self.sync()?;
        journal.lines.remove()?;
        // Without it, the next run takes longer.
        let _ = index::index_records(&folder, OsStr::new(&name));
        Ok(Some(format!("{MANIFESTS}/{name}")))
    }

    /// Reads every record of the store, of finished and unfinished runs. A missing store has none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; [`ErrorKind::Store`] for a link or anything else that no run of ours can have
    /// made. A line that is not a record (the last one of a killed run) is not an error.
    pub fn ledger(&self) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        ledger.damage = self.each_record(|record| ledger.push(record))?;
        Ok(ledger)
    }

    /// Calls `show` with every record of the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn each_record(&self, show: impl FnMut(Record)) -> Result<Damage> {
        self.each_record_of(None, show)
    }

    /// Calls `show` with every record whose names are wanted, or with all of them; of other records, only the names are read.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn each_record_of(
        &self,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        mut show: impl FnMut(Record),
    ) -> Result<Damage> {
        let mut damage = Damage::default();
        // Manifests are listed after all journals were read: a run that ends in the meantime writes its manifest before it removes
        // its journal, so its records are seen once or twice, but never missed.
        for part in [JOURNAL, MANIFESTS] {
            let mut sources = self.sources(part)?;
            // Sorted so that errors are found in the same order.
            sources.sort_by(|a, b| a.path.cmp(&b.path));
            for source in sources {
                source.each(is_wanted, &mut show, &mut damage)?;
            }
        }
        Ok(damage)
    }

    /// The files of records in a folder of the store, open.
    fn sources(&self, part: &str) -> Result<Vec<Source>> {
        let Some(folder) = self.part(part)? else {
            return Ok(Vec::new());
        };
        let source = |name| Source {
            path: folder.path().join(&name),
            folder: folder.clone(),
            name,
        };
        Ok(names(&folder)?.into_iter().map(source).collect())
    }

    fn start_journal(&self) -> Result<Journal> {
        let folder = self.folder(JOURNAL)?;
        let turn = self.next_turn(&folder)?;
        let name = OsString::from(name_of(turn));
        let lines = LineFile::create(folder, name, self.durability)?;
        Ok(Journal { turn, lines })
    }

    /// The number of a run that starts now.
    fn next_turn(&self, journals: &Folder) -> Result<RunOrder> {
        let mut highest = 0;
        let mut overlaps = None;
        // Journals first: a run that ends meanwhile is seen once or twice, but never missed.
        for name in names(journals)? {
            let number = number_in(&name);
            highest = highest.max(number);
            if is_alive(journals, &name) {
                overlaps = Some(overlaps.map_or(number, |lowest: u64| lowest.min(number)));
            }
        }
        let manifests = self.part(MANIFESTS)?;
        for name in manifests.as_ref().map_or(Ok(Vec::new()), names)? {
            highest = highest.max(number_in(&name));
        }
        let sequence = highest.checked_add(1).ok_or_else(|| {
            Error::new(ErrorKind::Store, "run numbers are exhausted")
                .at(self.root())
                .hint("a file in manifests/ or journal/ was not written by ctxpack: check the highest number")
        })?;
        Ok(RunOrder { sequence, overlaps })
    }
}

/// Applies `make` to each record of a file, in no particular order, using the threads of the pool in which this is called. Lines that
/// are not records are ignored.
///
/// # Errors
///
/// The system's, those of `take`, and one for a line that is longer than any record.
fn map_records<T: Send>(
    file: &File,
    make: impl Fn(&Record) -> T + Sync,
    take: &mut (dyn FnMut(T) -> io::Result<()> + Send),
) -> io::Result<()> {
    let take = Mutex::new(take);
    blocks(file, MOST_LINE)
        .par_bridge()
        .try_for_each(|block: io::Result<Vec<u8>>| {
            let block = block?;
            let records = block.split(|byte| *byte == b'\n').filter_map(record_of);
            let made: Vec<T> = records.map(|record| make(&record)).collect();
            let mut take = take.lock().unwrap_or_else(PoisonError::into_inner);
            made.into_iter().try_for_each(&mut **take)
        })
}

/// `<the run's number>-<random>.jsonl`
fn name_of(turn: RunOrder) -> String {
    format!("{:08}-{}.{ENDING}", turn.sequence, random_name())
}

/// The number in a name made by [`name_of`]; 0 in older ones.
fn number_in(name: &OsStr) -> u64 {
    let number = name.to_str().and_then(|name| name.split_once('-'));
    number
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

/// The record of a line, if one of our runs can have written it.
fn record_of(line: &[u8]) -> Option<Record> {
    let record: Record = serde_json::from_slice(line).ok()?;
    record.is_ours().then_some(record)
}

fn line_of(record: &Record) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot write a record: {e}")))?;
    line.push(b'\n');
    Ok(line)
}

impl Ledger {
    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The records of outputs of this name (by [`Store::name_of`]).
    pub fn of_output(&self, output: &str) -> impl Iterator<Item = &Record> + use<'_> {
        let records = self.by_output.get(output).into_iter().flatten();
        records.map(|&i| &self.records[i])
    }

    /// Lines that are not records: incomplete, or damaged.
    pub fn damaged(&self) -> u64 {
        self.damage.lines
    }

    /// The file of the first such line, and the line's number from 1.
    pub fn damage(&self) -> Option<(&Path, u64)> {
        let (path, line) = self.damage.first.as_ref()?;
        Some((path, *line))
    }

    fn push(&mut self, record: Record) {
        self.by_output
            .entry(record.output.clone())
            .or_default()
            .push(self.records.len());
        self.records.push(record);
    }
}

/// A file of records.
struct Source {
    folder: Folder,
    name: OsString,
    path: PathBuf,
}

impl Source {
    /// Calls `show` with its records.
    fn each(
        self,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        show: &mut impl FnMut(Record),
        damage: &mut Damage,
    ) -> Result<()> {
        match self.open()? {
            Some(file) => self.lines_of(file, is_wanted, &mut |record, _| show(record), damage),
            None => Ok(()),
        }
    }

    /// Opens it; `None` if its run ended after it was listed: its manifest is read next.
    fn open(&self) -> Result<Option<File>> {
        match self.folder.read(&self.name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(file.map_err(|e| not_plain(&self.path, "read", e))?)),
        }
    }

    /// Calls `show` with each record of its open file and the record's place: its offset and length, including the line end.
    fn each_of(&self, file: File, show: &mut impl FnMut(Record, (u64, u32))) -> Result<()> {
        self.lines_of(file, None, show, &mut Damage::default())
    }

    fn lines_of(
        &self,
        file: File,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        show: &mut impl FnMut(Record, (u64, u32)),
        damage: &mut Damage,
    ) -> Result<()> {
        let failed = |e| not_plain(&self.path, "read", e);
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        let mut offset = 0;
        for number in 1.. {
            let read = next_line(&mut file, MOST_LINE, &mut line);
            let Some(bytes) = read.map_err(failed)? else {
                break;
            };
            let place = (offset, u32::try_from(bytes).unwrap_or(u32::MAX));
            offset += bytes;
            if line.len() as u64 == MOST_LINE {
                let error = Error::new(ErrorKind::Store, "the line is longer than any record");
                return Err(error
                    .at(&self.path)
                    .on_line(number)
                    .hint("ctxpack did not write this file; move it away"));
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if let Some(is_wanted) = is_wanted
                && let Ok(names) = serde_json::from_slice::<Names<'_>>(text)
                && !is_wanted(&names)
            {
                continue;
            }
            match serde_json::from_slice::<Record>(text) {
                _ if text.is_empty() => {}
                Ok(record) if record.is_ours() => show(record, place),
                Ok(_) | Err(_) => {
                    damage.lines += 1;
                    let place = || (self.path.clone(), number);
                    damage.first.get_or_insert_with(place);
                }
            }
        }
        // A run without records writes no manifest, so this one was emptied by another program or a user.
        if offset == 0 && self.folder.path().ends_with(MANIFESTS) {
            damage.lines += 1;
            let place = || (self.path.clone(), 1);
            damage.first.get_or_insert_with(place);
        }
        Ok(())
    }
}

#[cfg(test)]
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests;
