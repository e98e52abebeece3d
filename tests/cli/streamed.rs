//! Runs over folders that hold no list of their inputs: whatever the flags, what comes of them is what comes of a list.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::harness::{KEPT, Place, anthropic, claude_code, gzip};

/// What a run leaves: its exit code, what it says, and all files but those of stores.
type Left = (Option<i32>, String, BTreeMap<String, Vec<u8>>);

fn left(place: &Place, args: &[&str]) -> Left {
    let ran = place.run_args(args);
    let mut files = place.all_files();
    let is_kept = |name: &str| name.contains(".ctxpack/") || name.contains("/kept/");
    files.retain(|name, _| !is_kept(name));
    (ran.code, ran.err, files)
}

/// Runs a command over these folders, and in a place like the first one over the same folders with the last one named twice, for
/// which a list is made; then both once more. Returns what the first two runs left, which the others must have left, too.
#[track_caller]
fn same_as_listed(made: &dyn Fn() -> Place, folders: &str, flags: &[&str]) -> [Left; 2] {
    let (streamed, listed) = (made(), made());
    let last = folders.split(' ').next_back();
    let named = |more: Option<&'static str>| {
        let folders = folders.split(' ').chain(more.and(last));
        let mut args = vec!["compact"];
        args.extend(folders);
        args.extend(flags);
        args
    };
    [(); 2].map(|()| {
        let one = left(&streamed, &named(None));
        let two = left(&listed, &named(Some("again")));
        assert_eq!((one.0, &one.1), (two.0, &two.1), "{folders} {flags:?}");
        let names = |left: &Left| left.2.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&one), names(&two), "{folders} {flags:?}");
        for (name, bytes) in &one.2 {
            assert!(two.2[name] == *bytes, "{folders} {flags:?}: {name}");
        }
        one
    })
}

/// Two folders without a path in common, with links, files that cannot be read, and what is left out.
fn two_trees() -> Place {
    let place = Place::in_memory();
    for n in 0..24 {
        let tree = ["a", "b"][n % 2];
        let text = match n % 3 {
            0 => anthropic(KEPT + n, 0),
            _ => claude_code(KEPT + n, 0),
        };
        place.write(&format!("{tree}/{}/{n}.jsonl", n % 5), text);
    }
    place.write("b/packed.jsonl.gz", gzip(anthropic(KEPT, 0)));
    place.write("b/broken.jsonl.gz", &gzip("a")[..12]);
    place.write("a/notes.txt", "no transcript");
    place.write("a/3/.ctxpackignore", "18.jsonl\n");
    for n in 0..2 {
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        let path = place.path(&format!(
            "{}/0/{}.jsonl",
            ["a", "b"][n as usize],
            20 - 5 * n
        ));
        let file = std::fs::File::options().write(true).open(path);
        file.unwrap().set_modified(old).unwrap();
    }
    #[cfg(unix)]
    for (link, target) in [
        ("a/0-first.jsonl", "1/6.jsonl"),
        ("a/z-last.jsonl", "2/2.jsonl"),
        // From one to the other: neither is followed.
        ("a/across.jsonl", "../b/1/1.jsonl"),
        ("b/tree", "../a"),
    ] {
        std::os::unix::fs::symlink(target, place.path(link)).unwrap();
    }
    place
}

#[test]
fn several_folders_are_as_one_after_the_other() {
    for flags in [
        "--out-dir out",
        "--out-dir out -v --since 2000-01-01 -j 3",
        "--out-dir out --shard 1/2 --report r.jsonl",
        "--out-dir new/deep --store kept --dry-run",
        "--in-place",
        "-j 1 --exclude 2/",
        "--report r.csv",
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let [first, _] = same_as_listed(&two_trees, "b a", &flags);
        assert_eq!(first.0, Some(3), "{}", first.1);
    }
}

