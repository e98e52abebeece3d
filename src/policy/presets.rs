//! The policies that ship inside the program.
//!
//! A preset is only a file in the list below. It states how it differs from the defaults, with the source of each value, and refers
//! to no other preset; no code depends on its name.

use std::sync::OnceLock;

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
    include_str!("presets/boundary-production.toml"),
    include_str!("presets/turns.toml"),
    include_str!("presets/none.toml"),
];

/// Every shipped policy, the default one first.
///
/// # Errors
/// None for a program that passes its tests.
pub fn presets() -> Result<Vec<Policy>> {
    all().map(<[Policy]>::to_vec)
}

/// Parsed once, since a check of thousands of cases needs them in each.
fn all() -> Result<&'static [Policy]> {
    static READ: OnceLock<Vec<Policy>> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read);
    }
    let read = PRESETS.iter().map(|text| load(text));
    let read = read.collect::<Result<Vec<Policy>>>()?;
    Ok(READ.get_or_init(|| read))
}

/// The shipped policy of this name or alias; "" is the default one.
///
/// # Errors
/// [`ErrorKind::Config`]: there is no such policy; the hint lists all.
pub fn preset(name: &str) -> Result<Policy> {
    let all = all()?;
    let is_it = |policy: &&Policy| {
        name.is_empty() || policy.name == name || policy.aliases.iter().any(|a| a == name)
    };
    let found = all.iter().find(is_it);
    found.cloned().ok_or_else(|| unknown(name, all))
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
