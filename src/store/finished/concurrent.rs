//! What other runs of the same command note while this one is running: consulted if an output exists that this run did not expect.
//!
//! Only what was noted since this run began. Each line is read once, however often it is looked up; a few bytes are held for each.
//! Lines are trusted no more than those of earlier runs: input and output are checked before one is taken over.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use super::note::named;
use super::{Ended, FINISHED, FinishedWork, MAX_LINE_BYTES, Note, NoteHeader, Work, whole};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::folder::read_exact_at;
use crate::store::keys::key_of;
use crate::store::line_file::next_line;

/// What was read so far of the files of one work.
#[derive(Debug, Default)]
pub struct ConcurrentNotes(Mutex<Notes>);

/// What is noted of an input.
#[derive(Debug)]
pub enum Noted {
    /// It is finished.
    Finished(Note),
    /// Nothing, and another run may be active.
    NotYet,
    /// Nothing.
    Nothing,
}

#[derive(Debug, Default)]
struct Notes {
    files: Vec<Followed>,
    /// The newest line of each input, by the key of the input's name.
    places: HashMap<u64, Place>,
}

/// A file that its run may still append to.
#[derive(Debug)]
struct Followed {
    /// The name that it will have once its run has completed.
    name: OsString,
    file: File,
    /// The number of bytes of it that were read.
    read: u64,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    file: usize,
    offset: u64,
    bytes: u64,
}

impl Store {
    /// What runs of the same command have noted about the input with this name, from when `known` was read up to now.
    ///
    /// # Errors
    /// The system's, and those of [`Store::finished_work`].
    pub fn noted_meanwhile(
        &self,
        work: &Work,
        known: &FinishedWork,
        meanwhile: &ConcurrentNotes,
        input: &str,
    ) -> Result<Noted> {
        let mut notes = meanwhile.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(note) = notes.of(input) {
            return Ok(Noted::Finished(note));
        }
        let Some(folder) = self.part(FINISHED)? else {
            return Ok(Noted::Nothing);
        };
        let own = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.as_ref().map(|own| own.lines.name().to_owned());
        let mut others = work.files(&folder)?;
        others.retain(|(_, name, _)| own.as_ref() != Some(name));
        for (_, name, _) in &others {
            let as_whole = whole(name);
            if notes.files.iter().any(|file| file.name == as_whole) {
                continue;
            }
            // What was there when this run began is known.
            let read = known.read_of(&as_whole);
            // A file that was renamed since it was listed is found the next time.
            if let Ok(file) = folder.read(name) {
                notes.files.push(Followed {
                    name: as_whole,
                    file,
                    read,
                });
            }
        }
        let read = notes.read_on();
        read.map_err(|e| Error::io(folder.path(), "read", e))?;
        let is_active = |ended: &Ended| *ended == Ended::Interrupted;
        Ok(match notes.of(input) {
            Some(note) => Noted::Finished(note),
            None if others.iter().any(|(.., ended)| is_active(ended)) => Noted::NotYet,
            None => Noted::Nothing,
        })
    }
}

impl Notes {
    /// A run that has just noted an output has finished that input, so its note counts like that of a completed run.
    fn of(&self, input: &str) -> Option<Note> {
        let place = self.places.get(&key_of(input))?;
        let mut line = vec![0; usize::try_from(place.bytes).ok()?];
        let file = &self.files.get(place.file)?.file;
        read_exact_at(file, &mut line, place.offset).ok()?;
        let note = Note {
            line: line.into(),
            ended: Ended::Whole,
            noted: None,
            place: None,
        };
        let is_of = |header: NoteHeader<'_>| *header.input == *input;
        note.header().is_some_and(is_of).then_some(note)
    }

    /// Reads the lines that were added; an incomplete line is read the next time.
    fn read_on(&mut self) -> io::Result<()> {
        for (number, followed) in self.files.iter_mut().enumerate() {
            if followed.file.metadata()?.len() <= followed.read {
                continue;
            }
            followed.file.seek(SeekFrom::Start(followed.read))?;
            let mut lines = BufReader::new(&followed.file);
            let mut line = Vec::new();
            while let Some(bytes) = next_line(&mut lines, MAX_LINE_BYTES, &mut line)? {
                if !line.ends_with(b"\n") {
                    break;
                }
                if let Some(input) = named(&line) {
                    let place = Place {
                        file: number,
                        offset: followed.read,
                        bytes,
                    };
                    self.places.insert(key_of(&input), place);
                }
                followed.read += bytes;
            }
        }
        Ok(())
    }
}
