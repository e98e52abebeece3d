//! Repositories that are made to harm a user who runs ctxpack in them.
//!
//! A case is data: what it attempts, what it plants, and what the message must say. Every command runs on a fresh copy, with
//! little memory and time. Whatever it prints, nothing outside of its outputs and the store may change, no planted link may be
//! followed, and no program of the repository may run.

mod contents;
mod inputs;
mod outputs;
mod policies;
mod records;
mod site;
mod stores;

use std::collections::BTreeSet;

use site::{Entry, Site};

/// One attack.
struct Case {
    name: &'static str,
    /// For people: what whoever planted this hopes for.
    attempt: &'static str,
    plant: fn(&Site),
    /// Who must say what about it.
    told: &'static [(Command, &'static str)],
}

/// How ctxpack is run in the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Beside,
    InPlace,
    OutDir,
    Undo,
    Gc,
    Stats,
    Check,
    Update,
}

use Command::{Beside, Check, Gc, InPlace, OutDir, Stats, Undo, Update};

const COMMANDS: [Command; 8] = [Beside, InPlace, OutDir, Undo, Gc, Stats, Check, Update];

impl Command {
    fn args(self) -> &'static str {
        match self {
            Beside => "compact .",
            InPlace => "compact . --in-place --no-report",
            OutDir => "compact . --out-dir out",
            Undo => "undo in.jsonl in.compact.jsonl",
            Gc => "gc --store .ctxpack",
            Stats => "stats .",
            Check => "check .",
            Update => "check . --update",
        }
    }

    /// Whether a file of this name (from the repository's folder) is an output of the command, or of the store that it uses.
    fn writes(self, name: &str) -> bool {
        let in_store = name == ".ctxpack" || name.starts_with(".ctxpack/");
        let is_transcript = name.ends_with(".jsonl");
        match self {
            Beside => in_store || name.contains(".compact."),
            InPlace => in_store || is_transcript,
            OutDir => name == "out" || name.starts_with("out/"),
            Undo => in_store || matches!(name, "in.jsonl" | "in.compact.jsonl"),
            Gc => in_store,
            Stats | Check => false,
            Update => name.starts_with("case/expected."),
        }
    }
}

fn run_all(cases: &[Case]) {
    let met = cases
        .iter()
        .flat_map(|case| COMMANDS.map(|command| meet(case, command)));
    let wrong: Vec<String> = met.filter_map(Result::err).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Runs a command in a repository in which this was planted; what was wrong.
fn meet(case: &Case, command: Command) -> Result<(), String> {
    let site = Site::new();
    (case.plant)(&site);
    let before = site.entries();
    let ran = site.run(command.args());
    let said = format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err);
    let wrong = |why: String| {
        let Case { name, attempt, .. } = case;
        Err(format!(
            "{name} ({attempt}), {command:?}, exit code {:?}: {why}:\n{said}",
            ran.code
        ))
    };
    if !matches!(ran.code, Some(0..=3)) {
        return wrong("it was killed, or hung, or failed otherwise".to_owned());
    }
    if said.contains('\x1b') {
        return wrong("it steers the terminal".to_owned());
    }
    if said.contains(site::SECRET_WORD) || site.holds_secret() {
        return wrong("a secret left its place".to_owned());
    }
    let after = site.entries();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if name.ends_with("/PWNED") {
            return wrong("something of it ran".to_owned());
        }
        let own = name
            .strip_prefix("repo/")
            .is_some_and(|name| command.writes(name));
        // What stays a file may get other bytes; what was planted there and is none may not.
        let is_plain = |entry: Option<&Entry>| entry.is_none_or(Entry::is_plain);
        if old != new && !(own && is_plain(old) && is_plain(new)) {
            return wrong(format!("{name} was {old:?} and is {new:?}"));
        }
    }
    let told = case.told.iter().filter(|(by, _)| *by == command);
    match told
        .map(|(_, text)| text)
        .find(|text| !said.contains(**text))
    {
        Some(text) => wrong(format!("it does not say {text:?}")),
        None => Ok(()),
    }
}

#[test]
fn planted_stores() {
    run_all(&stores::CASES);
}

#[test]
fn planted_records() {
    run_all(&records::CASES);
}

#[test]
fn planted_contents() {
    run_all(&contents::CASES);
}

#[test]
fn planted_outputs() {
    run_all(&outputs::CASES);
}

#[test]
fn planted_inputs() {
    run_all(&inputs::CASES);
}

#[test]
fn planted_policies() {
    run_all(&policies::CASES);
}

#[test]
fn there_are_at_least_sixty_attacks_and_each_is_told() {
    let all = [
        &stores::CASES[..],
        &records::CASES,
        &contents::CASES,
        &outputs::CASES,
        &inputs::CASES,
        &policies::CASES,
    ];
    let cases: Vec<&Case> = all.into_iter().flatten().collect();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "a name is there twice");
    assert!(cases.len() >= 60, "{}", cases.len());
    for case in cases {
        assert!(!case.told.is_empty(), "{}: nobody says anything", case.name);
    }
}
