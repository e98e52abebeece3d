//! `ctxpack check`: fixtures as regression tests.
//!
//! A folder with an `input.jsonl` is a case. It is compacted in memory under its `policy.toml` (the default policy
//! without one) and compared with `expected.jsonl`, byte for byte, and with `expected.stats.json`, key by key: what that
//! file does not list may be anything. One with an `expected.replay.json` is replayed instead, and compared with that, key
//! by key. A scripted summariser answers from `summaries.jsonl`.

mod difference;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ignore::WalkBuilder;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use difference::difference;

use super::compact::policy_ref;
use super::config::load_found_file;
use super::replay::replaying;
use super::{Context, Voice, flush, json_line, put, scripted_answers};
use crate::batch::{compact_bytes, replay_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::Pipeline;
use crate::plan::Keeping;
use crate::policy::{self, Effective};
use crate::report::{Render, Replays, Report, ReportFormat, write_replay_json};
use crate::store::atomic::{Existing, Mode, write};
use crate::store::folder::Durability;
use crate::store::{Missing, Spot, Store, read_regular};
use crate::text::{count, printable};

const INPUT: &str = "input.jsonl";
const POLICY: &str = "policy.toml";
const EXPECTED: &str = "expected.jsonl";
const STATS: &str = "expected.stats.json";
const REPLAY: &str = "expected.replay.json";
/// Larger than any file of a case.
const MOST: u64 = 1 << 30;
/// What earlier runs are taken to have offloaded to; may not be there.
const STORE: &str = "store";

/// Compare fixtures with their expected output.
///
/// A folder with an input.jsonl is a case; policy.toml, expected.jsonl and expected.stats.json are beside it. Its input is
/// compacted in memory; a case with an expected.replay.json is replayed instead. The environment and ctxpack.toml are ignored. The
/// exit code is 1 if a case differs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack check fixtures/                    compare
  ctxpack check --update fixtures/my-case    write what is expected; read it before you commit it")]
pub(super) struct Check {
    /// Folders to search for cases
    #[arg(default_value = "fixtures")]
    dirs: Vec<PathBuf>,
    /// Write the output as the expected files; refused if the variable CI is set, unless forced
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "yes", value_name = "force", require_equals = true)]
    update: Option<Update>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Update {
    /// Outside of CI.
    Yes,
    /// Anywhere.
    Force,
}

/// The result of a case.
enum Verdict {
    Same,
    Updated,
    /// How it differs, for people.
    Differs(String),
}

impl Check {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        if self.update == Some(Update::Yes)
            && std::env::var_os("CI").is_some_and(|ci| !ci.is_empty())
        {
            return Err(Error::new(ErrorKind::Usage, "--update is refused where CI is set: a check that rewrites its expectations checks nothing")
                .hint("use --update=force if you mean it"));
        }
        let mut cases = Vec::new();
        for dir in &self.dirs {
            cases.extend(cases_below(dir)?);
        }
        let verdicts: Vec<Result<Verdict>> = cases.par_iter().map(|case| self.case(case)).collect();
        let mut out = io::stdout().lock();
        let (mut same, mut updated, mut differ, mut errors) = (0, 0, 0, 0);
        for (case, verdict) in cases.iter().zip(verdicts) {
            let name = printable(&case.to_string_lossy()).into_owned();
            match verdict {
                Ok(Verdict::Same) => {
                    same += 1;
                    if context.voice == Voice::Loud {
                        put(&mut out, format!("ok      {name}\n").as_bytes())?;
                    }
                }
                Ok(Verdict::Updated) => {
                    updated += 1;
                    put(&mut out, format!("updated {name}\n").as_bytes())?;
                }
                Ok(Verdict::Differs(how)) => {
                    differ += 1;
                    put(&mut out, format!("differs {name}\n{how}").as_bytes())?;
                }
                Err(error) => {
                    errors += 1;
                    context.error(&error);
                }
            }
        }
        if context.voice > Voice::Quiet {
            let line = format!(
                "{}: {same} as expected, {updated} updated, {differ} differ, {errors} failed\n",
                count(cases.len() as u64, "case")
            );
            put(&mut out, line.as_bytes())?;
        }
        flush(&mut out)?;
        Ok(match (differ, errors) {
            (_, 1..) => 3,
            (1.., 0) => 1,
            (0, 0) => 0,
            _ => 1,
        })
    }

    fn case(&self, case: &Path) -> Result<Verdict> {
        if case.join(REPLAY).exists() {
            return self.replayed(case);
        }
        let read = |name: &str| {
            let path = case.join(name);
            read_regular(&path, MOST)
        };
        let policy_file = case.join(POLICY);
        let effective = policy_of(&policy_file)?;
        let pipeline = Pipeline::new(&effective.policy, Keeping::Store)
            .map_err(|error| error.at(&policy_file))?
            .with_replies(scripted_answers(Some(&policy_file), &effective.policy)?);
        let input = read(INPUT)?;
        let store = Store::new(case.join(STORE), Durability::Lazy);
        let (outcome, output) = compact_bytes(Path::new(INPUT), &input, &pipeline, Some(&store));
        let mut stats = Vec::new();
        let report = Report::new(policy_ref(&effective), vec![outcome]);
        report
            .render(ReportFormat::Json, &mut stats)
            .map_err(|e| Error::io(case, "render the report", e))?;
        let stats: Value = parse(&stats, case)?;

        let expected = read(EXPECTED).ok();
        let listed = match read(STATS).ok() {
            Some(bytes) => Some(parse(&bytes, &case.join(STATS))?),
            None => None,
        };
        let mut how = String::new();
        match &expected {
            Some(expected) if *expected == output => {}
            Some(expected) => how.push_str(&difference(expected, &output)),
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
        let write = |name: &str, bytes: &[u8]| write_plain(&case.join(name), bytes);
        write(EXPECTED, &output)?;
        let new = listed.map_or_else(|| essence(&stats), |listed| renewed(&listed, &stats));
        write(STATS, format!("{new:#}\n").as_bytes())?;
        Ok(Verdict::Updated)
    }
}

