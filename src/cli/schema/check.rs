//! The report of `check`.

use serde_json::Value;

use super::build::{Form, Schema, counts, from_one, key, list, object, one_of, or_null, text};
use super::common::{policy, policy_key, version};
use super::words::words;
use crate::error::{ErrorKind, Result};

pub(super) fn schema(form: Form) -> Result<Schema> {
    let totals = object(counts([
        ("cases", "All cases."),
        ("same", "Of these, as expected."),
        ("updated", "Of these, expected as they are now."),
        ("differ", "Of these, not as expected."),
        ("failed", "Of these, those that could not be run."),
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
        key("error", error, "Why it could not be run, or null."),
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
