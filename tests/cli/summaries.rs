//! `compact` with summaries: the flags, the originals that are kept, and files that are restored from a folder.

use serde_json::{Value, json};

use super::harness::{Place, anthropic};

/// A session in which a file of that path is read, and then much is said.
fn session(path: &str) -> String {
    let line = |value: Value| format!("{value}\n");
    let mut lines = line(json!({"role": "user", "content": "Read it, and name every station."}));
    lines += &line(json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": path}}]}));
    lines += &line(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "     1\told alder\n     2\told birch"}]}));
    for n in 0..40 {
        lines += &line(
            json!({"role": "assistant", "content": format!("Station alder-{n} answers. {}", "It is well. ".repeat(60))}),
        );
        lines += &line(json!({"role": "user", "content": format!("And station birch-{n}?")}));
    }
    lines + &line(json!({"role": "assistant", "content": "All are named."}))
}

fn conversation(place: &Place, report: &str) -> Value {
    place.json(report)["files"][0]["conversations"][0].clone()
}

#[test]
fn a_summary_is_made_when_it_is_asked_for_and_only_then() {
    let place = Place::with(&[("in.jsonl", session("/p/stations.txt"))]);
    place.run("compact in.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), session("/p/stations.txt"));
    let now = conversation(&place, "in.compact.stats.json");
    assert_eq!(now["summary"], Value::Null);
    assert!(
        now["reason"]
            .as_str()
            .unwrap()
            .contains("below its trigger of 20 000"),
        "{now}"
    );

    place
        .run("compact in.jsonl --summarize always --instructions birch-7")
        .exits(0);
    let now = conversation(&place, "in.compact.stats.json");
    assert_eq!(now["summary"]["source"], "extractive");
    assert_eq!(now["summary"]["success"], true);
    let text = place.text("in.compact.jsonl");
    assert!(text.starts_with(
        r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n"#
    ));
    assert!(text.contains("And station birch-7?"));
    assert!(now["tokens_after"].as_u64() < now["tokens_before"].as_u64());
    place.run("undo in.compact.jsonl -o back.jsonl").exits(0);
    assert_eq!(place.text("back.jsonl"), session("/p/stations.txt"));

    let overrides = &place.json("in.compact.stats.json")["policy"]["overrides"];
    let keys: Vec<&str> = overrides
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["summary.when", "summary.instructions"]);
}

#[test]
fn a_target_is_kept_to_or_said_to_be_out_of_reach() {
    let place = Place::with(&[("in.jsonl", session("/p/stations.txt"))]);
    place.run("compact in.jsonl --target 900").exits(0);
    let now = conversation(&place, "in.compact.stats.json");
    assert_eq!(
        now["target"],
        json!({"tokens": 900, "kind": "cap", "reached": true})
    );
    assert!(now["tokens_after"].as_u64().unwrap() <= 900);

    place
        .run("compact in.jsonl --target 2 --report two.json")
        .exits(1);
    let now = conversation(&place, "two.json");
    assert_eq!(
        now["target"],
        json!({"tokens": 2, "kind": "cap", "reached": false})
    );
    assert!(
        place
            .text("in.compact.jsonl")
            .contains("And station birch-39?")
    );

    place
        .run("compact in.jsonl --target 100% --summarize never --report never.json")
        .exits(0);
    assert_eq!(conversation(&place, "never.json")["summary"], Value::Null);
    place
        .run("compact in.jsonl --target 0")
        .exits(2)
        .says(&["a number of tokens above 0"]);
    place
        .run("compact in.jsonl --target -5")
        .exits(2)
        .says(&["a number of tokens above 0"]);
    place
        .run("compact in.jsonl --summarize often")
        .exits(2)
        .says(&["always"]);
}

