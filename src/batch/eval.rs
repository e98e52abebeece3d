//! Many transcripts measured in parallel: nothing is written.

use std::path::Path;
use std::sync::atomic::AtomicUsize;

use super::inspect::each;
use super::over::Over;
use super::{Found, Progress};
use crate::error::Result;
use crate::eval::{Evaluated, Evaluator, FileEval};
use crate::format::{Detected, Format, Warnings};
use crate::pipeline::Part;

/// Measures what was found, with `jobs` threads; the entries are in path order. `stop` is the signal that ends the run.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`crate::error::ErrorKind::Interrupted`]).
pub fn eval(
    found: &Found,
    evaluator: &Evaluator<'_>,
    format: Option<Format>,
    jobs: usize,
    stop: &AtomicUsize,
    progress: &dyn Progress,
) -> Result<Vec<FileEval>> {
    let over = Over {
        found,
        format,
        jobs,
        stop,
        progress,
    };
    let look = |path: &Path, detected, bytes: &[u8]| file(evaluator, path, detected, bytes);
    let mut files = over.each(look, FileEval::failed)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn file(evaluator: &Evaluator<'_>, path: &Path, detected: Detected, bytes: &[u8]) -> FileEval {
    match detected {
        Detected::Unsupported(name) => FileEval::new(path, name, Evaluated::Unsupported),
        Detected::Known(format, layout) => {
            let mut file = FileEval::new(path, format.name(), Evaluated::NothingToMeasure);
            each(bytes, layout, |bytes, first_line, part| {
                let transcript = format.read(bytes, first_line, &mut Warnings::default());
                let line = (part == Part::Line).then_some(first_line);
                let sessions = evaluator.evaluate(format, &transcript, first_line, line);
                file.sessions.extend(sessions);
            });
            if file
                .sessions
                .iter()
                .any(|session| session.skipped.is_none())
            {
                file.status = Evaluated::Measured;
            }
            file
        }
    }
}
