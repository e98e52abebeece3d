//! Merges several reports into one: those of `compact`, and those of `stats` that count in the same way.
//!
//! Reports that cannot be added up are rejected with a reason: shares, means and peaks of different runs are not sums. Only the
//! heads of the reports are held here.

use std::collections::BTreeSet;

use super::{Back, Command};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Entries, Examined, NotRead, NotReads, Totals, unread};
use crate::report::times::RunTimings;
use crate::report::{CompactHeader, PolicyRef, Stats, StatsHeader, StreamedReport};
use crate::stats::{self, FileStats};

/// The heads of the reports to merge.
#[derive(Debug, Default)]
pub struct Parts {
    compact: Vec<Back<CompactHeader>>,
    stats: Vec<Back<StatsHeader>>,
    /// The lists of presets of the `stats` reports that have any.
    presets: BTreeSet<Vec<String>>,
    /// The first command found whose reports do not add up.
    other: Option<Command>,
}

/// Reports that add up to a single one, by command.
#[derive(Debug)]
pub enum Merged {
    /// Of `compact`.
    Compact(MergedCompact),
    /// Of `stats`.
    Stats(Box<MergedStats>),
}

/// Reports of `compact`.
#[derive(Debug)]
pub struct MergedCompact(Vec<Back<CompactHeader>>);

/// Reports of `stats`, all counted in one way.
#[derive(Debug)]
pub struct MergedStats {
    about: StatsHeader,
    parts: Vec<Back<StatsHeader>>,
}

impl Parts {
    /// Adds a report of `compact`, whose entries have these sums.
    ///
    /// # Errors
    /// The errors of [`Back::check`].
    pub fn add_compact(&mut self, part: Back<CompactHeader>, totals: &Totals) -> Result<()> {
        part.check(totals)?;
        self.compact.push(part);
        Ok(())
    }

    /// Adds a report of `stats`, whose entries have these sums.
    ///
    /// # Errors
    /// The errors of [`Back::check`].
    pub fn add_stats(&mut self, part: Back<StatsHeader>, totals: &stats::Totals) -> Result<()> {
        part.check(totals)?;
        let presets = totals.counts.presets.0.iter();
        let presets: Vec<String> = presets.map(|preset| preset.policy.clone()).collect();
        self.presets
            .extend((!presets.is_empty()).then_some(presets));
        self.stats.push(part);
        Ok(())
    }

    /// Adds a report of a command whose reports do not add up.
    pub fn add_other(&mut self, command: Command) {
        self.other.get_or_insert(command);
    }

    /// The merged reports.
    ///
    /// # Errors
    /// If the reports do not add up.
    pub fn merged(self) -> Result<Merged> {
        if let Some(command) = self.other {
            return Err(refused(format!(
                "a report on {} holds {} of one run, which do not add up",
                command.name(),
                holds(command)
            ))
            .hint("run the command over all of the files at once"));
        }
        if self.stats.is_empty() {
            return Ok(Merged::Compact(MergedCompact(self.compact)));
        }
        if !self.compact.is_empty() {
            return Err(refused(
                "reports of compact and of stats count different things, and do not add up"
                    .to_owned(),
            ));
        }
        let about = counting(&self.stats)?;
        if self.presets.len() > 1 {
            return Err(refused(
                "they were made by versions with different presets, whose counts do not add up"
                    .to_owned(),
            )
            .hint("count the files again with one version"));
        }
        let parts = self.stats;
        Ok(Merged::Stats(Box::new(MergedStats { about, parts })))
    }
}

impl MergedCompact {
    /// The report on all entries, whose sums are `totals`. If they were made under different policies, it names them all.
    pub fn report(self, totals: Totals, entries: &dyn Entries) -> StreamedReport<'_> {
        let MergedCompact(parts) = self;
        let policies: Vec<&PolicyRef> = parts.iter().map(|part| &part.about.policy).collect();
        let policy = joined(&policies);
        let mut left = Totals::default();
        for part in &parts {
            left += Totals {
                interrupted: part.left,
                ..Totals::default()
            };
        }
        let (not_read, timings) = common(parts);
        let mut report =
            StreamedReport::new(policy, totals, entries).with_left(not_read, left.interrupted);
        report.head.timings = timings;
        report
    }
}

impl MergedStats {
    /// The report on all entries.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn report(self, entries: &dyn Entries<Examined<FileStats>>) -> Result<Stats<'_>> {
        let mut report = Stats::of(self.about, entries).map_err(unread)?;
        (report.head.not_read, report.head.timings) = common(self.parts);
        Ok(report)
    }
}

/// How all of them were counted, with the largest number of consumers.
fn counting(parts: &[Back<StatsHeader>]) -> Result<StatsHeader> {
    let abouts = || parts.iter().map(|part| &part.about);
    let Some(first) = abouts().next().cloned() else {
        return Err(refused("no report was given".to_owned()));
    };
    let is_like = |other: &&StatsHeader| {
        (&other.policy, &other.estimator, &other.thresholds)
            == (&first.policy, &first.estimator, &first.thresholds)
    };
    if let Some(other) = abouts().find(|other| !is_like(other)) {
        let (one, other) = (&first.policy, &other.policy);
        return Err(refused(format!(
            "they were counted under different policies ({} {} and {} {}), and their tokens do not add up",
            one.name, one.hash, other.name, other.hash
        ))
        .hint("count the files again under one policy"));
    }
    let top = abouts().map(|about| about.top).max();
    let top = top.unwrap_or_default();
    let StatsHeader {
        policy,
        estimator,
        thresholds,
        ..
    } = first;
    Ok(StatsHeader::new(policy, estimator, thresholds, top))
}

/// What they did not read, and the times of all.
fn common<A>(parts: Vec<Back<A>>) -> (Vec<NotRead>, Option<RunTimings>) {
    let timings = parts.iter().map(|part| part.common.timings.as_ref());
    let timings = RunTimings::of_all(timings);
    let mut all = NotReads::default();
    for part in parts {
        all.extend(part.common.not_read);
    }
    (all.into_list(), timings)
}

fn joined(policies: &[&PolicyRef]) -> PolicyRef {
    if let [first, rest @ ..] = policies
        && rest.iter().all(|policy| policy == first)
    {
        return (*first).clone();
    }
    let names: BTreeSet<&str> = policies.iter().map(|policy| &policy.name[..]).collect();
    let hashes: BTreeSet<&str> = policies.iter().map(|policy| &policy.hash[..]).collect();
    let list = |set: BTreeSet<&str>| set.into_iter().collect::<Vec<_>>().join(" + ");
    PolicyRef {
        name: list(names),
        hash: list(hashes),
        overrides: Vec::new(),
    }
}

/// The parts of a command's reports that do not add up, as a phrase.
fn holds(command: Command) -> &'static str {
    match command {
        Command::Compact | Command::Stats | Command::Replay | Command::Eval => "peaks and means",
        Command::Check => "the cases",
        Command::Diff | Command::DiffOfTwo => "the messages",
    }
}

fn refused(why: String) -> Error {
    Error::new(ErrorKind::Usage, why)
}
