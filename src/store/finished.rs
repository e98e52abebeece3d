//! The log of finished inputs, which lets a rerun skip them: one line per input with its report entry.
//!
//! Each run appends to its own file as inputs are finished, `finished/<work>-<number>-<random>.part.jsonl`, after the output has
//! its name. A run that completes removes the `.part`. If two lines are about the same input, the one with the higher number
//! counts. `<work>` is a hash of everything besides an input that a result depends on, so that only the same command reads the
//! lines, and a different policy or program version processes everything again.
//!
//! Beside them, `finished/<work>-<hash>.report` says which report a run has written: see [`WrittenReport`].
//!
//! Beside a large file of a completed run, `finished/<work>-<number>-<random>.rows` says the same in short.
//!
//! Lines are not trusted: a line counts only if input, output and record match it. Without these files, or with damaged ones,
//! inputs are processed again and nothing else is lost.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::Store;
use super::folder::{Durability, Folder, not_plain, random_name};
use super::identity::FileIdentity;
use super::keys::key_of;
use super::line_file::{ENDING, LineFile, Place, is_alive, names};
use super::manifest::RecordedOutputs;
use super::rows;
use super::table::{Filling, Table};
use crate::error::{Error, ErrorKind, Result};

mod brief;
mod concurrent;
mod note;
mod part;
mod reports;
mod stale;
mod window;

pub use brief::{Brief, names_key};
pub use concurrent::{ConcurrentNotes, Noted};
pub use note::{Elsewhere, Ended, Finished, JsonText, Note, NoteFile, NoteHeader};
use part::Part;
pub use reports::WrittenReport;

pub(super) const FINISHED: &str = "finished";
/// The part of a file name, before the ending, that marks a run that has not completed.
const PART: &str = ".part";
/// Longer than any line, in bytes.
const MAX_LINE_BYTES: u64 = 256 << 20;
/// If one command has more files than this, they are merged into one.
const MAX_FILES: usize = 8;
/// Size of the read buffer, in bytes.
const READ_BUFFER: usize = 64 << 10;
/// Version of the line format; lines of other versions are ignored.
const LINE_VERSION: u32 = 4;
/// The digits of a [`Work`].
const WORK_DIGITS: usize = 16;

/// Everything besides an input that its result depends on, as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work(String);

impl Work {
    /// An identifier for an input of this work, for what is kept about it outside of the notes.
    pub fn requester(&self, input: &str) -> String {
        let Work(digits) = self;
        let hash = blake3::hash(format!("{digits} {input}").as_bytes()).to_hex();
        hash[..WORK_DIGITS].to_owned()
    }

    /// The work described by these words.
    pub fn of(words: &str) -> Self {
        let hash = blake3::hash(format!("{LINE_VERSION} {words}").as_bytes()).to_hex();
        Work(hash[..WORK_DIGITS].to_owned())
    }
}

/// What earlier runs of a command have finished: the places of the lines, by the names of their inputs.
#[derive(Debug, Default)]
pub struct FinishedWork {
    files: Vec<Part>,
    /// The rows are [`Place`]s. If an input has several lines, the last one counts.
    places: Table<3>,
    /// Which of them this run has met, a bit each.
    met: Vec<AtomicU64>,
}

/// A line that may belong to an input.
#[derive(Debug)]
pub struct Line<'f> {
    place: Place,
    part: &'f Part,
    /// Whether this run has met its input: the bit, and the word that contains it.
    met: (&'f AtomicU64, u64),
}

impl FinishedWork {
    fn new(files: Vec<Part>, places: Table<3>) -> Self {
        let words = places.len().div_ceil(u64::BITS.into());
        FinishedWork {
            files,
            places,
            met: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether no finished work is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of lines: at least that of finished inputs.
    pub fn len(&self) -> u64 {
        self.places.len()
    }

    /// The valid line for an input of this name, if there is one; the caller compares the name.
    pub fn line(&self, input: &str) -> Option<Line<'_>> {
        let (place, met) = self.place(key_of(input))?;
        Some(Line {
            place,
            part: self.part_of(place)?,
            met,
        })
    }

    fn part_of(&self, place: Place) -> Option<&Part> {
        self.files.get(usize::try_from(place.file).ok()?)
    }

    /// Whether the inputs of all these records were met.
    pub fn has_met_all(&self, recorded: &RecordedOutputs) -> bool {
        let mut inputs = recorded.inputs();
        inputs.all(|key| key.is_ok_and(|key| self.has_met(key)))
    }

    /// Whether an input of this name was met.
    pub fn has_met_input(&self, input: &str) -> bool {
        self.has_met(key_of(input))
    }

    fn has_met(&self, key: u64) -> bool {
        let place = self.place(key);
        place.is_some_and(|(_, (met, bit))| met.load(Ordering::Relaxed) & bit != 0)
    }

    /// The last of the places with this key, with its `met` bit. A place that cannot be read counts as missing.
    fn place(&self, key: u64) -> Option<(Place, (&AtomicU64, u64))> {
        let few = self.places.of(key).ok()?;
        let at = few.end.checked_sub(1).filter(|at| *at >= few.start)?;
        let place = Place::of_row(self.places.row(at).ok()?);
        let bits = u64::from(u64::BITS);
        let met = self.met.get(usize::try_from(at / bits).ok()?)?;
        Some((place, (met, 1 << (at % bits))))
    }

    /// The number of bytes read of the file that will have this name once its run has completed.
    fn read_of(&self, as_whole: &OsStr) -> u64 {
        let part = self.files.iter().find(|part| whole(&part.name) == as_whole);
        part.map_or(0, |part| part.read)
    }

    /// The places of the lines that count.
    fn newest(&self) -> impl Iterator<Item = io::Result<Place>> {
        let mut places = self.places.rows().peekable();
        std::iter::from_fn(move || {
            loop {
                let place = match places.next()? {
                    Ok(row) => Place::of_row(row),
                    Err(error) => return Some(Err(error)),
                };
                let is_last = |next: &io::Result<[u64; 3]>| {
                    next.as_ref().is_ok_and(|[key, ..]| *key == place.key)
                };
                if !places.peek().is_some_and(is_last) {
                    return Some(Ok(place));
                }
            }
        })
    }
}

impl Line<'_> {
    /// Reads the line. A line that cannot be read counts as missing.
    pub fn read(&self) -> Option<Note> {
        self.part.note(self.place).ok()
    }

