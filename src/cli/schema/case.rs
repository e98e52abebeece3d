//! A case's `expect.toml`.
//!
//! Whatever the schema rejects, `check` rejects too. The reverse does not hold for rules that depend on another key, or on the
//! case.

use serde_json::{Value, json};

use super::build::{
    Key, Schema, any, boolean, from_one, key, list, object, one_of, text, text_like,
};
use crate::cli::check::{CaseCommand, CaseKey};

/// A number as in limits.
const NUMBER: &str = r"[0-9][0-9_.]*([eE][-+]?[0-9_]+)?";

pub(super) fn schema() -> Schema {
    let mut keys: Vec<Key> = CaseKey::ALL.map(expectation).into();
    let number = format!(r"^\s*={{0,2}}\s*{NUMBER}\s*%?\s*$");
    let budget = any(vec![
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 100}),
        text_like(&number),
    ]);
    let about =
        "The percentage of its tokens to which a session is compacted for `need`; 10 by default.";
    keys.push(key("budget", budget, about).sometimes());
    let command = one_of(CaseCommand::ALL.map(CaseCommand::name));
    let about =
        "The command that is run; by default, the one that the other files of the case belong to.";
    let root = object(vec![
        key("command", command, about).sometimes(),
        key("expect", object(keys), "What must hold of the compaction.").sometimes(),
    ]);
    Schema {
        title: "ctxpack case",
        about: "What a case of check expects: its expect.toml; ctxpack help check.",
        root,
        parts: Vec::new(),
    }
}

fn expectation(of: CaseKey) -> Key {
    let some = || json!({"type": "array", "items": text_like(r"\S"), "minItems": 1});
    let (value, about) = match of {
        CaseKey::TokensBefore => (limit("k?"), "A limit on the live tokens of the input."),
        CaseKey::MessagesBefore => (limit("k?"), "A limit on the live messages of the input."),
        CaseKey::TokensAfter => (
            limit("k?|%"),
            "A limit on the live tokens of the result; with %, of those before.",
        ),
        CaseKey::MessagesAfter => (
            limit("k?|%"),
            "A limit on the live messages of the result; with %, of those before.",
        ),
        CaseKey::Saved => (
            limit("k?|%"),
            "A limit on the tokens that are saved; with %, of those before.",
        ),
        CaseKey::Status => (text(), "The status of the report."),
        CaseKey::Valid => (
            boolean(),
            "Whether the result breaks no rule of its provider.",
        ),
        CaseKey::Findings => (
            list(text()),
            "The rules that the result breaks, by name; none if it is empty.",
        ),
        CaseKey::Kept => (some(), "Texts that a model still reads."),
        CaseKey::Gone => (some(), "Texts that a model does not read any more."),
        CaseKey::Restored => (
            some(),
            "Files that are restored after the summary: whole paths or their ends.",
        ),
        CaseKey::LastTurnsIdentical => (
            from_one(),
            "The number of turns at the end that are as they were, with nothing between or after them.",
        ),
        CaseKey::Invented => (
            limit("k?"),
            "A limit on names in summaries that the transcript lacks.",
        ),
        CaseKey::Need => (
            limit("%?"),
            "A limit on the percentage of needed names that eval finds.",
        ),
    };
    key(of.name(), value, about).sometimes()
}

/// A number, or a limit with one of these suffixes.
fn limit(ends: &str) -> Value {
    let pattern = format!(
        r"^\s*(<=|>=|<|>|==|=)?\s*{NUMBER}\s*({})\s*$",
        ends.replace('k', "[kK]")
    );
    any(vec![
        json!({"type": "number", "minimum": 0}),
        text_like(&pattern),
    ])
}
