//! Collects what a command line names, in whatever order and however often, and lists each input once, in path order.
//!
//! The same file by several paths counts once, by the first of them. Holds a bounded number of paths in memory. Opens no file.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::key_set::{PlaceKey, place_key};
use super::list::{
    FolderTable, ListWriter, SourceList, put_number, put_path, take_number, take_path, unkept,
};
use super::shard::{Shard, relative};
use super::skipped::{SkipReason, Skipped};
use super::sorter::{Item, SortedItems, Sorter};
use super::source::{FileSource, Origin, Source};
use crate::error::Result;

/// What was found so far.
#[derive(Debug)]
pub(super) struct Gatherer {
    /// Where files go.
    scratch: PathBuf,
    folders: FolderTable,
    entries: Sorter<Entry>,
    stdin: Vec<Source>,
    has_files: bool,
    is_left_out: bool,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    path: PathBuf,
    what: What,
    /// The place where a file really is.
    place: PlaceKey,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// An input, and the folder below which it was found, with its number.
    Input(Option<(Arc<Path>, u32)>, Origin),
    Skipped(SkipReason),
}

impl What {
    const SKIPPED: u8 = 0;
    const NAMED: u8 = 1;
    const WALKED: u8 = 2;
}

impl Item for Entry {
    type Context = [Arc<Path>];

    fn memory(&self) -> usize {
        size_of::<Self>() + self.path.as_os_str().len()
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        match &self.what {
            What::Skipped(why) => {
                to.write_all(&[What::SKIPPED])?;
                put_number(to, why.number())?;
            }
            What::Input(folder, origin) => {
                to.write_all(&[match origin {
                    Origin::Named => What::NAMED,
                    Origin::Walked => What::WALKED,
                }])?;
                put_number(to, folder.as_ref().map_or(0, |(_, number)| number + 1))?;
            }
        }
        to.write_all(&self.place)?;
        put_path(to, &self.path)
    }

    fn read(from: &mut dyn BufRead, folders: &[Arc<Path>]) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let mut tag = [0];
        from.read_exact(&mut tag)?;
        let number = take_number(from)?;
        let folder = |number: u32| {
            let folder = folders.get(number as usize).cloned();
            folder.map(|folder| (folder, number)).ok_or_else(invalid)
        };
        let input = |origin| {
            let folder = number.checked_sub(1).map(folder).transpose()?;
            Ok::<_, io::Error>(What::Input(folder, origin))
        };
        let what = match tag {
            [What::NAMED] => input(Origin::Named)?,
            [What::WALKED] => input(Origin::Walked)?,
            _ => What::Skipped(SkipReason::numbered(number).ok_or_else(invalid)?),
        };
        let mut place = PlaceKey::default();
        from.read_exact(&mut place)?;
        Ok(Entry {
            path: take_path(from)?,
            what,
            place,
        })
    }
}

/// A place and the number of an input there, for sorting.
type Numbered = [u8; 24];

impl Gatherer {
    /// Nothing yet. Files go to `scratch` if that exists.
    pub(super) fn new(scratch: &Path) -> Self {
        Gatherer {
            scratch: scratch.to_owned(),
            folders: FolderTable::default(),
            entries: Sorter::new(scratch),
            stdin: Vec::new(),
            has_files: false,
            is_left_out: false,
        }
    }

    #[cfg(test)]
    fn with_most(scratch: &Path, most: usize) -> Self {
        Gatherer {
            entries: Sorter::with_most(scratch, most),
            ..Gatherer::new(scratch)
        }
    }

    /// Adds standard input.
    pub(super) fn stdin(&mut self) {
        self.stdin = vec![Source::Stdin];
    }

    /// Adds a file that is at `place` once links are resolved.
    pub(super) fn file(&mut self, file: FileSource, place: &Path) -> io::Result<()> {
        let folder = match file.folder {
            None => None,
            Some(folder) => {
                let number = self.folders.number(&folder)?;
                Some((folder, number))
            }
        };
        self.has_files = true;
        self.entries.add(Entry {
            path: file.path,
            what: What::Input(folder, file.origin),
            place: place_key(place),
        })
    }

