//! Many transcripts replayed in parallel: nothing is written.

use std::path::Path;

use super::inspect::each;
use super::over::Over;
use crate::error::Result;
use crate::format::{Detected, Detector, Warnings};
use crate::pipeline::Part;
use crate::replay::{FileReplay, Replayed, Replaying, recordings};

/// Replays what was found; the entries are in path order.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`crate::error::ErrorKind::Interrupted`]).
pub fn replay(over: &Over<'_>, replaying: &Replaying<'_>) -> Result<Vec<FileReplay>> {
    over.each(
        |path: &Path, detected, bytes: &[u8]| file(replaying, path, detected, bytes),
        FileReplay::failed,
    )
}

/// Replays what is in memory.
pub fn replay_bytes(path: &Path, bytes: &[u8], replaying: &Replaying<'_>) -> FileReplay {
    let mut detector = Detector::default();
    detector.look(bytes);
    file(replaying, path, detector.decide(), bytes)
}

fn file(replaying: &Replaying<'_>, path: &Path, detected: Detected, bytes: &[u8]) -> FileReplay {
    match detected {
        Detected::Unsupported(why) => FileReplay::new(path, why.name, Replayed::Unsupported),
        Detected::Known(format, layout) => {
            let mut file = FileReplay::new(path, format.name(), Replayed::Replayed);
            each(bytes, layout, |bytes, first_line, part| {
                let transcript = format.read(bytes, first_line, &mut Warnings::default());
                let line = (part == Part::Line).then_some(first_line);
                let recordings = recordings(format, &transcript, first_line, line);
                let sessions = recordings.iter().map(|r| replaying.replay(r));
                file.sessions.extend(sessions);
            });
            file
        }
    }
}
