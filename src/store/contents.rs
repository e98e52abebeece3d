//! Whether contents that an output needs are unchanged since they were noted.
//!
//! Unchanged metadata suffices; otherwise the bytes are hashed and compared with the name. Writes nothing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::archive::{ARCHIVE, copy_name, is_archive_name, is_copy_name};
use super::folder::Folder;
use super::offload::{OFFLOADED, is_offload_name};
use super::{FileIdentity, Store, hash_of};

/// The most contents that are remembered as read: some 100 bytes each.
const MOST_READ: usize = 1 << 16;

/// What a run knows of the contents that it has looked at.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The folders with contents, each opened once: opening the folder for every content would cost more than the check itself.
    offloaded: OnceLock<Folder>,
    archive: OnceLock<Folder>,
    /// The identity of contents whose bytes were read and are right: many outputs may need the same content.
    read: Mutex<HashMap<Box<str>, FileIdentity>>,
}

impl Store {
    /// The identity of a content, to be noted; with the time at which it was last touched, if that is reliable.
    pub fn content_to_note(&self, name: &str) -> Option<FileIdentity> {
        let path = self.root.join(name);
        let metadata = path.symlink_metadata().ok()?;
        metadata
            .is_file()
            .then(|| FileIdentity::of_output(&path, &metadata))
    }

    /// The identity of the content with this name; `None` if it is not a regular file, or the name is not that of a content.
    pub fn content_seen(&self, name: &str) -> Option<FileIdentity> {
        let (part, file) = name.split_once('/')?;
        let slot = match part {
            OFFLOADED => &self.contents.offloaded,
            ARCHIVE => &self.contents.archive,
            _ => return None,
        };
        let folder = match slot.get() {
            Some(folder) => folder,
            None => {
                let folder = self.part(part).ok()??;
                slot.get_or_init(|| folder)
            }
        };
        folder.seen(OsStr::new(file)).ok()
    }

    /// Whether the content with this name and the identity `seen` has the bytes whose hash is in its name; `most` is the size of
    /// the input, which the content of an archive never exceeds.
    pub fn is_whole(&self, name: &str, seen: FileIdentity, most: u64) -> bool {
        let read = || self.contents.read.lock();
        let is_known = read().unwrap_or_else(PoisonError::into_inner).get(name) == Some(&seen);
        if is_known || !self.has_right_bytes(name, most) {
            return is_known;
        }
        let mut read = read().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MOST_READ {
            read.clear();
        }
        read.insert(name.into(), seen);
        true
    }

    fn has_right_bytes(&self, name: &str, most: u64) -> bool {
        if is_offload_name(name) {
            return self.copy_offload(name, &mut io::sink()).is_ok();
        }
        if is_archive_name(name) {
            return self.read_archive(name, most, &mut io::sink()).is_ok();
        }
        let copy = || self.open_content(name, "read the copy", "");
        is_copy_name(name)
            && copy()
                .is_ok_and(|mut file| hash_of(&mut file).is_ok_and(|hash| copy_name(&hash) == name))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;

    use super::*;
    use crate::store::folder::Durability;
    use crate::store::hash;

    #[test]
    fn a_content_of_each_kind_is_whole_or_not() {
        let dir = tempdir().unwrap();
        let store = Store::new(dir.path().join("s"), Durability::Lazy);
        let original = b"original";
        let archive = store.put_archive(original, &hash(original)).unwrap().name;
        let copy = store.put_copy(b"copy").unwrap();
        let offload = store.put_offload(b"offload").unwrap();
        let is_whole = |name: &str, most: u64| {
            let seen = store.content_seen(name);
            seen.is_some_and(|seen| store.is_whole(name, seen, most))
        };
        for name in [&archive, &copy, &offload] {
            assert_eq!(
                store.content_to_note(name).map(|seen| seen.bytes),
                store.content_seen(name).map(|seen| seen.bytes)
            );
            assert!(is_whole(name, 8), "{name}");
            let path = store.root().join(name);
            let whole = fs::read(&path).unwrap();
            // Of the same size, so that the change shows at most in the file's time.
            let mut other = whole.clone();
            other[whole.len() / 2] ^= 1;
            for damaged in [&other[..], &whole[1..], b""] {
                fs::remove_file(&path).unwrap();
                fs::write(&path, damaged).unwrap();
                assert!(!is_whole(name, 8), "{name}: {damaged:?}");
            }
            fs::write(&path, &whole).unwrap();
            assert!(is_whole(name, 8), "{name}");
            fs::remove_file(&path).unwrap();
            assert!(!is_whole(name, 8), "{name}");
        }
        let archive = store.put_archive(original, &hash(original)).unwrap().name;
        assert!(!store.has_right_bytes(&archive, 6), "it is another input's");
        fs::write(dir.path().join("secret"), "secret").unwrap();
        for name in ["../secret", "offloaded/../../secret", "lock", "", "cache/x"] {
            assert!(!is_whole(name, 8), "{name}");
        }
    }
}
