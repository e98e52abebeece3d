//! Compressed originals, named by the hash of their uncompressed content; and plain copies, for readers of a text that names one.
//!
//! An archive is durable before its name is returned, because its original is replaced next. Archives are not trusted: what is
//! read back is hashed.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufReader, Read, Write};

use super::atomic::{IfTaken, Mode, Temp, Written};
use super::folder::Durability;
use super::folder::{Folder, NotPlain, not_plain};
use super::frames::Frames;
use super::{NAME_DIGITS, Store, content_name, digits, hash_text, is_content_name, pour};
use crate::error::{Error, ErrorKind, Result};

pub(super) const ARCHIVE: &str = "archive";
const ENDING: &str = ".zst";
const PLAIN: &str = ".jsonl";
const READING: &str = "read the archived original";
const OTHER_COPY: &str = "look for another copy of the store";

/// An original that is safely archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// `archive/<32hex>.zst`, relative to the store.
    pub name: String,
    /// Hash of the original bytes.
    pub hash: String,
    /// Number of original bytes.
    pub bytes: u64,
}

/// Writes an original that does not fit into memory into the archive.
///
/// Leaves nothing behind if it is dropped without [`ArchiveWriter::finish`].
pub struct ArchiveWriter {
    entry: Entry,
    hasher: blake3::Hasher,
    bytes: u64,
}

/// An archive that does not have its name yet.
struct Entry {
    frames: Frames<Temp>,
    folder: Folder,
    durability: Durability,
}

impl Store {
    /// Starts to archive an original that is written piece by piece.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn archive(&self) -> Result<ArchiveWriter> {
        Ok(ArchiveWriter {
            entry: self.entry()?,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        })
    }

    /// Archives an original that is in memory and whose hash (as returned by [`super::hash`]) is known. Archiving the same bytes
    /// again returns the same name and changes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn put_archive(&self, original: &[u8], hash: &str) -> Result<Archived> {
        let mut entry = self.entry()?;
        entry
            .frames
            .write_all(original)
            .map_err(|e| Error::io(&self.root, "write the archive", e))?;
        entry.finish(archive_name(hash), hash.to_owned(), original.len() as u64)
    }

    fn entry(&self) -> Result<Entry> {
        let folder = self.folder(ARCHIVE)?;
        let frames = Temp::create(&folder, Mode::Private, None)
            .and_then(Frames::new)
            .map_err(|e| Error::io(folder.path(), "write", e))?;
        Ok(Entry {
            frames,
            folder,
            durability: Durability::Durable,
        })
    }

    /// Writes an archived original of at most `most` bytes to `to`, and returns the hash and length of what it wrote.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when the name is not that of an archive, or the archive is missing or damaged; [`ErrorKind::Io`]
    /// (without a path) when `to` refuses. Parts of a damaged archive may already have been written.
    pub fn read_archive(&self, name: &str, most: u64, to: &mut dyn Write) -> Result<Written> {
        if !is_archive_name(name) {
            return Err(Error::new(
                ErrorKind::Store,
                "a manifest contains a malformed archive name",
            )
            .at(&self.root)
            .hint("names have the form archive/<32 hexadecimal digits>.zst"));
        }
        let path = self.root.join(name);
        let unreadable = |e| Error {
            kind: ErrorKind::Store,
            ..Error::io(&path, READING, e).hint(OTHER_COPY)
        };
        let file = self.open_content(name, READING, OTHER_COPY)?;
        // An archive that unpacks to more than `most` bytes does not contain this original: reading can stop there.
        let mut decoder = zstd::Decoder::new(file)
            .map(|decoder| BufReader::new(decoder).take(most.saturating_add(1)))
            .map_err(unreadable)?;
        let written = pour(&mut decoder as &mut dyn Read, to, unreadable)?;
        if !written.hash["blake3:".len()..].starts_with(digits(name)) {
            return Err(Error::new(
                ErrorKind::Store,
                "the archived original is damaged: its hash does not match its name",
            )
            .at(&path)
            .hint(OTHER_COPY));
        }
        Ok(written)
    }
}

