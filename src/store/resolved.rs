//! The folders of a run with links resolved, each resolved only once: records and texts name millions of files in few folders.
//!
//! Only for names. Files are opened by the rules of [`super::folder`], whatever is cached here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::folder::{folder_of, split};
use super::name;

/// The maximum number of folders that are cached.
const MAX_REMEMBERED: usize = 1_024;

/// Resolved folders, by their spelling: comparing paths component by component would cost more than everything else here.
#[derive(Debug, Default)]
pub(super) struct Resolved(Mutex<HashMap<OsString, Plain, RandomState>>);

#[derive(Debug)]
struct Plain {
    /// The folder with links resolved.
    path: PathBuf,
    /// The prefix of its files' names in records of the store's folder, if one was requested.
    begin: Option<String>,
}

impl Resolved {
    /// The path with links resolved as far as it exists. Cached if all of it exists.
    pub(super) fn of(&self, folder: &Path) -> PathBuf {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plain) = known().get(folder.as_os_str()) {
            return plain.path.to_owned();
        }
        let plain = self
            .by_its_parent(folder)
            .or_else(|| fs::canonicalize(folder).ok());
        let Some(plain) = plain else {
            return resolved(folder);
        };
        let mut known = known();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        let new = Plain {
            path: plain.to_owned(),
            begin: None,
        };
        known.insert(folder.as_os_str().to_owned(), new);
        plain
    }

    /// The same by examining one component instead of each component of the path: for a folder that is not itself a link, and whose
    /// parent can be resolved. Only on systems where a folder has a single name.
    fn by_its_parent(&self, folder: &Path) -> Option<PathBuf> {
        let (parent, name) = split(folder).filter(|_| cfg!(target_os = "linux"))?;
        // With a trailing slash, a link stands for its target.
        let spelling = folder.as_os_str().as_encoded_bytes();
        let is_plain = !matches!(name.as_encoded_bytes(), b"" | b"." | b"..")
            && spelling.ends_with(name.as_encoded_bytes())
            && fs::symlink_metadata(folder).is_ok_and(|seen| seen.is_dir());
        is_plain.then(|| self.of(parent).join(name))
    }

    /// The text of the path of a file in `folder`, as [`seen_from`] the folder `here`: links in the folders are resolved, but the
    /// file's own name is kept, even if it is a link or does not exist. `None` if no text can name it.
    pub(super) fn below(&self, here: &Path, folder: &Path, file: &OsStr) -> Option<String> {
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let plain = known.get(folder.as_os_str());
            if let Some(begin) = plain.and_then(|plain| plain.begin.as_deref()) {
                return Some([begin, &*text(Path::new(file))?].concat());
            }
        }
        let here = self.of(here);
        let path = self.of(folder).join(file);
        let text = text(&seen_from(&here, &path))?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The place of the store does not change: even if it is created later, the folder that contains it exists by then.
        if here.is_dir()
            && let Some(plain) = known.get_mut(folder.as_os_str())
        {
            let end = text.rfind('/').map_or(0, |at| at + 1);
            plain.begin = Some(text[..end].to_owned());
        }
        Some(text)
    }
}

/// The path relative to the folder `here`, if it is below it or below its parent: whatever is moved or mounted together keeps its
/// name. Neither path has links.
pub(super) fn seen_from<'p>(here: &Path, path: &'p Path) -> Cow<'p, Path> {
    if let Ok(below) = path.strip_prefix(here) {
        return Cow::Borrowed(below);
    }
    // All is below the root.
    let around = here.parent().filter(|around| around.parent().is_some());
    match around.and_then(|around| path.strip_prefix(around).ok()) {
        Some(beside) => Cow::Owned(Path::new("..").join(beside)),
        None => Cow::Borrowed(path),
    }
}

/// The text of a path, with `/`; `None` if it has none.
pub(super) fn text(path: &Path) -> Option<String> {
    let text = name::to_text(path)?;
    Some(match MAIN_SEPARATOR {
        '/' => text.into_owned(),
        other => text.trim_start_matches(r"\\?\").replace(other, "/"),
    })
}

/// The path with links resolved as far as it exists.
pub fn resolved(path: &Path) -> PathBuf {
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
            let below = |here: &Path| resolved.below(here, &new, OsStr::new("x")).unwrap();
            assert_eq!(below(&top), "real/x");
            assert_eq!(below(&top), "real/x");
        }
        // Resolving by the parent gives the same result as resolving by the system.
        for (name, plain) in [
            ("new/a", "real/a"),
            ("new/a/b", "real/a/b"),
            ("new/../new/a/b/../b", "real/a/b"),
            ("real/./a/.", "real/a"),
            ("new/link/b", "real/a/b"),
            ("new/", "real"),
            ("new/.", "real"),
            ("new/link/", "real/a"),
            ("new/a//b", "real/a/b"),
        ] {
            fs::create_dir_all(top.join("real/a/b")).unwrap();
            #[cfg(unix)]
            {
                let _ = std::os::unix::fs::symlink("a", top.join("real/link"));
                let of = |resolved: &Resolved| resolved.of(&place.path().join(name));
                assert_eq!(of(&resolved), top.join(plain), "{name}");
                assert_eq!(of(&Resolved::default()), top.join(plain), "{name}");
            }
        }
        for n in 0..MAX_REMEMBERED + 9 {
            let folder = top.join(format!("{n}"));
            fs::create_dir(&folder).unwrap();
            assert_eq!(resolved.of(&folder), folder);
        }
        assert!(resolved.0.lock().unwrap().len() <= MAX_REMEMBERED);
    }
}
