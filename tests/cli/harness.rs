//! A folder to work in, the program to run there, and transcripts whose compacted form is known.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::schemas::{assert_is_error, assert_is_of_its_form};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxpack");

/// A folder that is gone after the test.
pub(super) struct Place(TempDir);

/// What a run left behind.
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

/// A file system in memory, on Linux.
const MEMORY: &str = "/dev/shm";

/// Whether there is room for the files of several tests: containers often have 64 MB.
#[cfg(unix)]
fn has_room(folder: &str) -> bool {
    const ENOUGH: u64 = 1 << 30;
    rustix::fs::statvfs(folder).is_ok_and(|of| of.f_bavail * of.f_frsize > ENOUGH)
}

#[cfg(not(unix))]
fn has_room(_: &str) -> bool {
    false
}

impl Place {
    pub(super) fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// The same in memory, where there is room: for many runs that wait for a disk otherwise.
    pub(super) fn in_memory() -> Self {
        let place = has_room(MEMORY).then(|| tempfile::tempdir_in(MEMORY).ok());
        place.flatten().map_or_else(Place::new, Place)
    }

    /// A folder with these files.
    pub(super) fn with<B: AsRef<[u8]>>(files: &[(&str, B)]) -> Self {
        Place::new().and(files)
    }

    /// The same folder with these files.
    pub(super) fn and<B: AsRef<[u8]>>(self, files: &[(&str, B)]) -> Self {
        for (name, bytes) in files {
            self.write(name, bytes);
        }
        self
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn append(&self, name: &str, bytes: &str) {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(self.path(name))
            .unwrap();
        file.write_all(bytes.as_bytes()).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// What a file holds; a report must be of its form.
    pub(super) fn json(&self, name: &str) -> Value {
        let value = serde_json::from_slice(&self.read(name)).unwrap();
        assert_is_of_its_form(&value);
        value
    }

    /// The name of every file, stores included, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(self.0.path(), self.0.path(), &mut names);
        names.sort();
        names
    }

    /// The name of every file but those of stores, sorted.
    pub(super) fn files(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| !name.contains(".ctxpack/"));
        names
    }

    /// Every file with its bytes, stores included.
    pub(super) fn all_files(&self) -> BTreeMap<String, Vec<u8>> {
        let with_bytes = |name: String| (name.clone(), self.read(&name));
        self.names().into_iter().map(with_bytes).collect()
    }

    /// The program with `args`, which white space separates, in this folder.
    pub(super) fn command(&self, args: &str) -> process::Command {
        self.command_of(PROGRAM, &args.split_whitespace().collect::<Vec<_>>())
    }

    /// Some program in this folder.
    pub(super) fn command_of(&self, program: &str, args: &[&str]) -> process::Command {
        let mut command = process::Command::new(program);
        command
            .args(args)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// Runs the program without a word on its standard input.
    pub(super) fn run(&self, args: &str) -> Ran {
        Ran::of(Command::from_std(self.command(args)))
    }

    /// Runs the program with these names in its environment.
    pub(super) fn run_with(&self, env: &[(&str, &str)], args: &str) -> Ran {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        Ran::of(Command::from_std(command))
    }

    /// Runs the program in a folder of this one.
    pub(super) fn run_in(&self, folder: &str, args: &str) -> Ran {
        let mut command = self.command(args);
        command.current_dir(self.path(folder));
        Ran::of(Command::from_std(command))
    }

    /// Runs the program; `args` may hold white space.
    pub(super) fn run_args(&self, args: &[&str]) -> Ran {
        Ran::of(Command::from_std(self.command_of(PROGRAM, args)))
    }

    /// Runs the program with `input` on its standard input.
    pub(super) fn pipe(&self, args: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut command = Command::from_std(self.command(args));
        command.write_stdin(input.as_ref());
        Ran::of(command)
    }

    /// Runs a shell line in which `$CTXPACK` is the program.
    #[cfg(unix)]
    pub(super) fn shell(&self, line: &str) -> Ran {
        let mut command = self.command_of("sh", &["-c", line]);
        command.env("CTXPACK", PROGRAM);
        Ran::of(Command::from_std(command))
    }
}

impl Ran {
    fn of(mut command: Command) -> Self {
        let output = command.timeout(Duration::from_secs(120)).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        // Whatever a test is about, what is written for programs is of its form.
        if let Ok(value) = serde_json::from_slice(&output.stdout) {
            assert_is_of_its_form(&value);
        }
        err.lines()
            .filter(|line| line.starts_with("{\"kind\":"))
            .for_each(assert_is_error);
        Ran {
            code: output.status.code(),
            out: output.stdout,
            err,
        }
    }

