//! The outcomes of a run: in memory while they are few, on the disk when they are many.
//!
//! The file on the disk has no name, so that nothing is left of it however the run ends. In memory stays where each outcome is, by
//! the path of its input. Decides nothing about content.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::slice::ParallelSliceMut;

use super::find::place_key;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Entries, Exit, Figures, Outcome, Totals, Warning};
use crate::store::finished::Elsewhere;
use crate::store::folder::read_exact_at;

/// How much memory outcomes may take before they go to the disk, in bytes, as it is estimated.
const MOST_HELD: u64 = 32 << 20;
/// So many are in memory in any case.
const FEW: usize = 50;
/// The estimate for an outcome without its actions and warnings, and for each of these.
const AN_OUTCOME: u64 = 3 << 10;
const A_PART: u64 = 256;
/// Outcomes are read at once from a part of a file that is not more than this many times as long as they are.
const SPREAD: u64 = 4;
/// More bytes than the JSON of most outcomes has.
const A_LINE: usize = 2 << 10;

/// The outcomes of a run.
#[derive(Debug)]
pub struct Outcomes {
    held: Vec<Outcome>,
    weight: u64,
    most: u64,
    /// Where the file goes.
    folder: PathBuf,
    spooled: Option<Spooled>,
}

/// An outcome on its way to the disk: what takes time is done before the others have to wait for it.
#[derive(Debug)]
pub struct Written {
    outcome: Outcome,
    /// Its JSON, and behind it the hint of its error, which no report has.
    line: Vec<u8>,
    hint: u16,
}

/// Outcomes on the disk.
#[derive(Debug)]
pub struct Spooled {
    /// Its file is at its end whenever something is written.
    tape: BufWriter<File>,
    end: u64,
    /// Other files that have outcomes.
    others: Vec<Arc<File>>,
    places: Vec<Place>,
    totals: Totals,
    exit: Exit,
}

/// Where an outcome is.
#[derive(Debug)]
struct Place {
    path: Box<str>,
    offset: u64,
    /// How long its JSON is.
    bytes: u32,
    /// Which of the other files has it, from 1; 0: the tape.
    file: u16,
    /// How long the hint of its error is, if it has one.
    hint: u16,
    says: Says,
    /// How many tokens were saved.
    saved: u64,
}

/// Whether anything is said of an outcome besides its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Figures,
    More,
}

impl Says {
    fn of(figures: &Figures) -> Self {
        match figures.is_remarkable() {
            true => Says::More,
            false => Says::Figures,
        }
    }
}

/// The outcomes, sorted by the paths of their inputs.
#[derive(Debug)]
pub enum Sorted {
    /// Few.
    Held(Vec<Outcome>),
    /// Many.
    Spooled(Box<Spooled>),
}

impl Outcomes {
    /// None yet. A file, if there is one, will be in `folder`, if that exists, or else where the system has such files.
    pub fn new(folder: &Path) -> Self {
        Outcomes::with_most(folder, MOST_HELD)
    }

    fn with_most(folder: &Path, most: u64) -> Self {
        Outcomes {
            held: Vec::new(),
            weight: 0,
            most,
            folder: folder.to_owned(),
            spooled: None,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len() + self.spooled.as_ref().map_or(0, |s| s.places.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are on the disk, so that [`Outcomes::push_written`] is the way to add one.
    pub fn are_spooled(&self) -> bool {
        self.spooled.is_some()
    }

    /// Adds one.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push(&mut self, outcome: Outcome) -> Result<()> {
        if let Some(spooled) = &mut self.spooled {
            return spooled.push(&Written::of(outcome)?);
        }
        self.weight += weight(&outcome);
        self.held.push(outcome);
        if self.weight > self.most && self.held.len() > FEW {
            let mut spooled = Spooled::new(&self.folder)?;
            for outcome in self.held.drain(..) {
                spooled.push(&Written::of(outcome)?)?;
            }
            self.held = Vec::new();
            self.spooled = Some(spooled);
        }
        Ok(())
    }

    /// Adds one that is ready for the disk.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push_written(&mut self, written: Written) -> Result<()> {
        match &mut self.spooled {
            Some(spooled) => spooled.push(&written),
            None => self.push(written.outcome),
        }
    }

    /// Adds one that is on the disk already. `path` is that of its input.
    ///
    /// # Errors
    /// Where it cannot be read from there.
    pub fn push_elsewhere(
        &mut self,
        path: String,
        figures: Figures,
        place: &Elsewhere,
    ) -> Result<()> {
        if let Some(spooled) = &mut self.spooled
            && let Some(file) = spooled.number_of(&place.file)
        {
            spooled.add(
                Place {
                    path: path.into(),
                    offset: place.offset,
                    bytes: place.bytes,
                    file,
                    hint: 0,
                    says: Says::of(&figures),
                    saved: figures.tokens_saved(),
                },
                figures,
            );
            return Ok(());
        }
        let mut json = vec![0; place.bytes as usize];
        read_exact_at(&place.file, &mut json, place.offset).map_err(unread)?;
        let outcome = serde_json::from_slice(&json).map_err(|e| unread(e.into()))?;
        self.push(outcome)
    }

    /// Adds a warning to that of an input.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn warn(&mut self, path: &str, warning: Warning) -> Result<()> {
        if let Some(spooled) = &mut self.spooled {
            let at = spooled.places.iter().position(|place| *place.path == *path);
            if let Some(at) = at {
                spooled.tape.flush().map_err(unkept)?;
                let mut outcome = spooled.read(&spooled.places[at]).map_err(unread)?;
                spooled.tape.seek(SeekFrom::End(0)).map_err(unkept)?;
                outcome.warnings.push(warning);
                spooled.places[at] = spooled.write(&Written::of(outcome)?)?;
            }
        } else if let Some(outcome) = self.held.iter_mut().find(|o| o.file.path == path) {
            outcome.warnings.push(warning);
        }
        Ok(())
    }

