//! What a walk leaves out at the user's request: by `--exclude`, or by a `.ctxpackignore` in a walked folder.
//!
//! Globs are those of gitignore. No other ignore file is read, since transcripts are often in ignored folders. Reads nothing but
//! plain files of that name below the walked folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::globs::refused;
use super::skipped::SkipReason;
use crate::error::{Error, ErrorKind, Result};
use crate::store::folder::below;
use crate::store::read_regular;

/// The name of ignore files.
pub(super) const IGNORE: &str = ".ctxpackignore";
/// A larger file is not a list of globs.
const MAX_IGNORE_FILE_BYTES: u64 = 64 << 10;
/// The most globs of one list: all of them are one automaton.
const MOST_GLOBS: usize = 1_000;

/// The globs of `--exclude`.
#[derive(Debug, Clone)]
pub struct Exclude(Gitignore);

impl Default for Exclude {
    /// Excludes nothing.
    fn default() -> Self {
        Exclude(Gitignore::empty())
    }
}

impl Exclude {
    /// Takes globs in gitignore's syntax; the last one that matches decides, and `!` includes a file again.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if one of them is not a valid glob.
    pub fn new(globs: &[String]) -> Result<Self> {
        let mut builder = builder();
        if globs.len() > MOST_GLOBS {
            let message = format!("--exclude: more than {MOST_GLOBS} globs");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        for glob in globs {
            add(&mut builder, glob).map_err(|why| {
                Error::new(ErrorKind::Usage, format!("--exclude {glob}: {why}")).hint(
                    "globs are those of gitignore: *.tmp.jsonl, old/, /top.jsonl, !kept.jsonl",
                )
            })?;
        }
        let globs = builder.build();
        globs
            .map(Exclude)
            .map_err(|error| Error::new(ErrorKind::Usage, format!("--exclude: {error}")))
    }
}

/// What is left out below one folder.
#[derive(Debug)]
pub(super) struct Excluding {
    root: PathBuf,
    named: Exclude,
    read: Mutex<Ignores>,
}

#[derive(Debug, Default)]
struct Ignores {
    /// By the spelling of folders relative to the root: comparing paths component by component would cost more than everything else
    /// here.
    of_folders: HashMap<OsString, Above>,
    faults: Vec<Error>,
}

/// The non-empty ignore files of a folder and its ancestors, the deepest first.
type Above = Arc<[Arc<Ignore>]>;

#[derive(Debug)]
struct Ignore {
    /// Where it is, relative to the root.
    folder: PathBuf,
    globs: Gitignore,
}

impl Excluding {
    /// Globs are relative to `root`.
    pub(super) fn below(root: &Path, named: &Exclude) -> Self {
        Excluding {
            root: root.to_owned(),
            named: named.clone(),
            read: Mutex::default(),
        }
    }

    /// Why a path below the root is left out, if it is. Globs of the command line take precedence over ignore files, and deeper
    /// ignore files over those above them.
    pub(super) fn leaves_out(&self, path: &Path, is_folder: bool) -> Option<SkipReason> {
        let below = below(path, &self.root)?;
        let by = |globs: &Gitignore, below: &Path, why| match globs.matched(below, is_folder) {
            Match::Ignore(_) => Some(Some(why)),
            Match::Whitelist(_) => Some(None),
            Match::None => None,
        };
        if let Some(decided) = by(&self.named.0, below, SkipReason::Excluded) {
            return decided;
        }
        let ignores = self.above(below.parent()?);
        let mut decided = ignores.iter().filter_map(|ignore| {
            let below = below.strip_prefix(&ignore.folder).ok()?;
            by(&ignore.globs, below, SkipReason::Ignored)
        });
        decided.next().flatten()
    }

    /// The ignore files of a folder, given relative to the root, and of its ancestors.
    fn above(&self, folder: &Path) -> Above {
        {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = read.of_folders.get(folder.as_os_str()) {
                return Arc::clone(known);
            }
        }
        let above = folder.parent().map(|above| self.above(above));
        let above = above.unwrap_or_default();
        let (globs, faults) = ignored_in(&self.root.join(folder).join(IGNORE));
        let all = match globs.is_empty() {
            true => above,
            false => {
                let folder = folder.to_owned();
                let own = Arc::new(Ignore { folder, globs });
                [own].into_iter().chain(above.iter().cloned()).collect()
            }
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.faults.extend(faults);
        read.of_folders
            .insert(folder.as_os_str().to_owned(), Arc::clone(&all));
        all
    }

    /// The errors in the ignore files that were read.
    pub(super) fn faults(&self) -> Vec<Error> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut read.faults)
    }
}