    /// Adds what a walk has skipped.
    pub(super) fn skip(&mut self, path: PathBuf, why: SkipReason) -> io::Result<()> {
        self.is_left_out |= why.is_asked_for();
        self.entries.add(Entry {
            path,
            what: What::Skipped(why),
            place: PlaceKey::default(),
        })
    }

    /// Whether there is no input.
    pub(super) fn has_none(&self) -> bool {
        self.stdin.is_empty() && !self.has_files
    }

    /// Whether standard input was added.
    pub(super) fn has_stdin(&self) -> bool {
        !self.stdin.is_empty()
    }

    /// Whether something was skipped because the user asked for that.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_left_out
    }

    /// The inputs of a part, and what was skipped; `folders` are those that were named.
    ///
    /// # Errors
    /// If the disk is full.
    pub(super) fn finish(
        self,
        shard: Option<Shard>,
        folders: &[PathBuf],
    ) -> Result<(SourceList, Skipped)> {
        let sorted = self.entries.sorted().map_err(unkept)?;
        let entries = Entries {
            sorted,
            table: self.folders.folders,
        };
        let again = entries.met_again(&self.scratch)?;
        let mut again = again.iter(&()).map_err(unkept)?.peekable();
        let mut list = ListWriter::new(&self.scratch);
        let mut skipped = Skipped::default();
        let mut last_again = None;
        for source in self.stdin {
            list.push(source)?;
        }
        let mut number: u64 = 0;
        entries.each(&mut |entry| {
            let is_meant = |path: &Path| shard.is_none_or(|shard| shard.has(path));
            let Entry { path, what, .. } = entry;
            let (folder, origin) = match what {
                What::Skipped(why) => {
                    if is_meant(relative(&path, folders)) {
                        skipped.count(path, why);
                    }
                    return Ok(());
                }
                What::Input(folder, origin) => (folder, origin),
            };
            let own = number.to_be_bytes();
            number += 1;
            match again.peek() {
                Some(Ok(next)) if *next != own => {}
                None => {}
                Some(_) => {
                    again.next().transpose().map_err(unkept)?;
                    // Several paths of one spelling count once.
                    if is_meant(relative(&path, folders)) && last_again.as_ref() != Some(&path) {
                        skipped.count(path.clone(), SkipReason::SameFile);
                    }
                    last_again = Some(path);
                    return Ok(());
                }
            }
            let file = FileSource {
                path,
                folder: folder.map(|(folder, _)| folder),
                origin,
            };
            match is_meant(file.relative()) {
                true => list.push(Source::File(file)),
                false => Ok(()),
            }
        })?;
        Ok((list.finish()?, skipped))
    }
}

/// Everything that was found, in path order.
struct Entries {
    sorted: SortedItems<Entry>,
    table: Vec<Arc<Path>>,
}

impl Entries {
    /// Shows each entry once, however often it was found.
    fn each(&self, show: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        let mut last: Option<(PathBuf, What)> = None;
        for entry in self.sorted.iter(&self.table).map_err(unkept)? {
            let entry = entry.map_err(unkept)?;
            let is_again = last
                .as_ref()
                .is_some_and(|(path, what)| *path == entry.path && *what == entry.what);
            if !is_again {
                last = Some((entry.path.clone(), entry.what.clone()));
                show(entry)?;
            }
        }
        Ok(())
    }

