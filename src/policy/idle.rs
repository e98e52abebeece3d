//! Settings without effect in a run, and why: something that they need is missing, or another setting replaces them.
//!
//! Pure; never prints: commands report the result. Only settings by the user of this run count, since a file is shared.

use super::key::ReadBy;
use super::needs::Need;
use super::{Archive, Effective, Override, keys};

/// Keys that were set for a run without having an effect in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// The dotted keys.
    pub keys: Vec<String>,
    /// Where they were set.
    pub origin: String,
    /// Why they have no effect.
    pub why: String,
}

/// What a command does with a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Compacts once, or only counts.
    Once,
    /// Compacts once, and writes the messages that a model would see.
    Messages,
    /// Plays a session turn by turn.
    InTurns,
}

/// The keys set for this run, by a flag or in the environment, that have no effect under any of its policies, grouped by origin and
/// reason. The reasons are those of the first policy.
pub fn idle<'e>(policies: impl IntoIterator<Item = &'e Effective>, used: Use) -> Vec<Idle> {
    let mut policies = policies.into_iter();
    let Some(first) = policies.next() else {
        return Vec::new();
    };
    let mut single = first.idle_keys(used);
    for other in policies {
        let others = other.idle_keys(used);
        let is_same = |one: &(&Override, String)| {
            let mut others = others.iter();
            others.any(|(set, _)| set.key == one.0.key && set.origin == one.0.origin)
        };
        single.retain(is_same);
    }
    let mut all: Vec<Idle> = Vec::new();
    for (set, why) in single {
        let same = |idle: &&mut Idle| idle.origin == set.origin && idle.why == why;
        match all.iter_mut().find(same) {
            Some(idle) => idle.keys.push(set.key.clone()),
            None => all.push(Idle {
                keys: vec![set.key.clone()],
                origin: set.origin.clone(),
                why,
            }),
        }
    }
    all
}

impl Effective {
    /// The settings without effect, each with the reason. Ignores settings in files, which are shared and extended, and may set
    /// what this policy does not use.
    fn idle_keys(&self, used: Use) -> Vec<(&Override, String)> {
        let mut idle = Vec::new();
        for (at, set) in self.overrides.iter().enumerate() {
            if !set.is_users() {
                continue;
            }
            let again = self.overrides[at + 1..].iter().rfind(|o| o.key == set.key);
            let why = match again {
                Some(again) => again.why_instead_of(set),
                None => self.why_idle(set, used),
            };
            idle.extend(why.map(|why| (set, why)));
        }
        idle
    }

    fn why_idle(&self, set: &Override, used: Use) -> Option<String> {
        match (keys::find(&set.key)?.read_by, used) {
            (ReadBy::ReplayOnly, Use::Once | Use::Messages) => {
                return Some("only `ctxpack replay` reads it".to_owned());
            }
            (ReadBy::ReplayOnly, Use::InTurns) | (ReadBy::AllCommands, _) => {}
        }
        if set.is_of_a_system() {
            return None;
        }
        if set.key == "history" && used == Use::Messages {
            return Some("--emit writes only what the model sees".to_owned());
        }
        let summary = &self.policy.summary;
        if set.key == "archive" && self.policy.archive == Archive::Never && summary.names_archive()
        {
            return Some("summary.text names the archived copy".to_owned());
        }
        // A target also determines when a summary is due, and the result states whether it was reached.
        let is_of_target = set.key.starts_with("trigger.") || set.key == "summary.when";
        if is_of_target && self.sets_target() {
            return None;
        }
        Need::of(&set.key)?.missing(&self.policy)
    }

    /// Whether the user set a target for this run.
    fn sets_target(&self) -> bool {
        let mut overrides = self.overrides.iter();
        overrides.any(|o| o.key.starts_with("target.") && o.is_users())
    }
}

impl Override {
    /// Whether the user of this run made the setting, not a file or the command itself: only then is a missing effect reported.
    fn is_users(&self) -> bool {
        self.origin == "flag" || self.origin.starts_with("env ")
    }

    /// Whether a published system's variable made the setting. It was meant for that system, which always has a model.
    fn is_of_a_system(&self) -> bool {
        self.origin.starts_with("env ") && !self.origin.starts_with("env CTXPACK_")
    }

    /// Why this setting takes precedence over another one of the same key with a different value; `None` if that is as expected: a
    /// flag over a variable, or the last of two flags.
    fn why_instead_of(&self, other: &Override) -> Option<String> {
        let is_firm = self.is_of_a_system() || !self.is_users();
        if self.value == other.value || !is_firm || other.is_of_a_system() {
            return None;
        }
        let value = super::literal(&self.value).ok()?;
        Some(match self.origin.strip_prefix("env ") {
            Some(name) => format!("{name} in the environment sets it to {value}"),
            None => format!("`ctxpack {}` sets it to {value}", self.origin),
        })
    }
}

#[cfg(test)]
mod tests;
