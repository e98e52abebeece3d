//! An index from outputs (by name or hash) and offloaded contents to the positions of their records; a query reads only the
//! records that it needs.
//!
//! Holds a few bytes per record, however long the records are, and keeps no file open except those of runs that have not ended.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::record::{ends_with, newest};
use super::{JOURNAL, MANIFESTS, MOST_LINE, Record, map_records, record_of};
use crate::error::{Error, ErrorKind, Result};
use crate::store::Store;
use crate::store::folder::{Folder, not_plain};
use crate::store::keys::key_of;
use crate::store::line_file::{Place, blocks};
use crate::store::rows::{Meaning, Rows};
use crate::store::table::{Filling, Table};

/// An index of a store's records, by their outputs.
#[derive(Debug)]
pub struct RecordIndex {
    by: By,
    files: Vec<Indexed>,
    /// The rows are [`Place`]s, by the key of what a record is looked up by.
    places: Table<3>,
}

/// What records are looked up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The names of their outputs.
    Output,
    /// The hashes of their outputs' bytes.
    OutputHash,
}

impl By {
    fn of(self, record: &Record) -> &str {
        match self {
            By::Output => &record.output,
            By::OutputHash => &record.output_hash,
        }
    }
}

/// The outputs that need each offloaded content of a store: the keys of both names, in pairs.
#[derive(Debug, Default)]
pub struct OffloadOwners(Table<2>);

impl OffloadOwners {
    /// Whether only the output of this name was made with this offloaded content. If the owners cannot be read, there may be
    /// others.
    pub fn is_offload_of(&self, offload: &str, output: &str) -> bool {
        // Owners are sorted by key: if the first and the last are the same, there is no other.
        let ends = || {
            let owners = self.0.of(key_of(offload)).ok()?;
            let last = owners
                .end
                .checked_sub(1)
                .filter(|last| *last >= owners.start)?;
            Some([self.0.row(owners.start).ok()?[1], self.0.row(last).ok()?[1]])
        };
        ends() == Some([key_of(output); 2])
    }
}

/// Rows that contain what [`RecordedOutputs`] has of each record.
const RECORDED: Meaning = Meaning(1);

/// What is recorded about the outputs of a store, to be looked up for many inputs: for each record, a key of the output's name with
/// both hashes, and the key of the input's name.
#[derive(Debug, Default)]
pub struct RecordedOutputs(Table<2>);

impl RecordedOutputs {
    /// Whether an output with this name and the first of these hashes was made from an input with the second one. A record that
    /// cannot be read counts as missing.
    pub fn has(&self, output: &str, hashes: (&str, &str)) -> bool {
        self.has_key(output_key(output, hashes))
    }

    /// The same by a key that was kept: that of a [`Brief`](crate::store::finished::Brief).
    pub fn has_key(&self, key: u64) -> bool {
        let records = self.0.of(key);
        records.is_ok_and(|few| !few.is_empty())
    }

    /// The [`key_of`] of the name of each record's input.
    pub(in crate::store) fn inputs(&self) -> impl Iterator<Item = io::Result<u64>> {
        let rows = self.0.rows();
        rows.map(|row| row.map(|[_, input]| input))
    }
}

fn recorded(record: &Record) -> [u64; 2] {
    let hashes = (&*record.output_hash, &*record.input_hash);
    [output_key(&record.output, hashes), key_of(&record.input)]
}

/// Derives what [`Store::recorded_outputs`] reads of a manifest, if that is large.
///
/// # Errors
///
/// The system's; the lines are then read instead.
pub(super) fn index_records(folder: &Folder, manifest: &OsStr) -> Result<()> {
    Rows::make((folder, manifest), RECORDED, |file, show| {
        // Rows in their order need not be sorted by each run that reads them.
        let mut all = Filling::new(folder.path());
        for block in blocks(file, MOST_LINE) {
            let block = block?;
            let mut records = block.split(|byte| *byte == b'\n').filter_map(record_of);
            records.try_for_each(|record| all.push(recorded(&record)))?;
        }
        all.finish()?.rows().try_for_each(|row| show(row?))
    })
}

/// Uses the last digits of each hash: as many as a key has bits, so that more would not distinguish any better.
pub(in crate::store) fn output_key(output: &str, (after, before): (&str, &str)) -> u64 {
    key_of(&[last_digits(after), " ", last_digits(before), " ", output].concat())
}

fn last_digits(hash: &str) -> &str {
    let start = hash.len().saturating_sub(u64::BITS as usize / 4);
    hash.get(start..).unwrap_or(hash)
}

#[derive(Debug)]
struct Indexed {
    folder: Folder,
    name: OsString,
    path: PathBuf,
    /// A journal stays open, since it may lose its name when its run ends; threads take turns in reading it.
    journal: Option<Mutex<File>>,
}

