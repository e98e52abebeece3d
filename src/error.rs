//! The one error type of the library: what went wrong, where, and what to do about it.
//!
//! Never used for a bad line: malformed input is data and yields a warning, not an error.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::text::shown_path;

/// A `Result` whose default error is the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of errors. Their names are stable: scripts branch on them (`--error-format json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Flags that contradict each other or cannot be parsed.
    Usage,
    /// A policy, a key or a value that does not exist or is not valid.
    Config,
    /// An input that does not exist.
    NotFound,
    /// A folder or a pattern that contains no transcript.
    NoInput,
    /// The operating system refused a read or a write.
    Io,
    /// An output that exists already and was not written by ctxpack.
    Exists,
    /// An input that changed while it was read, or that another program has open for writing.
    Changed,
    /// Bytes that are not in any transcript format that ctxpack reads.
    Unsupported,
    /// Compressed data (gzip, zstd) that cannot be decoded.
    Decode,
    /// A line that cannot be parsed, when the user does not allow any (`--strict`).
    BadLine,
    /// An input, or a line of one, that exceeds a limit or does not fit in memory.
    TooLarge,
    /// Not enough memory while other inputs hold theirs. Internal: the input is retried, and the error is never shown.
    Crowded,
    /// A link that leads out of the folder in which it was found.
    Link,
    /// A store with missing or damaged data.
    Store,
    /// A hook (a user-supplied command) that excludes an input.
    Hook,
    /// The model that the policy names gave no summary, and the policy allows no substitute.
    Summary,
    /// The reader of an output has closed it, which is not a failure.
    ClosedPipe,
    /// The run was interrupted by a signal.
    Interrupted,
    /// A bug in ctxpack.
    Internal,
}

/// What went wrong, where, and what to do about it.
///
/// Shown as `path:line: message`, with the hint on a line of its own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The file concerned, as the user named it.
    pub path: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<u64>,
    /// One sentence, lower-case, without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The underlying OS error, if there is one.
    pub source: Option<io::Error>,
}

impl Error {
    /// An error without a file.
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

    /// An operating-system error at `path`; `doing` completes "cannot …" ("read", "create", "rename"). Common errors get a hint.
    /// Never [`ErrorKind::Interrupted`], which is reserved for a run that the user interrupted.
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

    /// The same error; where the system's advice is to write elsewhere with the flags of `compact`, with this advice instead, for
    /// commands that do not have them.
    #[must_use]
    pub fn elsewhere(self, hint: &str) -> Self {
        match self.source.as_ref().map(io::Error::kind) {
            Some(
                io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded,
            ) => self.hint(hint),
            Some(_) | None => self,
        }
    }
}

/// What to do about an OS error, regardless of what the file is for.
fn remedy(doing: &str, kind: io::ErrorKind) -> Option<&'static str> {
    let writes = ["create", "write", "replace"]
        .iter()
        .any(|word| doing.starts_with(word));
    Some(match kind {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if writes => {
            "use -o or --out-dir to write elsewhere, and --store for another store"
        }
        io::ErrorKind::PermissionDenied => "check its permissions and those of its folder",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only",
        io::ErrorKind::NotFound => {
            "check the path: it, or a folder on the way to it, does not exist"
        }
        io::ErrorKind::NotADirectory => {
            "check the path: there is a file where a folder is expected"
        }
        io::ErrorKind::IsADirectory => "check the path: there is a folder where a file is expected",
        io::ErrorKind::AlreadyExists => "choose another name, or move the existing file away",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there, or write elsewhere with -o or --out-dir"
        }
        io::ErrorKind::FileTooLarge => "raise the file size limit (`ulimit -f`)",
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
    fn a_call_interrupted_by_a_signal_is_not_the_end_of_the_run() {
        let interrupted = io::ErrorKind::Interrupted.into();
        assert_eq!(
            Error::io("a.jsonl", "open", interrupted).kind,
            ErrorKind::Io
        );
    }
}
