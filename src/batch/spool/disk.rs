//! Outcomes on the disk: written one behind the other as they come, and read by their places once all have come.
//!
//! Outcomes that other files have already are read from there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::no_such;
use super::places::{Place, Places, Placing, Says};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Exit, Figures, Outcome, Totals, Warning};
use crate::store::folder::read_exact_at;
use crate::store::unnamed::unnamed;

/// Outcomes are read at once from a part of a file that is not more than this many times as long as they are.
const SPREAD: u64 = 4;
/// More bytes than the JSON of most outcomes has.
const A_LINE: usize = 2 << 10;

/// An outcome on its way to the disk: what takes time is done before the others have to wait for it.
#[derive(Debug)]
pub struct Written {
    outcome: Outcome,
    /// Its JSON, and behind it the hint of its error, which no report has.
    line: Vec<u8>,
    hint: u16,
}

/// Outcomes that are written to the disk.
#[derive(Debug)]
pub(super) struct Spooled {
    tape: BufWriter<File>,
    end: u64,
    /// Other files that have outcomes.
    others: Vec<Arc<File>>,
    places: Placing,
    /// What is to be added to outcomes that were written, by the paths of their inputs.
    late: BTreeMap<String, Vec<Warning>>,
    totals: Totals,
    exit: Exit,
}

/// Outcomes on the disk, sorted by the paths of their inputs.
#[derive(Debug)]
pub struct Filed {
    files: Files,
    places: Places,
    totals: Totals,
    exit: Exit,
}

impl Written {
    /// Makes an outcome ready for the disk.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] where there is no JSON of it.
    pub fn of(outcome: Outcome) -> Result<Self> {
        let mut line = Vec::with_capacity(A_LINE);
        serde_json::to_writer(&mut line, &outcome).map_err(|e| {
            Error::new(ErrorKind::Internal, format!("cannot write an outcome: {e}"))
        })?;
        let error = outcome.file.error.as_ref();
        let hint = error.and_then(|error| error.hint.as_deref());
        // One that is longer than any of ours is left out.
        let hint = hint.filter(|hint| hint.len() <= usize::from(u16::MAX));
        let hint = hint.unwrap_or_default().as_bytes();
        line.extend_from_slice(hint);
        let hint = hint.len() as u16;
        Ok(Written {
            outcome,
            line,
            hint,
        })
    }

    pub(super) fn into_outcome(self) -> Outcome {
        self.outcome
    }

    /// Its place, if it begins there on the tape.
    fn place(&self, offset: u64) -> Result<Place> {
        let bytes = u32::try_from(self.line.len() - usize::from(self.hint))
            .map_err(|_| Error::new(ErrorKind::Internal, "an outcome of more than 4 GiB"))?;
        Ok(Place {
            offset,
            bytes,
            file: 0,
            hint: self.hint,
            says: Says::of(&Figures::of(&self.outcome)),
            saved: self.outcome.tokens_saved(),
        })
    }
}

impl Says {
    pub(super) fn of(figures: &Figures) -> Self {
        match figures.is_remarkable() {
            true => Says::More,
            false => Says::Figures,
        }
    }
}

