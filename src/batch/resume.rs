//! Takes over the results of earlier runs of the same command, and notes the results of this one.
//!
//! An input is taken over only if nothing differs: its bytes, those of its output and those of what the store keeps for it have the
//! noted hashes, or the system shows that they have not been touched (see [`FileIdentity`]); the store still has the record of the
//! output; and everything else that a result depends on is part of the [`Work`]. An input that cannot be checked is processed
//! again. Decides nothing about content.

mod noting;
mod reports;
mod same;
mod work;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::target::{RunStore, resolve_link};
use super::{Options, Source, Target, Targets};
use crate::error::{Error, ErrorKind};
use crate::outcome::{Figures, Outcome, Spent, Status, path_text};
use crate::policy::{Effective, Names};
use crate::store::finished::{
    ConcurrentNotes, Elsewhere, Ended, FinishedWork, Line, Note, NoteHeader, Noted, Work, names_key,
};
use crate::store::manifest::RecordedOutputs;
use crate::store::{FileIdentity, Missing};

pub use reports::ReportNotes;
use work::{Use, use_of, work};

/// Number and length of the waits for the note on an output that a concurrent run has just written.
const MAX_TRIES: u32 = 300;
const RETRY_PAUSE: Duration = Duration::from_millis(10);
/// The same where no other run has noted anything so far.
const AT_FIRST: Duration = Duration::from_secs(1);

/// Whether what earlier runs have finished is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// Nothing is taken over or noted.
    Never,
    /// Results that depend only on the input, the policy and the program are taken over. All are noted.
    Alike,
    /// Results that hooks or files of `--files-root` contributed to, and measured ones, are taken over as well.
    Asked,
}

/// How to tell that a file has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// By the hash of its bytes, unless the system shows that it has not been touched.
    Bytes,
    /// By its size and the time of the last write to it, where that was noted.
    Time,
}

/// The inputs that existed when the results of earlier runs were taken over: they need not be looked for again.
#[derive(Debug, Default)]
pub struct MatchedInputs(Vec<Known>);

impl MatchedInputs {
    /// Whether an input with this name in the store existed.
    pub(super) fn has(&self, input: &str) -> bool {
        self.0
            .iter()
            .any(|known| known.finished.has_met_input(input))
    }

    /// Whether the inputs of all records existed, as far as there were records when the run began.
    pub(super) fn has_all(&self) -> bool {
        let is_whole = |known: &Known| {
            !known.finished.is_empty() && known.finished.has_met_all(&known.recorded)
        };
        !self.0.is_empty() && self.0.iter().all(is_whole)
    }
}

/// What one input left for the next run.
#[derive(Debug)]
pub(super) struct ResumeNote {
    /// The names of what the store keeps for it.
    pub(super) contents: Vec<String>,
    /// The file's identity when it was read; `None` for a stream.
    pub(super) seen: Option<FileIdentity>,
}

/// A finished input: what was noted about it is still valid.
#[derive(Debug)]
pub(super) enum TakenOver {
    /// Its outcome, for the report of this run.
    Outcome(Box<Outcome>),
    /// Its outcome, which is already on disk: its figures, and where it is.
    Noted(Figures, Elsewhere),
}

/// What a run needs to know about a finished input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its outcome.
    Outcome,
    /// Its figures, where its outcome need not be read.
    Figures,
}

/// What earlier runs have left.
#[derive(Debug)]
pub(super) struct Earlier<'r> {
    options: &'r Options,
    /// How texts of outputs name what is in the store.
    names: Names,
    work: Option<Work>,
    use_of: Use,
    by_store: BTreeMap<PathBuf, Known>,
    /// The first error in noting a result.
    fault: Mutex<Option<Error>>,
}

/// What a store knows.
#[derive(Debug)]
struct Known {
    finished: FinishedWork,
    /// The outputs that have a record; not read where nothing is finished.
    recorded: RecordedOutputs,
    meanwhile: ConcurrentNotes,
}

