//! Finds the cases below folders.
//!
//! Only reads names, lists each folder once, and follows no link below the named folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::cases::Part;
use super::names::{Below, Listed, cases_in};
use crate::batch::{SkipReason, Skipped};
use crate::error::{Error, ErrorKind, Result};
use crate::store::FOLDER;

/// What is below the named folders.
#[derive(Debug, Default)]
pub(super) struct Searched {
    /// Each once, in the order of the folders, then by path.
    pub(super) cases: Vec<Listed>,
    /// Paths that could have been a folder of cases.
    pub(super) skipped: Skipped,
    /// Policies that belong to no case.
    pub(super) policies: Vec<PathBuf>,
}

/// Whether a folder without a case is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// It is an error.
    Refuse,
    /// It is not an error.
    Allow,
}

/// The cases below `dirs`.
pub(super) fn search(dirs: &[PathBuf], empty: Empty) -> Result<Searched> {
    let mut searched = Searched::default();
    // A folder may be named twice, in different spellings, or lie inside another one.
    let mut seen = BTreeSet::new();
    for dir in dirs {
        let root = dir.canonicalize().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "no such folder")
                .at(dir)
                .hint("a case is a folder with an input.jsonl"),
            _ => Error::io(dir, "search", e),
        })?;
        let mut is_new = |path: &Path| {
            let below = path.strip_prefix(dir).unwrap_or(path);
            seen.insert(root.join(below))
        };
        let (folders, links) = walked(dir, &root)?;
        let above: BTreeSet<&Path> = folders
            .keys()
            .filter_map(|folder| folder.parent())
            .collect();
        let mut stores = BTreeSet::new();
        let mut has_case = false;
        for (folder, names) in &folders {
            // The contents of a store are none of our concern.
            if folder.ancestors().any(|above| stores.contains(above)) {
                continue;
            }
            let below = match above.contains(folder.as_path()) {
                true => Below::Folders,
                false => Below::Nothing,
            };
            let cases = cases_in(folder, names, below);
            if cases.is_empty() && names.contains(Part::Policy.name()) {
                searched.policies.push(folder.join(Part::Policy.name()));
            }
            has_case |= !cases.is_empty();
            stores.extend(cases.iter().map(|listed| listed.case.file(Part::Store)));
            if is_new(folder) {
                searched.cases.extend(cases);
            }
        }
        let links = links.into_iter().filter(|(path, _)| is_new(path));
        searched.skipped.extend(links);
        if !has_case && empty == Empty::Refuse {
            return Err(Error::new(ErrorKind::NoInput, "no case below this folder")
                .at(dir)
                .hint("a case is a folder with an input.jsonl, or NAME.jsonl with NAME.expected.jsonl; --allow-empty accepts none"));
        }
    }
    Ok(searched)
}

type Folders = BTreeMap<PathBuf, BTreeSet<String>>;

/// The names in each folder below `dir`, and the links that were not followed; `root` is the real path of `dir`.
fn walked(dir: &Path, root: &Path) -> Result<(Folders, BTreeSet<(PathBuf, SkipReason)>)> {
    let walker = WalkBuilder::new(dir)
        .standard_filters(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != FOLDER)
        .build();
    let mut folders = Folders::new();
    let mut links = BTreeSet::new();
    for entry in walker {
        let entry = entry.map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot search this folder: {e}")).at(dir)
        })?;
        let Some(folder) = entry.path().parent().filter(|_| entry.depth() > 0) else {
            continue;
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path_is_symlink() {
            links.extend(skipped(entry.path(), root).map(|why| (entry.path().to_owned(), why)));
        }
        folders.entry(folder.to_owned()).or_default().insert(name);
    }
    Ok((folders, links))
}

/// Why a link is passed by, if it could have led to cases that are not found otherwise.
fn skipped(link: &Path, root: &Path) -> Option<SkipReason> {
    match link.canonicalize() {
        Ok(target) => {
            (target.is_dir() && !target.starts_with(root)).then_some(SkipReason::FolderLink)
        }
        Err(_) => Some(SkipReason::BrokenLink),
    }
}