impl Spooled {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let tape = unnamed(folder).map_err(unkept)?;
        Ok(Spooled {
            tape,
            end: 0,
            others: Vec::new(),
            places: Placing::new(folder),
            late: BTreeMap::new(),
            totals: Totals::default(),
            exit: Exit::Done,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn push(&mut self, written: &Written) -> Result<()> {
        let place = self.write(written)?;
        let outcome = &written.outcome;
        self.add(
            outcome.file.path.as_str().into(),
            place,
            Figures::of(outcome),
        )
    }

    /// Adds an outcome that is at this place.
    pub(super) fn add(&mut self, path: Box<str>, place: Place, figures: Figures) -> Result<()> {
        self.totals += figures;
        self.exit = self.exit.max(figures.exit());
        self.places.add(path, place).map_err(unkept)
    }

    /// The number of a file other than the tape; `None` where there are more than can be told apart.
    pub(super) fn number_of(&mut self, file: &Arc<File>) -> Option<u16> {
        let known = self
            .others
            .iter()
            .position(|other| Arc::ptr_eq(other, file));
        let number = known.unwrap_or(self.others.len()) + 1;
        let number = u16::try_from(number).ok()?;
        if known.is_none() {
            self.others.push(Arc::clone(file));
        }
        Some(number)
    }

    pub(super) fn warn(&mut self, path: &str, warning: Warning) {
        self.late.entry(path.to_owned()).or_default().push(warning);
    }

    fn write(&mut self, written: &Written) -> Result<Place> {
        let place = written.place(self.end)?;
        self.tape.write_all(&written.line).map_err(unkept)?;
        self.end += written.line.len() as u64;
        Ok(place)
    }

    /// All of them, in the order of a report.
    pub(super) fn sorted(self) -> Result<Filed> {
        let mut files = Files {
            tape: self.tape.into_inner().map_err(|e| unkept(e.into()))?,
            others: self.others,
        };
        let (mut late, mut end) = (self.late, self.end);
        let places = self.places.sorted(&mut |path, place| {
            let Some(warnings) = late.remove(path) else {
                return Ok(place);
            };
            let mut outcome = files.read(place)?;
            outcome.warnings.extend(warnings);
            let written = Written::of(outcome).map_err(|e| io::Error::other(e.message))?;
            let place = written
                .place(end)
                .map_err(|e| io::Error::other(e.message))?;
            files.tape.seek(SeekFrom::Start(end))?;
            files.tape.write_all(&written.line)?;
            end += written.line.len() as u64;
            Ok(place)
        });
        Ok(Filed {
            places: places.map_err(unkept)?,
            files,
            totals: self.totals,
            exit: self.exit,
        })
    }
}

impl Filed {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    pub(super) fn place(&self, at: usize) -> io::Result<Place> {
        self.places.get(at)
    }

    pub(super) fn get(&self, at: usize) -> io::Result<Outcome> {
        self.files.read(self.place(at)?)
    }

    pub(super) fn json(&self, at: usize) -> io::Result<Vec<u8>> {
        self.files.json(self.place(at)?)
    }

    /// Shows the JSON of several. Where they are close to each other, as what a walk finds in one folder is, they are read at once.
    pub(super) fn each(
        &self,
        places: Range<usize>,
        show: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        let here = self.places.range(places.start, places.end)?;
        let Some((span, bytes)) = span(&here) else {
            for (at, place) in places.zip(here) {
                show(at, &self.files.json(place)?);
            }
            return Ok(());
        };
        let all = self.files.bytes_at(span, bytes)?;
        for (at, place) in places.zip(here) {
            let begin = (place.offset - span.1) as usize;
            show(at, &all[begin..begin + place.bytes as usize]);
        }
        Ok(())
    }
}

/// The files that have outcomes.
#[derive(Debug)]
struct Files {
    tape: File,
    others: Vec<Arc<File>>,
}

impl Files {
    fn bytes_at(&self, (file, offset): (u16, u64), bytes: usize) -> io::Result<Vec<u8>> {
        let file = match usize::from(file).checked_sub(1) {
            None => &self.tape,
            Some(other) => self.others.get(other).ok_or_else(no_such)?,
        };
        let mut line = vec![0; bytes];
        read_exact_at(file, &mut line, offset)?;
        Ok(line)
    }

    fn json(&self, place: Place) -> io::Result<Vec<u8>> {
        self.bytes_at((place.file, place.offset), place.bytes as usize)
    }

    fn read(&self, place: Place) -> io::Result<Outcome> {
        let json = place.bytes as usize;
        let bytes = json + usize::from(place.hint);
        let line = self.bytes_at((place.file, place.offset), bytes)?;
        let mut outcome: Outcome = serde_json::from_slice(&line[..json])?;
        if let Some(error) = outcome.file.error.as_mut().filter(|_| place.hint > 0) {
            error.hint = Some(String::from_utf8_lossy(&line[json..]).into_owned());
        }
        Ok(outcome)
    }
}

/// Where the first of some places begins, and how many bytes they are with all between them, if these are few.
fn span(places: &[Place]) -> Option<((u16, u64), usize)> {
    let file = places.first()?.file;
    let begin = places.iter().map(|place| place.offset).min()?;
    let end = places
        .iter()
        .map(|place| place.offset + u64::from(place.bytes))
        .max()?;
    let wanted: u64 = places.iter().map(|place| u64::from(place.bytes)).sum();
    let is_close = end - begin <= SPREAD * wanted && places.iter().all(|place| place.file == file);
    let bytes = usize::try_from(end - begin).ok()?;
    is_close.then_some(((file, begin), bytes))
}

fn unkept(error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot keep outcomes on the disk: {error}"),
    )
}
