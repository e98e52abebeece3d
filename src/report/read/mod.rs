//! Reports of every command read back from JSON or JSON lines.
//!
//! There is one reader for all: it reads a head and entries, with the command's types. Entries about inputs are passed on one by
//! one, and are never all in memory. Sums are recomputed and never taken from the file (except the means of `eval`, whose
//! parts are rounded), and a report with different sums is rejected: it has lost entries, or somebody changed it. A report of a
//! later version, or of a command whose reports are not supported, is rejected: nothing is guessed.

mod any;
mod back;
mod list;
mod measured;
mod merge;
mod source;
mod split;

use std::io::Cursor;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::diff::{AboutFiles, AboutPolicies};
use super::run::SCHEMA_VERSION;
use super::{CompactHeader, ComparisonReport, DiffReport, ReplayHeader, Report, StatsHeader};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::FileEval;
use crate::outcome::{Examined, Interrupted, Outcome, ReadBack};
use crate::replay::FileReplay;
use crate::stats::FileStats;
use measured::Measured;
use source::Source;

pub use any::AnyReport;
pub use back::{Back, RecordedEval};
pub use merge::{Merged, Parts};
pub use source::Text;

/// The keys that tell whether the rest can be understood, and which command wrote it.
#[derive(Deserialize)]
struct Mark {
    schema_version: Option<u64>,
    policy: Option<IgnoredAny>,
    policies: Option<IgnoredAny>,
    thresholds: Option<IgnoredAny>,
    vocabulary: Option<IgnoredAny>,
    estimator: Option<IgnoredAny>,
    /// Of a diff of two files: the old one.
    old: Option<IgnoredAny>,
    /// Of a comparison of two policies: the input.
    input: Option<IgnoredAny>,
    totals: Option<MarkOfTotals>,
}

/// The keys that tell which command the totals belong to.
#[derive(Deserialize)]
struct MarkOfTotals {
    cases: Option<IgnoredAny>,
}

/// The commands whose reports can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `compact`
    Compact,
    /// `stats`
    Stats,
    /// `replay`
    Replay,
    /// `eval`
    Eval,
    /// `check`
    Check,
    /// `diff`, of two files
    Diff,
    /// `diff`, of what two policies make of a file
    DiffOfTwo,
}

impl Command {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Command::Compact => "compact",
            Command::Stats => "stats",
            Command::Replay => "replay",
            Command::Eval => "eval",
            Command::Check => "check",
            Command::Diff | Command::DiffOfTwo => "diff",
        }
    }

    /// The key of the entries in its .json reports.
    fn entries(self) -> &'static str {
        match self {
            Command::Compact | Command::Stats | Command::Replay | Command::Eval => "files",
            Command::Check => "cases",
            Command::Diff | Command::DiffOfTwo => "conversations",
        }
    }
}

/// A report in a file whose head has been read.
#[expect(
    missing_debug_implementations,
    reason = "what it is read from need not have one"
)]
pub struct Stored<'r> {
    path: &'r Path,
    source: Source<'r>,
    command: Command,
}

/// Opens `text`, the content of `path`, as a report; the path's extension determines the format.
///
/// # Errors
/// If it is not a report in this version of the format; with the line.
pub fn open<'r>(path: &'r Path, text: &'r mut dyn Text) -> Result<Stored<'r>> {
    let mut source = Source::of(path, text)?;
    let command = command_of(&mut source)?;
    Ok(Stored {
        path,
        source,
        command,
    })
}

