//! Restores the bytes that an output was made from, from where they were found.
//!
//! Nothing is written to a file before the whole original has been hashed and its hash matches the record. Does not search for
//! anything.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::{
    AtomicWriter, Existing, FileVersion, Mode, Rights, Written, check_replaceable, sweep_beside,
};
use crate::store::folder::Durability;
use crate::store::manifest::{ArchivedOffload, Original, Record};
use crate::store::open_path::{Missing, OpenPath};
use crate::store::{Store, archive_name, open_transcript, pour};
use crate::text::count;

/// No tool output is larger. (The unpacked size of a cleaned-up offload is not recorded.)
const MOST_CLEANED: u64 = 1 << 30;

/// The folders already cleared of leftovers of killed runs: each folder is listed only once, however many files it contains.
#[derive(Debug, Clone, Default)]
pub(super) struct Swept(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Swept {
    fn sweep_beside(&self, spot: &OpenPath) {
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
    pub(super) file: PathBuf,
    /// The target, if a link was named.
    pub(super) spot: OpenPath,
    pub(super) stamp: FileVersion,
    pub(super) rights: Rights,
    pub(super) root: PathBuf,
    /// Records of the same original, the most likely first.
    pub(super) records: Vec<Record>,
    pub(super) state: State,
    pub(super) swept: Swept,
}

/// How a file compares with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is as it was written.
    Compacted,
    /// It is as it was written, with this many bytes appended since.
    Grown(u64),
    /// It is the original of another file, or equals its own original: there is nothing to undo.
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
    /// Nowhere: they are only read and checked.
    Nowhere,
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
    /// The input, if it still has these bytes: the file, restored in place, is a copy of it now.
    pub copy_of: Option<PathBuf>,
}

impl fmt::Debug for Dest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dest::InPlace => f.write_str("InPlace"),
            Dest::Path(path, existing) => {
                f.debug_tuple("Path").field(path).field(existing).finish()
            }
            Dest::Writer(_) => f.write_str("Writer"),
            Dest::Nowhere => f.write_str("Nowhere"),
        }
    }
}

impl Found {
    /// How the file compares with its record.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The hash of the output, as it was written; `None` if the file is an original.
    pub fn output_hash(&self) -> Option<&str> {
        match self.state {
            State::Compacted | State::Grown(_) => self
                .records
                .first()
                .map(|record| record.output_hash.as_str()),
            State::AlreadyOriginal(_) => None,
        }
    }

    /// Whether the file is a session of its own, whose original stays.
    pub fn is_fork(&self) -> bool {
        self.fork().is_some()
    }

    fn fork(&self) -> Option<&Record> {
        let mut records = self.records.iter();
        records.find(|record| record.original == Original::Fork)
    }

