//! Writes a file atomically: its name has the old bytes or the new bytes, whatever happens in between.
//!
//! The bytes go to a temporary file in the same folder, which is then renamed. Never leaves an incomplete file under the name,
//! never replaces a file that must be kept, and never follows a link: the folder stays open from beginning to end, and
//! the name in it is a plain one.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use flate2::Crc;

use super::folder::{Durability, Folder, random_name};
use super::identity::FileIdentity;
use super::open_path::OpenPath;
use crate::error::{Error, ErrorKind, Result};

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod attributes;
#[cfg(unix)]
mod lease;
#[cfg(unix)]
mod live;
mod nameless;
mod scratch;
mod temp;

#[cfg(unix)]
use live::put;
pub use nameless::{Halted, halt};
pub use scratch::Scratch;
use temp::Replaced;
pub(super) use temp::{IfTaken, Temp};

const TEMP_PREFIX: &str = ".ctxpack-";
const TEMP_SUFFIX: &str = ".tmp";
/// The number of random digits in such a name, and the number of check digits derived from them.
const TEMP_RANDOM: usize = 16;
const TEMP_CHECK: usize = 8;

/// What to do if the name is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Existing {
    /// Keep the file, even one that appears during the write.
    Refuse,
    /// Replace it.
    Overwrite,
    /// Replace it only if it is still the file that was read and no process is writing to it: a live agent may be appending to
    /// it. On Linux, no line of such an agent is lost, whether it keeps the file open or not.
    IfUnchanged(FileVersion),
}

/// Who may read a file that did not exist before. A file that is replaced keeps its own mode, owner and attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// According to the user's umask.
    Default,
    /// Only the owner.
    Private,
    /// Those who may read another file, usually the input.
    Like(Rights),
}

/// The permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    permissions: Permissions,
    /// The access control list, in the system's form.
    acl: Option<Vec<u8>>,
}

impl Rights {
    /// The rights of an open file.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Rights::with(file, &file.metadata()?))
    }

    /// The rights of an open file whose `metadata` is known.
    pub fn with(file: &File, metadata: &Metadata) -> Self {
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        let _ = file;
        Rights {
            permissions: metadata.permissions(),
            #[cfg(any(target_os = "linux", target_vendor = "apple"))]
            acl: attributes::acl(file),
            #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
            acl: None,
        }
    }
}

impl From<Permissions> for Rights {
    fn from(permissions: Permissions) -> Self {
        Rights {
            permissions,
            acl: None,
        }
    }
}

/// The hash and length of a finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `blake3:` and 64 hexadecimal digits.
    pub hash: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// The result of writing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Its hash and length.
    pub written: Written,
    /// What could not be copied from the file that it replaced: names of attributes, its owner.
    pub lost: Vec<String>,
}

/// Detects changes of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    bytes: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    place: (u64, u64),
}

impl FileVersion {
    /// The version that this metadata shows. Take it from the handle where it must belong to bytes that were read.
    pub fn of(metadata: &Metadata) -> Self {
        FileVersion {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            place: place(metadata),
        }
    }
}

/// A file that is being written under a temporary name. Leaves nothing behind if it is dropped without [`AtomicWriter::commit`].
#[derive(Debug)]
pub struct AtomicWriter {
    temp: Temp,
    spot: OpenPath,
    existing: Existing,
    durability: Durability,
}

