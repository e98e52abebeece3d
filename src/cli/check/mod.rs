//! `ctxpack check`: fixtures as regression tests.
//!
//! A case is compacted in memory under its policy and compared with what is expected: the output byte for byte, and the report key
//! by key, where a key that is not listed may be anything. One with an expected replay is replayed instead. A scripted summariser
//! answers from `summaries.jsonl`. Writes nothing without `--update`.

mod cases;
mod difference;
mod output;

use std::borrow::Cow;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use cases::{Case, Empty, Part, cases_below};
use difference::difference;
use output::{Checked, Listing, OutputFormat, Verdict};

use super::compact::policy_ref;
use super::config::{Chosen, PolicyArgs, load_found_file};
use super::replay::replaying;
use super::{Context, Voice, flush, json_line, scripted_answers, stdout_failed};
use crate::batch::{compact_bytes, replay_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::{self, Effective};
use crate::report::{Render, Replays, Report, ReportFormat, write_replay_json};
use crate::store::atomic::{Existing, Mode, write};
use crate::store::folder::Durability;
use crate::store::{Missing, Spot, Store, read_regular};
use crate::text::printable;

/// Larger than any file of a case.
const MOST: u64 = 1 << 30;

/// Compare fixtures with their expected output.
///
/// A folder with an input.jsonl is a case; policy.toml, expected.jsonl and expected.stats.json are beside it. So are NAME.jsonl and
/// NAME.expected.jsonl, with NAME.policy.toml and NAME.expected.stats.json. The input is compacted in memory; a case with an
/// expected replay is replayed instead. A case with a policy file of its own is checked by that, all others by the policy in
/// effect. The exit code is 1 if a case differs, or checks nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack check fixtures/                       compare
  ctxpack check --policy ours.toml fixtures/    cases without a policy.toml, by this policy
  ctxpack check --update fixtures/my-case       write what is expected; read it before you commit it
  ctxpack check --output-format junit > r.xml   for a report of tests")]
pub(super) struct Check {
    /// Folders to search for cases
    #[arg(default_value = "fixtures")]
    dirs: Vec<PathBuf>,
    /// Write the output as the expected files; refused if the variable CI is set, unless forced
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "yes", value_name = "force", require_equals = true)]
    update: Option<Update>,
    /// Accept a folder without a case
    #[arg(long)]
    allow_empty: bool,
    /// What is printed
    #[arg(long, value_enum, default_value_t = OutputFormat::Full, value_name = "FORMAT")]
    output_format: OutputFormat,
    #[command(flatten)]
    policy: PolicyArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Update {
    /// Outside of CI.
    Yes,
    /// Anywhere.
    Force,
}

impl Check {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        if self.update == Some(Update::Yes)
            && std::env::var_os("CI").is_some_and(|ci| !ci.is_empty())
        {
            return Err(Error::new(ErrorKind::Usage, "--update is refused where CI is set: a check that rewrites its expectations checks nothing")
                .hint("use --update=force if you mean it"));
        }
        let chosen = self.policy.resolve()?;
        let empty = match self.allow_empty {
            true => Empty::Allow,
            false => Empty::Refuse,
        };
        let mut cases = Vec::new();
        for dir in &self.dirs {
            cases.extend(cases_below(dir, empty)?);
        }
        let check = |case: Case| {
            let verdict = self.case(&case, &chosen).unwrap_or_else(Verdict::Failed);
            (case, verdict)
        };
        let has_own = |case: &&Case| case.file(Part::Policy).exists();
        let checked = Checked {
            policy: policy_ref(&chosen.effective),
            own: cases.iter().filter(has_own).count() as u64,
            cases: cases.into_par_iter().map(check).collect(),
        };
        for (_, verdict) in &checked.cases {
            if let Verdict::Failed(error) = verdict {
                context.error(error);
            }
        }
        let listing = match context.voice {
            Voice::Quiet => Listing::Bare,
            Voice::Normal => Listing::Some,
            Voice::Loud => Listing::All,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        checked
            .write(self.output_format, listing, &mut out)
            .map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        let [_, _, differ, failed] = checked.numbers();
        Ok(match (differ, failed) {
            (_, 1..) => 3,
            (1.., 0) => 1,
            (0, 0) => 0,
        })
    }

