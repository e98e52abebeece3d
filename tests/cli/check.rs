//! `check` compares fixtures with the program's current results.

use serde_json::json;

use super::harness::{KEPT, Place, anthropic, sample};

/// A folder with a case that passes.
fn passing() -> Place {
    let (before, after) = sample();
    Place::with(&[
        ("fixtures/case/input.jsonl", before.as_str()),
        ("fixtures/case/expected.jsonl", &after),
        (
            "fixtures/case/expected.stats.json",
            "{\"files\":[{\"status\":\"compacted\"}]}",
        ),
    ])
}

#[test]
fn what_is_as_expected_passes() {
    let place = passing();
    let before = place.all_files();
    let ran = place.run("check").exits(0);
    let text = ran.text();
    let (cases, policy) = text.split_once('\n').unwrap();
    assert_eq!(
        cases,
        "1 case: 1 as expected, 0 updated, 0 differ, 0 failed"
    );
    assert!(policy.starts_with("policy: auto ("), "{policy}");
    assert_eq!(
        place
            .run("check fixtures/case -v")
            .exits(0)
            .text()
            .lines()
            .next(),
        Some("ok      fixtures/case")
    );
    assert_eq!(place.run("check -q").exits(0).text(), "");
    assert_eq!(place.all_files(), before);
}

#[test]
fn a_difference_is_shown_with_its_line() {
    let place = passing();
    let expected = sample().1.replace("ls 2", "ls two");
    place.write("fixtures/case/expected.jsonl", expected);
    let ran = place.run("check").exits(1);
    let text = ran.text();
    assert!(text.contains("differs fixtures/case\n"), "{text}");
    // The third call: a prompt, then two lines for each of two results.
    let shown = |word: &str, what: &str| {
        let is_it =
            |line: &&str| line.contains("line 6") && line.contains(word) && line.contains(what);
        text.lines().filter(is_it).count()
    };
    assert_eq!(
        (shown("expected", "ls two"), shown("got", "ls 2")),
        (1, 1),
        "{text}"
    );
    let closing = "\n1 case: 0 as expected, 0 updated, 1 differ, 0 failed\npolicy: ";
    assert!(text.contains(closing), "{text}");
}

#[test]
fn figures_that_are_listed_must_hold_and_others_may_be_anything() {
    let place = passing();
    place.write(
        "fixtures/case/expected.stats.json",
        "{\"files\":[{\"status\":\"unchanged\",\"format\":\"anthropic\"}]}",
    );
    let text = place.run("check").exits(1).text();
    assert!(
        text.contains("stats.files[0].status: expected \"unchanged\", got \"compacted\""),
        "{text}"
    );
    assert!(!text.contains("format"), "{text}");
}

#[test]
fn what_is_expected_must_be_there() {
    let place = Place::with(&[("fixtures/case/input.jsonl", sample().0)]);
    let text = place.run("check").exits(1).text();
    assert!(
        text.contains("expected.jsonl is missing; --update writes it"),
        "{text}"
    );
    assert!(
        text.contains("expected.stats.json is missing; --update writes it"),
        "{text}"
    );
    assert_eq!(place.files(), ["fixtures/case/input.jsonl"]);
}

#[test]
fn an_update_writes_what_the_next_check_expects() {
    let place = Place::with(&[("fixtures/case/input.jsonl", sample().0)]);
    let text = place.run("check --update").exits(0).text();
    assert!(text.contains("updated fixtures/case\n"), "{text}");
    assert_eq!(place.text("fixtures/case/expected.jsonl"), sample().1);
    let stats = place.json("fixtures/case/expected.stats.json");
    assert_eq!(
        stats["files"][0]["conversations"][0]["actions"][2]["line"],
        7
    );
    place.run("check").exits(0);
}

#[test]
fn an_update_lists_no_other_figures_than_before() {
    let place = passing();
    place.write(
        "fixtures/case/expected.stats.json",
        "{\"files\":[{\"status\":\"unchanged\"}]}",
    );
    place.run("check --update").exits(0);
    assert_eq!(
        place.json("fixtures/case/expected.stats.json"),
        json!({"files": [{"status": "compacted"}]})
    );
}

