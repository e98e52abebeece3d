//! Outputs whose input is gone: they are told of, and removed only where that is asked for and nobody has changed them.

use std::fs;

use super::harness::{Place, anthropic_of, output, sample};
use super::resume::{COMMAND, REPORT, place};

/// The kinds of what was not read, with their counts.
fn not_read(place: &Place) -> Vec<(String, u64)> {
    let report = place.json(REPORT);
    let all = report["not_read"].as_array().cloned().unwrap_or_default();
    all.iter()
        .map(|one| {
            let kind = one["kind"].as_str().unwrap().to_owned();
            (kind, one["count"].as_u64().unwrap())
        })
        .filter(|(kind, _)| kind != "unsupported")
        .collect()
}

#[test]
fn outputs_whose_input_is_gone_are_told_of_and_removed_where_that_is_asked_for() {
    let place = place();
    place.write("in/deep/er.jsonl", anthropic_of([output(1)]));
    place.write("elsewhere/own.jsonl", anthropic_of([output(2)]));
    place.run(COMMAND).exits(0);
    place
        .run("compact elsewhere --out-dir out/b --store out/.ctxpack")
        .exits(0);
    place.write("out/theirs.jsonl", "theirs");
    assert_eq!(not_read(&place), []);
    for name in ["in/0.jsonl", "in/1.jsonl", "in/deep/er.jsonl"] {
        fs::remove_file(place.path(name)).unwrap();
    }
    fs::remove_file(place.path("elsewhere/own.jsonl")).unwrap();
    place.append("out/1.jsonl", "{\"role\":\"user\",\"content\":\"more\"}\n");
    let kept = place.files();
    place
        .run(COMMAND)
        .exits(0)
        .says(&["an output whose input no longer exists", "--prune-outputs"]);
    assert_eq!(not_read(&place), [("vanished".to_owned(), 3)]);
    assert_eq!(place.files(), kept);
    let dry = place.run(&format!("{COMMAND} --prune-outputs -n")).exits(0);
    assert!(
        !dry.err.contains("--prune-outputs removes such"),
        "{}",
        dry.err
    );
    dry.says(&["--prune-outputs removes it without --dry-run"]);
    assert_eq!(place.files(), kept);
    place.run(&format!("{COMMAND} --prune-outputs")).exits(0);
    let kinds = [
        ("pruned".to_owned(), 2),
        ("vanished_but_changed".to_owned(), 1),
    ];
    assert_eq!(not_read(&place), kinds);
    let gone = ["out/0.jsonl", "out/deep/er.jsonl"];
    let now = place.files();
    let removed: Vec<&String> = kept.iter().filter(|name| !now.contains(name)).collect();
    assert_eq!(removed, gone);
    assert_eq!(place.text("out/theirs.jsonl"), "theirs");
    // Where the input is there again, all is as before.
    place.write("in/deep/er.jsonl", anthropic_of([output(1)]));
    place.run(COMMAND).exits(0);
    assert!(place.path("out/deep/er.jsonl").exists());
}

#[test]
fn an_output_stays_while_its_input_is_only_left_out() {
    let place = place();
    place.run(COMMAND).exits(0);
    let command = format!("{COMMAND} --prune-outputs --exclude 0.jsonl");
    let kept = place.files();
    place.run(&command).exits(0);
    assert_eq!(place.files(), kept);
    // A folder without any transcript may be a disk that is not there.
    fs::rename(place.path("in"), place.path("away")).unwrap();
    fs::create_dir(place.path("in")).unwrap();
    place.run(&format!("{COMMAND} --prune-outputs")).exits(2);
    assert!(place.path("out/0.jsonl").exists());
    // A link in the place of an output is not followed.
    fs::remove_dir(place.path("in")).unwrap();
    fs::rename(place.path("away"), place.path("in")).unwrap();
    fs::remove_file(place.path("in/0.jsonl")).unwrap();
    #[cfg(unix)]
    {
        fs::rename(place.path("out/0.jsonl"), place.path("mine.jsonl")).unwrap();
        std::os::unix::fs::symlink("../mine.jsonl", place.path("out/0.jsonl")).unwrap();
        place.run(&format!("{COMMAND} --prune-outputs")).exits(3);
        assert!(place.path("mine.jsonl").exists());
        assert!(place.path("out/0.jsonl").is_symlink());
    }
}

#[cfg(unix)]
#[test]
fn an_input_that_is_no_file_any_more_is_gone() {
    use std::os::unix::fs::symlink;
    let place = place();
    for name in [
        "folder",
        "pipe",
        "to_folder",
        "above/in",
        "nowhere",
        "to_file",
    ] {
        place.write(&format!("in/{name}.jsonl"), anthropic_of([output(1)]));
    }
    place.run(COMMAND).exits(0);
    fs::remove_dir_all(place.path("in/above")).unwrap();
    place.write("in/above", "a file in the place of its folder");
    for name in ["folder", "pipe", "to_folder", "nowhere", "to_file"] {
        fs::remove_file(place.path(&format!("in/{name}.jsonl"))).unwrap();
    }
    fs::create_dir(place.path("in/folder.jsonl")).unwrap();
    let made = place.command_of("mkfifo", &["in/pipe.jsonl"]).status();
    assert!(made.unwrap().success());
    symlink("folder.jsonl", place.path("in/to_folder.jsonl")).unwrap();
    // What a link leads to may be on a disk that is not there, or is there.
    symlink("/not/there", place.path("in/nowhere.jsonl")).unwrap();
    symlink("small.jsonl", place.path("in/to_file.jsonl")).unwrap();
    let gone = [
        "folder.jsonl",
        "pipe.jsonl",
        "to_folder.jsonl",
        "above/in.jsonl",
    ];
    let kept = place.files();
    place
        .run(COMMAND)
        .says(&["an output whose input no longer exists"]);
    let told = |kind: &str| not_read(&place).contains(&(kind.to_owned(), 4));
    assert!(told("vanished"), "{:?}", not_read(&place));
    assert_eq!(place.files(), kept);
    place.run(&format!("{COMMAND} --prune-outputs"));
    assert!(told("pruned"), "{:?}", not_read(&place));
    let now = place.files();
    let removed = kept.iter().filter(|name| !now.contains(name));
    let mut expected = gone.map(|name| format!("out/{name}"));
    expected.sort();
    assert!(removed.eq(&expected), "{now:?}");
}

#[test]
#[cfg(unix)]
fn a_folder_of_inputs_that_became_a_broken_link_may_come_back() {
    let place = Place::with(&[("in/a/x.jsonl", sample().0), ("in/b/y.jsonl", sample().0)]);
    place.run("compact in --out-dir out").exits(0);
    fs::rename(place.path("in/b"), place.path("away")).unwrap();
    std::os::unix::fs::symlink("/not/there", place.path("in/b")).unwrap();
    place.run("compact in --out-dir out --prune-outputs");
    assert!(place.path("out/b/y.jsonl").exists());
    fs::remove_file(place.path("in/b")).unwrap();
    place.run("compact in --out-dir out --prune-outputs");
    assert!(!place.path("out/b/y.jsonl").exists());
}
