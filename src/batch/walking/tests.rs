//! What may begin at once, and that a walk finds what a list does.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::artifacts::Replies;
use crate::batch::{
    BadLines, Effect, HookOutput, Hooks, Limits, Overwrite, Paths, Reported, Resume, Search, Trust,
};
use crate::emit::Messages;

fn options(destination: Destination) -> Options {
    Options {
        destination,
        fork: None,
        emit: None,
        store: None,
        overwrite: Overwrite::OwnOnly,
        reported: Reported::default(),
        effect: Effect::Write,
        format: None,
        replies: Replies::default(),
        server: None,
        limits: Limits::default(),
        scope: Scope::All,
        resume: Resume::Never,
        trust: Trust::Bytes,
        bad_lines: BadLines::Pass,
        hooks: Hooks::default(),
        jobs: 1,
        stop: Arc::new(AtomicUsize::new(0)),
        clock: None,
    }
}

#[test]
fn inputs_that_may_contradict_each_other_are_listed_first() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for name in [
        "a/x.jsonl",
        "a/deep/y.jsonl",
        "b/y.jsonl",
        "b/y.messages.jsonl",
    ] {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), "{}").unwrap();
    }
    let is_streamed = |paths: &[&str], options: &Options| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| at(path)).collect();
        let (exclude, filter) = (Exclude::default(), Filter::default());
        StreamingWalk::of(&paths, options, (&exclude, &filter), None).is_some()
    };
    let out = |name: &str| Destination::Folder(at(name));
    for (paths, destination, expected) in [
        (&["a"][..], Destination::Beside, true),
        (&["a"], out("out"), true),
        (&["a", "b"], Destination::Beside, true),
        (&["b", "a"], Destination::InPlace, true),
        (&["b", "a"], out("out"), false),
        (&["a"], out("a/new"), false),
        (&["a/deep"], out("a"), false),
        (&["a", "a/deep"], Destination::Beside, false),
        (&["a", "b/../a"], Destination::Beside, false),
        (&["a/x.jsonl"], Destination::Beside, false),
        (&["a"], Destination::Stdout, false),
    ] {
        assert_eq!(
            is_streamed(paths, &options(destination.clone())),
            expected,
            "{paths:?} {destination:?}"
        );
    }
    let hooks = Hooks {
        post: Some("true".to_owned()),
        output: HookOutput::Dropped,
        ..Hooks::default()
    };
    let emit = Some(Messages::Chat);
    for options in [
        Options {
            hooks,
            ..options(Destination::InPlace)
        },
        Options {
            emit,
            ..options(Destination::Beside)
        },
        Options {
            store: Some(at("b/new")),
            ..options(Destination::Beside)
        },
    ] {
        assert!(!is_streamed(&["b"], &options));
    }
    let apart = Options {
        store: Some(at("b/new")),
        ..options(Destination::Beside)
    };
    assert!(is_streamed(&["a"], &apart));
}

#[test]
fn a_walk_does_not_begin_where_it_could_meet_what_the_run_writes() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("in/old")).unwrap();
    fs::create_dir(at("out")).unwrap();
    for (out, is) in [
        ("out", false),
        ("new", false),
        // Whether it could be in the way: an existing folder is left out of the walk, a new one is not.
        ("in/old", false),
        ("in/new", true),
        ("in/new/deep", true),
        ("in/old/new", true),
        ("in", true),
        ("", true),
        ("out/../in", true),
    ] {
        assert_eq!(
            is_in_the_way(&at(out), &at("in"), SkipRule::IfThere),
            is,
            "{out}"
        );
    }
    for (store, is) in [
        ("out/s", false),
        ("in/.ctxpack", false),
        ("in/s", true),
        ("in/old", true),
        ("", false),
    ] {
        assert_eq!(
            is_in_the_way(&at(store), &at("in"), SkipRule::ByName),
            is,
            "{store}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_file_is_met_once_as_when_it_is_listed() {
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join("in").join(name);
    fs::create_dir_all(at("m/.ctxpack")).unwrap();
    fs::create_dir_all(at("gone")).unwrap();
    for name in [
        "m/a.jsonl",
        "m/b.jsonl",
        "n.jsonl",
        "note.txt",
        "m/.ctxpack/c.jsonl",
        "gone/d.jsonl",
    ] {
        fs::write(at(name), "{}").unwrap();
    }
    // Links that come before and after their targets, two to the same one, and links to files that no walk shows.
    for (link, target) in [
        ("0.jsonl", "m/a.jsonl"),
        ("z.jsonl", "m/b.jsonl"),
        ("m-.jsonl", "note.txt"),
        ("m/0.jsonl", "../note.txt"),
        ("y.jsonl", "m/.ctxpack/c.jsonl"),
        ("x.jsonl", "gone/d.jsonl"),
        ("y2.jsonl", "y.jsonl"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    let exclude = Exclude::new(&["gone/".to_owned()]).unwrap();
    let search = Search {
        skip: None,
        exclude: &exclude,
        shard: None,
        scratch: place.path(),
    };
    let listed = search.inputs(&Paths::new(vec![at("")])).unwrap();
    let folders = Folders::of(&[at("")], None, (&exclude, None)).unwrap();
    let walking = StreamingWalk {
        folders,
        filter: Filter::default(),
    };
    let mut met = Vec::new();
    let found = walking
        .each(&mut |source, look| met.push((source, look)))
        .unwrap();
    let (sources, looks): (Vec<Source>, Vec<Option<Snapshot>>) = met.into_iter().unzip();
    assert_eq!(sources, listed.sources.to_vec().unwrap());
    assert!(
        looks
            .iter()
            .all(|look| look.is_some_and(|look| look.seen.bytes == 2))
    );
    assert_eq!(
        (found.met, found.skipped.groups()),
        (sources.len() as u64, listed.skipped.groups())
    );
    assert_eq!(sources.len(), 6, "{sources:?}");
    // Includes links to files that are inputs themselves.
    assert_eq!(walking.count(), 10);
}
