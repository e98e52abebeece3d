//! What every report states about an input, and the entry of an input in reports of commands that only examine (`stats`, `eval`,
//! `replay`, `verify`).
//!
//! Plain data; decides nothing.

use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{OutcomeError, Timings, Warning, path_text};
use crate::error::Error;
use crate::format::{Fit, Unsupported};

/// What every report states about an input.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[non_exhaustive]
pub struct FileRecord {
    /// The input's path as given, with `/`; `-` for stdin. The report of `compact` calls it `input`.
    // This name appears in the error message if the field is missing.
    #[serde(rename = "input or path", alias = "input", alias = "path")]
    pub path: String,
    /// The name of the detected format, if one was.
    pub format: Option<String>,
    /// The agent's working folder, if the session states it; text of the transcript.
    #[serde(default)]
    pub project: Option<String>,
    /// The last time stamp in the session, as in RFC 3339.
    #[serde(default)]
    pub last_message: Option<String>,
    /// Why it failed, was rejected or was skipped.
    pub error: Option<OutcomeError>,
    /// How long the phases of the work took, if requested.
    #[serde(default)]
    pub timings: Option<Timings>,
}

impl FileRecord {
    /// An input about which nothing is known yet.
    pub fn new(path: &Path) -> Self {
        FileRecord {
            path: path_text(path),
            ..FileRecord::default()
        }
    }

    /// An input that failed.
    pub fn failed(path: &Path, error: &Error) -> Self {
        FileRecord {
            error: Some(OutcomeError::new(path, error)),
            ..FileRecord::new(path)
        }
    }
}

/// An entry of a report's `files`, of any command.
pub trait Entry {
    /// The part about the input that every report has.
    fn file(&self) -> &FileRecord;

    /// The same, mutable, for additions.
    fn file_mut(&mut self) -> &mut FileRecord;
}

impl<T> Entry for Examined<T> {
    fn file(&self) -> &FileRecord {
        &self.file
    }

    fn file_mut(&mut self) -> &mut FileRecord {
        &mut self.file
    }
}

/// One input that was only examined: an entry of a report's `files`.
#[derive(Debug, Clone, PartialEq)]
pub struct Examined<T> {
    /// The input.
    pub file: FileRecord,
    /// Whether it was examined.
    pub status: FileStatus,
    /// Lines that could not be read, and what follows from such lines.
    pub warnings: Vec<Warning>,
    /// What was found in it.
    pub found: T,
}

/// The status of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileStatus {
    /// It was examined.
    Examined,
    /// Its format is not supported.
    Unsupported(Unread),
    /// It could not be read.
    Failed,
}

/// Why an input in an unsupported format is not examined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// The reason in words.
    pub why: String,
    /// How much of the input fits a format; not part of a report.
    pub fit: Fit,
}

/// What a command finds in an input.
pub trait Find: Default {
    /// An empty result for an input of `bytes` bytes.
    fn in_bytes(_bytes: u64) -> Self {
        Self::default()
    }

    /// The status in a report of an input with this result.
    fn status(&self) -> &'static str;

    /// The tokens by which a short list of inputs chooses the largest.
    fn weight(&self) -> u64 {
        0
    }

    /// How many parts it has that take memory.
    fn parts(&self) -> usize {
        0
    }

    /// The exact values of figures that its JSON rounds, in a form that only [`Find::set_exact`] reads: an entry that waits on the
    /// disk during a run has them beside its JSON.
    fn exact(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Replaces the rounded figures of a result that was read back from its JSON. `None` if these are not the exact ones of it.
    fn set_exact(&mut self, exact: &[u8]) -> Option<()> {
        exact.is_empty().then_some(())
    }
}

impl<T: Find> Examined<T> {
    /// An input of a known format, with nothing found yet.
    pub fn new(path: &Path, format: &str, bytes: u64) -> Self {
        Examined {
            file: FileRecord {
                format: Some(format.to_owned()),
                ..FileRecord::new(path)
            },
            status: FileStatus::Examined,
            warnings: Vec::new(),
            found: T::in_bytes(bytes),
        }
    }

    /// An input whose format is not supported.
    pub fn unsupported(path: &Path, why: Unsupported, bytes: u64) -> Self {
        Examined {
            status: FileStatus::Unsupported(Unread {
                why: why.to_string(),
                fit: why.fit(),
            }),
            ..Examined::new(path, why.name, bytes)
        }
    }

    /// An input that could not be read.
    pub fn failed(path: &Path, error: &Error) -> Self {
        Examined {
            file: FileRecord::failed(path, error),
            status: FileStatus::Failed,
            warnings: Vec::new(),
            found: T::in_bytes(0),
        }
    }
}

impl<T: Find> Examined<T> {
    /// An input with the status from a report and the reason why it was not examined, if given. The error describes an invalid
    /// status.
    pub fn of_status(
        file: FileRecord,
        status: &str,
        reason: Option<String>,
        found: T,
    ) -> Result<Self, String> {
        let status = match status {
            "unsupported" => FileStatus::Unsupported(Unread {
                why: reason.unwrap_or_default(),
                fit: Fit::default(),
            }),
            "failed" => FileStatus::Failed,
            other if other == found.status() => FileStatus::Examined,
            other => return Err(format!("unknown status {other:?}")),
        };
        Ok(Examined {
            file,
            status,
            warnings: Vec::new(),
            found,
        })
    }
}

impl<T: Find + Serialize> Serialize for Examined<T> {
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
            #[serde(skip_serializing_if = "<[Warning]>::is_empty")]
            warnings: &'r [Warning],
            #[serde(skip_serializing_if = "Option::is_none")]
            timings: Option<&'r Timings>,
        }
        let file = &self.file;
        let entry = Entry {
            path: &file.path,
            format: file.format.as_deref(),
            project: file.project.as_deref(),
            last_message: file.last_message.as_deref(),
            status: match self.status {
                FileStatus::Examined => self.found.status(),
                FileStatus::Unsupported(_) => "unsupported",
                FileStatus::Failed => "failed",
            },
            error: file.error.as_ref(),
            reason: match &self.status {
                FileStatus::Unsupported(unread) => Some(&unread.why),
                FileStatus::Examined | FileStatus::Failed => None,
            },
            found: &self.found,
            warnings: &self.warnings,
            timings: file.timings.as_ref(),
        };
        entry.serialize(serializer)
    }
}

impl<'de, T: Find + Deserialize<'de>> Deserialize<'de> for Examined<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Entry<T> {
            #[serde(flatten)]
            file: FileRecord,
            status: String,
            #[serde(default)]
            reason: Option<String>,
            #[serde(default)]
            warnings: Vec<Warning>,
            #[serde(flatten)]
            found: T,
        }
        let entry = Entry::<T>::deserialize(deserializer)?;
        let read = Examined::of_status(entry.file, &entry.status, entry.reason, entry.found);
        let read = read.map_err(D::Error::custom)?;
        Ok(Examined {
            warnings: entry.warnings,
            ..read
        })
    }
}
