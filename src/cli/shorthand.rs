//! Flags of `compact` that are shorthands for policy keys.
//!
//! They are settings like any other: the policy's hash covers them, and a report lists them. A flag overrides a `--set` of
//! the same key.

use clap::Args;

use super::config::FlagSettings;
use super::config::POLICY;
use super::useless_flags::{Needing, given};
use crate::policy::{Need, Setting};

/// Flags that stand for keys.
#[derive(Debug, Args)]
pub(super) struct Shorthands {
    /// Whether lines that the model no longer sees are dropped or kept [key: history]
    #[arg(long, value_name = "drop|keep", value_parser = ["drop", "keep"], help_heading = POLICY)]
    history: Option<String>,
    /// When old messages are summarised: above the policy's trigger, always, or never [key: summary.when]
    #[arg(long, value_name = "auto|always|never", value_parser = ["auto", "always", "never"], help_heading = POLICY)]
    summarize: Option<String>,
    /// What the summary must keep [key: summary.instructions]
    #[arg(long, value_name = "TEXT", help_heading = POLICY)]
    instructions: Option<String>,
    /// Who writes summaries: ctxpack itself, or a model on a server [key: summary.source]
    #[arg(long, value_name = "NAME", value_parser = ["extractive", "anthropic", "openai"], help_heading = POLICY)]
    summarizer: Option<String>,
    /// The server's model; by default the one that the transcript names [key: summary.model]
    #[arg(long, value_name = "NAME", help_heading = POLICY)]
    model: Option<String>,
    /// The server's address; by default the provider's own [key: summary.base_url]
    #[arg(long, value_name = "URL", help_heading = POLICY)]
    base_url: Option<String>,
    /// Where secrets (keys, tokens, passwords) are masked: in requests to a server, also in outputs, or nowhere [key: redact]
    #[arg(long, value_name = "requests|outputs|never", value_parser = ["requests", "outputs", "never"], help_heading = POLICY)]
    redact: Option<String>,
    /// Restore files from DIR as they are now, instead of as the transcript shows them [key: restore.root]
    #[arg(long, value_name = "DIR", help_heading = POLICY)]
    files_root: Option<String>,
    /// Maximum tokens per conversation after compaction: 8000, 8k, or 10% (of the original); larger conversations are summarised
    #[arg(long, value_name = "N|P%", value_parser = target, allow_negative_numbers = true, help_heading = POLICY)]
    target: Option<Target>,
}

/// `--target`.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Tokens(u64),
    Percent(f64),
}

fn target(text: &str) -> Result<Target, String> {
    let wrong = || {
        "a number of tokens above 0, like 8000 or 8k, or a percentage up to 100% like 10%"
            .to_owned()
    };
    match text.strip_suffix('%') {
        Some(number) => percentage(number).map(Target::Percent).ok_or_else(wrong),
        None => match tokens(text) {
            Some(tokens) if tokens > 0 => Ok(Target::Tokens(tokens)),
            Some(_) | None => Err(wrong()),
        },
    }
}

/// A percentage, like `50` or `50%`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    percentage(text.strip_suffix('%').unwrap_or(text))
        .ok_or_else(|| "a percentage above 0, up to 100".to_owned())
}

/// The number of a percentage, without its sign.
fn percentage(number: &str) -> Option<f64> {
    let percent = number.parse().ok();
    percent.filter(|percent| *percent > 0.0 && *percent <= 100.0)
}

/// `8000`, `8_000` or `8k`.
pub(super) fn tokens(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    match digits.strip_suffix(['k', 'K']) {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1_000),
        None => digits.parse().ok(),
    }
}

impl Shorthands {
    /// Those of these flags that were given and depend on the policy, each with what it needs. `more` are flags for a server. Not
    /// `--summarize`, which many commands have whatever the policy is: a warning says that it has no effect.
    pub(super) fn needing(&self, more: impl Iterator<Item = &'static str>) -> [Needing; 3] {
        let of_server = given([
            ("--model", self.model.as_ref().map(drop)),
            ("--base-url", self.base_url.as_ref().map(drop)),
        ]);
        let summaries = given([("--instructions", self.instructions.as_ref().map(drop))]);
        let restored = given([("--files-root", self.files_root.as_ref().map(drop))]);
        [
            Needing {
                flags: of_server.chain(more).collect(),
                need: Need::Server,
            },
            Needing {
                flags: summaries.collect(),
                need: Need::Summaries,
            },
            Needing {
                flags: restored.collect(),
                need: Need::Restored,
            },
        ]
    }

    /// The settings for which the given flags are shorthands.
    pub(super) fn settings(&self) -> FlagSettings {
        // A cap without a trigger would have no effect, so the target also becomes the trigger, however little it saves.
        let (target, implied): (Vec<_>, Vec<_>) = match &self.target {
            None => (Vec::new(), Vec::new()),
            Some(Target::Percent(percent)) => (
                vec![("target.percent", percent.to_string())],
                vec![("summary.when", "always".to_owned())],
            ),
            Some(Target::Tokens(tokens)) => (
                vec![
                    ("target.percent", "0".to_owned()),
                    ("target.tokens", tokens.to_string()),
                ],
                vec![
                    ("trigger.on", "tokens".to_owned()),
                    ("trigger.tokens", tokens.to_string()),
                    ("trigger.compare", ">".to_owned()),
                    ("trigger.min_savings", "0".to_owned()),
                ],
            ),
        };
        let texts = [
            ("history", &self.history),
            ("summary.when", &self.summarize),
            ("summary.instructions", &self.instructions),
            ("redact", &self.redact),
            ("summary.source", &self.summarizer),
            ("summary.model", &self.model),
            ("summary.base_url", &self.base_url),
            ("restore.root", &self.files_root),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.clone()?)));
        let setting = |(key, value): (&str, String)| Setting {
            key: key.to_owned(),
            value,
            origin: "flag".to_owned(),
        };
        FlagSettings {
            asked: target.into_iter().chain(texts).map(setting).collect(),
            implied: implied.into_iter().map(setting).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_number_or_a_share() {
        assert_eq!(target("8_000"), Ok(Target::Tokens(8000)));
        assert_eq!(target("8k"), Ok(Target::Tokens(8000)));
        assert_eq!(target("12.5%"), Ok(Target::Percent(12.5)));
        for wrong in [
            "0", "0%", "101%", "-5", "ten", "%", "", "NaN%", "k", "1.5k", "8kk",
        ] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_has_one_sign_at_most() {
        assert_eq!(percent("50"), Ok(50.0));
        assert_eq!(percent("50%"), Ok(50.0));
        for wrong in ["50%%", "50%%%", "%", "0", "101", "NaN"] {
            assert!(percent(wrong).is_err(), "{wrong}");
            assert!(target(&format!("{wrong}%")).is_err(), "{wrong}%");
        }
    }
}
