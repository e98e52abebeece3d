//! An index for `undo`: from the outputs of a store (by name or hash) and from their originals (by hash) to the records.
//!
//! Holds 80 bytes per record, up to 700 000 records; with more, the index is on disk. Records are read when they are looked up. Keeps
//! no file and no folder of the store open, because `undo` may search a store in each folder of a tree.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::{Damage, JOURNAL, MANIFESTS, Record, record_of};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::folder::{Durability, not_plain, read_exact_at};
use crate::store::keys::key_of;
use crate::store::line_file::Place;
use crate::store::table::{Filling, Table};

/// The index of a store, as its records were when it was made.
#[derive(Debug)]
pub struct RecordLookup {
    root: PathBuf,
    files: Vec<RecordFile>,
    /// The rows are [`Place`]s, three for each record: by the keys of what it is looked up by.
    places: Table<3>,
    /// The lengths of outputs, in order.
    lengths: Table<1>,
    damaged: u64,
}

/// A file of records.
#[derive(Debug)]
struct RecordFile {
    part: &'static str,
    name: OsString,
}

/// What a record is looked up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought<'t> {
    /// The name of its output (by [`Store::name_of`]).
    Output(&'t str),
    /// The hash of its output's bytes.
    OutputHash(&'t str),
    /// The hash of its input's bytes.
    InputHash(&'t str),
}

impl<'t> Sought<'t> {
    /// What a record can be looked up by.
    fn all(record: &'t Record) -> [Self; 3] {
        [
            Sought::Output(&record.output),
            Sought::OutputHash(&record.output_hash),
            Sought::InputHash(&record.input_hash),
        ]
    }

    fn key(self) -> u64 {
        let (kind, text) = match self {
            Sought::Output(name) => ("output ", name),
            Sought::OutputHash(hash) => ("after ", hash),
            Sought::InputHash(hash) => ("before ", hash),
        };
        key_of(&[kind, text].concat())
    }
}

impl Store {
    /// Indexes the records of the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn lookup(&self) -> Result<RecordLookup> {
        let mut files = Vec::new();
        let mut places = Filling::new(self.root());
        let mut lengths = Filling::new(self.root());
        let mut pushed = Ok(());
        let mut damage = Damage::default();
        // Journals first, as whenever all records are read.
        for part in [JOURNAL, MANIFESTS] {
            let mut sources = self.sources(part)?;
            // Sorted so that equal records, and errors, are found in the same order.
            sources.sort_by(|a, b| a.path.cmp(&b.path));
            for source in sources {
                let Some(file) = source.open()? else {
                    continue;
                };
                let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
                let mut add = |record: &Record, (offset, bytes)| {
                    for sought in Sought::all(record) {
                        let place = Place {
                            key: sought.key(),
                            file: number,
                            offset,
                            bytes,
                        };
                        places.push(place.to_row())?;
                    }
                    lengths.push([record.output_bytes])
                };
                let mut show = |record: Record, place| {
                    if pushed.is_ok() {
                        pushed = add(&record, place);
                    }
                };
                source.lines_of(file, None, &mut show, &mut damage)?;
                let name = source.name;
                files.push(RecordFile { part, name });
            }
        }
        let unsorted = |e| Error::io(self.root(), "sort the records of", e);
        pushed.map_err(unsorted)?;
        Ok(RecordLookup {
            root: self.root().to_owned(),
            files,
            places: places.finish().map_err(unsorted)?,
            lengths: lengths.finish().map_err(unsorted)?,
            damaged: damage.lines,
        })
    }
}

impl RecordLookup {
    /// The records that have this, in the order of their files and lines. They are read one by one: there can be very many with the
    /// same hash.
    pub fn of<'l>(&'l self, sought: Sought<'l>) -> Records<'l> {
        Records {
            lookup: self,
            sought,
            rows: None,
            open: None,
        }
    }

    /// Whether some output was made from these bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Records`].
    pub fn is_original(&self, hash: &str) -> Result<bool> {
        let first = self.of(Sought::InputHash(hash)).next();
        Ok(first.transpose()?.is_some())
    }

    /// The lengths of all outputs, in order, some of them repeatedly.
    pub fn lengths(&self) -> impl Iterator<Item = Result<u64>> {
        let rows = self.lengths.rows();
        rows.map(|row| row.map(|[length]| length).map_err(|e| self.unread(e)))
    }

    /// The number of lines that are not records: incomplete, or damaged.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    fn unread(&self, error: io::Error) -> Error {
        Error::io(&self.root, "look up the records of", error)
    }

    /// Opens a file of records.
    fn open(&self, number: u32) -> Result<File> {
        let gone = || self.unread(io::ErrorKind::NotFound.into());
        let RecordFile { part, name } = self.files.get(number as usize).ok_or_else(gone)?;
        let folder = Store::new(&self.root, Durability::Lazy).part(part)?;
        let folder = folder.ok_or_else(gone)?;
        let path = || folder.path().join(name);
        folder.read(name).map_err(|e| not_plain(&path(), "read", e))
    }
}

/// The records that have what is sought.
///
/// Fails with [`crate::ErrorKind::NotFound`] when a file of records is not there any more: if its run has ended, the store has a
/// manifest instead of its journal. Fails with the system's errors when records cannot be read.
#[derive(Debug)]
pub struct Records<'l> {
    lookup: &'l RecordLookup,
    sought: Sought<'l>,
    /// The rows that are left; `None` before the first.
    rows: Option<Range<u64>>,
    /// The file of the record before.
    open: Option<(u32, File)>,
}

impl Records<'_> {
    fn read(&mut self, at: u64) -> Result<Option<Record>> {
        let lookup = self.lookup;
        let row = lookup.places.row(at).map_err(|e| lookup.unread(e))?;
        let place = Place::of_row(row);
        let file = match &self.open {
            Some((number, file)) if *number == place.file => file,
            Some(_) | None => {
                let file = lookup.open(place.file)?;
                &self.open.insert((place.file, file)).1
            }
        };
        let mut line = vec![0; place.bytes as usize];
        read_exact_at(file, &mut line, place.offset).map_err(|e| lookup.unread(e))?;
        // Two texts can have the same key.
        let is_sought = |record: &Record| Sought::all(record).contains(&self.sought);
        Ok(record_of(&line).filter(is_sought))
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let lookup = self.lookup;
        if self.rows.is_none() {
            match lookup.places.of(self.sought.key()) {
                Ok(rows) => self.rows = Some(rows),
                Err(e) => {
                    // Nothing follows an error.
                    self.rows = Some(0..0);
                    return Some(Err(lookup.unread(e)));
                }
            }
        }
        while let Some(at) = self.rows.as_mut()?.next() {
            match self.read(at) {
                Ok(Some(record)) => return Some(Ok(record)),
                Ok(None) => {}
                Err(error) => {
                    self.rows = Some(0..0);
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
