//! Many transcripts counted in parallel: nothing is written.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;

use super::budget::Budget;
use super::input::Input;
use super::inspect::each;
use super::one::detect;
use super::{Found, Progress, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Format, Warnings};
use crate::pipeline::Part;
use crate::stats::{Counted, Counting, FileStats};

/// Counts what was found, with `jobs` threads; the entries are in path order. `stop` is the signal that ends the run.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`ErrorKind::Interrupted`]).
pub fn stats(
    found: &Found,
    counting: &Counting<'_>,
    format: Option<Format>,
    jobs: usize,
    stop: &AtomicUsize,
    progress: &dyn Progress,
) -> Result<Vec<FileStats>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start threads: {e}")))?;
    let mut order: Vec<(u64, &Source)> = found.sources.iter().map(|s| (bytes_of(s), s)).collect();
    // The largest first, so that no thread is left alone with one at the end.
    order.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let budget = Budget::new(order.first().map_or(0, |(bytes, _)| *bytes), jobs);
    let count = |(bytes, source): &(u64, &Source)| {
        let _share = budget.take(*bytes);
        let counted = attempt(source, counting, format, stop);
        progress.done(*bytes);
        counted
    };
    let counted: Result<Vec<FileStats>> = pool.install(|| {
        let inputs = order.par_iter().with_max_len(1);
        inputs.map(count).collect()
    });
    let mut files = counted?;
    files.extend(found.missing.iter().map(|error| {
        let path = error.path.clone().unwrap_or_default();
        FileStats::failed(&path, error)
    }));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// How large an input is; a stream counts for nothing.
fn bytes_of(source: &Source) -> u64 {
    match source {
        Source::Stdin => 0,
        Source::File(file) => fs::metadata(&file.path).map_or(0, |metadata| metadata.len()),
    }
}

/// One input; what goes wrong with it alone becomes its entry.
fn attempt(
    source: &Source,
    counting: &Counting<'_>,
    format: Option<Format>,
    stop: &AtomicUsize,
) -> Result<FileStats> {
    let counted = catch_unwind(AssertUnwindSafe(|| count(source, counting, format, stop)));
    let counted = counted.unwrap_or_else(|_| {
        let error = Error::new(ErrorKind::Internal, "ctxpack failed on this file");
        Err(error.at(source.path()))
    });
    match counted {
        Err(error) if error.kind != ErrorKind::Interrupted => {
            Ok(FileStats::failed(source.path(), &error))
        }
        counted => counted,
    }
}

fn count(
    source: &Source,
    counting: &Counting<'_>,
    format: Option<Format>,
    stop: &AtomicUsize,
) -> Result<FileStats> {
    let path = source.path();
    let mut input = Input::open(source, path, stop)?;
    let detected = detect(&mut input, format)?;
    while input.more()? {}
    let bytes = input.buffer.len() as u64;
    Ok(match detected {
        Detected::Unsupported(name) => FileStats::new(path, name, Counted::Unsupported, bytes),
        Detected::Known(format, layout) => {
            let mut file = FileStats::new(path, format.name(), Counted::Counted, bytes);
            each(&input.buffer, layout, |bytes, first_line, part| {
                let transcript = format.read(bytes, first_line, &mut Warnings::default());
                let line = (part == Part::Line).then_some(first_line);
                counting.add(&mut file, format, &transcript, line);
            });
            file
        }
    })
}
