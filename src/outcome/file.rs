//! The entry for each input in reports of commands that only examine (`stats`, `eval`, `replay`, `verify`).
//!
//! Plain data; decides nothing.

use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{OutcomeError, Timings, path_text};
use crate::error::Error;
use crate::format::Unsupported;

/// One input: an entry of a report's `files`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRecord<T> {
    /// The input's path as given, with `/`; `-` for stdin.
    pub path: String,
    /// The name of the detected format, if one was.
    pub format: Option<String>,
    /// The folder in which the agent worked, if the session names it; text of the transcript.
    pub project: Option<String>,
    /// The last time that the session names, as in RFC 3339.
    pub last_message: Option<String>,
    /// Whether it was examined.
    pub status: FileStatus,
    /// Why it could not be read.
    pub error: Option<OutcomeError>,
    /// What was found in it.
    pub found: T,
    /// How long the phases of the work took, if somebody asked.
    pub timings: Option<Timings>,
}

/// The status of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileStatus {
    /// It was examined.
    Examined,
    /// Its format is not supported, and why, in words.
    Unsupported(String),
    /// It could not be read.
    Failed,
}

/// What a command finds in an input.
pub trait Find: Default {
    /// Nothing yet, in an input of `bytes` bytes.
    fn in_bytes(_bytes: u64) -> Self {
        Self::default()
    }

    /// The status that a report gives an input in which this was found.
    fn status(&self) -> &'static str;
}

/// The numbers of inputs by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// Those that were examined.
    pub examined: u64,
    /// Those whose format is not supported.
    pub unsupported: u64,
    /// Those that could not be read.
    pub failed: u64,
}

impl<T: Find> FileRecord<T> {
    /// An input of a known format, in which nothing was found yet.
    pub fn new(path: &Path, format: &str, bytes: u64) -> Self {
        FileRecord {
            path: path_text(path),
            format: Some(format.to_owned()),
            project: None,
            last_message: None,
            status: FileStatus::Examined,
            error: None,
            found: T::in_bytes(bytes),
            timings: None,
        }
    }

    /// An input whose format is not supported.
    pub fn unsupported(path: &Path, why: Unsupported, bytes: u64) -> Self {
        FileRecord {
            format: Some(why.name.to_owned()),
            status: FileStatus::Unsupported(why.to_string()),
            ..FileRecord::new(path, "", bytes)
        }
    }

    /// An input that could not be read.
    pub fn failed(path: &Path, error: &Error) -> Self {
        FileRecord {
            format: None,
            status: FileStatus::Failed,
            error: Some(OutcomeError::new(path, error)),
            ..FileRecord::new(path, "", 0)
        }
    }
}

impl FileCounts {
    /// The counts of `files`.
    pub fn of<T>(files: &[FileRecord<T>]) -> Self {
        let mut counts = FileCounts::default();
        for file in files {
            *match file.status {
                FileStatus::Examined => &mut counts.examined,
                FileStatus::Unsupported(_) => &mut counts.unsupported,
                FileStatus::Failed => &mut counts.failed,
            } += 1;
        }
        counts
    }
}

impl<T: Find + Serialize> Serialize for FileRecord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'r, T> {
            path: &'r str,
            format: Option<&'r str>,
            project: Option<&'r str>,
            last_message: Option<&'r str>,
            status: &'static str,
            error: Option<&'r OutcomeError>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'r str>,
            #[serde(flatten)]
            found: &'r T,
            #[serde(skip_serializing_if = "Option::is_none")]
            timings: Option<&'r Timings>,
        }
        let entry = Entry {
            path: &self.path,
            format: self.format.as_deref(),
            project: self.project.as_deref(),
            last_message: self.last_message.as_deref(),
            status: match self.status {
                FileStatus::Examined => self.found.status(),
                FileStatus::Unsupported(_) => "unsupported",
                FileStatus::Failed => "failed",
            },
            error: self.error.as_ref(),
            reason: match &self.status {
                FileStatus::Unsupported(why) => Some(why),
                FileStatus::Examined | FileStatus::Failed => None,
            },
            found: &self.found,
            timings: self.timings.as_ref(),
        };
        entry.serialize(serializer)
    }
}

impl<'de, T: Find + Deserialize<'de>> Deserialize<'de> for FileRecord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Entry<T> {
            path: String,
            format: Option<String>,
            #[serde(default)]
            project: Option<String>,
            #[serde(default)]
            last_message: Option<String>,
            status: String,
            error: Option<OutcomeError>,
            #[serde(default)]
            reason: Option<String>,
            #[serde(default)]
            timings: Option<Timings>,
            #[serde(flatten)]
            found: T,
        }
        let entry = Entry::<T>::deserialize(deserializer)?;
        let status = match &*entry.status {
            "unsupported" => FileStatus::Unsupported(entry.reason.unwrap_or_default()),
            "failed" => FileStatus::Failed,
            other if other == entry.found.status() => FileStatus::Examined,
            other => return Err(D::Error::custom(format!("no status is called {other:?}"))),
        };
        Ok(FileRecord {
            path: entry.path,
            format: entry.format,
            project: entry.project,
            last_message: entry.last_message,
            status,
            error: entry.error,
            found: entry.found,
            timings: entry.timings,
        })
    }
}
