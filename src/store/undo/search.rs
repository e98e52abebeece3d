//! Searches the records of stores for what a file was made from: by its bytes, then by what it begins with.
//!
//! Reads the file; decides by its bytes and the records alone, and writes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::SearchScope;
use super::original::one_original;
use crate::error::{Error, Result};
use crate::store::atomic::{FileVersion, Rights, Written};
use crate::store::manifest::{Ledger, Record};
use crate::store::open_path::OpenPath;
use crate::store::{COPY_BYTES, hash_text, pour};

/// A file whose origin is searched.
pub(super) struct Searched<'f> {
    pub(super) path: &'f Path,
    pub(super) spot: OpenPath,
    pub(super) stamp: FileVersion,
    pub(super) rights: Rights,
    pub(super) written: Written,
    /// Whether it was named by a link. Anyone who made that may have made a record, too.
    is_link: bool,
}

impl<'f> Searched<'f> {
    pub(super) fn read(path: &'f Path, reach: SearchScope<'_>) -> Result<Self> {
        let base = match reach {
            SearchScope::Everywhere => None,
            SearchScope::Below(base) => Some(base),
        };
        let spot = OpenPath::resolved(path, base)?;
        let handle = spot.read()?;
        let failed = |e| Error::io(path, "look at it", e);
        Ok(Searched {
            path,
            stamp: FileVersion::of(&handle.metadata().map_err(failed)?),
            rights: Rights::of(&handle).map_err(failed)?,
            written: pour(&mut &handle, &mut io::sink(), |e| {
                Error::io(path, "read", e)
            })?,
            is_link: fs::symlink_metadata(path).is_ok_and(|seen| seen.is_symlink()),
            spot,
        })
    }
}

/// The records of one original, and their store.
pub(super) struct Origin<'u> {
    pub(super) root: &'u Path,
    pub(super) records: Vec<Record>,
}

/// What records say of a file by its bytes.
pub(super) struct ByBytes<'u> {
    /// It is an output.
    pub(super) compacted: Option<Origin<'u>>,
    /// It is an output that equals its input.
    pub(super) unchanged: Option<Origin<'u>>,
}

/// Searches the outputs with a file's bytes.
pub(super) fn by_bytes<'u>(file: &Searched<'_>, stores: &[Known<'u>]) -> Result<ByBytes<'u>> {
    let mut unchanged = None;
    // What was written to this very path takes precedence over equal bytes elsewhere, in any store.
    for reached in [Match::AtPath, Match::ByContent] {
        for store in stores {
            // An output that equals its input says nothing about equal files elsewhere, nor about an earlier compaction of itself.
            let of_these_bytes = store.ledger.with_output(&file.written.hash);
            let (mut records, equal): (Vec<&Record>, Vec<&Record>) =
                of_these_bytes.partition(|record| record.output_hash != record.input_hash);
            if let Some(record) = equal.into_iter().find(|record| store.is_here(record)) {
                unchanged.get_or_insert_with(|| store.origin(vec![record.clone()]));
            }
            // A moved file is found by its bytes, if nobody else can have made the record.
            if file.is_link || store.is_above || unchanged.is_some() {
                records.retain(|record| store.is_here(record));
            }
            if reached == Match::AtPath && !records.iter().any(|record| store.is_here(record)) {
                continue;
            }
            if let Some(records) = one_original(file.path, &records, store.name.as_deref())? {
                return Ok(ByBytes {
                    compacted: Some(store.origin(records)),
                    unchanged,
                });
            }
        }
    }
    Ok(ByBytes {
        compacted: None,
        unchanged,
    })
}

/// Searches the outputs with which a file begins; returns the length of the longest one. `original` is a store that knows the
/// file as an original.
pub(super) fn by_beginning<'u>(
    file: &Searched<'_>,
    stores: &[Known<'u>],
    original: Option<&Known<'u>>,
    reach: SearchScope<'_>,
) -> Result<Option<(Origin<'u>, u64)>> {
    for store in stores {
        let grown = match grown(&file.spot, &file.written, store, reach) {
            Err(_) if original.is_some() => continue,
            grown => grown?,
        };
        let Some((bytes, records)) = grown else {
            continue;
        };
        let is_here = records.iter().any(|record| store.is_here(record));
        // A file that was compacted twice was an original in between, but not the first one of this file.
        let must_be_here = file.is_link || store.is_above || original.is_some();
        if is_here || !must_be_here {
            return Ok(Some((store.origin(records), bytes)));
        }
    }
    Ok(None)
}

/// Where an output with the file's bytes was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    AtPath,
    ByContent,
}

/// A store that may know a file, with the file's name as it would record it.
pub(super) struct Known<'u> {
    pub(super) root: &'u Path,
    /// Whether it is above a walked folder. Anyone who put it there may have made its records: they count for their own paths only.
    pub(super) is_above: bool,
    pub(super) ledger: &'u Ledger,
    pub(super) name: Option<String>,
}

impl<'u> Known<'u> {
    /// The records of outputs at the file's path.
    pub(super) fn records(&self) -> impl Iterator<Item = &'u Record> + use<'u> {
        let ledger = self.ledger;
        let name = self.name.as_deref();
        name.map(|name| ledger.of_output(name))
            .into_iter()
            .flatten()
    }

    /// Whether a record is of an output at the file's path.
    fn is_here(&self, record: &Record) -> bool {
        Some(&record.output) == self.name.as_ref()
    }

    pub(super) fn origin(&self, records: Vec<Record>) -> Origin<'u> {
        Origin {
            root: self.root,
            records,
        }
    }
}

/// The longest recorded output that is a prefix of `file`, and its records.
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

/// The hashes of the file's prefixes with these lengths, read in one pass.
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

/// Whether the file is the recorded original of its path with something appended: its agent continued after an undo.
pub(super) fn is_continued(file: &Searched<'_>, stores: &[Known<'_>]) -> Result<bool> {
    let records = || stores.iter().flat_map(Known::records);
    let lengths = records().map(|record| record.input_bytes);
    let lengths = lengths.filter(|&length| 0 < length && length < file.written.bytes);
    let beginnings = prefix_hashes(&file.spot, &lengths.collect())?;
    Ok(beginnings
        .iter()
        .any(|(_, hash)| records().any(|record| record.input_hash == *hash)))
}