    fn case(&self, case: &Case, chosen: &Chosen) -> Result<Verdict> {
        let gaps = case.gaps()?;
        if !gaps.is_empty() {
            let gaps = gaps.iter().map(|gap| format!("  {}\n", printable(gap)));
            return Ok(Verdict::Differs(gaps.collect()));
        }
        if case.file(Part::Replay).exists() {
            return self.replayed(case, chosen);
        }
        let read = |part: Part| read_regular(&case.file(part), MOST);
        let (policy_file, effective) = policy_of(case, chosen)?;
        let pipeline = Pipeline::new(&effective.policy, Keeping::Store)
            .map_err(|error| at(error, policy_file.as_deref()))?
            .with_replies(scripted_answers(policy_file.as_deref(), &effective.policy)?);
        let input = read(Part::Input)?;
        let store = Store::new(case.file(Part::Store), Durability::Lazy);
        let (outcome, output) = compact_bytes(
            Path::new(Part::Input.name()),
            &input,
            &pipeline,
            Some(&store),
        );
        let mut stats = Vec::new();
        let report = Report::new(policy_ref(&effective), vec![outcome]);
        report
            .render(ReportFormat::Json, &mut stats)
            .map_err(|e| Error::io(case.path(), "render the report", e))?;
        let stats: Value = parse(&stats, case.path())?;

        let expected = read(Part::Expected).ok();
        let listed = match read(Part::Stats).ok() {
            Some(bytes) => Some(parse(&bytes, &case.file(Part::Stats))?),
            None => None,
        };
        let mut how = String::new();
        match &expected {
            Some(expected) if *expected == output => {}
            Some(expected) => {
                let told = report
                    .files()
                    .first()
                    .map(|outcome| &outcome.conversations[..]);
                let told = told.unwrap_or_default();
                how.push_str(&difference(
                    &input,
                    expected,
                    &output,
                    &effective.policy,
                    told,
                )?);
            }
            None => how.push_str("  expected.jsonl is missing; --update writes it\n"),
        }
        match &listed {
            Some(listed) => subset(listed, &stats, "stats", &mut how),
            None => how.push_str("  expected.stats.json is missing; --update writes it\n"),
        }
        if how.is_empty() {
            return Ok(Verdict::Same);
        }
        if self.update.is_none() {
            return Ok(Verdict::Differs(how));
        }
        let write = |part: Part, bytes: &[u8]| write_plain(&case.file(part), bytes);
        write(Part::Expected, &output)?;
        let fresh = essence(&stats);
        let new = match listed {
            Some(listed) => renewed(&listed, &stats, &fresh),
            None => fresh,
        };
        write(Part::Stats, format!("{new:#}\n").as_bytes())?;
        Ok(Verdict::Updated)
    }
}

impl Check {
    /// A case that is replayed.
    fn replayed(&self, case: &Case, chosen: &Chosen) -> Result<Verdict> {
        let read = |part: Part| read_regular(&case.file(part), MOST);
        let (policy_file, effective) = policy_of(case, chosen)?;
        let replaying = replaying([(policy_file.as_deref(), &*effective)])
            .map_err(|error| at(error, policy_file.as_deref()))?;
        let name = Path::new(Part::Input.name());
        let file = replay_bytes(name, &read(Part::Input)?, &replaying);
        let replays = Replays::new(
            vec![policy_ref(&effective)],
            replaying.estimator(),
            vec![file],
        );
        let mut json = Vec::new();
        write_replay_json(&replays, &mut json)
            .map_err(|e| Error::io(case.path(), "render the report", e))?;
        let replay: Value = parse(&json, case.path())?;
        let listed = parse(&read(Part::Replay)?, &case.file(Part::Replay))?;
        let mut how = String::new();
        subset(&listed, &replay, "replay", &mut how);
        if how.is_empty() {
            return Ok(Verdict::Same);
        }
        if self.update.is_none() {
            return Ok(Verdict::Differs(how));
        }
        let path = case.file(Part::Replay);
        let new = renewed(&listed, &replay, &Value::Null);
        write_plain(&path, format!("{new:#}\n").as_bytes())?;
        Ok(Verdict::Updated)
    }
}

/// Replaces a file of a case; a link is an error, since a case can have come with somebody else's repository.
fn write_plain(path: &Path, bytes: &[u8]) -> Result<()> {
    let spot = Spot::named(path, Missing::Refuse)?;
    let (existing, mode) = (Existing::Overwrite, Mode::Default);
    write(spot, bytes, existing, mode, Durability::Lazy).map(drop)
}

/// The policy of a case, and its file: its own, or else the one in effect.
fn policy_of<'c>(case: &Case, chosen: &'c Chosen) -> Result<(Option<PathBuf>, Cow<'c, Effective>)> {
    let file = case.file(Part::Policy);
    if !file.exists() {
        return Ok((chosen.file.clone(), Cow::Borrowed(&chosen.effective)));
    }
    let resolved = policy::resolve(load_found_file(&file)?, &[]);
    let effective = resolved.map_err(|error| error.at(&file))?;
    Ok((Some(file), Cow::Owned(effective)))
}

