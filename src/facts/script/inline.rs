//! Programs passed to an interpreter on its command line or in a here-document.
//!
//! PURE. Such a program only reads if nothing in its text may write. A computed function name escapes this test, and a program in a
//! file is never known.

use super::{Word, WordKind};

/// Words with which programs write files, or run others.
const WRITING: &[&str] = &[
    "write",
    "Write",
    "unlink",
    "remove",
    "rename",
    "replace(",
    "rmtree",
    "rmSync",
    "rm(",
    "mkdir",
    "move",
    "copy",
    "truncate",
    "system",
    "popen",
    "Popen",
    "subprocess",
    "spawn",
    "exec",
    "eval",
    "shutil",
    "dump(",
    "'w",
    "\"w",
    "'a'",
    "\"a\"",
    "'r+",
    "\"r+",
    "touch",
    "symlink",
    "fs.",
    "open(",
    "import_module",
    "inplace",
    "File.",
    "FileUtils",
    "IO.",
    "`",
    "put_contents",
    "fwrite",
    ".to_",
    ".save",
    "savefig",
    "savetxt",
    "urlretrieve",
    "extract",
    "download",
    "mode=",
    "'x'",
    "\"x\"",
    "makedirs",
    "connect(",
    "syswrite",
    "chmod",
    "mkfifo",
    "Deno.",
    "Bun.",
    "install",
    "getattr",
    "__import__",
    "runpy",
];

/// Whether the program that an interpreter runs only reads.
pub(super) fn only_reads(program: &str, arguments: &[Word], document: Option<&str>) -> bool {
    let text = |at: usize| arguments.get(at).map(|word| &word.text[..]);
    let has_flag = |start: &str| arguments.iter().any(|word| word.text.starts_with(start));
    match text(0) {
        Some("--version" | "-V" | "-v" | "--help") => true,
        Some("--check") if program == "node" => true,
        Some("--test") if program == "node" => !has_flag("--test-update"),
        Some("-c" | "-e" | "-p" | "-pe" | "-r" | "--eval" | "--print") => {
            // These also accept flags after a program, such as in-place editing.
            let has_more = arguments.iter().skip(2).any(|word| {
                matches!(program, "perl" | "ruby")
                    && (word.text.starts_with('-') || is_put_in(word))
            });
            let script = arguments.get(1).filter(|script| !is_put_in(script));
            !has_more && script.is_some_and(|script| writes_nothing_of(program, &script.text))
        }
        Some("-") | None => document.is_some_and(|text| writes_nothing_of(program, text)),
        Some(_) => false,
    }
}

fn is_put_in(word: &Word) -> bool {
    word.kind == WordKind::Expanded
}

fn writes_nothing_of(program: &str, text: &str) -> bool {
    // In Perl, the mode may be a part of the name.
    let opens = program == "perl" && text.contains("open");
    !opens && writes_nothing(text)
}

fn writes_nothing(text: &str) -> bool {
    // Opening a file without a mode, or with a read mode, only reads.
    let is_reading = |word: &&&str| **word == "open(" && opens_for_reading(text);
    let found = WRITING.iter().filter(|word| text.contains(**word));
    found.filter(|word| !is_reading(word)).count() == 0
}

/// Whether every call that opens a file passes only its name or a read mode.
fn opens_for_reading(text: &str) -> bool {
    const OPEN: &str = "open(";
    const MODES: [&str; 5] = ["'r'", "\"r\"", "'rb'", "\"rb\"", "encoding="];
    // All calls that end at one bracket extend up to it, so the last part before it applies to each of them.
    text.split(')').all(|part| {
        let comma = part.rfind(',');
        let mode = MODES.iter().filter_map(|mode| part.rfind(mode)).max();
        let mut calls = part.match_indices(OPEN).map(|(at, _)| at + OPEN.len());
        calls.all(|behind| {
            let has = |last: Option<usize>| last.is_some_and(|last| last >= behind);
            !has(comma) || has(mode)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_opened_for_reading_are_told_from_others() {
        for text in [
            "open(a)",
            "open(a, 'r')",
            "open(a, encoding='x').read(); open(b)",
            "open(open(a, 'rb'",
            "f(a, b); open(a",
        ] {
            assert!(opens_for_reading(text), "{text}");
        }
        for text in [
            "open(a, m)",
            "open(a, 'r'); open(b, m)",
            "open(a, 'r', open(b, m",
            "open(f(open(a, m",
        ] {
            assert!(!opens_for_reading(text), "{text}");
        }
    }

    #[test]
    fn a_long_program_takes_little() {
        let text = "open(".repeat(200_000);
        assert!(opens_for_reading(&text));
        assert!(!opens_for_reading(&format!("{text}a, m")));
    }
}
