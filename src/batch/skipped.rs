//! Why a run skips files and folders although nothing failed, and what it has skipped.
//!
//! PURE. Contains only names, sentences and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::outcome::{EXAMPLES, NAMED_AT_MOST, path_text};

/// The maximum number of extensions per reason that are counted separately: each takes memory.
const MOST_EXTENSIONS: usize = 256;

/// Why something in a walked folder is not read although nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// A link to a folder that is not itself below the walked one.
    FolderLink,
    /// A store with an unusual name.
    Store,
    /// A pipe, socket or device with the name of a transcript.
    NoFile,
    /// A link to nothing, or one without the name of a transcript that cannot be followed.
    BrokenLink,
    /// A file that is already an input under another path.
    SameFile,
    /// A file without the name of a transcript.
    OtherExtension,
    /// A file with the name of an output of ours, without its input beside it.
    Output,
    /// Excluded by a glob of the command line.
    Excluded,
    /// Excluded by an ignore file.
    Ignored,
    /// Last written to before the requested time.
    Older,
    /// Last written to after the requested time.
    Newer,
    /// Belongs to another project, or to none that is known.
    OtherProject,
    /// None of its conversations lacks a summary because a model failed.
    NotDegraded,
    /// The input of this output of an earlier run is gone.
    Vanished,
    /// Likewise, and a run that writes would remove it, because that was asked for.
    ToPrune,
    /// Likewise, and the output was removed.
    Pruned,
    /// Likewise, but the output has changed since, so that it stays.
    VanishedButChanged,
}

impl SkipReason {
    const ALL: [SkipReason; 17] = [
        SkipReason::FolderLink,
        SkipReason::Store,
        SkipReason::NoFile,
        SkipReason::BrokenLink,
        SkipReason::SameFile,
        SkipReason::OtherExtension,
        SkipReason::Output,
        SkipReason::Excluded,
        SkipReason::Ignored,
        SkipReason::Older,
        SkipReason::Newer,
        SkipReason::OtherProject,
        SkipReason::NotDegraded,
        SkipReason::Vanished,
        SkipReason::ToPrune,
        SkipReason::Pruned,
        SkipReason::VanishedButChanged,
    ];

    /// Its number; valid only within a run.
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    /// The reason with this number.
    pub(super) fn numbered(number: u32) -> Option<Self> {
        SkipReason::ALL.get(number as usize).copied()
    }

