//! Writes a file so that its name holds the old bytes or the new bytes, whatever happens in between.
//!
//! The bytes go to a temporary file in the same folder, which then takes the name by a rename. Never leaves a
//! half-written file under the name, never replaces a file that it was told to leave, and never follows a link
//! at the moment of the rename.

use std::ffi::OsStr;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folders::folder_of;
use crate::error::{Error, ErrorKind, Result};

#[cfg(unix)]
mod lease;
#[cfg(unix)]
mod live;
mod temp;

#[cfg(unix)]
use live::put;
use temp::Replaced;
pub use temp::{Halted, halt};
pub(super) use temp::{IfTaken, Temp};

const TEMP_PREFIX: &str = ".ctxpack-";
const TEMP_SUFFIX: &str = ".tmp";
const TEMP_RANDOM: usize = 6;

/// What to do when the name is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Existing {
    /// Leave the file alone, also one that appears while we write.
    Refuse,
    /// Replace it.
    Overwrite,
    /// Replace it only while it is still the file that was read, and nobody writes to it: a live agent may be appending
    /// to it. On Linux no line of such an agent is lost, whether it keeps the file open or not.
    IfUnchanged(Stamp),
}

/// Whether the bytes must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk before the name appears, and the name on the disk before `commit` returns.
    Durable,
    /// Left to the system: some 60 times faster for small files. A batch calls [`super::folders::sync_folder`] at its end.
    Lazy,
}

/// Who may read a file that did not exist before. A file that is replaced keeps its own mode and owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// What the user's umask says.
    Default,
    /// The owner alone.
    Private,
    /// The permission bits of another file, usually the input.
    Like(Permissions),
}

/// What a finished file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `blake3:` and 64 hexadecimal digits.
    pub hash: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// What tells one state of a file from the next without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    place: (u64, u64),
}

impl Stamp {
    /// The stamp of an open file; taken from the handle, not the path, so that it is of the bytes that were read.
    pub fn of(metadata: &Metadata) -> Self {
        Stamp {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            place: place(metadata),
        }
    }
}

/// A file being written beside its name. Dropped without [`Replace::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Replace {
    temp: Temp,
    /// As the user named it, for messages.
    path: PathBuf,
    /// With links resolved: a link keeps pointing, and what it points to is replaced.
    target: PathBuf,
    existing: Existing,
    durability: Durability,
}

impl Replace {
    /// Starts a file that will take the name `path`, in a folder that exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] when the name is taken and `existing` refuses, or when what is there is no regular
    /// file or has other hard links (a rename would tear them apart); [`ErrorKind::Io`] or
    /// [`ErrorKind::NotFound`] when the system refuses.
    pub fn create(
        path: &Path,
        existing: Existing,
        mode: Mode,
        durability: Durability,
    ) -> Result<Self> {
        let (target, old) = match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(e) => return Err(Error::io(path, "look at the output", e)),
            Ok(_) if existing == Existing::Refuse => return Err(taken(path)),
            Ok(_) => {
                let target =
                    fs::canonicalize(path).map_err(|e| Error::io(path, "follow the link", e))?;
                let old =
                    fs::metadata(&target).map_err(|e| Error::io(path, "look at the output", e))?;
                check_replaceable(path, &old)?;
                (target, Some(old))
            }
        };
        let temp = Temp::create(folder_of(&target), mode, old)
            .map_err(|e| Error::io(path, "create a temporary file beside it", e))?;
        Ok(Replace {
            temp,
            path: path.to_owned(),
            target,
            existing,
            durability,
        })
    }

    /// The file as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has been written so far, so that it can be checked before it takes the name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the last bytes cannot be written.
    pub fn written(&mut self) -> Result<Written> {
        self.temp
            .written()
            .map_err(|e| Error::io(&self.path, "write", e))
    }

    /// Gives the file the time of the one that it replaces: agents take the newest file for the latest session.
    pub fn keep_time(&mut self) {
        self.temp.time = self.temp.old.as_ref().and_then(|old| old.modified().ok());
    }

    /// Puts the bytes on the disk; the name still holds what it held.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn sync(&mut self) -> Result<()> {
        self.temp
            .sync()
            .map_err(|e| Error::io(&self.path, "write", e))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] when a file appeared under a name that was free, [`ErrorKind::Changed`] when
    /// [`Existing::IfUnchanged`] no longer holds, [`ErrorKind::Io`] when the system refuses. In every case the
    /// temporary file is gone and the name holds what it held.
    pub fn commit(self) -> Result<Written> {
        let persisted = match &self.existing {
            Existing::Refuse => self
                .temp
                .persist(&self.target, IfTaken::Fail, self.durability),
            Existing::Overwrite => {
                self.temp
                    .persist(&self.target, IfTaken::Replace, self.durability)
            }
            Existing::IfUnchanged(stamp) => {
                let replaced = self.temp.replace(&self.target, stamp, self.durability);
                match replaced.map_err(|e| Error::io(&self.path, "replace the file", e))? {
                    Replaced::Done(written) => Ok(written),
                    Replaced::Not(Why::Changed) => return Err(changed(&self.path)),
                    Replaced::Not(Why::Busy) => {
                        let why = "another program has the file open for writing";
                        return Err(left_alone(&self.path, why));
                    }
                }
            }
        };
        persisted.map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => taken(&self.path),
            _ => Error::io(&self.path, "write", e),
        })
    }
}

