//! The module as its callers see it: from presets, files and settings to an effective policy or an error.

mod settings;

use serde_json::json;

use super::presets::PRESETS;
use crate::error::ErrorKind;

use super::domain::Domain;
use super::key::{Audience, Found};
use super::*;

fn setting(key: &str, value: &str) -> Setting {
    Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: "flag".to_owned(),
    }
}

/// The default policy with settings over it.
fn with(settings: &[(&str, &str)]) -> Result<Effective> {
    let settings: Vec<_> = settings.iter().map(|(k, v)| setting(k, v)).collect();
    resolve(preset("").unwrap(), &settings)
}

/// What a user reads of an error: the line, the message and the hint.
fn shown<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    let line = error
        .line
        .map(|line| format!("{line}: "))
        .unwrap_or_default();
    let hint = error
        .hint
        .map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default();
    format!("{line}{}{hint}", error.message)
}

/// Published keys, which existing files and scripts may contain.
const PUBLISHED: &str = "
    schema name aliases extends layers history archive redact
    tokens.method tokens.encoding tokens.unit tokens.chars_per_token tokens.rounding tokens.per tokens.scope
    tokens.images tokens.image_tokens tokens.document_tokens
    window.context window.max_output window.output_cap window.buffer
    trigger.on trigger.tokens trigger.share trigger.compare trigger.cap_share trigger.min_savings
    trigger.offload_freed_below trigger.max_compactions trigger.manual_tool trigger.force_on_finish trigger.skip
    target.tokens target.percent target.kind
    superseded.placeholder
    demote.min_tokens demote.preview_chars demote.text
    clear.keep clear.tools clear.min_tokens clear.min_chars clear.shapes clear.placeholder
    offload.tokens offload.share offload.min_chars offload.text offload.restore_before_summary offload.unavailable
    offload.cleanup
    store.names
    summary.when summary.instructions summary.source summary.model summary.base_url summary.prompt
    summary.prompt_role summary.system summary.reads summary.input summary.input_chars
    summary.keep_messages summary.keep_turns summary.keep_tokens
    summary.role summary.text summary.ack
    summary.tokens summary.share summary.min_tokens summary.max_tokens summary.output_factor summary.user_words
    summary.user_message_max
    summary.tries summary.wait_ms summary.wait summary.drop_rounds summary.too_long summary.window summary.cut_off
    summary.breaker summary.breaker_scope
    summary.on_failure
    summary.too_large summary.too_large_share summary.too_large_tokens summary.max_invented
    summary.max_invented_share summary.must_keep summary.narrative_share
    restore.files restore.tokens_per_file restore.tokens_total restore.skip_visible restore.root restore.extras
    tools.shell tools.read tools.write tools.edit tools.search tools.web
    env";

/// The names of all keys, in their order.
fn names() -> Vec<&'static str> {
    keys::all().map(|key| key.name).collect()
}

#[test]
fn every_published_key_is_still_there_in_its_order() {
    let published: Vec<&str> = PUBLISHED.split_whitespace().collect();
    let mut listed = names();
    listed.retain(|name| published.contains(name));
    assert_eq!(listed, published);
}

#[test]
fn every_declaration_is_complete() {
    let defaults = Policy::default().to_json().unwrap();
    for key in keys::all() {
        let name = key.name;
        assert!(key.doc().next().is_some(), "{name} has no documentation");
        // A default that a file could not write back would not be one.
        let default = key.get(&defaults);
        assert_eq!(key.domain.fit(default).as_ref(), Some(default), "{name}");
        if let Some((implied, value)) = key.implies {
            let implied = keys::find(implied).unwrap();
            assert!(implied.domain.fit(&json!(value)).is_some(), "{name}");
        }
        match key.found {
            Found::Any => {}
            Found::Empty(_) => assert!(*default == "" || *default == json!({}), "{name}"),
            Found::OneOfItsWords(_) => {
                assert!(key.domain.words().any(|word| default == word), "{name}");
            }
            Found::AtMost(most) => assert!(default.as_u64().unwrap() <= most, "{name}"),
            Found::Except(words, _) => {
                assert!(
                    words
                        .iter()
                        .all(|w| key.domain.words().any(|known| known == *w)),
                    "{name}"
                );
            }
        }
        if let (Domain::Integer { min, max }, "") = (key.domain, key.unit) {
            assert_eq!(min, max, "{name} counts something, and does not say what");
        }
    }
    assert!(keys::all().any(|key| key.audience == Audience::Most));
}

#[test]
fn the_struct_has_each_key_as_one_field_in_the_same_order() {
    let policy = preset("").unwrap().to_json().unwrap();
    let mut fields = Vec::new();
    for (name, value) in policy.as_object().unwrap() {
        match value.as_object() {
            Some(table) if name != "env" => {
                fields.extend(table.keys().map(|field| format!("{name}.{field}")))
            }
            Some(_) | None => fields.push(name.clone()),
        }
    }
    assert_eq!(fields, names());
}

