//! One part of all inputs, so that several runs share an archive: which part a file is in follows from its path alone.
//!
//! PURE. Does not depend on the machine: the same tree is split in the same way wherever it is mounted.

use std::path::{Path, PathBuf};

use super::find::{COMPACT, split_ending};
use super::{Found, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::store::folder::below;

/// The `index`th of `count` parts, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// The part with this index; `None` if there is no such part.
    pub fn new(index: u64, count: u64) -> Option<Self> {
        (1..=count)
            .contains(&index)
            .then_some(Shard { index, count })
    }

    /// Removes from `found` what belongs to other parts. Files whose outputs or reports could have one name are in one part.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for standard input, which cannot be split.
    pub fn apply(self, found: &mut Found) -> Result<()> {
        if found.sources.contains(&Source::Stdin) {
            return Err(Error::new(
                ErrorKind::Usage,
                "standard input cannot be split into shards",
            )
            .hint("name files or folders"));
        }
        found.sources.retain(|source| match source {
            Source::Stdin => true,
            Source::File(file) => self.has(file.relative()),
        });
        let Found {
            folders,
            missing,
            skipped,
            ..
        } = found;
        let has = |path: &Path| self.has(relative(path, folders));
        missing.retain(|error| has(error.path.as_deref().unwrap_or(Path::new(""))));
        skipped.retain(has);
        Ok(())
    }

    /// Whether a file is in this part, given its path relative to the named folder. The ending of the name does not count.
    pub(super) fn has(self, path: &Path) -> bool {
        let text = path_text(path);
        let stem = split_ending(&text).0;
        let stem = stem.strip_suffix(COMPACT).unwrap_or(stem);
        let hash = blake3::hash(stem.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(first) % self.count == self.index - 1
    }

    /// Distinguishes the reports of this part from those of the others: `shard-3-of-8`.
    pub fn name(self) -> String {
        format!("shard-{}-of-{}", self.index, self.count)
    }
}

/// A path relative to the first of these folders that contains it; only its name if none does, as for an input.
pub(super) fn relative<'p>(path: &'p Path, folders: &[PathBuf]) -> &'p Path {
    let inside = folders.iter().find_map(|folder| below(path, folder));
    let alone = || path.file_name().map(Path::new).unwrap_or(path);
    inside.unwrap_or_else(alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{SkipReason, Skipped};

    #[test]
    fn what_is_not_read_is_of_one_part_wherever_its_tree_is_mounted() {
        let of = |root: &str, index: u64| {
            let mut found = Found {
                folders: vec![PathBuf::from(root)],
                ..Found::default()
            };
            for n in 0..20 {
                let path = Path::new(root).join(format!("d/{n}.jsonl"));
                let error = Error::new(ErrorKind::Io, n.to_string()).at(&path);
                found.missing.push(error);
                found.skipped.insert(path, SkipReason::SameFile);
            }
            Shard::new(index, 3).unwrap().apply(&mut found).unwrap();
            let missing = found.missing.into_iter().map(|error| error.message);
            let skipped: Skipped = found.skipped;
            let skipped: u64 = skipped.groups().values().map(|group| group.count).sum();
            (missing.collect::<Vec<_>>(), skipped)
        };
        let mut all = 0;
        for index in 1..=3 {
            let (missing, skipped) = of("/mnt/a", index);
            assert_eq!((missing.clone(), skipped), of("/data/b", index));
            assert_eq!(missing.len() as u64, skipped);
            all += skipped;
        }
        assert_eq!(all, 20);
    }

    #[test]
    fn each_file_is_in_one_part_which_never_changes() {
        let path = |n: u64| format!("project-{}/session-{n}.jsonl", n % 7);
        for count in [1, 2, 3, 8, 1_000] {
            for n in 0..200 {
                let path = path(n);
                let parts = (1..=count).filter_map(|index| Shard::new(index, count));
                let parts = parts.filter(|shard| shard.has(Path::new(&path)));
                assert_eq!(parts.count(), 1, "{path}");
            }
        }
        // A run of another version or on another machine must split a tree in the same way.
        let of_8 = |path: &str| (1..=8).find(|n| Shard::new(*n, 8).unwrap().has(Path::new(path)));
        let parts = ["a.jsonl", "b.jsonl", "sub/a.jsonl", "ü.jsonl"].map(of_8);
        assert_eq!(parts, [Some(8), Some(1), Some(5), Some(4)]);
    }

    #[test]
    fn files_that_could_have_one_output_are_in_one_part() {
        for n in 0..100 {
            let part = |ending: &str| {
                let path = format!("d/{n}{ending}");
                (1..=16).find(|index| Shard::new(*index, 16).unwrap().has(Path::new(&path)))
            };
            let plain = part(".jsonl");
            for ending in [
                ".jsonl.gz",
                ".jsonl.zst",
                ".json",
                ".compact.jsonl",
                ".JSONL",
            ] {
                assert_eq!(part(ending), plain, "{ending}");
            }
        }
    }

    #[test]
    fn there_is_no_part_0_and_none_beyond_the_last() {
        for (index, count) in [(0, 0), (0, 1), (1, 0), (2, 1), (5, 4)] {
            assert_eq!(Shard::new(index, count), None);
        }
    }
}
