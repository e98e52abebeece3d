//! A policy: when and how a conversation is made smaller, as data.
//!
//! Each key of a policy's TOML is one field of one struct here. A preset is a policy that ships inside the program and
//! names every key; a user's file names what differs from the policy it extends; flags, environment names and
//! configuration override single keys. [`resolve`] puts them together.
//!
//! Text in, values out: no file and no environment is read here, and nothing here asks for a preset's name.

mod check;
mod choice;
mod counting;
mod env;
mod found;
mod keys;
mod layers;
mod presets;
mod read;
mod restore;
mod summary;
mod takes;
mod template;
#[cfg(test)]
mod tests;
mod trigger;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::text::printable;

pub use counting::{Encoding, Method, Per, Rounding, Scope, Tokens, Unit};
pub use env::{Environment, POLICY_NAME, environment, name_of};
pub use found::check_found;
pub use layers::{Archive, Clear, Demote, History, Layer, Offload, Redact, Shape, Superseded};
pub use presets::{preset, presets};
pub use restore::{Extra, Restore, ToolKind, Tools};
pub use summary::{
    Input, OnFailure, Prompt, Role, Source, Summary, SummaryWhen, TooLarge, UserWords, Wait,
};
pub use template::{Slot, Substitutions, Template};
pub use trigger::{Compare, Skip, Target, TargetKind, Trigger, TriggerOn, Window};
pub use write::{descriptions, literal};

/// When and how a conversation is made smaller. One field a key, in the order of the file.
///
/// 0, "" and an empty list mean "none" unless a field says otherwise. Characters are Unicode scalar values unless
/// `tokens.unit` says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The version of this list of keys: 1.
    pub schema: u64,
    /// The policy's name, for reports and `--policy`.
    pub name: String,
    /// Other names that `--policy` takes for it.
    pub aliases: Vec<String>,
    /// The preset that a user's file starts from; "" = the default one. A preset starts from none.
    pub extends: String,
    /// Which layers are on, in their fixed order. None: nothing is changed.
    pub layers: Vec<Layer>,
    /// What becomes of lines that no longer matter.
    pub history: History,
    /// When a copy of the original goes into the store.
    pub archive: Archive,
    /// Where secrets are blanked out.
    pub redact: Redact,
    /// How tokens are counted.
    pub tokens: Tokens,
    /// The model's context window.
    pub window: Window,
    /// When `summarize` runs.
    pub trigger: Trigger,
    /// How small the result must be.
    pub target: Target,
    /// Reads that a later read covers.
    pub superseded: Superseded,
    /// Oversize outputs.
    pub demote: Demote,
    /// Old results.
    pub clear: Clear,
    /// Old results that go to the store.
    pub offload: Offload,
    /// The summary.
    pub summary: Summary,
    /// What comes back after it.
    pub restore: Restore,
    /// Names of tools by kind.
    pub tools: Tools,
    /// Environment names that users of a published system have set, each with the key that it sets.
    ///
    /// The key may be followed by `%` (the value is divided by 100) or by `=VALUE` (what any value sets but "0", "false", "no"
    /// and "off"), and then by `!` (it beats flags). Of two keys `A|B`, a value up to 1 sets the first; one above it sets the
    /// second, and the first to 0; a key `on` beside the one that was set says from then on that it is the one that counts.
    pub env: BTreeMap<String, String>,
}

/// One key set from outside a policy's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// Its value: TOML, or the bare text where the key takes one, or the parts of a list between commas. A text that is
    /// itself in quotes must be quoted once more.
    pub value: String,
    /// Where it was set, for reports and errors: "flag", "env NAME", "file PATH".
    pub origin: String,
}

/// A [`Setting`] as it was understood, for the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Override {
    /// The dotted key.
    pub key: String,
    /// The value that the policy now holds.
    pub value: Value,
    /// Where it was set.
    pub origin: String,
}

/// The policy that a run works with.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// Every key with its final value.
    pub policy: Policy,
    /// 32 hexadecimal digits: equal for policies that do the same, however they were put together.
    pub hash: String,
    /// What was set from outside, in order; of two for one key the later holds.
    pub overrides: Vec<Override>,
}

/// The keys that say what a policy is called and where it comes from, and change no output.
const LABELS: [&str; 5] = ["schema", "name", "aliases", keys::EXTENDS, keys::ENV];

