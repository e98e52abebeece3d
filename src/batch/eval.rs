//! Many transcripts measured in parallel: nothing is written.

use std::path::Path;

use super::inspect::each;
use super::over::Over;
use crate::error::Result;
use crate::eval::{Evaluated, Evaluator, FileEval};
use crate::format::{Detected, Warnings};
use crate::pipeline::Part;

/// Measures what was found; the entries are in path order.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`crate::error::ErrorKind::Interrupted`]).
pub fn eval(over: &Over<'_>, evaluator: &Evaluator<'_>) -> Result<Vec<FileEval>> {
    over.each(
        |path: &Path, detected, bytes: &[u8]| file(evaluator, path, detected, bytes),
        FileEval::failed,
    )
}

fn file(evaluator: &Evaluator<'_>, path: &Path, detected: Detected, bytes: &[u8]) -> FileEval {
    match detected {
        Detected::Unsupported(why) => FileEval::new(path, why.name, Evaluated::Unsupported),
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
