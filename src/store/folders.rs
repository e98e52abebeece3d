//! Makes folders, and makes what is in them last.
//!
//! Never changes a folder that is there already.

use std::fs;
use std::io;
use std::path::Path;

use super::atomic::Durability;
use crate::error::{Error, Result};

/// Creates a folder and those above it, where they are missing.
///
/// # Errors
///
/// [`crate::error::ErrorKind::Io`] when the system refuses, or when something there is no folder.
pub fn create_folders(path: &Path, durability: Durability) -> Result<()> {
    create_folders_with(path, &fs::DirBuilder::new(), durability)
}

/// [`create_folders`], the last of them for the owner alone.
pub(super) fn create_private_folder(path: &Path) -> Result<()> {
    create_folders(folder_of(path), Durability::Durable)?;
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut private = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    create_folders_with(path, &private, Durability::Durable)
}

fn create_folders_with(path: &Path, how: &fs::DirBuilder, durability: Durability) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = folder_of(path);
    let mut made = how.create(path);
    if matches!(&made, Err(e) if e.kind() == io::ErrorKind::NotFound) && above != path {
        create_folders_with(above, how, durability)?;
        // Once: some file systems (/proc) say so of whatever they do not have, however often they are asked.
        made = how.create(path);
    }
    match made {
        Ok(()) => {}
        // Another thread or run was faster.
        Err(_) if path.is_dir() => return Ok(()),
        Err(e) => return Err(Error::io(path, "create the folder", e)),
    }
    match durability {
        Durability::Durable => sync_folder(above),
        Durability::Lazy => Ok(()),
    }
}

/// Makes the names in a folder survive a power cut; once a folder at the end of a batch.
///
/// # Errors
///
/// [`crate::error::ErrorKind::Io`] when the system refuses.
pub fn sync_folder(path: &Path) -> Result<()> {
    sync(path).map_err(|e| Error::io(path, "flush the folder", e))
}

/// The folder that holds `path`; the current one for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

#[cfg(unix)]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder)?.sync_all() {
        // Some network file systems cannot flush a folder; there is nothing more to be done there.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

#[cfg(not(unix))]
pub(super) fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn folders_are_made_once_by_many_threads() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("a/b/c/d");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| create_folders(&path, Durability::Durable).unwrap());
            }
        });
        assert!(path.is_dir());
        fs::write(path.join("file"), "").unwrap();
        let error = create_folders(&path.join("file/e"), Durability::Lazy).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Io);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_cannot_be_made_in_one_that_is_there_is_an_error() {
        for path in ["/proc/x", "/proc/x/y"] {
            let error = create_folders(Path::new(path), Durability::Lazy).unwrap_err();
            let refused = error.path.as_deref();
            assert_eq!(refused, Some(Path::new("/proc/x")));
        }
    }
}