impl<'r> Earlier<'r> {
    /// Reads what the stores of these targets contain, using the threads of the pool in which this is called. A store that cannot
    /// be read counts as empty: its inputs report the reason when it is their turn.
    pub(super) fn new(effective: &Effective, options: &'r Options, targets: &Targets) -> Self {
        let mut earlier = Earlier {
            options,
            names: options.names(&effective.policy),
            work: work(effective, options),
            use_of: use_of(effective, options),
            by_store: BTreeMap::new(),
            fault: Mutex::new(None),
        };
        let Some(work) = &earlier.work else {
            return earlier;
        };
        for (root, kept) in targets.stores() {
            let recorded = || match kept.store.has_finished(work)? {
                true => kept.store.recorded_outputs(),
                false => Ok(RecordedOutputs::default()),
            };
            let known = || {
                let (finished, recorded) = rayon::join(|| kept.store.finished_work(work), recorded);
                Ok::<_, Error>(Known {
                    finished: finished?,
                    recorded: recorded?,
                    meanwhile: ConcurrentNotes::default(),
                })
            };
            match known() {
                Ok(known) => {
                    earlier.by_store.insert(root, known);
                }
                Err(error) if error.kind == ErrorKind::Io => {
                    let hint = "every input is processed again";
                    earlier
                        .fault
                        .get_mut()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(error.hint(hint));
                }
                Err(_) => {}
            }
        }
        earlier
    }

    /// The number of inputs that may be taken over.
    pub(super) fn len(&self) -> u64 {
        match self.takes_over() {
            true => self
                .by_store
                .values()
                .map(|known| known.finished.len())
                .sum(),
            false => 0,
        }
    }

    fn takes_over(&self) -> bool {
        match self.use_of {
            Use::TakeOver => true,
            Use::Note => false,
        }
    }

    /// The noted result of an input that was finished before, if the input and its output have not changed since.
    pub(super) fn of(&self, target: &Target, wanted: Wanted) -> Option<TakenOver> {
        self.takes_over().then_some(())?;
        let (kept, known) = self.known(target)?;
        if known.finished.is_empty() || *target.source == Source::Stdin {
            return None;
        }
        let name = self.name(target, kept)?;
        let line = known.finished.line(&name)?;
        if wanted == Wanted::Figures
            && let Some(taken) = self.untouched(target, (kept, known), &name, &line)
        {
            line.meet();
            return Some(taken);
        }
        let note = line.read()?;
        let taken = self.taken_over(target, kept, &name, &note, wanted, Some(&known.recorded))?;
        line.meet();
        Some(taken)
    }

    /// The same if metadata shows that neither the input with this name nor its output was touched: without the noted line, as far as
    /// it is known in short.
    fn untouched(
        &self,
        target: &Target,
        (kept, known): (&RunStore, &Known),
        name: &str,
        line: &Line<'_>,
    ) -> Option<TakenOver> {
        // What an interrupted run has written in place counts in a way of its own.
        (!self.options.destination.is_in_place()).then_some(())?;
        let (brief, outcome) = line.brief()?;
        let path = target.output()?;
        let output = kept.store.name_of(&path).ok()?;
        let shown = (path_text(target.input_path()), path_text(&path));
        let begin = Outcome::begin_of_json(&shown.0, Some(&shown.1)).ok()?;
        let is_said = brief.names == names_key(name, &output, &begin);
        (is_said && known.recorded.has_key(brief.record)).then_some(())?;
        let now = target.spot(&path, Missing::Refuse).ok()?.seen().ok()?;
        let is_untouched = line.is_untouched_output(brief.output_seen, now)
            || self.options.trust == Trust::Time && brief.output_seen.is_still(now);
        is_untouched.then_some(())?;
        self.is_still(target, Some(brief.input_seen), None)?;
        Some(TakenOver::Noted(brief.figures, outcome))
    }

    /// The requester of an input's summaries: an answer that the same requester paid for in an interrupted run counts as paid by
    /// this run. `None` if a completed run has already reported the input, or if nothing is noted.
    pub(super) fn requester(&self, target: &Target) -> Option<String> {
        self.options.server.as_ref()?;
        let work = self.work.as_ref()?;
        let (kept, known) = self.known(target)?;
        let name = self.name(target, kept)?;
        let is_reported = || known.finished.line(&name)?.read();
        match is_reported() {
            Some(note) if note.ended == Ended::Whole => None,
            Some(_) | None => Some(work.requester(&name)),
        }
    }

