//! `ctxpack schema`: what the program writes is of the form that it prints, every key of a form is in some output, and what
//! is not of a form is refused.

#![cfg_attr(not(unix), allow(dead_code))]

mod valid;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::harness::Place;
use valid::{Met, places, validate};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctxpack");

/// Fails if this is a report that is not of the form that `ctxpack schema` prints. Other values pass.
#[track_caller]
pub(super) fn assert_is_of_its_form(value: &Value) {
    if let Some(name) = form_of(value) {
        assert_is(name, value);
    }
}

/// Fails if this line of stderr is not of the form of errors.
#[track_caller]
pub(super) fn assert_is_error(line: &str) {
    assert_is("error", &serde_json::from_str(line).unwrap());
}

#[track_caller]
fn assert_is(name: &str, value: &Value) {
    static SCHEMAS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        let printed = |name: &str| {
            let run = Command::new(PROGRAM).args(["schema", name]).output();
            serde_json::from_slice(&run.unwrap().stdout).unwrap()
        };
        let names = WHOLE.iter().chain(&["error"]);
        names
            .map(|name| ((*name).to_owned(), printed(name)))
            .collect()
    });
    let found = validate(&schemas[name], value);
    assert!(found.errors.is_empty(), "{name}: {:#?}", found.errors);
}

/// The schemas of whole reports.
const WHOLE: [&str; 7] = [
    "report", "stats", "eval", "replay", "diff", "check", "sessions",
];

/// Which of them a value should be of, by what only these have.
fn form_of(value: &Value) -> Option<&'static str> {
    let has = |key: &str| value.get(key).is_some();
    if value.get("schema_version") != Some(&json!(1)) {
        return None;
    }
    // A list of entries is in none of the last lines of reports in lines.
    match () {
        () if has("folders") => Some("sessions"),
        () if has("cases") => Some("check"),
        () if has("conversations") => Some("diff"),
        () if !has("files") => None,
        () if has("thresholds") => Some("stats"),
        () if has("vocabulary") => Some("eval"),
        () if has("policies") => Some("replay"),
        () => Some("report"),
    }
}

/// What fits no schema but that of anything.
fn of_another_type() -> Value {
    json!([[{"surplus": 1}]])
}

/// The names that `ctxpack schema` lists.
fn names(place: &Place) -> Vec<String> {
    let listed = place.run("schema").exits(0).text();
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

fn schema(place: &Place, name: &str) -> Value {
    let printed = place.run(&format!("schema {name}")).exits(0).out;
    serde_json::from_slice(&printed).unwrap()
}

/// The outputs of the script, by what they are.
#[cfg(unix)]
fn outputs(place: &Place, known: &[String]) -> BTreeMap<String, Vec<(String, Value)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("tests/cli/schemas/outputs.sh");
    let [fixtures, script] =
        [root.join("fixtures"), script].map(|path| format!("'{}'", path.display()));
    let line = format!(
        "mkdir in && cd in && FIXTURES={fixtures} sh {script} && mv -- *.*.json* .. && cd .. && rm -r in"
    );
    // Some 250 runs: however long they take.
    let mut shell = place.command_of("sh", &["-c", &line]);
    let status = shell.env("CTXPACK", PROGRAM).status();
    assert!(status.unwrap().success());
    let mut all: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
    for file in place.files() {
        let parts: Vec<&str> = file.split('.').collect();
        let (&[name, _, ending], false) = (parts.as_slice(), file.contains('/')) else {
            continue;
        };
        let lines = format!("{name}.jsonl");
        let name = match ending {
            "jsonl" if known.contains(&lines) => lines,
            "json" | "jsonl" => name.to_owned(),
            _ => continue,
        };
        if !known.contains(&name) {
            continue;
        }
        let text = place.text(&file);
        assert!(!text.is_empty(), "{file} is empty");
        let values = match ending {
            "jsonl" => text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
            _ => vec![serde_json::from_str(&text).unwrap()],
        };
        let values = values.into_iter().map(|value| (file.clone(), value));
        all.entry(name).or_default().extend(values);
    }
    all
}

