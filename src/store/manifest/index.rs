//! Where the records of each output are, by its name or its bytes, and whose each offloaded content is: what is asked of few
//! outputs needs no more than their records.
//!
//! Holds some bytes a record, however long the records are, and no file open but those of runs that have not ended.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::record::{ends_with, newest};
use super::{JOURNAL, MANIFESTS, Record};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::folder::{Folder, not_plain};
use crate::store::keys::{Keyed, Table, key_of};

/// The records of a store by their outputs.
#[derive(Debug)]
pub struct RecordIndex {
    by: By,
    files: Vec<Indexed>,
    places: Table<Place>,
}

/// What records are found by.
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

/// The outputs that need each offloaded content of a store. Holds some bytes for each, and no names.
#[derive(Debug, Default)]
pub struct OffloadOwners(HashMap<u64, Owner>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The output with this key alone.
    One(u64),
    /// Several.
    More,
}

impl OffloadOwners {
    /// Whether only the output of this name was made with this offloaded content.
    pub fn is_offload_of(&self, offload: &str, output: &str) -> bool {
        self.0.get(&key_of(offload)) == Some(&Owner::One(key_of(output)))
    }
}

/// What is recorded of the outputs of a store, to be asked of many inputs: some bytes for each record, and no names.
#[derive(Debug, Default)]
pub struct RecordedOutputs(Table<Recorded>);

#[derive(Debug, Clone, Copy)]
struct Recorded {
    /// Of the output's name and of the hashes of both.
    output: u64,
    /// Of the input's name.
    input: u64,
}

impl Keyed for Recorded {
    fn key(&self) -> u64 {
        self.output
    }
}

impl RecordedOutputs {
    /// Whether an output of this name, with the first of these hashes, was made of an input with the second one.
    pub fn has(&self, output: &str, hashes: (&str, &str)) -> bool {
        let key = output_key(output, hashes);
        self.0.of(key).next().is_some()
    }

    /// The [`key_of`] of the name of each record's input.
    pub(in crate::store) fn inputs(&self) -> impl Iterator<Item = u64> {
        self.0.all().iter().map(|record| record.input)
    }
}

fn output_key(output: &str, hashes: (&str, &str)) -> u64 {
    key_of(&[hashes.0, " ", hashes.1, " ", output].concat())
}

#[derive(Debug)]
struct Indexed {
    folder: Folder,
    name: OsString,
    path: PathBuf,
    /// A journal stays open, since it may lose its name when its run ends; threads take turns in reading it.
    journal: Option<Mutex<File>>,
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// A part of the hash of what it is found by.
    key: u64,
    file: u32,
    bytes: u32,
    offset: u64,
}

impl Keyed for Place {
    fn key(&self) -> u64 {
        self.key
    }
}

impl Store {
    /// Which outputs need each offloaded content of the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn offload_owners(&self) -> Result<OffloadOwners> {
        let mut owners = OffloadOwners::default();
        self.each_record(|record| {
            let output = Owner::One(key_of(&record.output));
            for offload in &record.offloads {
                let owner = owners.0.entry(key_of(offload)).or_insert(output);
                if *owner != output {
                    *owner = Owner::More;
                }
            }
        })?;
        Ok(owners)
    }

    /// What is recorded of the outputs of the store, read by the threads of the pool in which this is called.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn recorded_outputs(&self) -> Result<RecordedOutputs> {
        let all = self.map_records(|record| {
            let hashes = (&*record.output_hash, &*record.input_hash);
            Recorded {
                output: output_key(&record.output, hashes),
                input: key_of(&record.input),
            }
        })?;
        Ok(RecordedOutputs(Table::new(all)))
    }

    /// Where the records of the store are.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn record_index(&self, by: By) -> Result<RecordIndex> {
        let mut files = Vec::new();
        let mut places = Vec::new();
        // Journals first, as for all records.
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
                    places.push(Place {
                        key: key_of(by.of(&record)),
                        file: number,
                        bytes,
                        offset,
                    });
                })?;
                files.push(Indexed {
                    folder: source.folder,
                    name: source.name,
                    path: source.path,
                    journal: again.map(Mutex::new),
                });
            }
        }
        // Those of one key stay in the order of their files.
        Ok(RecordIndex {
            by,
            files,
            places: Table::new(places),
        })
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
        for place in self.places.of(key) {
            let Some(indexed) = self.files.get(place.file as usize) else {
                continue;
            };
            let line = indexed.line(place);
            let line = line.map_err(|e| Error::io(&indexed.path, "read", e))?;
            // That of a run which ends meanwhile is in its journal and in its manifest.
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

    /// Whether a run wrote a file of this name (by [`Store::name_of`]) with these bytes, as an output or by undoing one, so
    /// that it may be replaced.
    ///
    /// # Errors
    ///
    /// Those of [`RecordIndex::of`].
    pub fn wrote(&self, output: &str, hash: &str) -> Result<bool> {
        let records = self.of(output)?;
        let records = records.iter().filter(|record| record.output == output);
        let mut hashes = records.flat_map(|r| [&r.output_hash, &r.input_hash]);
        Ok(hashes.any(|known| known == hash))
    }

    /// Whether the newest record of this output is the same except for its turn.
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

    /// The newest record of an output of this name with these bytes, if conversations of it have no model's summary because the
    /// model failed.
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
