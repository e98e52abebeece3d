//! What others run in their pipelines: the action's script, the hooks for pre-commit, and the recipes of `ctxpack help ci`.
//!
//! Where they run for real there is a network, a runner and a pull request. Here is what is left: scripts, commands and files.
//! `scripts/package self-check` runs the action's installer; `scripts/external/workflows.py` holds the files against their schemas.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::readme::{blocks, session};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxpack");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// A repository with fixtures, sessions and a policy, whose branch `main` is what a change goes to.
struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Repository {
            folder: tempfile::tempdir().unwrap(),
        };
        let case = "fixtures/anthropic/auto-keeps-5-of-all-tools";
        fs::create_dir_all(repository.path(case)).unwrap();
        for entry in fs::read_dir(root().join(case)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            fs::copy(&path, repository.path(case).join(name)).unwrap();
        }
        fs::create_dir(repository.path("sessions")).unwrap();
        fs::write(repository.path("sessions/a.jsonl"), session()).unwrap();
        fs::create_dir(repository.path("shared")).unwrap();
        fs::write(repository.path("shared/house.toml"), "extends = \"auto\"\n").unwrap();
        repository.policy(5);
        for words in [
            "init -q -b main",
            "add .",
            "-c user.name=a -c user.email=a@example.org commit -q -m base",
            "remote add origin .",
        ] {
            let words = words.split(' ');
            let git = Command::new("git")
                .args(words)
                .current_dir(repository.folder.path())
                .output();
            assert!(git.unwrap().status.success());
        }
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The policy file, which keeps this many results.
    fn policy(&self, keep: usize) {
        let text = format!("extends = \"shared/house.toml\"\n\n[clear]\nkeep = {keep}\n");
        fs::write(self.path("policy.toml"), text).unwrap();
    }

    /// A command of a shell in the repository, where `ctxpack` is the program.
    fn run(&self, command: &str, variables: &[(&str, &str)]) -> Output {
        let bin = Path::new(PROGRAM).parent().unwrap();
        Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", command])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", self.folder.path())
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// The action's script on a pull request, with gates of `eval` and `compact`: its exit code, what it said, and the comment.
    fn action(&self, gates: &str, of_compact: &str) -> (Option<i32>, String, String) {
        let script = root().join(".github/actions/check/run");
        let variables = [
            ("FIXTURES", "fixtures"),
            ("SESSIONS", "sessions"),
            ("POLICY", "policy.toml"),
            ("GATES", gates),
            ("COMPACT_GATES", of_compact),
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_STEP_SUMMARY", "summary.md"),
        ];
        let output = self.run(&format!("'{}' comment.md", script.display()), &variables);
        let comment = fs::read_to_string(self.path("comment.md")).unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), said, comment)
    }
}

