//! What commands have removed, by its paths: what a later command makes again is found without a look at everything else.
//!
//! PURE. Holds numbers, no files: whether the last thing done to one is still its removal, the history of the file knows.

use std::collections::BTreeMap;

use crate::facts::operation::{Done, FileAction};
use crate::facts::path::is_relative;
use crate::facts::path_scope::{PathScope, UnmatchedOperation};

/// Of a longer path, no folder is looked up: no system has such paths.
const LONGEST: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Gone {
    files: BTreeMap<String, usize>,
    /// Those whose removal is sure.
    unmatched: BTreeMap<String, Vec<usize>>,
}

impl Gone {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unmatched.is_empty()
    }

    /// Whether a path, or a folder that it is in, is one of what was removed.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
            || self.unmatched.contains_key(path)
            || folders(path).any(|folder| self.unmatched.contains_key(folder))
    }

    /// Notes that a file was removed.
    pub(super) fn file(&mut self, path: &str, file: usize) {
        self.files.insert(path.to_owned(), file);
    }

    /// Notes the removals among the unmatched operations from this number on.
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

    /// The unmatched operations have other numbers now.
    pub(super) fn unmatched_moved(&mut self, all: &[UnmatchedOperation]) {
        self.unmatched.clear();
        self.unmatched(all, 0);
    }

    /// The files in a place; nobody is told of them again unless they are removed again.
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

    /// All that was removed.
    pub(super) fn take_all(&mut self) -> (Vec<usize>, Vec<usize>) {
        let Gone { files, unmatched } = std::mem::take(self);
        let unmatched = unmatched.into_values().flatten();
        (files.into_values().collect(), unmatched.collect())
    }

    /// The unmatched that name a place, what is in it, or a folder that it is in; the same holds for them.
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
    // An unknown folder, in which relative paths are.
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

/// The folders that a path is in.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let root = match is_relative(path) {
        true => Some("."),
        false => path.starts_with('/').then_some("/"),
    };
    let path = if path.len() > LONGEST { "" } else { path };
    let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
    folders.chain(root)
}
