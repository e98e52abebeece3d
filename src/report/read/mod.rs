//! Reports of every command read back from JSON or JSON lines.
//!
//! One reader for all: a head and entries, whose types are those of the command. Sums are computed again and never taken from the
//! file (but for the means of `eval`, whose parts are rounded), and a report whose own sums are others is refused: it has lost
//! entries, or somebody has changed it. A report of a later version, or of a command whose reports are
//! not read, is refused: nothing is guessed.

mod any;
mod merge;

use std::borrow::Cow;
use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::run::{RunReport, SCHEMA_VERSION};
use super::times::RunTimings;
use super::{Evals, Replays, Report, ReportFormat, Stats};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Interrupted, NotRead};

pub use any::AnyReport;
pub use merge::{merge, shared};

/// What tells whether the rest can be understood, and whose it is.
#[derive(Deserialize)]
struct Mark {
    schema_version: Option<u64>,
    policy: Option<IgnoredAny>,
    policies: Option<IgnoredAny>,
    thresholds: Option<IgnoredAny>,
    vocabulary: Option<IgnoredAny>,
    estimator: Option<IgnoredAny>,
}

/// The commands whose reports are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Compact,
    Stats,
    Replay,
    Eval,
}

impl Command {
    fn name(self) -> &'static str {
        match self {
            Command::Compact => "compact",
            Command::Stats => "stats",
            Command::Replay => "replay",
            Command::Eval => "eval",
        }
    }
}

/// What the head of every report says beside what is its command's own.
#[derive(Deserialize)]
struct Common {
    version: String,
    #[serde(default)]
    not_read: Vec<NotRead>,
    #[serde(default)]
    timings: Option<RunTimings>,
}

/// The entries of a report.
#[derive(Deserialize)]
struct Entries<F> {
    files: Vec<F>,
}

/// A file that may hold a report.
struct Source<'r> {
    path: &'r Path,
    /// The part that holds the head, and the number of its first line.
    head: (usize, &'r [u8]),
    /// The lines of entries; none where the head holds them.
    lines: Option<Vec<(usize, &'r [u8])>>,
}

/// The report that `bytes`, the content of `path`, are; its extension says in which format.
///
/// # Errors
/// What is not a report by this version of the format, with its line.
pub fn read(path: &Path, bytes: &[u8]) -> Result<AnyReport> {
    let source = Source::of(path, bytes)?;
    let command = source.command()?;
    Ok(match command {
        Command::Compact => {
            let (about, files) = source.parts::<super::Compacting, _>(command)?;
            let left = source.head::<TotalsOf<Left>>(command)?.totals.interrupted;
            let report = Report::new(about.policy, files)
                .with_interrupted(left)
                .with_estimate(about.estimate);
            AnyReport::Compact(source.headed(report, command)?)
        }
        Command::Stats => {
            let (about, files) = source.parts::<super::stats::Counting, _>(command)?;
            let top = about.top;
            let report = Stats::new(about.policy, about.estimator, about.thresholds, files, top);
            AnyReport::Stats(Box::new(source.headed(report, command)?))
        }
        Command::Replay => {
            let (about, files) = source.parts::<super::replay::Replaying, _>(command)?;
            let report = Replays::read_back(about, files).map_err(|why| source.refused(why))?;
            AnyReport::Replay(source.headed(report, command)?)
        }
        Command::Eval => {
            let (about, files) = source.parts::<super::eval::Measuring, _>(command)?;
            let totals = source
                .head::<TotalsOf<crate::eval::Totals>>(command)?
                .totals;
            let report = Evals::read_back(about, totals, files);
            let report = report.map_err(|why| source.refused(why))?;
            AnyReport::Eval(source.headed(report, command)?)
        }
    })
}

/// The report of `compact` that `bytes` are; otherwise as [`read`].
///
/// # Errors
/// Those of [`read`], and a report of another command.
pub fn read_compact(path: &Path, bytes: &[u8]) -> Result<Report> {
    match read(path, bytes)? {
        AnyReport::Compact(report) => Ok(report),
        other @ (AnyReport::Stats(_) | AnyReport::Replay(_) | AnyReport::Eval(_)) => {
            let why = format!("it is a report on {}, not on compact", other.command());
            Err(Error::new(ErrorKind::Unsupported, why).at(path))
        }
    }
}

/// What no entry says of an interrupted run.
#[derive(Deserialize)]
struct Left {
    #[serde(default)]
    interrupted: Option<Interrupted>,
}

/// The sums that a report says, whatever they are of.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    totals: Map<String, Value>,
}

/// Totals that are taken from the file.
#[derive(Deserialize)]
struct TotalsOf<T> {
    totals: T,
}

