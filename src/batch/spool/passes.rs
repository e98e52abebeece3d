//! The outcomes of a run in several passes: each pass compacts only the inputs that still wait for summaries, and its outcomes take
//! the place of earlier ones.
//!
//! An outcome that waits for nothing is copied once, when the next pass has come. Decides nothing about content.

use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::{io, mem};

use super::{Held, MOST_HELD, Outcomes, Sorted, unread};
use crate::batch::key_set::{KeySet, place_key};
use crate::batch::sorter::Sorter;
use crate::error::Result;
use crate::outcome::{Entries, Outcome};

/// The outcomes of all passes so far.
#[derive(Debug)]
pub struct Passes {
    /// Where files go, and how much memory outcomes may take before they go there.
    folder: PathBuf,
    most: u64,
    /// Outcomes that wait for nothing, of the passes before the last one.
    settled: Outcomes,
    /// Those of the last pass, and earlier ones that still wait.
    last: Sorted,
    /// What those in `last` wait for that did not know it yet.
    waits_for: Option<String>,
}

impl Passes {
    /// Creates an empty collection. Its files, if any are needed, go to `folder` if that exists, or else to the system's temporary
    /// folder.
    pub fn new(folder: &Path) -> Self {
        Passes::with_most(folder, MOST_HELD)
    }

    fn with_most(folder: &Path, most: u64) -> Self {
        Passes {
            folder: folder.to_owned(),
            most,
            settled: Outcomes::with_most(folder, most),
            last: Sorted::Held(Vec::new()),
            waits_for: None,
        }
    }

    /// Adds the outcomes of a pass; they take the place of earlier outcomes of the same inputs, which still waited.
    ///
    /// # Errors
    /// If outcomes cannot be written to disk, or read back from there.
    pub fn add(&mut self, new: Sorted) -> Result<()> {
        let last = mem::replace(&mut self.last, Sorted::Held(Vec::new()));
        let waits_for = self.waits_for.take();
        let mut waiting = Outcomes::with_most(&self.folder, self.most);
        let paths = (0..new.len()).map(|at| Ok(new.get(at)?.file.path.clone()));
        let mut paths = paths.peekable();
        for held in last.into_held() {
            let mut held = held.map_err(unread)?;
            if comes(&mut paths, &held.entry.file.path).map_err(unread)? {
                continue;
            }
            let is_pending = held.entry.is_pending();
            tell(&mut held, waits_for.as_deref());
            match is_pending {
                true => waiting.push_held(held)?,
                false => self.settled.push_held(held)?,
            }
        }
        drop(paths);
        self.last = match waiting.is_empty() {
            true => new,
            // The pass was interrupted.
            false => {
                for held in new.into_held() {
                    waiting.push_held(held.map_err(unread)?)?;
                }
                waiting.sorted()?
            }
        };
        Ok(())
    }

    /// The inputs that wait for summaries, by their names in reports.
    ///
    /// # Errors
    /// If outcomes cannot be read back from disk, or the names cannot be kept there.
    pub fn pending(&self) -> Result<KeySet> {
        let mut names = Sorter::new(&self.folder);
        self.last
            .each_remarkable(&mut |_, outcome| match outcome.is_pending() {
                true => names.add(place_key(Path::new(&outcome.file.path))),
                false => Ok(()),
            })
            .map_err(unread)?;
        KeySet::of(names, &self.folder).map_err(unread)
    }

    /// Records what the outcomes so far are waiting for, where they do not know it yet.
    pub fn now_wait_for(&mut self, what: &str) {
        self.waits_for.get_or_insert_with(|| what.to_owned());
    }

    /// All outcomes, in the order of a report.
    ///
    /// # Errors
    /// If they cannot be written to disk, or read back from there.
    pub fn sorted(mut self) -> Result<Sorted> {
        let is_changed = self.waits_for.is_some() && !self.pending()?.is_empty();
        if self.settled.is_empty() && !is_changed {
            return Ok(self.last);
        }
        let all = self.settled.len() + self.last.len();
        self.settled.expect(all as u64)?;
        for held in self.last.into_held() {
            let mut held = held.map_err(unread)?;
            tell(&mut held, self.waits_for.as_deref());
            self.settled.push_held(held)?;
        }
        self.settled.sorted()
    }
}

/// Records in an outcome what it waits for, if it waits and does not know it yet.
fn tell(held: &mut Held<Outcome>, waits_for: Option<&str>) {
    let what = waits_for.filter(|_| held.entry.is_pending());
    if let Some(what) = what {
        held.entry.now_waits_for(what);
        // Its JSON elsewhere says otherwise.
        held.place = None;
    }
}