#[test]
fn the_action_compares_a_change_of_policy_with_its_base() {
    let repository = Repository::new();
    repository.policy(2);
    let (code, said, comment) = repository.action(
        "--budget none --max-invented 0",
        "--min-savings 1 --require-valid --max-degraded 0",
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(
        comment.starts_with("### ctxpack check\n\n**ctxpack check**: 1 case: 1 as expected"),
        "{comment}"
    );
    let part = |name: &str| {
        let part = comment.split(name).nth(1);
        part.unwrap_or_else(|| panic!("no {name}: {comment}"))
    };
    // Three results more are cleared.
    let differs = part("### ctxpack diff\n");
    assert_eq!(
        differs
            .matches("| <code>kept</code> | <code>cleared</code> |")
            .count(),
        3,
        "{differs}"
    );
    assert!(part("### ctxpack compact, by this branch\n").contains(" saved** in 1 file"));
    for name in ["### ctxpack replay\n", "### ctxpack eval\n"] {
        let part = part(name);
        // A row a policy.
        for name in ["base-branch", "policy"] {
            assert!(
                part.contains(&format!("\n| <code>{name}</code> |")),
                "{comment}"
            );
        }
    }
    let summary = fs::read_to_string(repository.path("summary.md")).unwrap();
    assert_eq!(summary, comment);
}

#[test]
fn the_action_fails_where_a_fixture_differs_or_a_gate_does_not_hold() {
    let repository = Repository::new();
    // The comment is there all the same: that is when it is needed.
    let (code, said, comment) = repository.action("--budget 5 --min-need 100", "");
    assert_eq!(code, Some(1), "{said}");
    assert!(comment.contains("### ctxpack eval"), "{comment}");
    // The same policy on both branches: nothing differs.
    assert!(!comment.contains("### ctxpack diff"), "{comment}");
    let (code, said, comment) = repository.action("", "--min-savings 99");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("points less than 99%"), "{said}");
    // Without a budget of one's own: by itself, and under one.
    let eval = comment.split("### ctxpack eval").nth(1).unwrap();
    assert!(eval.contains("| no budget | "), "{eval}");
    assert!(eval.contains("| budget 20% | "), "{eval}");

    let expected = "fixtures/anthropic/auto-keeps-5-of-all-tools/expected.jsonl";
    fs::write(repository.path(expected), "").unwrap();
    let (code, said, comment) = repository.action("", "");
    assert_eq!(code, Some(1), "{said}");
    assert!(comment.contains("### ctxpack replay"), "{comment}");
    let check = comment.split("### ctxpack").nth(1).unwrap();
    assert!(
        check.contains("auto-keeps-5-of-all-tools</code> | differs |"),
        "{check}"
    );
}

/// The topic shows how a policy gets a gate, as `scripts/play-pull-request` plays it.
#[test]
fn the_topic_shows_what_a_pull_request_gets() {
    let output = Command::new(root().join("scripts/play-pull-request"))
        .arg(PROGRAM)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let played = String::from_utf8(output.stdout).unwrap();
    let topic = source("src/cli/topics/ci.md");
    let shown = blocks(&topic, "console");
    assert_eq!(shown.len(), 1);
    assert_eq!(
        format!("{}\n", shown[0]),
        played,
        "scripts/play-pull-request --write shows it anew"
    );
    for says in [
        "kept | cleared |",
        "of the needed names, fewer than 95%\n(exit code 1)",
    ] {
        assert!(played.contains(says), "{says}");
    }
}

/// The values of a key in a file of hooks.
fn values(text: &str, key: &str) -> Vec<String> {
    let begin = format!("{key}: ");
    let lines = text
        .lines()
        .filter_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix(&begin));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_hooks_for_pre_commit_run() {
    let repository = Repository::new();
    let hooks = source(".pre-commit-hooks.yaml");
    let entries = values(&hooks, "entry");
    assert_eq!(entries, ["ctxpack check", "ctxpack verify"]);
    assert_eq!(values(&hooks, "args"), ["[fixtures]"]);
    for (command, code) in [
        ("ctxpack check fixtures", 0),
        ("ctxpack verify sessions/a.jsonl", 0),
        ("rm fixtures/*/*/expected.jsonl; ctxpack check fixtures", 1),
        (
            "sed -i.old 3d sessions/a.jsonl; ctxpack verify sessions/a.jsonl",
            1,
        ),
    ] {
        let output = repository.run(command, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
    }
}

/// The commands of ctxpack in the recipes, as they stand there.
#[test]
fn the_recipes_commands_run() {
    let repository = Repository::new();
    // What git fetches from the target branch.
    fs::copy(repository.path("policy.toml"), repository.path("base.toml")).unwrap();
    let topic = source("src/cli/topics/ci.md");
    let mut ran = 0;
    for recipe in blocks(&topic, "yaml") {
        for line in recipe.lines() {
            let line = line.trim_start_matches(['-', ' ']);
            let command = line.strip_prefix("run: ").unwrap_or(line);
            if !command.starts_with("ctxpack ") {
                continue;
            }
            let output = repository.run(command, &[]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}: {said}");
            ran += 1;
        }
    }
    assert!(ran >= 4, "{ran}");
}
