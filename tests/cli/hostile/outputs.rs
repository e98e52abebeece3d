//! Files planted in the places of outputs and reports.

use super::site::{BASHRC, Site, record};
use super::{Beside, Case, OutDir, Update};

const LINK: &str = "the output path is a link";

/// A record that says that ctxpack wrote this, so that it may replace it.
fn known(site: &Site, bytes: &[u8]) {
    site.records(&[record("in.compact.jsonl", bytes)]);
}

pub(super) const CASES: [Case; 13] = [
    Case {
        name: "output-link",
        attempt: "a file of the user's whose bytes are known is replaced",
        plant: |site| {
            site.link_home("in.compact.jsonl", ".bashrc");
            known(site, BASHRC.as_bytes());
        },
        told: &[(Beside, LINK)],
    },
    Case {
        name: "output-link-to-nothing",
        attempt: "a file is made elsewhere",
        plant: |site| site.link_home("in.compact.jsonl", "new"),
        told: &[(Beside, LINK)],
    },
    Case {
        name: "output-link-inside",
        attempt: "another file of the repository is replaced",
        plant: |site| {
            site.link("in.compact.jsonl", "README.md");
            known(site, b"# A project\n");
        },
        told: &[(Beside, LINK)],
    },
    Case {
        name: "output-hard-link",
        attempt: "a file of the user's whose bytes are known is torn from its other name",
        plant: |site| {
            site.hard_link("in.compact.jsonl", ".bashrc");
            known(site, BASHRC.as_bytes());
        },
        told: &[(Beside, "2 hard links")],
    },
    Case {
        name: "output-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe("in.compact.jsonl"),
        told: &[(Beside, "in.compact.jsonl: ")],
    },
    Case {
        name: "output-folder",
        attempt: "a folder is replaced",
        plant: |site| site.write("in.compact.jsonl/kept", "x"),
        told: &[(Beside, "in.compact.jsonl: ")],
    },
    Case {
        name: "report-link",
        attempt: "a report is written over a file of the user's",
        plant: |site| site.link_home("in.compact.stats.json", ".bashrc"),
        told: &[(Beside, LINK)],
    },
    Case {
        name: "report-hard-link",
        attempt: "a file of the user's that looks like a report is torn from its other name",
        plant: |site| {
            site.place
                .write("home/keep/report.json", "{\n  \"schema_version\": 1\n}\n");
            site.hard_link("in.compact.stats.json", "keep/report.json");
        },
        told: &[(Beside, "2 hard links")],
    },
    Case {
        name: "report-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe("in.compact.stats.json"),
        told: &[(Beside, "in.compact.stats.json: ")],
    },
    Case {
        name: "report-endless",
        attempt: "a report of 1 TB fills the memory",
        plant: |site| site.sparse("in.compact.stats.json"),
        told: &[(Beside, "not a report of ctxpack")],
    },
    Case {
        name: "out-folder-link",
        attempt: "outputs are written to a folder of the user's",
        plant: |site| site.link_home("out/case", "keep"),
        told: &[(OutDir, "out/case")],
    },
    Case {
        name: "out-report-link",
        attempt: "the report on a run is written over a file of the user's",
        plant: |site| site.link_home("out/ctxpack.stats.json", ".bashrc"),
        told: &[(OutDir, LINK)],
    },
    Case {
        name: "expected-link",
        attempt: "an update of fixtures writes over a file of the user's",
        plant: |site| {
            let path = site.path("case/expected.jsonl");
            std::fs::remove_file(path).unwrap();
            site.link_home("case/expected.jsonl", ".bashrc");
        },
        told: &[(Update, "files of cases are not read through links")],
    },
];
