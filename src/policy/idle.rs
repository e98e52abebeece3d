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
mod tests {
    use super::*;
    use crate::policy::{Setting, preset, resolve};

    /// The report on settings, as `keys (origin): why`.
    fn said(name: &str, settings: &[(&str, &str, &str)]) -> Vec<String> {
        let setting = |(key, value, origin): &(&str, &str, &str)| Setting {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: (*origin).to_owned(),
        };
        let settings: Vec<Setting> = settings.iter().map(setting).collect();
        let effective = resolve(preset(name).unwrap(), &settings).unwrap();
        let show = |idle: Idle| format!("{} ({}): {}", idle.keys.join(", "), idle.origin, idle.why);
        let idle = idle([&effective], Use::Once);
        idle.into_iter().map(show).collect()
    }

    #[test]
    fn keys_of_a_layer_that_is_off_have_no_effect() {
        let set = [
            ("clear.keep", "3", "flag"),
            ("clear.min_tokens", "9", "flag"),
            ("restore.files", "1", "env CTXPACK_RESTORE__FILES"),
            ("demote.min_tokens", "9", "file p.toml"),
        ];
        assert_eq!(
            said("boundary", &set),
            [
                "clear.keep, clear.min_tokens (flag): the policy's layers do not include \"clear\"",
                "restore.files (env CTXPACK_RESTORE__FILES): the policy's layers do not include \"restore\"",
            ]
        );
        assert_eq!(said("auto", &set), Vec::<String>::new());
    }

    #[test]
    fn keys_that_another_key_switches_off_have_no_effect() {
        let buffer = ("window.buffer", "9", "flag");
        assert_eq!(said("layered", &[buffer]), Vec::<String>::new());
        assert_eq!(
            said("turns", &[buffer]),
            ["window.buffer (flag): trigger.on is \"share\""]
        );
        let tokens = ("trigger.tokens", "9", "flag");
        assert_eq!(
            said("layered", &[tokens]),
            ["trigger.tokens (flag): trigger.on is \"window\""]
        );
        let on = ("trigger.on", "tokens", "flag");
        assert_eq!(said("layered", &[tokens, on]), Vec::<String>::new());
        assert_eq!(
            said(
                "auto",
                &[
                    ("tokens.chars_per_token", "3", "flag"),
                    ("tokens.unit", "utf16", "flag")
                ]
            ),
            ["tokens.chars_per_token, tokens.unit (flag): tokens.method is \"classes\""]
        );
        let set = [
            ("window.max_output", "9", "flag"),
            ("summary.share", "0.5", "flag"),
            ("tokens.encoding", "o200k_base", "flag"),
            ("summary.too_large_tokens", "9", "flag"),
        ];
        assert_eq!(
            said("reset", &set),
            [
                "window.max_output (flag): trigger.on is \"tokens\", and trigger.cap_share is 0",
                "summary.share (flag): summary.tokens is 2000",
                "tokens.encoding (flag): tokens.method is \"chars\"",
                "summary.too_large_tokens (flag): summary.too_large is \"accept\"",
            ]
        );
    }

    #[test]
    fn an_archive_that_the_summary_names_is_kept() {
        let never = ("archive", "never", "flag");
        assert_eq!(
            said("reset", &[never]),
            ["archive (flag): summary.text names the archived copy"]
        );
        let text = ("summary.text", "<summary>{summary}</summary>", "flag");
        assert_eq!(said("reset", &[never, text]), Vec::<String>::new());
        assert_eq!(said("auto", &[never]), Vec::<String>::new());
    }

