//! The forms in which compilers, test runners, shells and package managers write what is wrong, and those of what is not.
//!
//! PURE. Each form is read from one line; what it counts beside others is decided elsewhere.

/// Whether a line has a word with which programs tell of errors.
pub(super) fn mentions(lower: &str) -> bool {
    const WORDS: [&str; 25] = [
        "error",
        "exception",
        "fail",
        "fatal",
        "panic",
        "denied",
        "refused",
        "rejected",
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "no such",
        "not found",
        "not permitted",
        "does not exist",
        "invalid",
        "unexpected",
        "undefined",
        "unable",
        "unknown",
        "missing",
        "timed out",
        "aborted",
        "illegal",
    ];
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a line says what went wrong, in a form that programs use for that alone.
pub(super) fn decides(line: &str, lower: &str) -> bool {
    is_of_shell(line, lower) || names_place(line) || is_labelled(line)
}

/// `bash: go: command not found`, `cat: a: No such file or directory`, and what PowerShell and Windows say.
fn is_of_shell(line: &str, lower: &str) -> bool {
    const ENDS: [&str; 6] = [
        ": not found",
        ": command not found",
        ": no such file or directory",
        ": permission denied",
        ": operation not permitted",
        ": is a directory",
    ];
    // zsh writes the command behind it.
    const INSIDE: [&str; 3] = [
        ": command not found: ",
        ": no such file or directory: ",
        " is not recognized as ",
    ];
    let end = lower.split(" (os error").next().unwrap_or(lower);
    let of_zsh = line.starts_with("(eval):") && (end.ends_with(" not found") || end.contains(": "));
    // What a search displays is quoted as it stands in a file.
    let is_quoted = line.contains(['"', '`']) || line.ends_with([')', ';', ',']) && end == lower;
    !is_quoted && (of_zsh || ENDS.iter().any(|e| end.ends_with(e)))
        || INSIDE.iter().any(|inside| lower.contains(inside))
        || lower.starts_with("permission denied")
}

/// `a.go:3:4: undefined: x`, `a.ts(6,33): error TS2307: ...`, and what eslint writes below a file's name.
fn names_place(line: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if let Some((place, rest)) = line.split_once(' ')
        && let Some((row, column)) = place.split_once(':')
        && is_number(row)
        && is_number(column)
    {
        return rest.trim_start().starts_with("error");
    }
    let Some((place, message)) = line.split_once(": ") else {
        return false;
    };
    let is_warning = ["warning", "note", "info"]
        .iter()
        .any(|word| message.starts_with(word));
    let file = match place.split_once('(').filter(|_| place.ends_with(')')) {
        Some((file, position)) => {
            let mut position = position.trim_end_matches(')').split(',');
            position.all(is_number).then_some(file)
        }
        None => {
            let mut parts = place.split(':');
            let file = parts.next();
            let rest: Vec<&str> = parts.collect();
            file.filter(|_| !rest.is_empty() && rest.iter().all(|part| is_number(part)))
        }
    };
    let is_file = |file: &str| file.contains('.') && !file.contains(' ');
    // What runners of tests write of a frame.
    let is_frame = message.starts_with('(');
    !is_warning && !is_frame && file.is_some_and(is_file) && !looks_like_source(message)
}

/// `error: ...`, `error[E0308]: ...`, `fatal: ...`, `ValueError: ...`, `panic: ...`, `E   assert ...`.
fn is_labelled(line: &str) -> bool {
    const LABELS: [&str; 11] = [
        "error[",
        "error TS",
        "fatal: ",
        "panic: ",
        "fatal error: ",
        "level=error ",
        "Exception in thread ",
        "E   ",
        "Assertion ",
        "assertion ",
        "go: module ",
    ];
    if LABELS.iter().any(|label| line.starts_with(label)) || line.contains(" panicked at ") {
        return true;
    }
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let line = line.strip_prefix("Caused by: ").unwrap_or(line);
    // Node shows an error as an object, and Elixir names it in brackets.
    let line = line.strip_prefix('[').unwrap_or(line);
    let of_elixir = line
        .strip_prefix("** (")
        .and_then(|line| line.split_once(") "));
    if of_elixir.is_some_and(|(name, _)| name.ends_with("Error") || name.starts_with("EXIT")) {
        return true;
    }
    let Some((label, message)) = line.split_once(": ") else {
        return false;
    };
    // Node adds its code: `AssertionError [ERR_ASSERTION]: ...`.
    let label = label.split(" [ERR_").next().unwrap_or(label);
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let last = label.rsplit(['.', ' ']).next().unwrap_or(label);
    let is_exception = label.split('.').all(is_name)
        && ["Error", "Exception", "Interrupt"]
            .iter()
            .any(|end| last.ends_with(end));
    // A linker and others put their own name before it: `collect2: error: ...`.
    let is_error = |label: &str| matches!(label, "error" | "Error" | "ERROR" | "[ERROR]");
    let is_program =
        |name: &str| is_name(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
    let lower = message.to_ascii_lowercase();
    let complains = [
        "could not",
        "cannot ",
        "can't ",
        "unable to",
        "failed to",
        "unrecognized",
        "does not match",
    ];
    let is_of_program = is_program(label)
        && (message.split_once(": ").is_some_and(|m| is_error(m.0))
            || complains.iter().any(|words| lower.contains(words)));
    (is_exception || is_error(label) || is_of_program) && !looks_like_source(message)
}

/// The name of a test that failed.
pub(super) fn is_failed_test(line: &str) -> bool {
    const BEGINS: [&str; 5] = ["--- FAIL: ", "FAILED ", "not ok ", "FAIL: ", "ERROR "];
    const ENDS: [&str; 3] = [" FAILED", " ... FAILED", " ... FAIL"];
    let result = match line.rsplit_once('[') {
        Some((result, share)) if share.ends_with("%]") => result.trim_end(),
        Some(_) | None => line,
    };
    let is_named = |end: &str| {
        let name = result.strip_suffix(end);
        name.is_some_and(|name| name.contains("::") || name.starts_with("test "))
    };
    let begins = BEGINS.iter().find_map(|begin| line.strip_prefix(begin));
    begins.is_some_and(|name| name.contains(['.', ':', '(', '-']) || line.starts_with("not ok "))
        || ENDS.iter().any(|end| is_named(end))
}

/// What test runners and linters put a sign before: `✕ adds`, `× expected a semicolon`, `[F] → Function is too complex`.
pub(super) fn is_marked(line: &str) -> bool {
    let line = line.trim_start_matches(['┃', '│', '|', ' ']);
    let is_counted = |rest: &str| rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let signed = ['✗', '✕', '✘', '✖', '×', '●']
        .iter()
        .find_map(|sign| line.strip_prefix(*sign));
    let mut letter = line.chars();
    let is_letter = letter.next() == Some('[')
        && letter.next().is_some_and(|c| c.is_ascii_uppercase())
        && letter.next() == Some(']');
    let has_arrow = || {
        let arrow = letter.as_str().trim_start().chars().next();
        arrow.is_some_and(|c| matches!(c, '↑' | '↗' | '→' | '↘' | '↓'))
    };
    signed.is_some_and(|rest| rest.starts_with(' ') && !is_counted(rest))
        || line.starts_with("Vulnerability #")
        || is_letter && has_arrow()
}

/// What package managers, build tools and runners write over or under the message of another program.
pub(super) fn is_heading(line: &str, lower: &str) -> bool {
    const BEGINS: [&str; 14] = [
        "npm err",
        "elifecycle",
        "err_pnpm",
        "traceback (most recent call last)",
        "during handling of the above",
        "error: could not compile",
        "error: aborting due to",
        "error: test failed, to rerun",
        "error: process completed",
        "exit status ",
        "make: *** [",
        "failure: build failed",
        "build failed",
        "test result: ",
    ];
    const INSIDE: [&str; 4] = [
        "error task failed",
        "command failed with exit code",
        "[build failed]",
        "[setup failed]",
    ];
    let lower = lower.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    // Nothing follows, or the package of the tests.
    let is_bare = line == "FAIL" || line.starts_with("FAIL\t") || line.starts_with("FAIL  ");
    let has_label_alone = line.ends_with(':') && line.split_whitespace().count() <= 3;
    is_bare
        || has_label_alone
        || BEGINS.iter().any(|begin| lower.starts_with(begin))
        || INSIDE.iter().any(|inside| lower.contains(inside))
}

/// `2 failed, 3 passed`, `Found 49 errors.`, `Total errors: 3`, `✖ 3 problems`.
pub(super) fn is_total(line: &str) -> bool {
    const COUNTED: [&str; 12] = [
        "error",
        "warning",
        "info",
        "failed",
        "failure",
        "failing",
        "passed",
        "passing",
        "test",
        "problem",
        "issue",
        "vulnerabilit",
    ];
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
    let is_counted = |word: &String| COUNTED.iter().any(|counted| word.starts_with(counted));
    let counts = words.windows(2).any(|two| {
        is_number(&two[0]) && is_counted(&two[1]) || is_counted(&two[0]) && is_number(&two[1])
    });
    // A sentence with a number in it is a message.
    counts && words.len() <= 12 && !line.contains(['/', '\\', '(', '`'])
}

/// Whether all that a line counts or tells of is none.
pub(super) fn has_nothing_wrong(lower: &str) -> bool {
    const NONE: [&str; 5] = ["no ", "without ", "0 ", ": 0", ": none"];
    const WRONG: [&str; 4] = ["error", "fail", "warning", "problem"];
    let is_none = |at: usize, word: &str| {
        let before = &lower[..at];
        let after = lower[at + word.len()..].trim_start_matches(|c: char| c.is_alphabetic());
        let is_number = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
        NONE[..3].iter().any(|none| {
            let whole = before.strip_suffix(none);
            whole.is_some_and(|rest| !is_number(rest) && !rest.ends_with(char::is_alphabetic))
        }) || NONE[3..].iter().any(|none| {
            let rest = after.strip_prefix(none);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        })
    };
    let mut places = WRONG
        .iter()
        .flat_map(|word| lower.match_indices(word))
        .peekable();
    places.peek().is_some() && places.all(|(at, word)| is_none(at, word))
}

/// Whether a line says that a test passed or was left out.
pub(super) fn has_passed(line: &str) -> bool {
    const BEGINS: [&str; 8] = ["PASS", "--- PASS", "--- SKIP", "ok ", "ok\t", "✓", "✔", "√"];
    const ENDS: [&str; 6] = [
        " PASSED",
        " SKIPPED",
        " XFAIL",
        " ... ok",
        " ... ignored",
        " ✓",
    ];
    let result = match line.rsplit_once('[') {
        Some((result, share)) if share.ends_with("%]") => result.trim_end(),
        Some(_) | None => line,
    };
    BEGINS.iter().any(|begin| line.starts_with(begin))
        || ENDS.iter().any(|end| result.ends_with(end))
}

/// Whether a line says what can be done, or where to read on.
pub(super) fn is_hint(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    const BEGINS: [&str; 16] = [
        "hint:",
        "help:",
        "note:",
        "= help",
        "= note",
        "use ",
        "(use ",
        "run ",
        "try ",
        "see ",
        "please ",
        "check ",
        "trust them",
        "for more ",
        "more info",
        "did you mean",
    ];
    const INSIDE: [&str; 3] = ["run with --", "a complete log of this run", "run `"];
    BEGINS.iter().any(|begin| lower.starts_with(begin))
        || INSIDE.iter().any(|inside| lower.contains(inside))
}

/// Whether a line says itself that it is a warning.
pub(super) fn is_warning(lower: &str) -> bool {
    const BEGINS: [&str; 5] = ["warn", "npm warn", "[warn", "level=warn", "w: "];
    const INSIDE: [&str; 4] = [": warning", " warning: ", " [warn", " warn "];
    BEGINS.iter().any(|begin| lower.starts_with(begin))
        || INSIDE.iter().any(|inside| lower.contains(inside))
}

/// Whether a line is a frame of a stack.
pub(super) fn is_frame(line: &str) -> bool {
    let of_python = line.starts_with("File \"") && line.contains(", line ");
    let of_javascript = line.starts_with("at ") && (line.ends_with(')') || line.contains(':'));
    let of_go = line.starts_with("goroutine ") || line.contains(".go:") && line.contains(" +0x");
    of_python || of_javascript || of_go || line.starts_with("--> ")
}

/// Whether a line is of a file or of data that is displayed.
pub(super) fn is_displayed(line: &str) -> bool {
    const COMMENTS: [&str; 6] = ["//", "/*", "* ", "<!--", "# ", "--"];
    let is_record = line.starts_with("{\"") || line.starts_with("[{") || line.starts_with('"');
    let numbered = line
        .trim_start_matches(['>', ' '])
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = numbered.len() < line.len() && {
        let numbered = numbered.trim_start();
        numbered.starts_with(['│', '→', '\t']) || numbered.starts_with("| ")
    };
    // Of a program that only underlines what is wrong, or of a change.
    let is_gutter = line.starts_with(['│', '┃']) || line.starts_with("| ");
    let is_changed = line.starts_with("+ ") || line.starts_with("- ") || line.starts_with("@@");
    // A search writes no blank behind the number of a line.
    let is_hit = |line: &str| {
        let (file, rest) = line.split_once(':').unwrap_or_default();
        let (number, text) = rest.split_once(':').unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        file.contains('.') && !file.contains(' ') && is_number && !text.starts_with(' ')
    };
    is_record
        || is_numbered
        || is_gutter
        || is_changed
        || is_hit(line)
        || COMMENTS.iter().any(|sign| line.starts_with(sign))
        || looks_like_source(line)
}

/// Whether a text is written as a statement of a program is.
fn looks_like_source(text: &str) -> bool {
    const BEGINS: [&str; 12] = [
        "import ", "func ", "fn ", "def ", "return ", "if ", "for ", "const ", "let ", "var ",
        "throw ", "raise ",
    ];
    const ENDS: [&str; 6] = ["{", "(", ",", ";", "->", "=>"];
    let is_call = text.ends_with(')')
        && text.split_once('(').is_some_and(|(name, _)| {
            let is_of_name =
                |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'!');
            !name.is_empty() && name.bytes().all(is_of_name)
        });
    is_call
        || ENDS.iter().any(|end| text.ends_with(end))
        || BEGINS.iter().any(|begin| text.starts_with(begin))
}
