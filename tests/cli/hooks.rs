//! Hooks before and after an input is compacted: their input, what they can prevent, and that they can do no harm.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::{Place, Ran, sample};

/// A folder with one transcript.
fn place() -> Place {
    Place::with(&[("in.jsonl", sample().0)])
}

/// `compact in.jsonl` with a report in `r.json`, and this flag.
fn compact(place: &Place, flag: &str, command: &str) -> Ran {
    let args = ["compact", "in.jsonl", "--report", "r.json", flag, command];
    place.run_args(&args)
}

/// The warnings of the only file of `r.json`, which was compacted as it should be.
#[track_caller]
fn warnings(place: &Place) -> Vec<String> {
    assert_eq!(place.text("in.compact.jsonl"), sample().1);
    let report = place.json("r.json");
    let file = &report["files"][0];
    assert_eq!(file["status"], "compacted");
    let warnings = file["warnings"].as_array().unwrap().iter();
    warnings
        .map(|warning| {
            assert_eq!(
                (&warning["kind"], &warning["line"]),
                (&json!("hook"), &Value::Null)
            );
            warning["message"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn a_pre_hook_is_told_what_comes() {
    let place = place();
    compact(
        &place,
        "--pre-hook",
        "test ! -e in.compact.jsonl && cat > event",
    )
    .exits(0);
    assert_eq!(warnings(&place), Vec::<String>::new());
    assert_eq!(place.text("event").matches('\n').count(), 1);
    assert_eq!(
        place.json("event"),
        json!({"event": "pre-compact", "trigger": "auto", "input": "in.jsonl", "output": "in.compact.jsonl", "policy": "auto"})
    );
}

#[test]
fn hooks_do_not_run_where_nothing_is_compacted() {
    let place = place();
    let hooks = [
        "--pre-hook",
        "echo before >> ran",
        "--post-hook",
        "echo after >> ran",
    ];
    let run = |args: &[&str]| {
        let _ = std::fs::remove_file(place.path("ran"));
        place.run_args(&[args, &hooks].concat()).exits(0);
        let ran = std::fs::read_to_string(place.path("ran"));
        ran.unwrap_or_default().replace('\n', " ")
    };
    assert_eq!(run(&["compact", "in.jsonl", "--in-place"]), "before after ");
    // The second time nothing is left to do.
    assert_eq!(run(&["compact", "in.jsonl", "--in-place"]), "");
    assert_eq!(run(&["compact", "in.jsonl", "--policy", "none"]), "");
    // Nor the second time that a summary is asked for.
    let always = ["compact", "in.jsonl", "--in-place", "--summarize", "always"];
    assert_eq!(run(&always), "before after ");
    assert_eq!(run(&always), "");
}

#[test]
fn a_skipped_stream_of_conversations_writes_nothing() {
    let mut messages = vec![json!({"role": "user", "content": "Look around."})];
    for n in 0..9 {
        let id = format!("call_{n}");
        let call =
            json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let said = format!("line {n} of the output\n").repeat(100);
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": said}));
    }
    let small = json!({"messages": [{"role": "user", "content": "hi"}]});
    let lines = format!("{small}\n{}\n", json!({"messages": messages}));
    let place = Place::with(&[("in.jsonl", lines)]);
    let args = [
        "compact",
        "in.jsonl",
        "-o",
        "-",
        "--no-report",
        "--summarize",
        "never",
        "--pre-hook",
    ];
    let go = place.run_args(&[&args[..], &["true"]].concat()).exits(0);
    assert_eq!(go.text().lines().count(), 2);
    let skip = place.run_args(&[&args[..], &["exit 2"]].concat());
    assert_eq!(skip.exits(0).text(), "");
}

#[test]
fn instructions_that_are_too_long_are_not_used_and_that_is_said() {
    let place = place();
    compact(&place, "--pre-hook", "head -c 40000 /dev/zero | tr '\\0' x").exits(0);
    assert_eq!(
        warnings(&place),
        ["the pre-hook's output was ignored: it is longer than 32768 bytes"]
    );
}

#[test]
fn a_post_hook_is_told_what_came() {
    let place = place();
    compact(
        &place,
        "--post-hook",
        "test -e in.compact.jsonl && cat > event",
    )
    .exits(0);
    assert_eq!(warnings(&place), Vec::<String>::new());
    let report = place.json("r.json");
    let file = &report["files"][0];
    assert!(file["tokens_after"].as_u64().unwrap() > 0);
    assert_eq!(
        place.json("event"),
        json!({
            "event": "post-compact", "trigger": "auto", "input": "in.jsonl", "output": "in.compact.jsonl", "policy": "auto",
            "format": "anthropic", "status": "compacted",
            "tokens_before": file["tokens_before"], "tokens_after": file["tokens_after"],
        })
    );
}

#[test]
fn a_post_hook_does_not_hear_of_a_failure() {
    let place = place();
    place.write("in.compact.jsonl", "mine");
    let ran = place.run_args(&["compact", "in.jsonl", "--post-hook", "cat > event"]);
    ran.exits(3);
    assert!(!place.path("event").exists());
}

#[test]
fn exit_code_2_skips_the_file_and_no_other() {
    let (before, after) = sample();
    let place = Place::with(&[("a.jsonl", &before), ("b.jsonl", &before)]);
    let hook =
        "if grep -q b.jsonl; then printf '\\n  not \\033[31mthis one\\nmore\\n' >&2; exit 2; fi";
    let args = [
        "compact",
        "a.jsonl",
        "b.jsonl",
        "--report",
        "r.json",
        "--pre-hook",
        hook,
        "--post-hook",
        "cat >> after",
    ];
    place.run_args(&args).exits(0).says(&[
        "b.jsonl: skipped by the pre-hook: not \\u{1b}[31mthis one\n",
        "1 compacted",
        "1 skipped",
    ]);
    assert_eq!(place.text("a.compact.jsonl"), after);
    assert!(!place.path("b.compact.jsonl").exists());
    let report = place.json("r.json");
    assert_eq!(report["totals"]["skipped"], 1);
    let skipped = &report["files"][1];
    assert_eq!(
        (
            &skipped["status"],
            &skipped["error"]["kind"],
            &skipped["output"]
        ),
        (&json!("skipped"), &json!("hook"), &Value::Null)
    );
    // What is skipped has no afterwards.
    assert_eq!(place.text("after").matches("post-compact").count(), 1);
}

#[test]
fn a_file_that_is_skipped_in_place_stays() {
    let place = place();
    place
        .run_args(&[
            "compact",
            "in.jsonl",
            "--in-place",
            "--no-report",
            "--pre-hook",
            "exit 2",
        ])
        .exits(0)
        .says(&["in.jsonl: skipped by the pre-hook"]);
    assert_eq!(place.text("in.jsonl"), sample().0);
    assert_eq!(place.names(), ["in.jsonl"]);
}

#[test]
fn any_other_failure_is_a_warning_and_loses_nothing() {
    for (command, what) in [
        ("echo oh >&2; exit 3", "failed, exit status: 3: oh"),
        ("exit 1", "failed, exit status: 1"),
        ("kill -9 $$", "failed, signal: 9 (SIGKILL)"),
        ("no-such-command 2>/dev/null", "failed, exit status: 127"),
    ] {
        for hook in ["pre-hook", "post-hook"] {
            let place = place();
            compact(&place, &format!("--{hook}"), command).exits(0);
            assert_eq!(
                warnings(&place),
                [format!("the {hook} {what}")],
                "{command}"
            );
        }
    }
    // For a post-hook there is nothing left to skip.
    let place = place();
    compact(&place, "--post-hook", "exit 2").exits(0);
    assert_eq!(warnings(&place), ["the post-hook failed, exit status: 2"]);
}

#[test]
fn without_a_shell_the_file_is_compacted_all_the_same() {
    let place = place();
    let mut args = vec![
        "compact",
        "in.jsonl",
        "--report",
        "r.json",
        "--pre-hook",
        "true",
    ];
    args.extend(["--post-hook", "true"]);
    let program = env!("CARGO_BIN_EXE_ctxpack");
    let mut command = place.command_of(program, &args);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    assert!(output.status.success());
    let warnings = warnings(&place);
    assert_eq!(warnings.len(), 2);
    assert!(
        warnings[0].starts_with("the pre-hook could not be run: "),
        "{warnings:?}"
    );
}

#[test]
fn a_hook_that_takes_too_long_is_killed_with_all_that_it_started() {
    let place = place();
    let hook = "sleep 60 & echo $! > child; echo $$ > own; sleep 60";
    let start = Instant::now();
    place
        .run_args(&[
            "compact",
            "in.jsonl",
            "--report",
            "r.json",
            "--pre-hook",
            hook,
            "--hook-timeout",
            "1",
        ])
        .exits(0);
    assert!(start.elapsed() < Duration::from_secs(50));
    assert_eq!(
        warnings(&place),
        ["the pre-hook took longer than 1 s and was killed"]
    );
    // Whoever inherits them may take a moment to bury them.
    let gone = "for i in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 $(cat own) 2>/dev/null || kill -0 $(cat child) 2>/dev/null || exit 0; sleep 0.2; done
        ps -o stat= -p $(cat own) $(cat child) | grep -qv Z && exit 1; exit 0";
    place.shell(gone).exits(0);
}

#[test]
fn a_hook_that_neither_reads_nor_stops_talking_holds_nothing_up() {
    let place = place();
    let flood = "exec 0<&-; head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2; exit 7";
    let ran = compact(&place, "--post-hook", flood).exits(0);
    assert_eq!(ran.text(), "");
    let warnings = warnings(&place);
    let words = warnings[0].strip_prefix("the post-hook failed, exit status: 7: ");
    assert_eq!(words, Some("y".repeat(300).as_str()));
}

#[test]
fn what_a_hook_leaves_in_the_background_is_not_waited_for() {
    let place = place();
    let start = Instant::now();
    compact(&place, "--pre-hook", "sleep 100 & exit 0").exits(0);
    assert!(start.elapsed() < Duration::from_secs(90));
    assert_eq!(warnings(&place), Vec::<String>::new());
}

#[test]
fn what_a_hook_prints_is_shown_to_those_who_want_it() {
    let args = [
        "compact",
        "in.jsonl",
        "-o",
        "-",
        "--no-report",
        "--pre-hook",
        "echo hello there",
    ];
    let quiet = place().run_args(&args).exits(0);
    assert!(!quiet.err.contains("hello there"));
    let loud = place().run_args(&[&args[..], &["-v"]].concat()).exits(0);
    assert!(loud.err.contains("hello there\n"), "{}", loud.err);
    assert_eq!((quiet.text(), loud.text()), (sample().1, sample().1));
}

#[test]
fn hooks_get_our_environment_without_keys() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_ctxpack");
    let args = ["compact", "in.jsonl", "--pre-hook", "env > env"];
    let mut command = place.command_of(program, &args);
    for name in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "CTXPACK_API_KEY",
        "MINE",
    ] {
        command.env(name, "sk-value");
    }
    assert!(command.output().unwrap().status.success());
    let text = place.text("env");
    let got: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("sk-value"))
        .collect();
    assert_eq!(got, ["MINE=sk-value"]);
}

#[test]
fn a_dry_run_runs_no_hook_and_nothing_but_a_flag_names_one() {
    let place = place();
    let args = [
        "compact",
        "in.jsonl",
        "--dry-run",
        "--pre-hook",
        "touch ran; exit 2",
        "--post-hook",
        "touch ran",
    ];
    place.run_args(&args).exits(0).says(&["1 compacted"]);
    let env = [
        ("CTXPACK_PRE_HOOK", "touch ran"),
        ("CTXPACK_POST_HOOK", "touch ran"),
    ];
    place.run_with(&env, "compact in.jsonl").exits(0);
    assert!(!place.path("ran").exists());
    place.write("ctxpack.toml", "pre_hook = \"touch ran\"\n");
    place
        .run("compact in.jsonl")
        .exits(2)
        .says(&["ctxpack.toml:1: unknown policy key pre_hook"]);
}

#[test]
fn hooks_of_different_files_run_at_the_same_time() {
    let place = Place::with(&[("in/a.jsonl", sample().0), ("in/b.jsonl", sample().0)]);
    // Each waits for the other.
    let hook =
        "mkdir -p here; touch here/$$; until [ $(ls here | wc -l) = 2 ]; do sleep 0.05; done";
    let args = [
        "compact",
        "in",
        "-j",
        "2",
        "--report",
        "r.json",
        "--pre-hook",
        hook,
        "--hook-timeout",
        "20",
    ];
    place.run_args(&args).exits(0);
    for file in place.json("r.json")["files"].as_array().unwrap() {
        assert_eq!(
            (&file["status"], &file["warnings"]),
            (&json!("compacted"), &json!([]))
        );
    }
}

#[test]
fn an_interruption_ends_the_hook_too() {
    let place = place();
    let line = "$CTXPACK compact in.jsonl --pre-hook 'echo $$ > own; exec sleep 60' & run=$!
        until [ -s own ]; do sleep 0.02; done
        kill -TERM $run; wait $run; code=$?
        kill -0 $(cat own) 2>/dev/null && exit 99
        exit $code";
    place.shell(line).exits(143);
    assert!(!place.path("in.compact.jsonl").exists());
}