impl Store {
    /// Keeps a plain copy of an original, and returns its name. Keeping the same bytes again returns the same name and changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; [`ErrorKind::Store`] if something else has that name.
    pub fn put_copy(&self, original: &[u8]) -> Result<String> {
        let name = content_name(ARCHIVE, &blake3::hash(original), PLAIN);
        let folder = self.folder(ARCHIVE)?;
        let file = OsStr::new(&name[ARCHIVE.len() + 1..]);
        let path = folder.path().join(file);
        let failed = |e| not_plain(&path, "write", e);
        let there = folder.look(file).map_err(failed)?;
        if there.is_some_and(|seen| seen.is_symlink()) {
            return Err(failed(NotPlain::Link.into()));
        }
        let mut temp = Temp::create(&folder, Mode::Private, None).map_err(failed)?;
        temp.write_all(original).map_err(failed)?;
        // Replaces an existing copy, which may be incomplete or changed: the new one is neither.
        temp.persist(file, IfTaken::Replace, self.durability)
            .map_err(failed)?;
        Ok(name)
    }
}

/// Whether `name` has exactly the form of a [`copy_name`]. Pure.
pub(super) fn is_copy_name(name: &str) -> bool {
    is_content_name(name, ARCHIVE, PLAIN)
}

/// Whether `name` has exactly the form of an [`archive_name`]. Pure.
pub(super) fn is_archive_name(name: &str) -> bool {
    is_content_name(name, ARCHIVE, ENDING)
}

/// The name in any store of the archive of an original with this hash (as [`super::hash`] gives it). Pure.
pub fn archive_name(hash: &str) -> String {
    named_by(hash, ENDING)
}

/// The name in any store of the plain copy of a text with this hash. Pure.
pub fn copy_name(hash: &str) -> String {
    named_by(hash, PLAIN)
}

fn named_by(hash: &str, ending: &str) -> String {
    let digits = hash.strip_prefix("blake3:").unwrap_or(hash);
    // The hash may come from a record that someone else wrote, and may then be shorter, or not ASCII.
    let digits = digits.get(..NAME_DIGITS).unwrap_or(digits);
    format!("{ARCHIVE}/{digits}{ending}")
}

impl ArchiveWriter {
    /// The same writer, but without waiting for the disk: for an original that is still where it came from.
    #[must_use]
    pub fn lazy(mut self) -> Self {
        self.entry.durability = Durability::Lazy;
        self
    }

    /// The hash of the bytes written so far.
    pub fn hash(&self) -> String {
        hash_text(&self.hasher.finalize())
    }

    /// Flushes the archive to the disk, unless it is lazy, and gives it its name.
    ///
    /// Replaces an archive with the same name, because the new one is known to be complete.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn finish(self) -> Result<Archived> {
        let hash = self.hash();
        self.entry.finish(archive_name(&hash), hash, self.bytes)
    }
}

impl Entry {
    fn finish(self, name: String, hash: String, bytes: u64) -> Result<Archived> {
        let file = OsStr::new(&name[ARCHIVE.len() + 1..]);
        let path = self.folder.path().join(file);
        let failed = |e| not_plain(&path, "write", e);
        let there = self.folder.look(file).map_err(failed)?;
        if there.is_some_and(|seen| seen.is_symlink()) {
            return Err(failed(NotPlain::Link.into()));
        }
        self.frames
            .finish()
            .and_then(|temp| temp.persist(file, IfTaken::Replace, self.durability))
            .map_err(failed)?;
        Ok(Archived { name, hash, bytes })
    }
}

impl Write for ArchiveWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.entry.frames.write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.entry.frames.flush()
    }
}

impl fmt::Debug for ArchiveWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveWriter")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
