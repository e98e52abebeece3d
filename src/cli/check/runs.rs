//! Runs a case and compares the result with what is expected of it. Writes nothing.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::asked::{command, expectations};
use super::cases::{Case, Part};
use super::changed::Changed;
use super::difference::{Detail, difference};
use super::expect::{CaseCommand, Expect};
use super::goldens::{
    check_subset, key_figures, key_figures_of_counts, key_figures_of_replay, lists_nothing,
    merge_update, repeats_a_key,
};
use super::met::Compacted;
use super::names::Listed;
use super::verdict::{Difference, Golden, Verdict};
use crate::batch::{compact_bytes, replay_bytes, stats_bytes, unread};
use crate::cli::config::{ResolvedPolicy, load_found_file};
use crate::cli::messages::policy_ref;
use crate::cli::replay::replaying;
use crate::cli::scripted_answers;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, Status};
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::{self, Effective};
use crate::report::{Render, ReplayHeader, Replays, Report, ReportFormat, Stats, StatsHeader};
use crate::stats::{Counter, Exact};
use crate::store::folder::Durability;
use crate::store::{Store, read_regular};
use crate::text::printable;

/// The size limit of a file of a case.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The number of largest items listed in the counts of a case.
const TOP: usize = 10;

/// A case with its policy.
struct Run<'r> {
    case: &'r Case,
    /// The policy's file.
    file: Option<PathBuf>,
    effective: Cow<'r, Effective>,
    expect: Option<Expect>,
    detail: Detail,
}

/// The findings on a case: lines, and the goldens that would fix them.
#[derive(Default)]
struct Found {
    how: String,
    changed: Option<Changed>,
    beyond: String,
    goldens: Vec<Golden>,
}

/// The verdict on a case; a case without a policy of its own runs under `chosen`.
pub(super) fn run(listed: &Listed, chosen: &ResolvedPolicy, detail: Detail) -> Result<Verdict> {
    let Listed { case, gaps } = listed;
    if !gaps.is_empty() {
        let gaps = gaps.iter().map(|gap| format!("  {}\n", printable(gap)));
        return Ok(Verdict::Differs(Difference::lasting(gaps.collect())));
    }
    case.is_of_plain_files()?;
    let expect = expectations(case)?;
    let command = command(case, expect.as_ref())?;
    let (file, effective) = policy_of(case, chosen)?;
    let run = Run {
        case,
        file,
        effective,
        expect,
        detail,
    };
    let found = match command {
        CaseCommand::Compact => run.compacted()?,
        CaseCommand::Replay => run.replayed()?,
        CaseCommand::Stats => run.counted()?,
    };
    Ok(match found.how.is_empty() {
        true => Verdict::Same,
        false => Verdict::Differs(Difference {
            how: found.how,
            changed: found.changed,
            goldens: found.goldens,
            beyond: found.beyond,
        }),
    })
}

