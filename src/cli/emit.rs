//! `--emit`: messages of a provider's API instead of a transcript, and what is said of them at the end.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use super::reports::OUTPUT;
use crate::emit::{Loss, Messages};
use crate::outcome::Outcome;
use crate::text::count;

/// What is written of each result.
#[derive(Debug, Args)]
pub(super) struct EmitArgs {
    /// Write each conversation as messages of a provider's API, on a line of its own, instead of a transcript
    ///
    /// in.jsonl becomes in.messages.jsonl. What is written is what the model would see after the compaction; with --policy none,
    /// what it would see now. The report lists what the messages cannot hold. undo gives back the transcript.
    #[arg(long, value_name = "FORM", conflicts_with_all = ["in_place", "fork", "retry_degraded"], help_heading = OUTPUT)]
    emit: Option<Form>,
}

/// Which messages.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// Chat Completions: {"messages":[…]}
    Messages,
    /// Anthropic: {"system":…,"messages":[…]}
    AnthropicMessages,
}

impl EmitArgs {
    pub(super) fn messages(&self) -> Option<Messages> {
        self.emit.map(|form| match form {
            Form::Messages => Messages::Chat,
            Form::AnthropicMessages => Messages::Anthropic,
        })
    }

    pub(super) fn is_asked(&self) -> bool {
        self.emit.is_some()
    }

    /// The closing line: how much was emitted, and what these messages do not hold.
    pub(super) fn closing(&self, outcomes: &[Outcome]) -> Option<String> {
        self.emit?;
        let conversations = outcomes.iter().flat_map(|outcome| &outcome.conversations);
        let emitted: Vec<_> = conversations.filter_map(|c| c.emitted.as_ref()).collect();
        let written = emitted.iter().filter(|one| one.messages > 0).count();
        let mut losses: BTreeMap<Loss, u64> = BTreeMap::new();
        for loss in emitted.iter().flat_map(|one| &one.losses) {
            *losses.entry(loss.kind).or_default() += loss.count;
        }
        let losses: Vec<String> = losses
            .iter()
            .map(|(loss, number)| format!("{} {number}", loss.name()))
            .collect();
        let held = match losses.is_empty() {
            true => "nothing is left out".to_owned(),
            false => format!("not held: {}", losses.join(", ")),
        };
        let written = count(written as u64, "conversation");
        Some(format!("emitted {written}; {held}"))
    }
}
