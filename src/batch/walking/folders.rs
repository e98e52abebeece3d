//! Walks several folders, one after the other, and shows each file once.
//!
//! Finds and reports the same as [`Search::inputs`](crate::batch::Search::inputs), but makes no list. Opens no file.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::batch::find::{interest, no_transcript, nothing, once_each};
use crate::batch::key_set::{PlaceKey, place_key};
use crate::batch::shard::relative;
use crate::batch::skipped::SkipReason;
use crate::batch::walk::{Leave, Shows, WalkedFile, walk_each};
use crate::batch::{Exclude, FileSource, Found, Origin, Shard, Skipped};
use crate::error::{Error, Result};
use crate::store::folder::below;

/// Folders of which none contains another, and what is taken from them.
#[derive(Debug)]
pub(super) struct Folders {
    /// As they were named.
    paths: Vec<PathBuf>,
    /// The numbers of these paths, in the order of the paths.
    order: Vec<usize>,
    /// This folder is left out.
    skip: Option<PathBuf>,
    exclude: Exclude,
    shard: Option<Shard>,
}

/// Receives an input. Can end the walk.
pub(super) type Show<'s> = dyn FnMut(FileSource) -> ControlFlow<()> + 's;

impl Folders {
    /// These folders; `None` if two of them have files in common: which of its paths such a file is known by depends on all.
    pub(super) fn of(
        paths: &[PathBuf],
        skip: Option<&Path>,
        (exclude, shard): (&Exclude, Option<Shard>),
    ) -> Option<Self> {
        let plain = paths.iter().map(|path| path.canonicalize().ok());
        let mut plain: Vec<PathBuf> = plain.collect::<Option<_>>()?;
        // What a folder contains comes right behind it.
        plain.sort();
        let are_apart = plain.windows(2).all(|two| !two[1].starts_with(&two[0]));
        let are_folders = !paths.is_empty() && plain.iter().all(|path| path.is_dir());
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|number| &paths[*number]);
        (are_apart && are_folders).then(|| Folders {
            paths: paths.to_vec(),
            order,
            skip: skip.map(Path::to_owned),
            exclude: exclude.clone(),
            shard,
        })
    }

    /// The folders, as they were named.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The folders in the order in which they are walked: that of their paths.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &PathBuf> {
        let paths = self.order.iter().map(|number| self.paths.get(*number));
        paths.flatten()
    }

    fn leave(&self) -> Leave<'_> {
        Leave {
            skip: self.skip.as_deref(),
            exclude: &self.exclude,
        }
    }

    /// The approximate number of inputs: judged by their names alone, and counting each link.
    pub(super) fn count(&self) -> u64 {
        let mut count = 0;
        for folder in &self.paths {
            let show = &mut |met, _: &Shows<'_>| {
                let (WalkedFile::File(path) | WalkedFile::Link(path, _)) = met;
                let inside = below(&path, folder).unwrap_or(&path);
                let is_ours = self.shard.is_none_or(|shard| shard.has(inside));
                count += u64::from(is_ours);
                ControlFlow::Continue(())
            };
            walk_each(folder, self.leave(), interest, (show, &mut |_, _| {}));
        }
        count
    }

    /// Walks the folders and shows each input, in path order. Returns the rest of what was found.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoInput`] if nothing at all was found.
    pub(super) fn each(&self, show: &mut Show<'_>) -> Result<Found> {
        let mut walking = Walking {
            folders: self,
            links: Links::default(),
            met: 0,
            is_empty: true,
            is_left_out: false,
            missing: BTreeMap::new(),
            skipped: Skipped::default(),
        };
        let mut numbers = self.order.iter().zip(self.in_order());
        // Ends early only if no more inputs are wanted.
        let _ = numbers.try_for_each(|(number, path)| walking.folder(*number, path, show));
        let Walking {
            met,
            is_empty,
            is_left_out,
            missing,
            skipped,
            ..
        } = walking;
        let mut missing = once_each(missing.into_values().flatten().collect());
        if is_empty && !(is_left_out && missing.is_empty()) {
            return Err(nothing(missing));
        }
        if let Some(shard) = self.shard {
            shard.retain_errors(&mut missing, &self.paths);
        }
        Ok(Found {
            folders: self.paths.clone(),
            missing,
            skipped,
            met,
            ..Found::default()
        })
    }
}

