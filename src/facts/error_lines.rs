//! Lines that are error messages of programs.
//!
//! PURE. By their words alone; whether the call failed is asked elsewhere.

use crate::transcript::Outcome;

/// Phrases that occur only in error messages of programs.
pub(super) const ALWAYS: [&str; 6] = [
    "error:",
    "error[",
    "Error:",
    "fatal:",
    "FAILED",
    "panicked at",
];

/// Words with which systems and tools say that a file is not there; their first letter may be a capital.
pub(super) const NOT_THERE: [&str; 4] = ["o such file", "ENOENT", "ile not found", "ath not found"];

/// Whether a line is an error message of a compiler, interpreter, shell or test runner.
pub fn is_error_message(line: &str, outcome: Outcome) -> bool {
    /// Phrases that also occur in files, which a successful command may show. In lower case.
    const WHERE_IT_FAILED: [&str; 18] = [
        "error",
        "exception",
        "fail",
        "fatal",
        "panic",
        "traceback",
        "denied",
        "not found",
        "no such",
        "cannot",
        "unable",
        "undefined",
        "invalid",
        "missing",
        "rejected",
        "refused",
        "timed out",
        "exited with",
    ];
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    has(line, &ALWAYS)
        || outcome == Outcome::Failed && has(&line.to_ascii_lowercase(), &WHERE_IT_FAILED)
}
