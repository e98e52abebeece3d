//! What names in the environment set: `CTXPACK_` and a key, for every key, and the names that a policy's `[env]` lists
//! because users of a published system have them set.
//!
//! Pure: the names and values come from the caller. A value is shown in an error only where the name says that it is meant
//! for us; what else is in an environment is often a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::keys::{self, ENV, EXTENDS, KEYS};
use super::takes::Takes;
use super::{LABELS, Policy, Setting};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{nearest, printable};

/// The name that chooses a policy, as `--policy` does.
pub const POLICY_NAME: &str = "CTXPACK_POLICY";
/// What all names of ours begin with.
const PREFIX: &str = "CTXPACK_";
/// Names of ours that stand for no key.
const OTHERS: [&str; 2] = [POLICY_NAME, "CTXPACK_TRANSCRIPTS"];

/// What an environment sets, in the order in which it is laid over a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// What flags beat: the policy's own names first, then `CTXPACK_*`, which are more to the point.
    pub settings: Vec<Setting>,
    /// What beats flags.
    pub firm: Vec<Setting>,
}

/// What `vars`, names with their values in any order, set in `policy`. An empty value is none.
///
/// # Errors
/// [`ErrorKind::Config`], naming the variable: a `CTXPACK_` name that looks like a key and is none, a value of a name of the
/// policy's that its key does not take, a value that is no Unicode. What a `CTXPACK_` key takes is checked by
/// [`super::resolve`].
pub fn environment(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
    policy: &Policy,
) -> Result<Environment> {
    let vars: BTreeMap<String, OsString> = vars
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect();
    let mut environment = Environment::default();
    for (name, spec) in &policy.env {
        let Some(value) = vars.get(name) else {
            continue;
        };
        let rule = rule(spec)?;
        let settings = rule.settings(name, unicode(name, value)?)?;
        match rule.strength {
            Strength::Weak => environment.settings.extend(settings),
            Strength::Firm => environment.firm.extend(settings),
        }
    }
    for (name, value) in &vars {
        if policy.env.contains_key(name) {
            continue;
        }
        if let Some(key) = key_named(name)? {
            let value = unicode(name, value)?;
            environment.settings.push(setting(name, key, value));
        }
    }
    Ok(environment)
}

/// The name that sets `key`: `clear.keep` is `CTXPACK_CLEAR__KEEP`.
pub fn name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// The key that a name stands for; none for names that are not ours, or stand for something else.
fn key_named(name: &str) -> Result<Option<&'static str>> {
    if !name.starts_with(PREFIX) || OTHERS.contains(&name) {
        return Ok(None);
    }
    let names: Vec<(String, &'static str)> =
        KEYS.iter().map(|(key, ..)| (name_of(key), *key)).collect();
    if let Some((_, key)) = names.iter().find(|(known, _)| known == name) {
        return Ok(Some(key));
    }
    let candidates = names
        .iter()
        .filter(|(_, key)| !LABELS.contains(key))
        .map(|(known, _)| &known[PREFIX.len()..])
        .chain([&POLICY_NAME[PREFIX.len()..]]);
    let near = nearest(&name[PREFIX.len()..], candidates);
    if near.is_none() && !name.contains("__") {
        return Ok(None);
    }
    let error = Error::new(
        ErrorKind::Config,
        format!("{} in the environment names no policy key", printable(name)),
    );
    Err(match near {
        Some(near) => error.hint(format!("did you mean {PREFIX}{near}?")),
        None => error.hint(format!(
            "clear.keep is {}; unset what is not meant for ctxpack",
            name_of("clear.keep")
        )),
    })
}

/// What an entry of a policy's `[env]` says.
struct Rule<'s> {
    sets: Sets<'s>,
    strength: Strength,
}