/// What a walk in progress has found.
struct Walking<'w> {
    folders: &'w Folders,
    links: Links,
    met: u64,
    is_empty: bool,
    /// Whether something was left out because the user asked for that.
    is_left_out: bool,
    /// By the numbers of the folders.
    missing: BTreeMap<usize, Vec<Error>>,
    skipped: Skipped,
}

impl Walking<'_> {
    /// Walks one folder.
    fn folder(&mut self, number: usize, path: &Path, show: &mut Show<'_>) -> ControlFlow<()> {
        let folder: Arc<Path> = path.into();
        let plain = folder.canonicalize().ok();
        let Folders { paths, shard, .. } = self.folders;
        let is_of_shard = |path: &Path| shard.is_none_or(|shard| shard.has(relative(path, paths)));
        let skipped = RefCell::new(&mut self.skipped);
        let mut is_bare = true;
        let mut flow = ControlFlow::Continue(());
        let show_file = &mut |met, shows: &Shows<'_>| {
            is_bare = false;
            let times = self.links.look(&met, (&folder, plain.as_deref()), shows);
            let (WalkedFile::File(path) | WalkedFile::Link(path, _)) = met;
            if times == Times::Again {
                // Sharded like everything else that is skipped.
                if is_of_shard(&path) {
                    skipped.borrow_mut().count(path, SkipReason::SameFile);
                }
                return flow;
            }
            let file = FileSource {
                path,
                folder: Some(Arc::clone(&folder)),
                origin: Origin::Walked,
            };
            if shard.is_none_or(|shard| shard.has(file.relative())) {
                self.met += 1;
                flow = show(file);
            }
            flow
        };
        let (mut is_left_out, mut outputs) = (false, 0);
        let pass = &mut |path: PathBuf, why: SkipReason| {
            is_left_out |= why.is_asked_for();
            outputs += u64::from(why == SkipReason::Output);
            if is_of_shard(&path) {
                skipped.borrow_mut().count(path, why);
            }
        };
        let mut errors = walk_each(path, self.folders.leave(), interest, (show_file, pass));
        if is_bare && errors.is_empty() && !is_left_out {
            errors.push(no_transcript(path, outputs));
        }
        self.missing.insert(number, errors);
        self.is_empty &= is_bare;
        self.is_left_out |= is_left_out;
        flow
    }
}

/// The targets of links that were taken: a file counts once, by the first of its paths.
#[derive(Debug, Default)]
struct Links(HashSet<PlaceKey>);

impl Links {
    /// Whether a file is found for the first time, or is already an input under another path. `plain` is the folder without links.
    fn look(
        &mut self,
        file: &WalkedFile,
        (folder, plain): (&Path, Option<&Path>),
        shows: &Shows<'_>,
    ) -> Times {
        let is_new = match file {
            WalkedFile::File(path) => {
                self.0.is_empty() || {
                    let below = path.strip_prefix(folder).ok();
                    let place = plain.zip(below).map(|(plain, below)| plain.join(below));
                    !place.is_some_and(|place| self.0.contains(&place_key(&place)))
                }
            }
            WalkedFile::Link(path, target) => {
                let below = plain.and_then(|plain| target.strip_prefix(plain).ok());
                let own = below.map(|below| folder.join(below));
                let is_old = own.is_some_and(|own| own < *path && shows(&own));
                !is_old && self.0.insert(place_key(target))
            }
        };
        match is_new {
            true => Times::First,
            false => Times::Again,
        }
    }
}

/// Whether a file is met for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    First,
    Again,
}