impl Store {
    /// Which outputs need each offloaded content of the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn offload_owners(&self) -> Result<OffloadOwners> {
        let mut owners = Filling::new(self.root());
        let mut pushed = Ok(());
        self.each_record(|record| {
            let output = key_of(&record.output);
            for offload in &record.offloads {
                if pushed.is_ok() {
                    pushed = owners.push([key_of(offload), output]);
                }
            }
        })?;
        let owners = pushed.and_then(|()| owners.finish());
        Ok(OffloadOwners(owners.map_err(|e| self.unsorted(e))?))
    }

    /// What is recorded about the outputs of the store, read using the threads of the pool in which this is called.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn recorded_outputs(&self) -> Result<RecordedOutputs> {
        let mut all = Filling::new(self.root());
        // Journals first, as whenever all records are read.
        for part in [JOURNAL, MANIFESTS] {
            for source in self.sources(part)? {
                let Some(file) = source.open()? else {
                    continue;
                };
                let rows = Rows::open((&source.folder, &source.name), &file, RECORDED);
                let mut pushed = rows.iter().flat_map(Rows::each);
                let pushed = pushed.try_for_each(|row| all.push(row?));
                // Rows that are read twice do no harm.
                if rows.is_none() || pushed.is_err() {
                    let read = map_records(&file, recorded, &mut |row| all.push(row));
                    read.map_err(|e| not_plain(&source.path, "read", e))?;
                }
            }
        }
        let all = all.finish().map_err(|e| self.unsorted(e))?;
        Ok(RecordedOutputs(all))
    }

    /// Indexes the records of the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn record_index(&self, by: By) -> Result<RecordIndex> {
        let mut files = Vec::new();
        let mut places = Filling::new(self.root());
        let mut pushed = Ok(());
        // Journals first, as whenever all records are read.
        for part in [JOURNAL, MANIFESTS] {
            for source in self.sources(part)? {
                let failed = |e| not_plain(&source.path, "read", e);
                let Some(file) = source.open()? else {
                    continue;
                };
                let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
                let again = (part == JOURNAL).then(|| file.try_clone());
                let again = again.transpose().map_err(failed)?;
                source.each_of(file, &mut |record, (offset, bytes)| {
                    let place = Place {
                        key: key_of(by.of(&record)),
                        file: number,
                        offset,
                        bytes,
                    };
                    if pushed.is_ok() {
                        pushed = places.push(place.to_row());
                    }
                })?;
                files.push(Indexed {
                    folder: source.folder,
                    name: source.name,
                    path: source.path,
                    journal: again.map(Mutex::new),
                });
            }
        }
        let places = pushed.and_then(|()| places.finish());
        let places = places.map_err(|e| self.unsorted(e))?;
        Ok(RecordIndex { by, files, places })
    }

    fn unsorted(&self, error: io::Error) -> Error {
        Error::io(self.root(), "sort the records of", error)
    }
}

impl RecordIndex {
    /// The records of outputs of this name (by [`Store::name_of`]) or this hash, each once.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`] when the system refuses.
    pub fn of(&self, output: &str) -> Result<Vec<Record>> {
        let key = key_of(output);
        let mut records = Vec::new();
        let mut seen = HashSet::new();
        let failed = |e| Error::new(ErrorKind::Io, format!("records cannot be looked up: {e}"));
        for at in self.places.of(key).map_err(failed)? {
            let place = Place::of_row(self.places.row(at).map_err(failed)?);
            let Some(indexed) = self.files.get(place.file as usize) else {
                continue;
            };
            let line = indexed.line(&place);
            let line = line.map_err(|e| Error::io(&indexed.path, "read", e))?;
            // A record of a run that ends in the meantime is both in its journal and in its manifest.
            if let Ok(record) = serde_json::from_slice::<Record>(&line)
                && self.by.of(&record) == output
                && record.is_ours()
                && seen.insert(line)
            {
                records.push(record);
            }
        }
        Ok(records)
    }

    /// The newest record according to which a run wrote a file with this name (by [`Store::name_of`]) and these bytes, as an output
    /// or by undoing one, so that it may be replaced.
    ///
    /// # Errors
    ///
    /// Those of [`RecordIndex::of`].
    pub fn writer(&self, output: &str, hash: &str) -> Result<Option<Record>> {
        let wrote = |record: &Record| {
            record.output == output && (record.output_hash == hash || record.input_hash == hash)
        };
        let records = self.of(output)?.into_iter().filter(wrote);
        Ok(records.max_by_key(|record| record.sequence))
    }

    /// Whether the newest record of this output is the same except for its run's number.
    ///
    /// # Errors
    ///
    /// Those of [`RecordIndex::of`].
    pub fn ends_with(&self, record: &Record) -> Result<bool> {
        let records = self.of(self.by.of(record))?;
        let here = records.iter().filter(|other| {
            other.output == record.output && other.output_hash == record.output_hash
        });
        Ok(ends_with(&here.collect::<Vec<_>>(), record))
    }

    /// The newest record of an output with this name and these bytes, if some of its conversations have no model's summary because
    /// the model failed.
    ///
    /// # Errors
    ///
    /// Those of [`RecordIndex::of`].
    pub fn without_summary(&self, output: &str, hash: &str) -> Result<Option<Record>> {
        let records = self.of(match self.by {
            By::Output => output,
            By::OutputHash => hash,
        })?;
        let here = records.iter();
        let here = here.filter(|r| r.output == output && r.output_hash == hash);
        let newest = newest(&here.collect::<Vec<_>>());
        Ok(newest.filter(|record| record.failed_summaries > 0).cloned())
    }
}

impl Indexed {
    fn line(&self, place: &Place) -> io::Result<Vec<u8>> {
        match &self.journal {
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                line_at(&mut file, place)
            }
            None => line_at(&mut self.folder.read(&self.name)?, place),
        }
    }
}

fn line_at(file: &mut File, place: &Place) -> io::Result<Vec<u8>> {
    let mut line = vec![0; place.bytes as usize];
    file.seek(SeekFrom::Start(place.offset))?;
    file.read_exact(&mut line)?;
    Ok(line)
}