#[test]
fn ci_does_not_rewrite_its_expectations() {
    let place = Place::with(&[("fixtures/case/input.jsonl", sample().0)]);
    let in_ci = |line: &str| place.shell(&format!("CI=true \"$CTXPACK\" {line}"));
    in_ci("check --update").exits(2).says(&[
        "--update is refused where CI is set",
        "hint: use --update=force",
    ]);
    assert_eq!(place.files(), ["fixtures/case/input.jsonl"]);
    place.shell("CI= \"$CTXPACK\" check --update").exits(0);
    in_ci("check --update=force").exits(0);
    in_ci("check").exits(0);
}

#[test]
fn a_cases_own_policy_is_in_force() {
    let place = passing();
    place.write("fixtures/case/policy.toml", "[clear]\nkeep = 4\n");
    place.run("check").exits(1);
    place.write("fixtures/case/expected.jsonl", anthropic(KEPT + 3, 4));
    place.run("check").exits(0);
    place.write("fixtures/case/policy.toml", "[clear]\nkepe = 4\n");
    place
        .run("check")
        .exits(3)
        .says(&["fixtures/case/policy.toml:2: unknown policy key clear.kepe"]);
}

#[test]
fn one_case_does_not_hide_another() {
    let place = passing();
    place.write("fixtures/a/input.jsonl", sample().0);
    place.write("fixtures/b/input.jsonl", sample().0);
    place.write("fixtures/b/policy.toml", "nonsense");
    let ran = place
        .run("check")
        .exits(3)
        .says(&["fixtures/b/policy.toml:1: "]);
    ran.shows(&["3 cases: 1 as expected, 0 updated, 1 differ, 1 failed\n"]);
    place
        .run("check elsewhere")
        .exits(2)
        .says(&["elsewhere: no such folder", "hint: "]);
}

#[test]
fn the_policy_that_is_meant_is_tested() {
    let place = passing();
    // A golden made by one policy does not pass under another.
    place.write("ctxpack.toml", "clear.keep = 3\n");
    place.run("check").exits(1).shows(&[
        "tokens expected, got",
        "kept | cleared",
        "policy: ctxpack (",
    ]);
    place
        .run("check --isolated")
        .exits(0)
        .shows(&["policy: auto ("]);
    place.run("check --policy auto").exits(0);
    place.run("check --policy none").exits(1);
    place.run("check --policy auto --set clear.keep=1").exits(1);
    // A case's own file wins, and may extend another one.
    place.write("base.toml", "extends = \"auto\"\nclear.keep = 4\n");
    place.write(
        "fixtures/case/policy.toml",
        "extends = \"../../base.toml\"\nclear.keep = 5\n",
    );
    place
        .run("check --policy none")
        .exits(0)
        .shows(&["policy: each case's own"]);
    place.write(
        "fixtures/case/policy.toml",
        "extends = \"../../base.toml\"\n",
    );
    place.run("check").exits(1);
    for (text, says) in [
        (
            "extends = \"policy.toml\"\n",
            "policy.toml:1: \"policy.toml\" and the files",
        ),
        ("extends = \"gone.toml\"\n", "gone.toml: "),
        ("extends = \"lasered\"\n", "policy.toml:1: "),
    ] {
        place.write("fixtures/case/policy.toml", text);
        place.run("check").exits(3).says(&[says]);
    }
}

#[test]
fn files_that_extend_each_other_are_refused_with_a_line() {
    let place = passing();
    place.write(
        "fixtures/case/policy.toml",
        "# ours\nextends = \"../a.toml\"\n",
    );
    place.write("fixtures/a.toml", "extends = \"b.toml\"\n");
    place.write("fixtures/b.toml", "\n\nextends = \"case/../a.toml\"\n");
    place
        .run("check")
        .exits(3)
        .says(&["b.toml:3: \"case/../a.toml\" and the files that it extends form a cycle"]);
}

