//! The README: its commands run, its samples are current, it stays short, and what it refers to exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Words of the whole file, tables and commands included.
const MOST_WORDS: usize = 1500;

/// Programs that the README mentions and a test cannot have: they only succeed.
const OTHERS: [&str; 4] = ["cargo", "claude", "codex", "pi"];

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxpack");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The blocks of a Markdown text in this language.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let parts = text.split(begin.as_str()).skip(1);
    let blocks = parts.map(|part| part.split("\n```").next().unwrap().to_owned());
    blocks.collect()
}

#[test]
fn it_is_short() {
    let words = readme().split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words");
}

/// A session that every policy has something to do with.
pub(crate) fn session() -> String {
    let mut lines = vec![json!({"role": "user", "content": "Make the parser take tabs"})];
    for n in 0..60 {
        let id = format!("toolu_{n}");
        let path = format!("src/part_{n}.rs");
        let call =
            json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}});
        let text: String = (0..90)
            .map(|line| format!("{line}\tlet value_{n}_{line} = parse_{line}(input_{n});\n"))
            .collect();
        let said = format!("Now I look at value_{n}_7 in {path}.");
        lines.push(json!({"role": "assistant", "content": [{"type": "text", "text": said}, call]}));
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        lines.push(json!({"role": "user", "content": [result]}));
    }
    lines.push(json!({"role": "assistant", "content": "Done."}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A home folder with all that the README's commands mention.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Home {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in [
            "session.jsonl",
            "archive/a.jsonl",
            "archive/sub/b.jsonl",
            "sessions/c.jsonl",
        ] {
            home.write(name, &session());
        }
        let case = "fixtures/anthropic/auto-keeps-5-of-all-tools";
        for entry in fs::read_dir(root().join(case)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            home.write(
                &format!("{case}/{name}"),
                &fs::read_to_string(path).unwrap(),
            );
        }
        for name in OTHERS {
            home.write(&format!("bin/{name}"), "#!/bin/sh\n");
        }
        // Sessions where agents keep them, by the paths that the commands name.
        for block in blocks(&readme(), "sh") {
            let agents = block.split_whitespace().filter_map(|word| {
                let path = word.strip_prefix("~/")?;
                path.ends_with(".jsonl").then(|| path.to_owned())
            });
            for path in agents {
                let format = match path.split('/').next().unwrap() {
                    ".claude" => "claude-code",
                    ".codex" => "codex",
                    ".pi" => "pi",
                    other => panic!("whose sessions are in {other}?"),
                };
                home.write(&path, &fs::read_to_string(fixture(format)).unwrap());
            }
        }
        // And one of the folder in which the commands are typed.
        let here = home.path("").canonicalize().unwrap();
        let here = here.to_str().unwrap();
        let slug = here.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let session = format!(".claude/projects/{slug}/5c030e11-0000-4000-8000-000000000001.jsonl");
        let text = fs::read_to_string(fixture("claude-code")).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        home.write(
            &session,
            &text.replace(first["cwd"].as_str().unwrap(), here),
        );
        fs::create_dir(home.path("tmp")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if name.starts_with("bin/") {
            executable(&path);
        }
    }

    /// Runs a block as a shell would, up to the first command that fails.
    fn run(&self, block: &str) -> Output {
        let tmp = format!("{}/", self.path("tmp").display());
        let bin = Path::new(PROGRAM).parent().unwrap();
        let path = format!(
            "{}:{}:/usr/bin:/bin",
            self.path("bin").display(),
            bin.display()
        );
        Command::new("sh")
            .args(["-eu", "-c", &block.replace("/tmp/", &tmp)])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .output()
            .unwrap()
    }
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn executable(_: &Path) {}

/// Some transcript of a format.
fn fixture(format: &str) -> PathBuf {
    let cases = fs::read_dir(root().join("fixtures").join(format)).unwrap();
    let mut inputs: Vec<PathBuf> = cases
        .map(|case| case.unwrap().path().join("input.jsonl"))
        .filter(|input| input.exists())
        .collect();
    inputs.sort();
    inputs.remove(0)
}

/// In the order of the page, in one folder, as a reader would.
#[cfg(unix)]
#[test]
fn every_command_block_runs() {
    let home = Home::new();
    let blocks = blocks(&readme(), "sh");
    assert!(blocks.len() > 8, "{blocks:#?}");
    for block in blocks {
        let output = home.run(&block);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{block}\n\n{said}");
    }
    // What the text says of them.
    let example: Value =
        serde_json::from_slice(&fs::read(home.path("tmp/compacted/ctxpack.stats.json")).unwrap())
            .unwrap();
    assert_eq!(example["totals"]["compacted"], 1);
    assert_eq!(
        fs::read_to_string(home.path("session.jsonl")).unwrap(),
        session()
    );
    assert_eq!(fs::read_to_string(home.path("a.jsonl")).unwrap(), session());
    // The archive became smaller, and is as it was again.
    let totals = fs::read_to_string(home.path("totals.csv")).unwrap();
    assert!(totals.contains(",compacted,"), "{totals}");
    assert_eq!(
        fs::read_to_string(home.path("archive/sub/b.jsonl")).unwrap(),
        session()
    );
}

/// `scripts/readme-samples` writes the sample anew. It needs python3, which CI has.
#[cfg(unix)]
#[test]
fn the_sample_is_what_the_program_prints() {
    let output = Command::new(root().join("scripts/readme-samples"))
        .arg("--check")
        .env("CTXPACK", PROGRAM)
        .output()
        .unwrap();
    if output.status.code() == Some(2) && std::env::var_os("CI").is_none() {
        return;
    }
    output.assert().success();
}

#[test]
fn the_files_that_it_links_to_exist() {
    let readme = readme();
    let links = readme
        .split("](")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap());
    let mut seen = 0;
    for link in links {
        assert!(root().join(link).exists(), "{link}");
        seen += 1;
    }
    assert!(seen > 5);
}

/// `scripts/readme-pictures` takes them, and says whether they show what the text says.
#[test]
fn its_pictures_exist_and_load_quickly() {
    const MOST_BYTES: usize = 150_000;
    let readme = readme();
    let mut seen = 0;
    for attribute in ["src=\"", "srcset=\""] {
        for rest in readme.split(attribute).skip(1) {
            let path = rest.split('"').next().unwrap();
            let picture = fs::read(root().join(path)).unwrap();
            assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "{path}");
            assert!(
                picture.len() < MOST_BYTES,
                "{path}: {} bytes",
                picture.len()
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

/// Both tables of presets are complete and name no other.
#[test]
fn it_lists_every_preset() {
    let listed = Command::new(PROGRAM)
        .args(["policy", "list"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let listed: Vec<&str> = listed
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert!(listed.len() > 5, "{listed:?}");
    let readme = readme();
    let table = readme.split("| preset |").nth(1).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .map_while(|row| row.strip_prefix("| `"));
    let mut rows: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    rows.sort_unstable();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(rows, sorted);
    let topic = fs::read_to_string(root().join("src/cli/topics/policies.md")).unwrap();
    for name in listed {
        assert!(topic.contains(&format!("\n`{name}`")), "{name}");
    }
}