    #[test]
    fn a_setting_that_another_one_replaces_has_no_effect() {
        let never = ("summary.when", "never", "flag");
        let always = ("summary.when", "always", "eval");
        assert_eq!(
            said("auto", &[never, always]),
            ["summary.when (flag): `ctxpack eval` sets it to \"always\""]
        );
        let firm = ("summary.when", "always", "env DISABLE_COMPACT");
        assert_eq!(
            said("auto", &[never, firm]),
            ["summary.when (flag): DISABLE_COMPACT in the environment sets it to \"always\""]
        );
        let again = ("summary.when", "always", "flag");
        let variable = ("summary.when", "never", "env CTXPACK_SUMMARY__WHEN");
        assert_eq!(
            said("auto", &[variable, never, again]),
            Vec::<String>::new()
        );
        let trigger = ("trigger.tokens", "9", "flag");
        assert_eq!(
            said("auto", &[trigger, always]),
            ["trigger.tokens (flag): summary.when is \"always\""]
        );
        let target = [
            ("target.tokens", "9", "flag"),
            ("target.percent", "5", "eval"),
        ];
        assert_eq!(
            said("auto", &target),
            ["target.tokens (flag): target.percent is set"]
        );
    }

    #[test]
    fn of_several_policies_each_must_be_without_it() {
        let of = |name: &str, key: &str| {
            let set = Setting {
                key: key.to_owned(),
                value: "3".to_owned(),
                origin: "flag".to_owned(),
            };
            resolve(preset(name).unwrap(), &[set]).unwrap()
        };
        let both = |key: &str| idle([&of("boundary", key), &of("layered", key)], Use::Once).len();
        assert_eq!(both("clear.keep"), 0);
        assert_eq!(both("offload.min_chars"), 1);
        let turns = of("turns", "trigger.max_compactions");
        assert_eq!(idle([&turns], Use::Once).len(), 1);
        assert_eq!(idle([&turns], Use::InTurns).len(), 0);
    }

    #[test]
    fn the_size_of_a_summary_is_decided_by_one_key() {
        let set = [
            ("summary.tokens", "500", "flag"),
            ("summary.max_tokens", "3000", "flag"),
        ];
        let room = "summary.tokens (flag): the summary takes the room that the target leaves";
        let cap = ("target.kind", "cap", "flag");
        assert_eq!(said("auto", &[set[0], cap]), [room]);
        // Where its aim is missed, both decide.
        assert_eq!(said("auto", &set), Vec::<String>::new());
        let none = ("target.tokens", "0", "flag");
        let asked = "summary.max_tokens (flag): summary.tokens is 500";
        assert_eq!(said("auto", &[set[0], set[1], none]), [asked]);
        let always = ("summary.when", "always", "flag");
        assert_eq!(said("auto", &[set[0], always]), Vec::<String>::new());
    }

    #[test]
    fn what_only_a_model_reads_needs_one() {
        let tries = ("summary.tries", "2", "flag");
        assert_eq!(
            said("auto", &[tries]),
            ["summary.tries (flag): summary.source is \"extractive\""]
        );
        let source = ("summary.source", "openai", "flag");
        assert_eq!(said("auto", &[tries, source]), Vec::<String>::new());
        let off = ("summary.when", "never", "flag");
        assert_eq!(
            said("auto", &[tries, source, off]),
            ["summary.tries, summary.source (flag): summary.when is \"never\""]
        );
        let model = [("summary.model", "m", "env MODEL_ID")];
        assert_eq!(said("reset", &model), Vec::<String>::new());
    }

    #[test]
    fn a_target_says_by_itself_that_it_was_not_reached() {
        let always = ("summary.when", "always", "flag");
        assert_eq!(
            said("none", &[always]),
            ["summary.when (flag): the policy's layers do not include \"summarize\""]
        );
        let target = ("target.percent", "10", "flag");
        assert_eq!(said("none", &[always, target]), Vec::<String>::new());
    }

    #[test]
    fn the_last_place_that_sets_a_key_counts() {
        let set = [
            ("clear.keep", "3", "env CTXPACK_CLEAR__KEEP"),
            ("clear.keep", "2", "flag"),
        ];
        assert_eq!(
            said("boundary", &set),
            ["clear.keep (flag): the policy's layers do not include \"clear\""]
        );
    }
}
