//! The building blocks of schemas: objects with their keys, and types of values.
//!
//! Objects are strict: a key that is not listed is refused, and one that is always there is required. Knows nothing about reports.

use serde_json::{Map, Value, json};

use super::words::Table;

/// A schema before it is printed.
pub(super) struct Schema {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) root: Value,
    /// The definitions that are referred to, by name.
    pub(super) parts: Vec<(&'static str, Value)>,
}

/// Whether a report is one object, or lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A `.json` report.
    Whole,
    /// A line of a `.jsonl` report.
    Line,
}

/// A key of an object.
#[derive(Debug, Clone)]
pub(super) struct Key {
    name: &'static str,
    value: Value,
    presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

impl Schema {
    /// The schema as it is printed (draft 2020-12).
    pub(super) fn json(self) -> Value {
        let mut schema = Map::new();
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        schema.insert("title".to_owned(), json!(self.title));
        schema.insert("description".to_owned(), json!(self.about));
        if let Value::Object(root) = self.root {
            schema.extend(root);
        }
        if !self.parts.is_empty() {
            let parts = self.parts.into_iter();
            let parts: Map<_, _> = parts.map(|(name, part)| (name.to_owned(), part)).collect();
            schema.insert("$defs".to_owned(), Value::Object(parts));
        }
        Value::Object(schema)
    }

    /// A report with an entry for each `entry` in the list `entries`; in a report of lines, each entry has its own line, and the
    /// last line has the other keys.
    pub(super) fn of_entries(
        self,
        form: Form,
        (entries, about): (&'static str, &str),
        entry: (&'static str, Value),
        head: Vec<Key>,
    ) -> Schema {
        let part = to(entry.0);
        let mut parts = self.parts;
        parts.push(entry);
        let root = match form {
            Form::Whole => {
                let mut keys = head;
                keys.push(key(entries, list(part), about));
                object(keys)
            }
            Form::Line => {
                parts.push(("last", object(head)));
                json!({"anyOf": [part, to("last")]})
            }
        };
        Schema {
            root,
            parts,
            ..self
        }
    }
}

/// A key that is always there.
pub(super) fn key(name: &'static str, mut value: Value, about: &str) -> Key {
    if !about.is_empty() {
        value["description"] = json!(about);
    }
    Key {
        name,
        value,
        presence: Presence::Always,
    }
}

/// Counts that are always present.
pub(super) fn counts<const N: usize>(all: [(&'static str, &str); N]) -> Vec<Key> {
    all.map(|(name, about)| key(name, count(), about)).into()
}

/// The same for counts that may be missing or switched off, and are then null.
pub(super) fn counts_or_null<const N: usize>(all: [(&'static str, &str); N]) -> Vec<Key> {
    all.map(|(name, about)| key(name, or_null(count()), about))
        .into()
}

impl Key {
    /// The same key, which may be absent.
    pub(super) fn sometimes(self) -> Key {
        Key {
            presence: Presence::Sometimes,
            ..self
        }
    }

    /// The same key, with the description in a table unless it already has one.
    fn told_by(mut self, table: &Table) -> Key {
        if let (None, Some(about)) = (self.value.get("description"), table.meaning(self.name)) {
            self.value["description"] = json!(about);
        }
        self
    }
}

/// An object with these keys.
pub(super) fn object(keys: Vec<Key>) -> Value {
    let required = keys.iter().filter(|key| key.presence == Presence::Always);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let properties = keys.iter();
    let properties: Map<_, _> = properties
        .map(|key| (key.name.to_owned(), key.value.clone()))
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// An object whose keys a table of a topic explains.
pub(super) fn object_told_by(table: &Table, keys: Vec<Key>) -> Value {
    object(keys.into_iter().map(|key| key.told_by(table)).collect())
}

/// The same, or null.
pub(super) fn or_null(value: Value) -> Value {
    let Some(kind) = value.get("type").cloned() else {
        return json!({"anyOf": [value, {"type": "null"}]});
    };
    let mut value = value;
    if let Some(words) = value.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    value["type"] = json!([kind, "null"]);
    value
}

/// A reference to a definition of the schema.
pub(super) fn to(part: &str) -> Value {
    json!({"$ref": format!("#/$defs/{part}")})
}

pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// A list with one item for each of two files or policies.
pub(super) fn pair(items: Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 2, "maxItems": 2})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

/// A text that matches a regular expression.
pub(super) fn text_like(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

pub(super) fn one_of<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Value {
    let words: Vec<Value> = words.into_iter().map(|word| json!(word.as_ref())).collect();
    json!({"type": "string", "enum": words})
}

pub(super) fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// A number of a line, a message or the like.
pub(super) fn from_one() -> Value {
    json!({"type": "integer", "minimum": 1})
}

pub(super) fn amount() -> Value {
    json!({"type": "number", "minimum": 0})
}

/// A percentage.
pub(super) fn share() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 100})
}

/// A fraction of 1.
pub(super) fn part() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}

/// One of several alternatives.
pub(super) fn any(of: Vec<Value>) -> Value {
    json!({"anyOf": of})
}
