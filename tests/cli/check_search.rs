//! Which cases `check` finds, and what it says of what it does not take.

use super::harness::{Place, sample};

/// A case that passes, in `folder`.
fn passing(folder: &str) -> Place {
    let place = Place::with(&[(format!("{folder}/input.jsonl").as_str(), sample().0)]);
    place.write(&format!("{folder}/expect.toml"), "[expect]\nvalid = true\n");
    place.run(&format!("check {folder}")).exits(0);
    place
}

#[test]
fn a_transcript_that_belongs_to_no_case_is_not_passed_over() {
    let place = passing("fixtures/case");
    place.write("fixtures/other/session.jsonl", sample().0);
    place.run("check").exits(1).shows(&[
        "differs fixtures/other\n  session.jsonl belongs to no case: rename it to input.jsonl",
        "2 cases: 1 as expected, 0 updated, 1 differ",
    ]);
    place.run("check --update=force").exits(1);
}

#[test]
fn a_misspelt_file_beside_a_pair_is_not_passed_over() {
    let place = Place::with(&[
        ("fixtures/a.jsonl", sample().0.as_str()),
        ("fixtures/a.expect.toml", "[expect]\nvalid = true\n"),
    ]);
    place.run("check").exits(0);
    place.write("fixtures/a.polcy.toml", "");
    place.write("fixtures/policy.toml", "");
    place.run("check").exits(1).shows(&[
        "differs fixtures\n  policy.toml is not a file of a pair: call it NAME.policy.toml\n",
        "differs fixtures/a\n  a.polcy.toml is not a file of a case; did you mean a.policy.toml?\n",
    ]);
}

#[test]
fn what_a_store_holds_is_no_case() {
    let place = passing("fixtures/case");
    place.write("fixtures/case/store/manifests/run.jsonl", "{}\n");
    place.write("fixtures/.ctxpack/manifests/run.jsonl", "{}\n");
    place
        .run("check")
        .exits(0)
        .shows(&["1 case: 1 as expected"]);
}

#[test]
fn a_case_is_checked_once_however_it_is_named() {
    let place = passing("fixtures/case");
    place
        .run("check fixtures fixtures/case ./fixtures")
        .exits(0)
        .shows(&["1 case: 1 as expected"]);
}

#[cfg(unix)]
#[test]
fn what_is_not_there_behind_its_link_does_not_count_as_absent() {
    use std::os::unix::fs::symlink;
    for name in ["policy.toml", "expect.toml", "expected.jsonl"] {
        let place = passing("fixtures/case");
        place.write("fixtures/case/expected.stats.json", "{}");
        let path = place.path(&format!("fixtures/case/{name}"));
        let _ = std::fs::remove_file(&path);
        symlink("nowhere", &path).unwrap();
        let says = format!(
            "fixtures/case/{name}: a link, and files of cases are not read through links\nhint: "
        );
        place.run("check").exits(3).says(&[&says]);
    }
}

#[cfg(unix)]
#[test]
fn no_file_of_a_case_is_read_through_a_link() {
    use std::os::unix::fs::symlink;
    for name in [
        "input.jsonl",
        "policy.toml",
        "summaries.jsonl",
        "expected.stats.json",
        "store",
    ] {
        let place = passing("fixtures/case");
        place.write("outside/there", "[clear]\nkeep = 5\n");
        let path = place.path(&format!("fixtures/case/{name}"));
        let _ = std::fs::remove_file(&path);
        symlink("../../outside/there", &path).unwrap();
        let says = format!("fixtures/case/{name}: a link, and files of cases");
        place.run("check").exits(3).says(&[&says]);
    }
}

#[cfg(unix)]
#[test]
fn a_linked_folder_of_cases_is_named() {
    use std::os::unix::fs::symlink;
    let place = passing("fixtures/case");
    place.write("elsewhere/case/input.jsonl", sample().0);
    symlink("../elsewhere", place.path("fixtures/linked")).unwrap();
    place
        .run("check")
        .exits(0)
        .says(&[
            "fixtures/linked: warning: links to folders are not followed\nhint: name the folder",
        ])
        .shows(&["1 case: "]);
    // Named itself, it is searched; what leads to a case that is checked anyway needs no word.
    place
        .run("check fixtures/linked")
        .exits(1)
        .shows(&["differs fixtures/linked/case"]);
    std::fs::remove_file(place.path("fixtures/linked")).unwrap();
    symlink("case", place.path("fixtures/linked")).unwrap();
    assert_eq!(place.run("check").exits(0).err, "");
}

#[test]
fn a_case_that_has_lost_its_input_is_not_passed_over() {
    let place = passing("fixtures/case");
    place.write("fixtures/lost/policy.toml", "extends = \"auto\"\n");
    place.run("check").exits(1).shows(&[
        "differs fixtures/lost\n  input.jsonl is missing",
        "2 cases: 1 as expected, 0 updated, 1 differ",
    ]);
    place.write("fixtures/lost/input.jsonl.gz", "");
    place
        .run("check")
        .exits(1)
        .shows(&["input.jsonl.gz belongs to no case"]);
}

#[test]
fn limits_in_a_file_that_is_almost_called_right_are_not_passed_over() {
    let place = passing("fixtures/case");
    place.write(
        "fixtures/case/expect.TOML",
        "[expect]\nsaved = \">= 99%\"\n",
    );
    place
        .run("check")
        .exits(1)
        .shows(&["expect.TOML is not a file of a case"]);
}

#[test]
fn a_policy_above_cases_is_told_to_be_of_none() {
    let place = passing("fixtures/case");
    place.write("fixtures/policy.toml", "[broken\n");
    let says = "fixtures/policy.toml: warning: the policy of no case";
    place.run("check").exits(0).says(&[says]);
}