    /// All of them, in the order of a report.
    ///
    /// # Errors
    /// Where they cannot be written to the disk.
    pub fn sorted(self) -> Result<Sorted> {
        Ok(match self.spooled {
            None => {
                let mut held = self.held;
                held.sort_by(|a, b| a.file.path.cmp(&b.file.path));
                Sorted::Held(held)
            }
            Some(mut spooled) => {
                spooled.places.par_sort_by(|a, b| a.path.cmp(&b.path));
                spooled.tape.flush().map_err(unkept)?;
                Sorted::Spooled(Box::new(spooled))
            }
        })
    }
}

impl Sorted {
    /// All of them in memory.
    ///
    /// # Errors
    /// Where the disk does not give them back.
    pub fn into_vec(self) -> Result<Vec<Outcome>> {
        match self {
            Sorted::Held(held) => Ok(held),
            Sorted::Spooled(spooled) => {
                let all = spooled.places.iter().map(|place| spooled.read(place));
                all.collect::<io::Result<_>>().map_err(unread)
            }
        }
    }

    /// Their sums.
    pub fn totals(&self) -> Totals {
        match self {
            Sorted::Held(held) => Totals::of(held),
            Sorted::Spooled(spooled) => spooled.totals,
        }
    }

    /// The exit code for all of them.
    pub fn exit(&self) -> Exit {
        match self {
            Sorted::Held(held) => Exit::of(held),
            Sorted::Spooled(spooled) => spooled.exit,
        }
    }

    /// The places of those that have something by one name, together, in the order of paths; those without a name are left out.
    /// Holds some bytes for each, but no names.
    ///
    /// # Errors
    /// Where the disk does not give them back.
    pub fn together(
        &self,
        name: &dyn Fn(&Outcome) -> Option<PathBuf>,
    ) -> io::Result<impl Iterator<Item = Vec<usize>> + use<>> {
        let mut named = Vec::new();
        for (at, number) in (0..self.len()).zip(0_u32..) {
            if let Some(name) = name(&*self.get(at)?) {
                named.push((place_key(&name), number));
            }
        }
        named.sort_unstable();
        let mut groups: Vec<(u32, u32)> = Vec::with_capacity(named.len());
        for group in named.chunk_by(|a, b| a.0 == b.0) {
            groups.extend(group.iter().map(|(_, at)| (group[0].1, *at)));
        }
        groups.sort_unstable();
        let mut rest = groups.into_iter().peekable();
        Ok(std::iter::from_fn(move || {
            let (first, at) = rest.next()?;
            let mut group = vec![at as usize];
            while let Some((_, at)) = rest.next_if(|(other, _)| *other == first) {
                group.push(at as usize);
            }
            Some(group)
        }))
    }
}

impl Entries for Sorted {
    fn len(&self) -> usize {
        match self {
            Sorted::Held(held) => held.len(),
            Sorted::Spooled(spooled) => spooled.places.len(),
        }
    }

