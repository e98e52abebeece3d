//! Entries on disk: appended as they come, and read by position once all have come.
//!
//! Entries that are already in other files are read from there.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::places::{PLACES_PER_READ, Place, Places, Placing, Says};
use super::{Held, Kept, no_such};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::store::finished::{Elsewhere, NoteFile};
use crate::store::folder::read_exact_at;
use crate::store::unnamed::unnamed;

/// Entries are read at once if the part of the file that spans them is at most this many times their total length.
const SPREAD: u64 = 4;
/// More bytes than the JSON of a typical entry.
const TYPICAL_ENTRY_BYTES: usize = 2 << 10;

/// An entry ready for the disk: the slow work is done before taking the lock.
#[derive(Debug)]
pub struct Written<E> {
    entry: E,
    /// Its JSON, followed by what is not in reports: its exact figures, and the hint of its error.
    line: Vec<u8>,
    exact: usize,
    hint: u16,
}

/// Entries that are written to the disk.
#[derive(Debug)]
pub(super) struct Spooled<E: Kept> {
    tape: BufWriter<File>,
    end: u64,
    /// Other files that have entries.
    others: Vec<Arc<NoteFile>>,
    places: Placing,
    pub(super) sums: E::Sums,
}

/// Entries on the disk, sorted by the paths of their inputs.
#[derive(Debug)]
pub struct Filed<E: Kept> {
    files: Files,
    places: Places,
    pub(super) sums: E::Sums,
}

/// Called with each path in order; may read its entry and return a replacement.
pub(super) type Amend<'a, E> =
    &'a mut dyn FnMut(&str, &dyn Fn() -> io::Result<E>) -> io::Result<Option<E>>;

/// Called with the bytes of an entry on disk, its number in the order and its place.
type ShowLine<'a> = &'a mut dyn FnMut(usize, Place, &[u8]) -> io::Result<()>;

impl<E: Kept> Written<E> {
    /// Makes an entry ready for the disk.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if it cannot be serialised to JSON.
    pub fn of(entry: E) -> Result<Self> {
        let mut line = Vec::with_capacity(TYPICAL_ENTRY_BYTES);
        serde_json::to_writer(&mut line, &entry).map_err(|e| {
            Error::new(ErrorKind::Internal, format!("cannot write an outcome: {e}"))
        })?;
        let exact = entry.exact();
        line.extend_from_slice(&exact);
        let error = entry.file().error.as_ref();
        let hint = error.and_then(|error| error.hint.as_deref());
        // A hint that is longer than any of ours is omitted.
        let hint = hint.filter(|hint| hint.len() <= usize::from(u16::MAX));
        let hint = hint.unwrap_or_default().as_bytes();
        line.extend_from_slice(hint);
        let hint = hint.len() as u16;
        Ok(Written {
            entry,
            line,
            exact: exact.len(),
            hint,
        })
    }

    pub(super) fn into_entry(self) -> E {
        self.entry
    }

    /// Its place, if it begins at `offset` on the tape.
    fn place(&self, offset: u64) -> Result<Place> {
        let short = |length: usize| {
            u32::try_from(length)
                .map_err(|_| Error::new(ErrorKind::Internal, "an outcome of more than 4 GiB"))
        };
        Ok(Place {
            offset,
            bytes: short(self.line.len() - self.exact - usize::from(self.hint))?,
            exact: short(self.exact)?,
            file: 0,
            hint: self.hint,
            says: Says::more_if(self.entry.is_remarkable()),
            weight: self.entry.weight(),
        })
    }
}

