//! Lines that are error messages of programs.
//!
//! PURE. Recognises them by their words alone; whether the call failed is determined elsewhere.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::transcript::Outcome;

/// Every error line that counts even in the output of a successful command contains one of these.
pub(super) const ALWAYS: [&str; 18] = [
    "error:",
    "error[",
    "error TS",
    "Error:",
    "fatal:",
    "FAIL",
    "not ok ",
    "panicked at",
    "undefined reference",
    "not found",
    "o such file",
    "ermission denied",
    "is not recognized as",
    ": Could not ",
    ": could not ",
    ": Unable to ",
    ": unable to ",
    "Error) ",
];

/// Words with which systems and tools say that a file is not there; their first letter may be a capital.
pub(super) const NOT_THERE: [&str; 4] = ["o such file", "ENOENT", "ile not found", "ath not found"];

/// How certain it is that a line is an error message, most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// A shell or a program says that a command or a file is missing or not accessible.
    Complains,
    /// It says that something failed.
    Says,
    /// It belongs to the report of a failed test, or names the place in a file that it refers to.
    Reports,
    /// It has a word of an error message, as any file shown by a command may.
    Resembles,
    /// It has a word of one, but is source, data, a count, or a heading that says no more than the end of the call.
    Weak,
}

/// Phrases that also occur in files, which a successful command may show. In lower case.
const WHERE_IT_FAILED: [&str; 24] = [
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
    "could not",
    "couldn't",
    "does not match",
    "does not exist",
    "not permitted",
    "aborted",
];

/// What lines say that complain or say that something failed, if they have none of these phrases.
const MORE: [&str; 2] = ["not ok ", "not recognized as "];

/// The phrases of both lists, in any case.
static PHRASES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true);
    builder.build(WHERE_IT_FAILED.iter().chain(&MORE)).ok()
});

/// Which of these phrases a line has, by a quick look: most lines have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phrase {
    WhereItFailed,
    More,
    None,
}

fn phrase(line: &str) -> Phrase {
    let Some(phrases) = &*PHRASES else {
        return Phrase::WhereItFailed;
    };
    let mut found = phrases
        .find_iter(line)
        .map(|found| found.pattern().as_usize());
    match found.next() {
        Some(first) if first < WHERE_IT_FAILED.len() => Phrase::WhereItFailed,
        Some(_) if found.any(|number| number < WHERE_IT_FAILED.len()) => Phrase::WhereItFailed,
        Some(_) => Phrase::More,
        None => Phrase::None,
    }
}

/// How certain it is that a line is an error message of a compiler, interpreter, shell or test runner; `None` if it is not one.
pub(super) fn strength(line: &str) -> Option<Strength> {
    /// How PowerShell begins its details on the message above.
    const OF_THE_ONE_ABOVE: [&str; 2] = ["+ CategoryInfo", "+ FullyQualifiedErrorId"];
    let line = line.trim();
    if is_of_success(line) || OF_THE_ONE_ABOVE.iter().any(|begin| line.starts_with(begin)) {
        return None;
    }
    let phrase = phrase(line);
    if phrase != Phrase::None && complains(line) {
        return Some(Strength::Complains);
    }
    if phrase != Phrase::None && says(line) {
        return Some(Strength::Says);
    }
    // pytest's.
    if line.starts_with("E   ") || is_finding(line) || names_a_place(line) {
        return Some(Strength::Reports);
    }
    let resembles = phrase == Phrase::WhereItFailed;
    resembles.then(|| match is_weak(line, &line.to_ascii_lowercase()) {
        true => Strength::Weak,
        false => Strength::Resembles,
    })
}