/// What a name sets, and to what.
enum Sets<'s> {
    /// The key, to the name's value.
    Value(&'static str, Takes),
    /// The key, to a hundredth of it.
    Percent(&'static str, Takes),
    /// The key, to this, if the name's value says yes.
    Fixed(&'static str, &'s str),
    /// The first key, to a value up to 1; the second, to one above it.
    Either([(&'static str, Takes); 2]),
}

#[derive(Clone, Copy)]
enum Strength {
    /// A flag beats it.
    Weak,
    /// It beats flags.
    Firm,
}

/// The keys that the entries of an `[env]` table set, each with the text that it is set to where that is fixed.
///
/// # Errors
/// [`ErrorKind::Config`]: an entry that is written in no form that [`Policy::env`] describes, or names no key.
pub(super) fn targets(spec: &str) -> Result<Vec<(&'static str, Option<&str>)>> {
    Ok(match rule(spec)?.sets {
        Sets::Value(key, _) | Sets::Percent(key, _) => vec![(key, None)],
        Sets::Fixed(key, value) => vec![(key, Some(value))],
        Sets::Either(keys) => keys.iter().map(|(key, _)| (*key, None)).collect(),
    })
}

fn rule(spec: &str) -> Result<Rule<'_>> {
    let (sets, strength) = match spec.strip_suffix('!') {
        Some(sets) => (sets, Strength::Firm),
        None => (spec, Strength::Weak),
    };
    let sets = if let Some((key, value)) = sets.split_once('=') {
        let (key, takes) = target(key)?;
        if takes.fit_text(value).is_none() {
            return Err(keys::misfit(key, takes, value));
        }
        Sets::Fixed(key, value)
    } else if let Some((first, second)) = sets.split_once('|') {
        Sets::Either([target(first)?, target(second)?])
    } else if let Some(key) = sets.strip_suffix('%') {
        let (key, takes) = target(key)?;
        Sets::Percent(key, takes)
    } else {
        let (key, takes) = target(sets)?;
        Sets::Value(key, takes)
    };
    Ok(Rule { sets, strength })
}

fn target(key: &str) -> Result<(&'static str, Takes)> {
    match keys::find(key) {
        None => Err(keys::unknown(key)),
        Some((key, _)) if key == EXTENDS || key == ENV => Err(Error::new(
            ErrorKind::Config,
            format!("{key} is read from a policy file only"),
        )
        .hint("name another key in [env]")),
        Some(found) => Ok(found),
    }
}

impl Rule<'_> {
    fn settings(&self, name: &str, value: &str) -> Result<Vec<Setting>> {
        let refused = |what: String| {
            Error::new(
                ErrorKind::Config,
                format!("{} in the environment: {what}", printable(name)),
            )
            .hint("correct its value, or unset it; --isolated ignores the environment")
        };
        let number = || value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let fits = |key, takes: Takes, value: &str, unit: &str| match takes.fit_text(value) {
            Some(_) => Ok(setting(name, key, value)),
            None => Err(refused(format!("{key} takes {takes}{unit}"))),
        };
        Ok(match self.sets {
            Sets::Value(key, takes) => vec![fits(key, takes, value, "")?],
            Sets::Percent(key, takes) => {
                let percent =
                    number().ok_or_else(|| refused(format!("{key} takes {takes}, in percent")))?;
                let value = (percent / 100.0).to_string();
                vec![fits(key, takes, &value, ", in percent")?]
            }
            Sets::Fixed(_, _) if !is_yes(value) => Vec::new(),
            Sets::Fixed(key, fixed) => vec![setting(name, key, fixed)],
            Sets::Either([(share, takes), (whole, takes_whole)]) => {
                let n = number()
                    .ok_or_else(|| refused(format!("{share} or {whole} takes a number")))?;
                let mut settings = if n <= 1.0 {
                    vec![fits(share, takes, value, "")?]
                } else {
                    // A share that stays would go on deciding.
                    vec![
                        fits(whole, takes_whole, value, "")?,
                        setting(name, share, "0"),
                    ]
                };
                let chosen = settings[0].key.clone();
                if let Some((table, field)) = chosen.split_once('.') {
                    let on = format!("{table}.on");
                    // Where a table says which of its keys decides, it is the one that was chosen.
                    if let Some((on, takes)) = keys::find(&on)
                        && takes.fit_text(field).is_some()
                    {
                        settings.push(setting(name, on, field));
                    }
                }
                settings
            }
        })
    }
}

/// Whether a value says yes. `DISABLE_X=0` and `DISABLE_X=false` are how people say no.
fn is_yes(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    !matches!(value.as_str(), "" | "0" | "false" | "no" | "off")
}

fn setting(name: &str, key: &str, value: &str) -> Setting {
    Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: format!("env {name}"),
    }
}

fn unicode<'v>(name: &str, value: &'v OsString) -> Result<&'v str> {
    value.to_str().ok_or_else(|| {
        Error::new(
            ErrorKind::Config,
            format!("{} in the environment is no Unicode text", printable(name)),
        )
        .hint("correct its value, or unset it")
    })
}

#[cfg(test)]
mod tests;
