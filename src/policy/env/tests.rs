//! From names and values to settings, or to an error that names the variable.

use super::*;
use crate::policy::{parse, preset, resolve};

/// The default policy with these variables of its own.
fn policy(env: &[(&str, &str)]) -> Policy {
    let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Policy {
        env: env.collect(),
        ..preset("").unwrap()
    }
}

fn of(env: &[(&str, &str)], vars: &[(&str, &str)]) -> Result<Environment> {
    let vars = vars.iter().map(|(k, v)| (k.into(), v.into()));
    environment(vars, &policy(env))
}

/// Settings as `key=value (origin)`.
fn shown(settings: &[Setting]) -> Vec<String> {
    let show = |s: &Setting| format!("{}={} ({})", s.key, s.value, s.origin);
    settings.iter().map(show).collect()
}

/// The settings that flags override; asserts that none overrides flags.
#[track_caller]
fn settings(env: &[(&str, &str)], vars: &[(&str, &str)]) -> Vec<String> {
    let environment = of(env, vars).unwrap();
    assert_eq!(environment.firm, []);
    shown(&environment.settings)
}

fn said(result: Result<Environment>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    format!("{}\nhint: {}", error.message, error.hint.unwrap())
}

#[test]
fn every_key_has_a_name_of_its_own() {
    assert_eq!(name_of("clear.min_tokens"), "CTXPACK_CLEAR__MIN_TOKENS");
    assert_eq!(name_of("layers"), "CTXPACK_LAYERS");
    for key in keys::all() {
        let key = key.name;
        let name = name_of(key);
        assert_eq!(
            settings(&[], &[(name.as_str(), "1")]),
            [format!("{key}=1 (env {name})")]
        );
    }
}

#[test]
fn what_is_empty_or_not_ours_sets_nothing() {
    let vars = [
        ("CTXPACK_CLEAR__KEEP", ""),
        ("CTXPACK_POLICY", "auto"),
        ("CTXPACK_TRANSCRIPTS", "here"),
        ("KEEP", ""),
        ("HOME", "/root"),
    ];
    assert_eq!(
        settings(&[("KEEP", "clear.keep")], &vars),
        Vec::<String>::new()
    );
}

#[test]
fn a_name_like_ours_that_is_no_keys_is_ignored_and_told() {
    for name in [
        "CTXPACK_SOMETHING_ELSE_ALTOGETHER",
        "CTXPACK_TARGET",
        "ctxpack_home",
    ] {
        let environment = of(&[], &[(name, "1")]).unwrap();
        assert_eq!(environment.settings, []);
        let said = format!("{name} in the environment is ignored: it names no policy key");
        let [why] = environment.ignored.as_slice() else {
            panic!("{name}: {:?}", environment.ignored);
        };
        assert!(why.starts_with(&said), "{why}");
    }
}

#[test]
fn a_slip_in_a_name_of_ours_is_met_with_the_nearest_one() {
    for (name, near) in [
        ("CTXPACK_CLAER__KEEP", "did you mean CTXPACK_CLEAR__KEEP?"),
        (
            "CTXPACK_CLEAR_MIN_TOKENS",
            "did you mean CTXPACK_CLEAR__MIN_TOKENS?",
        ),
        ("CTXPACK_POLCY", "did you mean CTXPACK_POLICY?"),
        ("ctxpack_clear__keep", "did you mean CTXPACK_CLEAR__KEEP?"),
        (
            "CTXPACK_NOTHING__LIKE_A_KEY_OF_OURS",
            "clear.keep is CTXPACK_CLEAR__KEEP",
        ),
    ] {
        let said = said(of(&[], &[(name, "1")]));
        let message = format!("{name} in the environment names no policy key\nhint: ");
        assert!(said.starts_with(&message), "{said}");
        assert!(said.contains(near), "{said}");
    }
}

#[test]
fn a_name_of_the_policys_sets_its_key() {
    assert_eq!(
        settings(&[("WINDOW", "window.context")], &[("WINDOW", "64000")]),
        ["window.context=64000 (env WINDOW)"]
    );
}

