//! Flags of `compact` that stand for keys of the policy.
//!
//! They are settings like any other: the policy's hash covers them, and a report names them. One given beside a `--set`
//! of the same key wins.

use clap::Args;

use crate::policy::Setting;

/// Flags that stand for keys.
#[derive(Debug, Args)]
pub(super) struct Shorthands {
    /// What becomes of lines that no model sees any more; --set history=
    #[arg(long, value_name = "drop|keep", value_parser = ["drop", "keep"])]
    history: Option<String>,
}

impl Shorthands {
    /// The settings that the given flags stand for.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        [("history", &self.history)]
            .into_iter()
            .filter_map(|(key, value)| {
                Some(Setting {
                    key: key.to_owned(),
                    value: value.clone()?,
                    origin: "flag".to_owned(),
                })
            })
    }
}
