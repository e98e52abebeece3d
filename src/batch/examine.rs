//! Many inputs examined in parallel: counted, checked, replayed, measured. Nothing is written.

use std::path::Path;

use super::findings::FileFindings;
use super::inspect::each;
use super::origin::SessionOrigin;
use super::over::{self, Over};
use super::spool::{Kept, Shared, Sorted};
use crate::error::Result;
use crate::eval::{Evaluator, FileEval};
use crate::format::{Detected, Detector, Format, Warnings};
use crate::outcome::{Clock, Examined, Find, Laps, Phase, Warning};
use crate::pipeline::Part;
use crate::replay::{FileReplay, Replayer, recordings};
use crate::scan::NO_STRINGS;
use crate::stats::{Counter, FileStats};
use crate::transcript::Transcript;
use crate::verify::Finding;

/// A transcript of an input.
struct Read<'r> {
    path: &'r Path,
    format: Format,
    transcript: &'r Transcript<'r>,
    /// The number of its first line in its file, from 1.
    first_line: u64,
    /// The same number if it is one line of a conversation-per-line file.
    line: Option<u64>,
}

/// Counts the inputs that were found; the entries are in path order, and on disk if there are many.
///
/// # Errors
/// Whatever stops the run: threads that cannot be started, a signal ([`crate::error::ErrorKind::Interrupted`]), a full disk.
pub fn stats(over: &Over<'_>, counting: &Counter<'_>) -> Result<Sorted<Examined<FileStats>>> {
    let add = |found: &mut FileStats, read: Read<'_>| {
        counting.add(found, read.format, read.transcript, read.line);
    };
    spooled(over, add, |entry| entry)
}

/// Checks the inputs that were found against the rules of providers; otherwise like [`stats`].
///
/// # Errors
/// As [`stats`].
pub fn verify(over: &Over<'_>) -> Result<Sorted<Examined<FileFindings>>> {
    let add = |found: &mut FileFindings, read: Read<'_>| {
        let findings = read.format.verify(read.transcript).into_iter();
        found.list.extend(findings.map(|finding| Finding {
            line: finding.line + read.first_line - 1,
            ..finding
        }));
    };
    spooled(over, add, FileFindings::with_fit)
}

/// Measures the inputs that were found; otherwise like [`stats`].
///
/// # Errors
/// As [`stats`].
pub fn eval(over: &Over<'_>, evaluator: &Evaluator<'_>) -> Result<Sorted<Examined<FileEval>>> {
    let add = |found: &mut FileEval, read: Read<'_>| eval_one(evaluator, found, &read);
    spooled(over, add, |entry| entry)
}

/// Replays the inputs that were found; otherwise like [`stats`].
///
/// # Errors
/// As [`stats`].
pub fn replay(over: &Over<'_>, replaying: &Replayer<'_>) -> Result<Sorted<Examined<FileReplay>>> {
    let add = |found: &mut FileReplay, read: Read<'_>| replay_one(replaying, found, read);
    spooled(over, add, |entry| entry)
}

/// Replays an input that is in memory.
pub fn replay_bytes(path: &Path, bytes: &[u8], replaying: &Replayer<'_>) -> Examined<FileReplay> {
    let mut detector = Detector::default();
    detector.look(bytes);
    let add = |found: &mut FileReplay, read: Read<'_>| replay_one(replaying, found, read);
    file(
        path,
        in_memory(detector.decide().for_compaction(), bytes),
        Laps::default(),
        None,
        &add,
    )
}

/// Counts an input that is in memory.
pub fn stats_bytes(path: &Path, bytes: &[u8], counting: &Counter<'_>) -> Examined<FileStats> {
    let mut detector = Detector::default();
    detector.look(bytes);
    file(
        path,
        in_memory(detector.decide(), bytes),
        Laps::default(),
        None,
        &|found: &mut FileStats, read: Read<'_>| {
            counting.add(found, read.format, read.transcript, read.line);
        },
    )
}