impl AtomicWriter {
    /// Writes `pieces` while an idle thread, if there is one, hashes them.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_all_hashed_beside<'p, I: Iterator<Item = &'p [u8]>>(
        &mut self,
        pieces: impl Fn() -> I + Sync,
    ) -> io::Result<()> {
        self.temp.write_all_hashed_beside(pieces)
    }

    /// Starts writing a file that will be at `spot`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] when the name is taken and `existing` refuses, or when the existing file is a link, is not a regular
    /// file, or has other hard links (which a rename would separate); [`ErrorKind::Io`] when the system refuses.
    pub fn create(
        spot: OpenPath,
        existing: Existing,
        mode: Mode,
        durability: Durability,
    ) -> Result<Self> {
        let old = spot.look()?;
        AtomicWriter::create_over(spot, old, existing, mode, durability)
    }

    /// The same if the metadata of the existing file is already known.
    ///
    /// # Errors
    ///
    /// Those of [`AtomicWriter::create`].
    pub fn create_over(
        spot: OpenPath,
        old: Option<Metadata>,
        existing: Existing,
        mode: Mode,
        durability: Durability,
    ) -> Result<Self> {
        if let Some(old) = &old {
            // What is not a file is not replaced in any case, so that the flag is no advice.
            if existing == Existing::Refuse && old.is_file() {
                return Err(taken(spot.path()));
            }
            check_replaceable(spot.path(), old)?;
        }
        let temp = Temp::create(&spot.folder, mode, old)
            .map_err(|e| Error::io(spot.path(), "create a temporary file beside it", e))?;
        Ok(AtomicWriter {
            temp,
            spot,
            existing,
            durability,
        })
    }

    /// The file as the user named it.
    pub fn path(&self) -> &Path {
        self.spot.path()
    }

    /// The hash and length so far, so that they can be checked before the file gets its name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the last bytes cannot be written.
    pub fn written(&mut self) -> Result<Written> {
        self.temp
            .written()
            .map_err(|e| Error::io(self.spot.path(), "write", e))
    }

    /// Gives the file the time of the one that it replaces: agents take the newest file for the latest session.
    pub fn keep_time(&mut self) {
        self.temp.time = self.temp.old.as_ref().and_then(|old| old.modified().ok());
    }

    /// Flushes the bytes to the disk; the name still has the old bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn sync(&mut self) -> Result<()> {
        self.temp
            .sync()
            .map_err(|e| Error::io(self.spot.path(), "write", e))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] when a file appeared under a name that was free, [`ErrorKind::Changed`] when
    /// [`Existing::IfUnchanged`] no longer holds, [`ErrorKind::Io`] when the system refuses. In every case the
    /// temporary file is removed and the name has the old bytes.
    pub fn commit(self) -> Result<Committed> {
        let AtomicWriter {
            temp,
            spot,
            existing,
            durability,
        } = self;
        let persisted = match &existing {
            Existing::Refuse => temp.persist(&spot.name, IfTaken::Fail, durability),
            Existing::Overwrite => temp.persist(&spot.name, IfTaken::Replace, durability),
            Existing::IfUnchanged(stamp) => {
                let replaced = temp.replace(&spot.name, stamp, durability);
                match replaced.map_err(|e| Error::io(spot.path(), "replace the file", e))? {
                    Replaced::Done(done) => Ok(done),
                    Replaced::Not(Why::Changed) => return Err(changed(spot.path())),
                    Replaced::Not(Why::Busy) => {
                        let why = "another program has the file open for writing";
                        return Err(left_alone(spot.path(), why));
                    }
                }
            }
        };
        persisted.map_err(|e| unnamed(&spot, e))
    }

    /// The same; returns the identity of the file that was written, whatever has its name by then. `None` if it is not known.
    ///
    /// # Errors
    ///
    /// Those of [`AtomicWriter::commit`].
    pub fn commit_seen(self) -> Result<Option<FileIdentity>> {
        let if_taken = match &self.existing {
            Existing::Refuse => IfTaken::Fail,
            Existing::Overwrite => IfTaken::Replace,
            Existing::IfUnchanged(_) => return self.commit().map(|_| None),
        };
        let spot = self.spot;
        let named = self
            .temp
            .persist_open(&spot.name, if_taken, self.durability);
        let (opened, _) = named.map_err(|e| unnamed(&spot, e))?;
        let seen = opened.file.metadata().ok();
        Ok(seen.map(|seen| FileIdentity::of_output(spot.path(), &seen)))
    }
}

/// The error for a file that did not get its name.
fn unnamed(spot: &OpenPath, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => taken(spot.path()),
        _ => Error::io(spot.path(), "write", error),
    }
}

impl Write for AtomicWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.temp.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temp.flush()
    }
}

/// Why a file was not replaced.
#[derive(Debug, PartialEq, Eq)]
enum Why {
    /// It is not the file that was read.
    Changed,
    /// Another process has it open for writing.
    #[cfg_attr(not(unix), allow(dead_code))]
    Busy,
}

/// Writes a whole file at once.
///
/// # Errors
///
/// Those of [`AtomicWriter::create`] and [`AtomicWriter::commit`].
pub fn write(
    spot: OpenPath,
    bytes: &[u8],
    existing: Existing,
    mode: Mode,
    durability: Durability,
) -> Result<Written> {
    let mut file = AtomicWriter::create(spot, existing, mode, durability)?;
    file.write_all(bytes)
        .map_err(|e| Error::io(file.path(), "write", e))?;
    file.commit().map(|done| done.written)
}

/// An unguessable name for a temporary file.
fn temp_name() -> OsString {
    let random = &random_name()[..TEMP_RANDOM];
    OsString::from(format!(
        "{TEMP_PREFIX}{random}{}{TEMP_SUFFIX}",
        check_of(random)
    ))
}

/// The check digits, which are derived from the random ones: no other program produces such a name by chance, so a file with one is
/// ours.
fn check_of(random: &str) -> String {
    let mut sum = Crc::new();
    sum.update(TEMP_PREFIX.as_bytes());
    sum.update(random.as_bytes());
    format!("{:0TEMP_CHECK$x}", sum.sum())
}

