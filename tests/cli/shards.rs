//! `--shard`: several runs share the inputs, and together they are one run.

use std::collections::BTreeMap;

use super::harness::{KEPT, Place, anthropic, claude_code, gzip};

const SHARDS: u32 = 4;

fn archive() -> Place {
    let place = Place::new();
    for n in 0..24 {
        let text = if n % 2 == 0 {
            anthropic(KEPT + n, 0)
        } else {
            claude_code(KEPT + n, 0)
        };
        place.write(&format!("in/{}/{n}.jsonl", n % 5), &text);
    }
    let big = "a line of a long output\n".repeat(4_000);
    place.write(
        "in/big.jsonl",
        super::harness::anthropic_of([big]) + &anthropic(2, 0),
    );
    place.write("in/broken.jsonl.gz", &gzip("a")[..12]);
    for n in 0..9 {
        place.write(&format!("in/{n}/foreign.jsonl"), "{\"kind\":\"a log\"}\n");
        place.write(&format!("in/{n}/notes.txt"), "no transcript");
    }
    place
}

/// The outputs below a folder.
fn outputs(place: &Place, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let names = place.files().into_iter();
    let inside = names.filter_map(|name| Some((name.strip_prefix(folder)?.to_owned(), name)));
    let files = inside.filter(|(inner, _)| inner.ends_with(".jsonl"));
    files
        .map(|(inner, name)| (inner, place.read(&name)))
        .collect()
}

#[test]
fn shards_at_once_are_together_one_run() {
    // One store for all, and one each.
    for own in [false, true] {
        let place = archive();
        place.run("compact in --out-dir whole").exits(3);
        let children: Vec<_> = (1..=SHARDS)
            .map(|n| {
                let store = if own {
                    format!("--store stores/{n}")
                } else {
                    String::new()
                };
                let args = format!("compact in --out-dir out --shard {n}/{SHARDS} {store}");
                let mut command = place.command(&args);
                command.stderr(std::process::Stdio::null()).spawn().unwrap()
            })
            .collect();
        let codes = children
            .into_iter()
            .map(|mut child| child.wait().unwrap().code().unwrap());
        let codes: Vec<i32> = codes.collect();
        // The broken file is in one of them.
        assert_eq!(
            codes.iter().filter(|code| **code == 3).count(),
            1,
            "{codes:?}"
        );
        assert_eq!(
            codes.iter().filter(|code| **code == 0).count(),
            3,
            "{codes:?}"
        );
        let (whole, parts) = (outputs(&place, "whole/"), outputs(&place, "out/"));
        if own {
            let names =
                |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&parts), names(&whole));
        } else {
            assert_eq!(parts, whole);
        }
        let reports: Vec<String> = (1..=SHARDS)
            .map(|n| format!("out/ctxpack.shard-{n}-of-{SHARDS}.stats.json"))
            .collect();
        let files = |report: &String| place.json(report)["files"].as_array().unwrap().len();
        let sizes: Vec<usize> = reports.iter().map(files).collect();
        assert!(sizes.iter().all(|size| *size > 0), "{sizes:?}");
        let backwards: Vec<String> = reports.iter().rev().cloned().collect();
        for order in [&reports, &backwards] {
            place
                .run(&format!("report merge {} -o merged.json", order.join(" ")))
                .exits(0);
            let merged = place.text("merged.json").replace("out/", "whole/");
            if !own {
                assert_eq!(merged, place.text("whole/ctxpack.stats.json"));
            }
        }
        // Each output can be undone, whoever wrote it.
        for (name, _) in parts {
            let store = if own { "" } else { "out/.ctxpack" };
            if !store.is_empty() {
                place
                    .run(&format!(
                        "undo out/{name} --store {store} -o back --overwrite"
                    ))
                    .exits(0);
                assert_eq!(place.read("back"), place.read(&format!("in/{name}")));
            }
        }
        if !own {
            place.run("gc --store out/.ctxpack").exits(0);
            continue;
        }
        for name in outputs(&place, "out/").into_keys() {
            let undone = (1..=SHARDS).filter(|n| {
                let undo = format!("undo out/{name} --store stores/{n} -o back --overwrite");
                let is_there = place.run(&undo).code == Some(0);
                if is_there {
                    assert_eq!(
                        place.read("back"),
                        place.read(&format!("in/{name}")),
                        "{name}"
                    );
                }
                is_there
            });
            // Other stores may know the same bytes of another file.
            assert!(undone.count() > 0, "{name}");
        }
        for n in 1..=SHARDS {
            place.run(&format!("gc --store stores/{n}")).exits(0);
        }
    }
}