#[test]
fn a_preset_says_what_differs_from_the_defaults_and_nothing_else() {
    let defaults = Policy::default().to_json().unwrap();
    for text in PRESETS {
        for given in read::read(text).unwrap() {
            let name = given.key.name;
            assert_ne!(&given.value, given.key.get(&defaults), "{name} in {text}");
            assert_ne!(name, EXTENDS, "{text}");
        }
    }
}

#[test]
fn a_preset_gives_the_source_of_each_value() {
    for text in PRESETS {
        let mut commented = false;
        let body = text.split_once("\nname = ").unwrap().1;
        for line in body
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("aliases"))
        {
            // A comment holds for the lines up to the next empty one.
            commented = !line.is_empty() && (commented || line.starts_with('#'));
            let is_value = !line.is_empty() && !line.starts_with(['#', '[']);
            assert!(!is_value || commented, "{line} in {text}");
        }
    }
}

#[test]
fn every_preset_resolves_and_no_two_share_a_name() {
    let presets = presets().unwrap();
    let mut names: Vec<_> = presets
        .iter()
        .flat_map(|p| [&p.name].into_iter().chain(&p.aliases))
        .collect();
    for policy in &presets {
        let effective = resolve(policy.clone(), &[]).unwrap();
        assert_eq!((&effective.policy, effective.overrides.len()), (policy, 0));
    }
    names.sort();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
}

#[test]
fn the_defaults_change_nothing() {
    let neutral = Policy {
        name: "none".to_owned(),
        ..Policy::default()
    };
    assert_eq!(neutral.layers, []);
    assert_eq!(preset("none").unwrap(), neutral);
}

#[test]
fn the_threshold_is_that_of_each_published_system() {
    let threshold = |settings: &[(&str, &str)]| with(settings).unwrap().policy.threshold();
    assert_eq!(threshold(&[]), Some(20_000));
    for (name, tokens) in [
        ("layered", 170_616),
        ("offload-first", 150_000),
        ("reset", 50_000),
        ("boundary", 171_000),
        ("turns", 48_000),
    ] {
        assert_eq!(preset(name).unwrap().threshold(), Some(tokens), "{name}");
    }
    let boundary = [
        ("trigger.on", "window"),
        ("window.max_output", "16_000"),
        ("window.output_cap", "0"),
    ];

    // The cap of an output larger than 20 000, and the share of what the output leaves: 0.5 × (200 000 − 16 000).
    assert_eq!(
        threshold(&[("trigger.on", "window"), ("window.max_output", "64000")]),
        Some(167_000)
    );
    assert_eq!(
        threshold(&[boundary.as_slice(), &[("trigger.cap_share", "0.5")]].concat()),
        Some(92_000)
    );
    assert_eq!(
        threshold(&[boundary.as_slice(), &[("trigger.cap_share", "1")]].concat()),
        Some(171_000)
    );

    assert_eq!(threshold(&[("trigger.tokens", "0")]), None);
    assert_eq!(preset("none").unwrap().threshold(), None);
}

#[test]
fn a_threshold_is_met_as_compare_says() {
    assert_eq!(
        [Compare::Over, Compare::AtLeast].map(|c| c.holds(10, 10)),
        [false, true]
    );
    assert_eq!(
        [Compare::Over, Compare::AtLeast].map(|c| c.holds(11, 10)),
        [true, true]
    );
    assert_eq!(
        [Compare::Over, Compare::AtLeast].map(|c| c.holds(9, 10)),
        [false, false]
    );
}

#[test]
fn a_file_names_what_differs_from_the_policy_it_extends() {
    let own = parse("mine", "[clear]\nkeep = 7\n[tokens]\nchars_per_token = 3\n").unwrap();
    let mut expected = preset("").unwrap();
    expected.name = "mine".to_owned();
    expected.clear.keep = 7;
    expected.tokens.chars_per_token = 3.0;
    assert_eq!(own, expected);

    let own = parse(
        "mine",
        "name = \"ours\"\nextends = \"v5\"\nclear.keep = 7\nenv.KEEP = \"clear.keep\"\n",
    )
    .unwrap();
    let mut expected = preset("layered").unwrap();
    expected.name = "ours".to_owned();
    expected.aliases = vec![];
    expected.extends = "v5".to_owned();
    expected.clear.keep = 7;
    expected.env = BTreeMap::from([("KEEP".to_owned(), "clear.keep".to_owned())]);
    assert_eq!(own, expected);
    assert_eq!(resolve(own, &[]).unwrap().overrides, vec![]);
}

