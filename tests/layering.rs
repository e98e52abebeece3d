//! The layers of the library: imports go strictly downward, pure modules do no I/O, every file begins with its purpose.

mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules from the top layer to the bottom; modules of one layer do not import each other.
const LAYERS: [&[&str]; 22] = [
    // What a user meets, then many inputs, then one.
    &["cli", "library"],
    &["batch"],
    &["report"],
    // A policy over a session, round after round; and what it leaves, held against what came next.
    &["eval", "replay"],
    // A transcript is compacted, or only counted, or held against another one.
    &["pipeline", "stats", "diff"],
    // The stages: a change set is settled from a plan and what artifacts gathered for it.
    &["apply"],
    &["settle"],
    // Answers questions that artifacts have.
    &["http"],
    &["artifacts"],
    &["plan", "store"],
    &["outcome"],
    // Tells facts in few tokens.
    &["summarizer"],
    // What happened in a conversation; a policy says which tools are of which kind.
    &["facts"],
    // Estimates follow a policy's settings.
    &["tokens", "emit"],
    &["policy"],
    // A format fills a transcript from what the scan hands out, and says by which rules it is checked.
    &["format"],
    &["verify"],
    &["transcript"],
    &["ids"],
    &["scan"],
    &["error", "redact"],
    &["semaphore", "text", "threads"],
];

/// Rooms whose results follow from their arguments alone.
const PURE: [&str; 21] = [
    "redact",
    "apply",
    "verify",
    "settle",
    "plan",
    "outcome",
    "summarizer",
    "facts",
    "tokens",
    "emit",
    "policy",
    "format",
    "transcript",
    "ids",
    "scan",
    "text",
    "pipeline",
    "stats",
    "diff",
    "replay",
    "eval",
];

/// What reaches outside of the program, or depends on when and where it runs.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "println!",
    "print!",
];

fn layer(module: &str) -> usize {
    let layer = LAYERS.iter().position(|modules| modules.contains(&module));
    layer.unwrap_or_else(|| {
        panic!("the module `{module}` has no layer: add it in tests/layering.rs")
    })
}

/// Every source file of the library with its module and its text, without code for tests only.
fn sources() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(&root).unwrap().to_owned();
            let is_test = inside
                .components()
                .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")));
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !is_test {
                let first = inside
                    .components()
                    .next()
                    .unwrap()
                    .as_os_str()
                    .to_str()
                    .unwrap();
                let module = first.trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).unwrap();
                let text = text
                    .split("#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap()
                    .to_owned();
                sources.push((inside, module, text));
            }
        }
    }
    sources.sort();
    sources
}

/// The modules that a file refers to, by `use` or inline, without comments.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut modules = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let name = |text: &str| {
            text.chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect::<String>()
        };
        match after.strip_prefix('{') {
            Some(list) => modules.extend(
                list.split('}')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|item| name(item.trim())),
            ),
            None => drop(modules.insert(name(after))),
        }
    }
    modules.remove("");
    modules
}

#[test]
fn imports_go_strictly_downward() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        if matches!(module.as_str(), "main" | "lib") {
            continue;
        }
        for import in imports(&text) {
            if import != module && layer(&import) <= layer(&module) {
                wrong.push(format!("{}: {module} imports {import}", file.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_crate_documents_this_order() {
    let lib = include_str!("../src/lib.rs");
    let order: String = LAYERS
        .iter()
        .map(|modules| format!("//! {}\n", modules.join(", ")))
        .collect();
    assert!(
        lib.contains(&format!("//! ```text\n{order}//! ```\n")),
        "{order}"
    );
}

#[test]
fn pure_modules_reach_nothing_outside() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        if PURE.contains(&module.as_str()) {
            let found = IMPURE.iter().filter(|what| text.contains(**what));
            wrong.extend(found.map(|what| format!("{}: {what}", file.display())));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = sources()
        .into_iter()
        .filter(|(_, _, text)| !text.starts_with("//! "));
    assert_eq!(
        silent.map(|(file, ..)| file).collect::<Vec<_>>(),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn the_test_sees_imports() {
    let text = "use crate::scan::{Span, lines};\n// crate::cli\nfn f() { crate::text::count(1, \"\") }\nuse crate::{error, plan};";
    let expected = ["error", "plan", "scan", "text"].map(str::to_owned);
    assert_eq!(imports(text), BTreeSet::from(expected));
    assert!(sources().len() > 50);
}
