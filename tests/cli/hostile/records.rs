//! Records of runs that never were, and files of records that are something else.

use serde_json::json;

use super::site::{
    BASHRC, EVIL, SECRET, Site, archive_name, archived, hash, offload_name, record, transcript,
    with,
};
use super::{Beside, Case, Gc, InPlace, Undo};

const LINK: &str = "it is a link";
const NO_FILE: &str = "it is not a regular file";
const DAMAGED: &str = "this record is damaged";
const UNREADABLE: &str = "unreadable: ";
/// What `in.compact.jsonl` holds where it is there.
const SMALL: &[u8] = b"{\"role\":\"user\",\"content\":\"small\"}\n";

/// `in.compact.jsonl`, and what a record says of it.
fn output_with(site: &Site, key: &str, value: impl Into<serde_json::Value>) {
    site.write("in.compact.jsonl", SMALL);
    site.records(&[with(record("in.compact.jsonl", SMALL), key, value)]);
}

/// A store in which `gc` would have something to delete.
fn orphan(site: &Site) {
    site.write(".ctxpack/archive/0123456789abcdef0123456789abcdef.zst", "x");
}

pub(super) const CASES: [Case; 21] = [
    Case {
        name: "manifest-link",
        attempt: "records are written over a file of the user's",
        plant: |site| site.link_home(".ctxpack/manifests/00000001-0123.jsonl", ".bashrc"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "manifest-device",
        attempt: "a device is read for ever",
        plant: |site| site.link(".ctxpack/manifests/a.jsonl", "/dev/zero"),
        told: &[(Beside, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "manifest-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe(".ctxpack/manifests/a.jsonl"),
        told: &[(Beside, NO_FILE), (Undo, NO_FILE), (Gc, NO_FILE)],
    },
    Case {
        name: "manifest-folder",
        attempt: "a folder is taken for a file",
        plant: |site| site.folder(".ctxpack/manifests/a.jsonl"),
        told: &[(Beside, NO_FILE), (Undo, NO_FILE), (Gc, NO_FILE)],
    },
    Case {
        name: "manifest-endless",
        attempt: "a line of 1 TB fills the memory",
        plant: |site| site.sparse(".ctxpack/manifests/a.jsonl"),
        told: &[
            (Undo, "longer than any record"),
            (Gc, "longer than any record"),
        ],
    },
    Case {
        name: "manifest-number",
        attempt: "the next number is one too many",
        plant: |site| {
            let name = format!(".ctxpack/manifests/{}-0123.jsonl", u64::MAX);
            site.write(&name, format!("{}\n", record("in.compact.jsonl", SMALL)));
        },
        told: &[
            (Beside, "run numbers are exhausted"),
            (InPlace, "run numbers are exhausted"),
        ],
    },
    Case {
        name: "journal-file-link",
        attempt: "records are appended to a file of the user's",
        plant: |site| site.link_home(".ctxpack/journal/00000001-0123.jsonl", ".bashrc"),
        told: &[(Beside, LINK), (InPlace, LINK), (Undo, LINK), (Gc, LINK)],
    },
    Case {
        name: "journal-file-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe(".ctxpack/journal/00000001-0123.jsonl"),
        told: &[(Beside, NO_FILE), (Undo, NO_FILE), (Gc, NO_FILE)],
    },
    Case {
        name: "record-output-above",
        attempt: "a file above the repository counts as an output",
        plant: |site| {
            orphan(site);
            site.records(&[record("../home/.bashrc", BASHRC.as_bytes())]);
        },
        told: &[(Gc, "1 file deleted"), (Undo, "no such file")],
    },
    Case {
        name: "record-output-elsewhere",
        attempt: "a file of the user's is replaced by an original of the attacker's",
        plant: |site| {
            let bashrc = site.home(".bashrc");
            site.link_home("in.compact.jsonl", ".bashrc");
            let archive = zstd::encode_all(EVIL.as_bytes(), 3).unwrap();
            site.write(
                &format!(".ctxpack/{}", archive_name(EVIL.as_bytes())),
                archive,
            );
            let names = ["in.compact.jsonl", bashrc.to_str().unwrap()];
            site.records(&names.map(|n| archived(n, BASHRC.as_bytes(), EVIL.as_bytes())));
        },
        told: &[(Beside, "the output path is a link"), (Undo, "no store")],
    },
    Case {
        name: "record-output-device",
        attempt: "gc reads a device for ever",
        plant: |site| {
            orphan(site);
            site.records(&[record("/dev/zero", b"x"), record("/proc/kmsg", b"x")]);
        },
        told: &[(Gc, "/dev/zero: not a regular file")],
    },
    Case {
        name: "record-output-pipe",
        attempt: "gc waits for ever",
        plant: |site| {
            orphan(site);
            site.pipe("pipe");
            site.records(&[record("pipe", b"x")]);
        },
        told: &[(Gc, "not a regular file")],
    },
    Case {
        name: "record-input-above",
        attempt: "a file above the repository counts as an original",
        plant: |site| output_with(site, "input", "../home/.ssh/id_rsa"),
        told: &[(Undo, "the original has changed")],
    },
    Case {
        name: "record-input-elsewhere",
        attempt: "a secret is given back into the repository",
        plant: |site| {
            let secret = site.home(".ssh/id_rsa");
            let input = secret.to_str().unwrap();
            site.write("in.compact.jsonl", SMALL);
            let record = with(record("in.compact.jsonl", SMALL), "input", input);
            site.records(&[with(record, "input_bytes", SECRET.len())]);
        },
        told: &[(Undo, "the original has changed")],
    },
    Case {
        name: "record-input-device",
        attempt: "undo reads a device for ever",
        plant: |site| output_with(site, "input", "/dev/zero"),
        told: &[(Undo, "/dev/zero: not a regular file")],
    },
    Case {
        name: "record-archive-above",
        attempt: "a file outside of the store counts as an archive",
        plant: |site| {
            site.write("in.compact.jsonl", SMALL);
            let record = archived("in.compact.jsonl", SMALL, b"x");
            site.records(&[with(record, "archive", "archive/../../../home/.bashrc")]);
        },
        told: &[(Undo, UNREADABLE)],
    },
    Case {
        name: "record-archive-of-another",
        attempt: "another original is given back than the recorded one",
        plant: |site| {
            site.write("in.compact.jsonl", SMALL);
            let archive = zstd::encode_all(EVIL.as_bytes(), 3).unwrap();
            site.write(
                &format!(".ctxpack/{}", archive_name(EVIL.as_bytes())),
                archive,
            );
            let record = archived("in.compact.jsonl", SMALL, b"x");
            site.records(&[with(record, "archive", archive_name(EVIL.as_bytes()))]);
        },
        told: &[(Undo, UNREADABLE)],
    },
    Case {
        name: "record-offload-above",
        attempt: "a file outside of the store counts as a content, and is deleted with it",
        plant: |site| {
            orphan(site);
            output_with(site, "offloads", json!(["offloaded/../../../home/.bashrc"]));
        },
        told: &[(Undo, UNREADABLE), (Gc, DAMAGED)],
    },
    Case {
        name: "record-cleaned-of-another",
        attempt: "undo writes a content under the name of another",
        plant: |site| {
            orphan(site);
            let cleaned =
                json!([{"name": offload_name(b"good"), "archive": archive_name(EVIL.as_bytes())}]);
            output_with(site, "cleaned", cleaned);
        },
        told: &[(Undo, UNREADABLE), (Gc, DAMAGED)],
    },
    Case {
        name: "record-twice-and-deep",
        attempt: "what two readers understand differently, or one does not survive",
        plant: |site| {
            let good = record("in.compact.jsonl", SMALL).to_string();
            let twice = good.replacen('{', "{\"output\":\"../home/.bashrc\",", 1);
            let huge = good.replace(&SMALL.len().to_string(), "1e400");
            let lines = [
                twice,
                "[".repeat(100_000),
                huge,
                "\0\u{7f}\u{202e}".to_owned(),
            ];
            site.write(".ctxpack/manifests/a.jsonl", lines.join("\n"));
            orphan(site);
        },
        told: &[(Gc, DAMAGED), (Undo, UNREADABLE)],
    },
    Case {
        name: "records-without-order",
        attempt: "an older original is given back for the right one",
        plant: |site| {
            site.write("in.compact.jsonl", SMALL);
            let evil = archived("in.compact.jsonl", SMALL, EVIL.as_bytes());
            let right = with(
                record("in.compact.jsonl", SMALL),
                "input_hash",
                hash(transcript().as_bytes()),
            );
            site.records(&[evil, right]);
        },
        told: &[(Undo, "several different originals")],
    },
];
