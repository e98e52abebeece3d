//! A policy as text: the whole as TOML, single values, and a starter file.
//!
//! [`super::parse`] reads the text back as the same policy. Never writes a file.

use std::borrow::Cow;

use serde_json::Value;

use super::Policy;
use super::domain::Domain;
use super::key::{Audience, Key, Table};
use super::presets::PRESETS;
use crate::error::{Error, ErrorKind, Result};
use crate::text::printable_json;

impl Policy {
    /// The policy as TOML: every key with its documentation and its value. Contains no terminal control characters.
    ///
    /// # Errors
    /// None for a policy of [`super::preset`], [`super::parse`] or [`super::resolve`].
    pub fn to_toml(&self) -> Result<String> {
        let policy = self.to_json()?;
        let mut text = String::new();
        for table in Self::TABLES {
            text.push_str(&header(table));
            for key in table.keys {
                text.push_str(&comment(key));
                text.push_str(&match key.get(&policy) {
                    Value::Object(names) if key.domain == Domain::TextTable => {
                        let names = names.iter().map(|name| escaped_pair(name) + "\n");
                        format!("[{}]\n{}\n", key.name, names.collect::<String>())
                    }
                    value => format!("{} = {}\n\n", key.place().1, literal(value)?),
                });
            }
        }
        Ok(text)
    }

    /// A policy file that starts from this preset: the common keys with its values, commented out.
    ///
    /// # Errors
    /// None for a policy of [`super::preset`].
    pub fn starter(&self) -> Result<String> {
        let mut text = format!(
            "# How ctxpack compacts what is below this folder. The values after # are those of the preset: remove the # to change\n\
             # one. `ctxpack config show` lists every key with its value and where that comes from.\n\n\
             # The preset to start from: one of `ctxpack policy list`.\n\
             extends = {}\n\n",
            literal(&Value::from(self.name.as_str()))?
        );
        let policy = self.to_json()?;
        for table in Self::TABLES {
            let common = |key: &&Key| key.audience == Audience::Most;
            let mut keys = table.keys.iter().filter(common).peekable();
            if keys.peek().is_some() {
                text.push_str(&header(table));
            }
            for key in keys {
                let value = literal(key.get(&policy))?;
                text.push_str(&format!(
                    "{}# {} = {value}\n\n",
                    comment(key),
                    key.place().1
                ));
            }
        }
        Ok(text)
    }
}

/// The header of a table, with its documentation.
fn header(table: &Table) -> String {
    match table.name {
        "" => String::new(),
        name => {
            let doc = table.doc().map(|line| format!("# {line}\n"));
            format!("{}[{name}]\n\n", doc.collect::<String>())
        }
    }
}

/// A key's documentation: its meaning, its words, its unit.
fn comment(key: &Key) -> String {
    let mut lines: Vec<String> = key.doc().map(str::to_owned).collect();
    let words = key.domain.choices().iter();
    lines.extend(words.map(|word| format!("  \"{}\": {}", word.name, word.doc())));
    if !key.unit.is_empty() {
        lines.push(format!("  Unit: {}.", key.unit));
    }
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

/// A key's value as TOML, on one line. Contains no terminal control characters.
///
/// # Errors
/// None for a value of [`Policy::keys`].
pub fn literal(value: &Value) -> Result<String> {
    let text = toml::Value::try_from(value).map_err(broken)?.to_string();
    Ok(match printable_json(&text) {
        Cow::Borrowed(_) if !text.contains('\n') => text,
        Cow::Borrowed(_) | Cow::Owned(_) => escaped(value),
    })
}

/// JSON strings and lists are also valid TOML; tables have a different syntax.
fn escaped(value: &Value) -> String {
    match value {
        Value::Object(names) => {
            let pairs: Vec<String> = names.iter().map(escaped_pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(escaped).collect();
            format!("[{}]", items.join(", "))
        }
        value => printable_json(&value.to_string()).into_owned(),
    }
}

fn escaped_pair((name, value): (&String, &Value)) -> String {
    let name = escaped(&Value::from(name.as_str()));
    format!("{name} = {}", escaped(value))
}

/// The description of each preset, in the order of [`super::presets()`]: the comment at the beginning of its file.
pub fn descriptions() -> impl Iterator<Item = String> {
    PRESETS.iter().map(|text| {
        let comment = text.lines().map_while(|line| line.strip_prefix('#'));
        comment.map(str::trim).collect::<Vec<_>>().join(" ")
    })
}

fn broken(error: toml::ser::Error) -> Error {
    let message = format!("a policy that cannot be written: {error}");
    Error::new(ErrorKind::Internal, message)
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;
    use crate::policy::{Setting, parse, presets, resolve};

    #[test]
    fn what_is_written_is_read_back_as_the_same_policy() {
        for preset in presets().unwrap() {
            let again = parse("other", &preset.to_toml().unwrap()).unwrap();
            assert_eq!(again, preset);
        }
        let base =
            "extends = \"v5\"\n[env]\n\"A\\u202EB\" = \"clear.keep=3\"\nC = \"clear.keep\"\n";
        let base = parse("own", base).unwrap();
        let odd = "\"quoted\" \\ {name}\n\u{1b}[31m 世\u{9b}\u{202e} '''\t\"\"\"";
        let set = |key: &str, value: &str| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: "flag".to_owned(),
        };
        let settings = [
            set("summary.ack", odd),
            set("tools.read", "[\"a,b\", \"\"]"),
            set("trigger.share", "0.1"),
            set("summary.max_invented", "-1"),
            set(
                "summary.extra",
                "{ a.b = [{ c = \"\\u202e\" }, 1, 2.5], \"d e\" = true }",
            ),
        ];
        let effective = resolve(base, &settings).unwrap();
        let text = effective.policy.to_toml().unwrap();
        assert!(matches!(printable_json(&text), Cow::Borrowed(_)), "{text}");
        let again = parse("other", &text).unwrap();
        assert_eq!(again, effective.policy);
        assert_eq!(resolve(again, &[]).unwrap().hash, effective.hash);
    }

    #[test]
    fn a_starter_is_its_preset_with_and_without_what_is_commented_out() {
        for preset in presets().unwrap() {
            let starter = preset.starter().unwrap();
            let uncommented: String = starter
                .lines()
                .map(|line| {
                    let key = line.strip_prefix("# ");
                    let is_key = |key: &&str| {
                        key.split_once(" = ")
                            .is_some_and(|(key, _)| !key.contains(' '))
                    };
                    key.filter(is_key).unwrap_or(line)
                })
                .map(|line| format!("{line}\n"))
                .collect();
            let set = crate::policy::given(&uncommented).unwrap();
            let common = keys::all().filter(|key| key.audience == Audience::Most);
            let common: Vec<&str> = common.map(|key| key.name).collect();
            assert_eq!(set, common, "{uncommented}");
            let hash = |policy| resolve(policy, &[]).unwrap().hash;
            for text in [starter, uncommented] {
                let policy = parse("ctxpack", &text).unwrap();
                assert_eq!(hash(policy), hash(preset.clone()), "{text}");
            }
        }
    }

    #[test]
    fn every_preset_describes_itself() {
        let descriptions: Vec<String> = descriptions().collect();
        assert_eq!(descriptions.len(), presets().unwrap().len());
        assert!(
            descriptions.iter().all(|text| text.len() > 20),
            "{descriptions:?}"
        );
    }
}