#[test]
fn each_shard_tells_of_its_own_outputs_without_input() {
    let place = archive();
    place.run("compact in --out-dir out").exits(3);
    let gone: Vec<String> = (0..24)
        .step_by(2)
        .map(|n| format!("{}/{n}.jsonl", n % 5))
        .collect();
    for name in &gone {
        std::fs::remove_file(place.path(&format!("in/{name}"))).unwrap();
    }
    let mut told = Vec::new();
    for n in 1..=SHARDS {
        let report = format!("r{n}.json");
        place.run(&format!(
            "compact in --out-dir out --shard {n}/{SHARDS} --report {report}"
        ));
        let report = place.json(&report);
        let vanished = report["not_read"].as_array().into_iter().flatten();
        let vanished = vanished.filter(|one| one["kind"] == "vanished");
        told.push(
            vanished
                .map(|one| one["count"].as_u64().unwrap())
                .sum::<u64>(),
        );
    }
    assert_eq!(told.iter().sum::<u64>(), gone.len() as u64, "{told:?}");
    assert!(told.iter().filter(|n| **n > 0).count() > 1, "{told:?}");
    for n in 1..=SHARDS {
        place.run(&format!(
            "compact in --out-dir out --shard {n}/{SHARDS} --prune-outputs"
        ));
        let left = gone
            .iter()
            .filter(|name| place.path(&format!("out/{name}")).exists());
        let rest: u64 = told.iter().skip(n as usize).sum();
        assert_eq!(left.count() as u64, rest, "{n}");
    }
}

#[test]
fn the_part_of_a_file_does_not_depend_on_how_its_folder_is_named() {
    let place = archive();
    let list = |folder: &str, args: &str| {
        let text = place
            .run_in(folder, &format!("pack-lines {args} --shard 2/3"))
            .exits(0)
            .text();
        let path = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["path"].to_string()
        };
        text.lines().map(path).collect::<Vec<_>>()
    };
    let here = list("", "in");
    assert!(!here.is_empty());
    assert_eq!(list("", "./in/"), here);
    assert_eq!(list("in", "."), here);
    assert_eq!(list("in/1", "../../in"), here);
}

#[test]
fn commands_that_only_read_take_shards_too() {
    let place = archive();
    let count = |args: &str, code: i32| {
        let out = place.run(args).exits(code).out;
        let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
        report["files"].as_array().unwrap().len()
    };
    let whole = count("stats in --format json", 3);
    let mut parts = 0;
    for n in 1..=3 {
        let ran = place.run(&format!("stats in --shard {n}/3 --format json"));
        let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
        parts += report["files"].as_array().unwrap().len();
    }
    assert_eq!(parts, whole);
}

#[test]
fn schedulers_say_which_part_it_is() {
    let place = archive();
    let by = |variables: &[(&str, &str)], shard: &str| {
        place.run_with(variables, &format!("pack-lines in --shard {shard}"))
    };
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "12"),
        ("SLURM_ARRAY_TASK_MIN", "10"),
        ("SLURM_ARRAY_TASK_MAX", "14"),
        ("SLURM_ARRAY_TASK_COUNT", "5"),
    ];
    let third = place.run("pack-lines in --shard 3/5").exits(0).out;
    assert_eq!(by(&slurm, "slurm").exits(0).out, third);
    let kubernetes = [("JOB_COMPLETION_INDEX", "2")];
    assert_eq!(by(&kubernetes, "kubernetes/5").exits(0).out, third);
    for (variables, shard) in [
        (&slurm[..3], "slurm"),
        (&[], "slurm"),
        (&[], "kubernetes/5"),
        (&[("JOB_COMPLETION_INDEX", "5")], "kubernetes/5"),
        (&[], "0/5"),
        (&[], "6/5"),
        (&[], "third"),
    ] {
        by(variables, shard)
            .exits(2)
            .says(&["--shard", "hint: use I/N"]);
    }
    place
        .pipe("compact - -o - --shard 1/2", "x")
        .exits(2)
        .says(&["cannot be split"]);
    // A part may be empty.
    let one = Place::with(&[("in/a.jsonl", anthropic(KEPT, 0))]);
    for n in 1..=5 {
        one.run(&format!("compact in --out-dir out --shard {n}/5"))
            .exits(0);
    }
    assert_eq!(outputs(&one, "out/").len(), 1);
}
