//! Settings, and what is reported about those without effect.

use super::*;
use crate::policy::{Setting, preset, resolve};

/// The report on settings, as `keys (origin): why`.
fn said(name: &str, settings: &[(&str, &str, &str)]) -> Vec<String> {
    let setting = |(key, value, origin): &(&str, &str, &str)| Setting {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        origin: (*origin).to_owned(),
    };
    let settings: Vec<Setting> = settings.iter().map(setting).collect();
    let effective = resolve(preset(name).unwrap(), &settings).unwrap();
    let show = |idle: Idle| format!("{} ({}): {}", idle.keys.join(", "), idle.origin, idle.why);
    let idle = idle([&effective], Use::Once);
    idle.into_iter().map(show).collect()
}

#[test]
fn keys_of_a_layer_that_is_off_have_no_effect() {
    let set = [
        ("clear.keep", "3", "flag"),
        ("clear.min_tokens", "9", "flag"),
        ("restore.files", "1", "env CTXPACK_RESTORE__FILES"),
        ("demote.min_tokens", "9", "file p.toml"),
    ];
    assert_eq!(
        said("boundary", &set),
        [
            "clear.keep, clear.min_tokens (flag): the policy's layers do not include \"clear\"",
            "restore.files (env CTXPACK_RESTORE__FILES): the policy's layers do not include \"restore\"",
        ]
    );
    assert_eq!(said("auto", &set), Vec::<String>::new());
}

#[test]
fn keys_that_another_key_switches_off_have_no_effect() {
    let buffer = ("window.buffer", "9", "flag");
    assert_eq!(said("layered", &[buffer]), Vec::<String>::new());
    assert_eq!(
        said("turns", &[buffer]),
        ["window.buffer (flag): trigger.on is \"share\""]
    );
    let tokens = ("trigger.tokens", "9", "flag");
    assert_eq!(
        said("layered", &[tokens]),
        ["trigger.tokens (flag): trigger.on is \"window\""]
    );
    let on = ("trigger.on", "tokens", "flag");
    assert_eq!(said("layered", &[tokens, on]), Vec::<String>::new());
    assert_eq!(
        said(
            "auto",
            &[
                ("tokens.chars_per_token", "3", "flag"),
                ("tokens.unit", "utf16", "flag")
            ]
        ),
        ["tokens.chars_per_token, tokens.unit (flag): tokens.method is \"classes\""]
    );
    let set = [
        ("window.max_output", "9", "flag"),
        ("summary.share", "0.5", "flag"),
        ("tokens.encoding", "o200k_base", "flag"),
        ("summary.too_large_tokens", "9", "flag"),
    ];
    assert_eq!(
        said("reset", &set),
        [
            "window.max_output (flag): trigger.on is \"tokens\", and trigger.cap_share is 0",
            "summary.share (flag): summary.tokens is 2000",
            "tokens.encoding (flag): tokens.method is \"chars\"",
            "summary.too_large_tokens (flag): summary.too_large is \"accept\"",
        ]
    );
}

#[test]
fn an_archive_that_the_summary_names_is_kept() {
    let never = ("archive", "never", "flag");
    assert_eq!(
        said("reset", &[never]),
        ["archive (flag): summary.text names the archived copy"]
    );
    let text = ("summary.text", "<summary>{summary}</summary>", "flag");
    assert_eq!(said("reset", &[never, text]), Vec::<String>::new());
    assert_eq!(said("auto", &[never]), Vec::<String>::new());
}

#[test]
fn a_setting_that_another_one_replaces_has_no_effect() {
    let never = ("summary.when", "never", "flag");
    let always = ("summary.when", "always", "eval");
    assert_eq!(
        said("auto", &[never, always]),
        ["summary.when (flag): `ctxpack eval` sets it to \"always\""]
    );
    let firm = ("summary.when", "always", "env DISABLE_COMPACT");
    assert_eq!(
        said("auto", &[never, firm]),
        ["summary.when (flag): DISABLE_COMPACT in the environment sets it to \"always\""]
    );
    let again = ("summary.when", "always", "flag");
    let variable = ("summary.when", "never", "env CTXPACK_SUMMARY__WHEN");
    assert_eq!(
        said("auto", &[variable, never, again]),
        Vec::<String>::new()
    );
    let trigger = ("trigger.tokens", "9", "flag");
    assert_eq!(
        said("auto", &[trigger, always]),
        ["trigger.tokens (flag): summary.when is \"always\""]
    );
    let target = [
        ("target.tokens", "9", "flag"),
        ("target.percent", "5", "eval"),
    ];
    assert_eq!(
        said("auto", &target),
        ["target.tokens (flag): target.percent is set"]
    );
}

#[test]
fn of_several_policies_each_must_be_without_it() {
    let of = |name: &str, key: &str| {
        let set = Setting {
            key: key.to_owned(),
            value: "3".to_owned(),
            origin: "flag".to_owned(),
        };
        resolve(preset(name).unwrap(), &[set]).unwrap()
    };
    let both = |key: &str| idle([&of("boundary", key), &of("layered", key)], Use::Once).len();
    assert_eq!(both("clear.keep"), 0);
    assert_eq!(both("offload.min_chars"), 1);
    let turns = of("turns", "trigger.max_compactions");
    assert_eq!(idle([&turns], Use::Once).len(), 1);
    assert_eq!(idle([&turns], Use::InTurns).len(), 0);
}

#[test]
fn the_size_of_a_summary_is_decided_by_one_key() {
    let set = [
        ("summary.tokens", "500", "flag"),
        ("summary.max_tokens", "3000", "flag"),
    ];
    let room = "summary.tokens (flag): the summary takes the room that the target leaves";
    let cap = ("target.kind", "cap", "flag");
    assert_eq!(said("auto", &[set[0], cap]), [room]);
    // Where its aim is missed, both decide.
    assert_eq!(said("auto", &set), Vec::<String>::new());
    let none = ("target.tokens", "0", "flag");
    let asked = "summary.max_tokens (flag): summary.tokens is 500";
    assert_eq!(said("auto", &[set[0], set[1], none]), [asked]);
    let always = ("summary.when", "always", "flag");
    assert_eq!(said("auto", &[set[0], always]), Vec::<String>::new());
}

#[test]
fn what_only_a_model_reads_needs_one() {
    let tries = ("summary.tries", "2", "flag");
    assert_eq!(
        said("auto", &[tries]),
        ["summary.tries (flag): summary.source is \"extractive\""]
    );
    let source = ("summary.source", "openai", "flag");
    assert_eq!(said("auto", &[tries, source]), Vec::<String>::new());
    let off = ("summary.when", "never", "flag");
    assert_eq!(
        said("auto", &[tries, source, off]),
        ["summary.tries, summary.source (flag): summary.when is \"never\""]
    );
    let model = [("summary.model", "m", "env MODEL_ID")];
    assert_eq!(said("reset", &model), Vec::<String>::new());
}

#[test]
fn a_target_says_by_itself_that_it_was_not_reached() {
    let always = ("summary.when", "always", "flag");
    assert_eq!(
        said("none", &[always]),
        ["summary.when (flag): the policy's layers do not include \"summarize\""]
    );
    let target = ("target.percent", "10", "flag");
    assert_eq!(said("none", &[always, target]), Vec::<String>::new());
}

#[test]
fn the_last_place_that_sets_a_key_counts() {
    let set = [
        ("clear.keep", "3", "env CTXPACK_CLEAR__KEEP"),
        ("clear.keep", "2", "flag"),
    ];
    assert_eq!(
        said("boundary", &set),
        ["clear.keep (flag): the policy's layers do not include \"clear\""]
    );
}
