//! Transcripts and fixtures that are something else, and names with a meaning for a shell or a terminal.

use std::fs;

use super::site::{bomb, transcript};
use super::{Beside, Case, Check, InPlace, OutDir, Stats};

pub(super) const CASES: [Case; 11] = [
    Case {
        name: "name-of-a-command",
        attempt: "a name is run by a shell",
        plant: |site| {
            for name in [
                "$(touch PWNED).jsonl",
                "`touch PWNED`.jsonl",
                "; touch PWNED;.jsonl",
            ] {
                site.write(name, transcript());
            }
        },
        told: &[
            (Beside, "$(touch PWNED).jsonl"),
            (Stats, "`touch PWNED`.jsonl"),
        ],
    },
    Case {
        name: "name-of-an-option",
        attempt: "a name is taken for an option",
        plant: |site| {
            for name in ["--overwrite.jsonl", "-o.jsonl", "--store=..jsonl"] {
                site.write(name, transcript());
            }
        },
        told: &[(Beside, "--overwrite.jsonl"), (InPlace, "-o.jsonl")],
    },
    Case {
        name: "name-that-steers",
        attempt: "a name clears the screen and forges a line",
        plant: |site| site.write("\x1b[2J\x1b]0;x\x07\nin.jsonl: 0 files.jsonl", transcript()),
        told: &[(Beside, "\\u{1b}[2J"), (Stats, "\\u{1b}[2J")],
    },
    Case {
        name: "input-link",
        attempt: "a session of the user's is compacted, or copied into the repository",
        plant: |site| site.link_home("session.jsonl", "session.jsonl"),
        told: &[(InPlace, "session.jsonl"), (OutDir, "session.jsonl")],
    },
    Case {
        name: "input-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe("pipe.jsonl"),
        told: &[(Beside, "2 compacted"), (Stats, "in.jsonl")],
    },
    Case {
        name: "input-device",
        attempt: "a device is read for ever",
        plant: |site| site.link("zero.jsonl", "/dev/zero"),
        told: &[(Beside, "2 compacted"), (Stats, "in.jsonl")],
    },
    Case {
        name: "input-bomb",
        attempt: "a file of 64 KB unpacks to 2 GB",
        plant: |site| site.write("bomb.jsonl.zst", bomb(2 << 30)),
        told: &[
            (Beside, "bomb.jsonl.zst:1: the line has more than 64.0 MiB"),
            (Stats, "bomb.jsonl.zst:1: the line has more than 64.0 MiB"),
        ],
    },
    Case {
        name: "input-names-a-secret",
        attempt: "a transcript names a secret as a content of the store, and it is put in",
        plant: |site| {
            let name = "Tool result is at: .ctxpack/offloaded/../../../home/.ssh/id_rsa";
            site.write(
                "in.jsonl",
                transcript().replace("line 7 of the output", name),
            );
            site.write(
                "ctxpack.toml",
                "extends = \"offload-first\"\n[summary]\nwhen = \"always\"\n",
            );
        },
        told: &[(Beside, "compacted")],
    },
    Case {
        name: "folder-link",
        attempt: "a folder of the user's is walked with the repository",
        plant: |site| site.link("home", "../home"),
        told: &[(Beside, "2 compacted")],
    },
    Case {
        name: "fixture-pipe",
        attempt: "check waits for ever",
        plant: |site| {
            for name in ["input.jsonl", "expected.jsonl", "expected.stats.json"] {
                let name = format!("case/{name}");
                fs::remove_file(site.path(&name)).unwrap();
                site.pipe(&name);
            }
            site.pipe("case/policy.toml");
        },
        told: &[(Check, "not a regular file")],
    },
    Case {
        name: "fixture-device",
        attempt: "check reads a device for ever",
        plant: |site| {
            for name in ["input.jsonl", "expected.jsonl"] {
                let name = format!("case/{name}");
                fs::remove_file(site.path(&name)).unwrap();
                site.link(&name, "/dev/zero");
            }
        },
        told: &[(Check, "files of cases are not read through links")],
    },
];
