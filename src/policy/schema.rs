//! The JSON Schema of a policy file, from the declarations of the keys: names, types, ranges, words and documentation.
//!
//! [`super::parse`] rejects everything that the schema rejects. The reverse does not hold, because a schema cannot express that
//! keys agree with each other, or that the text of a template can be recognised in an output.

use serde_json::{Map, Value, json};

use super::choice::Word;
use super::domain::{Domain, MAX};
use super::key::{Key, Purpose};
use super::template::Slot;
use super::{Policy, preset};
use crate::error::Result;

/// The JSON Schema (draft 2020-12) of a policy file. Its defaults are the values of keys that a file leaves out, if it extends no
/// other preset.
///
/// # Errors
/// None for a program that passes its tests.
pub fn schema() -> Result<Value> {
    let defaults = preset("")?.to_json()?;
    let mut properties = Map::new();
    for table in Policy::TABLES {
        let keys = table.keys.iter();
        let keys = keys.map(|key| (key.place().1.to_owned(), property(key, &defaults)));
        match table.name {
            "" => properties.extend(keys),
            name => {
                let table = json!({
                    "description": table.doc().collect::<Vec<_>>().join(" "),
                    "type": "object",
                    "properties": keys.collect::<Map<_, _>>(),
                    "additionalProperties": false,
                });
                properties.insert(name.to_owned(), table);
            }
        }
    }
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ctxpack policy",
        "description": "A policy file of ctxpack: what differs from the preset that it extends.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    }))
}

/// What one key accepts and means.
fn property(key: &Key, defaults: &Value) -> Value {
    let mut description = key.doc().collect::<Vec<_>>().join(" ");
    if !key.unit.is_empty() {
        description.push_str(&format!(" Unit: {}.", key.unit));
    }
    let mut property = accepted(key.domain);
    property["description"] = Value::from(description);
    if key.purpose == Purpose::Setting {
        property["default"] = key.get(defaults).clone();
    }
    property
}

fn accepted(domain: Domain) -> Value {
    match domain {
        Domain::Integer { min, max } => {
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Domain::UpTo { max } => json!({"type": "number", "minimum": 0, "maximum": max}),
        Domain::Positive => json!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX}),
        Domain::Boolean => json!({"type": "boolean"}),
        Domain::Text => json!({"type": "string"}),
        Domain::Template { required, optional } => template(required, optional),
        Domain::OneOf(words) => one_of(words),
        Domain::Prompt(words) => {
            json!({"anyOf": [one_of(words), {"type": "string", "pattern": "^(file|text):[\\s\\S]*\\S"}]})
        }
        Domain::AnyOf(words) => json!({"type": "array", "items": one_of(words)}),
        Domain::TextList => json!({"type": "array", "items": {"type": "string"}}),
        Domain::TextTable => {
            json!({"type": "object", "additionalProperties": {"type": "string"}})
        }
        Domain::Parameters => json!({"type": "object"}),
    }
}

fn one_of(words: &[Word]) -> Value {
    let words = words.iter();
    let words = words.map(|word| json!({"const": word.name, "description": word.doc()}));
    json!({"type": "string", "oneOf": words.collect::<Vec<_>>()})
}

/// A text with all required substitutions, or an empty one, without substitutions that are neither required nor optional.
fn template(required: &[Slot], optional: &[Slot]) -> Value {
    let pattern = |slot: &Slot| slot.written().replace('{', "\\{").replace('}', "\\}");
    let contains = required
        .iter()
        .map(|slot| json!({"pattern": format!("^$|{}", pattern(slot))}));
    let is_other = |slot: &Slot| !required.contains(slot) && !optional.contains(slot);
    let others = Slot::ALL.into_iter().filter(is_other);
    let lacks = others.map(|slot| json!({"not": {"pattern": pattern(&slot)}}));
    json!({"type": "string", "allOf": contains.chain(lacks).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{keys, parse};

    #[test]
    fn it_describes_every_key_and_nothing_else() {
        let schema = schema().unwrap();
        let mut described = Vec::new();
        for (name, property) in schema["properties"].as_object().unwrap() {
            match property["properties"].as_object() {
                Some(table) => described.extend(table.keys().map(|key| format!("{name}.{key}"))),
                None => described.push(name.clone()),
            }
        }
        let names: Vec<&str> = keys::all().map(|key| key.name).collect();
        assert_eq!(described, names);
    }

    #[test]
    fn it_says_what_a_key_accepts_and_means() {
        let schema = schema().unwrap();
        let of = |table: &str, key: &str| schema["properties"][table]["properties"][key].clone();
        assert_eq!(
            of("summary", "tries"),
            json!({
                "type": "integer", "minimum": 1, "maximum": MAX,
                "description": "How many times a provider is asked for one summary. Unit: requests.",
                "default": 3,
            })
        );
        let when = &of("summary", "when")["oneOf"];
        let words: Vec<&str> = when
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w["const"].as_str().unwrap())
            .collect();
        assert_eq!(words, ["auto", "always", "never"]);
        assert_eq!(
            of("demote", "text")["allOf"],
            json!([{"pattern": "^$|\\{name\\}"}, {"not": {"pattern": "\\{summary\\}"}}])
        );
        // The defaults are those of a file that sets nothing.
        let empty = parse("mine", "").unwrap().to_json().unwrap();
        assert_eq!(schema["properties"]["layers"]["default"], empty["layers"]);
    }
}