    /// The numbers of inputs that are at the place of an earlier one.
    fn met_again(&self, scratch: &Path) -> Result<SortedItems<[u8; 8]>> {
        let mut places: Sorter<Numbered> = Sorter::new(scratch);
        let mut number: u64 = 0;
        self.each(&mut |entry| {
            if let What::Input(..) = entry.what {
                let mut numbered = Numbered::default();
                let (place, own) = numbered.split_at_mut(size_of::<PlaceKey>());
                place.copy_from_slice(&entry.place);
                own.copy_from_slice(&number.to_be_bytes());
                places.add(numbered).map_err(unkept)?;
                number += 1;
            }
            Ok(())
        })?;
        let places = places.sorted().map_err(unkept)?;
        let mut again = Sorter::new(scratch);
        let mut last: Option<Numbered> = None;
        for numbered in places.iter(&()).map_err(unkept)? {
            let numbered = numbered.map_err(unkept)?;
            let (place, own) = numbered.split_at(size_of::<PlaceKey>());
            if last.is_some_and(|last| last.starts_with(place)) {
                let mut number = [0; size_of::<u64>()];
                number.copy_from_slice(own);
                again.add(number).map_err(unkept)?;
            }
            last = Some(numbered);
        }
        again.sorted().map_err(unkept)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    /// What is told to a gatherer.
    enum Told {
        Stdin,
        File(FileSource, PathBuf),
        Skip(PathBuf, SkipReason),
    }

    /// Overlapping folders, patterns and names, in no order, as a walk of each would tell them.
    fn told(seed: u64) -> Vec<Told> {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let folders = ["in", "in/a", "in/a-", "./in", "in/a/"];
        let one = |_| {
            let number = random(9);
            let place = PathBuf::from(format!("/top/in/a/{number}.jsonl"));
            let (path, folder) = match random(7) {
                0 => return Told::Stdin,
                1 => {
                    let why = [SkipReason::Excluded, SkipReason::OtherExtension];
                    let path = PathBuf::from(format!("in/a/{number}.txt"));
                    return Told::Skip(path, why[random(2) as usize]);
                }
                // By another path, such as a link's.
                2 => (format!("in/a-/{number}.jsonl"), None),
                3 => (format!("in//a/{number}.jsonl"), None),
                _ => {
                    let folder = folders[random(5) as usize];
                    let below = match folder.ends_with("in") {
                        true => "/a/",
                        false => "/",
                    };
                    (format!("{folder}{below}{number}.jsonl"), Some(folder))
                }
            };
            let file = FileSource {
                path: PathBuf::from(path),
                folder: folder.map(|folder| Path::new(folder).into()),
                origin: [Origin::Named, Origin::Walked][random(2) as usize],
            };
            Told::File(file, place)
        };
        (0..seed % 90).map(one).collect()
    }

    /// The same by sets in memory.
    fn plainly(told: &[Told], shard: Option<Shard>, folders: &[PathBuf]) -> (Vec<Source>, Skipped) {
        let mut sources = BTreeSet::new();
        let mut places = std::collections::HashMap::new();
        let mut skipped = BTreeSet::new();
        for one in told {
            match one {
                Told::Stdin => drop(sources.insert(Source::Stdin)),
                Told::Skip(path, why) => drop(skipped.insert((path.clone(), *why))),
                Told::File(file, place) => {
                    places.insert(file.path.clone(), place.clone());
                    sources.insert(Source::File(file.clone()));
                }
            }
        }
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for source in sources {
            match source {
                Source::File(file) if !seen.insert(places[&file.path].clone()) => {
                    skipped.insert((file.path, SkipReason::SameFile));
                }
                Source::File(file) if shard.is_some_and(|shard| !shard.has(file.relative())) => {}
                source => kept.push(source),
            }
        }
        skipped.retain(|(path, _)| shard.is_none_or(|shard| shard.has(relative(path, folders))));
        (kept, skipped.into_iter().collect())
    }

    #[test]
    fn each_input_is_listed_once_as_by_sets_in_memory() {
        let place = tempfile::tempdir().unwrap();
        let folders = ["in", "in/a"].map(PathBuf::from);
        for seed in 0..300 {
            let told = told(seed);
            let shard = Shard::new(1 + seed % 2, 2).filter(|_| seed % 3 == 0);
            let (expected, left) = plainly(&told, shard, &folders);
            for most in [1, 600, 1 << 20] {
                let mut gatherer = Gatherer::with_most(place.path(), most);
                for one in &told {
                    match one {
                        Told::Stdin => gatherer.stdin(),
                        Told::Skip(path, why) => gatherer.skip(path.clone(), *why).unwrap(),
                        Told::File(file, place) => gatherer.file(file.clone(), place).unwrap(),
                    }
                }
                let (list, skipped) = gatherer.finish(shard, &folders).unwrap();
                assert_eq!(list.to_vec().unwrap(), expected, "{seed} by {most}");
                assert_eq!(skipped.groups(), left.groups(), "{seed} by {most}");
            }
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