    /// The stable name that scripts branch on.
    pub fn kind(self) -> &'static str {
        match self {
            SkipReason::FolderLink => "folder_link",
            SkipReason::Store => "store",
            SkipReason::NoFile => "no_file",
            SkipReason::BrokenLink => "broken_link",
            SkipReason::SameFile => "same_file",
            SkipReason::OtherExtension => "other_extension",
            SkipReason::Output => "output",
            SkipReason::Excluded => "excluded",
            SkipReason::Ignored => "ignored",
            SkipReason::Older => "older",
            SkipReason::Newer => "newer",
            SkipReason::OtherProject => "other_project",
            SkipReason::NotDegraded => "not_degraded",
            SkipReason::Vanished => "vanished",
            SkipReason::ToPrune => "to_prune",
            SkipReason::Pruned => "pruned",
            SkipReason::VanishedButChanged => "vanished_but_changed",
        }
    }

    /// The extension of `path`, if it was skipped for that: with the dot, in lower case. `None` if it does not look like an
    /// extension: names may end in anything.
    pub fn extension(self, path: &Path) -> Option<String> {
        /// No usual extension is longer, in bytes.
        const LONGEST: usize = 10;
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_one = extension.len() <= LONGEST
            && extension.bytes().any(|b| b.is_ascii_alphabetic())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        (self == SkipReason::OtherExtension && is_one).then(|| format!(".{extension}"))
    }

    /// The sentence that describes it.
    pub fn message(self) -> &'static str {
        match self {
            SkipReason::FolderLink => "links to folders are not followed",
            SkipReason::Store => "not searched: this is a ctxpack store",
            SkipReason::NoFile => "not a regular file, not read",
            SkipReason::BrokenLink => "the link is broken, not read",
            SkipReason::SameFile => {
                "not read again: the same file is already an input under another path"
            }
            SkipReason::OtherExtension => {
                "not read: the name does not end in .jsonl, .jsonl.gz or .jsonl.zst"
            }
            SkipReason::Output => "not read: named like an output of ctxpack",
            SkipReason::Excluded => "left out by --exclude",
            SkipReason::Ignored => "left out by .ctxpackignore",
            SkipReason::Older => "left out: older than --since",
            SkipReason::Newer => "left out: newer than --until",
            SkipReason::OtherProject => "left out: does not match --project",
            SkipReason::NotDegraded => {
                "left out by --retry-degraded: no summary of it failed, or it has changed since"
            }
            SkipReason::Vanished => "an output whose input no longer exists",
            SkipReason::ToPrune => {
                "an output whose input no longer exists: --prune-outputs removes it without --dry-run"
            }
            SkipReason::Pruned => {
                "removed by --prune-outputs: an output whose input no longer exists"
            }
            SkipReason::VanishedButChanged => {
                "an output whose input no longer exists, and that has changed since: not removed"
            }
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            SkipReason::FolderLink => Some("name the folder itself to search it"),
            SkipReason::Output => Some("name the file itself to read it"),
            SkipReason::Vanished => Some("--prune-outputs removes such outputs"),
            SkipReason::Store
            | SkipReason::NoFile
            | SkipReason::BrokenLink
            | SkipReason::SameFile
            | SkipReason::OtherExtension
            | SkipReason::Excluded
            | SkipReason::Ignored
            | SkipReason::Older
            | SkipReason::Newer
            | SkipReason::OtherProject
            | SkipReason::NotDegraded
            | SkipReason::ToPrune
            | SkipReason::Pruned
            | SkipReason::VanishedButChanged => None,
        }
    }

    /// Whether the user wanted it to be left out.
    pub fn is_asked_for(self) -> bool {
        match self {
            SkipReason::FolderLink
            | SkipReason::Store
            | SkipReason::NoFile
            | SkipReason::BrokenLink
            | SkipReason::SameFile
            | SkipReason::OtherExtension
            | SkipReason::Output
            | SkipReason::Vanished
            | SkipReason::ToPrune
            | SkipReason::VanishedButChanged => false,
            SkipReason::Excluded
            | SkipReason::Ignored
            | SkipReason::Older
            | SkipReason::Newer
            | SkipReason::OtherProject
            | SkipReason::NotDegraded
            | SkipReason::Pruned => true,
        }
    }
}

/// What a run has skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    paths: BTreeSet<(PathBuf, SkipReason)>,
    counted: BTreeMap<Why, Group>,
}

/// The reason, and the extension if that is the reason.
type Why = (SkipReason, Option<String>);

/// What was skipped for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The number of paths.
    pub count: u64,
    /// The first of them in path order, up to [`NAMED_AT_MOST`].
    pub first: BTreeSet<PathBuf>,
    /// The first of their texts in character order, up to [`EXAMPLES`].
    pub examples: BTreeSet<String>,
}

impl Skipped {
    /// Adds a path; one that was already added for the same reason counts once.
    pub fn insert(&mut self, path: PathBuf, why: SkipReason) {
        self.paths.insert((path, why));
    }

    /// Adds a path that is never looked up again, so memory is bounded however many are added.
    pub(super) fn count(&mut self, path: PathBuf, why: SkipReason) {
        let mut of = (why, why.extension(&path));
        if self.counted.len() >= MOST_EXTENSIONS && !self.counted.contains_key(&of) {
            of.1 = None;
        }
        self.counted.entry(of).or_default().add(path);
    }