impl Write for Replace {
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
    /// It is not what was read.
    Changed,
    /// Somebody has it open for writing.
    #[cfg_attr(not(unix), allow(dead_code))]
    Busy,
}

/// Writes a whole file at once.
///
/// # Errors
///
/// Those of [`Replace::create`] and [`Replace::commit`].
pub fn write(
    path: &Path,
    bytes: &[u8],
    existing: Existing,
    mode: Mode,
    durability: Durability,
) -> Result<Written> {
    let mut file = Replace::create(path, existing, mode, durability)?;
    file.write_all(bytes)
        .map_err(|e| Error::io(path, "write", e))?;
    file.commit()
}

/// Whether a file's name is that of one of our temporary files: not a transcript, whatever it holds.
pub fn is_temp(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(TEMP_PREFIX))
        .and_then(|name| name.strip_suffix(TEMP_SUFFIX))
        .is_some_and(|random| {
            random.len() == TEMP_RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// Removes a temporary file whose run was killed; says whether it did.
///
/// One that a living run is writing is locked, and stays. Files whose names are not ours stay too.
///
/// # Errors
///
/// [`ErrorKind::Io`] when the system refuses.
#[cfg(unix)]
pub fn remove_leftover(path: &Path) -> Result<bool> {
    if !path.file_name().is_some_and(is_temp) {
        return Ok(false);
    }
    let removed = super::open_regular(path).and_then(|file| {
        Ok(match file.try_lock() {
            Ok(()) => {
                fs::remove_file(path)?;
                true
            }
            Err(_) => false,
        })
    });
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map_err(|e| Error::io(path, "remove a leftover", e)),
    }
}

/// Removes nothing here: without advisory locks a leftover cannot be told from a file being written.
#[cfg(not(unix))]
pub fn remove_leftover(_path: &Path) -> Result<bool> {
    Ok(false)
}

/// Gives `file` the name `target`, unless there is a reason against it, which is given back.
#[cfg(not(unix))]
fn put(file: tempfile::NamedTempFile, target: &Path, stamp: &Stamp) -> io::Result<Option<Why>> {
    if Stamp::of(&fs::metadata(target)?) != *stamp {
        return Ok(Some(Why::Changed));
    }
    file.persist(target).map_err(|e| e.error)?;
    Ok(None)
}

/// Whether a file may be replaced by a rename: over a device or a named pipe that would destroy it, and over a hard link
/// it would split it in two.
///
/// # Errors
///
/// [`ErrorKind::Exists`] where it may not.
pub fn check_replaceable(path: &Path, old: &Metadata) -> Result<()> {
    if !old.is_file() {
        return Err(
            Error::new(ErrorKind::Exists, "what is there is not a regular file")
                .at(path)
                .hint("give another name, or `-o -` to write to the standard output"),
        );
    }
    #[cfg(unix)]
    {
        let links = std::os::unix::fs::MetadataExt::nlink(old);
        if links > 1 {
            return Err(Error::new(
                ErrorKind::Exists,
                format!("the file has {links} hard links, which replacing it would tear apart"),
            )
            .at(path)
            .hint("write to another name, or copy the file first"));
        }
    }
    Ok(())
}

/// A file that is no longer what was read, which was found out in time.
pub fn changed(path: &Path) -> Error {
    left_alone(path, "the file was changed by another program meanwhile")
}

fn left_alone(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Changed, format!("{why}, and it was left alone"))
        .at(path)
        .hint("run again when the agent that writes it has stopped")
}

fn taken(path: &Path) -> Error {
    Error::new(ErrorKind::Exists, "the file is there already")
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
