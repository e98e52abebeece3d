//! From settings to keys that are set, or to errors that name them.

use super::*;

#[test]
fn a_setting_is_read_as_toml_or_as_bare_text() {
    for (key, text, expected) in [
        ("clear.keep", "0", json!(0)),
        ("clear.keep", " 5 ", json!(5)),
        ("clear.min_tokens", "1_000", json!(1000)),
        ("summary.max_invented", "-1", json!(-1)),
        ("tokens.chars_per_token", "3", json!(3.0)),
        ("trigger.share", "1", json!(1.0)),
        ("trigger.share", "-0.0", json!(0.0)),
        ("summary.when", "always", json!("always")),
        ("summary.when", "\"always\"", json!("always")),
        ("trigger.compare", ">=", json!(">=")),
        ("offload.cleanup", "true", json!(true)),
        ("clear.placeholder", "[cleared]", json!("[cleared]")),
        (
            "clear.placeholder",
            "\"gone:\\n{tool}\"",
            json!("gone:\n{tool}"),
        ),
        ("clear.placeholder", "[1]", json!("[1]")),
        ("summary.model", "5", json!("5")),
        ("summary.model", "2026-01-01", json!("2026-01-01")),
        ("summary.model", "nan", json!("nan")),
        ("summary.model", "", json!("")),
        (
            "summary.instructions",
            "a = 1\nb = \"2\"",
            json!("a = 1\nb = \"2\""),
        ),
        (
            "summary.instructions",
            "\"keep\" the tests",
            json!("\"keep\" the tests"),
        ),
        ("clear.tools", "[\"read\"]", json!(["read"])),
        ("clear.tools", "shell, read", json!(["shell", "read"])),
        ("clear.tools", "\"read\"", json!(["read"])),
        ("clear.tools", "read,shell,read", json!(["shell", "read"])),
        ("clear.tools", "", json!([])),
        ("tools.shell", "run,Bash", json!(["run", "Bash"])),
        ("layers", "clear,drop", json!(["drop", "clear"])),
    ] {
        let effective = with(&[(key, text)]).unwrap();
        let policy = effective.policy.to_json().unwrap();
        let value = keys::find(key).unwrap().get(&policy);
        assert_eq!(value, &expected, "{key}={text}");
        let reported = json!([{ "key": key, "value": expected, "origin": "flag" }]);
        assert_eq!(
            serde_json::to_value(&effective.overrides).unwrap(),
            reported,
            "{key}={text}"
        );
    }
}

#[test]
fn the_later_of_two_settings_applies_and_both_are_reported() {
    let effective = with(&[("clear.keep", "1"), ("clear.keep", "2")]).unwrap();
    let reported: Vec<_> = effective
        .overrides
        .iter()
        .map(|o| o.value.clone())
        .collect();
    assert_eq!(
        (effective.policy.clear.keep, reported),
        (2, vec![json!(1), json!(2)])
    );
}

#[test]
fn every_key_can_be_set_to_the_value_it_has_and_to_each_of_its_words() {
    let base = preset("layered").unwrap();
    let effective = resolve(base.clone(), &[]).unwrap();
    for (key, value) in base.keys().unwrap() {
        if key == "extends" || key == "env" {
            continue;
        }
        let same = resolve(base.clone(), &[setting(key, &value.to_string())]).unwrap();
        assert_eq!(
            (same.policy, same.hash),
            (effective.policy.clone(), effective.hash.clone()),
            "{key}"
        );
    }
    for key in keys::all() {
        for word in key.domain.words() {
            // A layer that has no text by default needs one.
            let settings = [("offload.text", "at {name}"), (key.name, word)];
            let policy = with(&settings).unwrap().policy.to_json().unwrap();
            let value = key.get(&policy);
            assert!(
                value == &json!(word) || value == &json!([word]),
                "{}={word}: {value}",
                key.name
            );
        }
    }
}

