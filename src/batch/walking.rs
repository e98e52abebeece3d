//! The inputs of one folder while it is still being walked: work on the first begins before the last is found.
//!
//! Used only if nothing depends on the whole list: see [`StreamingWalk::of`]. Finds and reports the same as [`super::find`]. Holds
//! each path only as long as its input is in progress.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find::{PlaceKey, place_key};
use super::find::{interest, no_transcript, nothing};
use super::shard::relative;
use super::skipped::SkipReason;
use super::snapshot::Snapshot;
use super::walk::{Leave, Shows, WalkedFile, walk_each};
use super::{
    Destination, Exclude, FileSource, Filter, Found, Options, Origin, Scope, Shard, Skipped, Source,
};
use crate::error::Result;
use crate::store::folder::below;
use crate::store::{FOLDER, FileIdentity};

/// A folder whose inputs are worked on while it is walked.
#[derive(Debug)]
pub struct StreamingWalk {
    pub(super) folder: PathBuf,
    skip: Option<PathBuf>,
    exclude: Exclude,
    shard: Option<Shard>,
    /// Selects the files; applied by the threads that process them.
    pub(super) filter: Filter,
}

impl StreamingWalk {
    /// A streaming walk for `paths`, if they name one folder whose inputs cannot interfere with each other, so that each can be
    /// decided alone: outputs go in place, or next to their inputs, or in the same tree to a folder that contains no input. A run
    /// that uses a server, or forks, or writes messages, has to know its inputs first; so does a run over several folders: two of
    /// their outputs may be the same file, links may lead from one folder to the other, and both must be reported before anything
    /// is written. A list takes about 100 bytes per input: 10.2 MiB more than a walk for 100 000 paths of 28 characters.
    pub fn of(
        paths: &[PathBuf],
        options: &Options,
        (exclude, filter): (&Exclude, &Filter),
        shard: Option<Shard>,
    ) -> Option<Self> {
        let [folder] = paths else {
            return None;
        };
        let is_alone = options.scope == Scope::All
            && options.server.is_none()
            // A hook may write anything anywhere.
            && options.hooks.pre.is_none()
            && options.hooks.post.is_none()
            && options.fork.is_none()
            && options.emit.is_none()
            && folder.is_dir();
        let store = options.store.as_deref();
        if store.is_some_and(|store| is_in_the_way(store, folder, SkipRule::ByName)) {
            return None;
        }
        let skip = match &options.destination {
            Destination::Folder(out) if is_in_the_way(out, folder, SkipRule::IfThere) => {
                return None;
            }
            Destination::Folder(out) => Some(out.clone()),
            // The walk skips what is written there because of its name.
            Destination::InPlace | Destination::Beside => None,
            Destination::File(_) | Destination::Stdout => return None,
        };
        is_alone.then(|| StreamingWalk {
            folder: folder.clone(),
            skip,
            exclude: exclude.clone(),
            shard,
            filter: filter.clone(),
        })
    }