    /// The same run, if its exit code is this one.
    #[track_caller]
    pub(super) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.err);
        self
    }

    /// The same run, if its stderr says all of this.
    #[track_caller]
    pub(super) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in:\n{}", self.err);
        }
        self
    }

    /// The same run, if its stdout shows all of this.
    #[track_caller]
    pub(super) fn shows(self, parts: &[&str]) -> Self {
        let text = self.text();
        for part in parts {
            assert!(text.contains(part), "no {part:?} in:\n{text}");
        }
        self
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

fn collect(top: &Path, folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, names);
        } else {
            let name = path.strip_prefix(top).unwrap().to_string_lossy();
            names.push(name.replace('\\', "/"));
        }
    }
}

/// Results that `auto` leaves alone because they are the newest.
pub(super) const KEPT: usize = 5;
/// What a cleared result of [`anthropic`] says.
const CLEARED: &str = "[Output of Bash cleared - run it again if needed]";

/// A tool's output of some 450 tokens: large enough to be cleared, too small to be demoted.
pub(super) fn output(i: usize) -> String {
    format!("line {i} of the output\n").repeat(100)
}

/// Anthropic messages with `results` tool results, the first `cleared` of which are placeholders.
pub(super) fn anthropic(results: usize, cleared: usize) -> String {
    let content = |i| {
        if i < cleared {
            CLEARED.to_owned()
        } else {
            output(i)
        }
    };
    anthropic_of((0..results).map(content))
}

/// Anthropic messages with these tool results.
pub(super) fn anthropic_of(results: impl IntoIterator<Item = String>) -> String {
    let mut lines = vec![json!({"role": "user", "content": "Please look around."})];
    for (i, content) in results.into_iter().enumerate() {
        let id = format!("toolu_{i}");
        lines.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("ls {i}")}},
        ]}));
        lines.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": content},
        ]}));
    }
    lines.push(json!({"role": "assistant", "content": "All is well."}));
    lines.push(json!({"role": "user", "content": "Thank you."}));
    jsonl(&lines)
}

fn openai_messages(results: usize, cleared: usize) -> Vec<Value> {
    let mut messages = vec![
        json!({"role": "system", "content": "You help."}),
        json!({"role": "user", "content": "Please look around."}),
    ];
    for i in 0..results {
        let content = if i < cleared {
            CLEARED.to_owned()
        } else {
            output(i)
        };
        let id = format!("call_{i}");
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "Bash", "arguments": format!("{{\"command\":\"ls {i}\"}}")}},
        ]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }
    messages.push(json!({"role": "user", "content": "Thank you."}));
    messages
}

/// OpenAI messages, one a line.
pub(super) fn openai(results: usize, cleared: usize) -> String {
    jsonl(&openai_messages(results, cleared))
}

/// Three OpenAI conversations, one a line.
pub(super) fn conversations(results: usize, cleared: usize) -> String {
    let line = |n: usize| json!({"id": n, "messages": openai_messages(results, cleared)});
    jsonl(&[1, 2, 3].map(line))
}

/// A Claude Code session.
pub(super) fn claude_code(results: usize, cleared: usize) -> String {
    let mut lines = Vec::new();
    let mut push = |role: &str, message: Value| {
        let n = lines.len();
        let parent = n.checked_sub(1).map(|n| format!("uuid-{n}"));
        lines.push(json!({
            "parentUuid": parent, "isSidechain": false, "sessionId": "session", "type": role, "uuid": format!("uuid-{n}"),
            "timestamp": format!("2026-01-01T00:00:{n:02}.000Z"), "message": message,
        }));
    };
    push(
        "user",
        json!({"role": "user", "content": "Please look around."}),
    );
    for i in 0..results {
        let content = if i < cleared {
            CLEARED.to_owned()
        } else {
            output(i)
        };
        let id = format!("toolu_{i}");
        push(
            "assistant",
            json!({"id": format!("msg_{i}"), "role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("ls {i}")}},
            ]}),
        );
        push(
            "user",
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": content},
            ]}),
        );
    }
    push(
        "assistant",
        json!({"id": "msg_end", "role": "assistant", "content": [
            {"type": "text", "text": "All is well."},
        ]}),
    );
    jsonl(&lines)
}

/// One sample of each format: its name, its transcript, and what `auto` makes of it.
pub(super) fn samples() -> [(&'static str, String, String); 3] {
    let (results, cleared) = (KEPT + 3, 3);
    [
        (
            "anthropic",
            anthropic(results, 0),
            anthropic(results, cleared),
        ),
        ("openai", openai(results, 0), openai(results, cleared)),
        (
            "claude-code",
            claude_code(results, 0),
            claude_code(results, cleared),
        ),
    ]
}

/// The first of the samples, and what `auto` makes of it.
pub(super) fn sample() -> (String, String) {
    let [(_, before, after), ..] = samples();
    (before, after)
}

/// A history that no provider takes: a result without its call.
pub(super) fn orphan() -> String {
    jsonl(&[
        json!({"role": "user", "content": "Go on."}),
        json!({"role": "assistant", "content": "I do."}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_lost", "content": "found"},
        ]}),
    ])
}

fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(super) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    // Not the level that the program itself writes with: packing anew would show.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .read_to_end(&mut text)
        .unwrap();
    text
}

pub(super) fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(bytes.as_ref(), 9).unwrap()
}