#[test]
fn the_first_invalid_line_of_a_file_is_reported() {
    for (text, expected) in [
        (
            "[clear]\nkeep = 1\n\n[claer]\nkeep = 2\n",
            "5: unknown policy key claer.keep\nhint: did you mean clear.keep?",
        ),
        (
            "[claer]\n",
            "1: unknown policy key claer\nhint: a key is written like clear.keep; `ctxpack help keys` lists them",
        ),
        (
            "clear = 5\n",
            "1: unknown policy key clear\nhint: clear is a table of keys: set one of them",
        ),
        (
            "[window]\nbuffer = \"a\"\n[clear]\nkeep = \"b\"\n",
            "2: window.buffer takes a whole number from 0 to 1 000 000 000 000, not \"a\"",
        ),
        (
            "[clear]\nkeep = 1979-05-27\n",
            "2: clear.keep takes a whole number from 0 to 1 000 000 000 000, not 1979-05-27",
        ),
        ("schema = 2\n", "1: schema takes the number 1, not 2"),
        (
            "\nextends = \"layred\"\n",
            "2: unknown policy layred\nhint: did you mean layered? the policies are auto, layered, offload-first, reset, boundary, boundary-production, turns, none",
        ),
        (
            "[env]\nKEEP = 5\n",
            "1: env takes a table of strings, not one with other values",
        ),
        (
            "[clear]\nkeep = 1\nkeep = 2\n",
            "3: not TOML: duplicate key",
        ),
    ] {
        assert_eq!(shown(parse("mine", text)), expected, "{text}");
    }
}

#[test]
fn an_unknown_policy_is_answered_with_the_known_ones() {
    assert_eq!(
        shown(preset("nope")),
        "unknown policy nope\nhint: did you mean none? the policies are auto, layered, offload-first, reset, boundary, boundary-production, turns, none"
    );
    assert_eq!(
        shown(preset("something-else")),
        "unknown policy something-else\nhint: the policies are auto, layered, offload-first, reset, boundary, boundary-production, turns, none; or name a policy file"
    );
}

#[test]
fn equal_policies_have_equal_hashes_however_they_were_written() {
    let file = "name = \"other\"\naliases = [\"o\"]\nschema = 1\n[tokens]\nchars_per_token = 3\n[clear]\nkeep = 7\ntools = [\"read\", \"shell\"]\n[env]\nX = \"clear.keep\"\n";
    let turned = "[clear]\ntools = [\"shell\", \"read\", \"shell\"]\nkeep = 0x7\n[tokens]\nchars_per_token = 3.0\n";
    let hashes = [
        resolve(parse("a", file).unwrap(), &[]).unwrap().hash,
        resolve(parse("b", turned).unwrap(), &[]).unwrap().hash,
        with(&[
            ("clear.tools", "read,shell"),
            ("clear.keep", "7"),
            ("tokens.chars_per_token", "3"),
        ])
        .unwrap()
        .hash,
    ];
    assert_eq!(hashes, [&hashes[0]; 3].map(Clone::clone));
    assert_eq!(
        with(&[("trigger.share", "-0.0")]).unwrap().hash,
        with(&[]).unwrap().hash
    );
    assert!(hashes[0].len() == 32 && hashes[0].bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn every_key_that_changes_outputs_changes_the_hash() {
    let mut unchanged = Vec::new();
    let base = preset("").unwrap();
    for key in keys::all() {
        let candidates = match key.domain {
            Domain::Integer { .. } => vec!["1", "2"],
            Domain::UpTo { .. } | Domain::Positive => vec!["0.25", "0.5"],
            Domain::Boolean => vec!["true", "false"],
            Domain::Text | Domain::TextList => vec!["one", "two"],
            Domain::Template { .. } => {
                vec!["one {name} {summary}", "one {name}", "one", "one {summary}"]
            }
            Domain::OneOf(_) | Domain::AnyOf(_) | Domain::Prompt(_) => key.domain.words().collect(),
            Domain::TextTable => vec!["{ A = \"clear.keep\" }"],
            Domain::Parameters => vec!["{ seed = 7 }"],
        };
        let changes = candidates
            .iter()
            .filter_map(|text| key.domain.fit_text(text))
            .any(|value| {
                let mut policy = base.to_json().unwrap();
                key.set(&mut policy, value);
                let policy: Policy = serde_json::from_value(policy).unwrap();
                policy.hash().unwrap() != base.hash().unwrap()
            });
        if !changes {
            unchanged.push(key.name);
        }
    }
    assert_eq!(unchanged, ["schema", "name", "aliases", "extends", "env"]);
}

#[test]
fn a_list_that_is_written_wrongly_is_not_taken_for_words() {
    let key = keys::find("tools.shell").unwrap();
    for wrong in ["\"x", "{}", "[\"x\"", "'x", "{ a = 1 }"] {
        assert_eq!(key.domain.fit_text(wrong), None, "{wrong}");
    }
    for (right, words) in [
        ("x", json!(["x"])),
        ("x, y", json!(["x", "y"])),
        ("[\"x\"]", json!(["x"])),
        ("\"x,y\"", json!(["x", "y"])),
    ] {
        assert_eq!(key.domain.fit_text(right), Some(words), "{right}");
    }
}