    /// Adds what was counted elsewhere, and returns its number.
    pub(super) fn absorb(&mut self, other: Skipped) -> u64 {
        let mut sum = 0;
        for (why, group) in other.counted {
            sum += group.count;
            let here = self.counted.entry(why).or_default();
            here.count += group.count;
            here.first.extend(group.first);
            here.examples.extend(group.examples);
            here.trim();
        }
        sum
    }

    /// Whether something was skipped because the user asked for it.
    pub fn is_asked_for(&self) -> bool {
        let counted = self.counted.keys().map(|(why, _)| why);
        let mut all = self.paths.iter().map(|(_, why)| why).chain(counted);
        all.any(|why| why.is_asked_for())
    }

    /// Everything that was skipped, grouped by reason.
    pub fn groups(&self) -> BTreeMap<Why, Group> {
        let mut groups = self.counted.clone();
        for (path, why) in &self.paths {
            let group = groups.entry((*why, why.extension(path)));
            group.or_default().add(path.clone());
        }
        groups
    }
}

impl Extend<(PathBuf, SkipReason)> for Skipped {
    fn extend<T: IntoIterator<Item = (PathBuf, SkipReason)>>(&mut self, paths: T) {
        self.paths.extend(paths);
    }
}

impl FromIterator<(PathBuf, SkipReason)> for Skipped {
    fn from_iter<T: IntoIterator<Item = (PathBuf, SkipReason)>>(paths: T) -> Self {
        let mut skipped = Skipped::default();
        skipped.extend(paths);
        skipped
    }
}

impl Group {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        self.examples.insert(path_text(&path));
        self.first.insert(path);
        self.trim();
    }

    fn trim(&mut self) {
        while self.examples.len() > EXAMPLES {
            self.examples.pop_last();
        }
        while self.first.len() > NAMED_AT_MOST {
            self.first.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told_as_what_is_held() {
        let path =
            |n: usize| PathBuf::from(format!("in/{}.{}", n * 7919 % 999, ["md", "txt"][n % 2]));
        let why = |n: usize| match n % 3 {
            0 => SkipReason::Excluded,
            _ => SkipReason::OtherExtension,
        };
        let held: Skipped = (0..999).map(|n| (path(n), why(n))).collect();
        let (mut counted, mut rest) = (Skipped::default(), Skipped::default());
        (0..400).for_each(|n| counted.count(path(n), why(n)));
        (400..999).for_each(|n| rest.count(path(n), why(n)));
        assert_eq!(counted.absorb(rest), 599);
        assert_eq!(counted.groups(), held.groups());
        assert!(counted.is_asked_for() && held.is_asked_for());
        let groups = held.groups();
        assert_eq!(groups.values().map(|group| group.count).sum::<u64>(), 999);
        assert_eq!(groups.len(), 3);
        assert!(
            groups
                .values()
                .all(|group| group.first.len() == NAMED_AT_MOST)
        );
    }

    #[test]
    fn each_reason_has_a_number_of_its_own() {
        for (number, why) in (0..).zip(SkipReason::ALL) {
            assert_eq!(
                (why.number(), SkipReason::numbered(number)),
                (number, Some(why))
            );
        }
    }

    #[test]
    fn examples_are_the_first_by_their_characters() {
        let mut skipped = Skipped::default();
        for name in ["a/0", "a/1", "a/2", "a/3", "a/4", "a-b"] {
            skipped.count(
                PathBuf::from(format!("in/{name}.txt")),
                SkipReason::OtherExtension,
            );
        }
        let groups = skipped.groups();
        let (_, group) = groups.first_key_value().unwrap();
        assert_eq!(group.examples.first().unwrap(), "in/a-b.txt");
        assert_eq!(group.examples.len(), EXAMPLES);
        // Whatever the extensions are, the number of groups is bounded.
        for n in 0..2 * MOST_EXTENSIONS {
            skipped.count(PathBuf::from(format!("x.e{n}")), SkipReason::OtherExtension);
        }
        assert_eq!(skipped.groups().len(), MOST_EXTENSIONS + 1);
    }
}
