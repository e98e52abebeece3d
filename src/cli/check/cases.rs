//! What a case is, and where its files are: in a folder with an `input.jsonl`, or next to `NAME.jsonl` with names that begin with
//! the same `NAME`.
//!
//! Reads no file.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// A case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Case {
    /// A folder with files of fixed names.
    Folder(PathBuf),
    /// Files that begin with this path and a dot.
    Pair(PathBuf),
}

/// A file of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Input,
    Policy,
    Expected,
    Stats,
    Replay,
    /// The counts of `stats`.
    Counts,
    /// Expectations that are not in a golden.
    Expect,
    Summaries,
    /// The store that earlier runs are assumed to have offloaded to; need not exist.
    Store,
}

impl Part {
    pub(super) const ALL: [Part; 9] = [
        Part::Input,
        Part::Policy,
        Part::Expected,
        Part::Stats,
        Part::Replay,
        Part::Counts,
        Part::Expect,
        Part::Summaries,
        Part::Store,
    ];

    /// Its name in a folder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Input => "input.jsonl",
            Part::Policy => "policy.toml",
            Part::Expected => "expected.jsonl",
            Part::Stats => "expected.stats.json",
            Part::Replay => "expected.replay.json",
            Part::Counts => "expected.counts.json",
            Part::Expect => "expect.toml",
            Part::Summaries => "summaries.jsonl",
            Part::Store => "store",
        }
    }

    /// Whether such a file occurs only in cases.
    pub(super) fn is_of_a_case(self) -> bool {
        match self {
            Part::Input
            | Part::Expected
            | Part::Stats
            | Part::Replay
            | Part::Counts
            | Part::Expect => true,
            Part::Policy | Part::Summaries | Part::Store => false,
        }
    }
}

impl Case {
    /// The path by which the case is named.
    pub(super) fn path(&self) -> &Path {
        match self {
            Case::Folder(path) | Case::Pair(path) => path,
        }
    }

    /// The path of one of its files.
    pub(super) fn file(&self, part: Part) -> PathBuf {
        match (self, part) {
            (Case::Folder(folder), part) => folder.join(part.name()),
            (Case::Pair(base), Part::Input) => with_ending(base, "jsonl"),
            // The scripted summariser's answers are in one file for all cases of a folder.
            (Case::Pair(base), Part::Summaries) => base.with_file_name(part.name()),
            (
                Case::Pair(base),
                Part::Policy
                | Part::Expected
                | Part::Stats
                | Part::Replay
                | Part::Counts
                | Part::Expect
                | Part::Store,
            ) => with_ending(base, part.name()),
        }
    }

    /// The file that says what is expected of it: the first that is there.
    pub(super) fn golden(&self) -> PathBuf {
        let parts = [
            Part::Expected,
            Part::Replay,
            Part::Counts,
            Part::Expect,
            Part::Stats,
        ];
        let there = parts.into_iter().find(|part| self.has(*part));
        self.file(there.unwrap_or(Part::Expected))
    }

    /// Whether one of its files exists, even as a broken link.
    pub(super) fn has(&self, part: Part) -> bool {
        self.file(part).symlink_metadata().is_ok()
    }

    /// Fails if one of its files is a link: a case may have come with another person's folder, and no file outside of it must be
    /// read.
    pub(super) fn is_of_plain_files(&self) -> Result<()> {
        let files = Part::ALL.map(|part| self.file(part));
        let is_link = |file: &PathBuf| {
            let seen = file.symlink_metadata();
            seen.is_ok_and(|seen| seen.is_symlink())
        };
        match files.into_iter().find(is_link) {
            None => Ok(()),
            Some(file) => {
                let message = "a link, and files of cases are not read through links";
                Err(Error::new(ErrorKind::Io, message)
                    .at(file)
                    .hint("replace it by its target"))
            }
        }
    }
}

/// `a/b` → `a/b.jsonl`
fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut name = base.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    base.with_file_name(name)
}