#[test]
fn files_come_back_from_the_folder_that_is_named_and_from_nowhere_else() {
    let place = Place::with(&[
        ("p/stations.txt", "new alder\nnew birch\n"),
        ("p/.env", "SECRET=1\n"),
        ("outside.txt", "outside\n"),
    ]);
    let read = |path: &str, args: &str| {
        place.write("in.jsonl", session(path));
        place
            .run(&format!(
                "compact in.jsonl --summarize always --set clear.keep=0 --report r.json {args}"
            ))
            .exits(0);
        let restored = conversation(&place, "r.json")["restored"].clone();
        let text = place.text("in.compact.jsonl");
        let from: Vec<String> = restored
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["source"].as_str().unwrap().to_owned())
            .collect();
        (
            from.join(","),
            text,
            place.json("r.json")["files"][0]["warnings"].clone(),
        )
    };
    let (from, text, _) = read("stations.txt", "");
    assert_eq!(from, "transcript");
    assert!(text.contains("old alder") && !text.contains("new alder"));
    let (from, text, warnings) = read("stations.txt", "--files-root p");
    assert_eq!((from.as_str(), &warnings), ("disk", &json!([])));
    assert!(text.contains(r"[File restored: stations.txt]\n```\nnew alder\nnew birch\n```"));
    // What secrets go by comes back from nowhere, not even as the transcript shows it.
    for flags in ["", "--files-root p"] {
        for secret in [".env", "/p/Prod.ENV", "deep/.kube/config", ".npmrc"] {
            let (from, text, warnings) = read(secret, flags);
            assert_eq!(from, "", "{secret}");
            assert!(
                !text.contains("restored") && !text.contains("SECRET"),
                "{secret}"
            );
            let said = json!([{"kind": "file_withheld", "line": null,
                "message": format!("not put back: {secret}: files with this name usually contain secrets")}]);
            assert_eq!(warnings, said, "{secret}");
        }
    }
    for hostile in ["../outside.txt", "/etc/hostname"] {
        let (from, text, warnings) = read(hostile, "--files-root p");
        assert_eq!(from, "transcript", "{hostile}");
        assert!(
            !text.contains("SECRET") && !text.contains("outside\\n"),
            "{hostile}"
        );
        assert_eq!(warnings[0]["kind"], "file_not_read", "{hostile}");
    }
    // Where the file is known to be another one by now, what the transcript shows of it is not put back either.
    place.write("p/binary.txt", b"\xff\x00\xfe");
    for path in ["gone.txt", "binary.txt"] {
        let (from, _, warnings) = read(path, "--files-root p");
        assert_eq!(from, "", "{path}");
        assert_eq!(warnings[0]["kind"], "file_not_read", "{path}");
    }
    place
        .run("compact in.jsonl --files-root /")
        .exits(2)
        .says(&["this folder is too broad"]);
}

#[test]
fn a_policy_file_names_the_folder_of_files_from_its_own() {
    let place = Place::with(&[
        ("in.jsonl", session("stations.txt").as_str()),
        ("p/stations.txt", "of the current folder\n"),
        ("q/p/stations.txt", "beside the policy\n"),
        ("q/r.toml", "[restore]\nroot = \"p\"\n"),
        ("q/below/s.toml", "extends = \"../r.toml\"\n"),
        ("fx/a/input.jsonl", session("stations.txt").as_str()),
        ("fx/a/policy.toml", "[restore]\nroot = \"gone\"\n"),
    ]);
    let args = "--summarize always --set clear.keep=0 -o -";
    let above = place.run(&format!("compact in.jsonl --policy q/r.toml {args}"));
    let above = above.exits(0).text();
    assert!(above.contains("beside the policy"), "{above}");
    let run_in = |folder: &str, policy: &str| {
        let args = format!("compact ../in.jsonl --policy {policy} {args}");
        place.run_in(folder, &args).exits(0).text()
    };
    assert_eq!(run_in("q", "r.toml"), above);
    assert_eq!(run_in("p", "../q/below/s.toml"), above);
    // A flag names it from the current folder.
    let flag = format!("compact in.jsonl --policy q/r.toml {args} --files-root p");
    let flag = place.run(&flag).exits(0).text();
    assert!(flag.contains("of the current folder"), "{flag}");
    place.run("check fx").exits(3).says(&["fx/a/gone"]);
    // What is shown may be saved anywhere.
    let shown = place.run("policy show q/r.toml").exits(0);
    place.write("copy.toml", shown.out);
    let copy = format!("compact in.jsonl --policy copy.toml {args}");
    assert_eq!(place.run(&copy).exits(0).text(), above);
}

