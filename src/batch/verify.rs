//! Many transcripts checked in parallel: nothing is written.

use std::path::Path;

use super::inspect::each;
use super::over::Over;
use crate::error::Result;
use crate::format::{Detected, Unsupported, Warnings};
use crate::outcome::{Outcome, OutcomeError, path_text};
use crate::verify::Finding;

/// What was seen in an input.
#[derive(Debug)]
pub struct Verified {
    /// The input, as a report names it.
    pub path: String,
    /// Its breaches of rules, in the order of lines.
    pub findings: Vec<Finding>,
    /// Why it is not read, where its format is not supported.
    pub unsupported: Option<Unsupported>,
    /// Why it could not be read.
    pub error: Option<OutcomeError>,
}

/// Checks what was found; the entries are in path order.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`crate::error::ErrorKind::Interrupted`]).
pub fn verify(over: &Over<'_>) -> Result<Vec<Verified>> {
    over.each(file, |path, error| Verified {
        error: Outcome::failed(path, error).error,
        ..Verified::new(path)
    })
}

impl Verified {
    fn new(path: &Path) -> Self {
        Verified {
            path: path_text(path),
            findings: Vec::new(),
            unsupported: None,
            error: None,
        }
    }
}

fn file(path: &Path, detected: Detected, bytes: &[u8]) -> Verified {
    let mut verified = Verified::new(path);
    match detected {
        Detected::Unsupported(why) => verified.unsupported = Some(why),
        Detected::Known(format, layout) => each(bytes, layout, |bytes, first_line, _| {
            let transcript = format.read(bytes, first_line, &mut Warnings::default());
            let findings = format.verify(&transcript).into_iter();
            verified.findings.extend(findings.map(|f| Finding {
                line: f.line + first_line - 1,
                ..f
            }));
        }),
    }
    verified
}
