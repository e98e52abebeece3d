//! Selects among the transcripts that walks found: by when they were last written to, and by project.
//!
//! Reads the beginning and the end of files, never all of one. What a transcript says is compared, and never used as a path. A file
//! that cannot be read stays in: whatever reads it next reports why.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use rayon::prelude::*;

use super::found::Found;
use super::globs::refused;
use super::list::ListWriter;
use super::origin::{TAIL, last_time};
use super::project::directory_in;
use super::skipped::SkipReason;
use super::source::{Origin, Source};
use super::{lacks_handles, pool};
use crate::error::{Error, ErrorKind, Result};
use crate::store::open_transcript;

/// Minimum number of files for which threads pay off.
const PARALLEL_THRESHOLD: u64 = 64;
/// How many files are looked at before the next ones are read from the list.
const AT_ONCE: usize = 1_024;
/// Attempts to open a file when handles are exhausted, and the pause between them.
const MAX_TRIES: u32 = 500;
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Which transcripts are selected. Files that were named always are.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    since: Option<SystemTime>,
    until: Option<SystemTime>,
    project: Option<GlobMatcher>,
}

impl Filter {
    /// Selects those last written to at or after `since` and before `until`, in projects whose folder, or its name, matches the
    /// glob.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid glob.
    pub fn new(
        since: Option<SystemTime>,
        until: Option<SystemTime>,
        project: Option<&str>,
    ) -> Result<Self> {
        let glob = |text: &str| {
            if let Some(why) = refused(text) {
                return Err(Error::new(ErrorKind::Usage, format!("--project: {why}")));
            }
            let glob = GlobBuilder::new(text).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| {
                Error::new(ErrorKind::Usage, format!("--project: {error}"))
                    .hint("a glob of the project's folder or its name: app, '*/code/*'")
            })
        };
        Ok(Filter {
            since,
            until,
            project: project.map(glob).transpose()?,
        })
    }

    /// Whether all transcripts are selected.
    pub fn takes_all(&self) -> bool {
        self.since.is_none() && self.until.is_none() && self.project.is_none()
    }

    /// Moves files that are not selected to the skipped ones; calls `unused` with the files that were named, which are not
    /// filtered.
    ///
    /// Each file has to be opened, so several threads share the work if there are many.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] where threads cannot be started; if the list of inputs cannot be kept or read.
    pub fn apply(
        &self,
        found: &mut Found,
        (threads, scratch): (usize, &Path),
        unused: &mut dyn FnMut(&Path),
    ) -> Result<()> {
        if self.takes_all() {
            return Ok(());
        }
        let pool = match found.sources.len() {
            ..PARALLEL_THRESHOLD => None,
            _ => Some(pool(threads)?),
        };
        let left_out = |source: &Source| match source {
            Source::File(file) if file.origin == Origin::Walked => self.leaves_out(&file.path),
            Source::File(_) | Source::Stdin => None,
        };
        let mut kept = ListWriter::new(scratch);
        let mut sources = found.sources.iter();
        loop {
            let some = sources.by_ref().take(AT_ONCE);
            let some: Vec<Cow<'_, Source>> = some.collect::<Result<_>>()?;
            if some.is_empty() {
                break;
            }
            let look = |source: &Cow<'_, Source>| left_out(source);
            let whys: Vec<Option<SkipReason>> = match &pool {
                None => some.iter().map(look).collect(),
                Some(pool) => pool.install(|| some.par_iter().map(look).collect()),
            };
            for (source, why) in some.into_iter().zip(whys) {
                match (why, &*source) {
                    (Some(why), source) => found.skipped.count(source.path().to_owned(), why),
                    (None, Source::File(file)) if file.origin == Origin::Named => {
                        unused(&file.path);
                        kept.push(source.into_owned())?;
                    }
                    (None, _) => kept.push(source.into_owned())?,
                }
            }
        }
        found.sources = kept.finish()?;
        Ok(())
    }

    /// Whether a file is selected.
    pub fn takes(&self, path: &Path) -> bool {
        self.leaves_out(path).is_none()
    }

    /// Why a file is not selected, if it is not.
    pub(super) fn leaves_out(&self, path: &Path) -> Option<SkipReason> {
        if (self.since.is_some() || self.until.is_some())
            && let Some(written) = last_written(path)
        {
            if self.since.is_some_and(|since| written < since) {
                return Some(SkipReason::Older);
            }
            if self.until.is_some_and(|until| written >= until) {
                return Some(SkipReason::Newer);
            }
        }
        let project = self.project.as_ref()?;
        // What cannot be opened is not known to be of another project.
        let (file, _) = open(path).ok()?;
        let directory = directory_in(file, path, None)?;
        let is_meant = directory.is_some_and(|directory| {
            let name = directory.rsplit(['/', '\\']).next().unwrap_or_default();
            project.is_match(&directory) || project.is_match(name)
        });
        (!is_meant).then_some(SkipReason::OtherProject)
    }
}

/// The last time recorded at the end of the file; if there is none (a format without times, a compressed file), its modification
/// time.
fn last_written(path: &Path) -> Option<SystemTime> {
    let (file, metadata) = open(path).ok()?;
    let modified = metadata.modified().ok();
    recorded(file, metadata.len()).or(modified)
}

/// Opens a file; if no file handles are left, waits until others are closed. A file that cannot be opened counts as selected.
fn open(path: &Path) -> Result<(File, Metadata)> {
    let mut tries = 0..MAX_TRIES;
    loop {
        match open_transcript(path) {
            Err(error) if lacks_handles(&error) && tries.next().is_some() => {
                thread::sleep(RETRY_PAUSE)
            }
            opened => return opened,
        }
    }
}

fn recorded(mut file: File, length: u64) -> Option<SystemTime> {
    let start = length.saturating_sub(TAIL as u64);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL as u64).read_to_end(&mut tail).ok()?;
    last_time(&tail).map(Into::into)
}
