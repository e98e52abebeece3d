//! Flags of `compact` that are short for keys of the policy.
//!
//! They are settings like any other: the policy's hash covers them, and a report lists them. A flag overrides a `--set` of
//! the same key.

use clap::Args;

use crate::policy::Setting;

/// Flags that stand for keys.
#[derive(Debug, Args)]
pub(super) struct Shorthands {
    /// What becomes of lines that no model sees any more; --set history=
    #[arg(long, value_name = "drop|keep", value_parser = ["drop", "keep"])]
    history: Option<String>,
    /// Whether old messages become a summary: over the policy's trigger, below it too, or not at all; --set summary.when=
    #[arg(long, value_name = "auto|always|never", value_parser = ["auto", "always", "never"])]
    summarize: Option<String>,
    /// What the summary must keep; --set summary.instructions=
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Who writes summaries: this program, or a model on a server; --set summary.source=
    #[arg(long, value_name = "NAME", value_parser = ["extractive", "anthropic", "openai"])]
    summarizer: Option<String>,
    /// The server's model; without it, the one that the transcript names; --set summary.model=
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The server's address; without it, the provider's own; --set summary.base_url=
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Where secrets (keys, tokens, passwords) are masked: in what is sent to a server, in outputs too, or not at all; --set
    /// redact=
    #[arg(long, value_name = "requests|outputs|never", value_parser = ["requests", "outputs", "never"])]
    redact: Option<String>,
    /// Restore files from below DIR, as they are now, rather than as the transcript shows them; --set restore.root=
    #[arg(long, value_name = "DIR")]
    files_root: Option<String>,
    /// The tokens that a conversation may have afterwards: what has more is summarised down to so many, or to a share of
    /// what it has
    #[arg(long, value_name = "N|P%", value_parser = target)]
    target: Option<Target>,
}

/// `--target`.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Tokens(u64),
    Percent(f64),
}

fn target(text: &str) -> Result<Target, String> {
    let wrong = || "a number of tokens above 0, or a percentage up to 100% like 10%".to_owned();
    match text.strip_suffix('%') {
        Some(percent) => match percent.parse() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Target::Percent(percent)),
            Ok(_) | Err(_) => Err(wrong()),
        },
        None => match text.replace('_', "").parse() {
            Ok(tokens) if tokens > 0 => Ok(Target::Tokens(tokens)),
            Ok(_) | Err(_) => Err(wrong()),
        },
    }
}

impl Shorthands {
    /// The settings that the given flags are short for.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        // A cap without a trigger would have no effect, so the target also becomes the trigger, whatever it saves.
        let target: Vec<(&str, String)> = match &self.target {
            None => Vec::new(),
            Some(Target::Percent(percent)) => vec![
                ("target.percent", percent.to_string()),
                ("summary.when", "always".to_owned()),
            ],
            Some(Target::Tokens(tokens)) => vec![
                ("target.percent", "0".to_owned()),
                ("target.tokens", tokens.to_string()),
                ("trigger.on", "tokens".to_owned()),
                ("trigger.tokens", tokens.to_string()),
                ("trigger.compare", ">".to_owned()),
                ("trigger.min_savings", "0".to_owned()),
            ],
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
        target.into_iter().chain(texts).map(|(key, value)| Setting {
            key: key.to_owned(),
            value,
            origin: "flag".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_number_or_a_share() {
        assert_eq!(target("8_000"), Ok(Target::Tokens(8000)));
        assert_eq!(target("12.5%"), Ok(Target::Percent(12.5)));
        for wrong in ["0", "0%", "101%", "-5", "ten", "%", "", "NaN%"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