#[test]
fn outputs_that_would_be_one_file_are_refused_before_anything_is_written() {
    let made = || {
        let place = two_trees();
        place.write("a/same/s.jsonl", anthropic(KEPT, 0));
        place.write("b/same/s.jsonl", anthropic(KEPT + 1, 0));
        place
    };
    let [first, _] = same_as_listed(&made, "a b", &["--out-dir", "out"]);
    assert_eq!(first.0, Some(2));
    assert!(
        first
            .1
            .contains("the outputs of a/same/s.jsonl and of b/same/s.jsonl would be the same file"),
        "{}",
        first.1
    );
    assert!(!first.2.keys().any(|name| name.starts_with("out")));
    // What is left out has no output.
    for flags in ["--exclude /same/", "--shard 2/2", "--until 2000-01-01"] {
        let mut all = vec!["--out-dir", "out"];
        all.extend(flags.split(' '));
        same_as_listed(&made, "a b", &all);
    }
    let [first, _] = same_as_listed(&made, "a b", &["--out-dir", "out", "--exclude", "/same/"]);
    assert!(first.2.contains_key("out/0/0.jsonl"), "{}", first.1);
}

#[test]
fn a_folder_for_outputs_may_be_inside_or_around() {
    for (folders, out) in [
        ("a b", "a/out"),
        ("a b", "b/1/out"),
        ("a b", "a"),
        ("a b", "."),
        ("a", "a/out"),
        ("a/1", "a"),
        ("a a/1", "out"),
        ("a ./b/../a", "out"),
    ] {
        same_as_listed(&two_trees, folders, &["--out-dir", out]);
    }
    let [first, second] = same_as_listed(&two_trees, "a b", &["--out-dir", "a/out"]);
    assert!(first.2.contains_key("a/out/0/0.jsonl"), "{}", first.1);
    // The second time its outputs are no inputs either.
    let names = |left: &Left| left.2.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&first), names(&second));
    same_as_listed(
        &two_trees,
        "a b",
        &["--out-dir", "out", "--store", "a/kept"],
    );
}

#[cfg(unix)]
#[test]
fn what_a_hook_writes_among_the_inputs_is_no_input_of_the_run() {
    let writes = |names: &[&str]| {
        let write = |name: &&str| format!("[ -e {name} ] || {{ cp new $$ && mv $$ {name}; }}; ");
        names.iter().map(write).collect::<String>()
    };
    let made = || {
        let place = two_trees();
        place.write("new", anthropic(KEPT, 0));
        place
    };
    let (pre, post) = (
        writes(&["a/0-new.jsonl", "b/9-new.jsonl"]),
        writes(&["a/zz-new.jsonl"]),
    );
    for flags in [
        &["--out-dir", "out"][..],
        &[],
        &["--in-place", "--shard", "1/2"],
        &["--out-dir", "out", "--since", "2000-01-01"],
    ] {
        let [first, _] = same_as_listed(&made, "a b", &[flags, &["--pre-hook", &pre]].concat());
        assert!(first.2.contains_key("a/0-new.jsonl"), "{}", first.1);
        assert!(!first.2.contains_key("out/0-new.jsonl"));
        assert!(!first.2.contains_key("a/0-new.compact.jsonl"));
        same_as_listed(&made, "a", &[flags, &["--post-hook", &post]].concat());
    }
    // It may also take away what is still to come.
    let place = two_trees();
    let args = ["compact", "a", "b", "--out-dir", "out", "-j", "1"];
    let ran = place.run_args(&[&args[..], &["--pre-hook", "rm -f b/2/*.jsonl"]].concat());
    ran.exits(3).says(&["b/2/7.jsonl: cannot open: "]);
}