impl Stored<'_> {
    /// The command that wrote it.
    pub fn command(&self) -> Command {
        self.command
    }

    /// Passes on the entries of a report of `compact`, and returns the rest of it.
    ///
    /// # Errors
    /// The errors of `keep`, or if it is not such a report; with the line.
    pub fn compact(
        mut self,
        keep: &mut dyn FnMut(Outcome) -> Result<()>,
    ) -> Result<Back<CompactHeader>> {
        let about = self.parts(keep)?;
        let left: TotalsOf<Left> = self.head()?;
        self.back(about, left.totals.interrupted)
    }

    /// The same for a report of `stats`.
    ///
    /// # Errors
    /// The errors of [`Stored::compact`].
    pub fn stats(
        mut self,
        keep: &mut dyn FnMut(Examined<FileStats>) -> Result<()>,
    ) -> Result<Back<StatsHeader>> {
        let about = self.parts(keep)?;
        self.back(about, None)
    }

    /// The same for a report of `replay`.
    ///
    /// # Errors
    /// The errors of [`Stored::compact`], or if its sessions do not fit its policies.
    pub fn replay(
        mut self,
        keep: &mut dyn FnMut(Examined<FileReplay>) -> Result<()>,
    ) -> Result<Back<ReplayHeader>> {
        let ReplayHeader { policies, .. } = self.head()?;
        let mut fits = true;
        let about = self.parts(&mut |file: Examined<FileReplay>| {
            let mut sessions = file.found.sessions.iter();
            fits &= sessions.all(|session| session.policies.len() == policies.len());
            keep(file)
        })?;
        if !fits {
            let why = "a session in it was not replayed under all of its policies";
            return Err(self.source.refused(why));
        }
        self.back(about, None)
    }

    /// The same for a report of `eval`, with its recorded means.
    ///
    /// # Errors
    /// The errors of [`Stored::compact`], or if the means are not those of its entries.
    pub fn eval(
        mut self,
        keep: &mut dyn FnMut(Examined<FileEval>) -> Result<()>,
    ) -> Result<Back<RecordedEval>> {
        let mut measured = Measured::default();
        let header = self.parts(&mut |file: Examined<FileEval>| {
            measured.add(&file);
            keep(file)
        })?;
        let TotalsOf { totals } = self.head()?;
        if !measured.is_of(&totals) {
            let why = "its totals are not those of its files";
            return Err(self.source.refused(why));
        }
        self.back(RecordedEval { header, totals }, None)
    }

    /// Reads a report of `diff` on two files into memory.
    ///
    /// # Errors
    /// If it is not such a report; with the line.
    pub fn diff(self) -> Result<DiffReport> {
        self.made(|about: AboutFiles, entries| DiffReport::read_back(about, entries))
    }

    /// Reads a report of `diff` on two policies into memory.
    ///
    /// # Errors
    /// If it is not such a report; with the line.
    pub fn diff_of_two(self) -> Result<ComparisonReport> {
        self.made(|about: AboutPolicies, entries| ComparisonReport::read_back(about, entries))
    }

    /// Reads a report into memory: `made` builds it from what it says about the run and from its entries, or says why it is
    /// rejected.
    ///
    /// # Errors
    /// If it is not such a report; with the line.
    pub fn made<A: DeserializeOwned, F: ReadBack + DeserializeOwned + Send, R>(
        mut self,
        made: impl FnOnce(A, Vec<F>) -> std::result::Result<R, String>,
    ) -> Result<R> {
        let mut entries = Vec::new();
        let about = self.parts(&mut |entry| {
            entries.push(entry);
            Ok(())
        })?;
        made(about, entries).map_err(|why| {
            let again = "run the command again for a complete report";
            self.source.refused(why).hint(again)
        })
    }

    fn head<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.source.head(self.command.name())
    }

    /// The command's own data about the run; the entries are passed on.
    fn parts<A: DeserializeOwned, F: ReadBack + DeserializeOwned + Send>(
        &mut self,
        keep: &mut dyn FnMut(F) -> Result<()>,
    ) -> Result<A> {
        let about = self.head()?;
        let command = self.command;
        self.source
            .entries(command.name(), command.entries(), keep)?;
        Ok(about)
    }

    /// What every report says, combined with the command's own data.
    fn back<A>(mut self, about: A, left: Option<Interrupted>) -> Result<Back<A>> {
        let said = self.head()?;
        let common = self.head()?;
        Ok(Back {
            path: self.path.to_owned(),
            line: self.source.line()?,
            about,
            left,
            said,
            common,
        })
    }
}

/// Reads `bytes`, the content of `path`, as a report of `compact` into memory.
///
/// # Errors
/// The errors of [`open`], or if it is a report of another command.
pub fn read_compact(path: &Path, bytes: &[u8]) -> Result<Report> {
    let mut text = Cursor::new(bytes);
    let stored = open(path, &mut text)?;
    match stored.command() {
        Command::Compact => {}
        other @ (Command::Stats
        | Command::Replay
        | Command::Eval
        | Command::Check
        | Command::Diff
        | Command::DiffOfTwo) => {
            let why = format!("this is a report of `{}`, not of `compact`", other.name());
            return Err(Error::new(ErrorKind::Unsupported, why).at(path));
        }
    }
    let mut files = Vec::new();
    let back = stored.compact(&mut |file| {
        files.push(file);
        Ok(())
    })?;
    let report = Report::new(back.about.policy.clone(), files)
        .with_interrupted(back.left)
        .with_estimate(back.about.estimate);
    back.check(&report.head.totals)?;
    Ok(back.run(report))
}

/// What an interrupted run did not reach, which no entry says.
#[derive(Deserialize)]
struct Left {
    #[serde(default)]
    interrupted: Option<Interrupted>,
}

/// Totals taken from the file.
#[derive(Deserialize)]
struct TotalsOf<T> {
    totals: T,
}

/// The command that wrote it. Fails if it has no known version.
fn command_of(source: &mut Source<'_>) -> Result<Command> {
    let mark: Mark = source.head(source::ANY)?;
    let Some(version) = mark.schema_version else {
        let why = "it is not a report, or its end is missing";
        return Err(source
            .refused(why)
            .hint("a report has a schema_version; that of .jsonl is on its last line"));
    };
    if version != u64::from(SCHEMA_VERSION) {
        let why =
            format!("its schema_version is {version}, and this program reads {SCHEMA_VERSION}");
        return Err(source
            .refused(why)
            .hint("render it with the version of ctxpack that made it"));
    }
    let Mark {
        policy,
        policies,
        thresholds,
        vocabulary,
        estimator,
        old,
        input,
        totals,
        ..
    } = mark;
    let cases = totals.and_then(|totals| totals.cases);
    match (policy, policies, thresholds, vocabulary, estimator) {
        (Some(_), None, None, None, None) if cases.is_some() => Ok(Command::Check),
        (Some(_), None, None, None, None) => Ok(Command::Compact),
        (Some(_), None, Some(_), None, Some(_)) => Ok(Command::Stats),
        (Some(_), None, None, None, Some(_)) if old.is_some() => Ok(Command::Diff),
        (None, Some(_), None, None, Some(_)) if input.is_some() => Ok(Command::DiffOfTwo),
        (None, Some(_), None, None, Some(_)) => Ok(Command::Replay),
        (None, Some(_), None, Some(_), None) => Ok(Command::Eval),
        (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => {
            Err(source
                .refused("it is not a report on compact, stats, replay, eval, check or diff")
                .hint("verify and sessions print JSON that is not rendered again"))
        }
    }
}
