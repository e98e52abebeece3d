//! Which cases there are: folders with an `input.jsonl`, and pairs of `NAME.jsonl` and `NAME.expected.jsonl`.
//!
//! Reads names alone. What belongs to a case but lacks its other half is a case, too, so that it fails instead of being passed over.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::error::{Error, ErrorKind, Result};
use crate::text::nearest;

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
    /// What `stats` counts.
    Counts,
    /// What is expected where no golden says it.
    Expect,
    Summaries,
    /// What earlier runs are taken to have offloaded to; may not be there.
    Store,
}

impl Part {
    const ALL: [Part; 9] = [
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

    /// Whether only a case has such a file.
    fn is_of_a_case(self) -> bool {
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
    /// What it is called.
    pub(super) fn path(&self) -> &Path {
        match self {
            Case::Folder(path) | Case::Pair(path) => path,
        }
    }

    /// Where a file of it is.
    pub(super) fn file(&self, part: Part) -> PathBuf {
        match (self, part) {
            (Case::Folder(folder), part) => folder.join(part.name()),
            (Case::Pair(base), Part::Input) => with_ending(base, "jsonl"),
            // A scripted summariser answers from one file for all cases of a folder.
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
        let files = parts.map(|part| self.file(part));
        let there = files.into_iter().find(|file| file.exists());
        there.unwrap_or_else(|| self.file(Part::Expected))
    }

    /// What makes it check less than it seems to: no input, or files that mean nothing.
    pub(super) fn gaps(&self) -> Result<Vec<String>> {
        let mut gaps = Vec::new();
        let input = self.file(Part::Input);
        if !input.exists() {
            let name = input.file_name().unwrap_or_default().to_string_lossy();
            gaps.push(format!(
                "{name} is missing, so that nothing is checked: put it back, or remove what is expected of it"
            ));
        }
        let folder = match self {
            Case::Folder(folder) => folder,
            Case::Pair(base) => match base.parent() {
                Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
                Some(folder) => folder,
                None => return Ok(gaps),
            },
        };
        let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, "read", e))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let names: BTreeSet<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let known = Part::ALL.map(Part::name);
        let base = match self {
            Case::Folder(_) => None,
            Case::Pair(base) => base.file_name(),
        };
        let base = base.map(|base| format!("{}.", base.to_string_lossy()));
        for name in &names {
            // What belongs to a pair begins as it does; another name may be another input.
            let part = match &base {
                None => Some(name.as_str()).filter(|name| is_unknown(name, &known)),
                Some(base) => name.strip_prefix(base.as_str()).filter(|part| {
                    part.starts_with("expect") && is_data(part) && !known.contains(part)
                }),
            };
            let Some(part) = part else { continue };
            let begin = base.as_deref().unwrap_or_default();
            let hint = nearest(part, known).map_or(String::new(), |near| {
                format!("; did you mean {begin}{near}?")
            });
            gaps.push(format!("{name} is no file of a case{hint}"));
        }
        Ok(gaps)
    }
}

/// Notes may be beside a case, data and policies of unknown meaning may not. Files of pairs are cases of their own.
fn is_unknown(name: &str, known: &[&str]) -> bool {
    is_data(name) && !name.starts_with('.') && !known.contains(&name) && pair(name).is_none()
}

fn is_data(name: &str) -> bool {
    let mut endings = [".json", ".jsonl", ".toml"].iter();
    endings.any(|ending| name.ends_with(ending))
}

/// `a/b` → `a/b.jsonl`
fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut name = base.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    base.with_file_name(name)
}

/// `x.expected.jsonl` → `x`
fn pair(name: &str) -> Option<&str> {
    let parts = [
        Part::Expected,
        Part::Stats,
        Part::Replay,
        Part::Counts,
        Part::Expect,
    ];
    let parts = parts.into_iter();
    let bases = parts.filter_map(|part| name.strip_suffix(part.name())?.strip_suffix('.'));
    bases.into_iter().find(|base| !base.is_empty())
}

/// Whether a folder without a case is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// It is one.
    Refuse,
    /// It is not.
    Allow,
}

/// The cases below `dir`, sorted.
pub(super) fn cases_below(dir: &Path, empty: Empty) -> Result<Vec<Case>> {
    if !dir.exists() {
        return Err(Error::new(ErrorKind::NotFound, "no such folder")
            .at(dir)
            .hint("a case is a folder with an input.jsonl"));
    }
    let walker = WalkBuilder::new(dir).standard_filters(false).build();
    let mut cases = BTreeSet::new();
    let mut inputs = Vec::new();
    for entry in walker {
        let entry = entry.map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot search this folder: {e}")).at(dir)
        })?;
        let (name, folder) = (entry.file_name().to_string_lossy(), entry.path().parent());
        let Some(folder) = folder.filter(|_| entry.depth() > 0) else {
            continue;
        };
        let mut parts = Part::ALL.into_iter().filter(|part| part.is_of_a_case());
        if parts.any(|part| part.name() == name) {
            cases.insert(Case::Folder(folder.to_owned()));
        } else if let Some(base) = pair(&name) {
            cases.insert(Case::Pair(folder.join(base)));
        } else if let Some(base) = name
            .strip_suffix(".jsonl")
            .filter(|_| Part::Summaries.name() != name)
        {
            inputs.push(folder.join(base));
        }
    }
    // Beside pairs, a transcript without its other half is half of one.
    let is_of_pair = |case: &Case| matches!(case, Case::Pair(_));
    let pairs = cases.iter().filter(|case| is_of_pair(case));
    let folders: BTreeSet<PathBuf> = pairs
        .filter_map(|case| Some(case.path().parent()?.to_owned()))
        .collect();
    let is_beside = |base: &PathBuf| base.parent().is_some_and(|folder| folders.contains(folder));
    cases.extend(inputs.into_iter().filter(is_beside).map(Case::Pair));
    if cases.is_empty() && empty == Empty::Refuse {
        return Err(Error::new(ErrorKind::NoInput, "no case below this folder")
            .at(dir)
            .hint("a case is a folder with an input.jsonl, or NAME.jsonl with NAME.expected.jsonl; --allow-empty accepts none"));
    }
    Ok(cases.into_iter().collect())
}