#[test]
fn percent_is_a_hundredth() {
    let percent = |value| settings(&[("PCT", "trigger.cap_share%")], &[("PCT", value)]);
    assert_eq!(percent("50"), ["trigger.cap_share=0.5 (env PCT)"]);
    assert_eq!(percent("92.5"), ["trigger.cap_share=0.925 (env PCT)"]);
    assert_eq!(percent("100"), ["trigger.cap_share=1 (env PCT)"]);
}

#[test]
fn a_fixed_value_is_set_by_whatever_says_yes() {
    let fixed = |value| settings(&[("OFF", "summary.when=never")], &[("OFF", value)]);
    for yes in ["1", "true", "yes", "anything"] {
        assert_eq!(fixed(yes), ["summary.when=never (env OFF)"], "{yes}");
    }
    for no in ["0", "false", "FALSE", "no", "off", " ", ""] {
        assert_eq!(fixed(no), Vec::<String>::new(), "{no}");
    }
}

#[test]
fn an_exclamation_mark_beats_flags() {
    let environment = of(
        &[
            ("ALL", "summary.when=never!"),
            ("SOME", "summary.when=never"),
        ],
        &[("ALL", "1"), ("SOME", "1")],
    );
    let environment = environment.unwrap();
    assert_eq!(
        shown(&environment.settings),
        ["summary.when=never (env SOME)"]
    );
    assert_eq!(shown(&environment.firm), ["summary.when=never (env ALL)"]);
}

#[test]
fn of_two_keys_the_value_chooses_the_one_that_counts() {
    let trigger = |value| {
        settings(
            &[("TRIGGER", "trigger.share|trigger.tokens")],
            &[("TRIGGER", value)],
        )
    };
    for share in ["0.75", "1"] {
        assert_eq!(
            trigger(share),
            [
                format!("trigger.share={share} (env TRIGGER)"),
                "trigger.on=share (env TRIGGER)".to_owned()
            ]
        );
    }
    assert_eq!(
        trigger("48000"),
        [
            "trigger.tokens=48000 (env TRIGGER)",
            "trigger.share=0 (env TRIGGER)",
            "trigger.on=tokens (env TRIGGER)"
        ]
    );
    let target = |value| {
        settings(
            &[("TARGET", "summary.too_large_share|summary.too_large_tokens")],
            &[("TARGET", value)],
        )
    };
    assert_eq!(target("0.4"), ["summary.too_large_share=0.4 (env TARGET)"]);
    assert_eq!(
        target("20000"),
        [
            "summary.too_large_tokens=20000 (env TARGET)",
            "summary.too_large_share=0 (env TARGET)"
        ]
    );
}

#[test]
fn a_window_is_only_lowered_and_both_keys_of_two_are_set() {
    let lower = settings(&[("WINDOW", "window.context<")], &[("WINDOW", "199999")]);
    assert_eq!(lower, ["window.context=199999 (env WINDOW)"]);
    let both = settings(
        &[("BOTH", "offload.tokens+trigger.tokens>0")],
        &[("BOTH", "9")],
    );
    assert_eq!(
        both,
        ["offload.tokens=9 (env BOTH)", "trigger.tokens=9 (env BOTH)"]
    );
}

#[test]
fn zero_can_mean_another_key() {
    let most = |value| {
        settings(
            &[("MOST", "trigger.max_compactions?summary.when=never")],
            &[("MOST", value)],
        )
    };
    assert_eq!(most("3"), ["trigger.max_compactions=3 (env MOST)"]);
    assert_eq!(most("0"), ["summary.when=never (env MOST)"]);
}

#[test]
fn a_name_of_ours_beats_one_of_the_policys() {
    assert_eq!(
        settings(
            &[("ZZZ", "clear.keep")],
            &[("CTXPACK_CLEAR__KEEP", "7"), ("ZZZ", "8")]
        ),
        [
            "clear.keep=8 (env ZZZ)",
            "clear.keep=7 (env CTXPACK_CLEAR__KEEP)"
        ]
    );
}

#[test]
fn the_order_of_the_environment_says_nothing() {
    let vars = [
        ("CTXPACK_CLEAR__KEEP", "7"),
        ("CTXPACK_CLEAR__MIN_TOKENS", "8"),
    ];
    let backwards = [vars[1], vars[0]];
    assert_eq!(settings(&[], &vars), settings(&[], &backwards));
}

