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
use crate::store::manifest::{Record, RecordLookup, Sought};
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
            let of_these_bytes = store.here.iter();
            let of_these_bytes = of_these_bytes.filter(|r| r.output_hash == file.written.hash);
            // An output that equals its input says nothing about equal files elsewhere, nor about an earlier compaction of itself.
            let (here, equal): (Vec<&Record>, Vec<&Record>) =
                of_these_bytes.partition(|record| record.output_hash != record.input_hash);
            if let Some(record) = equal.first() {
                unchanged.get_or_insert_with(|| store.origin(vec![(*record).clone()]));
            }
            if reached == Match::AtPath && here.is_empty() {
                continue;
            }
            // A moved file is found by its bytes, if nobody else can have made the record.
            let is_only_here = file.is_link || store.is_above || unchanged.is_some();
            let counts = |record: &Record| !is_only_here && record.output_hash != record.input_hash;
            let elsewhere = || store.elsewhere(&file.written.hash, &counts);
            if let Some(records) = one_original(file.path, &here, &elsewhere)? {
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
    pub(super) lookup: &'u RecordLookup,
    pub(super) name: Option<String>,
    /// The records of outputs at the file's path.
    pub(super) here: Vec<Record>,
}

impl<'u> Known<'u> {
    /// Whether a record is of an output at the file's path.
    fn is_here(&self, record: &Record) -> bool {
        Some(&record.output) == self.name.as_ref()
    }

    /// The records of outputs with this hash at other paths that `counts` accepts.
    fn elsewhere<'k>(
        &'k self,
        hash: &'k str,
        counts: &'k dyn Fn(&Record) -> bool,
    ) -> Box<dyn Iterator<Item = Result<Record>> + 'k> {
        let counts = move |record: &Result<Record>| match record {
            Ok(record) => !self.is_here(record) && counts(record),
            Err(_) => true,
        };
        let records = self.lookup.of(Sought::OutputHash(hash));
        Box::new(records.filter(counts))
    }

    /// Whether `counts` accepts the record of an output with this hash, at any path.
    fn has(&self, hash: &str, counts: &dyn Fn(&Record) -> bool) -> Result<bool> {
        for record in self.lookup.of(Sought::OutputHash(hash)) {
            if counts(&record?) {
                return Ok(true);
            }
        }
        Ok(false)
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
    let counts = |record: &Record| {
        record.input_hash != now.hash
            && (record.output_hash != record.input_hash || Some(record.output.as_str()) == name)
    };
    let lengths = match reach {
        // Lengths of records that do not count do no harm: their hashes are looked up in vain.
        SearchScope::Everywhere => shorter(store.lookup.lengths(), now.bytes)?,
        SearchScope::Below(_) => {
            let here = store.here.iter().filter(|record| counts(record));
            shorter(here.map(|record| Ok(record.output_bytes)), now.bytes)?
        }
    };
    let mut longest = None;
    for (length, hash) in prefix_hashes(file, &lengths)? {
        let counts = |record: &Record| record.output_bytes == length && counts(record);
        if store.has(&hash, &counts)? {
            longest = Some((length, hash));
        }
    }
    let Some((length, hash)) = longest else {
        return Ok(None);
    };
    let counts = |record: &Record| record.output_bytes == length && counts(record);
    let here = store.here.iter();
    let here = here.filter(|record| record.output_hash == hash && counts(record));
    let here: Vec<&Record> = here.collect();
    let elsewhere = || store.elsewhere(&hash, &counts);
    let records = one_original(file.path(), &here, &elsewhere)?;
    Ok(records.map(|records| (length, records)))
}

/// The lengths of which a file of `bytes` bytes can have a prefix that is not the whole file.
fn shorter(lengths: impl Iterator<Item = Result<u64>>, bytes: u64) -> Result<BTreeSet<u64>> {
    let is_shorter = |length: &Result<u64>| match length {
        Ok(length) => 0 < *length && *length < bytes,
        Err(_) => true,
    };
    lengths.filter(is_shorter).collect()
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
    let records = || stores.iter().flat_map(|store| &store.here);
    let lengths = records().map(|record| Ok(record.input_bytes));
    let beginnings = prefix_hashes(&file.spot, &shorter(lengths, file.written.bytes)?)?;
    Ok(beginnings
        .iter()
        .any(|(_, hash)| records().any(|record| record.input_hash == *hash)))
}