/// Whether a file name is that of one of our temporary files, which are never transcripts.
pub fn is_temp(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(TEMP_PREFIX))
        .and_then(|name| name.strip_suffix(TEMP_SUFFIX))
        .and_then(|digits| digits.split_at_checked(TEMP_RANDOM))
        .is_some_and(|(random, check)| {
            let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            random.bytes().all(is_digit) && check == check_of(random)
        })
}

/// Removes a temporary file of a killed run; returns whether it did.
///
/// A file that an active run is writing is locked and stays. Files whose names are not ours stay too.
///
/// # Errors
///
/// The system's.
#[cfg(unix)]
pub fn remove_leftover(folder: &Folder, name: &OsStr) -> io::Result<bool> {
    if !is_temp(name) {
        return Ok(false);
    }
    let removed = folder.read(name).and_then(|file| {
        Ok(match file.try_lock() {
            Ok(()) => remove_opened(folder, name, &file)?,
            Err(_) => false,
        })
    });
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed,
    }
}

/// Removes nothing on this system: without advisory locks a leftover looks like a file that is being written.
#[cfg(not(unix))]
pub fn remove_leftover(_: &Folder, _: &OsStr) -> io::Result<bool> {
    Ok(false)
}

/// Removes incomplete files of killed runs from a folder. Errors are ignored: leftovers are harmless.
pub fn sweep(folder: &Folder) {
    for name in folder.names().into_iter().flatten() {
        let _ = remove_leftover(folder, &name);
    }
}

/// Sweeps the folder that contains a spot.
pub fn sweep_beside(spot: &OpenPath) {
    sweep(&spot.folder);
}

/// Removes the file that was opened at `spot` if it is still there; returns whether it was.
///
/// # Errors
///
/// [`ErrorKind::Io`] when the system refuses.
pub fn remove(spot: &OpenPath, opened: &File) -> Result<bool> {
    let removed = remove_opened(&spot.folder, &spot.name, opened);
    removed.map_err(|e| Error::io(spot.path(), "remove", e))
}

/// Removes the file that was opened under this name, if the name still refers to it; returns whether it did.
pub(super) fn remove_opened(folder: &Folder, name: &OsStr, file: &File) -> io::Result<bool> {
    let Some(seen) = folder.look(name)? else {
        return Ok(false);
    };
    if FileVersion::of(&seen) != FileVersion::of(&file.metadata()?) {
        return Ok(false);
    }
    folder.remove(name)?;
    Ok(true)
}

/// Renames `file` to `target`, or returns the reason why not.
#[cfg(not(unix))]
fn put(mut file: temp::TempFile, target: &OsStr, stamp: &FileVersion) -> io::Result<Option<Why>> {
    let seen = file.name.folder.look(target)?;
    if seen.is_none_or(|seen| FileVersion::of(&seen) != *stamp) {
        return Ok(Some(Why::Changed));
    }
    file.name.rename(target)?;
    Ok(None)
}

/// Whether a file may be replaced by a rename, which would destroy a device or a named pipe, and separate a hard link from its
/// other names.
///
/// # Errors
///
/// [`ErrorKind::Exists`] where it may not.
pub fn check_replaceable(path: &Path, old: &Metadata) -> Result<()> {
    if !old.is_file() {
        return Err(
            Error::new(ErrorKind::Exists, "the existing file is not a regular file")
                .at(path)
                .hint("choose another name, or use `-o -` for standard output"),
        );
    }
    #[cfg(unix)]
    {
        let links = std::os::unix::fs::MetadataExt::nlink(old);
        if links > 1 {
            return Err(Error::new(
                ErrorKind::Exists,
                format!("the file has {links} hard links; replacing it would leave the others with the old content"),
            )
            .at(path)
            .hint("write to another name, or copy the file first"));
        }
    }
    Ok(())
}

/// The warning about a file whose attributes could not all be copied.
pub fn lost_of_the_file(lost: &[String]) -> String {
    format!(
        "some attributes of the file could not be kept: {}",
        lost.join(", ")
    )
}

/// The error about a file that has changed since it was read.
pub fn changed(path: &Path) -> Error {
    left_alone(path, "another program changed the file in the meantime")
}

fn left_alone(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Changed, format!("{why}; it was left alone"))
        .at(path)
        .hint("run again when the agent that writes it has stopped")
}

fn taken(path: &Path) -> Error {
    Error::new(ErrorKind::Exists, "the file already exists")
        .at(path)
        .hint("`--overwrite` replaces it, or give another name")
}

#[cfg(unix)]
pub(super) fn place(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests;
