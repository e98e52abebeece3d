//! A policy as users of the library hold it. Never looks for a policy in files or in the environment.

use crate::error::Result;
use crate::policy::{self, Effective, Setting};

/// What a policy without a name of its own is called in an [`Outcome`](crate::outcome::Outcome).
const UNNAMED: &str = "custom";

/// When and how a conversation is made smaller.
///
/// A policy starts from a preset or from TOML text, and single keys can be set on top. Its keys are listed, with types and
/// units, by `ctxpack policy show NAME`; [`presets`](crate::presets) describes the published systems among the presets.
///
/// ```
/// use ctxpack::Policy;
///
/// let policy = Policy::preset("auto")?.with([("trigger.tokens", "5_000"), ("clear.keep", "2")])?;
/// assert_eq!(policy.name(), "auto");
/// # Ok::<(), ctxpack::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub(super) effective: Effective,
}

impl Policy {
    /// The preset of this name or alias: `auto` (the default of the program), `layered`, `offload-first`, `reset`,
    /// `boundary`, `turns`, or `none`, which changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): no preset has that name; the hint lists them.
    pub fn preset(name: &str) -> Result<Self> {
        Policy::new(policy::preset(name)?, &[])
    }

    /// A policy from the text of a policy file: the keys that differ from those of the preset that it extends.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), with the line: text that is not TOML, an unknown key, a value that
    /// the key does not take, or keys that contradict each other.
    pub fn from_toml(text: &str) -> Result<Self> {
        Policy::new(policy::parse(UNNAMED, text)?, &[])
    }

    /// The same policy with these keys set, as `--set KEY=VALUE` does. They are checked together, so that keys which
    /// depend on each other can be set in any order.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): a key that does not exist or does not take its value, or keys that
    /// contradict each other.
    pub fn with<'s>(self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Result<Self> {
        let setting = |(key, value): (&str, &str)| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: "library".to_owned(),
        };
        let settings: Vec<Setting> = settings.into_iter().map(setting).collect();
        let mut overrides = self.effective.overrides;
        let mut policy = Policy::new(self.effective.policy, &settings)?;
        overrides.append(&mut policy.effective.overrides);
        policy.effective.overrides = overrides;
        Ok(policy)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.effective.policy.name
    }

    /// 32 hexadecimal digits, equal for policies with the same effect, however they were built.
    pub fn hash(&self) -> &str {
        &self.effective.hash
    }

    fn new(policy: policy::Policy, settings: &[Setting]) -> Result<Self> {
        let effective = policy::resolve(policy, settings)?;
        Ok(Policy { effective })
    }
}
