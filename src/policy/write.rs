//! A policy as text: all of it as TOML, single values, and a file to begin with.
//!
//! What is written here is read back by [`super::parse`] as the same policy. Never writes a file.

use std::borrow::Cow;

use serde_json::Value;

use super::presets::PRESETS;
use super::{Policy, keys};
use crate::error::{Error, ErrorKind, Result};
use crate::text::printable_json;

/// What most people change, in the order of a policy's keys, each with what it means.
const COMMON: [(&str, &str); 18] = [
    (
        "layers",
        "What is done, of drop, superseded, demote, clear, offload, summarize, restore; their order is fixed.",
    ),
    (
        "history",
        "Lines that no model sees any more: \"drop\" or \"keep\".",
    ),
    (
        "archive",
        "A copy of the original in the store: \"auto\" (where it would be gone), \"always\", \"never\".",
    ),
    (
        "trigger.tokens",
        "A conversation of more tokens is summarised, where trigger.on is \"tokens\".",
    ),
    (
        "target.tokens",
        "What it may have afterwards; 0 = no limit.",
    ),
    (
        "target.kind",
        "\"aim\": your messages stay whole even if it is missed; \"cap\" (what a target of your own is): they may be clipped.",
    ),
    (
        "demote.min_tokens",
        "A larger tool result goes to the store and leaves a preview.",
    ),
    ("clear.keep", "The newest tool results that stay."),
    (
        "clear.tools",
        "The kinds of tool whose results are cleared, of shell, read, write, edit, search, web, other; [] = all.",
    ),
    ("clear.min_tokens", "Smaller results stay."),
    (
        "clear.placeholder",
        "What stands for a cleared result; {tool} is the tool's name.",
    ),
    (
        "summary.when",
        "\"auto\" (over the trigger), \"always\", \"never\".",
    ),
    (
        "summary.instructions",
        "What a summary must keep, in your own words.",
    ),
    (
        "summary.keep_messages",
        "The newest messages that stay as they are; the longest of the three rules wins.",
    ),
    ("summary.keep_turns", "From so many of your messages on."),
    ("summary.keep_tokens", "So many tokens."),
    (
        "restore.files",
        "Files that were read last and come back after a summary.",
    ),
    ("tools.read", "Names of your own tools that read files."),
];

impl Policy {
    /// The policy as TOML, with every key. Nothing in it steers a terminal that shows it.
    ///
    /// # Errors
    /// None for a policy of [`super::preset`], [`super::parse`] or [`super::resolve`].
    pub fn to_toml(&self) -> Result<String> {
        let text = toml::to_string(self).map_err(broken)?;
        match printable_json(&text) {
            Cow::Borrowed(_) => Ok(text),
            Cow::Owned(_) => self.to_escaped_toml(),
        }
    }

    /// The same with each value on one line.
    fn to_escaped_toml(&self) -> Result<String> {
        let keys = self.keys()?;
        let (mut top, mut tables) = (String::new(), String::new());
        let mut open = "";
        for (key, value) in &keys {
            match (key.split_once('.'), value) {
                (Some((table, field)), value) => {
                    if table != open {
                        tables.push_str(&format!("\n[{table}]\n"));
                        open = table;
                    }
                    tables.push_str(&format!("{field} = {}\n", literal(value)?));
                }
                (None, Value::Object(names)) => {
                    tables.push_str(&format!("\n[{key}]\n"));
                    open = key;
                    let names = names.iter().map(|name| escaped_pair(name) + "\n");
                    tables.extend(names);
                }
                (None, value) => top.push_str(&format!("{key} = {}\n", literal(value)?)),
            }
        }
        Ok(top + &tables)
    }

    /// A policy file that begins with this preset: the common keys with its values, commented out.
    ///
    /// # Errors
    /// None for a policy of [`super::preset`].
    pub fn starter(&self) -> Result<String> {
        let mut text = format!(
            "# How ctxpack compacts what is below this folder. What begins with # is the preset's value: take the # away to\n\
             # change it. `ctxpack config show` lists every key with its value and where it comes from.\n\n\
             # The preset that this starts from: one of `ctxpack policy list`.\n\
             extends = {}\n",
            literal(&Value::from(self.name.as_str()))?
        );
        let policy = self.to_json()?;
        let mut open = "";
        for (key, meaning) in COMMON {
            let (table, field) = key.split_once('.').unwrap_or(("", key));
            if table != open {
                text.push_str(&format!("\n[{table}]\n"));
                open = table;
            } else if table.is_empty() {
                text.push('\n');
            }
            let value = literal(keys::get(&policy, key))?;
            text.push_str(&format!("# {meaning}\n# {field} = {value}\n"));
        }
        Ok(text)
    }
}

/// A key's value as TOML, on one line. Nothing in it steers a terminal that shows it.
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

/// JSON of texts and lists is TOML, too; a table has other signs.
fn escaped(value: &Value) -> String {
    match value {
        Value::Object(names) => {
            let pairs: Vec<String> = names.iter().map(escaped_pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        value => printable_json(&value.to_string()).into_owned(),
    }
}

fn escaped_pair((name, value): (&String, &Value)) -> String {
    let name = escaped(&Value::from(name.as_str()));
    format!("{name} = {}", escaped(value))
}

/// What each preset says of itself, in the order of [`super::presets`]: the comment that its file begins with.
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
            assert_eq!(set, COMMON.map(|(key, _)| key), "{uncommented}");
            let hash = |policy| resolve(policy, &[]).unwrap().hash;
            for text in [starter, uncommented] {
                let policy = parse("ctxpack", &text).unwrap();
                assert_eq!(hash(policy), hash(preset.clone()), "{text}");
            }
        }
    }

    #[test]
    fn every_preset_says_what_it_is() {
        let said: Vec<String> = descriptions().collect();
        assert_eq!(said.len(), presets().unwrap().len());
        assert!(said.iter().all(|said| said.len() > 20), "{said:?}");
    }
}
