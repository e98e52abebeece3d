//! Programs that are given to an interpreter on its command line, or in a document behind it.
//!
//! PURE. Such a program only reads where nothing in its text may write: whoever computes the name of a function is not caught by
//! that, and a program in a file is never known.

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
];

/// Modules that are programs of their own, and write nothing.
const MODULES: &[&str] = &[
    "pytest",
    "unittest",
    "mypy",
    "pyright",
    "flake8",
    "pylint",
    "json.tool",
    "http.server",
    "compileall",
    "py_compile",
    "timeit",
    "pip",
    "tox",
    "coverage",
];

/// Whether what an interpreter runs only reads.
pub(super) fn only_reads(program: &str, arguments: &[Word], document: Option<&str>) -> bool {
    let text = |at: usize| arguments.get(at).map(|word| &word.text[..]);
    match text(0) {
        Some("--version" | "-V" | "-v" | "--help") => true,
        Some("-m") => {
            text(1).is_some_and(|module| MODULES.contains(&module)) && program.starts_with("python")
        }
        Some("--check") if program == "node" => true,
        Some("--test") if program == "node" => true,
        Some("-c" | "-e" | "-p" | "-pe" | "-r" | "--eval" | "--print") => arguments
            .get(1)
            .is_some_and(|script| script.kind == WordKind::Literal && writes_nothing(&script.text)),
        Some("-") | None => document.is_some_and(writes_nothing),
        Some(_) => false,
    }
}

fn writes_nothing(text: &str) -> bool {
    // To open a file for reading is to name no mode, or that of reading.
    let is_reading = |word: &&&str| **word == "open(" && opens_for_reading(text);
    let found = WRITING.iter().filter(|word| text.contains(**word));
    found.filter(|word| !is_reading(word)).count() == 0
}

/// Whether every call that opens a file gives its name alone, or the mode of reading.
fn opens_for_reading(text: &str) -> bool {
    text.match_indices("open(").all(|(at, call)| {
        let inside = text[at + call.len()..]
            .split(')')
            .next()
            .unwrap_or_default();
        let modes = ["'r'", "\"r\"", "'rb'", "\"rb\"", "encoding="];
        !inside.contains(',') || modes.iter().any(|mode| inside.contains(mode))
    })
}
