//! `--emit`: writes messages of a provider's API instead of a transcript, and reports on them at the end.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use super::reports::OUTPUT;
use crate::emit::{Loss, Messages};
use crate::outcome::Outcome;
use crate::text::count;

/// What to write for each result.
#[derive(Debug, Args)]
pub(super) struct EmitArgs {
    /// Write each conversation as messages of a provider's API, on a line of its own, instead of a transcript
    ///
    /// in.jsonl becomes in.messages.jsonl. The output is what the model would see after the compaction; with --policy none, what
    /// it sees now. The report lists what cannot be represented. undo gives back the transcript.
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

    /// Collects what is reported on emitted messages, once all outcomes have been seen.
    pub(super) fn emitted(&self) -> Option<Emitted> {
        self.emit.map(|_| Emitted::default())
    }
}

/// How much was emitted, and what these messages lack.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    written: u64,
    losses: BTreeMap<Loss, u64>,
}

impl Emitted {
    /// Accounts for the outcome of an input.
    pub(super) fn see(&mut self, outcome: &Outcome) {
        for one in outcome.conversations.iter().flat_map(|c| &c.emitted) {
            self.written += u64::from(one.messages > 0);
            for loss in &one.losses {
                *self.losses.entry(loss.kind).or_default() += loss.count;
            }
        }
    }

    /// The closing line.
    pub(super) fn closing(&self) -> String {
        let losses = self.losses.iter();
        let losses =
            losses.map(|(loss, number)| format!("{} {number}", loss.name().replace('_', " ")));
        let losses: Vec<String> = losses.collect();
        let lost = match losses.is_empty() {
            true => "nothing was lost".to_owned(),
            false => format!("lost or changed: {}", losses.join(", ")),
        };
        let written = count(self.written, "conversation");
        format!("{written} written as messages; {lost}")
    }
}
