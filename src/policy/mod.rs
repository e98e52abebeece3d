//! A policy: when and how a conversation is made smaller, as data.
//!
//! Each key of a policy's TOML is declared once, as one field of one struct, with its type, default, unit, range and documentation.
//! Everything else is derived from that declaration: reading and checking, `--set`, `CTXPACK_*` variables, the display of a policy,
//! its hash and its JSON Schema. A preset is a policy that ships inside the program and states how it differs from the defaults; a
//! user's file states how it differs from the preset it extends; flags, variables and configuration override single keys.
//! [`resolve`] combines them.
//!
//! Text in, values out: never reads a file or the environment, and never depends on a preset's name.

mod check;
mod choice;
mod counting;
mod domain;
mod env;
mod folder;
mod found;
mod idle;
mod key;
mod keys;
mod layer;
mod layers;
mod needs;
mod presets;
mod prompt;
mod read;
mod reference;
mod replacement;
mod restore;
mod schema;
mod summary;
mod template;
#[cfg(test)]
mod tests;
mod trigger;
mod write;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::text::printable;

use self::domain::Domain;
use self::key::Found::Except;
use self::key::{Key, Purpose};

pub use counting::{Encoding, Images, Method, Per, Rounding, Scope, Tokens, Unit};
pub use env::{Environment, POLICY_NAME, environment, name_of};
pub use folder::FolderPath;
pub use found::check_found;
pub use idle::{Idle, Use, idle};
pub use layer::Layer;
pub use layers::{
    Archive, Clear, Demote, History, Names, Naming, Offload, Redact, Shape, Superseded,
};
pub use needs::Need;
pub use presets::{preset, presets};
pub use prompt::{INSTRUCTIONS_PLACEHOLDER, Prompt, SIZE_PLACEHOLDER, ShippedPrompt};
pub use reference::reference;
pub use replacement::Replacement;
pub use restore::{Extra, Restore, ToolKind, Tools};
pub use schema::schema;
pub use summary::{
    BreakerScope, CutOff, Input, OnFailure, Parameters, PromptRole, Reads, Role, Source, Summary,
    SummaryWhen, TooLarge, TooLong, UserWords, Wait,
};
pub use template::{Slot, Substitutions, Template};
pub use trigger::{Compare, Skip, Target, TargetKind, Trigger, TriggerOn, Window};
pub use write::{descriptions, literal};

/// The key that names the preset a file starts from.
const EXTENDS: &str = "extends";
/// The key whose value may be in a file.
pub const PROMPT: &str = "summary.prompt";
/// The key whose value is a folder.
pub const ROOT: &str = "restore.root";

key::policy! {
    /// When and how a conversation is made smaller: one field for each key, in the order of the file.
    ///
    /// The default is the policy that changes nothing: it has no layers. 0, "" and an empty list mean "none" unless a field
    /// says otherwise. Characters are Unicode scalar values unless `tokens.unit` says otherwise.
    Policy {
        top {
            /// The version of this list of keys.
            schema: u64 = 1, only(1), label();
            /// The policy's name, for reports and `--policy`. A file without it is named after its file name.
            name: String = "", label();
            /// Other names that `--policy` accepts for it.
            aliases: Vec<String> = [], label();
            /// The preset that a file starts from, or the path of another policy file, relative to this one; "" means the default
            /// preset. A preset starts from nothing.
            extends: String = "", origin();
            /// The layers that run. Their order is fixed.
            layers: Vec<Layer> = &[], common();
            /// What becomes of lines that no model sees any more, and of lines that a summary replaces.
            history: History = History::Drop, common();
            /// When a copy of the original goes into the store.
            archive: Archive = Archive::Auto, common();
            /// Where secrets are masked.
            redact: Redact = Redact::Requests,
                found(Except(&["never"], "would send secrets to a server that writes summaries"));
        }
        tables {
            tokens: Tokens;
            window: Window;
            trigger: Trigger;
            target: Target;
            superseded: Superseded;
            demote: Demote;
            clear: Clear;
            offload: Offload;
            store: Naming;
            summary: Summary;
            restore: Restore;
            tools: Tools;
        }
        end {
            /// Variables that users of a published system have set, each with the key that it sets.
            ///
            /// The key may be followed by `%` (the value is divided by 100) or by `=VALUE` (any value but "0", "false", "no" and
            /// "off" sets this one). `A+B` sets both keys. Of two keys `A|B`, a value up to 1 sets the first; a value above 1 sets
            /// the second, and the first to 0. If a key `on` in the same table selects which one applies, it is set, too.
            /// `A?B=VALUE` sets A; a 0 sets B to VALUE instead. In the end, `>0` accepts only numbers above 0, `<` only numbers
            /// below the policy's own, and `!` overrides flags. A value that is not accepted is ignored with a warning, as the
            /// system ignores it.
            env: BTreeMap<String, String> = [], origin();
        }
    }
}

