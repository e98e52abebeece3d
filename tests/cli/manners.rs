//! What is said to people and to programs: advice that can be taken, JSON where it is asked for, lines that stay apart.

use serde_json::Value;

use super::harness::{KEPT, Place, claude_code};

fn place() -> Place {
    Place::with(&[("in.jsonl", claude_code(KEPT + 3, 0))])
}

#[test]
fn words_of_other_programs_lead_to_the_command() {
    let place = place();
    for (word, command) in [
        ("compress", "compact"),
        ("summarize", "compact"),
        ("restore", "undo"),
        ("validate", "verify"),
        ("ls", "sessions"),
        ("fork", "compact --fork"),
        ("presets", "policy list"),
    ] {
        let ran = place.run(&format!("{word} in.jsonl")).exits(2);
        let said =
            format!("unknown command {word:?}\nhint: the command for that is: ctxpack {command}\n");
        assert_eq!(ran.err, said);
        place.run(&format!("{command} --help")).exits(0);
    }
    place
        .run("compact-all in.jsonl")
        .exits(2)
        .says(&["a similar subcommand exists: 'compact'"]);
    // What is there is meant.
    place.write("fork", "{}\n");
    place
        .run("fork")
        .exits(2)
        .says(&["to compact a transcript: ctxpack compact fork"]);
}

#[test]
fn advice_names_only_what_can_be_done() {
    let place = place();
    place.write("foreign.html", "mine");
    let elsewhere = "\nhint: --report FILE writes elsewhere";
    for command in ["stats", "replay", "eval", "diff in.jsonl"] {
        let ran = place
            .run(&format!("{command} in.jsonl --report foreign.html"))
            .exits(2)
            .says(&[elsewhere]);
        assert!(!ran.err.contains("--overwrite"), "{command}: {}", ran.err);
    }
    place
        .run("compact in.jsonl --report foreign.html")
        .exits(2)
        .says(&["\nhint: --overwrite replaces it; --report FILE writes elsewhere"]);
    assert_eq!(place.text("foreign.html"), "mine");
    // A folder is no misspelt file, and a short name is like any other.
    place.write("inn/a.jsonl", "");
    place.write("np", "");
    place
        .run("stats inn.jsonl")
        .exits(2)
        .says(&["did you mean \"in.jsonl\"?"]);
    place
        .run("stats nope.jsonl")
        .exits(2)
        .says(&["check the path"]);
    // No golden mends a missing input.
    place.write("cases/one/expected.jsonl", "");
    let ran = place.run("check cases").exits(1);
    let said = String::from_utf8_lossy(&ran.out);
    assert!(said.contains("input.jsonl is missing"), "{said}");
    assert!(!said.contains("--update PATH accepts"), "{said}");
}

#[test]
fn names_of_files_are_quoted_and_told_from_flags() {
    let place = place();
    place.write("my file.jsonl", "");
    place
        .run_args(&["my file.jsonl"])
        .exits(2)
        .says(&["hint: to compact a transcript: ctxpack compact 'my file.jsonl'\n"]);
    place.write("-dash.jsonl", "");
    place.run("compact -dash.jsonl").exits(2).says(&[
        "\"-dash.jsonl\" looks like a flag\n",
        "hint: to name the file: ./-dash.jsonl\n",
    ]);
    place
        .run("compact -dish.jsonl")
        .exits(2)
        .says(&["unexpected argument"]);
}

