//! What is compared: two files; a file and its original; a file and what policies make of it, in memory.
//!
//! Reasons come from the report of the run that wrote the new file, if it is next to that file and names the hashes of both.

use std::path::{Path, PathBuf};
use std::slice;

use super::super::apart::tell_apart;
use super::super::config::{KeyArgs, PolicyArgs, ResolvedPolicy};
use super::super::messages::policy_ref;
use super::super::without_server::without_server;
use super::super::{Context, scripted_answers};
use crate::artifacts::Replies;
use crate::batch::{Loaded, Loading, compact_detected, compacted_beside, stats_beside};
use crate::diff::{Differ, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Format, Layout};
use crate::outcome::{Exit, NoticeLevel, Notices, Outcome, path_text};
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::{self, Effective, Setting, Use};
use crate::report::{Compared, ComparisonReport, DiffReport, PolicyRef, Report, read};
use crate::store::undo::{State, Undo};
use crate::store::{FOLDER, read_regular};
use crate::text::printable;

/// A larger report beside a file is not read.
const MOST_STATS: u64 = 256 << 20;
/// The report at the top of an output folder.
const STATS_OF_FOLDER: &str = "ctxpack.stats.json";

/// How files are read and policies found.
pub(super) struct Input<'a> {
    pub(super) loading: Loading<'a>,
    pub(super) keys: &'a KeyArgs,
    pub(super) store: Option<&'a Path>,
    /// The report that the user named.
    pub(super) stats: Option<&'a Path>,
}

/// The entry of a report for a new file.
struct Record {
    path: PathBuf,
    policy: PolicyRef,
    outcome: Outcome,
}

/// The transcripts of a file that was read, if it is of a known format.
pub(super) fn source(loaded: &Loaded) -> Option<Source<'_>> {
    match loaded.detected {
        Detected::Known(format, layout) => Some(of(&loaded.bytes, format, layout)),
        Detected::Unsupported(_) => None,
    }
}

fn of(bytes: &[u8], format: Format, layout: Layout) -> Source<'_> {
    Source {
        bytes,
        format,
        layout,
    }
}

