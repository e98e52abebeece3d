//! The topics of `ctxpack help`: all are printed, their command lines parse, and what they list is what the code has.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use ctxpack::emit::Loss;
use ctxpack::format::Format;
use serde_json::Value;

use super::readme::{blocks, readme};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxpack");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn topic(name: &str) -> String {
    source(&format!("src/cli/topics/{name}.md"))
}

/// Every topic's name, by the files.
fn names() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("src/cli/topics")).unwrap();
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|file| stem(&file.unwrap().path())).collect()
}

/// The exit code and what was printed.
fn help(words: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM)
        .arg("help")
        .args(words)
        .env_clear()
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(printed).unwrap(),
    )
}

#[test]
fn help_lists_and_prints_every_topic() {
    let (code, listed) = help(&[]);
    assert_eq!(code, 0);
    let list = listed.split("\nTopics").nth(1).unwrap().lines().skip(1);
    let list = list.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    let list: BTreeSet<String> = list.map(str::to_owned).collect();
    assert_eq!(list, names());
    for name in list {
        let (code, printed) = help(&[&name]);
        assert_eq!(code, 0, "{name}");
        // After the help of a command, if one has the same name.
        assert!(printed.contains(&topic(&name)), "{name}: {printed}");
    }
    // The keys follow their introduction.
    let keys = help(&["keys"]).1;
    assert!(
        keys.contains("\n- `clear.min_tokens` (whole number"),
        "{keys}"
    );
    assert!(keys.contains("\n## [summary]\n"), "{keys}");
}

#[test]
fn help_of_a_command_is_what_its_flag_prints() {
    for words in [
        vec!["compact"],
        vec!["policy", "show"],
        vec!["help"],
        vec![],
    ] {
        let output = Command::new(PROGRAM)
            .args(&words)
            .arg("--help")
            .env_clear()
            .output()
            .unwrap();
        let flag = String::from_utf8(output.stdout).unwrap();
        assert_eq!(help(&words), (0, flag), "{words:?}");
    }
}

#[test]
fn what_has_no_help_is_an_error_with_a_hint() {
    let (code, said) = help(&["guarantee"]);
    assert_eq!(code, 2);
    assert!(said.contains("no command or topic \"guarantee\""), "{said}");
    assert!(
        said.contains("hint: did you mean \"guarantees\"?"),
        "{said}"
    );
    assert_eq!(help(&["compact", "keys"]).0, 2);
}

/// Completions offer commands and topics.
#[test]
fn the_readme_lists_every_topic() {
    let readme = include_str!("../README.md");
    let table = readme.split("| topic | what it explains |").nth(1).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap());
    let listed = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    assert_eq!(listed, names());
}

#[test]
fn completions_know_the_topics() {
    let output = Command::new(PROGRAM)
        .args(["completions", "bash"])
        .output()
        .unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(script.contains("exit-codes") && script.contains("guarantees"));
}

/// The words of each call of ctxpack on a shell line: what is before `|` and `&&`, without comments and redirections.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    let words = words.into_iter().filter(|word| !word.is_empty());
    let words: Vec<String> = words.take_while(|word| word != "#").collect();
    let parts = words.split(|word| word == "|" || word == "&&");
    let calls = parts.filter_map(|part| {
        let at = part.iter().position(|word| word == "ctxpack")?;
        let ends = |word: &&String| !["<", ">", ">>"].contains(&word.as_str());
        Some(part[at..].iter().take_while(ends).cloned().collect())
    });
    calls.collect()
}

/// Shell blocks, and what is named in passing.
fn command_lines(text: &str) -> Vec<String> {
    let in_blocks = blocks(text, "sh");
    let in_blocks = in_blocks.iter().flat_map(|block| block.lines());
    let in_text = text.lines().filter(|line| !line.starts_with("ctxpack "));
    let in_text = in_text.flat_map(|line| line.split('`').skip(1).step_by(2));
    let in_text = in_text.filter(|code| code.starts_with("ctxpack "));
    in_blocks.chain(in_text).map(str::to_owned).collect()
}

