//! The passes of a run with batches: what is compacted, sent, waited for and collected, in which order.
//!
//! Decides nothing about content, and sends nothing itself. Only inputs that are waiting for summaries are compacted again.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::artifacts::{BatchClient, BatchReport};
use crate::batch::{
    self, Found, MatchedInputs, Options, Overwrite, Passes, Ran, ReportNotes, Source, unread,
};
use crate::cli::progress::Bar;
use crate::cli::{Context, Voice};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Entries, path_text};
use crate::policy::Effective;
use crate::store::atomic::{AtomicWriter, Existing, Mode};
use crate::store::folder::Durability;
use crate::store::{Missing, OpenPath};
use crate::text::{count, printable, shown_path, thousands};

/// The wait before a batch is looked at again; each further one is longer by half.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// The longest such wait.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// How long a server may fail to answer while it is polled for results.
const LONGEST_TROUBLE: Duration = Duration::from_secs(3_600);
/// How many batches a sentence names.
const MAX_NAMED: usize = 2;

/// What came of looking for results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetched {
    ended: u64,
    open: u64,
    faults: usize,
}

/// One run with batches.
pub(super) struct Steps<'s> {
    context: &'s Context,
    server: &'s dyn BatchClient,
    effective: &'s Effective,
    options: &'s Options,
    bar: &'s Bar,
    passes: Passes,
    taken_over: u64,
    changed: Vec<String>,
    faults: Vec<Error>,
}

