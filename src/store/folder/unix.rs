//! Folders on Unix: a handle, and system calls with names relative to it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, statat};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

use super::{Access, NotPlain};
use crate::store::identity::{FileIdentity, touched_by};

pub(super) type Handle = OwnedFd;

/// A handle in which names can be looked up; on Linux, this does not require permission to list the folder.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = LIST;
const LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
/// Flags to open a regular file: no link is followed, and pipes and devices do not block.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// How long to wait for another run that holds a lease on a file while it renames it.
const HELD: Duration = Duration::from_secs(10);

pub(super) fn open(path: &Path) -> io::Result<Handle> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

pub(super) fn open_resolved(path: &Path) -> io::Result<Handle> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::NO_SYMLINKS;
        let opened = retry_on_intr(|| openat2(CWD, path, FOLDER, Mode::empty(), how));
        match opened {
            Err(Errno::LOOP) => return Err(NotPlain::Link.into()),
            // An old kernel or a sandbox does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    Ok(openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

pub(super) fn folder(above: &Handle, name: &OsStr) -> io::Result<Handle> {
    let opened = openat(above, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    opened.map_err(|error| match kind(above, name) {
        Ok(FileType::Directory) | Err(_) => error.into(),
        Ok(FileType::Symlink) => NotPlain::Link.into(),
        Ok(_) => NotPlain::NoFolder.into(),
    })
}

pub(super) fn make_folder(above: &Handle, name: &OsStr, access: Access) -> io::Result<()> {
    let mode = match access {
        Access::Default => 0o777,
        Access::Private => 0o700,
    };
    Ok(rustix::fs::mkdirat(above, name, Mode::from_raw_mode(mode))?)
}

/// Uses a handle to the file itself, even if it is a link, so that the result has the standard library's type.
#[cfg(target_os = "linux")]
pub(super) fn look(folder: &Handle, name: &OsStr) -> io::Result<Metadata> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(openat(folder, name, flags, Mode::empty())?).metadata()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn look(folder: &Handle, name: &OsStr) -> io::Result<Metadata> {
    if kind(folder, name)? == FileType::Symlink {
        return Err(NotPlain::Link.into());
    }
    let flags = OFlags::RDONLY | FILE;
    File::from(openat(folder, name, flags, Mode::empty())?).metadata()
}

pub(super) fn read(folder: &Handle, name: &OsStr) -> io::Result<File> {
    plain(folder, name, OFlags::RDONLY)
}

/// The identity of a regular file. A time before 1970 counts as unknown.
pub(super) fn seen(folder: &Handle, name: &OsStr) -> io::Result<FileIdentity> {
    let seen = regular(folder, name)?;
    let seconds = u64::try_from(seen.st_mtime).ok();
    let nanos = u32::try_from(seen.st_mtime_nsec).ok();
    let changed = u64::try_from(seen.st_ctime)
        .ok()
        .zip(u32::try_from(seen.st_ctime_nsec).ok());
    Ok(FileIdentity {
        // The size of a regular file is never negative.
        bytes: seen.st_size.unsigned_abs(),
        modified: seconds.zip(nanos),
        touched: changed.and_then(|changed| touched_by(seen.st_ino, changed)),
    })
}

/// Opens what was just seen to be a regular file, without checking again.
pub(super) fn read_seen(folder: &Handle, name: &OsStr) -> io::Result<File> {
    let how = OFlags::RDONLY | FILE;
    Ok(File::from(unheld(|| {
        openat(folder, name, how, Mode::empty())
    })?))
}

pub(super) fn append(folder: &Handle, name: &OsStr) -> io::Result<File> {
    plain(folder, name, OFlags::WRONLY | OFlags::APPEND)
}

pub(super) fn open_lock(folder: &Handle, name: &OsStr) -> io::Result<File> {
    let file = plain(folder, name, OFlags::RDWR)?;
    // A file with several names could be the lock of another program.
    match std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) {
        0 | 1 => Ok(file),
        names => Err(NotPlain::Names(names).into()),
    }
}

pub(super) fn create(folder: &Handle, name: &OsStr, access: Access) -> io::Result<File> {
    let mode = match access {
        Access::Default => 0o666,
        Access::Private => 0o600,
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | FILE;
    Ok(File::from(openat(
        folder,
        name,
        flags,
        Mode::from_raw_mode(mode),
    )?))
}

pub(super) fn rename(folder: &Handle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::renameat(folder, from, folder, to)?)
}

pub(super) fn rename_to_free(folder: &Handle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // The kernel or the file system does not know the flag.
            Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
    remove(folder, from)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn exchange(folder: &Handle, a: &OsStr, b: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    Ok(renameat_with(folder, a, folder, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn exchange(_: &Handle, _: &OsStr, _: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn remove(folder: &Handle, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

pub(super) fn check_writable(folder: &Handle) -> io::Result<()> {
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    Ok(rustix::fs::accessat(folder, ".", wanted, AtFlags::empty())?)
}

pub(super) fn names(folder: &Handle) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(openat(folder, ".", LIST, Mode::empty())?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

pub(super) fn sync(folder: &Handle) -> io::Result<()> {
    File::from(openat(folder, ".", LIST, Mode::empty())?).sync_all()
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | FILE.difference(OFlags::NOFOLLOW);
    Ok(File::from(unheld(|| {
        openat(CWD, path, flags, Mode::empty())
    })?))
}

/// The folder and file name of a plainly spelled path: the standard library handles any path, at ten times the cost.
pub(super) fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let at = memchr::memrchr(b'/', bytes)?;
    let (above, name) = (&bytes[..at], &bytes[at + 1..]);
    let is_plain = !above.is_empty()
        && !above.ends_with(b"/")
        && !above.ends_with(b"/.")
        && !matches!(name, b"" | b"." | b"..");
    is_plain.then(|| (Path::new(OsStr::from_bytes(above)), OsStr::from_bytes(name)))
}

/// The part of a path below `folder`, if both are spelled plainly and in the same way: also at a tenth of the cost.
pub(super) fn below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    let (path, folder) = (path.as_os_str().as_bytes(), folder.as_os_str().as_bytes());
    let rest = path.strip_prefix(folder)?.strip_prefix(b"/")?;
    let is_slash = |byte: &u8| *byte == b'/';
    let ends = [rest.split(is_slash).next()?, rest.rsplit(is_slash).next()?];
    let is_plain = !folder.is_empty() && !ends.iter().any(|part| matches!(part, [] | [b'.']));
    is_plain.then(|| Path::new(OsStr::from_bytes(rest)))
}

pub(super) fn read_exact_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

/// Opens a name in a folder; retries if interrupted by a signal.
fn openat(
    folder: impl AsFd,
    name: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| rustix::fs::openat(&folder, name, flags, mode))
}

fn kind(folder: &Handle, name: &OsStr) -> Result<FileType, Errno> {
    let seen = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(seen.st_mode))
}

/// Checks that a name is a regular file, and returns its metadata.
fn regular(folder: &Handle, name: &OsStr) -> io::Result<Stat> {
    let seen = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::RegularFile => Ok(seen),
        FileType::Symlink => Err(NotPlain::Link.into()),
        _ => Err(NotPlain::NoFile.into()),
    }
}

/// Opens a regular file. Opening some devices has an effect, so the name is examined first; the open file is
/// examined again, since the name may be another file by then.
fn plain(folder: &Handle, name: &OsStr, how: OFlags) -> io::Result<File> {
    regular(folder, name)?;
    let file = File::from(unheld(|| openat(folder, name, how | FILE, Mode::empty()))?);
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        _ => Err(NotPlain::NoFile.into()),
    }
}

/// Waits while another run holds a lease on the file, since a non-blocking open does not wait.
fn unheld<T>(open: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    let end = Instant::now() + HELD;
    loop {
        match open() {
            Err(Errno::AGAIN) if Instant::now() < end => sleep(Duration::from_millis(1)),
            opened => return opened,
        }
    }
}