impl Run<'_> {
    fn read(&self, part: Part) -> Result<Vec<u8>> {
        read_regular(&self.case.file(part), MAX_FILE_BYTES)
    }

    /// The golden, if there is one.
    fn golden(&self, part: Part) -> Result<Option<Vec<u8>>> {
        match self.case.has(part) {
            true => self.read(part).map(Some),
            false => Ok(None),
        }
    }

    fn name(&self, part: Part) -> String {
        let file = self.case.file(part);
        file.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    fn compacted(&self) -> Result<Found> {
        let policy = &self.effective.policy;
        let replies = scripted_answers(self.file.as_deref(), policy)?;
        let pipeline = Pipeline::new(policy, Keeping::Store)
            .map_err(|error| at(error, self.file.as_deref()))?
            .with_replies(replies.clone());
        let input = self.read(Part::Input)?;
        let store = Store::new(self.case.file(Part::Store), Durability::Lazy);
        let name = Path::new(Part::Input.name());
        let (outcome, output) = compact_bytes(name, &input, &pipeline, Some(&store));
        let report = Report::new(policy_ref(&self.effective), vec![outcome]);
        let stats = self.json(|out| report.render(ReportFormat::Json, out))?;
        let mut found = Found::default();

        let expected = self.golden(Part::Expected)?;
        let is_said = self
            .expect
            .as_ref()
            .is_some_and(|expect| !expect.all.is_empty());
        match &expected {
            Some(expected) if *expected == output => {}
            Some(expected) => {
                let told = report
                    .files()
                    .first()
                    .map(|outcome| &outcome.conversations[..]);
                let told = told.unwrap_or_default();
                let told = difference(&input, expected, &output, policy, told, self.detail)?;
                found.how.push_str(&told.text);
                found.changed = told.changed;
            }
            None if is_said => {}
            None => self.missing(Part::Expected, &mut found),
        }
        let is_listed = self.case.has(Part::Stats);
        if is_listed || !is_said {
            self.figures(
                Part::Stats,
                "stats",
                &stats,
                &key_figures(&stats),
                &mut found,
            )?;
        }
        if let (Some(expect), Some(outcome)) = (&self.expect, report.files().first()) {
            let of = Compacted {
                input: &input,
                output: &output,
                outcome,
                effective: &self.effective,
                replies: &replies,
            };
            let unmet = expect.unmet(&self.name(Part::Expect), &of)?;
            found.how.push_str(&unmet);
            found.beyond.push_str(&unmet);
        }
        if let Some(why) = self.unread(report.files().first(), &found)? {
            found.goldens.clear();
            found.how.push_str(&why);
            found.beyond.push_str(&why);
            return Ok(found);
        }
        if expected.as_ref() != Some(&output) && (expected.is_some() || !is_said) {
            let path = self.case.file(Part::Expected);
            found.goldens.push(Golden {
                path,
                bytes: output,
            });
        }
        Ok(found)
    }

    /// A line that says that the input could not be read, if no golden expects that: an update must not turn it into a case that
    /// checks nothing.
    fn unread(&self, outcome: Option<&Outcome>, found: &Found) -> Result<Option<String>> {
        let Some(outcome) = outcome.filter(|_| !found.how.is_empty()) else {
            return Ok(None);
        };
        match outcome.status {
            Status::Unsupported | Status::Failed => {}
            Status::Compacted | Status::Unchanged | Status::Skipped | Status::Rejected => {
                return Ok(None);
            }
        }
        let status = outcome.status.to_string();
        let listed = match self.golden(Part::Stats)? {
            Some(bytes) => parse(&bytes, &self.case.file(Part::Stats))?,
            None => Value::Null,
        };
        let is_expected = listed["files"][0]["status"] == status;
        let error = outcome.file.error.as_ref().map(|error| &error.message[..]);
        let warning = outcome.warnings.first().map(|one| &one.message[..]);
        let why = error.or(warning);
        Ok((!is_expected).then(|| {
            format!(
                "  the input is {status}, so nothing is checked: {}\n  write \"status\": \"{status}\" into {} if that is expected\n",
                printable(why.unwrap_or("nothing is known of it")),
                self.name(Part::Stats),
            )
        }))
    }

    fn replayed(&self) -> Result<Found> {
        let replaying = replaying([(self.file.as_deref(), &*self.effective)])
            .map_err(|error| at(error, self.file.as_deref()))?;
        let name = Path::new(Part::Input.name());
        let file = replay_bytes(name, &self.read(Part::Input)?, &replaying);
        let about = ReplayHeader {
            policies: vec![policy_ref(&self.effective)],
            estimator: replaying.estimator().into(),
        };
        let files = &[file][..];
        let replays = Replays::of(about, &files).map_err(unread)?;
        let replay = self.json(|out| replays.render(ReportFormat::Json, out))?;
        let mut found = Found::default();
        let fresh = key_figures_of_replay(&replay);
        self.figures(Part::Replay, "replay", &replay, &fresh, &mut found)?;
        Ok(found)
    }

    fn counted(&self) -> Result<Found> {
        let counting = Counter::new(&self.effective.policy, TOP, Exact::No)
            .map_err(|error| at(error, self.file.as_deref()))?;
        let name = Path::new(Part::Input.name());
        let file = stats_bytes(name, &self.read(Part::Input)?, &counting);
        let policy = policy_ref(&self.effective);
        let thresholds = counting.thresholds().clone();
        let counted = StatsHeader::new(policy, counting.estimator(), thresholds, TOP);
        let files = &[file][..];
        let stats = Stats::of(counted, &files).map_err(unread)?;
        let counts = self.json(|out| stats.render(ReportFormat::Json, out))?;
        let mut found = Found::default();
        let fresh = key_figures_of_counts(&counts);
        self.figures(Part::Counts, "counts", &counts, &fresh, &mut found)?;
        Ok(found)
    }

    /// Compares a report with the golden that lists what it must contain; without a golden, `fresh` would become it.
    fn figures(
        &self,
        part: Part,
        name: &str,
        report: &Value,
        fresh: &Value,
        found: &mut Found,
    ) -> Result<()> {
        let path = self.case.file(part);
        let Some(bytes) = self.golden(part)? else {
            self.missing(part, found);
            let bytes = format!("{fresh:#}\n").into_bytes();
            found.goldens.push(Golden { path, bytes });
            return Ok(());
        };
        let listed = parse(&bytes, &path)?;
        // For a compaction, the output is compared as well, even if its figures are not.
        if part != Part::Stats && lists_nothing(&listed) {
            return Err(Error::new(ErrorKind::Config, "expects nothing")
                .at(&path)
                .hint(
                    "list what must hold, or remove the file: ctxpack check --update writes it",
                ));
        }
        let new = merge_update(&listed, report, fresh);
        check_subset(&listed, report, name, &mut found.how);
        // Limits are not updated.
        check_subset(&new, report, name, &mut found.beyond);
        let bytes = format!("{new:#}\n").into_bytes();
        if new != listed {
            found.goldens.push(Golden { path, bytes });
        }
        Ok(())
    }

    fn missing(&self, part: Part, found: &mut Found) {
        let name = self.name(part);
        let line = format!("  {} is missing; --update writes it\n", printable(&name));
        found.how.push_str(&line);
    }

    /// A report as a value.
    fn json(&self, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<Value> {
        let mut json = Vec::new();
        write(&mut json).map_err(|e| Error::io(self.case.path(), "render the report", e))?;
        parse(&json, self.case.path())
    }
}

/// The policy of a case, and its file: its own, or else the one in effect.
fn policy_of<'c>(
    case: &Case,
    chosen: &'c ResolvedPolicy,
) -> Result<(Option<PathBuf>, Cow<'c, Effective>)> {
    if !case.has(Part::Policy) {
        return Ok((chosen.file.clone(), Cow::Borrowed(&chosen.effective)));
    }
    let file = case.file(Part::Policy);
    let resolved = policy::resolve(load_found_file(&file)?, &[]);
    let effective = resolved.map_err(|error| error.at(&file))?;
    Ok((Some(file), Cow::Owned(effective)))
}

/// An error about a policy, with the policy's file unless it already names one.
fn at(error: Error, file: Option<&Path>) -> Error {
    match (file, &error.path) {
        (Some(file), None) => error.at(file),
        (_, Some(_)) | (None, None) => error,
    }
}

fn parse(bytes: &[u8], path: &Path) -> Result<Value> {
    let value = serde_json::from_slice(bytes).map_err(|e| {
        Error::new(ErrorKind::Config, format!("no JSON: {e}"))
            .at(path)
            .on_line(e.line() as u64)
    })?;
    match repeats_a_key(bytes) {
        true => Err(
            Error::new(ErrorKind::Config, "a key occurs twice in one object")
                .at(path)
                .hint("only the last one would be checked: remove the others"),
        ),
        false => Ok(value),
    }
}
