//! A folder whose inputs are worked on while it is walked: what comes out is what comes out of a list.

use std::fs;
use std::time::{Duration, SystemTime};

use super::harness::{KEPT, Place, anthropic, anthropic_of, claude_code, gzip, output};

/// The folder once more: of several paths, the inputs are listed before anything is done.
const LISTED: &str = "in";

fn archive() -> Place {
    let place = Place::new();
    for n in 0..40 {
        let text = match n % 3 {
            0 => anthropic(KEPT + n, 0),
            1 => claude_code(KEPT + n, 0),
            _ => anthropic_of([output(n)]),
        };
        place.write(&format!("in/{}/{n}.jsonl", n % 7), &text);
    }
    place.write("in/3/packed.jsonl.gz", gzip(anthropic(KEPT, 0)));
    place.write("in/broken.jsonl.gz", &gzip("a")[..12]);
    place.write("in/foreign.jsonl", "{\"kind\":\"a log\"}\n");
    place.write("in/empty.jsonl", "");
    place.write("in/notes.txt", "no transcript");
    place.write("in/5/.ctxpackignore", "12.jsonl\n");
    #[cfg(unix)]
    for (link, target) in [
        ("in/0-first.jsonl", "1/1.jsonl"),
        ("in/z-last.jsonl", "2/2.jsonl"),
        ("in/out.jsonl", "../other.jsonl"),
        ("in/folder", "1"),
    ] {
        std::os::unix::fs::symlink(target, place.path(link)).unwrap();
    }
    place.write("other.jsonl", anthropic(KEPT, 0));
    place
}

#[test]
fn outputs_and_reports_are_those_of_a_list() {
    let place = archive();
    let ran = |out: &str, flags: &str| {
        let reports = format!("--report {out}.json --report {out}.jsonl --report {out}.csv");
        let ran = place.run(&format!("compact in --out-dir {out} {reports} {flags}"));
        ran.exits(3).err.replace(out, "OUT")
    };
    let said = ran("walked", "-j 2");
    assert_eq!(ran("listed", LISTED), said);
    assert_eq!(ran("alone", "-j 1"), said);
    let files = |out: &str| {
        let all = place.files().into_iter();
        let own = all.filter(|name| name.starts_with(out) && !name.contains(".ctxpack"));
        let text = |name: &String| place.read(name);
        own.map(|name| {
            (
                name.replace(out, "OUT"),
                String::from_utf8_lossy(&text(&name)).replace(out, "OUT"),
            )
        })
        .collect::<Vec<_>>()
    };
    let walked = files("walked");
    assert!(walked.len() > 40, "{}", walked.len());
    assert!(files("listed") == walked && files("alone") == walked);
}

#[test]
fn what_is_not_meant_is_left_out_on_the_way() {
    let place = archive();
    for n in 0..70 {
        let name = format!("in/old/{n}.jsonl");
        place.write(&name, claude_code(KEPT, 0));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        let file = fs::File::options().write(true).open(place.path(&name));
        file.unwrap().set_modified(old).unwrap();
        place.write(&format!("in/old/{n}.txt"), "");
    }
    for (name, filter) in [
        ("since", "--since 2000-01-01"),
        ("until", "--until 2000-01-01"),
        ("project", "--project nobodys"),
        ("part", "--project nobodys --shard 1/2"),
    ] {
        let ran = |paths: &str, flags: &str| {
            let out = format!("out-{name}-{}", paths.len());
            let ran = place.run(&format!(
                "compact {paths} --out-dir {out} -v {filter} {flags}"
            ));
            let report = place.files().into_iter().find(|file| {
                file.starts_with(&format!("{out}/ctxpack.")) && file.ends_with(".stats.json")
            });
            let report = place.text(&report.unwrap());
            (
                ran.exits(3).err.replace(&out, "OUT"),
                report.replace(&out, "OUT"),
            )
        };
        let listed = ran("in in", "");
        assert!(listed.1.contains("\"not_read\""));
        assert!(ran("in", "-j 2") == listed, "{name}: {}", ran("in", "").0);
    }
}

#[test]
fn in_place_it_is_the_same() {
    let (one, two) = (archive(), archive());
    let said = one.run("compact in --in-place").exits(3).err;
    assert_eq!(
        two.run(&format!("compact in --in-place {LISTED}"))
            .exits(3)
            .err,
        said
    );
    let files = |place: &Place| {
        let mut files = place.all_files();
        files.retain(|name, _| !name.contains(".ctxpack/"));
        files
    };
    assert!(files(&one) == files(&two));
    one.run("undo in").exits(3);
    assert_eq!(one.text("in/0/0.jsonl"), anthropic(KEPT, 0));
}

#[test]
fn a_run_never_meets_its_own_outputs() {
    let place = Place::with(&[
        ("in/a.jsonl", anthropic(KEPT, 0)),
        ("in/m/b.jsonl", anthropic(KEPT + 1, 0)),
    ]);
    // Behind all inputs, and there only when the run has begun; then once more.
    for _ in 0..2 {
        place
            .run("compact in --out-dir in/z --no-report")
            .exits(0)
            .says(&["total      2 files"]);
    }
    let outputs = || {
        let files = place.files().into_iter();
        files
            .filter(|name| name.starts_with("in/z/") && name.ends_with(".jsonl"))
            .collect::<Vec<_>>()
    };
    assert_eq!(outputs(), ["in/z/a.jsonl", "in/z/m/b.jsonl"]);
    place
        .run("compact in --out-dir out --store in/zz --report in/zzz.jsonl")
        .exits(0);
    // The two, what came of them, and the sums.
    assert_eq!(place.text("in/zzz.jsonl").lines().count(), 5);
}