/// One key set from outside a policy's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// Its value: TOML, bare text if the key accepts that, or the comma-separated parts of a list. A text that contains surrounding
    /// quotes must be quoted once more.
    pub value: String,
    /// Where it was set, for reports and errors: "flag", "env NAME", "file PATH".
    pub origin: String,
}

/// A [`Setting`] after interpretation, for the report.
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
    /// 32 hexadecimal digits, equal for policies with the same effect, however they were composed.
    pub hash: String,
    /// The settings from outside, in order; if two set the same key, the later one applies.
    pub overrides: Vec<Override>,
}

impl Effective {
    /// The last place where a key was set from outside, if any.
    pub fn origin_of(&self, key: &str) -> Option<&str> {
        let set = self.overrides.iter().rev().find(|set| set.key == key);
        set.map(|set| set.origin.as_str())
    }
}

/// Parses a user's policy: `text` is its TOML; `name` is its name unless the text sets one.
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config), with the line: invalid TOML, an unknown key, a value that the key does not
/// accept, or an unknown preset in `extends`.
pub fn parse(name: &str, text: &str) -> Result<Policy> {
    parse_over(name, text, preset, |_| Err(no_files()))
}

/// As [`parse`], where `base` finds the policy that `extends` names, and `words` reads the file of a prompt.
///
/// # Errors
/// The errors of [`parse`], of `base` and of `words`; those without a location get the line of the key.
pub fn parse_over(
    name: &str,
    text: &str,
    base: impl FnOnce(&str) -> Result<Policy>,
    words: impl FnOnce(&str) -> Result<String>,
) -> Result<Policy> {
    let mut given = read::read(text)?;
    if let Some(prompt) = given.iter_mut().find(|given| given.key.name == PROMPT)
        && let Some(path) = prompt.value.as_str().and_then(Prompt::path_in)
    {
        let on_line = |error: Error| match error.path {
            Some(_) => error,
            None => error.on_line(read::line(text, prompt.at)),
        };
        prompt.value = words(path)
            .and_then(|words| prompt_of(&words))
            .map_err(on_line)?
            .into();
    }
    let base = match given.iter().find(|given| given.key.name == EXTENDS) {
        Some(extends) => {
            let found = base(extends.value.as_str().unwrap_or_default());
            found.map_err(|error| match error.path {
                Some(_) => error,
                None => error.on_line(read::line(text, extends.at)),
            })?
        }
        None => preset("")?,
    };
    let own = Policy {
        name: name.to_owned(),
        aliases: Vec::new(),
        ..base
    };
    let mut policy = own.to_json()?;
    let mut names_root = false;
    for given in given {
        if let (Value::Object(names), Domain::TextTable) = (&given.value, given.key.domain) {
            for (name, spec) in names {
                let at = given.at_entry(name);
                env::targets(spec.as_str().unwrap_or_default())
                    .map_err(|error| error.on_line(read::line(text, at)))?;
            }
        }
        names_root |= given.key.name == ROOT;
        given.key.set(&mut policy, given.value);
    }
    let mut policy: Policy = serde_json::from_value(policy).map_err(keys::broken)?;
    if !names_root {
        policy.restore.root = own.restore.root;
    }
    Ok(policy)
}

