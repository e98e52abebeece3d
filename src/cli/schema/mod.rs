//! `ctxpack schema`: the schemas of the files that ctxpack reads and writes, for editors, validators and type generators.
//!
//! Describes only. `tests/cli/schemas` and `scripts/external/schemas.py` check that outputs conform to these schemas, and that
//! every key of a schema occurs in some output.

mod build;
mod case;
mod check;
mod common;
mod compact;
mod diff;
mod errors;
mod eval;
mod replay;
mod sessions;
mod stats;
mod verify;
mod words;

use std::io;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{flush, put};
use crate::error::Result;
use crate::policy;
use build::Form;

/// Print JSON Schemas of what ctxpack reads and writes.
///
/// Without a name, lists them. The schemas are of draft 2020-12, and strict: a key that they do not have is refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack schema
  ctxpack schema policy > policy.schema.json
  ctxpack schema report.jsonl")]
pub(super) struct SchemaCommand {
    /// The format to describe
    name: Option<Described>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Described {
    /// A policy file: every key with its type, range, default and meaning
    Policy,
    /// What a case of check expects: its expect.toml
    Case,
    /// The report of compact
    Report,
    /// A line of the report of compact as .jsonl
    #[value(name = "report.jsonl")]
    ReportLine,
    /// What stats prints with --json, and its report
    Stats,
    /// A line of the report of stats as .jsonl
    #[value(name = "stats.jsonl")]
    StatsLine,
    /// What eval prints with --json, and its report
    Eval,
    /// A line of the report of eval as .jsonl
    #[value(name = "eval.jsonl")]
    EvalLine,
    /// What replay prints with --json, and its report
    Replay,
    /// A line of the report of replay as .jsonl
    #[value(name = "replay.jsonl")]
    ReplayLine,
    /// What diff prints with --json, and its report: of two files, or of two policies
    Diff,
    /// A line of the report of diff as .jsonl
    #[value(name = "diff.jsonl")]
    DiffLine,
    /// What check prints with --output-format json, and its report
    Check,
    /// A line of the report of check as .jsonl
    #[value(name = "check.jsonl")]
    CheckLine,
    /// A line that verify prints with --json
    Verify,
    /// What sessions prints with --json
    Sessions,
    /// A line that any command writes to stderr with --error-format json
    Error,
}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<u8> {
        let text = match self.name {
            Some(described) => format!("{:#}\n", described.schema()?),
            None => listed(),
        };
        let mut out = io::stdout().lock();
        put(&mut out, text.as_bytes())?;
        flush(&mut out)?;
        Ok(0)
    }
}

/// A line for each schema.
fn listed() -> String {
    let all = Described::value_variants().iter();
    let all = all.filter_map(Described::to_possible_value);
    let lines = all.map(|one| {
        let about = one.get_help().map(ToString::to_string);
        format!("{:12}  {}\n", one.get_name(), about.unwrap_or_default())
    });
    lines.collect()
}

impl Described {
    fn schema(self) -> Result<Value> {
        let schema = match self {
            Described::Policy => return policy::schema(),
            Described::Case => case::schema(),
            Described::Report => compact::schema(Form::Whole)?,
            Described::ReportLine => compact::schema(Form::Line)?,
            Described::Stats => stats::schema(Form::Whole)?,
            Described::StatsLine => stats::schema(Form::Line)?,
            Described::Eval => eval::schema(Form::Whole)?,
            Described::EvalLine => eval::schema(Form::Line)?,
            Described::Replay => replay::schema(Form::Whole)?,
            Described::ReplayLine => replay::schema(Form::Line)?,
            Described::Diff => diff::schema(Form::Whole)?,
            Described::DiffLine => diff::schema(Form::Line)?,
            Described::Check => check::schema(Form::Whole)?,
            Described::CheckLine => check::schema(Form::Line)?,
            Described::Verify => verify::schema(),
            Described::Sessions => sessions::schema(),
            Described::Error => errors::schema()?,
        };
        Ok(schema.json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places where a key, or a part of the schema, has no description.
    fn unexplained(schema: &Value, place: &str, found: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let place = format!("{place}.{name}");
                let about = property.get("description").and_then(Value::as_str);
                if about.is_none_or(str::is_empty) {
                    found.push(place.clone());
                }
                unexplained(property, &place, found);
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key) {
                unexplained(inner, place, found);
            }
        }
        for one in schema
            .get("anyOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            unexplained(one, place, found);
        }
        let parts = schema.get("$defs").and_then(Value::as_object);
        for (name, part) in parts.into_iter().flatten() {
            unexplained(part, name, found);
        }
    }

    #[test]
    fn every_key_is_explained() {
        for described in Described::value_variants() {
            let mut found = Vec::new();
            unexplained(&described.schema().unwrap(), "", &mut found);
            assert!(found.is_empty(), "{described:?}: {found:?}");
        }
    }

    /// No part is left over, and none is missing.
    #[test]
    fn every_part_is_referred_to() {
        for described in Described::value_variants() {
            let schema = described.schema().unwrap();
            let text = schema.to_string();
            let parts = schema.get("$defs").and_then(Value::as_object);
            let parts = parts.map_or(Vec::new(), |parts| parts.keys().cloned().collect());
            let before = "{\"$ref\":\"#/$defs/";
            for part in &parts {
                assert!(
                    text.contains(&format!("{before}{part}\"")),
                    "{described:?}: {part}"
                );
            }
            for reference in text.split(before).skip(1) {
                let name = reference.split('"').next().unwrap().to_owned();
                assert!(parts.contains(&name), "{described:?}: {name}");
            }
        }
    }

    /// An enumeration without words would reject everything.
    #[test]
    fn no_set_of_words_is_empty() {
        for described in Described::value_variants() {
            let text = described.schema().unwrap().to_string();
            assert!(
                !text.contains("\"enum\":[]") && !text.contains("\"enum\":[null]"),
                "{described:?}"
            );
        }
    }
}