    /// The approximate number of inputs: judged by their names alone, and counting each link.
    pub(super) fn count(&self) -> u64 {
        let leave = Leave {
            skip: self.skip.as_deref(),
            exclude: &self.exclude,
        };
        let mut count = 0;
        let show = &mut |met, _: &Shows<'_>| {
            let (WalkedFile::File(path) | WalkedFile::Link(path, _)) = met;
            let inside = below(&path, &self.folder).unwrap_or(&path);
            let is_ours = self.shard.is_none_or(|shard| shard.has(inside));
            count += u64::from(is_ours);
        };
        walk_each(
            &self.folder,
            leave,
            |_, name| interest(name),
            (show, &mut |_, _| {}),
        );
        count
    }

    /// Walks the folder and shows each input with its snapshot, if one can be taken, in path order. Returns the rest of what was
    /// found.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoInput`] if nothing at all was found.
    pub(super) fn each(&self, show: &mut dyn FnMut(Source, Option<Snapshot>)) -> Result<Found> {
        let folder: Arc<Path> = self.folder.as_path().into();
        let plain = folder.canonicalize().ok();
        let leave = Leave {
            skip: self.skip.as_deref(),
            exclude: &self.exclude,
        };
        let mut met = 0;
        let mut is_empty = true;
        let mut links = Links::default();
        let skipped = RefCell::new(Skipped::default());
        let folders = [self.folder.clone()];
        let is_of_shard = |path: &Path| {
            let shard = self.shard;
            shard.is_none_or(|shard| shard.has(relative(path, &folders)))
        };
        let show_file = &mut |file, shows: &Shows<'_>| {
            is_empty = false;
            let plain = plain.as_deref();
            let (path, is_new) = links.once(file, (&folder, plain), shows);
            let file = FileSource {
                path,
                folder: Some(Arc::clone(&folder)),
                origin: Origin::Walked,
            };
            if is_new == Times::Again {
                // Sharded like everything else that is skipped.
                if is_of_shard(&file.path) {
                    skipped.borrow_mut().count(file.path, SkipReason::SameFile);
                }
                return;
            }
            if !is_of_shard(&file.path) {
                return;
            }
            met += 1;
            let seen = file.path.metadata().ok();
            let look = seen.map(|seen| Snapshot::now(FileIdentity::of_input(&file.path, &seen)));
            show(Source::File(file), look);
        };
        let mut is_left_out = false;
        let pass = &mut |path: PathBuf, why: SkipReason| {
            is_left_out |= why.is_asked_for();
            if is_of_shard(&path) {
                skipped.borrow_mut().count(path, why);
            }
        };
        let unseen = walk_each(&folder, leave, |_, name| interest(name), (show_file, pass));
        if is_empty && !(is_left_out && unseen.is_empty()) {
            let unseen = match unseen.is_empty() {
                true => vec![no_transcript(&folder)],
                false => unseen,
            };
            return Err(nothing(unseen));
        }
        let mut found = Found {
            sources: Vec::new(),
            folders: vec![self.folder.clone()],
            missing: unseen,
            skipped: skipped.into_inner(),
            met,
        };
        if let Some(shard) = self.shard {
            shard.apply(&mut found)?;
        }
        Ok(found)
    }
}

/// The targets of links that were taken: a file counts once, by the first of its paths.
#[derive(Debug, Default)]
struct Links(HashSet<PlaceKey>);

impl Links {
    /// The path of a file, and whether it is found for the first time or is already an input under another path. `plain` is the
    /// folder without links.
    fn once(
        &mut self,
        file: WalkedFile,
        (folder, plain): (&Path, Option<&Path>),
        shows: &Shows<'_>,
    ) -> (PathBuf, Times) {
        let (path, is_new) = match file {
            WalkedFile::File(path) => {
                let is_new = self.0.is_empty() || {
                    let below = path.strip_prefix(folder).ok();
                    let place = plain.zip(below).map(|(plain, below)| plain.join(below));
                    !place.is_some_and(|place| self.0.contains(&place_key(&place)))
                };
                (path, is_new)
            }
            WalkedFile::Link(path, target) => {
                let below = plain.and_then(|plain| target.strip_prefix(plain).ok());
                let own = below.map(|below| folder.join(below));
                let is_old = own.is_some_and(|own| own < path && shows(&own));
                (path, !is_old && self.0.insert(place_key(&target)))
            }
        };
        let times = match is_new {
            true => Times::First,
            false => Times::Again,
        };
        (path, times)
    }
}

/// Whether a file is met for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    First,
    Again,
}

