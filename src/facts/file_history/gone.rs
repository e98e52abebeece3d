//! What commands removed, keyed by path: finds what a later command recreates without scanning everything else.
//!
//! PURE. Holds indices, not files: the file's history knows whether its removal is still its last operation.

use std::collections::BTreeMap;

use crate::facts::operation::{Done, FileAction};
use crate::facts::path::is_relative;
use crate::facts::path_scope::{PathScope, UnmatchedOperation};

/// The folders of longer paths are not looked up: no system has such paths.
const LONGEST: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Gone {
    files: BTreeMap<String, usize>,
    /// Those whose removal is certain.
    unmatched: BTreeMap<String, Vec<usize>>,
}

impl Gone {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unmatched.is_empty()
    }

    /// Whether a path, or a folder that contains it, was removed.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
            || self.unmatched.contains_key(path)
            || folders(path).any(|folder| self.unmatched.contains_key(folder))
    }

    /// Records that a file was removed.
    pub(super) fn file(&mut self, path: &str, file: usize) {
        self.files.insert(path.to_owned(), file);
    }

    /// Records the removals among the unmatched operations from this index on.
    pub(super) fn unmatched(&mut self, all: &[UnmatchedOperation], from: usize) {
        for (number, stray) in all.iter().enumerate().skip(from) {
            let operation = &stray.operation;
            let is_removal = matches!(operation.what, FileAction::Delete | FileAction::MoveFrom);
            if let Some(path) = stray.site.path()
                && is_removal
                && operation.done == Done::Yes
            {
                let its = self.unmatched.entry(path.to_owned()).or_default();
                its.push(number);
            }
        }
    }

    /// Rebuilds the index after the unmatched operations were renumbered.
    pub(super) fn unmatched_moved(&mut self, all: &[UnmatchedOperation]) {
        self.unmatched.clear();
        self.unmatched(all, 0);
    }

    /// Takes the files in a place: they are not returned again unless removed again.
    pub(super) fn take_files(&mut self, site: &PathScope) -> Vec<usize> {
        let paths = match site.path() {
            Some(path) => at_or_below(&self.files, path),
            None => {
                let start = site.start();
                let paths = self.files.range(start.clone()..).map(|(path, _)| path);
                let paths = paths.take_while(|path| path.starts_with(&start));
                paths.filter(|path| site.holds(path)).cloned().collect()
            }
        };
        let files = paths.iter().filter_map(|path| self.files.remove(path));
        files.collect()
    }

    /// Takes everything that was removed.
    pub(super) fn take_all(&mut self) -> (Vec<usize>, Vec<usize>) {
        let Gone { files, unmatched } = std::mem::take(self);
        let unmatched = unmatched.into_values().flatten();
        (files.into_values().collect(), unmatched.collect())
    }

    /// Takes the unmatched operations that name a place, something in it, or a folder that contains it.
    pub(super) fn take_unmatched(&mut self, site: &PathScope) -> Vec<usize> {
        let paths = match site.path() {
            Some(path) => {
                let mut paths = at_or_below(&self.unmatched, path);
                paths.extend(folders(path).map(str::to_owned));
                paths
            }
            None if matches!(site, PathScope::Repository(_)) => {
                let paths = self.unmatched.keys().filter(|path| site.holds(path));
                paths.cloned().collect()
            }
            // Which of them, nobody knows.
            None => Vec::new(),
        };
        let unmatched = paths.iter().filter_map(|path| self.unmatched.remove(path));
        unmatched.flatten().collect()
    }
}

fn at_or_below<T>(all: &BTreeMap<String, T>, path: &str) -> Vec<String> {
    // An unknown folder, which contains all relative paths.
    if path == "." {
        let paths = all.keys().filter(|path| is_relative(path));
        return paths.cloned().collect();
    }
    let below = format!("{}/", path.trim_end_matches('/'));
    let inside = all.range(below.clone()..).map(|(path, _)| path);
    let inside = inside.take_while(|path| path.starts_with(&below));
    let own = all.get_key_value(path).map(|(path, _)| path);
    let own = own.filter(|path| !path.starts_with(&below));
    own.into_iter().chain(inside).cloned().collect()
}

/// The folders that contain a path.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let root = match is_relative(path) {
        true => Some("."),
        false => path.starts_with('/').then_some("/"),
    };
    let path = if path.len() > LONGEST { "" } else { path };
    let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
    folders.chain(root)
}