impl<'r> Source<'r> {
    fn of(path: &'r Path, bytes: &'r [u8]) -> Result<Self> {
        match ReportFormat::from_path(path)? {
            ReportFormat::Json => Ok(Source {
                path,
                head: (1, bytes),
                lines: None,
            }),
            ReportFormat::Jsonl => {
                let mut lines: Vec<(usize, &[u8])> = (1..)
                    .zip(bytes.split(|b| *b == b'\n'))
                    .filter(|(_, line)| !line.trim_ascii().is_empty())
                    .collect();
                let Some(head) = lines.pop() else {
                    return Err(Error::new(ErrorKind::Unsupported, "it is empty").at(path));
                };
                Ok(Source {
                    path,
                    head,
                    lines: Some(lines),
                })
            }
            ReportFormat::Csv(_) | ReportFormat::Markdown | ReportFormat::Html => Err(Error::new(
                ErrorKind::Usage,
                "only .json and .jsonl reports can be read back",
            )
            .at(path)),
        }
    }

    /// Whose report it is. Fails for what has no version that is known.
    fn command(&self) -> Result<Command> {
        let mark: Mark = self.head_of("any command")?;
        let line = self.head.0 as u64;
        let version = mark.schema_version.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "it is not a report, or its end is missing",
            )
            .at(self.path)
            .on_line(line)
            .hint("a report has a schema_version; that of .jsonl is on its last line")
        })?;
        if version != u64::from(SCHEMA_VERSION) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("its schema_version is {version}, and this program reads {SCHEMA_VERSION}"),
            )
            .at(self.path)
            .on_line(line)
            .hint("render it with the version of ctxpack that made it"));
        }
        let Mark {
            policy,
            policies,
            thresholds,
            vocabulary,
            estimator,
            ..
        } = mark;
        match (policy, policies, thresholds, vocabulary, estimator) {
            (Some(_), None, None, None, None) => Ok(Command::Compact),
            (Some(_), None, Some(_), None, Some(_)) => Ok(Command::Stats),
            (None, Some(_), None, None, Some(_)) => Ok(Command::Replay),
            (None, Some(_), None, Some(_), None) => Ok(Command::Eval),
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => {
                Err(self
                    .refused("it is not a report on compact, stats, replay or eval".to_owned())
                    .hint("other reports are rendered by the command that makes them"))
            }
        }
    }

    /// What the command itself says of the run, and the entries.
    fn parts<A: DeserializeOwned, F: DeserializeOwned>(
        &self,
        command: Command,
    ) -> Result<(A, Vec<F>)> {
        let about = self.head(command)?;
        let files = match &self.lines {
            None => self.head::<Entries<F>>(command)?.files,
            Some(lines) => {
                let lines = lines.iter();
                let files = lines.map(|line| self.parse::<F>(*line, command.name()));
                files.collect::<Result<_>>()?
            }
        };
        Ok((about, files))
    }

    /// The same report with what every head says. Fails where the sums that it says are not those of its entries.
    fn headed<A, T: Serialize, F>(
        &self,
        mut report: RunReport<A, T, F>,
        command: Command,
    ) -> Result<RunReport<A, T, F>> {
        let said: Said = self.head(command)?;
        let counted = serde_json::to_value(report.totals()).unwrap_or_default();
        for (key, said) in &said.totals {
            // Shares are rounded.
            if let (Some(said), Some(counted)) = (said.as_u64(), counted[key].as_u64())
                && said != counted
            {
                let why = format!("its totals say {key} {said}, and its files add up to {counted}");
                return Err(self.refused(why).hint(
                    "it is damaged, or was changed; run the command again to have it whole",
                ));
            }
        }
        let common: Common = self.head(command)?;
        report.head.version = Cow::Owned(common.version);
        report.head.not_read = common.not_read;
        report.head.timings = common.timings;
        Ok(report)
    }

    fn head<T: DeserializeOwned>(&self, command: Command) -> Result<T> {
        self.head_of(command.name())
    }

    fn head_of<T: DeserializeOwned>(&self, of: &str) -> Result<T> {
        self.parse(self.head, of)
    }

    /// `first` is the number of the first line of `bytes` in the file.
    fn parse<T: DeserializeOwned>(&self, (first, bytes): (usize, &[u8]), of: &str) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|error| {
            let message = match error.is_data() {
                true => format!("it is not a report on `{of}`: {error}"),
                false => format!("it is not JSON: {error}"),
            };
            Error::new(ErrorKind::Unsupported, message)
                .at(self.path)
                .on_line((first + error.line().max(1) - 1) as u64)
        })
    }

    /// Why the report as a whole is refused.
    fn refused(&self, why: String) -> Error {
        Error::new(ErrorKind::Unsupported, why)
            .at(self.path)
            .on_line(self.head.0 as u64)
    }
}