#[test]
fn a_value_that_does_not_fit_is_ignored_and_never_shown_since_it_may_be_a_secret() {
    let env = [
        ("A", "clear.keep"),
        ("B", "trigger.cap_share%"),
        ("C", "trigger.share|trigger.tokens"),
        ("D", "summary.tries>0"),
        ("E", "window.context<"),
        ("F", "offload.tokens+trigger.tokens>0"),
    ];
    for (name, value, why) in [
        (
            "A",
            "sk-many",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000",
        ),
        (
            "B",
            "sk-half",
            "trigger.cap_share takes a number from 0 to 1, in percent",
        ),
        (
            "B",
            "150",
            "trigger.cap_share takes a number from 0 to 1, in percent",
        ),
        (
            "C",
            "sk-all",
            "trigger.share or trigger.tokens takes a number",
        ),
        ("C", "-0.5", "trigger.share takes a number from 0 to 1"),
        ("C", "inf", "trigger.share or trigger.tokens takes a number"),
        ("D", "0", "summary.tries takes a number above 0 from it"),
        ("D", "-1", "summary.tries takes a number above 0 from it"),
        (
            "D",
            "abc",
            "summary.tries takes a whole number from 1 to 1 000 000 000 000",
        ),
        ("E", "0", "window.context takes a number above 0 from it"),
        (
            "E",
            "200000",
            "window.context takes a number below its own 200 000 from it",
        ),
        (
            "F",
            "1.5",
            "offload.tokens takes a whole number from 0 to 1 000 000 000 000",
        ),
    ] {
        let environment = of(&env, &[(name, value)]).unwrap();
        let ignored = [format!("{name} in the environment is ignored: {why}")];
        assert_eq!(environment.ignored, ignored, "{name}={value}");
        assert_eq!((environment.settings, environment.firm), (vec![], vec![]));
    }
    // A name that is meant for us says what was wrong with it, once it is resolved.
    let vars = [("CTXPACK_SUMMARY__WHEN".into(), "alway".into())];
    let preset = preset("").unwrap();
    let settings = environment(vars, &preset).unwrap().settings;
    let error = resolve(preset, &settings).unwrap_err();
    let end = "not alway (from env CTXPACK_SUMMARY__WHEN)";
    assert!(error.message.ends_with(end), "{error}");
    assert_eq!(error.hint.unwrap(), "did you mean \"always\"?");
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_names_the_variable() {
    use std::os::unix::ffi::OsStringExt;
    let bad = OsString::from_vec(vec![0xff]);
    let vars = [
        ("CTXPACK_SUMMARY__ACK".into(), bad.clone()),
        ("PATH".into(), bad),
    ];
    let error = environment(vars, &preset("").unwrap()).unwrap_err();
    assert_eq!(
        error.message,
        "CTXPACK_SUMMARY__ACK in the environment is not Unicode text"
    );
}

#[test]
fn what_a_policy_file_maps_must_exist() {
    for (spec, what) in [
        ("claer.keep", "unknown policy key claer.keep"),
        ("clear.keep|claer.keep", "unknown policy key claer.keep"),
        (
            "summary.when=alway!",
            "summary.when takes one of \"auto\", \"always\", \"never\", not alway",
        ),
        ("env", "env is read from a policy file only"),
        ("", "unknown policy key "),
        (
            "trigger.cap_share%>0",
            "env: trigger.cap_share%>0: >0 and < go with keys alone",
        ),
    ] {
        let error = parse("mine", &format!("schema = 1\n\n[env]\nA = {spec:?}\n")).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.line),
            (what, Some(4)),
            "{spec}"
        );
    }
    let text = "[env]\nA = \"clear.keep\"\nB = \"trigger.cap_share%!\"\nC = \"trigger.share|trigger.tokens\"\n";
    assert_eq!(parse("mine", text).unwrap().env.len(), 3);
}

#[test]
fn the_names_of_every_preset_are_written_in_a_known_form() {
    for preset in crate::policy::presets().unwrap() {
        for (name, spec) in &preset.env {
            assert!(targets(spec).is_ok(), "{}: {name}", preset.name);
        }
    }
}
