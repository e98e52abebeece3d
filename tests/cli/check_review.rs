//! `check --review`, its reports, and how much it says of a difference.

use super::harness::{Place, sample};

/// A case that differs in its output and in its figures.
fn differing() -> Place {
    let (before, after) = sample();
    Place::with(&[
        ("fixtures/case/input.jsonl", before.as_str()),
        (
            "fixtures/case/expected.jsonl",
            &after.replace("ls 2", "ls two"),
        ),
        (
            "fixtures/case/expected.stats.json",
            "{\"files\":[{\"status\":\"unchanged\"}]}",
        ),
    ])
}

#[test]
fn without_a_terminal_what_would_be_expected_is_written_beside_what_is() {
    let place = differing();
    let before = place.all_files();
    place.run("check --review").exits(1).shows(&[
        "differs fixtures/case\n",
        "  written: fixtures/case/expected.jsonl.new\n",
        "  written: fixtures/case/expected.stats.json.new\n",
    ]);
    let mut after = place.all_files();
    assert_eq!(
        after.remove("fixtures/case/expected.jsonl.new").unwrap(),
        sample().1.as_bytes()
    );
    let stats = after
        .remove("fixtures/case/expected.stats.json.new")
        .unwrap();
    assert!(String::from_utf8(stats).unwrap().contains("\"compacted\""));
    assert_eq!(after, before);
    // They are no files of the case, and none of them is written where nothing differs.
    place.run("check").exits(1);
    place.run("check --update=force").exits(0);
    // What is accepted leaves nothing to look at.
    assert_eq!(place.files().len(), 3, "{:?}", place.files());
    place.run("check --review").exits(0);
    assert_eq!(place.files().len(), 3, "{:?}", place.files());
    place.run("check --review --update").exits(2);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_each_difference_is_shown_and_asked_about() {
    let asked = |answers: &str| {
        let place = differing();
        place.write("fixtures/case2/input.jsonl", sample().0);
        let line = format!(
            "(sleep 1; printf '{answers}') | script -qec \"$CTXPACK check --review\" /dev/null"
        );
        let ran = place.shell(&line);
        (place, ran)
    };
    let (place, ran) = asked("y\\nn\\n");
    let ran = ran.exits(1).shows(&[
        "ls two",
        "write expected.stats.json, expected.jsonl (y: yes",
    ]);
    ran.shows(&["2 cases: 0 as expected, 1 updated, 1 differ"]);
    assert_eq!(place.text("fixtures/case/expected.jsonl"), sample().1);
    assert!(!place.path("fixtures/case2/expected.jsonl").exists());

    let (place, ran) = asked("what\\nq\\n");
    ran.exits(1).shows(&["0 updated, 2 differ"]);
    assert_eq!(place.files().len(), 4);
}

#[test]
fn the_first_byte_that_differs_is_for_who_asks() {
    let place = differing();
    let first = "the first byte that differs: ";
    assert!(!place.run("check").exits(1).text().contains(first));
    place.run("check -v").exits(1).shows(&[first]);
}

#[test]
fn a_report_is_written_by_its_ending() {
    let place = differing();
    let all = "--report r.json --report r.jsonl --report r.csv --report r.md --report r.html --report r.xml";
    place.run(&format!("check -q {all}")).exits(1);
    assert_eq!(place.json("r.json")["cases"][0]["status"], "differs");
    assert!(
        place
            .text("r.jsonl")
            .lines()
            .last()
            .unwrap()
            .starts_with("{\"schema_version\":1,")
    );
    assert_eq!(
        place.text("r.csv").lines().next(),
        Some("case,check,message")
    );
    assert!(
        place
            .text("r.md")
            .contains("| <code>fixtures/case</code> | differs |")
    );
    assert!(
        place
            .text("r.xml")
            .contains("<testcase classname=\"fixtures\" name=\"case\" time=\"0\">")
    );
    let page = place.text("r.html");
    assert!(page.contains("case not as expected"), "{page}");
    for says in [
        "fixtures/case",
        "Became something else",
        "ls two",
        "stats.files[0].status",
    ] {
        assert!(page.contains(says), "{says}");
    }
    // Again, over those of before; but over no file of somebody else.
    place.run(&format!("check -q {all}")).exits(1);
    for name in ["own.json", "own.html", "own.xml"] {
        place.write(name, "mine");
        place
            .run(&format!("check --report {name}"))
            .exits(2)
            .says(&["it is not a report of ctxpack"]);
        assert_eq!(place.text(name), "mine");
    }
    place
        .run("check --report r.txt")
        .exits(2)
        .says(&["hint: use one of .json, .jsonl, .csv, .md, .html, .xml"]);
}

#[cfg(unix)]
#[test]
fn no_name_steers_a_terminal_or_breaks_a_format() {
    let hostile = "x\u{1b}[2J\u{9b}2J\u{202e}\u{ffff}";
    let place = Place::new();
    place.write(&format!("fixtures/{hostile}/input.jsonl"), sample().0);
    for format in ["full", "concise", "json", "junit", "github", "gitlab"] {
        let text = place
            .run(&format!("check --output-format {format}"))
            .exits(1)
            .text();
        assert!(
            !text.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
            "{format}: {text:?}"
        );
        if format == "junit" {
            assert!(text.contains("202e}\\u{ffff}"), "{text}");
        }
        if format == "json" {
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json["cases"][0]["case"], format!("fixtures/{hostile}"));
        }
    }
    place
        .run("check -q --report r.jsonl --report r.json --report r.html --report r.md")
        .exits(1);
    for name in ["r.jsonl", "r.json", "r.html", "r.md"] {
        let text = place.text(name);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn a_report_says_under_which_policies_the_cases_ran() {
    let place = differing();
    let foot = || {
        place.run("check -q --report r.md").exits(1);
        let text = place.text("r.md");
        text.lines().last().unwrap().to_owned()
    };
    assert!(
        foot().ends_with(", policy: <code>auto</code>"),
        "{}",
        foot()
    );
    place.write("fixtures/case/policy.toml", "[clear]\nkeep = 4\n");
    assert!(foot().ends_with(", policy: each case's own"), "{}", foot());
    place.write("fixtures/case2/input.jsonl", sample().0);
    assert!(
        foot().ends_with(", policy: <code>auto</code>; 1 case has its own"),
        "{}",
        foot()
    );
}

/// Reports name what became of each message, so that a comment on a pull request says what a change does.
#[test]
fn a_report_lists_the_messages_that_became_something_else() {
    let place = Place::with(&[("fixtures/case/input.jsonl", sample().0)]);
    place.write("ctxpack.toml", "[clear]\nkeep = 5\n");
    place.run("check --update").exits(0);
    place.write("ctxpack.toml", "[clear]\nkeep = 4\n");
    place.run("check -q --report r.md --report r.json").exits(1);
    let json = place.json("r.json");
    let changed = &json["cases"][0]["changed"];
    let messages = changed["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "{changed}");
    let message = &messages[0];
    assert_eq!(
        [&message["expected"], &message["got"]],
        ["kept", "cleared"],
        "{message}"
    );
    let number = |of: &serde_json::Value, key: &str| of["tokens"][key].as_u64().unwrap();
    assert!(number(changed, "got") < number(changed, "expected"));
    assert!(number(message, "got") < number(message, "expected"));
    assert_eq!(number(message, "expected"), number(message, "before"));
    let text = place.text("r.md");
    let row = format!(
        "| <code>fixtures/case</code> | {} (line {}) | <code>{}</code> | kept | cleared | {} | {} | {} |\n",
        message["message"],
        message["line"],
        message["tools"][0].as_str().unwrap(),
        number(message, "before"),
        number(message, "expected"),
        number(message, "got")
    );
    assert!(text.contains(&row), "{row}\n{text}");
    assert!(text.contains(" | 1 message |\n"), "{text}");
}

/// A comment on a pull request has at most 65 536 characters.
#[test]
fn a_report_in_markdown_fits_a_comment() {
    let place = Place::new();
    let (before, after) = sample();
    for n in 0..120 {
        let case = format!("fixtures/{}-{n}", "long&name".repeat(20));
        place.write(&format!("{case}/input.jsonl"), &before);
        place.write(&format!("{case}/expected.jsonl"), &after);
    }
    place
        .run("check -q --set clear.keep=0 --report r.md")
        .exits(1);
    let text = place.text("r.md");
    assert!(text.contains("\nand 60 more cases\n"), "{text}");
    assert!(text.contains(" more messages\n"), "{text}");
    assert!(text.chars().count() < 60_000, "{}", text.len());
}