/// Turns of a question and an answer of this many words.
fn turns(count: usize, words: usize) -> String {
    let turn = |i: usize| {
        let answer: Vec<String> = (0..words).map(|n| format!("gauge-{i}-{n}")).collect();
        let question = json!({"role": "user", "content": format!("And station {i}?")});
        let answer = json!({"role": "assistant", "content": answer.join(" ")});
        format!("{question}\n{answer}\n")
    };
    (0..count).map(turn).collect()
}

/// A larger number never keeps less, and what does not fit is said.
#[test]
fn turns_that_are_over_the_trigger_keep_as_many_as_are_not() {
    let place = Place::with(&[("in.jsonl", turns(6, 100))]);
    let kept = |args: &str| {
        let args =
            format!("compact in.jsonl --report r.json --overwrite --set target.tokens=0 {args}");
        let ran = place.run(&args).exits(0);
        let summary = conversation(&place, "r.json")["summary"].clone();
        (summary["preserved_messages"].as_u64().unwrap(), ran)
    };
    let keys = "--set trigger.tokens=1500 --set summary.keep_tokens=0 --set summary.keep_turns=";
    let all: Vec<u64> = (0..6).map(|n| kept(&format!("{keys}{n}")).0).collect();
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(all[..2], [0, 2]);
    assert!(all[5] > 2 && all[5] < 10, "{all:?}");
    let said = "fewer messages are kept than summary.keep_turns and summary.keep_messages ask for";
    kept(&format!("{keys}5"))
        .1
        .says(&[said, "over the trigger"]);
    assert!(!kept(&format!("{keys}1")).1.err.contains(said));
    place.write("in.jsonl", turns(40, 100));
    let keys = "--set trigger.tokens=9000 --set summary.keep_messages=30";
    place
        .run(&format!("compact in.jsonl -n {keys}"))
        .exits(0)
        .says(&[said, "the target leaves no room for them"]);
}

/// An aim is missed for the smallest summary, which is no larger than the one that was asked for.
#[test]
fn the_share_makes_no_summary_larger_than_its_size() {
    let place = Place::with(&[("in.jsonl", turns(150, 100))]);
    let after = |args: &str| {
        place
            .run(&format!(
                "compact in.jsonl -n --report r.json --overwrite {args}"
            ))
            .exits(0);
        conversation(&place, "r.json")["tokens_after"]
            .as_u64()
            .unwrap()
    };
    let plain = after("");
    assert!(
        after("--set summary.share=0.5") <= plain.max(10_000),
        "{plain}"
    );
}

