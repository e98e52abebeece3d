//! Splits a policy's TOML text into existing keys and accepted values, each with its line.
//!
//! The text comes from the caller: never reads a file.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result};

use super::domain::{Domain, json};
use super::key::Key;
use super::keys;

/// One key that a file sets.
pub(super) struct Given {
    pub(super) key: &'static Key,
    /// Its value, as a policy holds it.
    pub(super) value: Value,
    /// The offset at which it begins, in bytes.
    pub(super) at: usize,
    /// The byte offsets at which the entries of a table begin, keyed by name.
    entries: BTreeMap<String, usize>,
}

impl Given {
    /// The byte at which an entry begins.
    pub(super) fn at_entry(&self, name: &str) -> usize {
        self.entries.get(name).copied().unwrap_or(self.at)
    }
}

/// The settings in `text`, in line order, followed by those that they imply.
///
/// # Errors
/// The first line that is not TOML, or whose key does not exist or does not accept its value.
pub(super) fn read(text: &str) -> Result<Vec<Given>> {
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let message = error.message().replace('\n', ", ");
        Error::new(ErrorKind::Config, format!("not TOML: {message}")).on_line(line(text, at))
    })?;
    let mut leaves: Vec<Leaf> = Vec::new();
    collect("", root.into_inner(), &mut leaves);
    // The parser sorts by name, but the first error in the file should be reported first.
    leaves.sort_by_key(|leaf| leaf.at);
    let mut given = leaves
        .into_iter()
        .map(|leaf| {
            let at = leaf.at;
            let key = keys::find(&leaf.key)
                .ok_or_else(|| keys::unknown(&leaf.key).on_line(line(text, at)))?;
            // A table's text begins at its header, which does not show its values.
            let written = match leaf.value.get_ref() {
                DeValue::Table(_)
                    if matches!(key.domain, Domain::TextTable | Domain::Parameters) =>
                {
                    "one with other values"
                }
                DeValue::Table(_) => "a table",
                _ => text.get(leaf.value.span()).unwrap_or_default(),
            };
            let table = leaf.value.get_ref().as_table().into_iter().flatten();
            let entries = table.map(|(name, _)| (name.get_ref().to_string(), name.span().start));
            let entries = entries.collect();
            let value = json(leaf.value)
                .and_then(|value| key.domain.fit(&value))
                .ok_or_else(|| keys::misfit(key, written).on_line(line(text, at)))?;
            Ok(Given {
                key,
                value,
                at,
                entries,
            })
        })
        .collect::<Result<Vec<Given>>>()?;
    let implied = |given: &Given| {
        let (key, value) = keys::implied(given.key, &given.value)?;
        Some(Given {
            key,
            value,
            at: given.at,
            entries: BTreeMap::new(),
        })
    };
    let implied: Vec<Given> = given.iter().filter_map(implied).collect();
    for new in implied {
        if given.iter().all(|given| given.key.name != new.key.name) {
            given.push(new);
        }
    }
    Ok(given)
}

/// An unchecked value with its dotted key.
struct Leaf<'t> {
    key: String,
    at: usize,
    value: Spanned<DeValue<'t>>,
}

fn collect<'t>(table: &str, entries: DeTable<'t>, leaves: &mut Vec<Leaf<'t>>) {
    for (name, value) in entries {
        let key = match table {
            "" => name.get_ref().to_string(),
            table => format!("{table}.{}", name.get_ref()),
        };
        // `env` is both a table and a key. An unknown table is opened as well: the keys in it say more about what was meant than
        // its name.
        let opens = keys::find(&key).is_none()
            && value
                .get_ref()
                .as_table()
                .is_some_and(|inner| keys::is_table(&key) || !inner.is_empty());
        let (at, span) = (name.span().start, value.span());
        match value.into_inner() {
            DeValue::Table(inner) if opens => collect(&key, inner, leaves),
            value => leaves.push(Leaf {
                key,
                at,
                value: Spanned::new(span, value),
            }),
        }
    }
}

/// The line, from 1, of a byte offset.
pub(super) fn line(text: &str, at: usize) -> u64 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().filter(|&&b| b == b'\n').count() as u64 + 1
}