impl Check {
    /// A case that is replayed.
    fn replayed(&self, case: &Path) -> Result<Verdict> {
        let read = |name: &str| {
            let path = case.join(name);
            read_regular(&path, MOST)
        };
        let policy_file = case.join(POLICY);
        let effective = policy_of(&policy_file)?;
        let replaying = replaying([(Some(policy_file.as_path()), &effective)])
            .map_err(|error| error.at(&policy_file))?;
        let file = replay_bytes(Path::new(INPUT), &read(INPUT)?, &replaying);
        let replays = Replays::new(
            vec![policy_ref(&effective)],
            replaying.estimator(),
            vec![file],
        );
        let mut json = Vec::new();
        write_replay_json(&replays, &mut json)
            .map_err(|e| Error::io(case, "render the report", e))?;
        let replay: Value = parse(&json, case)?;
        let listed = parse(&read(REPLAY)?, &case.join(REPLAY))?;
        let mut how = String::new();
        subset(&listed, &replay, "replay", &mut how);
        if how.is_empty() {
            return Ok(Verdict::Same);
        }
        if self.update.is_none() {
            return Ok(Verdict::Differs(how));
        }
        let path = case.join(REPLAY);
        let new = renewed(&listed, &replay);
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

/// The policy of a case: the file's, or the default one where there is none.
fn policy_of(file: &Path) -> Result<Effective> {
    let base = if file.exists() {
        load_found_file(file)?
    } else {
        policy::preset("")?
    };
    policy::resolve(base, &[]).map_err(|error| error.at(file))
}

/// The folders below `dir` that hold an input, sorted.
fn cases_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let walker = WalkBuilder::new(dir)
        .standard_filters(false)
        .sort_by_file_path(Path::cmp)
        .build();
    let cases: Vec<PathBuf> = walker
        .flatten()
        .filter(|entry| entry.file_name() == INPUT)
        .filter_map(|entry| entry.path().parent().map(Path::to_owned))
        .collect();
    if cases.is_empty() {
        return Err(Error::new(ErrorKind::NoInput, "no case below this folder")
            .at(dir)
            .hint("a case is a folder with an input.jsonl"));
    }
    Ok(cases)
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

/// `listed` with the values of `stats`, and no other keys.
fn renewed(listed: &Value, stats: &Value) -> Value {
    match (listed, stats) {
        (Value::Object(listed), Value::Object(stats)) => {
            let renew = |(key, value): (&String, &Value)| {
                stats.get(key).map(|new| (key.clone(), renewed(value, new)))
            };
            Value::Object(listed.iter().filter_map(renew).collect::<Map<_, _>>())
        }
        (Value::Array(listed), Value::Array(stats)) => {
            // Entries that are new list what the last of the old ones did.
            let last = listed.last().unwrap_or(&Value::Null);
            let listed = listed.iter().chain(std::iter::repeat(last));
            listed
                .zip(stats)
                .map(|(listed, stats)| renewed(listed, stats))
                .collect()
        }
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