/// The keys that a user's policy sets, in line order, without those that do not themselves change an output.
///
/// # Errors
/// The errors of [`parse`] that a single line causes.
pub fn given(text: &str) -> Result<Vec<&'static str>> {
    let given = read::read(text)?.into_iter();
    let settings = given.filter(|given| given.key.purpose == Purpose::Setting);
    Ok(settings.map(|given| given.key.name).collect())
}

/// `base` with `settings` over it, one after the other.
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config): a setting whose key does not exist or does not accept its value, or keys that contradict each
/// other in the result.
pub fn resolve(base: Policy, settings: &[Setting]) -> Result<Effective> {
    let mut policy = base.to_json()?;
    let mut overrides = Vec::with_capacity(settings.len());
    for setting in settings {
        let (key, value) = interpret(setting).map_err(|mut error| {
            let origin = printable(&setting.origin);
            error.message.push_str(&format!(" (from {origin})"));
            error
        })?;
        let is_set = |key: &str| settings.iter().any(|setting| setting.key == key);
        let implied = keys::implied(key, &value).filter(|(key, _)| !is_set(key.name));
        for (key, value) in [(key, value)].into_iter().chain(implied) {
            key.set(&mut policy, value.clone());
            overrides.push(Override {
                key: key.name.to_owned(),
                value,
                origin: setting.origin.clone(),
            });
        }
    }
    let mut policy: Policy = serde_json::from_value(policy).map_err(keys::broken)?;
    if !overrides.iter().any(|set| set.key == ROOT) {
        policy.restore.root = base.restore.root;
    }
    check::check(&policy)?;
    let hash = policy.hash()?;
    Ok(Effective {
        policy,
        hash,
        overrides,
    })
}

fn interpret(setting: &Setting) -> Result<(&'static Key, Value)> {
    let key = keys::find(&setting.key).ok_or_else(|| keys::unknown(&setting.key))?;
    if key.purpose == Purpose::Origin {
        return Err(keys::file_only(key).hint("write a policy file and name it with --policy"));
    }
    let value = key.domain.fit_text(&setting.value);
    let value = value.ok_or_else(|| keys::misfit(key, &setting.value))?;
    if key.name == PROMPT && value.as_str().and_then(Prompt::path_in).is_some() {
        return Err(no_files());
    }
    Ok((key, value))
}

/// The form in which a policy writes a prompt with these words.
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config): they are not a valid prompt.
pub fn prompt_of(words: &str) -> Result<String> {
    Prompt::written(words).map_err(|why| Error::new(ErrorKind::Config, why))
}

/// The error for a file that is named where files are not read.
fn no_files() -> Error {
    let message = format!("{PROMPT} names a file, and no file is read here");
    Error::new(ErrorKind::Config, message).hint("give the words themselves: \"text:WORDS\"")
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
        let pair = |key: &Key| (key.name, key.get(&policy).clone());
        Ok(keys::all().map(pair).collect())
    }

    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(keys::broken)
    }

    /// BLAKE3 of all keys that change an output, as compact JSON, sorted by key.
    fn hash(&self) -> Result<String> {
        let policy = self.to_json()?;
        let settings: BTreeMap<&str, &Value> = keys::all()
            .filter(|key| key.purpose == Purpose::Setting)
            .map(|key| (key.name, key.get(&policy)))
            .collect();
        let json = serde_json::to_vec(&settings).map_err(keys::broken)?;
        let mut hash = blake3::hash(&json).to_hex().to_string();
        hash.truncate(32);
        Ok(hash)
    }
}
