//! A small validator: the keywords that the program's schemas have, and no others. It also says which keys it has met.
//!
//! `scripts/external/schemas.py` validates the same with a program that is not ours.

use std::collections::BTreeMap;

use regex::bytes::Regex;
use serde_json::Value;

/// A key of a schema that an output has.
#[derive(Clone)]
pub(super) struct Met {
    /// The object with the key, as a JSON pointer.
    pub(super) object: String,
    pub(super) key: String,
    pub(super) is_required: bool,
    /// Whether the schema says nothing of the value.
    pub(super) is_anything: bool,
    /// Whether the value is a word of a closed set.
    pub(super) is_word: bool,
}

/// What was found in an output.
#[derive(Default)]
pub(super) struct Found {
    /// By their places in the schema, the first of each.
    pub(super) met: BTreeMap<String, Met>,
    pub(super) errors: Vec<String>,
}

/// Validates `value`; `root` is the schema.
pub(super) fn validate(root: &Value, value: &Value) -> Found {
    let mut found = Found::default();
    Place {
        root,
        schema: root,
        part: "",
        at: String::new(),
    }
    .look(value, &mut found);
    found
}

/// Where in a schema and in a value.
#[derive(Clone)]
struct Place<'s> {
    root: &'s Value,
    schema: &'s Value,
    /// The place in the schema: a part and keys.
    part: &'s str,
    at: String,
}

impl Place<'_> {
    fn look(&self, value: &Value, found: &mut Found) {
        self.look_below("", value, found);
    }

    fn look_below(&self, path: &str, value: &Value, found: &mut Found) {
        let schema = self.schema.as_object().unwrap();
        let wrong = |what: &str| format!("{}: {what}: {value:.80}", self.at);
        for (keyword, says) in schema {
            let holds = match keyword.as_str() {
                "$schema" | "title" | "description" | "$defs" | "required" | "default" => true,
                "$ref" => {
                    let name = says.as_str().unwrap().trim_start_matches("#/$defs/");
                    let place = Place {
                        schema: &self.root["$defs"][name],
                        part: name,
                        ..self.clone()
                    };
                    place.look(value, found);
                    true
                }
                "anyOf" => {
                    let of = says.as_array().unwrap().iter().map(|one| {
                        let mut found = Found::default();
                        let place = Place {
                            schema: one,
                            ..self.clone()
                        };
                        place.look_below(path, value, &mut found);
                        found
                    });
                    let of: Vec<Found> = of.collect();
                    let fits = of.iter().position(|one| one.errors.is_empty());
                    let told = of.iter().flat_map(|one| &one.errors).take(4).cloned();
                    match fits {
                        None => found.errors.extend(told),
                        Some(_) => {
                            for one in of.into_iter().filter(|one| one.errors.is_empty()) {
                                for (place, met) in one.met {
                                    found.met.entry(place).or_insert(met);
                                }
                            }
                        }
                    }
                    true
                }
                "type" => {
                    let kinds = std::slice::from_ref(says);
                    let kinds = says.as_array().map_or(kinds, Vec::as_slice);
                    kinds.iter().any(|kind| is(value, kind.as_str().unwrap()))
                }
                "enum" => says.as_array().unwrap().contains(value),
                "const" => says == value,
                "pattern" => value.as_str().is_none_or(|text| {
                    let pattern = format!("(?-u){}", says.as_str().unwrap());
                    Regex::new(&pattern).unwrap().is_match(text.as_bytes())
                }),
                "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().unwrap()),
                "exclusiveMinimum" => value.as_f64().is_none_or(|n| n > says.as_f64().unwrap()),
                "minItems" => value
                    .as_array()
                    .is_none_or(|all| all.len() as u64 >= says.as_u64().unwrap()),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|all| all.len() as u64 <= says.as_u64().unwrap()),
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        let place = Place {
                            schema: says,
                            at: format!("{}/{i}", self.at),
                            ..self.clone()
                        };
                        place.look_below(path, item, found);
                    }
                    true
                }
                "properties" => {
                    self.look_at_keys(path, value, found);
                    true
                }
                "additionalProperties" => {
                    assert_eq!(says, &Value::Bool(false));
                    let known = schema["properties"].as_object().unwrap();
                    let all = value.as_object().into_iter().flatten();
                    let others = all.filter(|(key, _)| !known.contains_key(*key));
                    found
                        .errors
                        .extend(others.map(|(key, _)| format!("{}: unknown {key}", self.at)));
                    true
                }
                other => panic!("the keyword {other} is not known here"),
            };
            if !holds {
                found.errors.push(wrong(keyword));
            }
        }
    }

    fn look_at_keys(&self, path: &str, value: &Value, found: &mut Found) {
        let Some(object) = value.as_object() else {
            return;
        };
        let required = self.schema["required"].as_array().unwrap();
        for (key, schema) in self.schema["properties"].as_object().unwrap() {
            let is_required = required.iter().any(|one| one == key);
            let Some(value) = object.get(key) else {
                if is_required {
                    found.errors.push(format!("{}: no {key}", self.at));
                }
                continue;
            };
            let below = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let says = schema.as_object().unwrap();
            let is_word = says.contains_key("enum") && value.is_string();
            let met = Met {
                object: self.at.clone(),
                key: key.clone(),
                is_required,
                is_anything: says.keys().all(|keyword| keyword == "description"),
                is_word,
            };
            let place = name(self.part, &below);
            match found.met.entry(place) {
                std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(met)),
                // A word says more of the schema than null.
                std::collections::btree_map::Entry::Occupied(mut entry) => {
                    if is_word && !entry.get().is_word {
                        entry.insert(met);
                    }
                }
            }
            let place = Place {
                schema,
                at: format!("{}/{key}", self.at),
                ..self.clone()
            };
            place.look_below(&below, value, found);
        }
    }
}

/// `part.key.key`, or the keys alone where they are not in a part.
fn name(part: &str, keys: &str) -> String {
    match part {
        "" => keys.to_owned(),
        part => format!("{part}.{keys}"),
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

/// The places of all keys of a schema.
pub(super) fn places(root: &Value) -> Vec<String> {
    let mut all = Vec::new();
    collect(root, "", "", &mut all);
    for (part, schema) in root["$defs"].as_object().into_iter().flatten() {
        collect(schema, part, "", &mut all);
    }
    all
}

fn collect(schema: &Value, part: &str, path: &str, all: &mut Vec<String>) {
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let below = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        all.push(name(part, &below));
        collect(inner, part, &below, all);
    }
    collect_in(&schema["items"], part, path, all);
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        collect_in(one, part, path, all);
    }
}

fn collect_in(schema: &Value, part: &str, path: &str, all: &mut Vec<String>) {
    if schema.is_object() {
        collect(schema, part, path, all);
    }
}
