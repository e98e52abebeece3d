//! What variables set: `CTXPACK_` and a key, for every key, and the variables that a policy's `[env]` lists because users of
//! a published system have set them.
//!
//! Pure: names and values come from the caller. An error shows a value only if the name says that it is meant for ctxpack:
//! other variables often hold secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::key::{Key, Purpose};
use super::{Policy, Setting, keys};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{nearest, printable};

/// The variable that chooses a policy, as `--policy` does.
pub const POLICY_NAME: &str = "CTXPACK_POLICY";
/// How ctxpack's own variables begin.
const PREFIX: &str = "CTXPACK_";
/// Those that set no key.
const OTHERS: [&str; 2] = [POLICY_NAME, "CTXPACK_TRANSCRIPTS"];

/// What an environment sets, in the order in which it is applied to a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// What flags override: first the variables that the policy lists, then `CTXPACK_*`, which are more specific.
    pub settings: Vec<Setting>,
    /// What overrides flags.
    pub firm: Vec<Setting>,
}

/// What `vars`, names with their values in any order, set in `policy`. An empty value counts as not set.
///
/// # Errors
/// [`ErrorKind::Config`], naming the variable: a `CTXPACK_` name that looks like a key and is none, a variable of the
/// policy's `[env]` whose key does not accept its value, a value that is not Unicode. The values of `CTXPACK_` variables are
/// checked by [`super::resolve`].
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

/// The variable that sets `key`: `CTXPACK_CLEAR__KEEP` for `clear.keep`.
pub fn name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// The key that a variable sets; `None` for variables that are not ctxpack's, or do something else.
fn key_named(name: &str) -> Result<Option<&'static Key>> {
    if !name.starts_with(PREFIX) || OTHERS.contains(&name) {
        return Ok(None);
    }
    let names: Vec<(String, &Key)> = keys::all().map(|key| (name_of(key.name), key)).collect();
    if let Some((_, key)) = names.iter().find(|(known, _)| known == name) {
        return Ok(Some(key));
    }
    let candidates = names
        .iter()
        .filter(|(_, key)| key.purpose == Purpose::Setting)
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

/// What a variable sets, and to what.
enum Sets<'s> {
    /// The key, to the variable's value.
    Value(&'static Key),
    /// The key, to a hundredth of it.
    Percent(&'static Key),
    /// The key, to this, if the variable's value means yes.
    Fixed(&'static Key, &'s str),
    /// The first key if the value is at most 1, otherwise the second.
    Either([&'static Key; 2]),
}

#[derive(Clone, Copy)]
enum Strength {
    /// Flags override it.
    Weak,
    /// It overrides flags.
    Firm,
}

/// The keys that an entry of an `[env]` table sets, each with the text that it is set to if that is fixed.
///
/// # Errors
/// [`ErrorKind::Config`]: an entry that is written in no form that [`Policy::env`] describes, or names no key.
pub(super) fn targets(spec: &str) -> Result<Vec<(&'static Key, Option<&str>)>> {
    Ok(match rule(spec)?.sets {
        Sets::Value(key) | Sets::Percent(key) => vec![(key, None)],
        Sets::Fixed(key, value) => vec![(key, Some(value))],
        Sets::Either([first, second]) => vec![(first, None), (second, None)],
    })
}

fn rule(spec: &str) -> Result<Rule<'_>> {
    let (sets, strength) = match spec.strip_suffix('!') {
        Some(sets) => (sets, Strength::Firm),
        None => (spec, Strength::Weak),
    };
    let sets = if let Some((key, value)) = sets.split_once('=') {
        let key = target(key)?;
        if key.domain.fit_text(value).is_none() {
            return Err(keys::misfit(key, value));
        }
        Sets::Fixed(key, value)
    } else if let Some((first, second)) = sets.split_once('|') {
        Sets::Either([target(first)?, target(second)?])
    } else if let Some(key) = sets.strip_suffix('%') {
        Sets::Percent(target(key)?)
    } else {
        Sets::Value(target(sets)?)
    };
    Ok(Rule { sets, strength })
}

fn target(name: &str) -> Result<&'static Key> {
    let key = keys::find(name).ok_or_else(|| keys::unknown(name))?;
    if key.purpose == Purpose::Origin {
        return Err(keys::file_only(key).hint("name another key in [env]"));
    }
    Ok(key)
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
        let misfit = |key: &Key, unit| refused(format!("{} takes {}{unit}", key.name, key.domain));
        let fits = |key: &'static Key, value: &str, unit| match key.domain.fit_text(value) {
            Some(_) => Ok(setting(name, key, value)),
            None => Err(misfit(key, unit)),
        };
        Ok(match self.sets {
            Sets::Value(key) => vec![fits(key, value, "")?],
            Sets::Percent(key) => {
                const UNIT: &str = ", in percent";
                let percent = number().ok_or_else(|| misfit(key, UNIT))?;
                vec![fits(key, &(percent / 100.0).to_string(), UNIT)?]
            }
            Sets::Fixed(_, _) if !is_yes(value) => Vec::new(),
            Sets::Fixed(key, fixed) => vec![setting(name, key, fixed)],
            Sets::Either([share, whole]) => {
                let n = number().ok_or_else(|| {
                    refused(format!("{} or {} takes a number", share.name, whole.name))
                })?;
                let chosen = if n <= 1.0 { share } else { whole };
                let mut settings = vec![fits(chosen, value, "")?];
                if n > 1.0 {
                    // A share that stayed would still apply.
                    settings.push(setting(name, share, "0"));
                }
                let (table, field) = chosen.place();
                // If a key of the table says which of the others applies, that is the chosen one.
                if let Some(on) = keys::find(&format!("{table}.on"))
                    && on.domain.fit_text(field).is_some()
                {
                    settings.push(setting(name, on, field));
                }
                settings
            }
        })
    }
}

/// Whether a value means yes. `DISABLE_X=0` and `DISABLE_X=false` are how people say no.
fn is_yes(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    !matches!(value.as_str(), "" | "0" | "false" | "no" | "off")
}

fn setting(name: &str, key: &Key, value: &str) -> Setting {
    Setting {
        key: key.name.to_owned(),
        value: value.to_owned(),
        origin: format!("env {name}"),
    }
}

fn unicode<'v>(name: &str, value: &'v OsString) -> Result<&'v str> {
    value.to_str().ok_or_else(|| {
        Error::new(
            ErrorKind::Config,
            format!("{} in the environment is not Unicode text", printable(name)),
        )
        .hint("correct its value, or unset it")
    })
}

#[cfg(test)]
mod tests;
