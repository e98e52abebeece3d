//! `--strict`: treats a line that cannot be read as an error of its file, instead of passing it through.
//!
//! Reads the lines a second time, so that only strict runs pay for the check.

use super::inspect::each;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Format, Layout, LineWarning, Warnings};

/// What to do about lines that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadLines {
    /// Pass them through and count them.
    #[default]
    Pass,
    /// Fail the file.
    Fail,
}

impl BadLines {
    /// Fails on the first unreadable line of a whole input.
    pub(super) fn check(self, detected: &Detected, bytes: &[u8]) -> Result<()> {
        if self == BadLines::Pass {
            return Ok(());
        }
        let (format, layout) = match detected {
            Detected::Known(format, layout) => (*format, *layout),
            // Lines are read the same way in all formats.
            Detected::Unsupported(_) => (Format::Anthropic, Layout::File),
        };
        let mut checked = Ok(());
        each(bytes, layout, |bytes, first_line, _| {
            if checked.is_ok() {
                checked = self.check_part(format, bytes, first_line);
            }
        });
        checked
    }

    /// Fails on the first unreadable line of a transcript.
    pub(super) fn check_part(self, format: Format, bytes: &[u8], first_line: u64) -> Result<()> {
        if self == BadLines::Pass {
            return Ok(());
        }
        let mut warnings = Warnings::default();
        format.read(bytes, first_line, &mut warnings);
        let bad = |warning: &LineWarning| warning.kind.is_bad_line();
        match warnings.finish().into_iter().find(bad) {
            None => Ok(()),
            Some(bad) => Err(Error::new(ErrorKind::BadLine, without_fate(&bad.message))
                .on_line(bad.line)
                .hint("without --strict, such lines are passed through")),
        }
    }
}

/// The message about a line, without what becomes of it in a run that is not strict.
fn without_fate(message: &str) -> &str {
    message.strip_suffix("; passed through").unwrap_or(message)
}