#[test]
fn every_command_line_parses() {
    let mut texts: BTreeMap<String, String> = names()
        .into_iter()
        .map(|name| (topic(&name), name))
        .collect();
    texts.insert(readme(), "README".to_owned());
    let mut parsed = 0;
    for (text, name) in texts {
        for line in command_lines(&text) {
            for words in calls(&line) {
                // A command's name in passing.
                if let [_, command] = words.as_slice()
                    && !command.starts_with('-')
                {
                    assert_eq!(help(&[command]).0, 0, "{name}: {line}");
                    continue;
                }
                let words = words.iter().map(OsString::from);
                assert!(ctxpack::cli::parse(words).is_ok(), "{name}: {line}");
                parsed += 1;
            }
        }
    }
    assert!(parsed > 60, "{parsed}");
}

/// Topics point to topics that exist.
#[test]
fn every_topic_that_is_referred_to_exists() {
    let known = names();
    for text in names().iter().map(|name| topic(name)).chain([readme()]) {
        for after in text.split("`ctxpack help ").skip(1) {
            let name = after.split('`').next().unwrap();
            assert!(name == "TOPIC" || known.contains(name), "{name}");
        }
    }
}

/// The part of a topic below this heading.
fn section(text: &str, heading: &str) -> String {
    let begin = format!("\n## {heading}\n");
    let after = text.split(begin.as_str()).nth(1);
    let after = after.unwrap_or_else(|| panic!("no heading {heading:?}"));
    after.split("\n## ").next().unwrap().to_owned()
}

/// What is in backquotes in the first column of its tables.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let firsts = rows.filter_map(|row| row.split(" | ").next());
    let names = firsts.flat_map(|first| first.split('`').step_by(2));
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[test]
fn the_formats_are_those_that_there_are() {
    let text = topic("formats");
    let known: BTreeSet<String> = Format::ALL
        .iter()
        .map(|format| format.name().to_owned())
        .collect();
    assert_eq!(listed(&text), known);
    for format in Format::ALL {
        let begin = format!("| `{}` |", format.name());
        let row = text.lines().find(|line| line.starts_with(&begin)).unwrap();
        assert_eq!(
            row.ends_with("| read only |"),
            !format.is_compacted(),
            "{row}"
        );
    }
}

/// The names of an enum's variants in its source, as reports write them.
fn variants(path: &str, name: &str) -> BTreeSet<String> {
    let source = source(path);
    let begin = format!("\npub enum {name} {{\n");
    let body = source.split(begin.as_str()).nth(1).unwrap();
    let body = body.split("\n}").next().unwrap();
    let lines = body.lines().map(str::trim);
    let variants = lines.filter_map(|line| line.strip_suffix(','));
    let variants = variants.filter(|variant| variant.chars().all(char::is_alphanumeric));
    variants.map(snake_case).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[test]
fn the_kinds_of_errors_are_those_that_there_are() {
    let text = topic("errors");
    for (heading, path, name) in [
        ("Errors", "src/error.rs", "ErrorKind"),
        ("Rejections", "src/outcome.rs", "Rejection"),
        ("Degraded", "src/outcome/degraded.rs", "DegradedKind"),
        ("Warnings", "src/outcome/degraded.rs", "WarningKind"),
        ("Odd lines", "src/format/line.rs", "WarningKind"),
    ] {
        let variants = variants(path, name);
        assert!(variants.len() > 1, "{name}");
        assert_eq!(listed(&section(&text, heading)), variants, "{heading}");
    }
}

#[test]
fn the_exit_codes_are_those_that_there_are() {
    let rows = topic("exit-codes");
    let rows = rows.lines().filter_map(|line| line.strip_prefix("| "));
    let codes: Vec<u8> = rows
        .filter_map(|row| row.split(' ').next()?.parse().ok())
        .collect();
    let source = source("src/outcome.rs");
    let body = source
        .split("pub enum Exit {")
        .nth(1)
        .unwrap()
        .split("\n}")
        .next()
        .unwrap();
    let values = body
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split(" = ").nth(1));
    let mut known: Vec<u8> = values.map(|value| value.parse().unwrap()).collect();
    // Signals.
    known.extend([129, 130, 143]);
    assert_eq!(codes, known);
}