/// Whether a line begins with a file and a line of it: `a.go:3:4: undefined: x`, also behind the name of a task.
fn names_a_place(line: &str) -> bool {
    let line = match line.split_once("] ") {
        Some((task, rest)) if task.starts_with('[') => rest.trim_start(),
        Some(_) | None => line,
    };
    let Some((place, message)) = line.split_once(": ") else {
        return false;
    };
    let (file, rest) = place.split_once(':').unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    // A frame of a stack has no message, and a note or a warning is about another one.
    let is_message = !["(", "note: ", "warning: "]
        .iter()
        .any(|begin| message.starts_with(begin));
    is_message
        && !is_source(message)
        && file.contains('.')
        && !file.contains([' ', '"'])
        && rest.split(':').all(is_number)
}

/// Whether a line is what a linter or a scanner has found: `× expected a semicolon`, `[D] ↘ Nested modules`.
fn is_finding(line: &str) -> bool {
    const SIGNS: [&str; 4] = ["× ", "✕ ", "✗ ", "Vulnerability #"];
    const ARROWS: [&str; 5] = ["] ↑ ", "] ↗ ", "] → ", "] ↘ ", "] ↓ "];
    let line = line.trim_start_matches(['┃', '│', ' ']);
    let of_credo = || {
        let letter = line.strip_prefix('[').and_then(|line| line.get(1..));
        letter.is_some_and(|rest| ARROWS.iter().any(|arrow| rest.starts_with(arrow)))
    };
    SIGNS.iter().any(|sign| line.starts_with(sign)) || of_credo()
}

/// Whether a line with a word of an error says nothing of what it is: source or data that is shown, a count of tests or errors, a
/// heading of a package manager.
fn is_weak(line: &str, lower: &str) -> bool {
    const HEADINGS: [&str; 5] = ["npm err", "elifecycle", "fail\t", "found ", "total "];
    // Where a linter shows lines of a file, a bar follows their numbers.
    let shown = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '>' | ' '));
    let is_shown = shown.starts_with(['│', '┃']) || line.starts_with("{\"");
    // A statement that is nothing else than a call: `t.Fatal(err)`.
    let is_call = line.split_once('(').is_some_and(|(name, _)| {
        let is_of_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':');
        line.ends_with(')') && !name.is_empty() && name.bytes().all(is_of_name)
    });
    let heading = lower.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    is_shown
        || is_call
        || is_source(line)
        || line == "FAIL"
        || lower.ends_with("error task failed")
        || !line.contains(' ')
        || HEADINGS.iter().any(|begin| heading.starts_with(begin))
}

/// Whether a line is an error message, given how its call ended.
pub fn is_error_message(line: &str, outcome: Outcome) -> bool {
    match (strength(line), outcome) {
        (Some(Strength::Complains | Strength::Says), _) => true,
        (Some(Strength::Reports | Strength::Resembles | Strength::Weak), Outcome::Failed) => true,
        (Some(Strength::Reports | Strength::Resembles | Strength::Weak), Outcome::Fine)
        | (None, _) => false,
    }
}

/// Whether a line says that a test did not fail, in the words of any test runner.
pub(super) fn is_of_success(line: &str) -> bool {
    const BEFORE: [&str; 7] = ["PASSED ", "PASS ", "--- PASS", "ok ", "✓", "✔", "√"];
    const AFTER: [&str; 4] = [" PASSED", " SKIPPED", " XFAIL", " ... ok"];
    let line = line.trim();
    // After the result, pytest writes the percentage of tests done.
    let result = match line.rsplit_once('[') {
        Some((result, share)) if share.ends_with("%]") => result.trim_end(),
        Some(_) | None => line,
    };
    BEFORE.iter().any(|before| line.starts_with(before))
        || AFTER.iter().any(|after| result.ends_with(after))
}

/// Whether a line is source code and not a program's message: a comment, or a line that opens a block.
pub(super) fn is_source(line: &str) -> bool {
    const COMMENTS: [&str; 5] = ["#", "//", "/*", "* ", "<!--"];
    /// Messages of Perl's tests and node that look like source.
    const MESSAGES: [&str; 3] = ["#   Failed test", "# Looks like you failed", "[Error: "];
    let line = line.trim();
    // Docker numbers its build steps this way.
    let is_step = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
    let is_message = MESSAGES.iter().any(|begin| line.starts_with(begin))
        || line.strip_prefix('#').is_some_and(is_step);
    !is_message
        && (COMMENTS.iter().any(|sign| line.starts_with(sign))
            || line.ends_with(['{', '(', ',', ';']))
}

