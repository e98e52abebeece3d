//! Many transcripts counted in parallel: nothing is written.

use std::path::Path;

use super::inspect::each;
use super::over::Over;
use crate::error::Result;
use crate::format::{Detected, Warnings};
use crate::pipeline::Part;
use crate::stats::{Counted, Counting, FileStats};

/// Counts what was found; the entries are in path order.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`crate::error::ErrorKind::Interrupted`]).
pub fn stats(over: &Over<'_>, counting: &Counting<'_>) -> Result<Vec<FileStats>> {
    over.each(
        |path: &Path, detected, bytes: &[u8]| count(counting, path, detected, bytes),
        FileStats::failed,
    )
}

fn count(counting: &Counting<'_>, path: &Path, detected: Detected, bytes: &[u8]) -> FileStats {
    let size = bytes.len() as u64;
    match detected {
        Detected::Unsupported(why) => FileStats::new(path, why.name, Counted::Unsupported, size),
        Detected::Known(format, layout) => {
            let mut file = FileStats::new(path, format.name(), Counted::Counted, size);
            each(bytes, layout, |bytes, first_line, part| {
                let transcript = format.read(bytes, first_line, &mut Warnings::default());
                let line = (part == Part::Line).then_some(first_line);
                counting.add(&mut file, format, &transcript, line);
            });
            file
        }
    }
}
