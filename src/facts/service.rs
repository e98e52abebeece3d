//! Calls of services that no list names: `cancel_reservation`, `mcp__github__create_issue`.
//!
//! PURE. Such a call states what it does: a verb, an object, and values. It is reported in these words, and nothing is inferred
//! from them. A call that may concern files or code on this machine is not a service call.

use super::input::Input;
use super::path;
use super::shape::{CONTENT, last_part, words};

/// First words of names of calls that query a service.
const ASKS: [&str; 14] = [
    "get",
    "list",
    "search",
    "find",
    "lookup",
    "look",
    "query",
    "check",
    "verify",
    "count",
    "calculate",
    "compute",
    "convert",
    "fetch",
];
/// First words of names of calls that make a service act.
const ACTS: [&str; 35] = [
    "add",
    "approve",
    "assign",
    "book",
    "buy",
    "cancel",
    "change",
    "close",
    "confirm",
    "create",
    "delete",
    "enroll",
    "exchange",
    "modify",
    "notify",
    "open",
    "order",
    "pay",
    "post",
    "refund",
    "register",
    "reject",
    "remove",
    "reply",
    "reserve",
    "return",
    "schedule",
    "send",
    "set",
    "share",
    "submit",
    "subscribe",
    "toggle",
    "transfer",
    "update",
];
/// Words of tools that may work on files or run their input.
const LOCAL: [&str; 26] = [
    "agent",
    "bash",
    "browser",
    "cell",
    "code",
    "command",
    "cmd",
    "dir",
    "directory",
    "exec",
    "execute",
    "file",
    "files",
    "folder",
    "function",
    "lines",
    "memory",
    "notebook",
    "patch",
    "path",
    "process",
    "run",
    "script",
    "shell",
    "task",
    "terminal",
];
/// The keys of input that is run or put into a file.
const RUN: [&str; 8] = [
    "command", "cmd", "script", "code", "diff", "patch", "edits", "cells",
];

/// The call of an unlisted tool in its own words, the tool's name and its input as written, if it is a service call.
pub(super) fn said(name: &str, input: &Input<'_>) -> Option<String> {
    let words = words(last_part(name));
    let verb = words.first()?.as_str();
    let is_local = words.iter().any(|word| LOCAL.contains(&word.as_str()));
    let is_named = ASKS.contains(&verb) || ACTS.contains(&verb);
    // A number or a text may be sent to a service under any name; input with a path and content may be written to a file.
    let may_write = path::of(input).is_some() && input.has(&CONTENT);
    if !is_named || is_local || may_write || input.has(&RUN) || !input.is_object() {
        return None;
    }
    let input = input.plain();
    Some(match input.trim() {
        "{}" => name.to_owned(),
        values => format!("{name} {values}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, input: &str) -> Option<String> {
        said(name, &Input::in_json(input.as_bytes()))
    }

    #[test]
    fn a_call_of_a_service_is_told_in_its_own_words() {
        for (name, input, expected) in [
            (
                "cancel_reservation",
                r#"{"reservation_id": "GV1N64"}"#,
                r#"cancel_reservation {"reservation_id": "GV1N64"}"#,
            ),
            (
                "mcp__github__create_issue",
                r#"{"title":"It fails","owner":"o","repo":"r"}"#,
                r#"mcp__github__create_issue {"title":"It fails","owner":"o","repo":"r"}"#,
            ),
            (
                "sendEmail",
                r#"{"amount":2.50}"#,
                r#"sendEmail {"amount":2.50}"#,
            ),
            ("list_all_airports", "{}", "list_all_airports"),
            (
                "search_direct_flight",
                r#""{\"origin\": \"JFK\"}""#,
                r#"search_direct_flight {"origin": "JFK"}"#,
            ),
        ] {
            assert_eq!(of(name, input).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_may_be_about_files_or_runs_something_is_none() {
        for (name, input) in [
            ("update_file", r#"{"target":"a"}"#),
            ("create_page", r#"{"path":"a.md","content":"x"}"#),
            ("set_value", r#"{"command":"ls"}"#),
            ("exec", "\"const x = 1\""),
            ("exec", r#"{"id":1}"#),
            ("run_query", r#"{"q":"x"}"#),
            ("weather", r#"{"city":"x"}"#),
            ("get_user", "[1]"),
            ("get_user", "{\"id\""),
            ("", "{}"),
        ] {
            assert_eq!(of(name, input), None, "{name} {input}");
        }
    }
}
