//! Writes a file so that its name holds the old bytes or the new bytes, whatever happens in between.
//!
//! The bytes go to a temporary file in the same folder, which then takes the name by a rename. Never leaves a
//! half-written file under the name, never replaces a file that it was told to leave, and never follows a link
//! at the moment of the rename.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use super::folders::{folder_of, sync};
use crate::error::{Error, ErrorKind, Result};

#[cfg(unix)]
mod lease;
#[cfg(unix)]
mod live;

const TEMP_PREFIX: &str = ".ctxpack-";
const TEMP_SUFFIX: &str = ".tmp";
const TEMP_RANDOM: usize = 6;

/// Collects the many small slices of a spliced transcript into few system calls.
const BUFFER_BYTES: usize = 64 * 1024;

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
                    Replaced::Not(why) => {
                        return Err(Error::new(
                            ErrorKind::Changed,
                            format!("{why}, and it was left alone"),
                        )
                        .at(&self.path)
                        .hint("run again when the agent that writes it has stopped"));
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

/// What a rename does when its name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfTaken {
    Replace,
    Fail,
}

/// What became of a file that was to be replaced if it had not changed.
enum Replaced {
    Done(Written),
    /// Why not.
    Not(&'static str),
}

/// A temporary file that hashes and counts what it is given, and has no name yet.
///
/// The store uses it directly where the name depends on the bytes.
#[derive(Debug)]
pub(super) struct Temp {
    out: BufWriter<Hashing>,
    mode: Mode,
    old: Option<Metadata>,
    /// When it says that it was written, if not now.
    time: Option<SystemTime>,
}

impl Temp {
    /// A fresh file in `folder`; `old` is what it will replace, whose mode and owner it takes over.
    pub(super) fn create(folder: &Path, mode: Mode, old: Option<Metadata>) -> io::Result<Self> {
        // Only a file that everybody may read in the end may be read by everybody before it.
        let open_to_all = old.is_none() && mode == Mode::Default;
        Ok(Temp {
            out: BufWriter::with_capacity(
                BUFFER_BYTES,
                Hashing {
                    file: fresh(folder, if open_to_all { 0o666 } else { 0o600 })?,
                    hasher: blake3::Hasher::new(),
                    bytes: 0,
                },
            ),
            mode,
            old,
            time: None,
        })
    }

    fn written(&mut self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(self.out.get_ref().written())
    }

    /// Puts the bytes on the disk; their name is not yet there.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().file.as_file().sync_all()
    }

    /// Gives the file its name. On failure nothing is left.
    pub(super) fn persist(
        self,
        target: &Path,
        if_taken: IfTaken,
        durability: Durability,
    ) -> io::Result<Written> {
        let (file, written) = self.complete(durability)?;
        match if_taken {
            IfTaken::Replace => file.persist(target),
            IfTaken::Fail => file.persist_noclobber(target),
        }
        .map_err(|e| e.error)?;
        if durability == Durability::Durable {
            sync(folder_of(target))?;
        }
        Ok(written)
    }

    /// Gives the file the name of the one that `stamp` is of, if that is possible without harm.
    fn replace(self, target: &Path, stamp: &Stamp, durability: Durability) -> io::Result<Replaced> {
        let (file, written) = self.complete(durability)?;
        if let Some(why) = put(file, target, stamp)? {
            return Ok(Replaced::Not(why));
        }
        if durability == Durability::Durable {
            sync(folder_of(target))?;
        }
        Ok(Replaced::Done(written))
    }

    /// The file with all its bytes, mode and owner, as far on the disk as was asked for.
    fn complete(mut self, durability: Durability) -> io::Result<(NamedTempFile, Written)> {
        let written = self.written()?;
        dress(
            self.out.get_ref().file.as_file(),
            &self.mode,
            self.old.as_ref(),
        )?;
        if let Some(time) = self.time {
            self.out.get_ref().file.as_file().set_modified(time)?;
        }
        if durability == Durability::Durable {
            self.sync()?;
        }
        let out = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok((out.file, written))
    }
}

impl Write for Temp {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[derive(Debug)]
struct Hashing {
    file: NamedTempFile,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Hashing {
    fn written(&self) -> Written {
        Written {
            hash: super::hash_text(&self.hasher.finalize()),
            bytes: self.bytes,
        }
    }
}

impl Write for Hashing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.file.as_file().write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

/// A new temporary file, locked for as long as it is open so that [`remove_leftover`] lets it be.
fn fresh(
    folder: &Path,
    #[cfg_attr(not(unix), allow(unused))] mode: u32,
) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder
        .prefix(TEMP_PREFIX)
        .suffix(TEMP_SUFFIX)
        .rand_bytes(TEMP_RANDOM);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    loop {
        // The crate's own way to open it would put the temporary name into messages.
        let temp = builder.make_in(folder, |path| options.open(path))?;
        if claim(temp.as_file())? {
            return Ok(temp);
        }
        // A sweep caught it between its birth and its lock; the pause lets the sweep pass on.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Gives `file` the name `target`, unless there is a reason against it, which is given back.
#[cfg(unix)]
fn put(file: NamedTempFile, target: &Path, stamp: &Stamp) -> io::Result<Option<&'static str>> {
    Ok(match live::replace(file, target, stamp)? {
        live::Swap::Done => None,
        live::Swap::Changed => Some(CHANGED),
        live::Swap::Busy => Some("another program has the file open for writing"),
    })
}

#[cfg(not(unix))]
fn put(file: NamedTempFile, target: &Path, stamp: &Stamp) -> io::Result<Option<&'static str>> {
    if Stamp::of(&fs::metadata(target)?) != *stamp {
        return Ok(Some(CHANGED));
    }
    file.persist(target).map_err(|e| e.error)?;
    Ok(None)
}

const CHANGED: &str = "the file was changed by another program meanwhile";

#[cfg(unix)]
fn claim(file: &File) -> io::Result<bool> {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt;
    match file.try_lock() {
        Ok(()) => Ok(file.metadata()?.nlink() > 0),
        Err(TryLockError::WouldBlock) => Ok(false),
        // A file system without locks: a sweep cannot lock there either, so it removes nothing.
        Err(TryLockError::Error(_)) => Ok(true),
    }
}

#[cfg(not(unix))]
fn claim(_file: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn dress(file: &File, mode: &Mode, old: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mode = match (old, mode) {
        (Some(old), _) => {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                // Only root may give a file away; for everybody else the file becomes the writer's, as with cp.
                let _ = fchown(file, Some(old.uid()), Some(old.gid()))
                    .or_else(|_| fchown(file, None, Some(old.gid())));
            }
            old.mode()
        }
        (None, Mode::Default) => return Ok(()),
        (None, Mode::Private) => 0o600,
        (None, Mode::Like(permissions)) => permissions.mode(),
    };
    // A transcript is never a program: the bits that lend rights are not handed on.
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

#[cfg(not(unix))]
fn dress(_file: &File, _mode: &Mode, _old: Option<&Metadata>) -> io::Result<()> {
    Ok(())
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
