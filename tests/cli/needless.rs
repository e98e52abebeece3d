//! What was asked for and cannot have an effect is refused; what then had none is told.

use super::harness::{Place, anthropic};

/// A transcript of some 5 000 tokens, most of them in old results.
fn place() -> Place {
    Place::with(&[("in.jsonl", anthropic(9, 0))])
}

#[test]
fn a_flag_that_cannot_have_an_effect_is_refused() {
    let server =
        "has no effect: summary.source is \"extractive\"\nhint: add --summarizer anthropic";
    let off =
        "has no effect: summary.when is \"never\"\nhint: leave it out, or let summaries be written";
    let layer = |name| {
        format!("has no effect: the policy's layers do not include \"{name}\"\nhint: leave it out")
    };
    let (summarize, restore) = (layer("summarize"), layer("restore"));
    let place = place();
    for (flags, what) in [
        ("--model m", format!("--model {server}")),
        (
            "--base-url http://127.0.0.1:9",
            format!("--base-url {server}"),
        ),
        ("--max-concurrency 2", format!("--max-concurrency {server}")),
        ("--max-requests 1", format!("--max-requests {server}")),
        (
            "--max-input-tokens 1",
            format!("--max-input-tokens {server}"),
        ),
        ("--request-timeout 9", format!("--request-timeout {server}")),
        ("--max-wait 9s", format!("--max-wait {server}")),
        ("--allow-http", format!("--allow-http {server}")),
        (
            "-n --price-in 3 --price-out 1",
            "--price-in and --price-out have no effect: ".to_owned(),
        ),
        (
            "--summarizer anthropic --model m --summarize never",
            format!("--model {off}"),
        ),
        (
            "--summarizer anthropic --model m --policy none",
            format!("--model {summarize}"),
        ),
        (
            "--instructions x --summarize never",
            format!("--instructions {off}"),
        ),
        (
            "--instructions x --policy none",
            format!("--instructions {summarize}"),
        ),
        (
            "--files-root . --policy boundary",
            format!("--files-root {restore}"),
        ),
        (
            "--files-root . --summarize never",
            format!("--files-root {off}"),
        ),
        (
            "--hook-timeout 9",
            "--hook-timeout has no effect: there is no hook\nhint: ".to_owned(),
        ),
        (
            "-o x --prune-outputs",
            "--prune-outputs has no effect: ".to_owned(),
        ),
        (
            "-o - --resume --trust-mtime",
            "--resume and --trust-mtime have no effect: ".to_owned(),
        ),
        (
            "--retry-degraded --resume",
            "--resume has no effect: ".to_owned(),
        ),
    ] {
        let ran = place.run(&format!("compact in.jsonl {flags}")).exits(2);
        assert!(ran.err.starts_with(&what), "{flags}: {}", ran.err);
    }
    // A file may name a model that is not asked: it is shared.
    place.write(
        "p.toml",
        "[summary]\nmodel = \"m\"\n[demote]\nmin_tokens = 9\n",
    );
    let quiet = place
        .run("compact in.jsonl -n --policy p.toml --set layers=clear")
        .exits(0);
    assert!(!quiet.err.contains("no effect"), "{}", quiet.err);
    for flag in ["--exact", "--top 3"] {
        let place = self::place();
        place
            .run(&format!("stats in.jsonl --emit csv {flag}"))
            .exits(2)
            .says(&["has no effect: a row of CSV"]);
        place
            .run(&format!("stats in.jsonl --emit csv {flag} --report r.json"))
            .exits(0);
    }
}

#[test]
fn a_key_of_a_layer_that_is_off_is_told() {
    let place = place();
    let ran = place
        .run_with(
            &[("CTXPACK_DEMOTE__MIN_TOKENS", "9"), ("CTXPACK_TARGET", "9")],
            "compact in.jsonl -n --policy boundary --set clear.keep=3 --set clear.tools=read",
        )
        .exits(0);
    ran.says(&[
        "warning: clear.keep, clear.tools (from flag) have no effect here: the policy's layers do not include \"clear\"\n",
        "warning: demote.min_tokens (from env CTXPACK_DEMOTE__MIN_TOKENS) has no effect here: ",
        "warning: CTXPACK_TARGET in the environment is ignored: it names no policy key",
    ]);
    place
        .run("compact in.jsonl -n --policy none --summarize always")
        .exits(0)
        .says(&["warning: summary.when (from flag) has no effect here: the policy's layers do not include \"summarize\"\n"]);
}

#[test]
fn what_acts_on_a_summary_is_told_where_none_was_written() {
    let place = place();
    let said = "warning: summary.instructions (from flag) had no effect: no summary was written\n";
    let run = |flags: &str| {
        place
            .run(&format!("compact in.jsonl -n {flags}"))
            .exits(0)
            .err
    };
    assert!(run("--instructions x").contains(said));
    assert!(!run("--instructions x --summarize always").contains(said));
    assert!(run("--files-root .").contains("warning: restore.root (from flag) had no effect: "));
}