#[test]
fn messages_of_folders_are_those_of_a_list() {
    for flags in [
        "--emit messages",
        "--emit messages --out-dir out",
        "--emit messages --shard 1/2",
        "--emit messages --since 2000-01-01 --report r.jsonl",
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        for folders in ["a", "b a"] {
            let [first, second] = same_as_listed(&two_trees, folders, &flags);
            // Its own outputs are there the second time, and are left out.
            assert!(
                first.2.len() > 30 && first.2.len() == second.2.len() || flags.contains(&"--shard")
            );
        }
    }
    // An output whose input is not meant is an input like any other.
    let made = || {
        let place = two_trees();
        for name in ["a/0/0.messages.jsonl", "a/0/x.messages.jsonl.gz"] {
            place.write(name, anthropic(KEPT, 0));
        }
        place
    };
    same_as_listed(&made, "a", &["--emit", "messages", "--exclude", "0.jsonl"]);
    same_as_listed(&made, "a", &["--emit", "messages", "--overwrite"]);
    #[cfg(unix)]
    for (link, target) in [
        ("a/0/5.messages.jsonl", "0.jsonl"),
        ("a/0/00.jsonl", "0.messages.jsonl"),
        ("a/z.messages.jsonl", "z-last.jsonl"),
    ] {
        let made = || {
            let place = made();
            std::os::unix::fs::symlink(target, place.path(link)).unwrap();
            place
        };
        same_as_listed(&made, "a b", &["--emit", "messages", "--overwrite"]);
    }
}

#[test]
fn messages_of_two_files_that_would_be_one_are_refused() {
    let made = || {
        let place = two_trees();
        place.write("a/0/0.JSONL", anthropic(KEPT, 0));
        place
    };
    for flags in ["--emit messages", "--emit messages --out-dir out"] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let [first, _] = same_as_listed(&made, "a", &flags);
        assert_eq!(first.0, Some(2), "{}", first.1);
        assert!(first.1.contains("would be the same file"), "{}", first.1);
        assert!(!first.2.keys().any(|name| name.contains(".messages")));
    }
    // Not the same in the folders of two trees, unless both go to one.
    let made = || {
        let place = two_trees();
        place.write("b/0/0.JSONL", anthropic(KEPT, 0));
        place
    };
    let [first, _] = same_as_listed(&made, "a b", &["--emit", "messages"]);
    assert_eq!(first.0, Some(3), "{}", first.1);
    let [first, _] = same_as_listed(&made, "a b", &["--emit", "messages", "--out-dir", "out"]);
    assert_eq!(first.0, Some(2), "{}", first.1);
}

#[test]
fn what_is_not_there_is_said_as_of_a_list() {
    let made = || {
        let place = Place::with(&[
            ("a/x.jsonl", anthropic(KEPT, 0)),
            ("b/notes.txt", String::new()),
        ]);
        std::fs::create_dir(place.path("c")).unwrap();
        place
    };
    for folders in ["a b", "b a", "b c", "c b", "c a b"] {
        for flags in [
            &["--out-dir", "out"][..],
            &[],
            &["--post-hook", "true"],
            &["--exclude", "x.jsonl"],
        ] {
            same_as_listed(&made, folders, flags);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_wait_on_the_disk_like_others() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let made = || {
        let place = two_trees();
        let folder = place.path("a").join(OsStr::from_bytes(b"\xff\n"));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join(OsStr::from_bytes(b"\xfe.jsonl"));
        std::fs::write(file, anthropic(KEPT, 0)).unwrap();
        place
    };
    // Files of such names cannot be compared by the harness.
    for flags in ["--post-hook true", "--dry-run"] {
        let [one, two] = ["a b", "a b b"].map(|folders| {
            let place = made();
            let line = format!("compact {folders} --out-dir out --report r.json {flags}");
            let ran = place.run(&line);
            (ran.code, ran.err, place.text("r.json"))
        });
        assert_eq!(one, two);
        assert!(one.2.contains(r"\\xFE.jsonl"), "{}", one.2);
    }
}

#[cfg(unix)]
#[test]
fn a_run_with_hooks_that_was_interrupted_is_taken_up() {
    let args = |hook: &'static str| {
        let args = ["compact", "a", "b", "--out-dir", "out", "-j", "1"];
        [&args[..], &["--resume", "--post-hook", hook]].concat()
    };
    let place = two_trees();
    let stop = "echo >> ended; [ $(wc -l < ended) -lt 5 ] || kill -INT $PPID";
    let ran = place.run_args(&args(stop)).exits(130);
    let ran = ran.says(&["interrupted: "]);
    let number = |text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let at = words.iter().position(|word| word.starts_with("remaining"));
        words[at.unwrap() - 1].parse::<usize>().unwrap()
    };
    let remaining = number(&ran.err);
    let whole = two_trees();
    let all = whole.run_args(&args("true")).exits(3).err;
    assert!((10..25).contains(&remaining), "{remaining}");
    // The command differs in its hook only: what it finds is done once more.
    place.run_args(&args("true")).exits(3);
    let outputs = |place: &Place| {
        let mut files = place.all_files();
        files.retain(|name, _| name.starts_with("out/") && !name.contains(".ctxpack/"));
        files
    };
    assert!(outputs(&place) == outputs(&whole), "{all}");
}