/// A user's policy: `text` is its TOML, `name` what it is called unless it says so itself.
///
/// # Errors
/// [`ErrorKind::Config`], with the line: no TOML, an unknown key, a value that the key does not take, an unknown preset
/// in `extends`.
pub fn parse(name: &str, text: &str) -> Result<Policy> {
    let given = read::read(text)?;
    let base = match given.iter().find(|given| given.key == keys::EXTENDS) {
        Some(extends) => preset(extends.value.as_str().unwrap_or_default())
            .map_err(|error| error.on_line(read::line(text, extends.at)))?,
        None => preset("")?,
    };
    let own = Policy {
        name: name.to_owned(),
        aliases: Vec::new(),
        ..base
    };
    let mut policy = own.to_json()?;
    for key in given {
        if let (keys::ENV, Value::Object(names)) = (key.key, &key.value) {
            for spec in names.values().filter_map(Value::as_str) {
                env::targets(spec).map_err(|error| error.on_line(read::line(text, key.at)))?;
            }
        }
        keys::put(&mut policy, key.key, key.value);
    }
    serde_json::from_value(policy).map_err(keys::broken)
}

/// The keys that a user's policy sets, in the order of its lines; without those that only say what it is called and where
/// it comes from.
///
/// # Errors
/// Those of [`parse`] that a single line is the reason for.
pub fn given(text: &str) -> Result<Vec<&'static str>> {
    let given = read::read(text)?.into_iter().map(|given| given.key);
    Ok(given.filter(|key| !LABELS.contains(key)).collect())
}

/// `base` with `settings` over it, one after the other.
///
/// # Errors
/// [`ErrorKind::Config`]: a setting whose key does not exist or does not take its value, or keys that contradict each
/// other in the end.
pub fn resolve(base: Policy, settings: &[Setting]) -> Result<Effective> {
    let mut policy = base.to_json()?;
    let mut overrides = Vec::with_capacity(settings.len());
    for setting in settings {
        let (key, value) = understand(setting).map_err(|mut error| {
            let origin = printable(&setting.origin);
            error.message.push_str(&format!(" (from {origin})"));
            error
        })?;
        let is_set = |key: &str| settings.iter().any(|setting| setting.key == key);
        let implied = keys::implied(key, &value).filter(|(key, _)| !is_set(key));
        for (key, value) in [(key, value)].into_iter().chain(implied) {
            keys::put(&mut policy, key, value.clone());
            overrides.push(Override {
                key: key.to_owned(),
                value,
                origin: setting.origin.clone(),
            });
        }
    }
    let policy: Policy = serde_json::from_value(policy).map_err(keys::broken)?;
    check::check(&policy)?;
    let hash = policy.hash()?;
    Ok(Effective {
        policy,
        hash,
        overrides,
    })
}

fn understand(setting: &Setting) -> Result<(&'static str, Value)> {
    let (key, takes) = keys::find(&setting.key).ok_or_else(|| keys::unknown(&setting.key))?;
    if key == keys::EXTENDS || key == keys::ENV {
        let message = format!("{key} is read from a policy file only");
        return Err(Error::new(ErrorKind::Config, message)
            .hint("write a policy file and name it with --policy"));
    }
    let value = takes
        .fit_text(&setting.value)
        .ok_or_else(|| keys::misfit(key, takes, &setting.value))?;
    Ok((key, value))
}

impl Policy {
    /// Whether a layer is on.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Every dotted key with its value, in the order of the file.
    ///
    /// # Errors
    /// None for a policy of [`preset`], [`parse`] or [`resolve`].
    pub fn keys(&self) -> Result<Vec<(&'static str, Value)>> {
        let policy = self.to_json()?;
        let value = |key| keys::get(&policy, key).clone();
        Ok(keys::KEYS
            .iter()
            .map(|(key, ..)| (*key, value(key)))
            .collect())
    }

    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(keys::broken)
    }

    /// BLAKE3 of all keys that change an output, as JSON without blanks, sorted by key.
    fn hash(&self) -> Result<String> {
        let mut keys: BTreeMap<_, _> = self.keys()?.into_iter().collect();
        keys.retain(|key, _| !LABELS.contains(key));
        let json = serde_json::to_vec(&keys).map_err(keys::broken)?;
        let mut hash = blake3::hash(&json).to_hex().to_string();
        hash.truncate(32);
        Ok(hash)
    }
}
