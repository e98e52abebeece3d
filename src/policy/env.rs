//! Settings from environment variables: `CTXPACK_` and a key, for every key, and the variables that a policy's `[env]` lists
//! because users of a published system may have set them.
//!
//! Pure: names and values come from the caller. An error shows a value only if the variable's name shows that it is meant for
//! ctxpack: other variables often hold secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::key::{Key, Purpose};
use super::{Policy, Setting, keys};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{nearest, printable, thousands};

/// The variable that chooses a policy, as `--policy` does.
pub const POLICY_NAME: &str = "CTXPACK_POLICY";
/// The prefix of ctxpack's own variables.
const PREFIX: &str = "CTXPACK_";
/// Variables with this prefix that set no key.
const OTHERS: [&str; 2] = [POLICY_NAME, "CTXPACK_TRANSCRIPTS"];

/// The settings of an environment, in the order in which they are applied to a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// What flags override: first the variables that the policy lists, then `CTXPACK_*`, which are more specific.
    pub settings: Vec<Setting>,
    /// Settings that override flags.
    pub firm: Vec<Setting>,
    /// Variables that set nothing although the policy lists them or they have ctxpack's prefix: for each, a sentence that names the
    /// variable and the reason.
    pub ignored: Vec<String>,
}

/// The settings that `vars`, names with values in any order, make in `policy`. An empty value counts as not set. A variable of the
/// policy's `[env]` is ignored if its system would ignore its value.
///
/// # Errors
/// [`ErrorKind::Config`], naming the variable: a `CTXPACK_` name that looks like a key but is not one, or whose value is not
/// Unicode. The values of `CTXPACK_` variables are checked by [`super::resolve`].
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
        let settings = match value.to_str() {
            Some(value) => rule.settings(name, value, policy)?,
            None => Err("it is not Unicode text".to_owned()),
        };
        match (settings, rule.strength) {
            (Ok(settings), Strength::Weak) => environment.settings.extend(settings),
            (Ok(settings), Strength::Firm) => environment.firm.extend(settings),
            (Err(why), _) => environment.ignored.push(format!(
                "{} in the environment is ignored: {why}",
                printable(name)
            )),
        }
    }
    for (name, value) in &vars {
        if policy.env.contains_key(name) {
            continue;
        }
        match meaning(name)? {
            Meaning::Key(key) => {
                let value = unicode(name, value)?;
                environment.settings.push(setting(name, key, value));
            }
            Meaning::NoKey => environment.ignored.push(format!(
                "{} in the environment is ignored: it names no policy key, and only these have variables",
                printable(name)
            )),
            Meaning::NotOurs => {}
        }
    }
    Ok(environment)
}

/// The variable that sets `key`: `CTXPACK_CLEAR__KEEP` for `clear.keep`.
pub fn name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// What a variable's name says.
enum Meaning {
    /// It sets this key.
    Key(&'static Key),
    /// It has ctxpack's prefix but resembles no key. Not an error: a user's scripts may have such variables.
    NoKey,
    /// It is not ctxpack's, or has another purpose.
    NotOurs,
}

/// What a variable's name says.
///
/// # Errors
/// If the name looks like a key's but is not one.
fn meaning(name: &str) -> Result<Meaning> {
    let upper = name.to_uppercase();
    if !upper.starts_with(PREFIX) || OTHERS.contains(&name) {
        return Ok(Meaning::NotOurs);
    }
    let names: Vec<(String, &Key)> = keys::all().map(|key| (name_of(key.name), key)).collect();
    if let Some((_, key)) = names.iter().find(|(known, _)| known == name) {
        return Ok(Meaning::Key(key));
    }
    let no_key = || {
        let name = printable(name);
        let message = format!("{name} in the environment names no policy key");
        Error::new(ErrorKind::Config, message)
    };
    if name != upper {
        let is_known = names.iter().any(|(known, _)| *known == upper);
        return match is_known || OTHERS.contains(&upper.as_str()) {
            true => Err(no_key().hint(format!("did you mean {upper}?"))),
            false => Ok(Meaning::NoKey),
        };
    }
    let candidates = names
        .iter()
        .filter(|(_, key)| key.purpose == Purpose::Setting)
        .map(|(known, _)| &known[PREFIX.len()..])
        .chain([&POLICY_NAME[PREFIX.len()..]]);
    let near = nearest(&name[PREFIX.len()..], candidates);
    if near.is_none() && !name.contains("__") {
        return Ok(Meaning::NoKey);
    }
    Err(match near {
        Some(near) => no_key().hint(format!("did you mean {PREFIX}{near}?")),
        None => no_key().hint(format!(
            "clear.keep is {}; unset what is not meant for ctxpack",
            name_of("clear.keep")
        )),
    })
}

/// What an entry of a policy's `[env]` says.
struct Rule<'s> {
    sets: Sets<'s>,
    bound: Bound,
    strength: Strength,
}

