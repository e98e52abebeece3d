//! Failures: results that report one, and outputs of commands with error messages.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::background;
use super::commands::{exit, hides_failures};
use super::error_lines::{ALWAYS, Strength, strength};
use super::exchanges::{Ended, Exchange, FactLocation, text_of};
use super::exit::CommandStatus;
use super::result_author::{ResultAuthor, status, whose};
use super::shell::{only_shows, output};
use crate::policy::ToolKind;
use crate::transcript::{Block, Outcome, Transcript};

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub call: FactLocation,
    /// Its result.
    pub result: FactLocation,
    /// Whether the result itself reports that the call failed.
    pub outcome: Outcome,
    /// The error messages, at most [`Failure::LINES`] lines, trimmed.
    pub lines: Vec<String>,
}

impl Failure {
    /// Enough lines to identify an error, warnings around it included.
    pub const LINES: usize = 5;
}

/// The maximum number of error messages among these lines; the others are warnings.
const ERRORS: usize = 3;

/// The failures of a conversation, in its order.
pub fn failures(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<Failure> {
    let failure = |exchange: &Exchange| {
        let result = exchange.result?;
        let block = transcript.block(result.block);
        let outcome = outcome(transcript, exchange, result);
        // Other tools show files and pages, which may contain any error message.
        let is_of_command =
            exchange.kind == ToolKind::Shell || background::reads(transcript, exchange);
        if outcome == Outcome::Fine && !is_of_command {
            return None;
        }
        // Most commands succeed, and most outputs do not mention errors at all.
        if outcome == Outcome::Fine
            && (!may_contain_error(transcript, block)
                || shows_files(transcript, exchange)
                || went_well(transcript, exchange))
        {
            return None;
        }
        let said = output(text_of(transcript, result, exchange.inner.as_deref()));
        // A tool for files says in the first line what is wrong, and quotes below what it was given. A cell has a heading there.
        let most = match (exchange.kind, &exchange.inner) {
            (ToolKind::Read | ToolKind::Write | ToolKind::Edit, None) => 1,
            (ToolKind::Read | ToolKind::Write | ToolKind::Edit, Some(_))
            | (ToolKind::Shell | ToolKind::Search | ToolKind::Web | ToolKind::Other, _) => {
                usize::MAX
            }
        };
        let lines = || {
            let lines = said.lines().map(untagged);
            lines.filter(|line| !line.is_empty()).take(most)
        };
        // Gemini CLI and Qwen Code write "Error: (none)" behind what a command printed.
        let is_status = |line: &&str| {
            line.starts_with("Exit code ")
                || line.starts_with("<status>")
                || line.ends_with("(none)")
        };
        let said_why = lines().filter(|line| !is_status(line));
        let is_of_files = outcome == Outcome::Failed && shows_files(transcript, exchange);
        let least = match (outcome, is_of_files) {
            (Outcome::Failed, false) => Strength::Weak,
            (Outcome::Failed, true) => Strength::Complains,
            (Outcome::Fine, _) => Strength::Reports,
        };
        let mut errors = messages(said_why.clone(), least);
        let is_sure = |line: &String| strength(line).is_some_and(|s| s < Strength::Weak);
        if outcome == Outcome::Failed && !errors.iter().any(is_sure) {
            // If warnings are treated as errors, there may be no other message.
            let warnings = lines().filter(|_| !is_of_files);
            let warnings = warnings.filter(|line| line.to_ascii_lowercase().contains("warning"));
            let warnings = warnings.filter(|line| !errors.iter().any(|error| error == line));
            let warnings: Vec<&str> = warnings.take(Failure::LINES - errors.len()).collect();
            errors.extend(warnings.into_iter().map(str::to_owned));
        }
        // When files are shown, it is unknown which lines do not belong to them.
        if errors.is_empty()
            && outcome == Outcome::Failed
            && !(is_of_files && said_why.clone().count() > ERRORS)
        {
            let is_text = |line: &&str| line.contains(char::is_alphanumeric);
            let said = said_why.filter(is_text).take(ERRORS);
            errors = said.map(str::to_owned).collect();
        } else if errors.is_empty() && is_of_files {
            let is_message =
                |line: &&str| line.starts_with("error: ") || line.starts_with("fatal: ");
            let said = said_why.filter(is_message).take(ERRORS);
            errors = said.map(str::to_owned).collect();
        }
        let is_one = outcome == Outcome::Failed || !errors.is_empty();
        is_one.then_some(Failure {
            call: exchange.call,
            result,
            outcome,
            lines: errors,
        })
    };
    exchanges.iter().filter_map(failure).collect()
}

/// The error messages among lines, in their order: the surest of them, each once whatever its numbers, none less sure than `least`.
/// What only resembles one counts where nothing else is there, and what is weak where not even that is.
fn messages<'l>(lines: impl Iterator<Item = &'l str>, least: Strength) -> Vec<String> {
    let mut above = "";
    let weighed = lines.enumerate().filter_map(|(at, line)| {
        let above = std::mem::replace(&mut above, line);
        // Rust writes below the place what it panics with.
        let is_of_panic = above.contains(" panicked at ") && above.ends_with(':');
        let strength = match is_of_panic {
            true => Strength::Says,
            false => strength(line)?,
        };
        Some((strength, at, line))
    });
    let mut found: Vec<_> = weighed
        .filter(|(strength, ..)| *strength <= least)
        .collect();
    found.sort();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    found.retain(|(.., line)| {
        let kind = line.chars().filter(|c| !c.is_ascii_digit());
        seen.len() < ERRORS && seen.insert(kind.collect())
    });
    if let Some(first) = found.first().map(|(first, ..)| *first) {
        let last = first.max(Strength::Reports);
        found.retain(|(strength, ..)| *strength <= last);
    }
    // A report that no other line confirms is ordinary text.
    if least == Strength::Reports {
        let is_said = found.iter().any(|(strength, ..)| *strength < least);
        found.retain(|_| is_said);
    }
    found.sort_by_key(|(_, at, _)| *at);
    found.iter().map(|(.., line)| (*line).to_owned()).collect()
}

