//! The library's surface: what other programs call. It puts the stages together and adds nothing of its own.
//!
//! Never prints, never reads the environment except for a provider's key, never writes except in [`compact_file`].

mod compact;
mod policy;
mod read;

use std::path::Path;

use crate::batch;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Format, Layout, Warnings};
use crate::store::undo::{Appended, Dest, Undo};
use crate::verify::Finding;

pub use compact::{Compacted, compact, compact_file};
pub use policy::Policy;
pub use read::{Block, Conversation, Message, Transcript, read, read_with};

/// Checks a transcript against the rules of its provider's API and of the agent that resumes it.
///
/// An empty list means that the provider accepts the history. Findings of [`Severity::Error`](crate::Severity::Error) are those for
/// which the provider rejects the history, or the agent loses a part of it.
///
/// # Errors
/// [`ErrorKind::Unsupported`]: the bytes are not in a supported format.
pub fn verify(bytes: &[u8]) -> Result<Vec<Finding>> {
    let (format, layout) = detect(bytes)?;
    let mut findings = Vec::new();
    batch::each_transcript(bytes, layout, |bytes, first_line, _| {
        let transcript = format.read(bytes, first_line, &mut Warnings::default());
        findings.extend(
            format
                .verify(&transcript)
                .into_iter()
                .map(|finding| Finding {
                    line: finding.line + first_line - 1,
                    ..finding
                }),
        );
    });
    Ok(findings)
}

/// The original bytes of a file that [`compact_file`] or the program `ctxpack` wrote.
///
/// They are located through the records of the nearest store (`.ctxpack`) in the file's folder or above it, and their hash is
/// checked. The file itself is not changed.
///
/// # Errors
/// [`ErrorKind::Store`]: no store knows the file, or the original is damaged. [`ErrorKind::Changed`]: the file or its original has
/// been edited since. [`ErrorKind::NotFound`] or [`ErrorKind::Io`]: something could not be read.
pub fn undo(file: impl AsRef<Path>) -> Result<Vec<u8>> {
    let mut original = Vec::new();
    let found = Undo::new(None).find(file.as_ref())?;
    found.restore(Dest::Writer(&mut original), Appended::Refuse)?;
    Ok(original)
}

/// The format of a transcript, and whether each line is a conversation of its own.
fn detect(bytes: &[u8]) -> Result<(Format, Layout)> {
    let mut detector = Detector::default();
    detector.look(bytes);
    match detector.decide() {
        Detected::Known(format, layout) => Ok((format, layout)),
        Detected::Unsupported(why) => Err(Error::new(ErrorKind::Unsupported, why.to_string())),
    }
}
