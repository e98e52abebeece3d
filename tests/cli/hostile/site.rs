//! A home, and beside it a repository with a transcript, a fixture and programs of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::cli::harness::{Place, Ran, anthropic_of, output, sample};

/// What the user has in a file whose bytes anybody can know.
pub(super) const BASHRC: &str = "alias ll='ls -l'\n";
/// What nobody else knows.
pub(super) const SECRET: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n";
pub(super) const SECRET_WORD: &str = "c2VjcmV0";
/// Tried by whoever gets a file run.
pub(super) const EVIL: &str = "touch \"$HOME/PWNED\"\n";

pub(super) struct Site {
    pub(super) place: Place,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    File {
        hash: String,
        mode: u32,
    },
    Folder,
    Link(PathBuf),
    Special(u32),
    /// So large that nobody has it: by its size.
    Sparse(u64),
}

impl Entry {
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Entry::File { .. } | Entry::Folder)
    }
}

impl Site {
    pub(super) fn new() -> Self {
        let (before, after) = sample();
        let place = Place::in_memory();
        for (name, text) in [
            ("home/.bashrc", BASHRC),
            ("home/.ssh/id_rsa", SECRET),
            ("home/keep/notes.txt", "notes"),
            ("home/session.jsonl", before.as_str()),
            ("repo/README.md", "# A project\n"),
            ("repo/in.jsonl", transcript().as_str()),
            ("repo/case/input.jsonl", before.as_str()),
            ("repo/case/expected.jsonl", after.as_str()),
            ("repo/case/expected.stats.json", "{}\n"),
        ] {
            place.write(name, text);
        }
        for program in ["sh", "zstd", "git", "ctxpack"] {
            place.write(&format!("repo/{program}"), format!("#!/bin/sh\n{EVIL}"));
            let path = place.path(&format!("repo/{program}"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Site { place }
    }

    /// Runs the program in the repository, with little memory and little time.
    pub(super) fn run(&self, args: &str) -> Ran {
        let line = format!(
            "cd repo && HOME=../home PATH=.:$PATH && export HOME PATH && ulimit -v 2000000 && ulimit -f 200000 && exec \"$CTXPACK\" {args} </dev/null"
        );
        self.place.shell(&line)
    }

    /// A path in the repository; what is above it is there.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        let path = self.place.path(&format!("repo/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(super) fn home(&self, name: &str) -> PathBuf {
        self.place.path("home").canonicalize().unwrap().join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// A link to something at home.
    pub(super) fn link_home(&self, name: &str, to: &str) {
        symlink(self.home(to), self.path(name)).unwrap();
    }

    pub(super) fn link(&self, name: &str, to: impl AsRef<Path>) {
        symlink(to, self.path(name)).unwrap();
    }

    /// A second name of a file at home.
    pub(super) fn hard_link(&self, name: &str, to: &str) {
        fs::hard_link(self.home(to), self.path(name)).unwrap();
    }

    pub(super) fn pipe(&self, name: &str) {
        mknodat(CWD, self.path(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    pub(super) fn folder(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
    }

    /// A file of 1 TB that takes no room.
    pub(super) fn sparse(&self, name: &str) {
        File::create(self.path(name))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
    }

    /// Records of a run.
    pub(super) fn records(&self, records: &[Value]) {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        self.write(".ctxpack/manifests/00000001-0123.jsonl", lines);
    }

    /// Whether what nobody else knows is in a file of the repository.
    pub(super) fn holds_secret(&self) -> bool {
        let plain = |name: &String, entry: &Entry| {
            name.starts_with("repo/") && matches!(entry, Entry::File { .. })
        };
        let entries = self.entries().into_iter();
        let files = entries.filter(|(name, entry)| plain(name, entry));
        let word = SECRET_WORD.as_bytes();
        files.into_iter().any(|(name, _)| {
            let bytes = fs::read(self.place.path(&name)).unwrap();
            bytes.windows(word.len()).any(|window| window == word)
        })
    }

    /// Everything below the place that is not the program's own.
    pub(super) fn entries(&self) -> BTreeMap<String, Entry> {
        let mut entries = BTreeMap::new();
        let top = self.place.path("home").parent().unwrap().to_owned();
        collect(&top, &top, &mut entries);
        entries
    }
}

fn collect(top: &Path, folder: &Path, entries: &mut BTreeMap<String, Entry>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let seen = fs::symlink_metadata(&path).unwrap();
        let kind = seen.file_type();
        let entry = if kind.is_symlink() {
            Entry::Link(fs::read_link(&path).unwrap())
        } else if kind.is_dir() {
            collect(top, &path, entries);
            Entry::Folder
        } else if !kind.is_file() {
            Entry::Special(seen.mode())
        } else if seen.len() > 1 << 30 {
            Entry::Sparse(seen.len())
        } else {
            Entry::File {
                hash: hash(&fs::read(&path).unwrap()),
                mode: seen.mode(),
            }
        };
        let name = path.strip_prefix(top).unwrap().to_string_lossy();
        entries.insert(name.into_owned(), entry);
    }
}

/// A tool's output that goes to the store.
pub(super) fn large() -> String {
    "x ".repeat(40_000)
}

/// What `repo/in.jsonl` holds: results to be cleared, and one for the store.
pub(super) fn transcript() -> String {
    anthropic_of((0..8).map(output).chain([large()]))
}

pub(super) fn hash(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

/// `archive/<32hex>.zst`, the name of an original.
pub(super) fn archive_name(bytes: &[u8]) -> String {
    format!("archive/{}.zst", &hash(bytes)[7..39])
}

/// `offloaded/<32hex>.txt`, the name of a content.
pub(super) fn offload_name(bytes: &[u8]) -> String {
    format!("offloaded/{}.txt", &hash(bytes)[7..39])
}

/// A record of an output with these bytes, whose original is the file `in.jsonl`.
pub(super) fn record(output: &str, bytes: &[u8]) -> Value {
    let input = transcript();
    json!({
        "output": output, "output_hash": hash(bytes), "output_bytes": bytes.len(),
        "input": "in.jsonl", "input_hash": hash(input.as_bytes()), "input_bytes": input.len(),
        "original": "input", "archive": null, "offloads": [], "policy_hash": hash(b"p"), "sequence": 1,
    })
}

/// The same with an archived original.
pub(super) fn archived(output: &str, bytes: &[u8], original: &[u8]) -> Value {
    let mut record = record(output, bytes);
    record["input_hash"] = hash(original).into();
    record["input_bytes"] = original.len().into();
    record["original"] = "archive".into();
    record["archive"] = archive_name(original).into();
    record
}

/// `record` with another value.
pub(super) fn with(mut record: Value, key: &str, value: impl Into<Value>) -> Value {
    record[key] = value.into();
    record
}

/// A Zstandard frame of a few bytes for each 128 KiB of zeros that it unpacks to.
pub(super) fn bomb(bytes: u64) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    // The magic number; no size, no checksum; a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    let blocks = bytes / BLOCK;
    for block in 1..=blocks {
        // Last block?, one byte repeated, so often.
        let header = u32::from(block == blocks) | 1 << 1 | (BLOCK as u32) << 3;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}