impl<E: Kept> Spooled<E> {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let tape = unnamed(folder).map_err(unkept)?;
        Ok(Spooled {
            tape,
            end: 0,
            others: Vec::new(),
            places: Placing::new(folder),
            sums: E::Sums::default(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn push(&mut self, written: &Written<E>) -> Result<()> {
        let place = self.write(written)?;
        written.entry.add_to(&mut self.sums);
        self.add(written.entry.file().path.as_str().into(), place)
    }

    /// Adds an entry; one whose JSON is on disk is not written again.
    pub(super) fn push_held(&mut self, held: Held<E>) -> Result<()> {
        let Held { entry, place } = held;
        let error = entry.file().error.as_ref();
        // A hint is only on the tape. What has exact figures has no place elsewhere.
        let has_hint = error.is_some_and(|error| error.hint.is_some());
        let there = place.filter(|_| !has_hint);
        let (says, weight) = (Says::more_if(entry.is_remarkable()), entry.weight());
        let place = there.and_then(|there| self.place_of(&there, says, weight));
        match place {
            Some(place) => {
                entry.add_to(&mut self.sums);
                self.add(entry.file().path.as_str().into(), place)
            }
            None => self.push(&Written::of(entry)?),
        }
    }

    /// The place of an entry in another file, which has no hint; `None` if there are too many files to number.
    pub(super) fn place_of(&mut self, there: &Elsewhere, says: Says, weight: u64) -> Option<Place> {
        Some(Place {
            offset: there.offset,
            bytes: there.bytes,
            exact: 0,
            file: self.number_of(&there.file)?,
            hint: 0,
            says,
            weight,
        })
    }

    /// Adds an entry that is at this place, and is in the sums.
    pub(super) fn add(&mut self, path: Box<str>, place: Place) -> Result<()> {
        self.places.add(path, place).map_err(unkept)
    }

    /// The number of a file other than the tape; `None` if there are too many files to number.
    fn number_of(&mut self, file: &Arc<NoteFile>) -> Option<u16> {
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

    fn write(&mut self, written: &Written<E>) -> Result<Place> {
        let place = written.place(self.end)?;
        self.tape.write_all(&written.line).map_err(unkept)?;
        self.end += written.line.len() as u64;
        Ok(place)
    }

    /// All entries, in the order of a report.
    pub(super) fn sorted(self, amend: Amend<'_, E>) -> Result<Filed<E>> {
        let mut files = Files {
            tape: self.tape.into_inner().map_err(|e| unkept(e.into()))?,
            others: self.others,
        };
        let mut end = self.end;
        let places = self.places.sorted(&mut |path, alike| {
            if alike.len() > 1 {
                files.settle(alike)?;
            }
            for place in alike {
                let Some(entry) = amend(path, &|| files.read(*place))? else {
                    continue;
                };
                let written = Written::of(entry).map_err(|e| io::Error::other(e.message))?;
                *place = written
                    .place(end)
                    .map_err(|e| io::Error::other(e.message))?;
                files.tape.seek(SeekFrom::Start(end))?;
                files.tape.write_all(&written.line)?;
                end += written.line.len() as u64;
            }
            Ok(())
        });
        Ok(Filed {
            places: places.map_err(unkept)?,
            files,
            sums: self.sums,
        })
    }
}

impl Says {
    pub(super) fn more_if(is_remarkable: bool) -> Self {
        match is_remarkable {
            true => Says::More,
            false => Says::Figures,
        }
    }
}

impl<E: Kept> Filed<E> {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn place(&self, at: usize) -> io::Result<Place> {
        self.places.get(at)
    }

    /// See [`Sorted::key`](super::Sorted::key).
    pub(super) fn key(&self) -> io::Result<String> {
        // Files are numbered as threads meet them; the key does not depend on that.
        let mut names: Vec<(&str, usize)> = Vec::new();
        for (number, other) in self.files.others.iter().enumerate() {
            names.push((&other.name, number + 1));
        }
        names.sort_unstable();
        let mut all = blake3::Hasher::new();
        let mut ranks = vec![None; names.len() + 1];
        for (rank, (name, number)) in (1..).zip(names) {
            all.update(name.as_bytes()).update(b"\n");
            ranks[number] = Some(rank);
        }
        let mut begin = 0;
        while begin < self.len() {
            let end = (begin + PLACES_PER_READ).min(self.len());
            for place in self.places.range(begin, end)? {
                match ranks.get(usize::from(place.file)).copied().flatten() {
                    Some(file) => all.update(&Place { file, ..place }.to_bytes()),
                    None => {
                        let offset = 0;
                        all.update(&Place { offset, ..place }.to_bytes());
                        all.update(&self.files.line(place)?)
                    }
                };
            }
            begin = end;
        }
        Ok(all.finalize().to_hex().to_string())
    }

    pub(super) fn get(&self, at: usize) -> io::Result<E> {
        self.files.read(self.place(at)?)
    }

    /// An entry, and where its JSON is if it is not on the tape.
    pub(super) fn held(&self, at: usize) -> io::Result<Held<E>> {
        let place = self.place(at)?;
        let other = usize::from(place.file).checked_sub(1);
        let other = other.and_then(|other| self.files.others.get(other));
        Ok(Held {
            entry: self.files.read(place)?,
            place: other.map(|file| Elsewhere {
                file: Arc::clone(file),
                offset: place.offset,
                bytes: place.bytes,
            }),
        })
    }

    pub(super) fn json(&self, at: usize) -> io::Result<Vec<u8>> {
        let place = self.place(at)?;
        let json = self.files.json(place)?;
        self.files.check(place, &json)?;
        Ok(json)
    }

    /// Shows the JSON of several.
    pub(super) fn each(
        &self,
        places: Range<usize>,
        show: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        self.each_line(places, &mut |at, place, line| {
            let json = &line[..place.bytes as usize];
            self.files.check(place, json)?;
            show(at, json);
            Ok(())
        })
    }

    /// Reads several entries.
    pub(super) fn several(&self, places: Range<usize>) -> io::Result<Vec<E>> {
        let mut several = Vec::with_capacity(places.len());
        self.each_line(places, &mut |_, place, line| {
            several.push(entry(place, line)?);
            Ok(())
        })?;
        Ok(several)
    }

    /// Shows the bytes of several entries on disk. If they are close together, as those that a walk finds in one folder are, they
    /// are read at once.
    fn each_line(&self, places: Range<usize>, show: ShowLine<'_>) -> io::Result<()> {
        let here = self.places.range(places.start, places.end)?;
        let Some((span, bytes)) = span(&here) else {
            for (at, place) in places.zip(here) {
                show(at, place, &self.files.line(place)?)?;
            }
            return Ok(());
        };
        let all = self.files.bytes_at(span, bytes)?;
        for (at, place) in places.zip(here) {
            let begin = (place.offset - span.1) as usize;
            show(at, place, &all[begin..begin + place.whole() as usize])?;
        }
        Ok(())
    }
}

/// The files that have entries.
#[derive(Debug)]
struct Files {
    tape: File,
    others: Vec<Arc<NoteFile>>,
}

impl Files {
    fn bytes_at(&self, (file, offset): (u16, u64), bytes: usize) -> io::Result<Vec<u8>> {
        let file = match usize::from(file).checked_sub(1) {
            None => &self.tape,
            Some(other) => &self.others.get(other).ok_or_else(no_such)?.file,
        };
        let mut line = vec![0; bytes];
        read_exact_at(file, &mut line, offset)?;
        Ok(line)
    }

    /// Fails for what is not JSON: a store is not trusted, and a report includes JSON from its notes unchanged.
    fn check(&self, place: Place, json: &[u8]) -> io::Result<()> {
        let other = usize::from(place.file).checked_sub(1);
        let Some(file) = other.and_then(|other| self.others.get(other)) else {
            return Ok(());
        };
        serde_json::from_slice::<&RawValue>(json).map_err(|e| {
            let name = &file.name;
            io::Error::other(format!(
                "{name} in the store was not made by ctxpack ({e}): remove it"
            ))
        })?;
        Ok(())
    }

    fn json(&self, place: Place) -> io::Result<Vec<u8>> {
        self.bytes_at((place.file, place.offset), place.bytes as usize)
    }

    /// All bytes of an entry on disk.
    fn line(&self, place: Place) -> io::Result<Vec<u8>> {
        self.bytes_at((place.file, place.offset), place.whole() as usize)
    }

    /// Sorts entries whose inputs have the same path, by their JSON.
    fn settle(&self, alike: &mut [Place]) -> io::Result<()> {
        let json = |place: &Place| Ok((self.json(*place)?, *place));
        let mut all: Vec<_> = alike.iter().map(json).collect::<io::Result<_>>()?;
        all.sort_by(|a, b| a.0.cmp(&b.0));
        for (slot, (_, place)) in alike.iter_mut().zip(all) {
            *slot = place;
        }
        Ok(())
    }

    fn read<E: Kept>(&self, place: Place) -> io::Result<E> {
        entry(place, &self.line(place)?)
    }
}

/// The entry with these bytes on disk.
fn entry<E: Kept>(place: Place, line: &[u8]) -> io::Result<E> {
    let (json, beside) = line.split_at(place.bytes as usize);
    let (exact, hint) = beside.split_at(place.exact as usize);
    let mut entry = E::read_back(json)?;
    entry
        .set_exact(exact)
        .ok_or_else(|| io::Error::other("its exact figures are those of another entry"))?;
    if !hint.is_empty()
        && let Some(error) = &mut entry.file_mut().error
    {
        error.hint = Some(String::from_utf8_lossy(hint).into_owned());
    }
    Ok(entry)
}

/// Where the first of several places begins, and the number of bytes to the end of the last, if there are few bytes in between.
fn span(places: &[Place]) -> Option<((u16, u64), usize)> {
    let file = places.first()?.file;
    let begin = places.iter().map(|place| place.offset).min()?;
    let end = places
        .iter()
        .map(|place| place.offset + place.whole())
        .max()?;
    let wanted: u64 = places.iter().map(|place| place.whole()).sum();
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