/// Measures an input that is in memory.
pub fn eval_bytes(path: &Path, bytes: &[u8], evaluator: &Evaluator<'_>) -> Examined<FileEval> {
    let mut detector = Detector::default();
    detector.look(bytes);
    let detected = detector.decide().for_compaction();
    file(
        path,
        in_memory(detected, bytes),
        Laps::default(),
        None,
        &|found: &mut FileEval, read: Read<'_>| eval_one(evaluator, found, &read),
    )
}

fn eval_one(evaluator: &Evaluator<'_>, found: &mut FileEval, read: &Read<'_>) {
    let &Read {
        path,
        format,
        transcript,
        first_line,
        line,
    } = read;
    let weights = evaluator.weights(path);
    // Parts of a JSON document are not a document themselves, so it is read as lines.
    let sessions = match transcript.document_as_lines() {
        None => evaluator.evaluate(format, transcript, first_line, line, weights),
        Some(lines) => {
            let transcript = format.read(&lines, first_line, &mut Warnings::default());
            evaluator.evaluate(format, &transcript, first_line, line, weights)
        }
    };
    found.sessions.extend(sessions);
}

fn replay_one(replaying: &Replayer<'_>, found: &mut FileReplay, read: Read<'_>) {
    let recordings = recordings(read.format, read.transcript, read.first_line, read.line);
    let sessions = recordings.iter().map(|r| replaying.replay(r));
    found.sessions.extend(sessions);
}

/// What is in memory, as an input that was read.
fn in_memory(detected: Detected, bytes: &[u8]) -> over::Read<'_> {
    over::Read {
        detected,
        bytes,
        strings: &NO_STRINGS,
    }
}

/// Adds what `add` finds in each transcript to the entry of its input, and applies `finish` to each entry.
fn spooled<T: Find + Send>(
    over: &Over<'_>,
    add: impl Fn(&mut T, Read<'_>) + Sync,
    finish: impl Fn(Examined<T>) -> Examined<T> + Sync,
) -> Result<Sorted<Examined<T>>>
where
    Examined<T>: Kept,
{
    let entries = Shared::new(&std::env::temp_dir());
    over.pour(
        |path: &Path, read, laps| file(path, read, laps, over.clock, &add),
        Examined::failed,
        |_, entry| entries.push(finish(entry)),
    )?;
    entries.into_spool().sorted(&mut |_| {})
}

fn file<T: Find>(
    path: &Path,
    input: over::Read<'_>,
    mut laps: Laps,
    clock: Option<&dyn Clock>,
    add: &impl Fn(&mut T, Read<'_>),
) -> Examined<T> {
    let over::Read {
        detected,
        bytes,
        strings,
    } = input;
    let size = bytes.len() as u64;
    let (format, layout) = match detected {
        Detected::Unsupported(why) => {
            let mut record = Examined::unsupported(path, why, size);
            record.file.timings = laps.timings(clock);
            return record;
        }
        Detected::Known(format, layout) => (format, layout),
    };
    let mut record = Examined::new(path, format.name(), size);
    let origin = SessionOrigin::of(path, &Detected::Known(format, layout), bytes);
    record.file.project = origin.project;
    record.file.last_message = origin.last_message;
    let mut warnings = Warnings::default();
    each(bytes, layout, |bytes, first_line, part| {
        let strings = match part {
            Part::File => strings,
            // Their positions refer to the file, not to the line.
            Part::Line => &NO_STRINGS,
        };
        let read = Read {
            path,
            format,
            transcript: &format.read_again(bytes, strings, first_line, &mut warnings),
            first_line,
            line: (part == Part::Line).then_some(first_line),
        };
        laps.lap(clock, Phase::Read);
        add(&mut record.found, read);
        laps.lap(clock, Phase::Examine);
    });
    let read = warnings.finish().into_iter();
    let counts = read.filter(|w| w.kind.is_bad_line() || w.kind.is_always_said());
    record.warnings = counts.map(Warning::from).collect();
    record.file.timings = laps.timings(clock);
    record
}