/// The same, read in another format, if its messages have no marks of their own: what is left after a summary may be in either
/// format.
fn as_format(source: Source<'_>, format: Format) -> Source<'_> {
    let mut detector = Detector::default();
    detector.look(source.bytes);
    match detector.given(format) {
        Detected::Known(format, layout) => of(source.bytes, format, layout),
        Detected::Unsupported(_) => source,
    }
}

impl Input<'_> {
    /// Two files.
    pub(super) fn two(
        &self,
        context: &Context,
        old: &Path,
        new: &Path,
        policy: Option<&String>,
    ) -> Result<DiffReport> {
        let (was, is) = (self.loading.file(old)?, self.loading.file(new)?);
        self.diff(context, (&path_text(old), &was), (new, &is), policy)
    }

    /// A compacted file and its original; or an original and the compacted form next to it.
    pub(super) fn with_original(&self, context: &Context, file: &Path) -> Result<DiffReport> {
        let mut undo = Undo::new(self.store.map(Path::to_owned));
        let found = undo.find(file).map_err(|error| match error.kind {
            ErrorKind::Store => {
                error.hint("name both files: ctxpack diff OLD NEW; or the store with --store")
            }
            _ => error,
        })?;
        if let State::AlreadyOriginal(_) = found.state() {
            let new = compacted_beside(file);
            if new.is_file() {
                return self.two(context, file, &new, None);
            }
            // A run with nothing to do has written the file unchanged.
            if !found.is_output() {
                let message = "this file is an original, and no compacted form is beside it";
                return Err(Error::new(ErrorKind::Usage, message)
                    .at(file)
                    .hint("name both files: ctxpack diff OLD NEW"));
            }
        }
        let mut bytes = Vec::new();
        found.original(&mut bytes)?;
        let was = self.loading.bytes(file, &bytes)?;
        drop(bytes);
        let is = self.loading.file(file)?;
        let name = format!("the original of {}", path_text(file));
        self.diff(context, (&name, &was), (file, &is), None)
    }

    /// A file, and what a policy makes of it.
    pub(super) fn compacted(
        &self,
        context: &Context,
        file: &Path,
        policy: &str,
    ) -> Result<(DiffReport, Exit)> {
        let loaded = self.loading.file(file)?;
        let input = self.known(file, &loaded)?;
        let (effective, replies) = self.policy(context, Some(policy))?;
        let (outcome, output) = self.compact(file, &loaded, &effective, replies)?;
        let exit = said(context, slice::from_ref(&outcome));
        let differ = Differ::new(&effective.policy)?;
        let new = of(&output, input.format, input.layout);
        let diff = differ.diff(input, new, &outcome.conversations);
        let name = format!("{} by {}", path_text(file), effective.policy.name);
        let sides = [
            compared(&path_text(file), Some(&loaded.hash), &loaded.bytes),
            compared(&name, None, &output),
        ];
        let report = DiffReport::new(
            policy_ref(&effective),
            differ.estimator(),
            input.format.name(),
            sides,
            None,
            diff,
        );
        Ok((report, exit))
    }

    /// What two policies make of a file. Tokens are counted as the first one does.
    pub(super) fn policies(
        &self,
        context: &Context,
        file: &Path,
        policies: [&String; 2],
    ) -> Result<(ComparisonReport, Exit)> {
        let loaded = self.loading.file(file)?;
        let input = self.known(file, &loaded)?;
        let [first, second] = policies.map(|name| self.resolved(context, Some(name)));
        let mut both = [first?, second?];
        tell_apart(&mut both);
        context.without_effect(both.iter().map(|one| &one.effective), Use::Once);
        let [first, second] = both.map(ready);
        let (first, replies) = first?;
        let (left, left_bytes) = self.compact(file, &loaded, &first, replies)?;
        let (second, replies) = second?;
        let (right, right_bytes) = self.compact(file, &loaded, &second, replies)?;
        let exit = said(context, &[left.clone(), right.clone()]);
        let differ = Differ::new(&first.policy)?;
        let output = |bytes| of(bytes, input.format, input.layout);
        let comparison = differ.outputs(
            input,
            [output(&left_bytes), output(&right_bytes)],
            [&left.conversations, &right.conversations],
        );
        let report = ComparisonReport::new(
            [policy_ref(&first), policy_ref(&second)],
            differ.estimator(),
            input.format.name(),
            compared(&path_text(file), Some(&loaded.hash), &loaded.bytes),
            comparison,
        );
        Ok((report, exit))
    }

    fn diff(
        &self,
        context: &Context,
        (old, was): (&str, &Loaded),
        (new, is): (&Path, &Loaded),
        policy: Option<&String>,
    ) -> Result<DiffReport> {
        let older = self.known(Path::new(old), was)?;
        let newer = self.known(new, is)?;
        let newer = match newer.format == older.format {
            true => newer,
            false => as_format(newer, older.format),
        };
        if older.format != newer.format || older.layout != newer.layout {
            let message = format!(
                "cannot compare {} ({}) with this file ({})",
                printable(old),
                older.format.name(),
                newer.format.name()
            );
            return Err(Error::new(ErrorKind::Usage, message)
                .at(new)
                .hint("compare a transcript with its own compacted form"));
        }
        let record = self.record(new, &was.hash, &is.hash)?;
        let (policy, is_own) = match (policy, &record) {
            (Some(policy), _) => (self.policy(context, Some(policy))?.0, true),
            (None, Some(record)) if self.keys.are_given() => {
                let policy = self.policy(context, None)?.0;
                let is_own = policy.hash == record.policy.hash;
                (policy, is_own)
            }
            (None, Some(record)) => match recorded(&record.policy)? {
                Some(effective) => (effective, true),
                None => (self.policy(context, None)?.0, false),
            },
            (None, None) => (self.policy(context, None)?.0, true),
        };
        if !is_own {
            let mut notices = Notices::default();
            notices.add(
                NoticeLevel::Warning,
                "policy_unknown",
                "tokens are counted with a different policy from the one in the report",
                Some("name it: --policy FILE"),
                (&path_text(new), None),
            );
            context.notices(notices);
        }
        let differ = Differ::new(&policy.policy)?;
        let told = record
            .as_ref()
            .map_or(&[][..], |record| &record.outcome.conversations);
        let diff = differ.diff(older, newer, told);
        Ok(DiffReport::new(
            policy_ref(&policy),
            differ.estimator(),
            newer.format.name(),
            [
                compared(old, Some(&was.hash), &was.bytes),
                compared(&path_text(new), Some(&is.hash), &is.bytes),
            ],
            record.map(|record| path_text(&record.path)),
            diff,
        ))
    }

    /// The transcripts of a file, or why there are none.
    fn known<'l>(&self, path: &Path, loaded: &'l Loaded) -> Result<Source<'l>> {
        match &loaded.detected {
            Detected::Known(format, layout) => Ok(of(&loaded.bytes, *format, *layout)),
            Detected::Unsupported(why) => Err(Error::new(ErrorKind::Unsupported, why.to_string())
                .at(path)
                .hint("`ctxpack help formats` lists what is read; --input-format NAME reads a file as one of them")),
        }
    }

    /// The policy of that name, or the one in effect here, with its scripted answers.
    fn policy(&self, context: &Context, name: Option<&str>) -> Result<(Effective, Replies)> {
        let resolved = self.resolved(context, name)?;
        context.without_effect([&resolved.effective], Use::Once);
        ready(resolved)
    }

    /// The policy of that name, or the one in effect here. It uses no server.
    fn resolved(&self, context: &Context, name: Option<&str>) -> Result<ResolvedPolicy> {
        let args = PolicyArgs {
            policy: name.map(str::to_owned),
            keys: self.keys.clone(),
        };
        let chosen = args.resolve(context)?;
        Ok(ResolvedPolicy {
            effective: without_server(chosen.effective, "diff")?,
            ..chosen
        })
    }

    /// Compacts a file in memory. Content that the policy would move to a store counts as moved.
    fn compact(
        &self,
        file: &Path,
        loaded: &Loaded,
        effective: &Effective,
        replies: Replies,
    ) -> Result<(Outcome, Vec<u8>)> {
        let pipeline = Pipeline::new(&effective.policy, Keeping::Store)?.with_replies(replies);
        let detected = loaded.detected.clone();
        Ok(compact_detected(
            file,
            &loaded.bytes,
            detected,
            &pipeline,
            None,
        ))
    }

    /// The entry of a report for the run from one hash to the other: from the report that the user named, or else from the one next
    /// to the new file or at the top of the folder that holds its store.
    fn record(&self, new: &Path, old_hash: &str, new_hash: &str) -> Result<Option<Record>> {
        if let Some(path) = self.stats {
            let found = record_in(path, old_hash, new_hash)?;
            return found.map(Some).ok_or_else(|| {
                Error::new(
                    ErrorKind::Usage,
                    "this report has no entry for a run that turned OLD into NEW",
                )
                .at(path)
                .hint("name the report of the run that wrote NEW, or leave --stats out")
            });
        }
        let beside = stats_beside(&path_text(new));
        let above = new
            .ancestors()
            .skip(1)
            .map(|folder| match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            });
        let top = above
            .filter(|folder| folder.join(FOLDER).is_dir())
            .map(|folder| folder.join(STATS_OF_FOLDER));
        for path in [beside]
            .into_iter()
            .chain(top)
            .filter(|path| path.is_file())
        {
            // The user did not name it, so it does not matter what else it may be.
            if let Ok(Some(record)) = record_in(&path, old_hash, new_hash) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

/// A policy with its scripted answers.
fn ready(resolved: ResolvedPolicy) -> Result<(Effective, Replies)> {
    let replies = scripted_answers(resolved.file.as_deref(), &resolved.effective.policy)?;
    Ok((resolved.effective, replies))
}

/// Prints what a run in memory lacks, as `compact` would; returns the exit code.
fn said(context: &Context, outcomes: &[Outcome]) -> Exit {
    // Reading outcomes in memory cannot fail.
    if let Ok(notices) = Notices::of(&outcomes) {
        context.notices(notices);
    }
    Exit::of(outcomes)
}

fn record_in(path: &Path, old_hash: &str, new_hash: &str) -> Result<Option<Record>> {
    let report: Report = read::read_compact(path, &read_regular(path, MOST_STATS)?)?;
    let policy = report.policy().clone();
    let mut files = report.into_files().into_iter();
    let outcome = files.find(|file| {
        file.hash_before.as_deref() == Some(old_hash)
            && file.hash_after.as_deref() == Some(new_hash)
    });
    Ok(outcome.map(|outcome| Record {
        path: path.to_owned(),
        policy,
        outcome,
    }))
}

/// The policy that a report names, if a preset with the recorded settings has the recorded hash.
fn recorded(named: &PolicyRef) -> Result<Option<Effective>> {
    let set = named.overrides.iter().map(|set| Setting {
        key: set.key.clone(),
        value: match &set.value {
            serde_json::Value::String(text) => text.clone(),
            value => value.to_string(),
        },
        origin: set.origin.clone(),
    });
    let settings: Vec<Setting> = set.collect();
    for preset in policy::presets()? {
        // A setting that this preset rejects was not made on it.
        let Ok(effective) = policy::resolve(preset, &settings) else {
            continue;
        };
        if effective.hash == named.hash {
            return Ok(Some(effective));
        }
    }
    Ok(None)
}

fn compared(path: &str, hash: Option<&str>, bytes: &[u8]) -> Compared {
    Compared {
        path: path.to_owned(),
        hash: hash.map(str::to_owned),
        bytes: bytes.len() as u64,
    }
}
