//! What a person would call the error in a failed result: the lines that say what went wrong.
//!
//! The rules are those by which compilers, test runners, shells and package managers report, and read nothing of what summaries are
//! made by: they are a second opinion on these. A line that decides (a shell that does not know a command, a file with a line and a
//! message, the end of a traceback, an assertion) counts before one that only has a word of an error; that one before a heading or
//! a total, which say no more than the exit code. Hints, frames of a stack, tests that passed, and source or data that is displayed
//! are none.
//!
//! PURE. It never reads how a call ended.

use serde_json::Value;

use super::error_shapes::{
    decides, has_nothing_wrong, has_passed, is_displayed, is_failed_test, is_frame, is_heading,
    is_hint, is_marked, is_total, is_warning, mentions,
};

/// How many messages count for each result.
const MESSAGES: usize = 3;

/// An output of more lines than this whose words tell of no error tells none.
const SHORT: usize = 3;

/// How much of a message is looked for, in characters.
const LONGEST: usize = 60;

/// What a message is worth, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// It says what went wrong.
    Decides,
    /// The name of a test that failed.
    Names,
    /// It has a word of an error.
    Mentions,
    /// It says no more than that something went wrong, or warns.
    Heads,
}

/// What was called, as far as its output differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A tool for files says what is wrong in its first line, and quotes below what it was given.
    ByFileTool,
    ByProgram,
}

/// The messages of a failed result, each without digits.
pub(super) fn messages(text: &str, said: Said) -> Vec<String> {
    let output = without_envelope(text);
    let lines = output.lines().map(untagged);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !is_status(line))
        .collect();
    let found: Vec<&str> = match said {
        Said::ByFileTool => lines.iter().copied().take(1).collect(),
        Said::ByProgram => of_program(&output, &lines),
    };
    let begins = |line: &str| {
        let begins: String = without_digits(line).chars().take(LONGEST).collect();
        begins.trim().to_owned()
    };
    let mut messages: Vec<String> = Vec::new();
    for message in found.into_iter().map(begins) {
        if message.len() >= 4 && !messages.contains(&message) && messages.len() < MESSAGES {
            messages.push(message);
        }
    }
    messages
}

/// All messages of the best weight that there are, and behind what decides the names of tests; the first line of a short output
/// without any.
fn of_program<'l>(output: &str, lines: &[&'l str]) -> Vec<&'l str> {
    let counts_failures = lines.iter().any(|line| {
        is_total(line)
            && ["failure", "failing"]
                .iter()
                .any(|word| line.contains(word))
    });
    let is_object = output.trim_start().starts_with('{');
    let weighed = lines.iter().enumerate().filter_map(|(at, line)| {
        let bare = without_task(line);
        let above = at.checked_sub(1).map_or("", |above| lines[above]);
        let weight = if above.contains(" panicked at ") && above.ends_with(':') {
            // Rust writes below the place what it panics with.
            Weight::Decides
        } else if counts_failures && is_numbered_test(bare) {
            Weight::Names
        } else if is_object && is_error_field(bare) {
            Weight::Mentions
        } else {
            weight(bare)?
        };
        Some((weight, *line))
    });
    let mut weighed: Vec<(Weight, &str)> = weighed.collect();
    // In their order where they weigh the same.
    weighed.sort_by_key(|(weight, _)| *weight);
    let Some((best, _)) = weighed.first().copied() else {
        let said: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| !is_hint(line))
            .collect();
        let is_short = said.len() <= SHORT;
        return said.into_iter().take(usize::from(is_short)).collect();
    };
    let least = best.max(Weight::Names);
    let counts = weighed.into_iter().filter(|(weight, _)| *weight <= least);
    counts.map(|(_, line)| line).collect()
}