/// Whether a walk of `folder` could meet what a run writes to `written`, or outputs could replace inputs there. An existing folder
/// is left out of the walk according to `rule`.
fn is_in_the_way(written: &Path, folder: &Path, rule: SkipRule) -> bool {
    let (Some(written), Ok(folder)) = (resolved(written), folder.canonicalize()) else {
        return true;
    };
    let is_left_out = match rule {
        SkipRule::IfThere => written.is_dir(),
        SkipRule::ByName => written.ends_with(FOLDER),
    };
    match rule {
        SkipRule::IfThere if folder.starts_with(&written) => true,
        SkipRule::IfThere | SkipRule::ByName => written.starts_with(&folder) && !is_left_out,
    }
}

/// Which of the folders that a run writes to are left out of its walk.
#[derive(Debug, Clone, Copy)]
enum SkipRule {
    /// The folder, if it exists when the walk begins.
    IfThere,
    /// The folder, if it has the name of a store.
    ByName,
}

/// A path with the links in its existing part resolved.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors();
    above.find_map(|there| {
        let here = match there.as_os_str().is_empty() {
            true => Path::new("."),
            false => there,
        };
        let plain = here.canonicalize().ok()?;
        Some(plain.join(path.strip_prefix(there).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_walk_does_not_begin_where_it_could_meet_what_the_run_writes() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("in/old")).unwrap();
        fs::create_dir(at("out")).unwrap();
        for (out, is) in [
            ("out", false),
            ("new", false),
            // Whether it could be in the way: an existing folder is left out of the walk, a new one is not.
            ("in/old", false),
            ("in/new", true),
            ("in/new/deep", true),
            ("in/old/new", true),
            ("in", true),
            ("", true),
            ("out/../in", true),
        ] {
            assert_eq!(
                is_in_the_way(&at(out), &at("in"), SkipRule::IfThere),
                is,
                "{out}"
            );
        }
        for (store, is) in [
            ("out/s", false),
            ("in/.ctxpack", false),
            ("in/s", true),
            ("in/old", true),
            ("", false),
        ] {
            assert_eq!(
                is_in_the_way(&at(store), &at("in"), SkipRule::ByName),
                is,
                "{store}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_met_once_as_when_it_is_listed() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join("in").join(name);
        fs::create_dir_all(at("m/.ctxpack")).unwrap();
        fs::create_dir_all(at("gone")).unwrap();
        for name in [
            "m/a.jsonl",
            "m/b.jsonl",
            "n.jsonl",
            "note.txt",
            "m/.ctxpack/c.jsonl",
            "gone/d.jsonl",
        ] {
            fs::write(at(name), "{}").unwrap();
        }
        // Links that come before and after their targets, two to the same one, and links to files that no walk shows.
        for (link, target) in [
            ("0.jsonl", "m/a.jsonl"),
            ("z.jsonl", "m/b.jsonl"),
            ("m-.jsonl", "note.txt"),
            ("m/0.jsonl", "../note.txt"),
            ("y.jsonl", "m/.ctxpack/c.jsonl"),
            ("x.jsonl", "gone/d.jsonl"),
            ("y2.jsonl", "y.jsonl"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let exclude = Exclude::new(&["gone/".to_owned()]).unwrap();
        let listed = crate::batch::find(&[at("")], None, &exclude).unwrap();
        let walking = StreamingWalk {
            folder: at(""),
            skip: None,
            exclude,
            shard: None,
            filter: Filter::default(),
        };
        let mut met = Vec::new();
        let found = walking
            .each(&mut |source, look| met.push((source, look)))
            .unwrap();
        let (sources, looks): (Vec<Source>, Vec<Option<Snapshot>>) = met.into_iter().unzip();
        assert_eq!(sources, listed.sources);
        assert!(
            looks
                .iter()
                .all(|look| look.is_some_and(|look| look.seen.bytes == 2))
        );
        assert_eq!(
            (found.met, found.skipped.groups()),
            (sources.len() as u64, listed.skipped.groups())
        );
        assert_eq!(sources.len(), 6, "{sources:?}");
        // Includes links to files that are inputs themselves.
        assert_eq!(walking.count(), 10);
    }
}
