//! Finds outputs in an output folder whose input is gone, and removes them on request.
//!
//! Considers only what a record of the store names, below the folders that were walked; removes only files that still have the
//! bytes that the record names. An input that cannot be examined, or that was left out of the run, is not gone; one that has been
//! replaced by a folder or a pipe is.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::found::Found;
use super::key_set::{KeySet, place_key};
use super::list::unkept;
use super::resume::MatchedInputs;
use super::skipped::SkipReason;
use super::sorter::Sorter;
use super::{Destination, Effect, Options, Shard, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::store::folder::{Durability, Folder};
use crate::store::{self, FOLDER, Missing, OpenPath, Store, atomic, manifest};

/// What happens to an output whose input is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanPolicy {
    /// It stays, and is reported.
    Keep,
    /// It is removed, unless it has changed.
    Prune,
}

/// Outputs whose input is gone.
#[derive(Debug, Default)]
pub struct OrphanReport {
    /// The outputs, and what happened to each.
    pub outputs: Vec<(PathBuf, SkipReason)>,
    /// What failed.
    pub faults: Vec<Error>,
}

/// Finds the outputs of earlier runs whose input is gone, and returns what happened to them, with any errors.
///
/// # Errors
/// If the records cannot be read.
pub fn orphaned_outputs(
    found: &Found,
    met: &MatchedInputs,
    options: &Options,
    orphans: OrphanPolicy,
    shard: Option<Shard>,
) -> Result<OrphanReport> {
    let Destination::Folder(out) = &options.destination else {
        return Ok(OrphanReport::default());
    };
    let root = options.store.clone().unwrap_or_else(|| out.join(FOLDER));
    let store = Store::new(root, Durability::Lazy);
    if !store.exists()? {
        return Ok(OrphanReport::default());
    }
    let OrphanReport {
        mut outputs,
        mut faults,
    } = OrphanReport::default();
    let mut changed_folders = HashSet::new();
    for (name, hashes) in without_input(&store, found, met, (out, &options.scratch()))? {
        // Each shard reports its own.
        if shard.is_some_and(|shard| !shard.has(Path::new(&name))) {
            continue;
        }
        let path = out.join(manifest::path_in_folder(&name));
        match fate(out, &path, &hashes, orphans, options.effect) {
            Ok(Some(why)) => {
                if why == SkipReason::Pruned {
                    changed_folders.extend(path.parent().map(Path::to_owned));
                }
                outputs.push((path, why));
            }
            Ok(None) => {}
            Err(error) => faults.push(error),
        }
    }
    let mut folders: Vec<PathBuf> = changed_folders.into_iter().collect();
    folders.sort();
    for folder in folders {
        let synced = Folder::open(&folder).and_then(|folder| folder.sync());
        faults.extend(
            synced
                .err()
                .map(|e| Error::io(&folder, "flush the folder", e)),
        );
    }
    Ok(OrphanReport { outputs, faults })
}

/// The outputs whose input is gone, by their paths in the output folder, with all the hashes that records give them.
fn without_input(
    store: &Store,
    found: &Found,
    met: &MatchedInputs,
    (out, scratch): (&Path, &Path),
) -> Result<BTreeMap<String, Vec<String>>> {
    if met.has_all() {
        return Ok(BTreeMap::new());
    }
    let top = folder_name(store, out)?;
    let mut roots = Vec::new();
    for folder in &found.folders {
        roots.push(folder_name(store, folder)?);
    }
    let here = outputs(found, scratch)?;
    let mut fault = None;
    let is_unmet = |names: &manifest::Names<'_>| !met.has(&names.input);
    let is_nowhere = |output: &str| {
        let output = manifest::path_in_folder(output);
        let mut folders = found.folders.iter();
        folders.all(|folder| is_gone(&folder.join(&output)))
    };
    let mut gone: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut look = |record: manifest::Record| {
        let Some(output) = below(&record.output, &top) else {
            return;
        };
        let is_ours = roots
            .iter()
            .any(|root| below(&record.input, root).is_some());
        let is_here = here.has(Path::new(output)).unwrap_or_else(|error| {
            fault.get_or_insert(error);
            true
        });
        if is_ours && !is_here && is_gone(&store.path_of(&record.input)) && is_nowhere(output) {
            gone.entry(output.to_owned())
                .or_default()
                .push(record.output_hash);
        }
    };
    store.each_record_of(Some(&is_unmet), &mut look)?;
    if let Some(error) = fault {
        return Err(unkept(error));
    }
    if !gone.is_empty() {
        // The output may have been made from another input since.
        store.each_record(|record| {
            if let Some(output) = below(&record.output, &top)
                && gone.contains_key(output)
                && !is_gone(&store.path_of(&record.input))
            {
                gone.remove(output);
            }
        })?;
    }
    Ok(gone)
}