/// A folder with more files than are listed in memory, two of them large.
fn very_many() -> Place {
    let place = Place::in_memory();
    for n in 0..4_100 {
        let line = format!("{{\"role\":\"user\",\"content\":\"question {n}\"}}\n");
        place.write(&format!("in/{}/{n}.jsonl", n % 10), line);
    }
    place.write("in/7/large.jsonl", anthropic(KEPT, 0));
    place.write("in/7/larger.jsonl", claude_code(KEPT + 5, 0));
    place.write("in/broken.jsonl.gz", &gzip("a")[..12]);
    place.write("in/notes.txt", "no transcript");
    place
}

#[test]
fn a_list_on_the_disk_is_as_a_walk() {
    let flags = "--out-dir out --report r.jsonl --report r.csv -v --since 2000-01-01";
    let flags: Vec<&str> = flags.split(' ').collect();
    let [first, _] = same_as_listed(&very_many, "in", &flags);
    assert_eq!(first.0, Some(3), "{}", first.1);
    assert_eq!(
        first
            .2
            .keys()
            .filter(|name| name.starts_with("out/"))
            .count(),
        4_102
    );
}

#[test]
fn very_many_patterns_and_names_are_as_few() {
    let place = very_many();
    // One file by three ways, and one that is not there.
    let ran = place.run("compact in/*/*.jsonl in/7 in/7/large.jsonl in/no.jsonl --out-dir out -v");
    ran.exits(3).says(&[
        "no such file or folder",
        "the same file is already an input",
        "4 103 files",
    ]);

    // What two of very many contradict each other in is said as of two.
    place.write("b/7.jsonl", anthropic(KEPT, 0));
    let said = |paths: &str| {
        place
            .run(&format!("compact {paths} --out-dir o"))
            .exits(2)
            .err
    };
    assert_eq!(
        said("in/*/*.jsonl b/7.jsonl"),
        said("in/7/7.jsonl b/7.jsonl")
    );
    assert!(!place.path("o").exists());

    // An output that is named beside its input is left out.
    place.run("compact in/7/large.jsonl").exits(0);
    let mut list: Vec<String> = place.files();
    list.retain(|name| name.starts_with("in/") && name.ends_with(".jsonl"));
    assert!(list.contains(&"in/7/large.compact.jsonl".to_owned()));
    place.write("list", list.join("\n"));
    let skipped = |args: &str| {
        place
            .run(&format!("compact {args} -n --report r.jsonl"))
            .exits(0);
        let report = place.text("r.jsonl");
        let lines = report
            .lines()
            .filter(|line| line.contains("large.compact.jsonl\""));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let few = skipped("in/7/large.jsonl in/7/large.compact.jsonl");
    assert!(
        few.iter().any(|line| line.contains("\"skipped\"")),
        "{few:?}"
    );
    assert_eq!(skipped("--files-from list"), few);
}
