//! `policy`: presets by name, whole policies as text that can be read back, a new policy file.

use serde_json::Value;

use super::harness::Place;

/// The hash of the policy in effect.
fn hash(place: &Place, args: &str) -> String {
    let ran = place
        .run(&format!("config show --format json {args}"))
        .exits(0);
    let shown: Value = serde_json::from_slice(&ran.out).unwrap();
    shown["hash"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_names_every_preset_with_its_aliases_and_what_it_is() {
    let list = Place::new().run("policy list").exits(0).text();
    let layered = list
        .lines()
        .find(|line| line.starts_with("layered"))
        .unwrap();
    assert!(layered.starts_with("layered (v5)"), "{list}");
    assert!(layered.contains("A three-layer pipeline: "), "{list}");
    for name in ["auto", "none"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}

#[test]
fn what_is_shown_is_taken_back_as_the_same_policy() {
    let place = Place::with(&[(
        "my.toml",
        "extends = \"layered\"\n[clear]\nkeep = 9\n[env]\nX = \"clear.keep\"\n",
    )]);
    for (shown, same) in [
        ("auto", "--policy auto"),
        ("v5", "--policy layered"),
        ("none", "--policy none"),
        ("my.toml", "--policy my.toml"),
        (
            "auto --set clear.keep=1 --set summary.ack=Yes.",
            "--set clear.keep=1 --set summary.ack=Yes.",
        ),
    ] {
        let text = place.run(&format!("policy show {shown}")).exits(0).out;
        place.write("again.toml", text);
        assert_eq!(
            hash(&place, "--policy again.toml"),
            hash(&place, same),
            "{shown}"
        );
    }
}

#[test]
fn what_is_shown_without_a_name_is_what_holds_here() {
    let place = Place::with(&[("ctxpack.toml", "[clear]\nkeep = 9\n")]);
    let text = place
        .run_with(&[("CTXPACK_CLEAR__MIN_TOKENS", "7")], "policy show")
        .exits(0)
        .text();
    let top: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        top,
        [
            "# clear.keep: file ctxpack.toml",
            "# clear.min_tokens: env CTXPACK_CLEAR__MIN_TOKENS",
            ""
        ]
    );
    assert!(text.contains("\nkeep = 9\n") && text.contains("\nmin_tokens = 7\n"));
    let none = place.run("policy show none").exits(0).text();
    assert!(none.contains("\nlayers = []\n") && none.contains("\nkeep = 5\n"));
}

#[test]
fn a_name_that_does_not_exist_is_met_with_the_nearest_one() {
    let place = Place::new();
    for args in ["policy show layerd", "policy init --policy layerd"] {
        place
            .run(args)
            .exits(2)
            .says(&["unknown policy layerd", "hint: did you mean layered?"]);
    }
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn a_file_to_begin_with_says_what_its_preset_says() {
    let place = Place::new();
    place
        .run("policy init --policy layered")
        .exits(0)
        .says(&["ctxpack.toml: written"]);
    assert!(place.text("ctxpack.toml").contains("\n# keep = 3\n"));
    assert_eq!(hash(&place, ""), hash(&place, "--policy layered"));
    assert_ne!(hash(&place, ""), hash(&place, "--isolated"));

    place.run("policy init other.toml -q").exits(0);
    assert_eq!(
        hash(&place, "--policy other.toml"),
        hash(&place, "--isolated")
    );
}

#[test]
fn a_file_that_is_there_is_never_replaced() {
    let place = Place::with(&[("ctxpack.toml", "[clear]\nkeep = 9\n")]);
    let before = place.all_files();
    place.run("policy init").exits(2).says(&[
        "ctxpack.toml: the file already exists",
        "hint: move it away",
    ]);
    assert_eq!(place.all_files(), before);
}

#[test]
fn the_schema_of_a_policy_file_knows_every_key_that_a_policy_shows() {
    let place = Place::new();
    let schema = place.run("schema policy").exits(0).out;
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    assert_eq!(schema, ctxpack::policy::schema().unwrap());

    let shown = place.run("config show --format json").exits(0).out;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    for row in shown["keys"].as_array().unwrap() {
        let path = row["key"].as_str().unwrap().replace('.', "/properties/");
        let key = schema.pointer(&format!("/properties/{path}")).unwrap();
        assert!(key["description"].as_str().unwrap().len() > 10, "{path}");
    }
    place.run("schema nonsense").exits(2);
}
