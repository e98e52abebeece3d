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
    assert_eq!(
        ran.text(),
        "1 case: 1 as expected, 0 updated, 0 differ, 0 failed\n"
    );
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
    assert!(
        text.ends_with("1 case: 0 as expected, 0 updated, 1 differ, 0 failed\n"),
        "{text}"
    );
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
    assert!(
        ran.text()
            .ends_with("3 cases: 1 as expected, 0 updated, 1 differ, 1 failed\n"),
        "{}",
        ran.text()
    );
    place
        .run("check elsewhere")
        .exits(2)
        .says(&["elsewhere: no case below this folder", "hint: "]);
}
