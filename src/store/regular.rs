//! Files of the user's that are only read: they must be regular files.
//!
//! Never waits for a pipe, and writes nothing.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;

use super::folder::open_without_waiting;
use crate::error::{Error, ErrorKind, Result};

/// Opens a transcript: a regular file, links followed. Never blocks on a pipe.
///
/// # Errors
///
/// [`ErrorKind::Io`] for anything that is not a regular file; otherwise, the kind that [`Error::io`] chooses for the system's
/// error.
pub fn open_transcript(path: &Path) -> Result<(File, Metadata)> {
    let unreadable = |e| Error::io(path, "open", e);
    // Opening some devices has side effects.
    check_regular(path, &fs::metadata(path).map_err(unreadable)?)?;
    open_seen(path)
}

/// The same for a path at which a walk has just seen a regular file, so that it is not checked again before it is opened.
///
/// # Errors
///
/// Those of [`open_transcript`].
pub fn open_seen(path: &Path) -> Result<(File, Metadata)> {
    let unreadable = |e| Error::io(path, "open", e);
    let file = open_without_waiting(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

/// The same without checking what was opened: for callers that compare what they read, and read no more than the walk has seen.
///
/// # Errors
///
/// [`ErrorKind::Io`] when the system refuses.
pub fn open_met(path: &Path) -> Result<File> {
    open_without_waiting(path).map_err(|e| Error::io(path, "open", e))
}

/// Reads a regular file of at most `most` bytes, for files that came with another person's folder. Never blocks on a pipe.
///
/// # Errors
///
/// Those of [`open_transcript`]; [`ErrorKind::Io`] when it is larger.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, _) = open_transcript(path)?;
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::io(path, "read", e))?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {}", crate::text::count(most, "byte"));
        return Err(Error::new(ErrorKind::Io, message)
            .at(path)
            .hint("ctxpack never writes files this large; check what it is"));
    }
    Ok(bytes)
}

pub(super) fn check_regular(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let hint = if metadata.is_dir() {
        "name the files in it"
    } else {
        "commands that read transcripts take a stream on standard input: `- < FILE`"
    };
    let error = Error::new(ErrorKind::Io, "not a regular file");
    Err(error.at(path).hint(hint))
}