/// Whether a path is the next one of these that does not come before it.
fn comes(
    paths: &mut Peekable<impl Iterator<Item = io::Result<String>>>,
    path: &str,
) -> io::Result<bool> {
    loop {
        match paths.peek() {
            Some(Ok(next)) if next.as_str() >= path => return Ok(next == path),
            Some(_) => drop(paths.next().transpose()?),
            None => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::sync::Arc;

    use super::super::ENTRY_BYTES;
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::outcome::{Degraded, DegradedKind, TO_BE_SENT, WAITS_FOR};
    use crate::store::finished::{Elsewhere, NoteFile};

    fn path(n: u64) -> String {
        format!("in/{:03}.jsonl", n * 7 % 100)
    }

    /// The outcome of an input in a pass; some fail in all passes, and fewer wait in each.
    fn outcome(pass: u64, n: u64) -> Outcome {
        let path = path(n);
        let path = Path::new(&path);
        if n.is_multiple_of(10) {
            let error = Error::new(ErrorKind::Io, format!("cannot open in pass {pass}"));
            return Outcome::failed(path, &error.hint("look at it"));
        }
        let mut outcome = Outcome::unchanged(path, n, format!("blake3:{pass}"));
        if n % 10 > 2 * pass {
            let what = match n % 4 {
                0 => "a batch of another run",
                _ => TO_BE_SENT,
            };
            outcome.degraded.push(Degraded {
                kind: DegradedKind::SummaryPending,
                message: format!("{WAITS_FOR}{what}"),
            });
        }
        outcome
    }

    fn sorted(dir: &Path, most: u64, outcomes: impl Iterator<Item = Outcome>) -> Sorted {
        let mut all = Outcomes::with_most(dir, most);
        outcomes.for_each(|outcome| all.push(outcome).unwrap());
        all.sorted().unwrap()
    }

    #[test]
    fn a_pass_takes_the_place_of_what_waited_and_of_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for most in [0, 30 * ENTRY_BYTES, u64::MAX] {
            // The last passes end before they have come to all inputs.
            for end in [[100; 4], [100, 100, 60, 100], [100, 30, 60, 10]] {
                let mut passes = Passes::with_most(dir.path(), most);
                let mut expected: BTreeMap<String, Outcome> = BTreeMap::new();
                let mut tried: Vec<u64> = (0..100).collect();
                for (pass, end) in (0..).zip(end) {
                    let done = || tried.iter().copied().filter(|n| *n < end);
                    let new = sorted(dir.path(), most, done().map(|n| outcome(pass, n)));
                    passes.add(new).unwrap();
                    expected.extend(done().map(|n| (path(n), outcome(pass, n))));
                    let waits = |n: &u64| expected[&path(*n)].is_pending();
                    let pending = passes.pending().unwrap();
                    for n in 0..100 {
                        assert_eq!(pending.has(Path::new(&path(n))).unwrap(), waits(&n));
                    }
                    assert_eq!(pending.is_empty(), !(0..100).any(|n| waits(&n)));
                    tried.retain(waits);
                    if pass != 1 {
                        let what = format!("batch {pass}");
                        passes.now_wait_for(&what);
                        // The inputs know by then what they wait for.
                        passes.now_wait_for("another batch");
                        for outcome in expected.values_mut() {
                            outcome.now_waits_for(&what);
                        }
                    }
                }
                let all = passes.sorted().unwrap();
                let is_many = matches!(all, Sorted::Spooled(_));
                assert_eq!(is_many, most < u64::MAX);
                let expected = sorted(dir.path(), u64::MAX, expected.into_values());
                assert_eq!(all.totals(), expected.totals());
                assert_eq!(all.exit(), expected.exit());
                // Unlike its JSON, an outcome has the hint of its error.
                assert_eq!(all.into_vec().unwrap(), expected.into_vec().unwrap());
            }
        }
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_is_noted_is_not_written_again_unless_it_waits() {
        let dir = tempfile::tempdir().unwrap();
        let mut outcomes: Vec<Outcome> = (0..100).map(|n| outcome(4, n)).collect();
        let mut noted = Vec::new();
        let mut places = Vec::new();
        for outcome in &outcomes {
            let json = serde_json::to_vec(outcome).unwrap();
            places.push((noted.len() as u64, json.len() as u32));
            noted.extend(json);
        }
        std::fs::write(dir.path().join("a"), &noted).unwrap();
        let file = Arc::new(NoteFile {
            name: "a".to_owned(),
            file: File::open(dir.path().join("a")).unwrap(),
        });
        let mut all = Outcomes::with_most(dir.path(), 0);
        for (outcome, (offset, bytes)) in outcomes.iter().zip(places) {
            let file = Arc::clone(&file);
            let place = Elsewhere {
                file,
                offset,
                bytes,
            };
            all.push_noted(outcome.clone(), place).unwrap();
        }
        let mut passes = Passes::with_most(dir.path(), 0);
        passes.add(all.sorted().unwrap()).unwrap();
        passes.now_wait_for("batch 7");
        let all = passes.sorted().unwrap();
        outcomes.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        // A hint is not in a note.
        let is_written = |outcome: &Outcome| outcome.is_pending() || outcome.file.error.is_some();
        let written: Vec<bool> = outcomes.iter().map(is_written).collect();
        assert!(written.contains(&true) && written.contains(&false));
        let here = all.into_held().map(|held| held.unwrap().place.is_none());
        assert_eq!(here.collect::<Vec<bool>>(), written);
    }
}
