//! The folders of a run without links in their paths, each resolved once: records and texts name millions of files in few folders.
//!
//! Only for names. What is opened, is opened by the rules of [`super::folder`], whatever is remembered here.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::folder::folder_of;

/// So many folders are remembered.
const MOST: usize = 1_024;

/// Folders that were resolved.
#[derive(Debug, Default)]
pub(super) struct Resolved(Mutex<HashMap<PathBuf, PathBuf>>);

impl Resolved {
    /// The path with links resolved as far as it exists. Remembered if all of it does.
    pub(super) fn of(&self, folder: &Path) -> PathBuf {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plain) = known.get(folder) {
            return plain.to_owned();
        }
        let Ok(plain) = fs::canonicalize(folder) else {
            drop(known);
            return resolved(folder);
        };
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(folder.to_owned(), plain.to_owned());
        plain
    }

    /// The path of a file with the links of its folders resolved; its last part is kept, even if it is a link or does not exist.
    pub(super) fn named(&self, path: &Path) -> PathBuf {
        match path.file_name() {
            Some(name) => self.of(folder_of(path)).join(name),
            None => resolved(path),
        }
    }
}

/// The path with links resolved as far as it exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), path.file_name()) {
        (Ok(path), _) => path,
        (Err(_), Some(name)) => resolved(folder_of(path)).join(name),
        (Err(_), None) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_made_later_is_resolved_then() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let resolved = Resolved::default();
        let new = place.path().join("new");
        assert_eq!(resolved.of(&new), top.join("new"));
        fs::create_dir(top.join("real")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("real", &new).unwrap();
            assert_eq!(resolved.of(&new), top.join("real"));
            assert_eq!(resolved.named(&new.join("x")), top.join("real/x"));
        }
        for n in 0..MOST + 9 {
            let folder = top.join(format!("{n}"));
            fs::create_dir(&folder).unwrap();
            assert_eq!(resolved.of(&folder), folder);
        }
        assert!(resolved.0.lock().unwrap().len() <= MOST);
    }
}