    /// The noted result of an input whose output exists although this run did not expect it, if a concurrent run of the same
    /// command made it.
    pub(super) fn meanwhile(&self, target: &Target, wanted: Wanted) -> Option<TakenOver> {
        self.takes_over().then_some(())?;
        if self.options.destination.is_in_place() {
            return None;
        }
        let work = self.work.as_ref()?;
        let (kept, known) = self.known(target)?;
        let name = self.name(target, kept)?;
        for _ in 0..MAX_TRIES {
            let noted = kept
                .store
                .noted_meanwhile(work, &known.finished, &known.meanwhile, &name);
            match noted.ok()? {
                // The record need not be looked for: it is older than the note, and the other run has just written both.
                Noted::Finished(note) => {
                    return self.taken_over(target, kept, &name, &note, wanted, None);
                }
                Noted::NotYet if is_younger(&target.output()?, MAX_TRIES * RETRY_PAUSE) => {}
                // Another run notes its first output a moment after the output gets its name.
                Noted::Nothing if is_younger(&target.output()?, AT_FIRST) => {}
                Noted::NotYet | Noted::Nothing => return None,
            }
            thread::sleep(RETRY_PAUSE);
        }
        None
    }

    /// The store of a target, and what it knows.
    fn known<'e, 't>(&'e self, target: &'t Target<'_>) -> Option<(&'t RunStore, &'e Known)> {
        let kept = target.store.as_deref()?;
        Some((kept, self.by_store.get(kept.store.root())?))
    }

    /// The noted result of the input with this name, if the input and its output have not changed since; there must be a record of
    /// the output in `recorded`, where that is given.
    fn taken_over(
        &self,
        target: &Target,
        kept: &RunStore,
        name: &str,
        note: &Note,
        wanted: Wanted,
        recorded: Option<&RecordedOutputs>,
    ) -> Option<TakenOver> {
        let header = note.header().filter(|header| *header.input == *name)?;
        let output = target.output();
        let said = self.output_text(output.as_deref(), header.figures.status);
        let is_said = is_said(&header, target.input_path(), said.as_deref());
        // If texts name the store's absolute path, another path may mean another store.
        let is_same = (is_said || self.names == Names::Relative) && header.figures.is_final();
        let is_as_it_was = is_same
            && match self.options.destination.is_in_place() {
                true => self.is_in_place_as_it_was(target, &header, note.ended),
                false => output.is_some_and(|path| {
                    self.is_output_as_it_was(target, &path, kept, note, &header, recorded)
                }),
            }
            && self.has_contents(kept, note, &header);
        is_as_it_was.then_some(())?;
        let is_paid = header.figures.spent.is_some() && note.ended == Ended::Whole;
        if wanted == Wanted::Figures
            && is_said
            && !is_paid
            && let Some(place) = note.place_of(&header)
        {
            return Some(TakenOver::Noted(header.figures, place));
        }
        let mut outcome = header.outcome()?;
        if !is_said {
            outcome = outcome.moved(path_text(target.input_path()), said);
        }
        if is_paid {
            // What a completed run paid for summaries is already reported; this run takes them from the store.
            let summaries = outcome.conversations.iter_mut();
            for summary in summaries.filter_map(|c| c.summary.as_mut()) {
                summary.spent = summary.spent.map(Spent::from_the_store);
            }
        }
        Some(TakenOver::Outcome(Box::new(outcome)))
    }

    /// What is noted about the reports of this command.
    pub(super) fn report_notes(&self, targets: &Targets) -> ReportNotes {
        match (&self.work, targets.stores().as_slice()) {
            (Some(work), [(root, _)]) => {
                ReportNotes::of(work.clone(), root.clone(), self.options.trust)
            }
            (_, _) => ReportNotes::default(),
        }
    }

    /// The inputs that existed.
    pub(super) fn into_met(self) -> MatchedInputs {
        MatchedInputs(self.by_store.into_values().collect())
    }

    /// The input's name in the store.
    fn name(&self, target: &Target, kept: &RunStore) -> Option<String> {
        let path = target.input_path();
        let name = match self.options.destination.is_in_place() {
            true => kept.store.name_of(&resolve_link(path)),
            false => kept.store.name_of(path),
        };
        name.ok()
    }

    /// The output as a report of this run would name it.
    fn output_text(&self, output: Option<&Path>, status: Status) -> Option<String> {
        let is_written = !self.options.destination.is_in_place() || status == Status::Compacted;
        output.filter(|_| is_written).map(path_text)
    }
}

/// Whether the noted outcome names this input and this output in the same way as a report of this run.
fn is_said(header: &NoteHeader<'_>, input: &Path, output: Option<&str>) -> bool {
    let begin = Outcome::begin_of_json(&path_text(input), output);
    begin.is_ok_and(|begin| header.outcome.starts_with(&begin))
}

/// Whether a file was last written to less than `than` ago.
fn is_younger(path: &Path, than: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|seen| seen.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age < than)
}