/// The globs in an ignore file, if there is one, and its lines that are not globs.
fn ignored_in(path: &Path) -> (Gitignore, Vec<Error>) {
    let none = |fault| (Gitignore::empty(), Vec::from_iter(fault));
    match path.symlink_metadata() {
        Err(_) => return none(None),
        Ok(seen) if !seen.is_file() => {
            let error = Error::new(
                ErrorKind::Io,
                "not a regular file, so its globs are not applied",
            );
            return none(Some(error.at(path)));
        }
        Ok(_) => {}
    }
    let text = match read_regular(path, MAX_IGNORE_FILE_BYTES) {
        Ok(text) => text,
        Err(error) => return none(Some(error)),
    };
    let mut builder = builder();
    let mut faults = Vec::new();
    let text = String::from_utf8_lossy(&text);
    for (line, number) in text.lines().zip(1..).take(MOST_GLOBS) {
        if let Err(why) = add(&mut builder, line) {
            let error = Error::new(ErrorKind::Config, format!("not a glob: {why}"));
            faults.push(error.at(path).on_line(number));
        }
    }
    if text.lines().nth(MOST_GLOBS).is_some() {
        let message = format!("only the first {MOST_GLOBS} lines are read");
        faults.push(Error::new(ErrorKind::Config, message).at(path));
    }
    match builder.build() {
        Ok(globs) => (globs, faults),
        Err(error) => {
            faults.push(Error::new(ErrorKind::Config, error.to_string()).at(path));
            (Gitignore::empty(), faults)
        }
    }
}

/// Adds a line, or returns why it is not a glob.
fn add(builder: &mut GitignoreBuilder, line: &str) -> std::result::Result<(), String> {
    if let Some(why) = refused(line) {
        return Err(why);
    }
    let added = builder.add_line(None, line);
    added.map(drop).map_err(|error| error.to_string())
}

/// A builder for paths that are already relative.
fn builder() -> GitignoreBuilder {
    GitignoreBuilder::new(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_decides_first_and_then_the_deepest_file() {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        std::fs::create_dir(at("deep")).unwrap();
        std::fs::write(at(IGNORE), "*.gz\n# none\n/top.jsonl\nold/\n").unwrap();
        std::fs::write(at("deep/.ctxpackignore"), "!kept.gz\nown.jsonl\n").unwrap();
        let globs = ["named*", "!top.jsonl"].map(str::to_owned);
        let excluding = Excluding::below(tree.path(), &Exclude::new(&globs).unwrap());
        let why = |name: &str| excluding.leaves_out(&at(name), name.ends_with("old"));
        let (excluded, ignored) = (Some(SkipReason::Excluded), Some(SkipReason::Ignored));
        for (name, expected) in [
            ("a.jsonl", None),
            ("named.jsonl", excluded),
            ("deep/named.jsonl", excluded),
            ("top.jsonl", None),
            ("deep/top.jsonl", None),
            ("a.gz", ignored),
            ("deep/a.gz", ignored),
            ("deep/kept.gz", None),
            ("kept.gz", ignored),
            ("deep/own.jsonl", ignored),
            ("own.jsonl", None),
            ("deep/old", ignored),
        ] {
            assert_eq!(why(name), expected, "{name}");
        }
        assert!(excluding.faults().is_empty());
        // A bracket that nothing closes stands for itself, and so excludes the file of that name and no other.
        let excluding = Excluding::below(tree.path(), &Exclude::new(&["a[b*".to_owned()]).unwrap());
        assert_eq!(excluding.leaves_out(&at("a[b.jsonl"), false), excluded);
        assert_eq!(excluding.leaves_out(&at("ab.jsonl"), false), None);
        assert_eq!(
            Exclude::new(&["a{b".to_owned()]).unwrap_err().kind,
            ErrorKind::Usage
        );
    }
}
