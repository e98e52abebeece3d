//! What `src/policy/presets/systems.md` says of the published systems: every fixture and every file of tests that it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all fixtures, without their formats; those of `replay` with it.
fn fixtures() -> BTreeSet<String> {
    let folders = |path: &Path| -> Vec<_> {
        let entries = fs::read_dir(path).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect()
    };
    let mut names = BTreeSet::new();
    for format in folders(&root().join("fixtures")) {
        let is_replay = format.ends_with("replay");
        for case in folders(&format) {
            let name = case.file_name().unwrap().to_str().unwrap();
            names.insert(if is_replay {
                format!("replay/{name}")
            } else {
                name.to_owned()
            });
        }
    }
    names
}

/// The cells of the rows of a table, with the heading above it.
fn rows(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut heading = "";
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title;
        } else if line.starts_with("| ") && !line.starts_with("| ---") {
            rows.push((
                heading,
                line.trim_matches('|').split('|').map(str::trim).collect(),
            ));
        }
    }
    rows
}

#[test]
fn what_shows_a_statement_exists() {
    let text = fs::read_to_string(root().join("src/policy/presets/systems.md")).unwrap();
    let (known, mut missing, mut statements) = (fixtures(), Vec::new(), 0);
    for (heading, cells) in rows(&text) {
        let preset = heading.split('`').nth(1);
        statements +=
            u32::from(preset.is_some() && !cells[0].is_empty() && cells[0] != "what it says");
        let shown = cells.last().unwrap();
        if let Some(name) = shown.split('`').nth(1) {
            let folder = match preset {
                _ if shown.ends_with("(of `replay`)") => format!("replay/{name}"),
                Some(preset) => format!("{preset}-{name}"),
                None => name.to_owned(),
            };
            if !known.contains(&folder) {
                missing.push(folder);
            }
        }
        let files = cells.iter().flat_map(|cell| cell.split('`'));
        let files =
            files.filter(|part| part.starts_with("tests/") || part.starts_with("fixtures/"));
        missing.extend(
            files
                .filter(|file| !root().join(file).exists())
                .map(str::to_owned),
        );
    }
    assert_eq!(missing, [""; 0]);
    assert!(statements >= 140, "{statements}");
}