#[test]
fn an_invalid_setting_says_what_its_key_accepts() {
    for (key, text, expected) in [
        (
            "claer.keep",
            "1",
            "unknown policy key claer.keep (from flag)\nhint: did you mean clear.keep?",
        ),
        (
            "clear",
            "1",
            "unknown policy key clear (from flag)\nhint: clear is a table of keys: set one of them",
        ),
        (
            "nonsense",
            "1",
            "unknown policy key nonsense (from flag)\nhint: a key is written like clear.keep; `ctxpack help keys` lists them",
        ),
        (
            "clear.keep",
            "-1",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000, not -1 (from flag)",
        ),
        (
            "clear.keep",
            "2.0",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000, not 2.0 (from flag)",
        ),
        (
            "clear.keep",
            "",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000, not an empty text (from flag)",
        ),
        (
            "clear.keep",
            "many",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000, not many (from flag)",
        ),
        (
            "clear.keep",
            "1000000000001",
            "clear.keep takes a whole number from 0 to 1 000 000 000 000, not 1000000000001 (from flag)",
        ),
        (
            "schema",
            "2",
            "schema takes the number 1, not 2 (from flag)",
        ),
        (
            "summary.tries",
            "0",
            "summary.tries takes a whole number from 1 to 1 000 000 000 000, not 0 (from flag)",
        ),
        (
            "trigger.share",
            "1.5",
            "trigger.share takes a number from 0 to 1, not 1.5 (from flag)",
        ),
        (
            "trigger.share",
            "nan",
            "trigger.share takes a number from 0 to 1, not nan (from flag)",
        ),
        (
            "target.percent",
            "101",
            "target.percent takes a number from 0 to 100, not 101 (from flag)",
        ),
        (
            "tokens.chars_per_token",
            "0",
            "tokens.chars_per_token takes a number above 0, up to 1 000 000 000 000, not 0 (from flag)",
        ),
        (
            "offload.cleanup",
            "yes",
            "offload.cleanup takes true or false, not yes (from flag)",
        ),
        (
            "summary.when",
            "alway",
            "summary.when takes one of \"auto\", \"always\", \"never\", not alway (from flag)\nhint: did you mean \"always\"?",
        ),
        (
            "clear.shapes",
            "[\"lists\"]",
            "clear.shapes takes a list of any of \"string\", \"list\", not [\"lists\"] (from flag)\nhint: did you mean \"list\"?",
        ),
        (
            "tools.read",
            "[1]",
            "tools.read takes a list of strings, not [1] (from flag)",
        ),
        (
            "clear.placeholder",
            "{summary}",
            "clear.placeholder takes a text of its own that may hold {tool}, not {summary} (from flag)",
        ),
        (
            "clear.placeholder",
            "{tool}",
            "clear.placeholder takes a text of its own that may hold {tool}, not {tool} (from flag)",
        ),
        (
            "demote.text",
            "gone",
            "demote.text takes a text of its own that must hold {name} and may hold {preview}, {tool}, each apart from the others, not gone (from flag)",
        ),
        (
            "extends",
            "layered",
            "extends is read from a policy file only (from flag)\nhint: write a policy file and name it with --policy",
        ),
        (
            "env",
            "{}",
            "env is read from a policy file only (from flag)\nhint: write a policy file and name it with --policy",
        ),
    ] {
        assert_eq!(shown(with(&[(key, text)])), expected, "{key}={text}");
    }
}

#[test]
fn keys_that_contradict_each_other_are_named() {
    assert_eq!(
        shown(with(&[("demote.text", "")])),
        "demote.text is empty while the layer \"demote\" is on\nhint: set demote.text, or take \"demote\" out of layers"
    );
    with(&[("demote.text", ""), ("layers", "drop,clear")]).unwrap();
    assert_eq!(
        shown(with(&[("summary.min_tokens", "20000")])),
        "summary.min_tokens, 20000, is more than summary.max_tokens, 10000\nhint: set both"
    );
    assert_eq!(
        shown(with(&[
            ("tools.read", "mine"),
            ("tools.write", "other,mine")
        ])),
        "\"mine\" is in tools.read and in tools.write\nhint: a tool is of one kind"
    );
    assert_eq!(
        shown(with(&[
            ("trigger.on", "window"),
            ("window.context", "29384")
        ])),
        "window.context, 29384, leaves nothing beside the 29384 of max_output and buffer\n\
         hint: raise window.context, or lower window.max_output or window.buffer"
    );
    with(&[("trigger.on", "window"), ("window.context", "29385")]).unwrap();
}