/// The places of keys that no output of the script has.
fn unseen() -> BTreeSet<String> {
    let lines = include_str!("unseen.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once(": ").unwrap().0.to_owned())
        .collect()
}

#[cfg(unix)]
#[test]
fn what_is_written_is_of_its_form_and_nothing_else_is() {
    let place = Place::new();
    let known = names(&place);
    let outputs = outputs(&place, &known);
    let mut not_met = BTreeSet::new();
    for name in &known {
        // A policy and a case are read, not written: they are TOML.
        if ["policy", "case"].contains(&name.as_str()) {
            continue;
        }
        let schema = schema(&place, name);
        // The small ones come first: they are changed below.
        let mut values = outputs[name].clone();
        values.sort_by_cached_key(|(_, value)| value.to_string().len());
        let mut met: BTreeMap<String, (usize, Met)> = BTreeMap::new();
        for (number, (file, value)) in values.iter().enumerate() {
            let found = validate(&schema, value);
            assert!(found.errors.is_empty(), "{file}: {:#?}", found.errors);
            // What other tests see of this is validated as the same.
            let is_whole = WHOLE.contains(&name.as_str());
            assert_eq!(form_of(value), is_whole.then_some(name.as_str()), "{file}");
            for (place, one) in found.met {
                let is_better = |(_, known): &(usize, Met)| one.is_word && !known.is_word;
                if met.get(&place).is_none_or(is_better) {
                    met.insert(place, (number, one));
                }
            }
        }
        let all = places(&schema);
        not_met.extend(
            all.iter()
                .filter(|key| !met.contains_key(*key))
                .map(|key| format!("{name} {key}")),
        );
        assert!(all.len() > 4 && met.len() > 4, "{name}");
        for (key, (number, met)) in &met {
            for (how, changed) in changes(&values[*number].1, met) {
                let found = validate(&schema, &changed);
                assert!(!found.errors.is_empty(), "{name}: {key}: {how} is accepted");
            }
        }
    }
    assert_eq!(not_met, unseen());
}

/// The value with a change that makes it another one than the schema describes.
fn changes(value: &Value, met: &Met) -> Vec<(&'static str, Value)> {
    let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut value = value.clone();
        let object = value.pointer_mut(&met.object).unwrap();
        change(object.as_object_mut().unwrap());
        value
    };
    let key = &met.key;
    let mut all = vec![(
        "another key",
        changed(&|object| drop(object.insert("surplus".to_owned(), json!(1)))),
    )];
    if met.is_required {
        all.push(("a missing key", changed(&|object| drop(object.remove(key)))));
    }
    if !met.is_anything {
        all.push((
            "another type",
            changed(&|object| drop(object.insert(key.clone(), of_another_type()))),
        ));
    }
    if met.is_word {
        let word = json!("no such word");
        all.push((
            "an unknown word",
            changed(&|object| drop(object.insert(key.clone(), word.clone()))),
        ));
    }
    all
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_one() {
    let place = Place::new();
    place.run("schema reprt").exits(2).says(&["'report'"]);
    let said = place.run("schema sesions --error-format json").exits(2).err;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["kind"], "usage");
    assert!(said.to_string().contains("'sessions'"), "{said}");
}

/// Every kind of notice that the code names is in the schema.
#[test]
fn every_kind_of_notice_is_known() {
    let place = Place::new();
    let schema = schema(&place, "error");
    let kinds = schema["properties"]["kind"]["enum"].as_array().unwrap();
    let literal = regex::Regex::new(
        "(?:NoticeLevel::[A-Za-z]+,[ \n]*|kind: json!\\(|const TARGET: &str = )\"([a-z_]+)\"",
    )
    .unwrap();
    let mut seen = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let text = text.split("#[cfg(test)]").next().unwrap();
            if path.ends_with("tests.rs") {
                continue;
            }
            for one in literal.captures_iter(text) {
                assert!(kinds.contains(&json!(&one[1])), "{path:?}: {}", &one[1]);
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "{seen}");
}
