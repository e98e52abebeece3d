//! Results of commands and tools, and the error lines that they are told with.

use super::*;
use crate::facts::commands::commands;
use crate::facts::tests::{ResultText, anthropic, in_main, read_as};
use crate::format::Format;

#[test]
fn an_error_that_is_written_with_escapes_is_one() {
    let lines = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"all\n\u0065rror: no input"}]}
"#;
    let found = in_main(&read_as(Format::Anthropic, lines), failures);
    assert_eq!(found[0].lines, ["error: no input"]);
}

#[test]
fn a_line_of_source_that_a_command_shows_is_no_error() {
    let source = "fn main() {\n    eprintln!(\"error: {e}\");\n    panic!(\"Error: {e}\");\n}\n";
    let shown = |command: &str| {
        let said = format!("{source}error: no input");
        !errors(command, ResultText::Fine(&said)).is_empty()
    };
    for command in [
        "cat src/main.rs",
        "cd /w && sed -n 1,20p src/main.rs",
        "grep -rn 'error:' src | head -5",
        "git diff HEAD~1 2>&1",
        "rg \"error: |Error:\" src",
    ] {
        assert!(!shown(command), "{command}");
    }
    for command in [
        "make",
        "cat a; make",
        "cargo build 2>&1 | tail -5",
        "./cat x",
    ] {
        assert!(shown(command), "{command}");
    }
}

/// The error messages of a command.
fn errors(command: &str, said: ResultText<'_>) -> Vec<String> {
    let input = serde_json::json!({"command": command}).to_string();
    let transcript = anthropic(&[("Bash", &input, said)]);
    let found = in_main(&transcript, failures);
    found
        .into_iter()
        .flat_map(|failure| failure.lines)
        .collect()
}

#[test]
fn the_tests_that_failed_are_told_and_not_those_that_passed() {
    let passed = "a.py::TestError::test_404 PASSED [  1%]\na.py::test_exception PASSED [  2%]\na.py::test_timeout_error PASSED\n";
    let failed = "    def test_count(error):\nE   assert 61 == 58\nFAILED a.py::test_count - assert 61 == 58\n1 failed, 3 passed";
    let all = format!("{passed}{failed}");
    let found = errors(
        "pytest -v",
        ResultText::Failed(&format!("Exit code 1\n{all}")),
    );
    let expected = [
        "E   assert 61 == 58",
        "FAILED a.py::test_count - assert 61 == 58",
    ];
    assert_eq!(found, expected);
    let found = errors("pytest -v | tail -20", ResultText::Fine(&all));
    assert_eq!(found, expected);
    let found = errors("pytest -v | tail -20", ResultText::Fine(passed));
    assert!(found.is_empty());
    let found = errors("make | tail", ResultText::Fine("E   assert 61 == 58"));
    assert!(found.is_empty());
}

#[test]
fn a_cause_is_told_beside_what_says_that_something_failed() {
    let said = "Exit code 1\n# x.io/cmd\n./a.go:3:4: undefined: x\n--- FAIL: TestA (0.00s)\nFAIL\tx.io/cmd [build failed]";
    let found = errors("go test ./...", ResultText::Failed(said));
    assert_eq!(
        found,
        ["./a.go:3:4: undefined: x", "--- FAIL: TestA (0.00s)"]
    );
}

#[test]
fn a_line_counts_once_and_shown_source_only_where_nothing_else_is_there() {
    let said = "a.ts:205:2 parse\n  × expected a semicolon\n  216 │ * @throws Error if none\nb.ts:7:2 parse\n  × expected a semicolon\n  × expected a name\nFound 2 errors.\nFound 1 warning.";
    let found = errors("biome check", ResultText::Failed(said));
    assert_eq!(found, ["× expected a semicolon", "× expected a name"]);
    let found = errors("biome check", ResultText::Failed("check\nFound 2 errors."));
    assert_eq!(found, ["Found 2 errors."]);
    let panic = "thread 'main' panicked at src/a.rs:7:5:\nsums differ\nnote: run with it";
    let found = errors("cargo run", ResultText::Failed(panic));
    assert_eq!(
        found,
        ["thread 'main' panicked at src/a.rs:7:5:", "sums differ"]
    );
}