#[test]
fn nothing_passes_by_absence() {
    let place = passing();
    place.write("fixtures/lost/expected.jsonl", "{}\n");
    place.write("fixtures/case/expected.stat.json", "{}\n");
    place.write("fixtures/README.md", "Notes.\n");
    place.run("check").exits(1).shows(&[
        "differs fixtures/lost\n  input.jsonl is missing",
        "expected.stat.json is not a file of a case; did you mean expected.stats.json?",
        "2 cases: 0 as expected",
    ]);
    // Nor does an update hide it.
    place.run("check --update=force fixtures/lost").exits(1);
    let empty = Place::with(&[("fixtures/notes.md", "")]);
    empty
        .run("check")
        .exits(2)
        .says(&["no case below this folder", "--allow-empty"]);
    empty
        .run("check --allow-empty")
        .exits(0)
        .shows(&["0 cases"]);
}

#[test]
fn a_pair_of_files_is_a_case() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("fixtures/a.jsonl", before.as_str()),
        ("fixtures/a.expected.jsonl", &after),
    ]);
    place
        .run("check")
        .exits(1)
        .shows(&["differs fixtures/a\n", "expected.stats.json is missing"]);
    place.run("check --update=force").exits(0);
    place
        .run("check")
        .exits(0)
        .shows(&["1 case: 1 as expected"]);
    assert_eq!(
        place.files(),
        [
            "fixtures/a.expected.jsonl",
            "fixtures/a.expected.stats.json",
            "fixtures/a.jsonl"
        ]
    );
    std::fs::remove_file(place.path("fixtures/a.jsonl")).unwrap();
    place.run("check").exits(1).shows(&["a.jsonl is missing"]);
}

#[test]
fn every_output_format_names_what_differs() {
    let place = passing();
    place.write("fixtures/b<&>/input.jsonl", "");
    place.write("fixtures/bad/input.jsonl", sample().0);
    place.write("fixtures/bad/policy.toml", "clear.kepe = 3\n");
    let run = |format: &str| {
        place
            .run(&format!("check --output-format {format}"))
            .exits(3)
            .text()
    };
    let concise = run("concise");
    assert!(
        concise.contains("differs fixtures/b<&>: expected.jsonl is missing"),
        "{concise}"
    );
    assert!(
        concise.contains("failed  fixtures/bad: unknown policy key"),
        "{concise}"
    );

    let stdout = |format: &str| {
        let ran = place
            .command(&format!("check --output-format {format}"))
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&stdout("json")).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(
        json["totals"],
        json!({"cases": 3, "same": 1, "updated": 0, "differ": 1, "failed": 1, "own_policy": 1})
    );
    assert_eq!(json["cases"][0]["status"], "differs");
    assert_eq!(json["cases"][1]["error"]["line"], 1);
    assert_eq!(
        json["cases"][2],
        json!({"case": "fixtures/case", "status": "same", "difference": null, "changed": null, "error": null})
    );

    let xml = stdout("junit");
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" failures=\"1\" errors=\"1\">\n"), "{xml}");
    assert!(
        xml.contains("<testcase classname=\"fixtures\" name=\"case\" time=\"0\"/>"),
        "{xml}"
    );
    assert!(xml.contains("name=\"b&lt;&amp;&gt;\" time=\"0\">\n      <failure message=\"expected.jsonl is missing; --update writes it\" type=\"differs\">"), "{xml}");

    let gitlab: serde_json::Value = serde_json::from_str(&stdout("gitlab")).unwrap();
    let severities: Vec<_> = gitlab
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["severity"])
        .collect();
    assert_eq!(severities, ["major", "critical"]);
    let [differs, failed] = [&gitlab[0], &gitlab[1]];
    assert_eq!(
        differs["location"],
        json!({"path": "fixtures/b<&>/expected.jsonl", "lines": {"begin": 1}})
    );
    assert_eq!(differs["check_name"], "ctxpack check: differs");
    assert!(
        differs["description"]
            .as_str()
            .unwrap()
            .starts_with("fixtures/b<&>: expected.jsonl is missing")
    );
    assert_eq!(failed["location"]["path"], "fixtures/bad/policy.toml");
    // Each is known again, and no two are the same.
    let again: serde_json::Value = serde_json::from_str(&stdout("gitlab")).unwrap();
    assert_eq!(again, gitlab);
    assert_ne!(differs["fingerprint"], failed["fingerprint"]);

    let github = stdout("github");
    assert_eq!(github.lines().count(), 2, "{github}");
    assert!(
        github.starts_with("::error file=fixtures/b<&>/expected.jsonl,title=ctxpack check%3A fixtures/b<&>::  expected.jsonl is missing; --update writes it%0A"),
        "{github}"
    );
}

