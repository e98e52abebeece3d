//! The README's commands: what they name is there, and the first of them does what it says.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

#[test]
fn the_first_command_compacts_a_fixture() {
    let readme = readme();
    let command = readme
        .lines()
        .find(|line| line.starts_with("cargo install"))
        .unwrap();
    let (_, compact) = command.split_once("&& ctxpack ").unwrap();
    let out = tempfile::tempdir().unwrap();
    let args = compact.split(' ').map(|word| {
        if word == "compacted" {
            out.path().to_str().unwrap()
        } else {
            word
        }
    });
    Command::cargo_bin("ctxpack")
        .unwrap()
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .assert()
        .success();
    let report = fs::read_to_string(out.path().join("ctxpack.stats.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["totals"]["compacted"], 1);
}

#[test]
fn every_command_and_flag_that_it_names_exists() {
    let help = |args: &[&str]| {
        let out = Command::cargo_bin("ctxpack")
            .unwrap()
            .args(args)
            .arg("--help")
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let readme = readme();
    let lines = readme
        .lines()
        .filter_map(|line| line.strip_prefix("ctxpack "));
    let mut seen = 0;
    for line in lines {
        let command = line.split(' ').next().unwrap();
        let help = help(&[command]);
        for flag in line
            .split(['#', '|'])
            .next()
            .unwrap()
            .split(' ')
            .filter(|word| word.starts_with('-') && word.len() > 1)
        {
            assert!(help.contains(flag), "{command} has no {flag}");
        }
        seen += 1;
    }
    assert!(seen > 8);
}
