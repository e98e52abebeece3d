//! The house's order: imports go strictly downward, pure rooms do no I/O, every file says what it is for.

mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from top to bottom; those on one floor know nothing of each other.
const FLOORS: [&[&str]; 22] = [
    // What a user meets, then many inputs, then one.
    &["cli", "library"],
    &["batch"],
    &["report"],
    // A policy over a session, round after round; and what it leaves, held against what came next.
    &["eval", "replay"],
    // A transcript is compacted, or only counted.
    &["pipeline", "stats"],
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
    &["tokens"],
    &["policy"],
    // A format fills a transcript from what the scan hands out, and says by which rules it is checked.
    &["format"],
    &["verify"],
    &["transcript"],
    &["ids"],
    &["scan"],
    &["error", "redact"],
    &["semaphore", "text"],
];

/// Rooms whose results follow from their arguments alone.
const PURE: [&str; 19] = [
    "redact",
    "apply",
    "verify",
    "settle",
    "plan",
    "outcome",
    "summarizer",
    "facts",
    "tokens",
    "policy",
    "format",
    "transcript",
    "ids",
    "scan",
    "text",
    "pipeline",
    "stats",
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

fn floor(room: &str) -> usize {
    let floor = FLOORS.iter().position(|rooms| rooms.contains(&room));
    floor.unwrap_or_else(|| {
        panic!("the room `{room}` has no floor: say in tests/layering.rs where it belongs")
    })
}

/// Every source file of the library with its room and its text, without what is compiled for tests only.
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
                let room = first.trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).unwrap();
                let text = text
                    .split("#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap()
                    .to_owned();
                sources.push((inside, room, text));
            }
        }
    }
    sources.sort();
    sources
}

/// The rooms that a file names, by `use` or inline; comments do not count.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut rooms = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let name = |text: &str| {
            text.chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect::<String>()
        };
        match after.strip_prefix('{') {
            Some(list) => rooms.extend(
                list.split('}')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|item| name(item.trim())),
            ),
            None => drop(rooms.insert(name(after))),
        }
    }
    rooms.remove("");
    rooms
}

#[test]
fn imports_go_strictly_downward() {
    let mut wrong = Vec::new();
    for (file, room, text) in sources() {
        if matches!(room.as_str(), "main" | "lib") {
            continue;
        }
        for import in imports(&text) {
            if import != room && floor(&import) <= floor(&room) {
                wrong.push(format!("{}: {room} imports {import}", file.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_crate_documents_this_order() {
    let lib = include_str!("../src/lib.rs");
    let order: String = FLOORS
        .iter()
        .map(|rooms| format!("//! {}\n", rooms.join(", ")))
        .collect();
    assert!(
        lib.contains(&format!("//! ```text\n{order}//! ```\n")),
        "{order}"
    );
}

#[test]
fn pure_rooms_reach_nothing_outside() {
    let mut wrong = Vec::new();
    for (file, room, text) in sources() {
        if PURE.contains(&room.as_str()) {
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