#[test]
fn what_an_edit_quotes_is_no_error() {
    let said = "String to replace not found in file.\nString: rescue\n  error -> Logger.warning(1)";
    let transcript = anthropic(&[("Edit", r#"{"file_path":"/a"}"#, ResultText::Failed(said))]);
    let found = in_main(&transcript, failures);
    assert_eq!(found[0].lines, ["String to replace not found in file."]);
}

#[test]
fn of_shown_files_only_what_is_not_theirs_is_an_error() {
    let source = "messages: Record<string, unknown>[] | undefined,\nlogs error: x\nverdict (pass/fail)\nmore\n";
    let missing = "sed: can't read b.ts: No such file or directory";
    let found = errors(
        "sed -n 1,9p a.ts && printf '--' && sed -n 1,9p b.ts",
        ResultText::Failed(&format!("Exit code 2\n{source}{missing}")),
    );
    assert_eq!(found, [missing]);
    let found = errors(
        "cat a.ts && grep x a.ts",
        ResultText::Failed(&format!("Exit code 1\n{source}")),
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_a_command_that_went_well_prints_is_no_error() {
    let shown =
        "jobs:\n  continue-on-error: false\n# Strictly non-fatal: a hook\n- `error: \"stale\"`\n";
    let found = errors("gh api x | base64 -d", ResultText::Fine(shown));
    assert!(found.is_empty(), "{found:?}");
    let well = |command: &str| {
        let said = "Process exited with code 0\nOutput:\nwrites error: as a key";
        errors(command, ResultText::Fine(said))
    };
    assert!(well("agentv skills get x").is_empty());
    // The status is that of the last one.
    assert_eq!(well("make | tail").len(), 1);
    for said in [
        "ssh: Could not resolve hostname h",
        "** (RuntimeError) no configuration",
    ] {
        let all = format!("Process exited with code 0\nOutput:\n{said}");
        assert_eq!(errors("x | tail", ResultText::Fine(&all)), [said]);
    }
}

/// What another program has logged says nothing of the command that shows it, however that ended.
#[test]
fn errors_in_a_log_are_not_those_of_the_command_that_shows_it() {
    let log = "starting\nerror[E0425]: cannot find value `x`\nTraceback (most recent call last):\nValueError: no\nFAILED tests/a.py::b - assert 1 == 2\nnpm ERR! code 1\n";
    let of = |command: &str, said: &str| {
        let input = serde_json::json!({"command": command}).to_string();
        let transcript = anthropic(&[("Bash", &input, ResultText::Fine(said))]);
        in_main(&transcript, |transcript, calls| {
            (
                failures(transcript, calls).len(),
                failed_results(transcript, calls).len(),
                commands(transcript, calls)[0].exit,
            )
        })
    };
    for command in [
        "docker logs app",
        "docker compose -f a.yml logs --tail=50 api",
        "kubectl -n web logs deploy/api",
        "cat build.log",
        "gh run view 12 --log-failed",
        "journalctl -u api -n 50",
    ] {
        assert_eq!(
            of(command, log),
            (0, 0, CommandStatus::Unknown),
            "{command}"
        );
        let ended = format!("Process exited with code 0\nOutput:\n{log}");
        // The log may say so, too.
        assert_eq!(
            of(command, &ended),
            (0, 0, CommandStatus::Unknown),
            "{command}"
        );
        let piped = format!("{command} | tail -50");
        assert_eq!(
            of(&piped, &ended),
            (0, 0, CommandStatus::Unknown),
            "{command}"
        );
    }
    for command in [
        "docker exec logs make",
        "kubectl exec logs -- make",
        "gh run watch 12",
    ] {
        assert_eq!(of(command, log).0, 1, "{command}");
    }
    let gone =
        ResultText::Failed("Exit code 1\nError response from daemon: No such container: app");
    let found = errors("docker logs app", gone);
    assert_eq!(
        found,
        ["Error response from daemon: No such container: app"]
    );
}

#[test]
fn what_no_format_flags_says_so_itself() {
    let transcript = anthropic(&[
        (
            "Bash",
            r#"{"command":"git push"}"#,
            ResultText::Fine("Exit code 128\nThe branch has no upstream: push rejected"),
        ),
        (
            "Bash",
            r#"{"command":"git log"}"#,
            ResultText::Fine("Exit code 0\npush rejected"),
        ),
        (
            "Edit",
            r#"{"file_path":"/a"}"#,
            ResultText::Fine("<tool_use_error>String to replace not found</tool_use_error>"),
        ),
        (
            "Read",
            r#"{"file_path":"/a"}"#,
            ResultText::Fine("     1→<tool_use_error>cannot"),
        ),
    ]);
    let found = in_main(&transcript, failures);
    let lines: Vec<&[String]> = found.iter().map(|f| &f.lines[..]).collect();
    assert_eq!(
        lines,
        [
            ["The branch has no upstream: push rejected"],
            ["String to replace not found"]
        ]
    );
    assert!(found.iter().all(|f| f.outcome == Outcome::Failed));
}

#[test]
fn failed_results_and_error_lines_of_commands() {
    let transcript = anthropic(&[
        (
            "Bash",
            r#"{"command":"cargo build"}"#,
            ResultText::Failed(
                "Exit code 101\n   Compiling a v1\n\nerror[E0425]: cannot find value `x`\n  --> src/a.rs:3:1\nwarning: unused\nerror: could not compile `a`\nerror: a\nerror: b",
            ),
        ),
        (
            "Edit",
            r#"{"file_path":"/a"}"#,
            ResultText::Failed(
                "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
            ),
        ),
        (
            "Bash",
            r#"{"command":"false"}"#,
            ResultText::Failed("Exit code 1\n\n  gone  \n"),
        ),
        (
            "Bash",
            r#"{"command":"make || true"}"#,
            ResultText::Fine("cc a.c\na.c:1: fatal: no input\ndone"),
        ),
        (
            "Bash",
            r#"{"command":"ls"}"#,
            ResultText::Fine("a\nException.java"),
        ),
        (
            "Read",
            r#"{"file_path":"/log"}"#,
            ResultText::Fine("     1→error: old"),
        ),
        ("Bash", r#"{"command":"x"}"#, ResultText::Failed("")),
    ]);
    let found = in_main(&transcript, failures);
    let found: Vec<(u32, Outcome, Vec<&str>)> = found
        .iter()
        .map(|f| {
            (
                f.result.line,
                f.outcome,
                f.lines.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                1,
                Outcome::Failed,
                vec![
                    "error[E0425]: cannot find value `x`",
                    "error: could not compile `a`",
                    "error: a"
                ]
            ),
            (
                3,
                Outcome::Failed,
                vec!["String to replace not found in file."]
            ),
            (5, Outcome::Failed, vec!["gone"]),
            (7, Outcome::Fine, vec!["a.c:1: fatal: no input"]),
            (13, Outcome::Failed, vec![]),
        ]
    );
}
