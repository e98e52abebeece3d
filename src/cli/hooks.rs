//! Flags of `compact` for a user's own commands. They are available only as flags: no file and no environment variable can run a
//! command.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::Args;

use super::Voice;
use super::useless_flags::refused;
use crate::batch::{HookOutput, Hooks};
use crate::error::Result;

/// The heading of these flags.
const HOOKS: &str = "Hooks";

/// Commands before and after an input is compacted.
#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// Run CMD (with sh -c) before an input is compacted, with one line of JSON on standard input; its output is added to the
    /// instructions, exit code 2 skips the input
    #[arg(long, value_name = "CMD", help_heading = HOOKS)]
    pre_hook: Option<String>,
    /// Run CMD after an input was compacted, with a line of JSON about the result on standard input
    #[arg(long, value_name = "CMD", help_heading = HOOKS)]
    post_hook: Option<String>,
    /// Kill a hook after this time [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = HOOKS)]
    hook_timeout: Option<u64>,
}

impl HookArgs {
    /// Refuses a time limit for no hook.
    pub(super) fn check(&self) -> Result<()> {
        match (&self.pre_hook, &self.post_hook, self.hook_timeout) {
            (None, None, Some(_)) => Err(refused(&["--hook-timeout"], "there is no hook")
                .hint("give one with --pre-hook or --post-hook, or leave it out")),
            (Some(_), _, _) | (_, Some(_), _) | (None, None, None) => Ok(()),
        }
    }

    pub(super) fn hooks(&self, voice: Voice) -> Hooks {
        let names = std::env::vars_os().map(|(name, _)| name);
        Hooks {
            pre: self.pre_hook.clone(),
            post: self.post_hook.clone(),
            limit: Duration::from_secs(self.hook_timeout.unwrap_or(60)),
            hidden: names
                .filter(|name| is_secret(name))
                .collect::<Vec<OsString>>(),
            output: match voice {
                Voice::Loud => HookOutput::Shown,
                Voice::Normal | Voice::Quiet => HookOutput::Dropped,
            },
        }
    }
}

/// Whether an environment variable of this name holds a provider key.
fn is_secret(name: &OsStr) -> bool {
    const KEYS: [&str; 3] = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
    ];
    let name = name.to_string_lossy();
    let ends = |ending| name.ends_with(ending);
    KEYS.contains(&&*name)
        || name.starts_with("CTXPACK_") && ["_KEY", "_TOKEN", "_SECRET"].into_iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_secret_and_settings_are_not() {
        let secret = |name: &str| is_secret(OsStr::new(name));
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "CTXPACK_API_KEY",
            "CTXPACK_X_TOKEN",
        ] {
            assert!(secret(name), "{name}");
        }
        for name in [
            "PATH",
            "CTXPACK_TRIGGER__TOKENS",
            "CTXPACK_POLICY",
            "MY_API_KEY_FILE",
        ] {
            assert!(!secret(name), "{name}");
        }
    }
}