/// What happens to an output without an input; `None` if the output is gone, too.
fn fate(
    out: &Path,
    path: &Path,
    hashes: &[String],
    orphans: OrphanPolicy,
    effect: Effect,
) -> Result<Option<SkipReason>> {
    let spot = match OpenPath::below(out, path, Missing::Refuse) {
        Ok(spot) if spot.look()?.is_some_and(|seen| seen.is_file()) => spot,
        Ok(_) => return Ok(None),
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if orphans == OrphanPolicy::Keep {
        return Ok(Some(SkipReason::Vanished));
    }
    let mut file = spot.read()?;
    let hash = store::hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
    if !hashes.contains(&hash) {
        return Ok(Some(SkipReason::VanishedButChanged));
    }
    match effect {
        Effect::DryRun => Ok(Some(SkipReason::ToPrune)),
        Effect::Write if atomic::remove(&spot, &file)? => Ok(Some(SkipReason::Pruned)),
        // Another program has put a different file there meanwhile.
        Effect::Write => Ok(Some(SkipReason::VanishedButChanged)),
    }
}

/// The paths in the output folder that this run writes for inputs that are not below a named folder; all other outputs have the
/// names of their inputs there.
fn outputs(found: &Found, scratch: &Path) -> Result<KeySet> {
    let mut outputs = Sorter::new(scratch);
    for source in found.sources.iter() {
        if let Source::File(file) = &*source?
            && file.folder.is_none()
            && let Some(name) = manifest::name_in_folder(file.relative())
        {
            outputs.add(place_key(Path::new(&name))).map_err(unkept)?;
        }
    }
    KeySet::of(outputs, scratch).map_err(unkept)
}

/// The prefix of the names that records give to files in a folder.
fn folder_name(store: &Store, folder: &Path) -> Result<String> {
    let name = store.name_of(&folder.join("x"))?;
    Ok(name[..name.len() - 1].to_owned())
}

/// The rest of a name below a folder.
fn below<'n>(name: &'n str, folder: &str) -> Option<&'n str> {
    name.strip_prefix(folder).filter(|rest| !rest.is_empty())
}

/// Whether there is certainly no such file: nothing, or something that is not a file, such as a folder or a pipe. A broken link may
/// lead to a disk that is not mounted, and so may a broken link in place of a folder.
fn is_gone(path: &Path) -> bool {
    let is_no_file = |seen: &Metadata| !seen.is_file();
    match path.symlink_metadata() {
        Ok(seen) if seen.is_symlink() => path.metadata().is_ok_and(|seen| is_no_file(&seen)),
        Ok(seen) => is_no_file(&seen),
        Err(e) => {
            let is_missing = matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            );
            is_missing && !is_below_broken_link(path)
        }
    }
}

/// Whether the nearest existing ancestor is a broken link.
fn is_below_broken_link(path: &Path) -> bool {
    let mut above = path.ancestors().skip(1);
    let there = above.find_map(|folder| Some((folder, folder.symlink_metadata().ok()?)));
    there.is_some_and(|(folder, seen)| seen.is_symlink() && folder.metadata().is_err())
}