/// A line without the name of the task that a runner of several puts before it: `[lint:go] a.go:1:2: ...`.
fn without_task(line: &str) -> &str {
    let Some((name, rest)) = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "))
    else {
        return line;
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(' ');
    if is_name { rest.trim_start() } else { line }
}

/// A line without blanks and the tags around what a tool says.
fn untagged(line: &str) -> &str {
    let line = line.trim().trim_start_matches("<tool_use_error>");
    line.trim_end_matches("</tool_use_error>").trim()
}

fn weight(line: &str) -> Option<Weight> {
    let lower = line.to_ascii_lowercase();
    if has_passed(line) || is_hint(line) || is_frame(line) {
        return None;
    }
    if is_marked(line) {
        return Some(Weight::Decides);
    }
    if is_failed_test(line) {
        return Some(Weight::Names);
    }
    if is_heading(line, &lower) {
        return Some(Weight::Heads);
    }
    if decides(line, &lower) {
        return Some(Weight::Decides);
    }
    if has_nothing_wrong(&lower) || is_displayed(line) {
        return None;
    }
    if is_total(line) || is_warning(&lower) {
        return Some(Weight::Heads);
    }
    // A single word is a value.
    (mentions(&lower) && line.contains(' ')).then_some(Weight::Mentions)
}

/// `1) adds two numbers`, as several test runners begin a failure; their totals name failures.
fn is_numbered_test(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < line.len() && digits.starts_with(") ")
}

/// `"error": "no such module"` in an object.
fn is_error_field(line: &str) -> bool {
    let key = line
        .split_once("\": \"")
        .map(|(key, _)| key.to_ascii_lowercase());
    key.is_some_and(|key| matches!(&key[..], "\"error" | "\"err" | "\"message"))
}

/// What a command printed, without what Codex writes around it: a heading, or an object on a line of its own.
fn without_envelope(text: &str) -> String {
    const HEADINGS: [&str; 3] = ["Chunk ID: ", "Script completed", "Script failed"];
    let printed = match text.split_once("\nOutput:\n") {
        Some((heading, printed)) if HEADINGS.iter().any(|h| heading.starts_with(h)) => printed,
        Some(_) | None => text,
    };
    let of_line = |line: &str| match serde_json::from_slice(line.as_bytes()) {
        Ok(Value::Object(object))
            if object.contains_key("chunk_id") || object.contains_key("exit_code") =>
        {
            let output = object.get("output").and_then(Value::as_str);
            output.unwrap_or_default().to_owned()
        }
        Ok(_) | Err(_) => line.to_owned(),
    };
    printed.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// Whether a line is only a status.
fn is_status(line: &str) -> bool {
    const BEGINS: [&str; 4] = [
        "Exit code",
        "Process exited with code",
        "Command exited with code",
        "exit=",
    ];
    let status = BEGINS.iter().find_map(|begins| line.strip_prefix(begins));
    status.is_some_and(|status| status.trim_matches([':', ' ']).parse::<i64>().is_ok())
        || line.starts_with("<shellId: ")
}

/// A text without its digits: the numbers of lines and times differ from run to run.
pub(super) fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_program(text: &str) -> Vec<String> {
        messages(text, Said::ByProgram)
    }

    #[test]
    fn what_decides_comes_before_headings_and_totals() {
        for (text, expected) in [
            (
                "Exit code 101\n   Compiling a v0.1.0 (/w/a)\nwarning: unused import: `x`\n --> src/a.rs:1:5\nerror[E0308]: mismatched types\n  --> src/a.rs:3:9\n   |\n3  |     let error: u8 = \"\";\n   |                     ^^ expected `u8`, found `&str`\nerror: could not compile `a` (lib) due to 1 previous error",
                &["error[E]: mismatched types"][..],
            ),
            (
                "test a::error_is_told ... ok\ntest a::adds ... FAILED\n\n---- a::adds stdout ----\nthread 'a::adds' panicked at src/a.rs:7:5:\nassertion `left == right` failed: sums\n  left: 3\n right: 4\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\nerror: test failed, to rerun pass `--lib`",
                &[
                    "thread 'a::adds' panicked at src/a.rs:::",
                    "assertion `left == right` failed: sums",
                    "test a::adds ... FAILED",
                ],
            ),
            (
                "t.py::test_error PASSED [ 50%]\nt.py::test_sum FAILED [100%]\n    def test_sum(error):\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nt.py:5: AssertionError\n1 failed, 1 passed in 0.01s",
                &[
                    "E       assert  ==",
                    "t.py:: AssertionError",
                    "t.py::test_sum FAILED [%]",
                ],
            ),
            (
                "Traceback (most recent call last):\n  File \"/w/a.py\", line 3, in <module>\n    raise ValueError(\"no error\")\nValueError: bad 7",
                &["ValueError: bad"],
            ),
            (
                "--- FAIL: TestA (0.00s)\n    a_test.go:12: got 3, want 4\nFAIL\nFAIL\tx.io/a\t0.01s\nok  \tx.io/errors\t0.2s",
                &["a_test.go:: got , want", "--- FAIL: TestA (.s)"],
            ),
            (
                "> a@1.0.0 check\n> tsc --noEmit\n\nsrc/a.ts(6,33): error TS2307: Cannot find module 'b'.\nnpm error Lifecycle script `check` failed with error:\nnpm error code 2",
                &["src/a.ts(,): error TS: Cannot find module 'b'."],
            ),
            (
                "npm ERR! Missing script: \"biuld\"\nnpm ERR! A complete log of this run can be found in: /x",
                &["npm ERR! Missing script: \"biuld\""],
            ),
            (
                "/w/a.js\n  3:5  error  'x' is not defined  no-undef\n  4:1  warning  Unexpected console statement\n\n✖ 2 problems (1 error, 1 warning)",
                &[":  error  'x' is not defined  no-undef"],
            ),
            (
                "  adding\n    ✓ tells an error\n    1) adds two numbers\n\n  1 passing (5ms)\n  1 failing\n\n      AssertionError [ERR_ASSERTION]: 3 == 4\n      at Context.<anonymous> (a.js:3:5)",
                &["AssertionError [ERR_ASSERTION]:  ==", ") adds two numbers"],
            ),
            (
                "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared\na.c:3:5: note: each is reported once\nmake: *** [Makefile:2: a] Error 1",
                &["a.c::: error: 'x' undeclared"],
            ),
            (
                "[lint:go] a.go:8:3: Error return value is not checked\n[lint:go] 1 issues:\n[lint:go] ERROR task failed",
                &["[lint:go] a.go::: Error return value is not checked"],
            ),
            (
                "Checking 3 source files ...\n\n┃ [D] ↘ Nested modules could be aliased.\n┃       lib/a.ex:135:5 #(A.check)\n40 mods/funs, found 1 software design suggestion.",
                &["┃ [D] ↘ Nested modules could be aliased."],
            ),
            (
                "Usage of sync:\n  -force\n    \tallow errors\nerror: flag: help requested\nexit status 1",
                &["error: flag: help requested"],
            ),
            (
                "mise WARN  missing: go\nzsh:1: command not found: go",
                &["zsh:: command not found: go"],
            ),
            (
                "npm warn Unknown config\n> Build error occurred\n[TypeError: f is not a function]",
                &["[TypeError: f is not a function]"],
            ),
            (
                "FAIL\tx.io/a [build failed]\nFAIL",
                &["FAIL\tx.io/a [build failed]", "FAIL"],
            ),
        ] {
            assert_eq!(of_program(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_displayed_and_what_went_well_is_no_error() {
        for (text, expected) in [
            (
                "{\"type\":\"relation\",\"name\":\"totalErrors\"}\n{\"type\":\"relation\",\"name\":\"lastError\"}\n(eval):1: == not found",
                &["(eval):: == not found"][..],
            ),
            (
                "rg: ../x: No such file or directory (os error 2)\n../a.go:114:func TestRejects(t *testing.T) {",
                &["rg: ../x: No such file or directory (os error )"],
            ),
            (
                "func A(t *testing.T) {\n\tt.Fatal(err)\n\tt.Fatalf(\"no warning; result=%#v\", result)\n}\nopen /x/y: operation not permitted",
                &["open /x/y: operation not permitted"],
            ),
            (
                "a.ts:205:2 parse ━━━━\n\n  × expected a semicolon\n\n    204 │  * @throws Error if there is none\n  > 205 │ interface A {\n        │ ^^^^^^^^^\nFound 49 errors.",
                &["× expected a semicolon"],
            ),
            (
                "-    throw new Error(\"old\");\n+    return failed;\n 0 errors, 0 warnings\nNo errors found\nt.py::test_error PASSED\n✓ fails well\ndone",
                &[],
            ),
            ("=== hooks\nName\n----\na\nb\nc", &[]),
            (
                "{\n  \"Path\": \"x\",\n  \"Error\": \"x: invalid version\"\n}",
                &["\"Error\": \"x: invalid version\""],
            ),
            ("{\"error\":\"no\"}", &["{\"error\":\"no\"}"]),
        ] {
            assert_eq!(of_program(text), expected, "{text}");
        }
    }

    #[test]
    fn a_short_output_without_a_word_of_an_error_tells_by_its_first_line() {
        assert_eq!(
            of_program("Exit code 1\n\n3 tests, 1 of 3 done\nbye"),
            ["tests,  of  done"]
        );
        assert_eq!(of_program("User chose to stay"), ["User chose to stay"]);
        let ignored =
            "These paths are ignored:\na/b\nhint: Use -f.\nhint: Or not.\nhint: Turn it off.";
        assert_eq!(of_program(ignored), ["These paths are ignored:"]);
    }

    #[test]
    fn a_tool_for_files_says_it_in_the_first_line() {
        let text = "<tool_use_error>String to replace not found in file.\nString:   rescue\n  error -> Logger.warning(\"failed\")</tool_use_error>";
        assert_eq!(
            messages(text, Said::ByFileTool),
            ["String to replace not found in file."]
        );
        let tag = "<tool_use_error>Unknown skill: commit</tool_use_error>";
        assert_eq!(of_program(tag), ["Unknown skill: commit"]);
    }

    #[test]
    fn what_codex_writes_around_an_output_is_no_part_of_it() {
        let heading =
            "Chunk ID: 9f0bc1\nWall time: 0.06 seconds\nProcess exited with code 1\nOutput:\n";
        assert_eq!(of_program(heading), Vec::<String>::new());
        assert_eq!(
            of_program(&format!("{heading}sed: a.go: No such file or directory")),
            ["sed: a.go: No such file or directory"]
        );
        let cell = "Script completed\nWall time 0.2 seconds\nOutput:\n\n";
        let object = r#"{"chunk_id":"8771a1","exit_code":1,"output":"mise\nERROR: no\n"}"#;
        assert_eq!(of_program(&format!("{cell}{object}")), ["ERROR: no"]);
        let silent = r#"{"output":"","exit_code":1}"#;
        assert_eq!(of_program(&format!("{cell}{silent}")), Vec::<String>::new());
    }
}
