//! One part of all inputs, so that several runs share an archive: which part a file is in follows from its path alone.
//!
//! PURE. Does not depend on the machine: the same tree is split in the same way wherever it is mounted.

use std::path::{Path, PathBuf};

use super::names::{COMPACT, split_ending};
use crate::error::Error;
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

    /// Removes the errors that belong to other parts, of walks of these folders.
    pub(super) fn retain_errors(self, errors: &mut Vec<Error>, folders: &[PathBuf]) {
        let path = |error: &Error| error.path.clone().unwrap_or_default();
        errors.retain(|error| self.has(relative(&path(error), folders)));
    }

    /// Whether a file is in this part, given its path relative to the named folder. The ending of the name does not count: files
    /// whose outputs or reports could have one name are in one part.
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
    use crate::error::ErrorKind;

    #[test]
    fn what_is_not_read_is_of_one_part_wherever_its_tree_is_mounted() {
        let of = |root: &str, index: u64| {
            let error = |n: u64| {
                let path = Path::new(root).join(format!("d/{n}.jsonl"));
                Error::new(ErrorKind::Io, n.to_string()).at(&path)
            };
            let mut missing: Vec<Error> = (0..20).map(error).collect();
            let shard = Shard::new(index, 3).unwrap();
            shard.retain_errors(&mut missing, &[PathBuf::from(root)]);
            let missing = missing.into_iter().map(|error| error.message);
            missing.collect::<Vec<_>>()
        };
        let mut all = 0;
        for index in 1..=3 {
            let missing = of("/mnt/a", index);
            assert_eq!(missing, of("/data/b", index));
            all += missing.len();
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
