//! Texts of tools and programs: those that are refusals, and those that only look like them.

use super::*;

#[test]
fn messages_of_tools_and_programs_say_why() {
    for text in [
        "",
        " \n",
        "Error: ENOENT: no such file or directory, open '/a'",
        "Error: ENOENT: no such file\n    at Object.openSync (node:fs:601:3)\n    at a\n    at b\n    at c\n    at d",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>",
        "<persisted-output>\nOutput too large\n1\n2\n3\n4",
        "{\"error\":\"EACCES\"}",
        "<error>cannot read</error>",
        "File not found: a",
        "File does not exist.",
        "The file src/a.rs does not exist",
        "cat: a.rs: No such file or directory",
        "sed: can't read a: Permission denied",
        "cat: src: Is a directory",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a'",
        "[Errno 13] Permission denied: 'a'",
        "Traceback (most recent call last):\n  File \"r.py\", line 1\n    x\n  y\n  z\nos.error.OSError: no",
        "Failed to read file: offset is beyond the end",
        "Permission denied",
    ] {
        assert!(is_refusal(text), "{text}");
    }
}

#[test]
fn first_lines_of_source_say_nothing() {
    for line in [
        "from app.errors import AppError",
        "use crate::error::{Error, Result};",
        "//! Error types; see [`Exception`].",
        "// Cannot be used outside of the crate.",
        "/* Copyright; permission denied to nobody, not found elsewhere */",
        "import { HttpException } from './errors';",
        "const error = require('./error');",
        "class NotFoundError(Exception): pass",
        "error_chain! {",
        "errors = []",
        "ERROR_CODES = {",
        "<errors>",
        "# Error handling",
        "\"\"\"What could not be done: an unable to connect page.\"\"\"",
        "#[error(\"could not open\")]",
        "raise ValueError",
        "FAILED = 1",
        "failed_to_read = True",
        "{\"errors\": []}",
        "{\"error\": 1,",
        "ENOENT_CODE = 2",
    ] {
        assert!(!is_refusal(line), "{line}");
        let file =
            format!("{line}\n\nfn one() {{}}\nfn two() {{}}\nfn three() {{}}\nfn four() {{}}\n");
        assert!(!is_refusal(&file) && !may_be_refusal(&file), "{line}");
    }
}

#[test]
fn sentences_that_name_the_tool_refuse_its_call() {
    for (said, expected) in [
        (
            "Tool \"Bash\" was not run because the user rejected the approval request. Reason: no",
            true,
        ),
        (
            "Tool \"Bash\" was not run because the approval request was cancelled.",
            true,
        ),
        ("Tool \"Bash\" was denied by permission policy.", true),
        ("Tool \"run_commands\" was not approved", true),
        (
            r#"{"error":"Tool \"run_commands\" was not approved"}"#,
            true,
        ),
        ("Skipped due to queued user message.", true),
        ("Tool \"Bash\" was not found", false),
        (
            "Tool \"x\" was not approved by the board of directors",
            false,
        ),
        (r#"{"error":"Tool \"x\" was not found"}"#, false),
    ] {
        assert_eq!(says_it_was_refused(said), expected, "{said}");
    }
}

#[test]
fn a_line_about_something_else_that_was_refused_is_no_refusal_of_the_call() {
    use crate::facts::tests::{ResultText, anthropic, in_main};
    let long = format!("User declined this {}", "invitation ".repeat(20) + "\nto b");
    for (tool, input, said, expected) in [
        (
            "Bash",
            r#"{"command":"rm a; ./ask.sh"}"#,
            "Request denied by user.",
            false,
        ),
        (
            "Bash",
            r#"{"command":"rm a"}"#,
            "The user rejected this command.",
            true,
        ),
        (
            "Bash",
            r#"{"command":"rm a"}"#,
            "User rejected the command.",
            true,
        ),
        (
            "Bash",
            r#"{"command":"./log.sh"}"#,
            "User rejected the command line option --all",
            false,
        ),
        ("invite", "{}", "User declined this invitation", false),
        ("invite", "{}", "User declined the invitation", false),
        ("invite", "{}", "Tool call rejected by the user.", true),
        ("invite", "{}", "The user denied the tool call", true),
        (
            "Bash",
            r#"{"command":"./deploy.sh"}"#,
            "User denied the operation.",
            false,
        ),
    ] {
        let transcript = anthropic(&[(tool, input, ResultText::Fine(said))]);
        let found = in_main(&transcript, |transcript, calls| {
            was_refused(transcript, &calls[0])
        });
        assert_eq!(found, expected, "{said}");
    }
    for (said, expected) in [("User declined this invitation", true), (&long[..], false)] {
        let transcript = anthropic(&[("invite", "{}", ResultText::Failed(said))]);
        let found = in_main(&transcript, |transcript, calls| {
            was_refused(transcript, &calls[0])
        });
        assert_eq!(found, expected, "{said}");
    }
}

#[test]
fn what_is_long_may_be_either() {
    let log = "Error: no carrier\n08:01 up\n08:02 down\n08:03 up\n08:04 down\n";
    assert!(!is_refusal(log) && may_be_refusal(log));
}