#[test]
fn a_target_that_was_not_due_is_told() {
    let place = place();
    let said = "in.jsonl: warning: below its trigger of 171 000, so target.tokens (from flag) was not applied; \
                it takes effect once a compaction is due\nhint: --target compacts at once";
    let run = |flags: &str| {
        place
            .run(&format!("compact in.jsonl -n --policy boundary {flags}"))
            .err
    };
    let set = run("--set target.tokens=900");
    assert!(set.contains(said), "{set}");
    for flags in [
        "--target 900",
        "--set target.tokens=900 --summarize always",
        "--set target.tokens=100000",
    ] {
        let err = run(flags);
        assert!(!err.contains("was not applied"), "{flags}: {err}");
    }
}

#[test]
fn a_flag_and_a_setting_of_its_key_must_agree() {
    let place = place();
    let run = |flags: &str| place.run(&format!("compact in.jsonl -n {flags}"));
    for flags in [
        "--summarize always --set summary.when=never",
        "--set summary.when=always --summarize never",
    ] {
        run(flags).exits(2).says(&["summary.when is set to"]);
    }
    run("--target 5k --set target.tokens=20000")
        .exits(2)
        .says(&["target.tokens is set to \"20000\" by --set, and to \"5000\" by a flag"]);
    run("--summarize always --set summary.when=always").exits(0);
    // What a flag sets besides gives way.
    let ran = run("--target 900 --set trigger.tokens=90000").exits(0);
    ran.says(&["below its trigger of 90 000, so target.tokens (from flag) was not applied"]);
}

/// Whatever the command is, one mechanism says what has no effect.
#[test]
fn each_command_says_what_has_no_effect_in_it() {
    let place = place();
    place.write("own/a/input.jsonl", anthropic(9, 0));
    place.write("own/a/policy.toml", "extends = \"none\"\n");
    place.write("fx/a/input.jsonl", anthropic(9, 0));
    place.run("check --update own fx -q --policy none").exits(0);
    let none = "warning: clear.keep (from flag) has no effect here: the policy's layers do not";
    for command in [
        "stats in.jsonl",
        "replay in.jsonl",
        "eval in.jsonl",
        "diff in.jsonl",
        "sessions",
        "check fx",
    ] {
        let ran = place.run(&format!("{command} --policy none --set clear.keep=1"));
        ran.exits(0).says(&[none]);
    }
    let own = place
        .run("check own --policy layered --set clear.keep=1")
        .exits(0);
    for flag in ["--policy", "--set"] {
        let said = format!("warning: {flag} had no effect: every case has a policy of its own");
        assert!(own.err.contains(&said), "{}", own.err);
    }
    // A key that one of several policies reads has an effect.
    let both = "replay in.jsonl --policy none --policy layered --set clear.keep=1";
    let both = place.run(both).exits(0);
    assert!(!both.err.contains("no effect"), "{}", both.err);
    for (set, why) in [
        ("summary.when=never", "`ctxpack eval` sets it to \"always\""),
        ("tokens.method=chars", "`ctxpack eval` sets it to \"bpe\""),
        (
            "summary.source=anthropic",
            "`ctxpack eval` sets it to \"extractive\"",
        ),
        ("target.tokens=3000", "target.percent is set"),
        ("trigger.tokens=1000000", "summary.when is \"always\""),
    ] {
        let ran = place.run(&format!("eval in.jsonl --budget 10 --set {set}"));
        ran.exits(0).says(&["has no effect here: ", why]);
    }
    place
        .run("replay in.jsonl --policy auto --set summary.source=anthropic")
        .exits(0)
        .says(&["summary.source (from flag) has no effect here: `ctxpack replay` sets it"]);
    place
        .run_with(
            &[("DISABLE_COMPACT", "1")],
            "compact in.jsonl -n --policy boundary --summarize always",
        )
        .exits(0)
        .says(&["summary.when (from flag) has no effect here: DISABLE_COMPACT in the environment sets it to \"never\""]);
}

#[test]
fn history_is_told_to_have_no_effect_on_what_is_emitted() {
    let place = place();
    let said = "no effect here: --emit writes only what the model sees";
    for (args, set) in [
        ("--history keep", "history (from flag)"),
        ("--set history=keep", "history (from "),
    ] {
        let args = format!("compact in.jsonl --emit messages --overwrite {args}");
        let _ = place.run(&args).exits(0).says(&[set, said]);
    }
    let ran = place.run("compact in.jsonl --history keep").exits(0);
    assert!(!ran.err.contains("no effect"), "{}", ran.err);
}