#[test]
fn json_is_one_thing_everywhere() {
    let place = place();
    let object = |args: &str, code: i32| -> Value {
        let ran = place.run(args).exits(code);
        serde_json::from_slice(&ran.out).unwrap_or_else(|e| panic!("{args}: {e}"))
    };
    for form in ["--json", "--format json"] {
        let report = object(&format!("compact in.jsonl -n {form}"), 0);
        assert_eq!(report["totals"]["files"], 1, "{form}");
        let list = object(&format!("policy list {form}"), 0);
        assert_eq!(list["presets"][0]["name"], "auto", "{form}");
        place.run("compact in.jsonl --overwrite").exits(0);
        let undone = object(&format!("undo in.compact.jsonl {form}"), 0);
        assert_eq!(undone["files"][0]["result"], "restored", "{form}");
        let swept = object(&format!("gc --store .ctxpack -n {form}"), 0);
        assert_eq!(swept["deleted"], false, "{form}");
        place.write("cases/in.jsonl", "{}\n");
        place.write("cases/in.expected.jsonl", "{}\n");
        let checked = object(&format!("check cases {form}"), 1);
        let old = object("check cases --output-format json", 1);
        assert_eq!(checked, old, "{form}");
    }
    let text = place.run("check cases").exits(1).text();
    assert_eq!(place.run("check cases --format text").exits(1).text(), text);
    // The report of a written file is beside it all the same.
    place.run("compact in.jsonl --overwrite --json -q").exits(0);
    assert!(place.files().contains(&"in.compact.stats.json".to_owned()));
    place
        .run("compact in.jsonl -o - --json")
        .exits(2)
        .says(&["cannot write both the transcript and the --json report"]);
}

#[test]
fn with_json_errors_stderr_holds_nothing_else() {
    let place = place();
    place.write("all/in.jsonl", claude_code(KEPT + 3, 0));
    for args in [
        "compact in.jsonl nope.jsonl -v",
        "compact in.jsonl",
        "undo in.compact.jsonl",
        "compact all --in-place",
        "undo all",
        "verify in.jsonl all",
    ] {
        let ran = place.run(&format!("{args} --error-format json"));
        for line in ran.err.lines() {
            assert!(line.starts_with("{\"kind\":"), "{args}: {line}");
        }
    }
}

#[test]
fn filters_that_leave_nothing_are_told_of() {
    let place = place();
    place.write("all/in.jsonl", claude_code(KEPT + 3, 0));
    for command in ["compact -n", "replay", "eval"] {
        for filter in ["--project nowhere", "--exclude *.jsonl"] {
            let ran = place.run(&format!("{command} all {filter}"));
            let said = "warning: nothing to do: every transcript was left out";
            assert!(ran.err.contains(said), "{command}: {}", ran.err);
        }
        let ran = place.run(&format!("{command} all"));
        assert!(!ran.err.contains("is left"), "{command}: {}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_a_folder_is_an_error_of_its_own_kind() {
    let place = place();
    place.write("all/in.jsonl", claude_code(KEPT + 3, 0));
    std::os::unix::fs::symlink(place.path("in.jsonl"), place.path("all/out.jsonl")).unwrap();
    let ran = place.run("compact all -n -q --error-format json").exits(3);
    assert!(ran.err.starts_with("{\"kind\":\"link\","), "{}", ran.err);
}

#[test]
fn reports_among_transcripts_are_known() {
    let place = place();
    place.run("compact in.jsonl --report all/r.jsonl").exits(0);
    place
        .run("compact all -n --report not.json")
        .exits(0)
        .says(&["all/r.jsonl: warning: a report of ctxpack, not a transcript; left as it is"]);
    assert_eq!(
        place.json("not.json")["not_read"][0]["format"],
        "ctxpack-report"
    );
}

#[cfg(unix)]
#[test]
fn names_that_differ_look_different() {
    let place = Place::new();
    place.write("all/new line.jsonl", claude_code(KEPT, 0));
    place.write("all/new\nline.jsonl", claude_code(KEPT, 0));
    let ran = place
        .run("compact all -n --report r.csv --report r.md --report r.html")
        .exits(0);
    for (what, text) in [
        ("terminal", ran.err),
        ("csv", place.text("r.csv")),
        ("html", place.text("r.html")),
        ("md", place.text("r.md").replace("\\\\u", "\\u")),
    ] {
        assert!(text.contains("new line.jsonl"), "{what}: {text}");
        let escaped = text.replace("\\\\u", "\\u");
        assert!(escaped.contains("new\\u{a}line.jsonl"), "{what}: {text}");
    }
}