    /// What the line says in short, and the location of its outcome's JSON; `None` if this is known only from the line.
    pub fn brief(&self) -> Option<(Brief, Elsewhere)> {
        self.part.brief(self.place)
    }

    /// Whether an output with the identity `now` is the one that the note has `seen`, and has not been touched since.
    pub fn is_untouched_output(&self, seen: FileIdentity, now: FileIdentity) -> bool {
        let noted = self.part.noted;
        noted.is_some_and(|noted| seen.is_untouched_output(now, noted))
    }

    /// Records that the input exists, so that it need not be looked up again.
    pub fn meet(&self) {
        let (met, bit) = self.met;
        met.fetch_or(bit, Ordering::Relaxed);
    }
}

/// The notes of the run in this process.
#[derive(Debug)]
pub(super) struct OwnNotes {
    lines: LineFile,
    /// For reading; on some systems, reading would move the position at which the next line is written.
    file: Arc<NoteFile>,
}

impl OwnNotes {
    fn create(folder: Folder, work: &Work) -> Result<Self> {
        let name = work.next_name(&folder)?;
        // Notes that do not survive a power cut only mean that the work is repeated.
        let lines = LineFile::create(folder.clone(), name.clone(), Durability::Lazy)?;
        let file = folder.read(&name);
        let file = file.map_err(|e| not_plain(lines.path(), "read", e))?;
        let name = whole(&name).to_string_lossy().into_owned();
        Ok(OwnNotes {
            lines,
            file: Arc::new(NoteFile { name, file }),
        })
    }
}

impl Store {
    /// What earlier runs of this work have finished. If there is no store, nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the system refuses; [`ErrorKind::Store`] for anything that no run of ours can have made.
    pub fn finished_work(&self, work: &Work) -> Result<FinishedWork> {
        let Some(folder) = self.part(FINISHED)? else {
            return Ok(FinishedWork::default());
        };
        let mut files = Vec::new();
        let mut places = Filling::new(self.root());
        for (_, name, ended) in work.files(&folder)? {
            let failed = |e| not_plain(&folder.path().join(&name), "read", e);
            let file = match folder.read(&name) {
                // Another run has ended meanwhile: its inputs are processed again.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                file => file.map_err(failed)?,
            };
            let Ok(number) = u32::try_from(files.len()) else {
                break;
            };
            let path = folder.path().join(&name);
            let mut part = Part::new((&folder, name), file, ended);
            let read = part.read(number, &mut places);
            read.map_err(|e| not_plain(&path, "read", e))?;
            files.push(part);
        }
        let places = places.finish();
        let places = places.map_err(|e| Error::io(folder.path(), "sort what is in", e))?;
        Ok(FinishedWork::new(files, places))
    }

    /// Whether there are files of this work. If there is no store, there are none.
    ///
    /// # Errors
    /// The errors of [`Store::finished_work`].
    pub fn has_finished(&self, work: &Work) -> Result<bool> {
        let folder = self.part(FINISHED)?;
        let files = folder.map(|folder| work.files(&folder)).transpose()?;
        Ok(files.is_some_and(|files| !files.is_empty()))
    }