    /// Writes the original bytes to `dest`. They are read and hashed before anything is written, and again while writing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changed`] when bytes were appended and are not to be discarded, when the file changed since it was found, or
    /// when the original is no longer what was recorded; [`ErrorKind::NotFound`] when the original no longer exists;
    /// [`ErrorKind::Store`] when its archive is missing or damaged; [`ErrorKind::Exists`] when the name of a `Dest::Path` is taken;
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn restore(&self, dest: Dest<'_>, appended: Appended) -> Result<Undone> {
        if let Some(fork) = self.fork() {
            return Err(self.not_undone(fork));
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
                .hint("`--discard-appended` restores the original and drops the appended bytes"));
            }
            State::AlreadyOriginal(written) => (Source::File, written.clone()),
            State::Compacted | State::Grown(_) => self.source()?,
        };
        let done = Undone {
            state: self.state.clone(),
            hash: original.hash.clone(),
            bytes: original.bytes,
            lost: Vec::new(),
            copy_of: None,
        };
        let mode = Mode::Like(self.rights.clone());
        let mut copy_of = None;
        let mut file = match dest {
            Dest::InPlace => {
                // A killed run may have left a temporary file even where there is nothing left to undo.
                self.swept.sweep_beside(&self.spot);
                if matches!(self.state, State::AlreadyOriginal(_)) {
                    return Ok(done);
                }
                let existing = Existing::IfUnchanged(self.stamp.clone());
                let spot = self.spot.clone();
                let mut file = AtomicWriter::create(spot, existing, mode, Durability::Durable)?;
                file.keep_time();
                copy_of = self.remaining_input(source, &original);
                file
            }
            Dest::Path(path, existing) => {
                let spot = OpenPath::named(path, Missing::Refuse)?;
                self.swept.sweep_beside(&spot);
                AtomicWriter::create(spot, existing, mode, Durability::Durable)?
            }
            Dest::Writer(to) => {
                self.pour(source, &original, to)?;
                return Ok(done);
            }
            Dest::Nowhere => {
                if matches!(self.state, State::AlreadyOriginal(_)) {
                    return Ok(done);
                }
                if let Some(old) = self.spot.look()? {
                    check_replaceable(self.spot.path(), &old)?;
                }
                let writable = self.spot.folder.check_writable();
                writable.map_err(|e| Error::io(self.spot.path(), "write to its folder", e))?;
                let store = Store::new(&self.root, Durability::Lazy);
                for missing in self.missing_offloads() {
                    store.read_archive(&missing.archive, MOST_CLEANED, &mut io::sink())?;
                }
                self.pour(source, &original, &mut io::sink())?;
                copy_of = self.remaining_input(source, &original);
                return Ok(Undone { copy_of, ..done });
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
        Ok(Undone {
            lost,
            copy_of,
            ..done
        })
    }

    /// The input that the original is taken from, if it still has no more than these bytes.
    fn remaining_input(&self, source: Source<'_>, original: &Written) -> Option<PathBuf> {
        let Source::Input(name) = source else {
            return None;
        };
        let input = Store::new(&self.root, Durability::Lazy).shown_path_of(name);
        // It begins with these bytes; its agent may have continued it.
        let is_as_it_was =
            |input: &PathBuf| input.metadata().is_ok_and(|m| m.len() == original.bytes);
        Some(input).filter(is_as_it_was)
    }

    /// The error for a fork, which is not undone. It may be removed if its session still has everything that it was made from.
    fn not_undone(&self, fork: &Record) -> Error {
        let original = Written {
            hash: fork.input_hash.clone(),
            bytes: fork.input_bytes,
        };
        let found = self.pour(Source::Input(&fork.input), &original, &mut io::sink());
        let message = match &found {
            Ok(()) => format!(
                "this is a fork of {}, which is still complete: there is nothing to undo",
                fork.input
            ),
            Err(error) => format!(
                "this is a fork of {}, a separate session: there is nothing to undo; {}",
                fork.input, error.message
            ),
        };
        let error = Error::new(ErrorKind::Usage, message).at(&self.file);
        match found {
            Ok(()) => error.hint("remove the fork if it is not wanted"),
            Err(_) => error,
        }
    }

    /// Whether a record names the file as an output, even if it equals its input.
    pub fn is_output(&self) -> bool {
        !self.records.is_empty()
    }

    /// Writes the original bytes to `to` and changes nothing else; for a fork, those of the session that it was made from. Bytes
    /// appended since do not matter.
    ///
    /// # Errors
    ///
    /// Those of [`Found::restore`] about the original.
    pub fn original(&self, to: &mut dyn Write) -> Result<()> {
        let (source, original) = match &self.state {
            State::AlreadyOriginal(written) => (Source::File, written.clone()),
            State::Compacted | State::Grown(_) => self.source()?,
        };
        self.pour(source, &original, to)
    }

    /// The offloads that the original refers to, and that a later clean-up has moved into the archive.
    fn missing_offloads(&self) -> impl Iterator<Item = &ArchivedOffload> {
        let store = Store::new(&self.root, Durability::Lazy);
        let cleaned = self.records.iter().flat_map(|record| &record.cleaned);
        cleaned.filter(move |offload| store.read_offload(&offload.name).is_err())
    }

    /// Restores them.
    fn put_back_offloads(&self) -> Result<()> {
        let store = Store::new(&self.root, Durability::Durable);
        for ArchivedOffload { name, archive } in self.missing_offloads() {
            // Nothing is written before it is known to be right.
            store.read_archive(archive, MOST_CLEANED, &mut io::sink())?;
            store.put_offload_as(name, |out| {
                let copied = store.read_archive(archive, MOST_CLEANED, out);
                copied.map(drop).map_err(io::Error::other)
            })?;
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
        // A later run may have archived these bytes before it replaced them.
        let first = self.records.first();
        if let Some(record) = first.filter(|record| record.archive.is_none()) {
            let original = Written {
                hash: record.input_hash.clone(),
                bytes: record.input_bytes,
            };
            let source = Source::ArchiveOf;
            if self.pour(source, &original, &mut io::sink()).is_ok() {
                return Ok((source, original));
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
            Source::ArchiveOf => {
                let name = archive_name(&original.hash);
                let written = store.read_archive(&name, original.bytes, to)?;
                (self.root.join(name), written)
            }
            Source::Input(name) => {
                let path = store.path_of(name);
                let (file, metadata) =
                    open_transcript(&path).map_err(|e| gone(e, &path, original))?;
                // Its agent may have continued it: it then begins with the original. The current length depends on whoever wrote
                // the record, so the rest is not read.
                let written = pour(&mut (&file).take(original.bytes), to, |e| {
                    Error::io(&path, "read", e)
                })?;
                if written != *original && metadata.len() > original.bytes {
                    return Err(grown_since(&path, original, metadata.len()));
                }
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
    /// By the original's hash, where no record of it names an archive.
    ArchiveOf,
    /// The file itself.
    File,
}

/// The error for an original that is longer now, and no longer begins with its old bytes.
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
