//! A policy for commands that never ask a model: `replay`, `eval`, `diff` and `check`.
//!
//! Sends nothing, and changes only the key that selects the source of summaries.

use crate::error::Result;
use crate::policy::{self, Effective, Setting, Source};

/// The policy as `command` runs it: if it would use a provider, the built-in summariser writes the summaries instead, and the
/// report says so.
pub(super) fn without_server(effective: Effective, command: &str) -> Result<Effective> {
    match effective.policy.summary.source {
        Source::Extractive | Source::Scripted => Ok(effective),
        Source::Anthropic | Source::Openai => {
            let own = Setting {
                key: "summary.source".to_owned(),
                value: Source::Extractive.name().to_owned(),
                origin: command.to_owned(),
            };
            let mut without_server = policy::resolve(effective.policy, &[own])?;
            without_server.overrides.splice(0..0, effective.overrides);
            Ok(without_server)
        }
    }
}
