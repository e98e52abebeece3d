//! Which policy is in effect: flags override the environment, which overrides a file, which overrides a preset.

use serde_json::{Value, json};

use super::harness::{Place, Ran, sample};

/// A policy file with names of its own for the environment.
const MAPPED: &str = "[clear]\nkeep = 3\n\n[env]\nWINDOW = \"window.context\"\nOFF = \"summary.when=never!\"\n\
                      MANUAL = \"summary.when=never\"\nPCT = \"trigger.cap_share%\"\n";

/// What `config show --format json` said.
fn shown(ran: Ran) -> Value {
    serde_json::from_slice(&ran.exits(0).out).unwrap()
}

/// A key's value and origin.
fn key(shown: &Value, key: &str) -> (Value, String) {
    let keys = shown["keys"].as_array().unwrap();
    let row = keys.iter().find(|row| row["key"] == key).unwrap();
    (
        row["value"].clone(),
        row["origin"].as_str().unwrap().to_owned(),
    )
}

fn keep(shown: &Value) -> (Value, String) {
    key(shown, "clear.keep")
}

fn of(value: impl Into<Value>, origin: &str) -> (Value, String) {
    (value.into(), origin.to_owned())
}

const SHOW: &str = "config show --format json";

#[test]
fn flags_beat_the_environment_and_that_a_file_and_that_a_preset() {
    let place = Place::new();
    let env = [("CTXPACK_CLEAR__KEEP", "4")];
    assert_eq!(keep(&shown(place.run(SHOW))), of(5, "preset auto"));
    place.write("ctxpack.toml", "extends = \"layered\"\n");
    assert_eq!(keep(&shown(place.run(SHOW))), of(3, "preset layered"));
    place.write("ctxpack.toml", "[clear]\nkeep = 2\n");
    assert_eq!(keep(&shown(place.run(SHOW))), of(2, "file ctxpack.toml"));
    assert_eq!(
        keep(&shown(place.run_with(&env, SHOW))),
        of(4, "env CTXPACK_CLEAR__KEEP")
    );
    let flag = format!("{SHOW} --set clear.keep=6");
    assert_eq!(keep(&shown(place.run_with(&env, &flag))), of(6, "flag"));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_there_by_name_alone_is_an_error() {
    let dangling = Place::with(&[("in.jsonl", sample().0)]);
    std::os::unix::fs::symlink("gone.toml", dangling.path("ctxpack.toml")).unwrap();
    let folder = Place::with(&[("in.jsonl", sample().0), ("ctxpack.toml/x", String::new())]);
    for (place, says) in [
        (dangling, "ctxpack.toml: cannot open: "),
        (folder, "ctxpack.toml: not a regular file"),
    ] {
        place.write("below/in.jsonl", sample().0);
        for (from, args) in [
            ("", "config show"),
            ("", "compact in.jsonl"),
            ("below", SHOW),
        ] {
            let ran = place.run_in(from, args).exits(2);
            let hint = "hint: put a policy file in its place, or remove it";
            ran.says(&[says, hint]);
        }
        assert!(!place.path("in.compact.jsonl").exists());
        place.run("config show --isolated").exits(0);
    }
}

#[test]
fn an_empty_value_is_none() {
    let place = Place::new();
    let env = [("CTXPACK_CLEAR__KEEP", ""), ("CTXPACK_POLICY", "")];
    assert_eq!(
        keep(&shown(place.run_with(&env, SHOW))),
        of(5, "preset auto")
    );
}

#[test]
fn names_of_the_policys_own_are_honoured_and_some_beat_flags() {
    let place = Place::with(&[("my.toml", MAPPED)]);
    let show = format!("{SHOW} --policy my.toml --set summary.when=always");
    let when = |env: &[(&str, &str)]| key(&shown(place.run_with(env, &show)), "summary.when");
    assert_eq!(when(&[("MANUAL", "1")]), of("always", "flag"));
    assert_eq!(when(&[("OFF", "0")]), of("always", "flag"));
    assert_eq!(when(&[("OFF", "false")]), of("always", "flag"));
    assert_eq!(when(&[("OFF", "true")]), of("never", "env OFF"));

    let env = [("WINDOW", "64000"), ("PCT", "50")];
    let mapped = shown(place.run_with(&env, &show));
    assert_eq!(key(&mapped, "window.context"), of(64_000, "env WINDOW"));
    assert_eq!(key(&mapped, "trigger.cap_share"), of(0.5, "env PCT"));
    assert_eq!(key(&mapped, "env").1, "file my.toml");

    // Under another policy, they are somebody else's names.
    let auto = shown(place.run_with(&env, SHOW));
    assert_eq!(key(&auto, "window.context"), of(200_000, "preset auto"));
}

#[test]
fn every_override_is_in_the_report_with_its_origin() {
    let place = Place::with(&[("ctxpack.toml", MAPPED), ("in.jsonl", &sample().0)]);
    let env = [("CTXPACK_CLEAR__MIN_TOKENS", "300"), ("OFF", "yes")];
    let set = |key: &str, value: Value, origin: &str| json!({"key": key, "value": value, "origin": origin});
    let expected = [
        set("clear.keep", json!(3), "file ctxpack.toml"),
        set(
            "clear.min_tokens",
            json!(300),
            "env CTXPACK_CLEAR__MIN_TOKENS",
        ),
        set("summary.when", json!("always"), "flag"),
        set("summary.when", json!("never"), "env OFF"),
    ];
    place
        .run_with(&env, "compact in.jsonl --summarize always --report r.json")
        .exits(0);
    let report = place.json("r.json");
    assert_eq!(report["policy"]["name"], "ctxpack");
    assert_eq!(report["policy"]["overrides"], json!(expected));

    let stats = place.run_with(
        &env,
        "stats in.jsonl --format json --set summary.when=always",
    );
    let stats: Value = serde_json::from_slice(&stats.exits(0).out).unwrap();
    assert_eq!(stats["policy"]["overrides"], json!(expected));
}

#[test]
fn the_nearest_file_upwards_holds_and_is_named_from_here() {
    let place = Place::with(&[
        ("ctxpack.toml", "[clear]\nkeep = 1\n"),
        ("a/ctxpack.toml", "[clear]\nkeep = 2\n"),
        ("a/b/c/in.jsonl", ""),
        ("d/in.jsonl", ""),
    ]);
    let from = |folder| shown(place.run_in(folder, SHOW));
    assert_eq!(keep(&from("a/b/c")), of(2, "file ../../ctxpack.toml"));
    assert_eq!(keep(&from("a")), of(2, "file ctxpack.toml"));
    assert_eq!(keep(&from("d")), of(1, "file ../ctxpack.toml"));
    assert_eq!(from("d")["named_by"], "found");
    assert_eq!(from("d")["file"], "../ctxpack.toml");
}

#[test]
fn a_policy_that_is_named_leaves_the_folders_file_out() {
    let place = Place::with(&[
        ("ctxpack.toml", "[clear]\nkeep = 1\n"),
        ("my.toml", "[clear]\nkeep = 2\n"),
    ]);
    let named = |args: &str| keep(&shown(place.run(&format!("{SHOW} {args}"))));
    assert_eq!(named("--policy auto"), of(5, "preset auto"));
    assert_eq!(named("--policy v5"), of(3, "preset layered"));
    assert_eq!(named("--policy my.toml"), of(2, "file my.toml"));
    let env = [("CTXPACK_POLICY", "layered")];
    let by_env = shown(place.run_with(&env, SHOW));
    assert_eq!(keep(&by_env), of(3, "preset layered"));
    assert_eq!(by_env["named_by"], "env CTXPACK_POLICY");
    let by_flag = shown(place.run_with(&env, &format!("{SHOW} --policy auto")));
    assert_eq!(keep(&by_flag), of(5, "preset auto"));
    place
        .run_with(&[("CTXPACK_POLICY", "layerd")], SHOW)
        .exits(2)
        .says(&[
            "unknown policy layerd (from env CTXPACK_POLICY)",
            "did you mean layered?",
        ]);
}

#[test]
fn isolated_looks_at_neither_the_environment_nor_the_folders_file() {
    let place = Place::with(&[("ctxpack.toml", "[clear]\nkeep = 1\n")]);
    let env = [("CTXPACK_CLEAR__KEEP", "4"), ("CTXPACK_POLICY", "layered")];
    let isolated = format!("{SHOW} --isolated");
    assert_eq!(
        keep(&shown(place.run_with(&env, &isolated))),
        of(5, "preset auto")
    );

    let (before, after) = sample();
    place.write("fixtures/case/input.jsonl", before);
    place.write("fixtures/case/expected.jsonl", after);
    place.write("fixtures/case/expected.stats.json", "{}");
    place.run_with(&env, "check --isolated").exits(0);
    place
        .run_with(&[("CTXPACK_CLAER__KEEP", "4")], "check --isolated")
        .exits(0);
    // Otherwise a check is by the policy that everything else is done by.
    place.run_with(&env, "check").exits(1);
}

#[test]
fn a_wrong_name_or_value_stops_the_run_and_is_named() {
    let place = Place::with(&[("my.toml", MAPPED), ("in.jsonl", &sample().0)]);
    let before = place.all_files();
    for command in [
        "compact in.jsonl",
        "stats in.jsonl",
        "config show",
        "policy show",
    ] {
        for (name, value, what) in [
            (
                "CTXPACK_CLAER__KEEP",
                "3",
                "hint: did you mean CTXPACK_CLEAR__KEEP?",
            ),
            (
                "CTXPACK_CLEAR__KEEP",
                "many",
                "not many (from env CTXPACK_CLEAR__KEEP)",
            ),
            (
                "CTXPACK_EXTENDS",
                "none",
                "extends is read from a policy file only",
            ),
        ] {
            place
                .run_with(&[(name, value)], command)
                .exits(2)
                .says(&[name, what]);
        }
    }
    assert_eq!(place.all_files(), before);
    let ignored = place
        .run_with(
            &[("WINDOW", "sk-secret")],
            "compact in.jsonl --policy my.toml --dry-run",
        )
        .exits(0)
        .says(&["WINDOW in the environment is ignored: window.context takes a whole number"]);
    assert!(!ignored.err.contains("sk-secret"));
}

#[test]
fn a_found_file_sends_and_reads_nothing_and_lets_no_secret_through() {
    for (text, what) in [
        (
            "redact = \"never\"\n",
            "ctxpack.toml:1: redact = \"never\" would send secrets",
        ),
        (
            "[summary]\nsource = \"anthropic\"\n",
            "ctxpack.toml:2: summary.source = \"anthropic\" would replace the built-in",
        ),
        (
            "[summary]\nsource = \"scripted\"\n",
            "ctxpack.toml:2: summary.source = \"scripted\" would replace the built-in",
        ),
        (
            "[summary]\nbase_url = \"http://localhost:1\"\n",
            "ctxpack.toml:2: summary.base_url would say",
        ),
        (
            "[summary]\nmodel = \"big\"\n",
            "ctxpack.toml:2: summary.model would choose",
        ),
        (
            "[summary]\ntries = 9999\n",
            "ctxpack.toml:2: summary.tries is over 10",
        ),
        (
            "[restore]\nroot = \".\"\n",
            "ctxpack.toml:2: restore.root would read",
        ),
        (
            "[env]\nHOME = \"restore.root\"\n",
            "ctxpack.toml:2: HOME would set restore.root",
        ),
        (
            "[env]\nHOME = \"summary.ack\"\n",
            "ctxpack.toml:2: summary.ack would put the text of HOME",
        ),
    ] {
        let place = Place::with(&[("in.jsonl", sample().0.as_str()), ("ctxpack.toml", text)]);
        let before = place.all_files();
        // Not even beside flags that ask for a server, or that say otherwise.
        for flags in [
            "",
            "--summarizer openai --base-url http://127.0.0.1:9",
            "--redact outputs",
        ] {
            place
                .run(&format!("compact in.jsonl {flags}"))
                .exits(2)
                .says(&[
                    what,
                    "this file was found, not named",
                    "hint: --policy ctxpack.toml allows it, if you trust the file",
                ]);
        }
        for command in [
            "stats in.jsonl",
            "eval in.jsonl",
            "config show",
            "policy show",
        ] {
            place.run(command).exits(2).says(&[what]);
        }
        assert_eq!(place.all_files(), before);
        place.run("config show --policy ctxpack.toml").exits(0);
        place
            .run_with(&[("CTXPACK_POLICY", "./ctxpack.toml")], "config show")
            .exits(0);
        place.run("compact in.jsonl --isolated").exits(0);
    }
}

#[test]
fn the_table_names_the_file_and_steers_no_terminal() {
    let text = "[clear]\nplaceholder = \"a\\u001b[31mb\"\n[summary]\ninstructions = \"\"\"one\ntwo\"\"\"\n";
    let place = Place::with(&[("ctxpack.toml", text)]);
    let table = place.run("config show").exits(0).text();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "policy  ctxpack, of preset auto");
    assert_eq!(lines[1], "file    ctxpack.toml (found)");
    assert!(lines.contains(&"clear.keep                      5                                                         preset auto"), "{table}");
    assert!(!table.contains('\u{1b}'));
    // Where no person looks, nothing is cut.
    assert!(
        table.contains("\"summarize\", \"restore\"]") && !table.contains('…'),
        "{table}"
    );
    let none = place.run("config show --isolated").exits(0).text();
    assert_eq!(none.lines().nth(1), Some("file    none (default)"));
}