impl<'s> Steps<'s> {
    /// Creates a run in which nothing is done yet.
    pub(super) fn new(
        (context, bar): (&'s Context, &'s Bar),
        server: &'s dyn BatchClient,
        effective: &'s Effective,
        options: &'s Options,
    ) -> Self {
        Steps {
            context,
            server,
            effective,
            options,
            bar,
            passes: Passes::new(&options.scratch()),
            taken_over: 0,
            changed: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The result of all passes.
    ///
    /// # Errors
    /// If outcomes cannot be written to disk, or read back from there.
    pub(super) fn into_ran(self) -> Result<Ran> {
        let outcomes = self.passes.sorted()?;
        Ok(Ran {
            files: outcomes.len() as u64,
            outcomes,
            taken_over: self.taken_over,
            changed: self.changed,
            met: MatchedInputs::default(),
            report_notes: ReportNotes::default(),
            faults: self.faults,
        })
    }

    /// Compacts these inputs; their outcomes take the place of earlier ones.
    pub(super) fn pass(&mut self, found: &Found) -> Result<()> {
        let ran = batch::run(found, self.effective, self.options, self.bar)?;
        self.passes.add(ran.outcomes)?;
        self.taken_over += ran.taken_over;
        self.changed.extend(ran.changed);
        self.faults.extend(ran.faults);
        Ok(())
    }

    /// The inputs that wait for summaries.
    fn pending(&self, found: &Found) -> Result<Found> {
        let pending = self.passes.pending()?;
        let is_pending = |source: &Source| {
            let path = path_text(source.path());
            pending.has(Path::new(&path)).map_err(unread)
        };
        Ok(Found {
            sources: found
                .sources
                .filtered(&self.options.scratch(), is_pending)?,
            ..Found::default()
        })
    }

    /// Sends the requests, and records in the outcomes what they are waiting for now; returns the number of batches.
    pub(super) fn submit(&mut self) -> usize {
        let sent = self.server.submit();
        let number = sent.sent.len();
        let named = |ids: &[String]| match ids {
            [one] => format!("batch {one}"),
            ids if ids.len() <= MAX_NAMED => format!("batches {}", ids.join(" and ")),
            ids => {
                let more = thousands((ids.len() - MAX_NAMED) as u64);
                format!("batches {} and {more} more", ids[..MAX_NAMED].join(", "))
            }
        };
        let what = match (sent.sent.as_slice(), sent.faults.is_empty()) {
            ([], true) => {
                "a batch of another run: run the same command with --batch collect".to_owned()
            }
            ([], false) => "a batch that was not sent: run the same command again".to_owned(),
            (ids, true) => format!("{}: run the same command with --batch collect", named(ids)),
            (ids, false) => format!(
                "{}, or one that was not sent: run the same command again",
                named(ids)
            ),
        };
        self.passes.now_wait_for(&what);
        self.tell(sent);
        number
    }

    /// Collects the results that are available; `None` where the run is to end.
    pub(super) fn fetch(&mut self, stores: &[PathBuf]) -> Option<Fetched> {
        let mut fetched = self.server.fetch(stores);
        let faults = fetched.faults.len();
        fetched
            .faults
            .retain(|fault| fault.kind != ErrorKind::Interrupted);
        let is_interrupted = fetched.faults.len() < faults;
        let counts = Fetched {
            ended: fetched.ended,
            open: fetched.open,
            faults: fetched.faults.len(),
        };
        self.tell(fetched);
        (!is_interrupted).then_some(counts)
    }

    fn tell(&mut self, batched: BatchReport) {
        for said in &batched.said {
            self.say(said);
        }
        self.faults.extend(batched.faults);
    }

    fn say(&self, text: &str) {
        if self.context.voice > Voice::Quiet {
            self.bar.aside(|| {
                let _ = writeln!(io::stderr().lock(), "{}", printable(text));
            });
        }
    }

    /// Sends, waits and collects until nothing is left to come, or time is up.
    pub(super) fn until_done(&mut self, found: &Found, most: Option<Duration>) -> Result<()> {
        let stores = batch::stores(found, self.options)?;
        let start = Instant::now();
        if self.fetch(&stores).is_none() {
            return Ok(());
        }
        self.pass(found)?;
        loop {
            let faults = self.faults.len();
            let sent = self.submit();
            let pending = self.pending(found)?;
            // What could not be sent may never be answered.
            if pending.sources.is_empty() || self.faults.len() > faults {
                return Ok(());
            }
            let waiting = count(pending.sources.len(), "file");
            self.say(&format!("waiting for the summaries of {waiting}"));
            let Some(ended) = self.look(&stores, most.map(|most| start + most))? else {
                return Ok(());
            };
            // Another run may have collected what this one waited for; else there is nothing to wait for.
            if ended == 0 && sent == 0 {
                return self.pass(&pending);
            }
            self.pass(&pending)?;
        }
    }

    /// Polls until a batch has ended or none is open; returns how many have ended. `None` when time is up.
    fn look(&mut self, stores: &[PathBuf], end: Option<Instant>) -> Result<Option<u64>> {
        let mut wait = FIRST_LOOK;
        let mut trouble: Option<Instant> = None;
        loop {
            let left = end.map_or(Duration::MAX, |end| {
                end.saturating_duration_since(Instant::now())
            });
            let is_interrupted = || self.server.rest(wait.min(left)).is_err();
            if left.is_zero() || is_interrupted() {
                return Ok(None);
            }
            let known = self.faults.len();
            let Some(fetched) = self.fetch(stores) else {
                return Ok(None);
            };
            if fetched.ended > 0 || fetched.open == 0 {
                let is_stuck = fetched.ended == 0 && fetched.faults > 0;
                return Ok((!is_stuck).then_some(fetched.ended));
            }
            // A server that does not answer now is asked again.
            match fetched.faults {
                0 => trouble = None,
                _ if trouble.get_or_insert_with(Instant::now).elapsed() > LONGEST_TROUBLE => {
                    return Ok(None);
                }
                _ => self.faults.truncate(known),
            }
            wait = (wait * 3 / 2).min(LAST_LOOK);
        }
    }

    /// Writes the requests to a file.
    pub(super) fn write_requests(&mut self, found: &Found, path: &Path) -> Result<()> {
        let existing = match self.options.overwrite {
            Overwrite::Any => Existing::Overwrite,
            Overwrite::OwnOnly => Existing::Refuse,
        };
        let spot = OpenPath::named(path, Missing::Make)?;
        let mut file = AtomicWriter::create(spot, existing, Mode::Private, Durability::Lazy)?;
        self.pass(found)?;
        if self.server.demand().requests == 0 {
            self.say("there are no requests to send: the file is not written");
            return Ok(());
        }
        let written = self.server.write(&mut file).map_err(|e| e.at(path))?;
        file.commit()?;
        let path = shown_path(path);
        self.say(&format!("{path}: {}", count(written, "request")));
        self.passes.now_wait_for(&format!(
            "the answers to {path}: run the same command with --batch collect --batch-file ANSWERS"
        ));
        Ok(())
    }

    /// Reads the answers from a file.
    pub(super) fn read_answers(&mut self, found: &Found, path: &Path) -> Result<()> {
        let unread_file = |e| Error::io(path, "read", e);
        let (file, _): (File, _) = crate::store::open_transcript(path)?;
        self.pass(found)?;
        let read = self.server.read(&mut BufReader::new(file));
        let mut read = read.map_err(|error| match error.source {
            Some(source) if error.path.is_none() => unread_file(source),
            _ => error,
        })?;
        for said in &mut read.said {
            *said = format!("{}: {said}", shown_path(path));
        }
        self.tell(read);
        let pending = self.pending(found)?;
        match pending.sources.is_empty() {
            true => Ok(()),
            false => self.pass(&pending),
        }
    }
}
