//! A file of notes, open for reading: where its lines are, and each of them.
//!
//! Lines are found by their rows where there are some (see [`super::brief`]), and else by reading all lines once. Decides nothing
//! about a note.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::{Arc, Mutex};

use super::brief::{BRIEFS, Brief, Row, WORDS};
use super::note::named;
use super::window::{LineBytes, Window};
use super::{Elsewhere, Ended, MAX_LINE_BYTES, Note, NoteFile, READ_BUFFER, whole};
use crate::error::Result;
use crate::store::folder::{Folder, read_exact_at};
use crate::store::identity::{FileIdentity, milliseconds};
use crate::store::keys::key_of;
use crate::store::line_file::{Place, next_line};
use crate::store::rows::{Rows, row_bytes, row_of};
use crate::store::table::Filling;

/// A file of finished work.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: OsString,
    pub(super) file: Arc<NoteFile>,
    pub(super) ended: Ended,
    /// The number of bytes of it that were read.
    pub(super) read: u64,
    /// When a line was last written to it, in milliseconds since 1970.
    pub(super) noted: Option<u64>,
    /// The piece of it that was last read to look up a line.
    window: Mutex<Window>,
    rows: Option<PartRows>,
}

/// The rows of its lines; places are then those of rows.
#[derive(Debug)]
struct PartRows {
    rows: Rows<WORDS>,
    window: Mutex<Window>,
}

/// Derives the rows of a file of a completed run, if it is large and has none.
///
/// # Errors
/// The system's; the lines are then read instead.
pub(super) fn index_notes(folder: &Folder, name: &OsStr) -> Result<()> {
    Rows::make((folder, name), BRIEFS, |file, show| {
        each_line(file, &mut |line, offset| match Row::of(line, offset) {
            Some(row) => show(row.to_words()),
            None => Ok(()),
        })
        .map(drop)
    })
}

/// Calls `show` with each line and the offset at which it begins. Returns the number of bytes of complete lines: the last line of an
/// active run may still be incomplete.
fn each_line(file: &File, show: &mut dyn FnMut(&[u8], u64) -> io::Result<()>) -> io::Result<u64> {
    let mut lines = BufReader::with_capacity(READ_BUFFER, file);
    let mut line = Vec::new();
    let (mut offset, mut complete) = (0, 0);
    while let Some(bytes) = next_line(&mut lines, MAX_LINE_BYTES, &mut line)? {
        show(&line, offset)?;
        offset += bytes;
        if line.ends_with(b"\n") {
            complete = offset;
        }
    }
    Ok(complete)
}

impl Part {
    pub(super) fn new((folder, name): (&Folder, OsString), file: File, ended: Ended) -> Self {
        let seen = file.metadata().ok().map(|seen| FileIdentity::of(&seen));
        let rows = match ended {
            Ended::Whole => Rows::open((folder, &name), &file, BRIEFS),
            Ended::Interrupted => None,
        };
        Part {
            file: Arc::new(NoteFile {
                name: whole(&name).to_string_lossy().into_owned(),
                file,
            }),
            name,
            ended,
            read: 0,
            noted: seen.and_then(|seen| seen.modified).map(milliseconds),
            window: Mutex::default(),
            rows: rows.map(|rows| PartRows {
                rows,
                window: Mutex::default(),
            }),
        }
    }

    /// Adds the places of its lines, as those of the part with this number.
    pub(super) fn read(&mut self, number: u32, places: &mut Filling<3>) -> io::Result<()> {
        if let Some(of) = &self.rows {
            let bytes = row_bytes::<WORDS>();
            for (row, at) in of.rows.each().zip(0_u64..) {
                // Lines whose rows are damaged count as missing.
                let Some(row) = row.ok().and_then(|words| Row::of_words(&words)) else {
                    break;
                };
                let place = Place {
                    key: row.key,
                    file: number,
                    offset: at * bytes as u64,
                    bytes: bytes as u32,
                };
                places.push(place.to_row())?;
            }
            self.read = self.file.file.metadata()?.len();
            return Ok(());
        }
        self.read = each_line(&self.file.file, &mut |line, offset| {
            let (Some(input), Ok(bytes)) = (named(line), u32::try_from(line.len())) else {
                return Ok(());
            };
            let place = Place {
                key: key_of(&input),
                file: number,
                offset,
                bytes,
            };
            places.push(place.to_row())
        })?;
        Ok(())
    }

    /// The line at one of its places.
    pub(super) fn line(&self, place: Place) -> io::Result<LineBytes> {
        Ok(self.note(place)?.line)
    }

    pub(super) fn note(&self, place: Place) -> io::Result<Note> {
        let place = match &self.rows {
            None => place,
            Some(of) => {
                let row = self.row(of, place).ok_or(io::ErrorKind::InvalidData)?;
                Place {
                    offset: row.offset,
                    bytes: row.bytes,
                    ..place
                }
            }
        };
        Ok(Note {
            line: piece(&self.window, (&self.file.file, self.read), place)?,
            ended: self.ended,
            noted: self.noted,
            place: Some((Arc::clone(&self.file), place.offset)),
        })
    }

    pub(super) fn brief(&self, place: Place) -> Option<(Brief, Elsewhere)> {
        let row = self.row(self.rows.as_ref()?, place)?;
        let (_, brief) = row.brief?;
        let (offset, bytes) = row.outcome()?;
        let outcome = Elsewhere {
            file: Arc::clone(&self.file),
            offset,
            bytes,
        };
        Some((brief, outcome))
    }

    /// The row at this place; `None` if it is damaged, or about a line beyond the end of the file.
    fn row(&self, of: &PartRows, place: Place) -> Option<Row> {
        let bytes = piece(&of.window, of.rows.bytes(), place).ok()?;
        let row = Row::of_words(&row_of(&bytes)?)?;
        (row.end()? <= self.read).then_some(row)
    }
}

/// What is at this place of a file with `end` bytes.
fn piece(window: &Mutex<Window>, (file, end): (&File, u64), place: Place) -> io::Result<LineBytes> {
    // If another thread holds the window, reads without it instead of waiting.
    if let Ok(mut window) = window.try_lock()
        && let Some(line) = window.line((file, end), place)
    {
        return Ok(line);
    }
    let mut line = vec![0; place.bytes as usize];
    read_exact_at(file, &mut line, place.offset)?;
    Ok(LineBytes::from(line))
}