/// Adds the keys of an object to `keys`, and those of the objects in it but for the parts that have a table of their own.
fn collect(
    object: &Value,
    apart: &[&str],
    own: &mut BTreeSet<String>,
    inner: &mut BTreeSet<String>,
) {
    for (key, value) in object.as_object().unwrap() {
        own.insert(key.clone());
        if apart.contains(&key.as_str()) {
            continue;
        }
        let list = std::slice::from_ref(value);
        for item in value.as_array().map_or(list, Vec::as_slice) {
            inner.extend(
                item.as_object()
                    .into_iter()
                    .flat_map(|item| item.keys().cloned()),
            );
        }
    }
}

/// Compares the tables with the report of all fixtures.
#[test]
fn the_fields_of_a_report_are_those_that_it_has() {
    let out = tempfile::tempdir().unwrap();
    let report = out.path().join("report.json");
    let status = Command::new(PROGRAM)
        .args([
            "compact",
            "fixtures",
            "--isolated",
            "-q",
            "--set",
            "clear.keep=3",
            "--timings",
            "--emit",
            "messages",
            "--out-dir",
        ])
        .arg(out.path().join("out"))
        .arg("--report")
        .arg(&report)
        .current_dir(root())
        .status()
        .unwrap();
    assert!(status.code().is_some());
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();

    let list = |value: &Value| value.as_array().unwrap().clone();
    let files = list(&report["files"]);
    let conversations: Vec<Value> = files
        .iter()
        .flat_map(|file| list(&file["conversations"]))
        .collect();
    let actions = conversations
        .iter()
        .flat_map(|one| list(&one["actions"]))
        .collect();
    let summaries = conversations.iter().map(|one| one["summary"].clone());
    let summaries = summaries.filter(|summary| !summary.is_null()).collect();

    let text = topic("reports");
    let parts: [(&str, Vec<Value>, &[&str]); 7] = [
        (
            "Top level",
            vec![report.clone()],
            &["policy", "totals", "files"],
        ),
        ("policy", vec![report["policy"].clone()], &[]),
        ("totals", vec![report["totals"].clone()], &[]),
        ("An entry of files", files, &["conversations"]),
        (
            "An entry of conversations",
            conversations,
            &["actions", "summary", "emitted"],
        ),
        ("An entry of actions", actions, &[]),
        ("summary", summaries, &[]),
    ];
    for (heading, objects, apart) in parts {
        let (mut own, mut inner) = (BTreeSet::new(), BTreeSet::new());
        for object in &objects {
            collect(object, apart, &mut own, &mut inner);
        }
        let section = section(&text, heading);
        let mut listed = listed(&section);
        // Only where a signal ended the run.
        if heading == "totals" {
            listed.remove("interrupted");
        }
        // Only where a server was asked.
        for key in ["spent", "rounds", "estimate"] {
            listed.remove(key);
        }
        if heading == "summary" {
            listed.remove("error");
        }
        // Only where a model wrote one.
        listed.remove("narrative");
        // Only where a file is compressed.
        listed.remove("stored_before");
        listed.remove("stored_after");
        assert_eq!(listed, own, "{heading}");
        for key in inner {
            assert!(section.contains(&format!("`{key}`")), "{heading}: {key}");
        }
    }
}

#[test]
fn the_losses_of_an_emitted_conversation_are_those_that_are_told() {
    let text = topic("reports");
    let told = listed(&section(&text, "An entry of losses"));
    let all: BTreeSet<String> = Loss::ALL.map(|loss| loss.name().to_owned()).into();
    assert_eq!(told, all);
    for loss in Loss::ALL {
        let written = serde_json::to_value(loss).unwrap();
        assert_eq!(written, Value::String(loss.name().to_owned()));
    }
}

/// Policy files that are shown are policies.
#[test]
fn every_policy_that_is_shown_is_one() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("own.toml");
    let mut seen = 0;
    for text in names().iter().map(|name| topic(name)).chain([readme()]) {
        for block in blocks(&text, "toml") {
            fs::write(&file, &block).unwrap();
            let output = Command::new(PROGRAM)
                .args(["policy", "show"])
                .arg(&file)
                .env_clear()
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{block}\n{said}");
            seen += 1;
        }
    }
    assert!(seen > 2);
}