    /// Whether the folder of this store exists.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for anything else in its place.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.opened()?.is_some())
    }

    /// Notes a finished input, after its output has its name. Returns the location of its outcome.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the system refuses; the next run then processes the input again.
    pub fn note_finished(&self, work: &Work, finished: &Finished) -> Result<Elsewhere> {
        let internal = |e| Error::new(ErrorKind::Internal, format!("cannot write a line: {e}"));
        let line = finished.line().map_err(internal)?;
        let bytes = u32::try_from(line.outcome.len())
            .map_err(|_| Error::new(ErrorKind::Internal, "an outcome of more than 4 GiB"))?;
        let mut slot = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = match slot.take() {
            Some(own) => own,
            None => OwnNotes::create(self.folder(FINISHED)?, work)?,
        };
        let appended = own.lines.append(&line.bytes);
        let own = slot.insert(own);
        Ok(Elsewhere {
            file: Arc::clone(&own.file),
            offset: appended? + line.outcome.start as u64,
            bytes,
        })
    }

    /// Marks the run as completed: what it has done, and what it has taken over from interrupted runs, now counts as the work of a
    /// completed run. If this command has many files, they are merged into one.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the system refuses; the work then still counts as that of interrupted runs.
    pub fn end_finished(&self, work: &Work, known: &FinishedWork) -> Result<()> {
        let own = {
            let mut slot = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            slot.take()
        };
        let is_new = own.is_some();
        if let Some(own) = own {
            let name = whole(own.lines.name());
            own.lines.rename(&name)?;
        }
        let interrupted = |part: &&Part| part.ended == Ended::Interrupted;
        let has_interrupted = known.files.iter().any(|part| interrupted(&part));
        if has_interrupted {
            let folder = self.folder(FINISHED)?;
            for part in known.files.iter().filter(interrupted) {
                if !is_alive(&folder, &part.name) {
                    let renamed = folder.rename_to_free(&part.name, &whole(&part.name));
                    renamed.map_err(|e| Error::io(folder.path(), "rename", e))?;
                }
            }
        }
        if is_new && known.files.len() >= MAX_FILES {
            self.join_finished(work)?;
        }
        // A run that has done nothing writes nothing: its store may be read-only.
        if is_new || has_interrupted {
            let folder = self.folder(FINISHED)?;
            for (_, name, ended) in work.files(&folder)? {
                match ended {
                    // Without it, the next run takes longer.
                    Ended::Whole => drop(part::index_notes(&folder, &name)),
                    Ended::Interrupted => {}
                }
            }
        }
        Ok(())
    }

    /// Writes the valid lines of all files of completed runs to one file, without inputs that no longer exist.
    fn join_finished(&self, work: &Work) -> Result<()> {
        let all = self.finished_work(work)?;
        let folder = self.folder(FINISHED)?;
        let failed = |e| Error::io(folder.path(), "join the files", e);
        let name = work.next_name(&folder)?;
        let mut joined = LineFile::create(folder.clone(), name, Durability::Lazy)?;
        let is_whole = |part: &Part| part.ended == Ended::Whole;
        for place in all.newest() {
            let place = place.map_err(failed)?;
            let Some(part) = all.part_of(place).filter(|part| is_whole(part)) else {
                continue;
            };
            let line = part.line(place).map_err(failed)?;
            let header = NoteHeader::of(&line);
            if header.is_some_and(|header| self.path_of(&header.input).exists()) {
                joined.append(&line)?;
            }
        }
        let name = whole(joined.name());
        joined.rename(&name)?;
        for part in all.files.iter().filter(|part| is_whole(part)) {
            for name in [&part.name, &rows::beside(&part.name)] {
                match folder.remove(name) {
                    // There were no rows, or another run was faster.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    removed => removed.map_err(failed)?,
                }
            }
        }
        Ok(())
    }
}

impl Work {
    /// The files of this work in a folder, the oldest first.
    fn files(&self, folder: &Folder) -> Result<Vec<(u64, OsString, Ended)>> {
        let names = names(folder)?.into_iter();
        let file = |name: OsString| {
            self.read_name(&name)
                .map(|(number, ended)| (number, name, ended))
        };
        let mut files: Vec<_> = names.filter_map(file).collect();
        files.sort();
        Ok(files)
    }

    /// The file name for a run that is starting.
    fn next_name(&self, folder: &Folder) -> Result<OsString> {
        let newest = self.files(folder)?.last().map_or(0, |(number, ..)| *number);
        let number = newest.saturating_add(1);
        let name = format!("{}-{number:08}-{}{PART}.{ENDING}", self.0, random_name());
        Ok(OsString::from(name))
    }

    /// The number in the name of a file of this work, and whether its run came to its end.
    fn read_name(&self, name: &OsStr) -> Option<(u64, Ended)> {
        let rest = name.to_str()?.strip_prefix(&self.0)?.strip_prefix('-')?;
        let stem = rest.strip_suffix(ENDING)?.strip_suffix('.')?;
        let ended = match stem.strip_suffix(PART) {
            Some(_) => Ended::Interrupted,
            None => Ended::Whole,
        };
        Some((stem.split('-').next()?.parse().ok()?, ended))
    }
}

/// The name that a file has once its run has completed.
fn whole(name: &OsStr) -> OsString {
    let name = name.to_string_lossy();
    OsString::from(name.replace(PART, ""))
}

#[cfg(test)]
mod tests;