#[test]
fn an_entry_of_env_is_named_by_its_own_line() {
    let text = "[env]\n# a comment\nA = \"clear.keep\"\nB = \"clear.kep\"\n";
    let place = Place::with(&[("p.toml", text)]);
    place
        .run("config show --policy p.toml")
        .exits(2)
        .says(&["p.toml:4: "]);
}

#[test]
fn a_file_to_begin_with_goes_to_standard_output_too() {
    let place = Place::new();
    let printed = place.run("policy init -").exits(0).out;
    assert_eq!(place.names(), Vec::<String>::new());
    place.run("policy init p.toml").exits(0);
    assert_eq!(place.read("p.toml"), printed);
}

#[test]
fn few_files_extend_each_other() {
    let place = Place::new();
    for number in 0..2_000 {
        let next = format!("extends = \"p{}.toml\"\n", number + 1);
        place.write(&format!("p{number}.toml"), next);
    }
    place.write("p2000.toml", "clear.keep = 7\n");
    place
        .run("policy show p0.toml")
        .exits(2)
        .says(&["p16.toml:1: a chain of more than 16 files that extend each other"]);
    place.run("policy show p1984.toml").exits(0);
    place.write("sub/a.toml", "extends = \"../sub/../sub/a.toml\"\n");
    place
        .run("policy show sub/a.toml")
        .exits(2)
        .says(&["and the files that it extends form a cycle"]);
}

#[test]
fn a_policy_that_nobody_named_extends_policies_only() {
    let place = Place::with(&[
        ("in.jsonl", sample().0),
        ("secret", "[clear]\nkeep = \"hidden\"\n".to_owned()),
        ("ctxpack.toml", "extends = \"./secret\"\n".to_owned()),
    ]);
    let ran = place.run("compact in.jsonl -n").exits(2);
    let ran = ran.says(&["\"./secret\" does not end in .toml"]);
    assert!(!ran.err.contains("hidden"), "{}", ran.err);
}
