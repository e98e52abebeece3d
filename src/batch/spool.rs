//! The outcomes of a run: in memory while they are few, on the disk when they are many.
//!
//! The file on the disk has no name, so that nothing is left of it however the run ends. In memory stays where each outcome is, by
//! the path of its input, and those that something is said of at the end. Decides nothing about content.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::find::place_key;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, Status, Totals, Warning};
use crate::policy::Source;
use crate::store::folder::read_exact_at;

/// How much memory outcomes may take before they go to the disk, in bytes, as it is estimated.
const MOST_HELD: u64 = 32 << 20;
/// So many are in memory in any case.
const FEW: usize = 50;
/// The estimate for an outcome without its actions and warnings, and for each of these.
const AN_OUTCOME: u64 = 3 << 10;
const A_PART: u64 = 256;

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

/// Outcomes on the disk.
#[derive(Debug)]
pub struct Spooled {
    /// Its file is at its end whenever something is written.
    tape: BufWriter<File>,
    end: u64,
    places: Vec<Place>,
    remarkable: Vec<Outcome>,
    totals: Totals,
}

/// Where an outcome is.
#[derive(Debug)]
struct Place {
    path: Box<str>,
    offset: u64,
    bytes: u32,
    /// How many tokens were saved.
    saved: u64,
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

    /// Adds one.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push(&mut self, outcome: Outcome) -> Result<()> {
        if let Some(spooled) = &mut self.spooled {
            return spooled.push(outcome);
        }
        self.weight += weight(&outcome);
        self.held.push(outcome);
        if self.weight > self.most && self.held.len() > FEW {
            let mut spooled = Spooled::new(&self.folder)?;
            for outcome in self.held.drain(..) {
                spooled.push(outcome)?;
            }
            self.held = Vec::new();
            self.spooled = Some(spooled);
        }
        Ok(())
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
                let mut outcome = spooled.read(&spooled.places[at])?;
                spooled.tape.seek(SeekFrom::End(0)).map_err(unkept)?;
                outcome.warnings.push(warning);
                spooled.places[at] = spooled.write(&outcome)?;
                let is_other = |other: &Outcome| other.file.path != path;
                spooled.remarkable.retain(is_other);
                spooled.remarkable.push(essence(outcome));
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
                spooled.places.sort_by(|a, b| a.path.cmp(&b.path));
                let remarkable = &mut spooled.remarkable;
                remarkable.sort_by(|a, b| a.file.path.cmp(&b.file.path));
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
                let all = 0..spooled.len();
                all.map(|at| spooled.get(at)).collect()
            }
        }
    }
}

