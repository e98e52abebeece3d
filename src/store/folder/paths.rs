//! Folders on systems without calls relative to an open folder: uses paths, and examines each file before it is opened.
//!
//! Existing links are refused here too, but a link that is created between the examination and the opening is not noticed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Access, NotPlain};
use crate::store::identity::FileIdentity;

pub(super) type Handle = PathBuf;

pub(super) fn open(path: &Path) -> io::Result<Handle> {
    match fs::metadata(path)?.is_dir() {
        true => fs::canonicalize(path),
        false => Err(NotPlain::NoFolder.into()),
    }
}

pub(super) fn open_resolved(path: &Path) -> io::Result<Handle> {
    open(path)
}

pub(super) fn folder(above: &Handle, name: &OsStr) -> io::Result<Handle> {
    let path = above.join(name);
    let seen = fs::symlink_metadata(&path)?;
    if seen.is_symlink() {
        return Err(NotPlain::Link.into());
    }
    if !seen.is_dir() {
        return Err(NotPlain::NoFolder.into());
    }
    Ok(path)
}

pub(super) fn make_folder(above: &Handle, name: &OsStr, _: Access) -> io::Result<()> {
    fs::create_dir(above.join(name))
}

pub(super) fn look(folder: &Handle, name: &OsStr) -> io::Result<Metadata> {
    fs::symlink_metadata(folder.join(name))
}

pub(super) fn read(folder: &Handle, name: &OsStr) -> io::Result<File> {
    File::open(plain(folder, name)?)
}

pub(super) fn seen(folder: &Handle, name: &OsStr) -> io::Result<FileIdentity> {
    Ok(FileIdentity::of(&fs::symlink_metadata(plain(
        folder, name,
    )?)?))
}

pub(super) fn split(_: &Path) -> Option<(&Path, &OsStr)> {
    None
}

pub(super) fn below<'p>(_: &'p Path, _: &Path) -> Option<&'p Path> {
    None
}

pub(super) fn read_seen(folder: &Handle, name: &OsStr) -> io::Result<File> {
    File::open(folder.join(name))
}

pub(super) fn open_lock(folder: &Handle, name: &OsStr) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(plain(folder, name)?)
}

pub(super) fn create(folder: &Handle, name: &OsStr, _: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.open(folder.join(name))
}

pub(super) fn rename(folder: &Handle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    fs::rename(folder.join(from), folder.join(to))
}

pub(super) fn rename_to_free(folder: &Handle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    fs::hard_link(folder.join(from), folder.join(to))?;
    remove(folder, from)
}

pub(super) fn remove(folder: &Handle, name: &OsStr) -> io::Result<()> {
    fs::remove_file(folder.join(name))
}

/// Attributes of a folder do not tell that here: only trying would.
pub(super) fn check_writable(_: &Handle) -> io::Result<()> {
    Ok(())
}

pub(super) fn names(folder: &Handle) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

pub(super) fn sync(_: &Handle) -> io::Result<()> {
    Ok(())
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(super) fn read_exact_at(file: &File, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                into = &mut into[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

fn plain(folder: &Handle, name: &OsStr) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let seen = fs::symlink_metadata(&path)?;
    if seen.is_symlink() {
        return Err(NotPlain::Link.into());
    }
    if !seen.is_file() {
        return Err(NotPlain::NoFile.into());
    }
    Ok(path)
}