fn says(line: &str) -> bool {
    const WORDS: [&str; 6] = [
        "error[",
        "error TS",
        "FAILED",
        "--- FAIL",
        "panicked at",
        "undefined reference to ",
    ];
    const BEGINNINGS: [&str; 3] = ["FAIL ", "not ok ", "permission denied "];
    const BEFORE_ONE: [&str; 3] = ["error:", "Error:", "fatal:"];
    let is_one = |word: &str| {
        let mut places = line.match_indices(word);
        places.any(|(at, _)| is_said(&line[..at], word, &line[at + word.len()..]))
    };
    !is_source(line)
        && (WORDS.iter().any(|word| line.contains(word))
            || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
            || BEFORE_ONE.iter().any(|word| is_one(word))
            || line.starts_with("** (") && line.contains("Error) "))
}

/// Whether a program says what it could not do: `ssh: Could not resolve hostname`.
fn is_of_program(line: &str) -> bool {
    const BEGINNINGS: [&str; 4] = ["Could not ", "could not ", "Unable to ", "unable to "];
    const LABELS: [&str; 3] = ["error", "fatal", "warning"];
    line.split_once(": ").is_some_and(|(program, message)| {
        !LABELS.contains(&program)
            && program.starts_with(|c: char| c.is_ascii_lowercase())
            && program
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && BEGINNINGS.iter().any(|begin| message.starts_with(begin))
    })
}

/// Whether `error:` between two texts begins a message and is not the key of a setting, as in `continue-on-error: false`.
fn is_said(before: &str, word: &str, after: &str) -> bool {
    const VALUES: [&str; 5] = ["true", "false", "null", "none", "0"];
    let is_name = match before.chars().next_back() {
        // In `TypeError:` and `Write-Error:`, a name precedes it, and they begin a message.
        Some(c) if c.is_alphanumeric() || matches!(c, '_' | '-') => {
            word.starts_with(char::is_lowercase)
        }
        Some('`') => true,
        // A workflow command, as in `::error::`.
        Some(':') => before.ends_with("::"),
        Some(_) | None => false,
    };
    let mut words = after.split_whitespace();
    // With nothing after it, it is a heading, and the message is below.
    let Some(first) = words.next() else {
        return false;
    };
    // A value stands alone or precedes a comment: `error: none of the packages` is a message.
    let is_value = VALUES.contains(&first.trim_end_matches([',', '}']))
        && words
            .next()
            .is_none_or(|next| next.starts_with(['#', '/', '}']));
    !is_name && !after.starts_with(':') && !is_value
}

/// Whether a shell or a program complains: `bash: line 1: go: command not found`.
fn complains(line: &str) -> bool {
    const ENDS: [&str; 4] = [
        ": not found",
        ": command not found",
        ": No such file or directory",
        ": Permission denied",
    ];
    // Rust programs append the error number.
    let line = line.split(" (os error ").next().unwrap_or(line);
    // In search results, a line number is in this place.
    let is_program = |name: &str| !name.is_empty() && !name.contains([' ', ':', '"', '`']);
    // A word that begins with `=` names a program to zsh.
    let is_of_eval = line.starts_with("(eval):") && line.ends_with(" not found");
    let is_of_zsh = line.contains(": command not found: ");
    let program = line.split_once(": ").map(|(program, _)| match is_of_zsh {
        // zsh names the line of its own script: `zsh:1: command not found: go`.
        true => program.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':'),
        false => program,
    });
    let names_it = is_of_zsh || ENDS.iter().any(|end| line.ends_with(end));
    // Windows.
    let is_unknown = line.contains("' is not recognized as ");
    is_unknown || is_of_eval || is_of_program(line) || names_it && program.is_some_and(is_program)
}

#[cfg(test)]
mod tests;