/// The blocks of the results that report a failure of `calls`. A cell's result does if one of the calls in it failed.
pub fn failed_results(transcript: &Transcript<'_>, calls: &[Exchange]) -> BTreeSet<u32> {
    let failed = calls.iter().filter_map(|exchange| {
        let result = exchange.result?;
        // How a command in a session ended is stated by the result of the call that read its last output.
        let inner = exchange.inner.as_ref();
        let is_said_later = inner.is_some_and(|inner| inner.session.is_some());
        let has_failed = || outcome(transcript, exchange, result) == Outcome::Failed;
        (!is_said_later && has_failed()).then_some(result.block)
    });
    failed.collect()
}

/// Whether a call failed: its result is flagged or, in formats without a flag, its text states it.
fn outcome(transcript: &Transcript<'_>, exchange: &Exchange, at: FactLocation) -> Outcome {
    if let Some(inner) = &exchange.inner {
        return match inner.ended {
            Ended::Status(0) | Ended::Returned => Outcome::Fine,
            Ended::Status(_) | Ended::Failed => Outcome::Failed,
            Ended::Interrupted | Ended::Running | Ended::Unknown => Outcome::Fine,
        };
    }
    let result = transcript.block(at.block);
    let is_status = || {
        if exchange.kind == ToolKind::Shell {
            return status(transcript, exchange, at).is_some_and(|status| status != 0);
        }
        if !background::reads(transcript, exchange) {
            return false;
        }
        match background::end(transcript, result) {
            Some(CommandStatus::Code(code)) => code != 0,
            Some(CommandStatus::Failed) => true,
            Some(
                CommandStatus::Succeeded
                | CommandStatus::Interrupted
                | CommandStatus::Begun
                | CommandStatus::Running
                | CommandStatus::WasRunning
                | CommandStatus::Refused
                | CommandStatus::Unanswered
                | CommandStatus::Unknown,
            )
            | None => false,
        }
    };
    // A command may also print such a tag.
    let may_be_tagged = || {
        exchange.kind != ToolKind::Shell || whose(transcript, exchange, at) == ResultAuthor::Agents
    };
    let is_tagged = || {
        let text = transcript.texts(result).first();
        text.is_some_and(|text| {
            transcript
                .bytes(result.line, text.span)
                .starts_with(TAG.as_bytes())
        })
    };
    let is_marked = || is_status() || is_tagged() && may_be_tagged();
    match result.outcome {
        Outcome::Fine if !is_marked() => Outcome::Fine,
        Outcome::Fine | Outcome::Failed => Outcome::Failed,
    }
}

/// Whether it is known that no part of a command failed, whatever it printed.
fn went_well(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    let has_ended_well = || match &exchange.inner {
        Some(inner) => inner.ended == Ended::Status(0),
        None => matches!(
            exit(transcript, exchange),
            CommandStatus::Code(0) | CommandStatus::Succeeded
        ),
    };
    if exchange.kind != ToolKind::Shell {
        return false;
    }
    let command = exchange.input(transcript).command();
    command.is_some_and(|command| !hides_failures(&command)) && has_ended_well()
}

/// Whether a command only shows contents of files.
fn shows_files(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    let input = exchange.input(transcript);
    input.command().is_some_and(|command| only_shows(&command))
}

/// Whether a result's raw text may contain an error line that counts in the output of a successful command.
fn may_contain_error(transcript: &Transcript<'_>, result: &Block) -> bool {
    /// An escape may encode any letter.
    const ESCAPE: &str = "\\u";
    static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let mut builder = AhoCorasick::builder();
        // With this order, several bytes are looked at in one step.
        builder.match_kind(MatchKind::LeftmostFirst);
        builder.build(ALWAYS.iter().chain([&ESCAPE])).ok()
    });
    transcript.texts(result).iter().any(|text| {
        let raw = transcript.bytes(result.line, text.span);
        MARKS.as_ref().is_none_or(|marks| marks.is_match(raw))
    })
}

/// Precedes an agent's message about a failed call.
const TAG: &str = "<tool_use_error>";

/// A trimmed line without the tags that an agent puts around an error.
fn untagged(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix(TAG).unwrap_or(line);
    line.strip_suffix("</tool_use_error>")
        .unwrap_or(line)
        .trim()
}

#[cfg(test)]
mod tests {
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
        let source =
            "fn main() {\n    eprintln!(\"error: {e}\");\n    panic!(\"Error: {e}\");\n}\n";
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
        let said =
            "String to replace not found in file.\nString: rescue\n  error -> Logger.warning(1)";
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
        let shown = "jobs:\n  continue-on-error: false\n# Strictly non-fatal: a hook\n- `error: \"stale\"`\n";
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
}
