//! What is recorded of an output: its names, its hashes, and what its original needs.
//!
//! PURE. Determines whether one of our runs would write a record, and which of several is the newest; reads and writes none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::archive::{archive_name, is_archive_name, is_copy_name};
use crate::store::digits;
use crate::store::name::{self, RAW};
use crate::store::offload::is_offload_name;

/// Where an output came from. Hashes and lengths are those of the files on the disk, compressed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The output, named by [`name_of`](crate::store::Store::name_of); `-` is the standard output.
    pub output: String,
    /// Hash of its bytes.
    pub output_hash: String,
    /// Length in bytes: anything beyond it was appended later.
    pub output_bytes: u64,
    /// The input, named by [`name_of`](crate::store::Store::name_of); `-` is the standard input.
    pub input: String,
    /// Hash of its bytes.
    pub input_hash: String,
    /// Length in bytes.
    pub input_bytes: u64,
    /// Where the original bytes are.
    pub original: Original,
    /// The archive's name, if there is one.
    pub archive: Option<String>,
    /// Names of the offloaded contents that the output needs.
    pub offloads: Vec<String>,
    /// Names of the plain copies of originals that the output's summaries name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
    /// Offloaded contents that the input needed and the output does not; they are in the archive now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleaned: Vec<ArchivedOffload>,
    /// The live tokens that the conversations of the output had before the first compaction, by their ids in a report, if the
    /// target is a share of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub originals: BTreeMap<String, u64>,
    /// How many of its conversations have no model's summary, because the model or its server failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_summaries: u64,
    /// Hash of the effective policy.
    pub policy_hash: String,
    /// The number of the run in its store, from 1; runs that began at the same moment can have the same number. 0: written before
    /// there were numbers. Clocks and file times are not used: a copy, a checkout or a coarse file system makes them equal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sequence: u64,
    /// The lowest number of the runs that were active when this one began, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<u64>,
}

/// The names of a record, by [`name_of`](crate::store::Store::name_of).
#[derive(Debug, Deserialize)]
pub struct Names<'l> {
    /// Its output.
    #[serde(borrow)]
    pub output: Cow<'l, str>,
    /// Its input.
    #[serde(borrow)]
    pub input: Cow<'l, str>,
}

/// An offloaded content that was moved into the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedOffload {
    /// Its name among the offloads.
    pub name: String,
    /// Its name in the archive.
    pub archive: String,
}

/// Where the original bytes of an output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Original {
    /// In the input, which the run did not change.
    Input,
    /// In the store's archive.
    Archive,
    /// Nowhere: the output is a session of its own, and the input that it was made from stays.
    Fork,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Record {
    /// Whether its run had ended when the run of another record began.
    pub(super) fn is_before(&self, other: &Record) -> bool {
        self.sequence < other.overlaps.unwrap_or(other.sequence)
    }

    /// Whether one of our runs could have written this: its names are well formed and consistent.
    pub(super) fn is_ours(&self) -> bool {
        let archived = match (self.original, &self.archive) {
            (Original::Archive, Some(archive)) => *archive == archive_name(&self.input_hash),
            (Original::Archive, None) => false,
            (Original::Input, archive) => archive.is_none(),
            (Original::Fork, archive) => {
                let name = || archive_name(&self.input_hash);
                archive.as_ref().is_none_or(|archive| *archive == name())
            }
        };
        let cleaned = |cleaned: &ArchivedOffload| {
            is_offload_name(&cleaned.name)
                && is_archive_name(&cleaned.archive)
                // Both names come from the hash of the same bytes.
                && digits(&cleaned.name) == digits(&cleaned.archive)
        };
        archived
            && is_hash(&self.output_hash)
            && is_hash(&self.input_hash)
            && is_file_name(&self.output)
            && is_file_name(&self.input)
            && self.offloads.iter().all(|name| is_offload_name(name))
            && self.copies.iter().all(|name| is_copy_name(name))
            && self.cleaned.iter().all(cleaned)
    }
}

/// Whether the newest of these records equals `record` except for the run's number.
pub(super) fn ends_with(records: &[&Record], record: &Record) -> bool {
    newest(records).is_some_and(|newest| {
        *record
            == Record {
                sequence: record.sequence,
                overlaps: record.overlaps,
                ..newest.clone()
            }
    })
}

/// The last record of an output: every record of another original is older. `None` if there is no such record.
pub(in crate::store) fn newest<'r>(records: &[&'r Record]) -> Option<&'r Record> {
    let is_last = |last: &&&Record| {
        let mut others = records
            .iter()
            .filter(|other| other.input_hash != last.input_hash);
        others.all(|other| other.is_before(last))
    };
    let last = records.iter().filter(is_last);
    last.max_by_key(|last| last.sequence).copied()
}

/// The name in records of a file, relative to a folder. `None` if no text can name it.
pub fn name_in_folder(relative: &Path) -> Option<String> {
    let text = name::to_text(relative)?;
    Some(if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    })
}

/// The reverse of [`name_in_folder`].
pub fn path_in_folder(name: &str) -> PathBuf {
    name::to_path(name)
}

/// Whether this has the form of a [`crate::store::hash`].
fn is_hash(hash: &str) -> bool {
    let digits = hash.strip_prefix("blake3:").unwrap_or_default();
    digits.len() == 64
        && digits
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this can be a [`name_of`](crate::store::Store::name_of): a path straight down from the store's folder or from the root.
fn is_file_name(text: &str) -> bool {
    cfg!(unix) && is_spelled_plainly(text.strip_prefix("../").unwrap_or(text)) || is_path(text)
}

fn is_path(text: &str) -> bool {
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    let is_file = |path: &Path| {
        let path = path.strip_prefix("..").unwrap_or(path);
        path.file_name().is_some() && path.components().all(is_plain)
    };
    if !text.contains(RAW) {
        return is_file(Path::new(text));
    }
    let path = name::to_path(text);
    // An escape never represents `.` or `/`.
    !path.as_os_str().as_encoded_bytes().contains(&0)
        && name::to_text(&path).is_some_and(|again| again == text)
        && is_file(&path)
}

/// Whether a path names a file, and has no component that begins with a dot and no escape: other paths have to be parsed.
fn is_spelled_plainly(text: &str) -> bool {
    let bytes = text.as_bytes();
    !matches!(bytes, [] | [b'.', ..] | [.., b'/'])
        && memchr::memmem::find(bytes, b"/.").is_none()
        && memchr::memchr(0, bytes).is_none()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_spelled_plainly_names_a_file() {
        let parts = ["", ".", "..", "a", ".b", "c.d", "\0ff", "\0"];
        let mut paths: Vec<String> = parts.map(str::to_owned).to_vec();
        for _ in 0..2 {
            let longer = paths
                .iter()
                .flat_map(|path| parts.map(|part| format!("{path}/{part}")));
            paths.extend(longer.collect::<Vec<_>>());
        }
        let (plain, others): (Vec<_>, Vec<_>) = paths.iter().partition(|p| is_spelled_plainly(p));
        assert!(plain.len() > 20 && others.len() > 20);
        for path in plain {
            assert!(is_path(path), "{path:?}");
        }
    }
}
