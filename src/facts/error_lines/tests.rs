//! Lines of programs, and how certain it is that they are error messages.

use super::*;

/// A line is looked at closely only if it has a phrase, and the output of a successful command only if it has one of [`ALWAYS`]:
/// each line that complains or says so has both.
#[test]
fn no_complaint_lacks_all_phrases() {
    for line in [
        "a: Could not x",
        "a: could not x",
        "a: Unable to x",
        "a: unable to x",
        "x: not found",
        "x: Permission denied",
        "(eval):1: x not found",
        "' is not recognized as ",
        "error[",
        "error TS",
        "FAILED",
        "--- FAIL",
        "panicked at",
        "undefined reference to ",
        "FAIL ",
        "not ok ",
        "permission denied ",
        "error: x",
        "Error: x",
        "fatal: x",
        "** (Error) x",
    ] {
        assert!(complains(line) || says(line), "{line}");
        assert_ne!(phrase(line), Phrase::None, "{line}");
        assert!(ALWAYS.iter().any(|words| line.contains(words)), "{line}");
    }
    assert_eq!(phrase("not ok 1 - a failure"), Phrase::WhereItFailed);
    assert_eq!(phrase("not ok 1 - all"), Phrase::More);
    assert_eq!(phrase("all is well"), Phrase::None);
}

#[test]
fn what_says_that_something_failed_comes_before_what_only_may() {
    for (line, expected) in [
        ("error: could not compile `a`", Some(Strength::Says)),
        ("a.c:1:2: error: no", Some(Strength::Says)),
        ("a.c:1: fatal: no input", Some(Strength::Says)),
        ("TypeError: x is no function", Some(Strength::Says)),
        ("java.io.Error: x", Some(Strength::Says)),
        ("Write-Error: x", Some(Strength::Says)),
        ("+ CategoryInfo          : ParserError: (:) []", None),
        ("error[E0425]: cannot find value", Some(Strength::Says)),
        ("FAILED tests/a.py::test_b - assert", Some(Strength::Says)),
        ("tests/a.py::test_b FAILED [ 50%]", Some(Strength::Says)),
        ("thread 'main' panicked at a.rs:1", Some(Strength::Says)),
        (
            "/usr/bin/bash: line 1: go: command not found",
            Some(Strength::Complains),
        ),
        ("zsh: command not found: go", Some(Strength::Complains)),
        ("zsh:1: command not found: go", Some(Strength::Complains)),
        ("(eval):1: command not found: go", Some(Strength::Complains)),
        (
            "error: none of the selected packages contains these features: x",
            Some(Strength::Says),
        ),
        ("TypeError: null is not an object", Some(Strength::Says)),
        ("error: null,", Some(Strength::Weak)),
        (
            "[Error: ENOENT: no such file, open 'x'] {",
            Some(Strength::Says),
        ),
        ("sh: 1: go: not found", Some(Strength::Complains)),
        (
            "head: cannot open 'a' for reading: No such file or directory",
            Some(Strength::Complains),
        ),
        (
            "'go' is not recognized as an internal or external command,",
            Some(Strength::Complains),
        ),
        (
            "rg: a.json: No such file or directory (os error 2)",
            Some(Strength::Complains),
        ),
        ("E   assert 61 == 58", Some(Strength::Reports)),
        ("./a.go:3:4: undefined: x", Some(Strength::Reports)),
        ("a_test.go:699: failed to encode", Some(Strength::Reports)),
        ("FAIL\tx.io/cmd [build failed]", Some(Strength::Weak)),
        ("FAIL", Some(Strength::Weak)),
        ("npm error code 2", Some(Strength::Weak)),
        ("[lint:go] ERROR task failed", Some(Strength::Weak)),
        ("Found 49 errors.", Some(Strength::Weak)),
        (":error", Some(Strength::Weak)),
        ("t.Fatal(err)", Some(Strength::Weak)),
        (
            "216 │  * @throws Error if there is none",
            Some(Strength::Weak),
        ),
        ("{\"name\":\"totalErrors\"}", Some(Strength::Weak)),
        ("a_test.go:12: got 3, want 4", Some(Strength::Reports)),
        (
            "[lint:go] a.go:8:3: Error return value",
            Some(Strength::Reports),
        ),
        ("a.c:3:5: warning: unused", None),
        ("t.exs:166: (test)", None),
        ("× expected a semicolon", Some(Strength::Reports)),
        ("┃ [D] ↘ Nested modules", Some(Strength::Reports)),
        ("(eval):1: == not found", Some(Strength::Complains)),
        (
            "ssh: Could not resolve hostname a",
            Some(Strength::Complains),
        ),
        (
            "permission denied while trying to connect",
            Some(Strength::Says),
        ),
        ("** (RuntimeError) no configuration", Some(Strength::Says)),
        ("continue-on-error: false", Some(Strength::Resembles)),
        (
            "fail_on_error: false    # never halt (default)",
            Some(Strength::Resembles),
        ),
        ("error: null", Some(Strength::Resembles)),
        ("Script error:", Some(Strength::Resembles)),
        (
            "# Strictly non-fatal: a hook is no worse than none.",
            Some(Strength::Weak),
        ),
        (
            "- `error: \"stale_conflict_state\"`.",
            Some(Strength::Resembles),
        ),
        (
            "694 +      error: skippedEvaluatorError,",
            Some(Strength::Weak),
        ),
        (
            "echo \"::error::Invalid publish action\"",
            Some(Strength::Resembles),
        ),
        (
            "src/a.rs:12: assert!(said, \"x: No such file or directory",
            Some(Strength::Reports),
        ),
        (
            "t.py::TestHandleError::test_datadog_api_404 PASSED [  3%]",
            None,
        ),
        ("t.py::test_error SKIPPED", None),
        ("✓ shows an error: x", None),
        ("test facts::an_error_is_one ... ok", None),
        ("all is well", None),
    ] {
        assert_eq!(strength(line), expected, "{line}");
    }
}
