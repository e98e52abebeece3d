//! The policies that ship inside the program.
//!
//! A preset is a file in the list below and nothing else. It says what differs from the defaults, with the source of each
//! value, and names no other preset; no code knows its name.

use crate::error::{Error, ErrorKind, Result};
use crate::text::{nearest, printable};

use super::{Policy, keys, read};

/// The shipped policies; the first is the default.
pub(super) const PRESETS: &[&str] = &[
    include_str!("presets/auto.toml"),
    include_str!("presets/layered.toml"),
    include_str!("presets/offload-first.toml"),
    include_str!("presets/reset.toml"),
    include_str!("presets/boundary.toml"),
    include_str!("presets/turns.toml"),
    include_str!("presets/none.toml"),
];

/// Every shipped policy, the default one first.
///
/// # Errors
/// None for a program that passes its tests.
pub fn presets() -> Result<Vec<Policy>> {
    PRESETS.iter().map(|text| load(text)).collect()
}

/// The shipped policy of this name or alias; "" is the default one.
///
/// # Errors
/// [`ErrorKind::Config`]: there is none; the hint lists all.
pub fn preset(name: &str) -> Result<Policy> {
    let mut others = Vec::new();
    for text in PRESETS {
        let policy = load(text)?;
        if name.is_empty() || policy.name == name || policy.aliases.iter().any(|a| a == name) {
            return Ok(policy);
        }
        others.push(policy);
    }
    Err(unknown(name, &others))
}

fn load(text: &str) -> Result<Policy> {
    let mut policy = Policy::default().to_json()?;
    for given in read::read(text)? {
        given.key.set(&mut policy, given.value);
    }
    serde_json::from_value(policy).map_err(keys::broken)
}

fn unknown(name: &str, presets: &[Policy]) -> Error {
    let names = presets
        .iter()
        .flat_map(|preset| [&preset.name].into_iter().chain(&preset.aliases))
        .map(String::as_str);
    let list: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
    let list = list.join(", ");
    let error = Error::new(
        ErrorKind::Config,
        format!("unknown policy {}", printable(name)),
    );
    match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean {near}? the policies are {list}")),
        None => error.hint(format!("the policies are {list}; or name a policy file")),
    }
}

#[cfg(test)]
mod tests;
