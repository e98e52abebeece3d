//! The path by which a text names the store's folder, so that readers of the text can open what is in it.
//!
//! Resolves links, so that the path is valid from the actual location of the text, and otherwise reads nothing. Never shortens or
//! escapes a path: a path that is not Unicode has no name here.

use std::path::{Component, Path, PathBuf};

use super::Store;
use super::folder::folder_of;

impl Store {
    /// The store's whole path, with `/` on every system; `None` if it is not Unicode.
    pub fn whole_path(&self) -> Option<String> {
        written(&self.resolved.of(self.root()))
    }

    /// The store's path relative to the folder of `file`; its absolute path if there is no relative one, as between drives. `None`
    /// if it is not Unicode.
    pub fn path_beside(&self, file: &Path) -> Option<String> {
        let store = self.resolved.of(self.root());
        let folder = self.resolved.of(folder_of(file));
        written(&between(&folder, &store).unwrap_or(store))
    }

    /// The store's path as it was given.
    pub fn given_path(&self) -> Option<String> {
        written(self.root())
    }
}

/// The path from one folder to another; both are absolute and free of links.
fn between(from: &Path, to: &Path) -> Option<PathBuf> {
    let (mut from, mut to) = (from.components(), to.components());
    let mut shared = 0;
    loop {
        let (before, after) = (from.clone(), to.clone());
        match (from.next(), to.next()) {
            (Some(a), Some(b)) if a == b => shared += 1,
            _ => {
                (from, to) = (before, after);
                break;
            }
        }
    }
    let up = from.map(|_| Component::ParentDir);
    (shared > 0).then(|| up.chain(to).collect())
}

fn written(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    Some(match cfg!(windows) {
        true => of_windows(path),
        false => path.to_owned(),
    })
}

/// A Windows path with `/`, without the verbatim prefix.
fn of_windows(path: &str) -> String {
    let path = match path.strip_prefix(r"\\?\UNC\") {
        // On another computer.
        Some(share) => format!(r"\\{share}"),
        None => path.strip_prefix(r"\\?\").unwrap_or(path).to_owned(),
    };
    path.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::folder::Durability;

    #[test]
    fn a_path_leads_from_one_folder_to_another() {
        let path = |from: &str, to: &str| between(Path::new(from), Path::new(to));
        let is = |from: &str, to: &str, path: &str| {
            assert_eq!(
                between(Path::new(from), Path::new(to)).unwrap(),
                Path::new(path)
            );
        };
        is("/a/b", "/a/b/.ctxpack", ".ctxpack");
        is("/a/b/c", "/a/.ctxpack", "../../.ctxpack");
        is("/a/bc", "/a/b/s", "../b/s");
        is("/", "/s", "s");
        is("/x/y", "/s", "../../s");
        assert_eq!(path("a", "/s"), None);
    }

    #[test]
    fn a_whole_path_of_windows_stays_whole() {
        for (path, expected) in [
            (r"\\?\C:\w\s", "C:/w/s"),
            (r"\\?\UNC\srv\share\x", "//srv/share/x"),
            (r"\\srv\share\x", "//srv/share/x"),
            (r"C:\w", "C:/w"),
        ] {
            assert_eq!(of_windows(path), expected, "{path}");
        }
    }

    #[test]
    fn a_link_on_the_way_is_resolved() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        let store = Store::new(root.join(".ctxpack"), Durability::Lazy);
        assert_eq!(store.path_beside(&root.join("x")).unwrap(), ".ctxpack");
        assert_eq!(
            store.path_beside(&root.join("real/deep/x")).unwrap(),
            "../../.ctxpack"
        );
        // A folder that does not exist yet.
        assert_eq!(
            store.path_beside(&root.join("new/er/x")).unwrap(),
            "../../.ctxpack"
        );
        let whole = format!("{}/.ctxpack", root.display());
        assert_eq!(store.whole_path().unwrap(), whole);
        #[cfg(unix)]
        {
            let link = root.join("link");
            std::os::unix::fs::symlink(root.join("real/deep"), &link).unwrap();
            assert_eq!(
                store.path_beside(&link.join("x")).unwrap(),
                "../../.ctxpack"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_unicode_has_no_name_in_a_text() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let odd = Path::new("/tmp").join(OsStr::from_bytes(b"caf\xe9"));
        let store = Store::new(odd.join("s"), Durability::Lazy);
        assert_eq!(store.whole_path(), None);
        assert_eq!(store.given_path(), None);
        // From beside it, its own name is enough.
        assert_eq!(store.path_beside(&odd.join("x")).unwrap(), "s");
    }
}