#[test]
fn what_would_contradict_itself_is_refused_before_anything_is_written() {
    let place = archive();
    let before = place.all_files();
    place
        .run("compact in --out-dir in")
        .exits(2)
        .says(&["would replace its own input"]);
    for name in ["in/in/in/1.jsonl", "in/in/1.jsonl"] {
        place.write(name, anthropic(KEPT, 0));
    }
    place
        .run("compact in/in --out-dir in")
        .exits(2)
        .says(&["would overwrite"]);
    fs::remove_dir_all(place.path("in/in")).unwrap();
    place
        .run("compact in --out-dir other.jsonl")
        .exits(2)
        .says(&["--out-dir names a file"]);
    fs::create_dir(place.path("nothing")).unwrap();
    place
        .run("compact nothing --out-dir out")
        .exits(2)
        .says(&["no transcript below this folder\n"]);
    // Somebody else may have named it like that.
    place.write("nothing/a.compact.jsonl", anthropic(KEPT, 0));
    for command in ["compact nothing --out-dir out", "stats nothing"] {
        place.run(command).exits(2).says(&[
            "no transcript below this folder, except for 1 file named like an output of ctxpack\n",
            "hint: a file that is named itself is read, whatever its name",
        ]);
    }
    fs::remove_dir_all(place.path("nothing")).unwrap();
    assert!(place.all_files() == before);
}

#[test]
fn gates_hold_for_very_many_files_as_for_few() {
    let place = Place::in_memory();
    // More than are held in memory.
    for n in 0..11_500 {
        let line = format!("{{\"role\":\"user\",\"content\":\"question {n}\"}}\n");
        place.write(&format!("in/{}/{n}.jsonl", n % 100), line);
    }
    place.write("in/7/large.jsonl", anthropic(KEPT, 0));
    place.write("in/7/larger.jsonl", anthropic(KEPT + 5, 0));
    let gates = "--budget 90 --min-savings 99 --require-valid --max-degraded 0";
    let many = place
        .run(&format!("compact in --out-dir out --no-report {gates}"))
        .exits(1)
        .err;
    place.write("few/7/large.jsonl", anthropic(KEPT, 0));
    place.write("few/7/larger.jsonl", anthropic(KEPT + 5, 0));
    let few = place
        .run(&format!("compact few --out-dir out2 --no-report {gates}"))
        .exits(1)
        .err;
    let over = |text: &str| {
        let line = text.lines().find(|line| line.contains("over the budget"));
        line.map(|line| line.replace("few/", "in/"))
    };
    assert_eq!(over(&many), over(&few));
    assert!(over(&many).unwrap().contains("2 conversations"), "{many}");
    assert!(many.contains("this run saves"), "{many}");
}

#[test]
fn what_is_written_beside_inputs_is_that_of_a_list() {
    let ran = |flags: &str| {
        let place = archive();
        // Its report is also that of the compressed file beside it.
        place.write("in/3/packed.jsonl", anthropic(KEPT + 1, 0));
        let ran = place.run(&format!("compact in {flags}")).exits(3);
        let mut files = place.all_files();
        files.retain(|name, _| !name.contains(".ctxpack/"));
        (ran.err, files)
    };
    let (said, files) = ran("-j 2");
    assert!(files.contains_key("in/0/0.compact.stats.json"));
    let both = String::from_utf8_lossy(&files["in/3/packed.compact.stats.json"]);
    assert!(both.contains("\"files\": 2,"), "{both}");
    for flags in [LISTED, "-j 1"] {
        let (said_so, listed) = ran(flags);
        assert_eq!(said_so, said, "{flags}");
        let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            files.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&listed), names(&files), "{flags}");
        for (name, bytes) in &files {
            assert!(listed[name] == *bytes, "{flags}: {name} differs");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_outputs_with_their_reports() {
    let place = Place::new();
    for n in 0..5 {
        place.write(&format!("in/{n}.jsonl"), anthropic(KEPT + n, 0));
    }
    // The third output kills the run before its report is written.
    let hook = "echo >> ended; [ $(wc -l < ended) -lt 3 ] || kill -9 $PPID";
    let mut command = place.command("compact in -j 1 --post-hook");
    let status = command.arg(hook).status().unwrap();
    assert_eq!(status.code(), None, "{status}");
    let files = place.files();
    let number = |end: &str| files.iter().filter(|name| name.ends_with(end)).count();
    assert_eq!((number(".compact.jsonl"), number(".stats.json")), (3, 2));
    for report in files.iter().filter(|name| name.ends_with(".stats.json")) {
        let report = place.json(report);
        let output = report["files"][0]["output"].as_str().unwrap().to_owned();
        assert!(files.contains(&output), "{output}");
    }
}
