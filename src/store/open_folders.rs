//! The folders of a run's outputs, each opened once: their files are accessed by plain names.
//!
//! Opens by the rules of [`super::folder`] and [`super::open_path`], and keeps a bounded number open.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::folder::{Folder, split};
use super::open_path::{Missing, OpenPath};
use crate::error::Result;

/// The most folders that are open at once.
const MAX_OPEN: usize = 32;

/// Open folders, by their spelling.
#[derive(Debug, Default)]
pub struct OpenFolders(Mutex<HashMap<OsString, Opened, RandomState>>);

#[derive(Debug)]
struct Opened {
    /// The folder that the user named, below which no link is followed.
    base: PathBuf,
    folder: Folder,
}

impl OpenFolders {
    /// The same as [`OpenPath::below`].
    ///
    /// # Errors
    ///
    /// Those of [`OpenPath::below`].
    pub fn below(&self, base: &Path, path: &Path, missing: Missing) -> Result<OpenPath> {
        let Some((above, _)) = split(path) else {
            return OpenPath::below(base, path, missing);
        };
        {
            let opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = opened.get(above.as_os_str());
            let same = opened.filter(|o| o.base.as_os_str() == base.as_os_str());
            if let Some(opened) = same {
                return OpenPath::in_folder(opened.folder.clone(), path);
            }
        }
        let spot = OpenPath::below(base, path, missing)?;
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.len() >= MAX_OPEN {
            opened.clear();
        }
        opened.insert(
            above.as_os_str().to_owned(),
            Opened {
                base: base.to_owned(),
                folder: spot.folder.clone(),
            },
        );
        Ok(spot)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_folder_is_opened_once_by_the_same_rules() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("out");
        let folders = OpenFolders::default();
        let below = |path: &str, missing| folders.below(&base, &base.join(path), missing);
        assert_eq!(
            below("a/x", Missing::Refuse).unwrap_err().kind,
            ErrorKind::NotFound
        );
        let spot = below("a/x", Missing::Make).unwrap();
        assert!(spot.look().unwrap().is_none());
        fs::write(base.join("a/y"), "y").unwrap();
        let spot = below("a/y", Missing::Refuse).unwrap();
        assert_eq!(spot.path(), base.join("a/y"));
        assert_eq!(spot.look().unwrap().unwrap().len(), 1);
        for n in 0..2 * MAX_OPEN {
            below(&format!("{n}/x"), Missing::Make).unwrap();
        }
        assert!(folders.0.lock().unwrap().len() <= MAX_OPEN);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", base.join("link")).unwrap();
            let refused = below("link/y", Missing::Make).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Store);
            // A folder that the user named is another base, up to which links are followed.
            let named = folders.below(&base.join("link"), &base.join("link/y"), Missing::Refuse);
            assert_eq!(named.unwrap().look().unwrap().unwrap().len(), 1);
            assert!(below("link/y", Missing::Make).is_err());
        }
    }
}