impl Spooled {
    fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile());
        let file = file.map_err(|e| Error::io(folder, "keep outcomes on the disk", e))?;
        Ok(Spooled {
            tape: BufWriter::with_capacity(1 << 20, file),
            end: 0,
            places: Vec::new(),
            remarkable: Vec::new(),
            totals: Totals::default(),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Their sums.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Those that something is said of at the end, without what was done to them.
    pub fn remarkable(&self) -> &[Outcome] {
        &self.remarkable
    }

    /// The one at a place in the order of paths.
    ///
    /// # Errors
    /// Where the disk does not give it back.
    pub fn get(&self, at: usize) -> Result<Outcome> {
        match self.places.get(at) {
            Some(place) => self.read(place),
            None => Err(Error::new(ErrorKind::Internal, "there is no such outcome")),
        }
    }

    /// The places of those with the largest savings, at most so many, in the order of paths.
    pub fn largest_savings(&self, most: usize) -> Vec<usize> {
        let mut largest: Vec<usize> = Vec::new();
        for (at, place) in self.places.iter().enumerate().filter(|(_, p)| p.saved > 0) {
            // Of equals, the first ones stay first.
            let rank = largest.partition_point(|other| self.places[*other].saved >= place.saved);
            if rank < most {
                largest.insert(rank, at);
                largest.truncate(most);
            }
        }
        largest.sort_unstable();
        largest
    }

    /// The places of those that have something by one name, together, in the order of paths; those without a name are left out. Holds
    /// some bytes for each, but no names.
    ///
    /// # Errors
    /// Where the disk does not give them back.
    pub fn together(
        &self,
        name: &dyn Fn(&Outcome) -> Option<PathBuf>,
    ) -> Result<impl Iterator<Item = Vec<usize>>> {
        let mut named = Vec::new();
        for (at, number) in (0..self.len()).zip(0_u32..) {
            if let Some(name) = name(&self.get(at)?) {
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

    /// The place of an input's outcome.
    pub fn place_of(&self, path: &str) -> Option<usize> {
        let found = self
            .places
            .binary_search_by(|place| (*place.path).cmp(path));
        found.ok()
    }

    fn push(&mut self, outcome: Outcome) -> Result<()> {
        let place = self.write(&outcome)?;
        self.places.push(place);
        self.totals += &outcome;
        if is_remarkable(&outcome) {
            self.remarkable.push(essence(outcome));
        }
        Ok(())
    }

    fn write(&mut self, outcome: &Outcome) -> Result<Place> {
        let line = serde_json::to_vec(outcome).map_err(|e| {
            Error::new(ErrorKind::Internal, format!("cannot write an outcome: {e}"))
        })?;
        let bytes = u32::try_from(line.len())
            .map_err(|_| Error::new(ErrorKind::Internal, "an outcome of more than 4 GiB"))?;
        let offset = self.end;
        self.tape.write_all(&line).map_err(unkept)?;
        self.end += line.len() as u64;
        Ok(Place {
            path: outcome.file.path.as_str().into(),
            offset,
            bytes,
            saved: outcome
                .tokens_before()
                .saturating_sub(outcome.tokens_after()),
        })
    }

    fn read(&self, place: &Place) -> Result<Outcome> {
        let read = || -> io::Result<Outcome> {
            let mut line = vec![0; place.bytes as usize];
            read_exact_at(self.tape.get_ref(), &mut line, place.offset)?;
            Ok(serde_json::from_slice(&line)?)
        };
        read().map_err(|e| {
            let message = format!("an outcome cannot be read back from the disk: {e}");
            Error::new(ErrorKind::Io, message).at(Path::new(&*place.path))
        })
    }
}

fn unkept(error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot keep outcomes on the disk: {error}"),
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

/// Whether anything is said of an input besides its figures.
fn is_remarkable(outcome: &Outcome) -> bool {
    let is_fine = match outcome.status {
        Status::Compacted | Status::Unchanged | Status::Skipped => true,
        Status::Failed | Status::Unsupported | Status::Rejected => false,
    };
    let asked = |name: &str| name != Source::Extractive.name();
    !is_fine
        || outcome.file.error.is_some()
        || !outcome.degraded.is_empty()
        || !outcome.warnings.is_empty()
        || outcome.conversations.iter().any(|one| {
            let is_asked = one.summary.as_ref().is_some_and(|s| asked(&s.source));
            is_asked || one.target.is_some_and(|target| target.reason.is_some())
        })
        || outcome.missed_target().is_some()
}

/// What is said of an input, without what was done to it.
fn essence(mut outcome: Outcome) -> Outcome {
    for conversation in &mut outcome.conversations {
        conversation.actions = Vec::new();
        conversation.restored = Vec::new();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::WarningKind;

    fn outcome(n: u64) -> Outcome {
        Outcome::unchanged(
            Path::new(&format!("in/{:03}.jsonl", n * 7 % 100)),
            n,
            "blake3:1",
        )
    }

    #[test]
    fn many_outcomes_come_back_as_few_do() {
        let dir = tempfile::tempdir().unwrap();
        let all = |most| {
            let mut outcomes = Outcomes::with_most(dir.path(), most);
            for n in 0..100 {
                outcomes.push(outcome(n)).unwrap();
            }
            let warning = Warning {
                kind: WarningKind::Unsupported,
                line: None,
                message: "late".to_owned(),
            };
            outcomes.warn("in/021.jsonl", warning).unwrap();
            assert_eq!(outcomes.len(), 100);
            outcomes.sorted().unwrap()
        };
        let few = all(u64::MAX).into_vec().unwrap();
        let many = all(30 * AN_OUTCOME);
        let Sorted::Spooled(spooled) = &many else {
            panic!("they are on the disk");
        };
        assert_eq!(*spooled.totals(), Totals::of(&few));
        assert_eq!(spooled.remarkable(), &few[21..22]);
        assert_eq!(spooled.place_of("in/050.jsonl"), Some(50));
        let tens = |outcome: &Outcome| {
            let path = &outcome.file.path;
            (!path.starts_with("in/09")).then(|| PathBuf::from(&path[5..6]))
        };
        let together: Vec<Vec<usize>> = spooled.together(&tens).unwrap().collect();
        let expected = (0..10).map(|n| (0..9).map(|tens| tens * 10 + n).collect());
        assert_eq!(together, expected.collect::<Vec<Vec<usize>>>());
        assert_eq!(many.into_vec().unwrap(), few);
        // The file has no name.
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