#[test]
fn an_update_writes_the_same_whatever_was_expected_before() {
    let place = passing();
    place.run("check --update=force").exits(0);
    let stats = "fixtures/case/expected.stats.json";
    std::fs::remove_file(place.path(stats)).unwrap();
    place.run("check --update=force").exits(0);
    let fresh = place.json(stats);
    let actions = &fresh["files"][0]["conversations"][0]["actions"];
    assert!(actions.as_array().is_some_and(|actions| actions.len() > 1));
    // The policy once did nothing, so that no action was listed.
    place.run("check --update=force --policy none").exits(0);
    let none = place.json(stats);
    assert_eq!(none["files"][0]["conversations"][0]["actions"], json!([]));
    place.run("check --update=force").exits(0);
    assert_eq!(place.json(stats), fresh);
}

#[test]
fn an_update_says_what_it_wrote_where_the_case_still_differs() {
    let place = passing();
    place.write(
        "fixtures/case/policy.toml",
        "extends = \"auto\"\nclear.keep = 0\n",
    );
    place.write(
        "fixtures/case/expect.toml",
        "[expect]\nsaved = \">= 99.9%\"\n",
    );
    place.run("check --update=force").exits(1).shows(&[
        "expect.toml:2: saved: expected",
        "written: fixtures/case/expected.jsonl",
    ]);
}

#[test]
fn an_update_makes_no_case_of_an_input_that_cannot_be_read() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let place = Place::with(&[("fixtures/case/input.jsonl", pointer)]);
    for _ in 0..2 {
        place
            .run("check --update=force")
            .exits(1)
            .shows(&["the input is unsupported, so nothing is checked"]);
    }
    assert_eq!(place.files(), ["fixtures/case/input.jsonl"]);
    // Somebody means it.
    place.write(
        "fixtures/case/expected.stats.json",
        "{\"files\": [{\"status\": \"unsupported\"}]}\n",
    );
    place.run("check --update=force").exits(0);
    place.run("check").exits(0);
}

#[test]
fn a_key_that_no_report_has_is_not_as_expected() {
    let place = passing();
    let golden = "fixtures/case/expected.stats.json";
    place.write(golden, "{\"files\": [{\"eror\": null}]}\n");
    place
        .run("check")
        .exits(1)
        .shows(&["stats.files[0].eror: there is no such key"]);
    place.write(golden, "{\"files\": [{\"error\": null}]}\n");
    place.run("check").exits(0);
}

#[test]
fn line_ends_alone_are_told_as_what_they_are() {
    let place = passing();
    let expected: Vec<String> = place
        .all_files()
        .into_keys()
        .filter(|name| name.ends_with("expected.jsonl"))
        .collect();
    let text = place.text(&expected[0]);
    let ends = "the lines are the same; how they end differs";
    for other in [text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
        place.write(&expected[0], other);
        let ran = place.run("check -v").exits(1);
        ran.shows(&[ends, "the first byte that differs: "]);
    }
    // Counted from 1, as by `cmp`.
    place.write(&expected[0], text.replacen('{', "[", 1));
    place
        .run("check -v")
        .exits(1)
        .shows(&["the first byte that differs: 1\n"]);
}
