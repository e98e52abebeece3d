//! Restores the bytes that an output was made from, or says exactly what is missing.
//!
//! Relies on the stores' records alone. Nothing is written to a file before the whole original has been hashed and found to be
//! the recorded one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::atomic::{Existing, Mode, Replace, Rights, Stamp, Written, sweep_beside};
use super::folder::Durability;
use super::manifest::{Cleaned, Ledger, Original, Record, newest};
use super::spot::{Missing, Spot};
use super::{COPY_BYTES, FOLDER, Store, hash_text, open_transcript, pour, resolved};
use crate::error::{Error, ErrorKind, Result};
use crate::text::count;

/// No tool output is larger. (The unpacked size of a cleaned-up offload is not recorded.)
const MOST_CLEANED: u64 = 1 << 30;

/// Finds where files came from. Caches the records that it reads, so that many files take one reading of a store.
#[derive(Debug)]
pub struct Undo {
    store: Option<PathBuf>,
    ledgers: BTreeMap<PathBuf, Ledger>,
    swept: Swept,
}

/// The folders in which nothing that a killed run has left is any more: each is listed once, however many files it has.
#[derive(Debug, Clone, Default)]
struct Swept(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Swept {
    fn sweep_beside(&self, spot: &Spot) {
        let folder = spot.path().parent().unwrap_or(Path::new("")).to_owned();
        let mut swept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.insert(folder) {
            sweep_beside(spot);
        }
    }
}

/// A file and its recorded original.
#[derive(Debug, Clone)]
pub struct Found {
    file: PathBuf,
    /// The target, if a link was named.
    spot: Spot,
    stamp: Stamp,
    rights: Rights,
    root: PathBuf,
    /// Records of the same original, the most likely first.
    records: Vec<Record>,
    state: State,
    swept: Swept,
}

/// How a file compares with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is as it was written.
    Compacted,
    /// It is as it was written, with this many bytes appended since.
    Grown(u64),
    /// It is the original of another file: there is nothing to undo.
    AlreadyOriginal(Written),
}

/// Where the original bytes go.
pub enum Dest<'a> {
    /// Into the compacted file itself, which keeps its mode; nothing is done if it is the original already.
    InPlace,
    /// Into another file.
    Path(&'a Path, Existing),
    /// Into a stream.
    Writer(&'a mut dyn Write),
}

/// What to do with bytes that were appended to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// Refuse to lose them.
    Refuse,
    /// Discard them.
    Discard,
}

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// How the file compared with its record.
    pub state: State,
    /// The original's hash.
    pub hash: String,
    /// The original's length in bytes.
    pub bytes: u64,
    /// The attributes that the file lost.
    pub lost: Vec<String>,
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

impl fmt::Debug for Dest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dest::InPlace => f.write_str("InPlace"),
            Dest::Path(path, existing) => {
                f.debug_tuple("Path").field(path).field(existing).finish()
            }
            Dest::Writer(_) => f.write_str("Writer"),
        }
    }
}

impl Found {
    /// How the file compares with its record.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Writes the original bytes to `dest`. They are read and hashed before anything is written, and again while writing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changed`] when bytes were appended and are not to be discarded, when the file changed
    /// since it was found, or when the original is no longer what was recorded; [`ErrorKind::NotFound`] when
    /// the original is gone; [`ErrorKind::Store`] when its archive is missing or damaged;
    /// [`ErrorKind::Exists`] for a `Dest::Path` that is taken; [`ErrorKind::Io`] when the system refuses.
    pub fn restore(&self, dest: Dest<'_>, appended: Appended) -> Result<Undone> {
        if let Some(fork) = self
            .records
            .iter()
            .find(|record| record.original == Original::Fork)
        {
            let message = format!(
                "this is a fork of {}, which is as it was: there is nothing to undo",
                fork.input
            );
            return Err(Error::new(ErrorKind::Usage, message)
                .at(&self.file)
                .hint("remove the fork if it is not wanted"));
        }
        let (source, original) = match &self.state {
            State::Grown(bytes) if appended == Appended::Refuse => {
                return Err(Error::new(
                    ErrorKind::Changed,
                    format!(
                        "the file has grown since it was compacted, by {}",
                        count(*bytes, "byte")
                    ),
                )
                .at(&self.file)
                .hint("`--discard-appended` gives the original without them"));
            }
            State::AlreadyOriginal(written) => (Source::File, written.clone()),
            State::Compacted | State::Grown(_) => self.source()?,
        };
        let done = Undone {
            state: self.state.clone(),
            hash: original.hash.clone(),
            bytes: original.bytes,
            lost: Vec::new(),
        };
        let mode = Mode::Like(self.rights.clone());
        let mut file = match dest {
            Dest::InPlace => {
                // A run that was killed may have left its file where there is nothing to undo any more.
                self.swept.sweep_beside(&self.spot);
                if matches!(self.state, State::AlreadyOriginal(_)) {
                    return Ok(done);
                }
                let existing = Existing::IfUnchanged(self.stamp.clone());
                let spot = self.spot.clone();
                let mut file = Replace::create(spot, existing, mode, Durability::Durable)?;
                file.keep_time();
                file
            }
            Dest::Path(path, existing) => {
                let spot = Spot::named(path, Missing::Refuse)?;
                self.swept.sweep_beside(&spot);
                Replace::create(spot, existing, mode, Durability::Durable)?
            }
            Dest::Writer(to) => {
                self.pour(source, &original, to)?;
                return Ok(done);
            }
        };
        self.put_back_offloads()?;
        self.pour(source, &original, &mut file).map_err(|e| {
            if e.path.is_none() {
                e.at(file.path())
            } else {
                e
            }
        })?;
        let lost = file.commit()?.lost;
        Ok(Undone { lost, ..done })
    }

