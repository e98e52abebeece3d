//! The one error type of the library: what went wrong, where, and what to do about it.
//!
//! Never used for a bad line: malformed input is data (a warning), not an error.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::text::shown_path;

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Stable names of what can go wrong; scripts branch on these (`--error-format json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Flags that contradict each other or cannot be understood.
    Usage,
    /// A policy, a key or a value that does not exist or does not fit.
    Config,
    /// An input that does not exist.
    NotFound,
    /// A folder or a pattern without a transcript in it.
    NoInput,
    /// The operating system refused a read or a write.
    Io,
    /// An output that is there already and is not our own.
    Exists,
    /// An input that changed while it was read, or that another program is writing to.
    Changed,
    /// Bytes of no transcript format that is read.
    Unsupported,
    /// Bytes that a decoder (gzip, zstd) could not turn into a transcript.
    Decode,
    /// A line that cannot be read, where the user wants none.
    BadLine,
    /// An input, or a line of one, that is larger than a limit or than memory.
    TooLarge,
    /// Memory that other inputs hold for now. Nobody sees it: the input is tried again.
    Crowded,
    /// A store that lacks what was asked of it, or holds it damaged.
    Store,
    /// A command of the user's own that wants an input left alone.
    Hook,
    /// The reader of an output has gone; no fault.
    ClosedPipe,
    /// The run was interrupted by a signal.
    Interrupted,
    /// A fault of ctxpack itself.
    Internal,
}

/// What went wrong, where, and what to do about it.
///
/// Shown as `path:line: message`, with the hint on a line of its own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    /// What kind of fault.
    pub kind: ErrorKind,
    /// The file concerned, as the user named it.
    pub path: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<u64>,
    /// One sentence, lower-case, without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The system's own error, where there is one.
    pub source: Option<io::Error>,
}

impl Error {
    /// An error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            path: None,
            line: None,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// A system error at `path`; `doing` completes "cannot …" ("read", "create", "rename"). Has a
    /// hint for what users meet. Never [`ErrorKind::Interrupted`]: that is the user's wish, and no call's failure.
    pub fn io(path: impl AsRef<Path>, doing: &str, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error {
            kind,
            path: Some(path.as_ref().to_owned()),
            line: None,
            message: format!("cannot {doing}: {source}"),
            hint: remedy(doing, source.kind()).map(str::to_owned),
            source: Some(source),
        }
    }

    /// The same error, at a path.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(path.as_ref().to_owned());
        self
    }

    /// The same error, at a line (from 1).
    #[must_use]
    pub fn on_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same error, with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What to do about a refusal of the system, whatever the file is for.
fn remedy(doing: &str, kind: io::ErrorKind) -> Option<&'static str> {
    let writes = ["create", "write", "replace"]
        .iter()
        .any(|word| doing.starts_with(word));
    Some(match kind {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if writes => {
            "-o or --out-dir writes elsewhere, and --store keeps elsewhere"
        }
        io::ErrorKind::PermissionDenied => "check its permissions, and those of its folder",
        io::ErrorKind::ReadOnlyFilesystem => "the disk is mounted for reading only",
        io::ErrorKind::NotFound => "check the path: it, or a folder on the way to it, is not there",
        io::ErrorKind::NotADirectory => "check the path: a file stands where a folder is meant",
        io::ErrorKind::IsADirectory => "check the path: a folder stands where a file is meant",
        io::ErrorKind::AlreadyExists => "give another name, or move away what is there",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, or write elsewhere with -o or --out-dir"
        }
        io::ErrorKind::FileTooLarge => "raise the limit on a file's size (`ulimit -f`)",
        io::ErrorKind::InvalidData => "it has to be text in UTF-8",
        _ => return None,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}:", shown_path(path))?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_a_signal_broke_off_is_a_failure_and_no_wish_to_end() {
        let broken = io::ErrorKind::Interrupted.into();
        assert_eq!(Error::io("a.jsonl", "open", broken).kind, ErrorKind::Io);
    }
}