/// What a variable sets, and to what.
enum Sets<'s> {
    /// Sets the keys to the variable's value.
    Value(Vec<&'static Key>),
    /// Sets the key to a hundredth of the value.
    Percent(&'static Key),
    /// Sets the key to this text if the variable's value means yes.
    Fixed(&'static Key, &'s str),
    /// Sets the first key if the value is at most 1, otherwise the second.
    Either([&'static Key; 2]),
    /// Sets the first key to the variable's value; if that is 0, sets the second key to this text instead.
    UnlessZero(&'static Key, &'static Key, &'s str),
}

/// The numbers that a variable's system takes.
#[derive(Clone, Copy)]
enum Bound {
    /// Those that the key accepts.
    Key,
    /// Of these, those above 0.
    AboveZero,
    /// Of these, those above 0 and below the policy's own.
    Lower,
}

#[derive(Clone, Copy)]
enum Strength {
    /// Flags override it.
    Weak,
    /// It overrides flags.
    Firm,
}

/// The keys that an entry of an `[env]` table sets, each with its fixed text, if any.
///
/// # Errors
/// [`ErrorKind::Config`]: an entry that has none of the forms that [`Policy::env`] describes, or names no key.
pub(super) fn targets(spec: &str) -> Result<Vec<(&'static Key, Option<&str>)>> {
    Ok(match rule(spec)?.sets {
        Sets::Value(keys) => keys.into_iter().map(|key| (key, None)).collect(),
        Sets::Percent(key) => vec![(key, None)],
        Sets::Fixed(key, value) => vec![(key, Some(value))],
        Sets::Either([first, second]) => vec![(first, None), (second, None)],
        Sets::UnlessZero(key, other, value) => vec![(key, None), (other, Some(value))],
    })
}

fn rule(spec: &str) -> Result<Rule<'_>> {
    let (sets, strength) = match spec.strip_suffix('!') {
        Some(sets) => (sets, Strength::Firm),
        None => (spec, Strength::Weak),
    };
    let (sets, bound) = match (sets.strip_suffix(">0"), sets.strip_suffix('<')) {
        (Some(sets), _) => (sets, Bound::AboveZero),
        (None, Some(sets)) => (sets, Bound::Lower),
        (None, None) => (sets, Bound::Key),
    };
    let sets = if let Some((key, other)) = sets.split_once('?') {
        let (other, value) = other.split_once('=').unwrap_or((other, ""));
        let (other, value) = fixed(other, value)?;
        Sets::UnlessZero(target(key)?, other, value)
    } else if let Some((key, value)) = sets.split_once('=') {
        let (key, value) = fixed(key, value)?;
        Sets::Fixed(key, value)
    } else if let Some((first, second)) = sets.split_once('|') {
        Sets::Either([target(first)?, target(second)?])
    } else if let Some(key) = sets.strip_suffix('%') {
        Sets::Percent(target(key)?)
    } else {
        Sets::Value(sets.split('+').map(target).collect::<Result<_>>()?)
    };
    match (bound, &sets) {
        (Bound::Key, _) | (_, Sets::Value(_)) => {}
        (Bound::AboveZero | Bound::Lower, _) => {
            let message = format!("env: {spec}: >0 and < go with keys alone");
            return Err(
                Error::new(ErrorKind::Config, message).hint("write it without %, =, | and ?")
            );
        }
    }
    Ok(Rule {
        sets,
        bound,
        strength,
    })
}

/// A key and the value that an entry sets it to.
fn fixed<'s>(key: &str, value: &'s str) -> Result<(&'static Key, &'s str)> {
    let key = target(key)?;
    match key.domain.fit_text(value) {
        Some(_) => Ok((key, value)),
        None => Err(keys::misfit(key, value)),
    }
}

fn target(name: &str) -> Result<&'static Key> {
    let key = keys::find(name).ok_or_else(|| keys::unknown(name))?;
    if key.purpose == Purpose::Origin {
        return Err(keys::file_only(key).hint("name another key in [env]"));
    }
    Ok(key)
}

/// Settings, or why a variable sets nothing.
type Settings = std::result::Result<Vec<Setting>, String>;

impl Rule<'_> {
    fn settings(&self, name: &str, value: &str, policy: &Policy) -> Result<Settings> {
        let number = || value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let misfit = |key: &Key, unit| format!("{} takes {}{unit}", key.name, key.domain);
        let fits = |key: &'static Key, value: &str, unit| match key.domain.fit_text(value) {
            Some(_) => Ok(setting(name, key, value)),
            None => Err(misfit(key, unit)),
        };
        if let Some(why) = self.out_of_bounds(number(), policy)? {
            return Ok(Err(why));
        }
        Ok(match &self.sets {
            Sets::Value(keys) => keys.iter().map(|key| fits(key, value, "")).collect(),
            Sets::Percent(key) => {
                const UNIT: &str = ", in percent";
                match number() {
                    Some(percent) => fits(key, &(percent / 100.0).to_string(), UNIT),
                    None => Err(misfit(key, UNIT)),
                }
                .map(|setting| vec![setting])
            }
            Sets::Fixed(_, _) if !is_yes(value) => Ok(Vec::new()),
            Sets::Fixed(key, fixed) => Ok(vec![setting(name, key, fixed)]),
            Sets::UnlessZero(_, other, fixed) if number() == Some(0.0) => {
                Ok(vec![setting(name, other, fixed)])
            }
            Sets::UnlessZero(key, ..) => fits(key, value, "").map(|setting| vec![setting]),
            Sets::Either(keys) => match number() {
                Some(n) => either(*keys, n, value, name, fits),
                None => {
                    let [share, whole] = keys.map(|key| key.name);
                    Err(format!("{share} or {whole} takes a number"))
                }
            },
        })
    }

    /// Why the variable's system does not accept a number, if it does not.
    fn out_of_bounds(&self, number: Option<f64>, policy: &Policy) -> Result<Option<String>> {
        let (Sets::Value(keys), Some(number)) = (&self.sets, number) else {
            return Ok(None);
        };
        let Some(key) = keys.first() else {
            return Ok(None);
        };
        let must = |what: String| Some(format!("{} takes a number {what} from it", key.name));
        Ok(match self.bound {
            Bound::Key => None,
            Bound::AboveZero | Bound::Lower if number <= 0.0 => must("above 0".to_owned()),
            Bound::AboveZero => None,
            Bound::Lower => {
                let own = key.get(&policy.to_json()?).as_f64().unwrap_or_default();
                match number < own {
                    true => None,
                    false => must(format!("below its own {}", thousands(own as u64))),
                }
            }
        })
    }
}

/// Sets the first key of two if the value is at most 1, otherwise the second.
fn either(
    [share, whole]: [&'static Key; 2],
    number: f64,
    value: &str,
    name: &str,
    fits: impl Fn(&'static Key, &str, &'static str) -> std::result::Result<Setting, String>,
) -> Settings {
    let chosen = if number <= 1.0 { share } else { whole };
    let mut settings = vec![fits(chosen, value, "")?];
    if number > 1.0 {
        // A share that stayed would still apply.
        settings.push(setting(name, share, "0"));
    }
    let (table, field) = chosen.place();
    // If a key of the table selects which of the others applies, it selects the chosen one.
    if let Some(on) = keys::find(&format!("{table}.on"))
        && on.domain.fit_text(field).is_some()
    {
        settings.push(setting(name, on, field));
    }
    Ok(settings)
}

/// Whether a value means yes. People write no as `DISABLE_X=0` or `DISABLE_X=false`.
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