    /// Restores the offloads that the original refers to and that a later clean-up has moved into the archive.
    fn put_back_offloads(&self) -> Result<()> {
        let store = Store::new(&self.root, Durability::Durable);
        for Cleaned { name, archive } in self.records.iter().flat_map(|record| &record.cleaned) {
            if store.read_offload(name).is_err() {
                // Nothing is written before it is known to be right.
                store.read_archive(archive, MOST_CLEANED, &mut io::sink())?;
                store.put_offload_as(name, |out| {
                    let copied = store.read_archive(archive, MOST_CLEANED, out);
                    copied.map(drop).map_err(io::Error::other)
                })?;
            }
        }
        Ok(())
    }

    /// The first of the recorded places that has the complete original.
    fn source(&self) -> Result<(Source<'_>, Written)> {
        let mut first_error = None;
        for record in &self.records {
            let original = Written {
                hash: record.input_hash.clone(),
                bytes: record.input_bytes,
            };
            let source = match (record.original, &record.archive) {
                (Original::Archive, Some(archive)) => Source::Archive(archive),
                (Original::Input | Original::Fork, _) | (Original::Archive, None) => {
                    Source::Input(&record.input)
                }
            };
            match self.pour(source, &original, &mut io::sink()) {
                Ok(()) => return Ok((source, original)),
                Err(e) => first_error = first_error.or(Some(e)),
            }
        }
        Err(first_error
            .unwrap_or_else(|| Error::new(ErrorKind::Internal, "a find without records")))
    }

    /// Copies the original from `source` and checks its hash.
    fn pour(&self, source: Source<'_>, original: &Written, to: &mut dyn Write) -> Result<()> {
        let store = Store::new(&self.root, Durability::Lazy);
        let (path, written) = match source {
            Source::Archive(name) => (
                self.root.join(name),
                store.read_archive(name, original.bytes, to)?,
            ),
            Source::Input(name) => {
                let path = store.path_of(name);
                let (file, metadata) =
                    open_transcript(&path).map_err(|e| gone(e, &path, original))?;
                if metadata.len() > original.bytes {
                    return Err(grown_since(&path, original, metadata.len()));
                }
                let written = pour(&mut &file, to, |e| Error::io(&path, "read", e))?;
                (path, written)
            }
            Source::File => {
                let path = &self.file;
                let written = pour(&mut &self.spot.read()?, to, |e| Error::io(path, "read", e))?;
                (path.clone(), written)
            }
        };
        if written == *original {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Changed,
            format!(
                "the original has changed: it was {} ({}), it is {} ({})",
                original.hash,
                count(original.bytes, "byte"),
                written.hash,
                count(written.bytes, "byte"),
            ),
        )
        .at(path)
        .hint("put the recorded bytes back, from a backup or a version control system"))
    }
}

/// Where original bytes are read from.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    /// By the name in a record.
    Input(&'a str),
    /// By the name in a record.
    Archive(&'a str),
    /// The file itself.
    File,
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

/// An original that is longer now is not read to its end: how long it is depends on who wrote the record.
fn grown_since(path: &Path, original: &Written, bytes: u64) -> Error {
    Error::new(
        ErrorKind::Changed,
        format!(
            "the original has changed: it was {} ({}), it has {} now",
            original.hash,
            count(original.bytes, "byte"),
            count(bytes, "byte"),
        ),
    )
    .at(path)
    .hint("put the recorded bytes back, from a backup or a version control system")
}

fn gone(error: Error, path: &Path, original: &Written) -> Error {
    if error.kind != ErrorKind::NotFound {
        return error;
    }
    Error {
        message: format!(
            "the original is gone: it was {} ({})",
            original.hash,
            count(original.bytes, "byte")
        ),
        ..error
    }
    .at(path)
    .hint("put it back there, from a backup or a version control system")
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