fn at(error: Error, file: Option<&Path>) -> Error {
    match file {
        Some(file) => error.at(file),
        None => error,
    }
}

fn parse(bytes: &[u8], path: &Path) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|e| {
        Error::new(ErrorKind::Config, format!("no JSON: {e}"))
            .at(path)
            .on_line(e.line() as u64)
    })
}

/// What `listed` says and `stats` does not.
fn subset(listed: &Value, stats: &Value, path: &str, how: &mut String) {
    match (listed, stats) {
        (Value::Object(listed), Value::Object(stats)) => {
            for (key, value) in listed {
                let key_shown = printable(key);
                subset(
                    value,
                    stats.get(key).unwrap_or(&Value::Null),
                    &format!("{path}.{key_shown}"),
                    how,
                );
            }
        }
        (Value::Array(listed), Value::Array(stats)) if listed.len() == stats.len() => {
            for (i, (listed, stats)) in listed.iter().zip(stats).enumerate() {
                subset(listed, stats, &format!("{path}[{i}]"), how);
            }
        }
        (Value::Array(listed), Value::Array(stats)) => {
            how.push_str(&format!(
                "  {path}: expected {} entries, got {}\n",
                listed.len(),
                stats.len()
            ));
        }
        _ if listed == stats => {}
        _ => {
            let [listed, stats] = [listed, stats].map(json_line);
            how.push_str(&format!("  {path}: expected {listed}, got {stats}\n"));
        }
    }
}

/// `listed` with the values of `stats`, and no other keys. Entries of a list that was empty have the keys that they have in `fresh`,
/// the expectations of a new case, so that what an update writes does not depend on what was there before.
fn renewed(listed: &Value, stats: &Value, fresh: &Value) -> Value {
    match (listed, stats) {
        (Value::Object(listed), Value::Object(stats)) => {
            let renew = |(key, value): (&String, &Value)| {
                let new = stats.get(key)?;
                Some((key.clone(), renewed(value, new, &fresh[key])))
            };
            Value::Object(listed.iter().filter_map(renew).collect::<Map<_, _>>())
        }
        (Value::Array(listed), Value::Array(stats)) => match listed.last() {
            Some(last) => {
                // Entries that are new list what the last of the old ones did.
                let listed = listed.iter().chain(std::iter::repeat(last));
                let entries = listed.zip(stats).enumerate();
                entries
                    .map(|(i, (listed, stats))| renewed(listed, stats, &fresh[i]))
                    .collect()
            }
            None if fresh.is_array() => fresh.clone(),
            None => stats.clone().into(),
        },
        _ => stats.clone(),
    }
}

/// What a new case's expectations list: the numbers and actions that a reader can check by hand.
fn essence(stats: &Value) -> Value {
    let file = &stats["files"][0];
    let conversations: Vec<Value> = file["conversations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|source| {
            let pick = |value: &Value, keys: &[&str]| -> Value {
                keys.iter()
                    .map(|key| ((*key).to_owned(), value[*key].clone()))
                    .collect::<Map<_, _>>()
                    .into()
            };
            let actions = source["actions"].as_array().into_iter().flatten();
            let actions: Vec<Value> = actions
                .map(|action| {
                    pick(
                        action,
                        &[
                            "kind",
                            "line",
                            "message",
                            "tool",
                            "tokens_before",
                            "tokens_after",
                        ],
                    )
                })
                .collect();
            let mut conversation = pick(
                source,
                &[
                    "id",
                    "tokens_before",
                    "tokens_after",
                    "messages_before",
                    "messages_after",
                ],
            );
            let summary = &source["summary"];
            if summary.is_object() {
                conversation["summary"] = pick(
                    summary,
                    &[
                        "source",
                        "success",
                        "messages",
                        "preserved_messages",
                        "fallback",
                        "cut_moved",
                        "user_verbatim",
                        "user_clipped",
                    ],
                );
            }
            for key in ["target", "restored"] {
                let is_there = match &source[key] {
                    Value::Array(entries) => !entries.is_empty(),
                    value => !value.is_null(),
                };
                if is_there {
                    conversation[key] = source[key].clone();
                }
            }
            conversation["actions"] = actions.into();
            conversation
        })
        .collect();
    let warnings: Vec<Value> = file["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| json!({"kind": warning["kind"], "line": warning["line"]}))
        .collect();
    let mut essence = json!({
        "format": file["format"], "status": file["status"],
        "findings_before": file["findings_before"], "findings_after": file["findings_after"],
        "warnings": warnings, "conversations": conversations,
    });
    if file["degraded"] != json!([]) {
        essence["degraded"] = file["degraded"].clone();
    }
    json!({"files": [essence]})
}