#[test]
fn a_policy_that_always_archives_keeps_a_copy_of_what_it_summarises() {
    let place = Place::with(&[("in.jsonl", session("/p/stations.txt"))]);
    let big = "--policy layered --set window.context=30000 --set trigger.min_savings=1";
    place.run(&format!("compact in.jsonl {big}")).exits(0);
    let original = &place.json("in.compact.stats.json")["files"][0]["original"];
    assert_eq!(original["kind"], "archive");
    std::fs::remove_file(place.path("in.jsonl")).unwrap();
    place.run("undo in.compact.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), session("/p/stations.txt"));

    let ran = place.pipe("compact --policy layered", session("/p/stations.txt"));
    ran.exits(3)
        .says(&["a stream has no store to put it in", "--store"]);
    place
        .pipe(
            "compact --policy layered --store kept",
            session("/p/stations.txt"),
        )
        .exits(0);
}

#[test]
fn scripted_answers_stand_beside_the_policy() {
    let place = Place::with(&[
        ("in.jsonl", anthropic(9, 0).as_str()),
        (
            "p.toml",
            "summary.source = \"scripted\"\nsummary.when = \"always\"\n",
        ),
    ]);
    place
        .run("compact in.jsonl --policy p.toml")
        .exits(2)
        .says(&["summaries.jsonl"]);
    place.write("summaries.jsonl", "{\"text\":\"Nine things were read.\"}\n");
    place.run("compact in.jsonl --policy p.toml").exits(0);
    assert!(
        place
            .text("in.compact.jsonl")
            .contains("Nine things were read.")
    );
    place.write("summaries.jsonl", "so\n");
    place
        .run("compact in.jsonl --policy p.toml")
        .exits(2)
        .says(&["summaries.jsonl:1"]);
    place
        .run("compact in.jsonl --set summary.source=scripted")
        .exits(2)
        .says(&["beside the policy file"]);
    place
        .run("compact in.jsonl --set summary.source=openai")
        .exits(2)
        .says(&["OPENAI_API_KEY is not set"]);
}

/// Requests of some hundred tokens, each with a short answer.
fn many_requests(count: usize) -> Vec<String> {
    let words = "the station of that valley has a bench a lamp and a clock on its platform";
    (0..count)
        .map(|n| format!("Request {n}: {}", [words; 8].join(" ")))
        .collect()
}

fn answered(requests: &[String]) -> String {
    let line = |role: &str, text: &str| format!("{}\n", json!({"role": role, "content": text}));
    requests
        .iter()
        .map(|request| {
            let answer = "It is done, and the log of it was written down. ".repeat(5);
            line("user", request) + &line("assistant", &answer)
        })
        .collect()
}

#[test]
fn an_aim_is_missed_for_the_users_words_and_a_cap_is_not_and_both_are_said() {
    let requests = many_requests(180);
    let place = Place::with(&[("in.jsonl", answered(&requests))]);
    let ran = place.run("compact in.jsonl").exits(0);
    let text = place.text("in.compact.jsonl");
    assert!(requests.iter().all(|request| text.contains(request)));
    let now = conversation(&place, "in.compact.stats.json");
    let target = json!({"tokens": 10_000, "kind": "aim", "reached": false, "reason": "user_words"});
    assert_eq!(now["target"], target);
    assert_eq!(now["summary"]["user_clipped"], 0);
    let said = "in.jsonl: warning: over the policy's own target: typed messages are kept whole";
    assert!(ran.err.contains(said), "{}", ran.err);

    for (given, options) in [
        ("flag.jsonl", "--target 10000"),
        ("set.jsonl", "--set target.tokens=10000"),
        ("file.jsonl", "--policy own.toml"),
    ] {
        place.write("own.toml", "extends = \"auto\"\ntarget.tokens = 10_000\n");
        let ran = place
            .run(&format!(
                "compact in.jsonl -o {given} --report r.json {options}"
            ))
            .exits(0);
        let now = conversation(&place, "r.json");
        assert_eq!(
            now["target"],
            json!({"tokens": 10_000, "kind": "cap", "reached": true})
        );
        let text = place.text(given);
        let told = requests
            .iter()
            .filter(|request| text.contains(*request))
            .count() as u64;
        let clipped = now["summary"]["user_clipped"].as_u64().unwrap();
        assert_eq!(told + clipped, 180);
        assert!(clipped > 50 && text.contains(&requests[179]));
        let said = format!(
            "in.jsonl: warning: typed messages are clipped or left out: the target leaves no room for them ({clipped} lines: \
             3, 5, "
        );
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    // Whoever says so has an aim of their own.
    place.write(
        "own.toml",
        "extends = \"auto\"\n[target]\nkind = \"aim\"\ntokens = 9_000\n",
    );
    place
        .run("compact in.jsonl -o own.jsonl --report r.json --policy own.toml")
        .exits(0);
    let target = &conversation(&place, "r.json")["target"];
    assert_eq!(
        (&target["kind"], &target["tokens"]),
        (&json!("aim"), &json!(9_000))
    );
}

/// A session of Claude Code in which the parent of the fourth message is missing.
fn broken_chain() -> String {
    let line = |n: usize, parent: Option<usize>, role: &str, words: &str| {
        let id = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
        let content = format!("{words} {}", "and so on ".repeat(20));
        format!(
            "{}\n",
            json!({"parentUuid": parent.map(id), "isSidechain": false, "type": role, "uuid": id(n), "sessionId": "s",
                "cwd": "/p", "version": "2.1.40", "timestamp": format!("2026-01-01T0{n}:00:00.000Z"),
                "message": {"role": role, "content": content}})
        )
    };
    let ends = [
        None,
        Some(1),
        Some(2),
        Some(99),
        Some(4),
        Some(5),
        Some(6),
        Some(7),
    ];
    let lines = ends.iter().zip(1..).map(|(parent, n)| match n % 2 {
        1 => line(n, *parent, "user", &format!("question {n}")),
        _ => line(n, *parent, "assistant", &format!("answer {n}")),
    });
    lines.collect()
}

#[test]
fn what_is_before_a_broken_chain_stays_behind_every_summary() {
    let place = Place::with(&[("in.jsonl", broken_chain())]);
    for how in [
        "--set summary.keep_tokens=20",
        "--set summary.keep_tokens=20 --history drop",
        "--policy reset",
        "--policy boundary",
        "--policy layered --target 200",
    ] {
        let run = |from: &str, to: &str| {
            let command = format!("compact {from} -o {to} --overwrite --summarize always {how}");
            place
                .run(&command)
                .says(&["warning: the parent of a message is missing"]);
            let out = place.text(to);
            for line in broken_chain().lines().take(3) {
                assert!(out.contains(line), "{how}: {out}");
            }
            out
        };
        let out = run("in.jsonl", "out.jsonl");
        assert!(out.contains("compact_boundary"), "{how}");
        // Nor does another run take them for dead, even if the agent has gone on.
        let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        let next = |n: usize, parent: &Value, role: &str| {
            let id = format!("00000000-0000-4000-8000-0000000000{n}");
            json!({"parentUuid": parent, "isSidechain": false, "type": role, "uuid": id, "sessionId": "s", "cwd": "/p",
                "version": "2.1.40", "timestamp": format!("2026-01-02T{n}:00:00.000Z"),
                "message": {"role": role, "content": format!("more {n} {}", "and so on ".repeat(40))}})
        };
        let mut more = vec![next(10, &last["uuid"], "user")];
        for n in 11..18 {
            let parent = more.last().unwrap()["uuid"].clone();
            more.push(next(n, &parent, ["user", "assistant"][n % 2]));
        }
        let more: String = more.iter().map(|line| format!("{line}\n")).collect();
        place.write("on.jsonl", out + &more);
        let again = run("on.jsonl", "again.jsonl");
        assert!(again.matches("compact_boundary").count() > 1, "{how}");
        run("again.jsonl", "third.jsonl");
    }
}

#[test]
fn words_that_begin_like_a_summary_are_the_users_where_summaries_have_records() {
    let heading = "[Conversation compressed]";
    let words = format!(
        "{heading}\n{}Now: do not touch the billing tables.",
        "a line of what I wrote down\n".repeat(60)
    );
    let parts = |text: &str| json!([{"text": text}]);
    let line = |n: usize, kind: &str, role: &str, text: &str| {
        let id = |n: usize| (n > 0).then(|| format!("id-{n}"));
        format!(
            "{}\n",
            json!({"uuid": id(n), "parentUuid": id(n - 1), "sessionId": "s", "type": kind,
                "provenance": "real_user", "cwd": "/p", "message": {"role": role, "parts": parts(text)}})
        )
    };
    let mut text = line(1, "user", "user", &words);
    for n in 1..20 {
        text += &line(
            2 * n,
            "assistant",
            "model",
            &format!("answer {n} {}", "well ".repeat(30)),
        );
        text += &line(2 * n + 1, "user", "user", &format!("question {n}"));
    }
    let place = Place::with(&[("in.jsonl", text)]);
    for policy in ["auto", "layered", "reset"] {
        place
            .run(&format!(
                "compact in.jsonl -o out.jsonl --overwrite --policy {policy} --summarize always"
            ))
            .exits(0);
        let out = place.text("out.jsonl");
        assert!(
            out.contains("Now: do not touch the billing tables."),
            "{policy}"
        );
        assert!(!out.contains("## Earlier summary"), "{policy}");
    }
}

#[test]
fn a_part_that_no_reader_knows_is_told_of_where_it_is_all_that_the_user_said() {
    let line = |value: Value| format!("{value}\n");
    let mut text = line(json!({"role": "system", "content": "s"}))
        + &line(json!({"role": "user", "content": [
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]}));
    for n in 0..20 {
        text += &line(
            json!({"role": "assistant", "content": format!("answer {n} {}", "well ".repeat(30))}),
        );
        text += &line(json!({"role": "user", "content": format!("question {n}")}));
    }
    let place = Place::with(&[("in.jsonl", text)]);
    place
        .run("compact in.jsonl --input-format openai --summarize always --set summary.keep_tokens=40")
        .exits(0)
        .says(&["in.jsonl:2: warning: pictures, documents or other parts of typed messages"]);
    assert!(
        place
            .text("in.compact.jsonl")
            .contains("[part: input_audio, 67 bytes, L2]")
    );
}