    fn get(&self, at: usize) -> io::Result<Cow<'_, Outcome>> {
        match self {
            Sorted::Held(held) => held.get(at).map(Cow::Borrowed).ok_or_else(no_such),
            Sorted::Spooled(spooled) => spooled.read(spooled.place(at)?).map(Cow::Owned),
        }
    }

    fn json(&self, at: usize) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Sorted::Held(held) => {
                let outcome = held.get(at).ok_or_else(no_such)?;
                Ok(Cow::Owned(serde_json::to_vec(outcome)?))
            }
            Sorted::Spooled(spooled) => {
                let place = spooled.place(at)?;
                spooled.bytes(place, place.bytes as usize).map(Cow::Owned)
            }
        }
    }

    fn bytes_on_disk(&self, at: usize) -> u64 {
        match self {
            Sorted::Held(_) => 0,
            Sorted::Spooled(spooled) => {
                spooled.places.get(at).map_or(0, |place| place.bytes.into())
            }
        }
    }

    fn each_json(
        &self,
        places: Range<usize>,
        show: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        match self {
            Sorted::Held(_) => {
                for at in places {
                    show(at, &self.json(at)?);
                }
                Ok(())
            }
            Sorted::Spooled(spooled) => spooled.each(places, show),
        }
    }

    fn saved(&self, at: usize) -> io::Result<u64> {
        match self {
            Sorted::Held(held) => Ok(held.get(at).ok_or_else(no_such)?.tokens_saved()),
            Sorted::Spooled(spooled) => Ok(spooled.place(at)?.saved),
        }
    }

    fn is_remarkable(&self, at: usize) -> io::Result<bool> {
        match self {
            Sorted::Held(held) => Ok(held.get(at).ok_or_else(no_such)?.is_remarkable()),
            Sorted::Spooled(spooled) => Ok(spooled.place(at)?.says == Says::More),
        }
    }
}

fn no_such() -> io::Error {
    io::Error::other("there is no such outcome")
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
}

impl Spooled {
    fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile());
        let file = file.map_err(|e| Error::io(folder, "keep outcomes on the disk", e))?;
        Ok(Spooled {
            tape: BufWriter::with_capacity(1 << 20, file),
            end: 0,
            others: Vec::new(),
            places: Vec::new(),
            totals: Totals::default(),
            exit: Exit::Done,
        })
    }

    fn place(&self, at: usize) -> io::Result<&Place> {
        self.places.get(at).ok_or_else(no_such)
    }

    fn push(&mut self, written: &Written) -> Result<()> {
        let place = self.write(written)?;
        self.add(place, Figures::of(&written.outcome));
        Ok(())
    }

    fn add(&mut self, place: Place, figures: Figures) {
        self.places.push(place);
        self.totals += figures;
        self.exit = self.exit.max(figures.exit());
    }

    /// The number of a file other than the tape; `None` where there are more than can be told apart.
    fn number_of(&mut self, file: &Arc<File>) -> Option<u16> {
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

    fn write(&mut self, written: &Written) -> Result<Place> {
        let Written {
            outcome,
            line,
            hint,
        } = written;
        let bytes = u32::try_from(line.len() - usize::from(*hint))
            .map_err(|_| Error::new(ErrorKind::Internal, "an outcome of more than 4 GiB"))?;
        let offset = self.end;
        self.tape.write_all(line).map_err(unkept)?;
        self.end += line.len() as u64;
        Ok(Place {
            path: outcome.file.path.as_str().into(),
            offset,
            bytes,
            file: 0,
            hint: *hint,
            says: Says::of(&Figures::of(outcome)),
            saved: outcome.tokens_saved(),
        })
    }

    fn bytes(&self, place: &Place, bytes: usize) -> io::Result<Vec<u8>> {
        self.bytes_at((place.file, place.offset), bytes)
    }

    fn bytes_at(&self, (file, offset): (u16, u64), bytes: usize) -> io::Result<Vec<u8>> {
        let file = match usize::from(file).checked_sub(1) {
            None => self.tape.get_ref(),
            Some(other) => self.others.get(other).ok_or_else(no_such)?,
        };
        let mut line = vec![0; bytes];
        read_exact_at(file, &mut line, offset)?;
        Ok(line)
    }

    /// Shows the JSON of several. Where they are close to each other, as what a walk finds in one folder is, they are read at once.
    fn each(&self, places: Range<usize>, show: &mut dyn FnMut(usize, &[u8])) -> io::Result<()> {
        let here = self.places.get(places.clone()).ok_or_else(no_such)?;
        let Some((span, bytes)) = span(here) else {
            for (at, place) in places.zip(here) {
                show(at, &self.bytes(place, place.bytes as usize)?);
            }
            return Ok(());
        };
        let all = self.bytes_at(span, bytes)?;
        for (at, place) in places.zip(here) {
            let begin = (place.offset - span.1) as usize;
            show(at, &all[begin..begin + place.bytes as usize]);
        }
        Ok(())
    }

    fn read(&self, place: &Place) -> io::Result<Outcome> {
        let json = place.bytes as usize;
        let line = self.bytes(place, json + usize::from(place.hint))?;
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

/// An outcome that the disk does not give back.
pub fn unread(error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("an outcome cannot be read back from the disk: {error}"),
    )
}

/// About how much memory an outcome takes.
fn weight(outcome: &Outcome) -> u64 {
    let actions = outcome.conversations.iter().map(|c| c.actions.len()).sum();
    let parts: usize = [actions, outcome.conversations.len(), outcome.warnings.len()]
        .iter()
        .sum();
    AN_OUTCOME + A_PART * parts as u64
}

#[cfg(test)]
mod tests;
