//! The report of `check`.

use serde_json::Value;

use super::build::{Form, Schema, counts, from_one, key, list, object, one_of, or_null, text};
use super::common::{conversation_id, policy, policy_key, version};
use super::words::words;
use crate::diff::Fate;
use crate::error::{ErrorKind, Result};

pub(super) fn schema(form: Form) -> Result<Schema> {
    let totals = object(counts([
        ("cases", "All cases."),
        ("same", "Cases that are as expected."),
        ("updated", "Cases whose expected files were updated."),
        ("differ", "Cases that are not as expected."),
        ("failed", "Cases that could not be run."),
        ("own_policy", "Cases with a policy of their own."),
    ]));
    let mut head = version();
    head.extend([
        policy_key(),
        key("totals", totals, "How many cases there are."),
    ]);
    let schema = Schema {
        title: "ctxpack check",
        about: "Which cases are as expected: ctxpack help check.",
        root: Value::Null,
        parts: vec![policy()?],
    };
    let cases = ("cases", "One entry per case.");
    Ok(schema.of_entries(form, cases, ("case", case()), head))
}

fn case() -> Value {
    let error = or_null(object(vec![
        key(
            "kind",
            one_of(words::<ErrorKind>()),
            "The stable name; `ctxpack help errors` explains each.",
        ),
        key("message", text(), "One sentence."),
        key(
            "line",
            or_null(from_one()),
            "The line of the file, if there is one.",
        ),
        key("hint", or_null(text()), "What to do about it, or null."),
        key(
            "file",
            or_null(text()),
            "The file that it is about, or null.",
        ),
    ]));
    object(vec![
        key(
            "case",
            text(),
            "Its folder, or the file that it is named by.",
        ),
        key(
            "status",
            one_of(["same", "updated", "differs", "failed"]),
            "What was found.",
        ),
        key(
            "difference",
            or_null(list(text())),
            "How it differs, in lines, if it does.",
        ),
        key(
            "changed",
            or_null(changed()),
            "The messages whose outcome changed, if messages could be compared.",
        ),
        key("error", error, "Why it could not be run, or null."),
    ])
}

fn changed() -> Value {
    let tokens = || {
        object(counts([
            ("before", "Tokens of the input."),
            ("expected", "Tokens as expected."),
            ("got", "Tokens as they are."),
        ]))
    };
    let fate = || or_null(one_of(Fate::ALL.map(Fate::name)));
    let message = object(vec![
        conversation_id("conversation"),
        key(
            "message",
            or_null(from_one()),
            "Its number in the conversation; null if the compaction wrote it.",
        ),
        key("line", or_null(from_one()), "Its first line, or null."),
        key("role", or_null(text()), "Its role, or null."),
        key("tools", list(text()), "The tools of its calls and results."),
        key(
            "expected",
            fate(),
            "What was to become of it; null if it was not expected at all.",
        ),
        key("got", fate(), "What became of it; null if it is missing."),
        key("tokens", tokens(), "Its tokens."),
    ]);
    object(vec![
        key("tokens", tokens(), "Live tokens of the case."),
        key("messages", list(message), "These messages."),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_report_in_lines_has_no_cases() {
        let [whole, line] = [Form::Whole, Form::Line].map(|form| schema(form).unwrap().json());
        assert!(whole["properties"]["cases"].is_object());
        assert_eq!(line["anyOf"][1]["$ref"], "#/$defs/last");
        assert!(line["$defs"]["last"]["properties"]["cases"].is_null());
    }
}
