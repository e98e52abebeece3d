//! Records what was done to each conversation in its outcome: sizes, actions with their reasons, and why.
//!
//! Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::round::append;
use super::run::Step;
use super::summaries::ConversationResult;
use super::{Input, Part, Pipeline, Round, Work};
use crate::format::Format;
use crate::outcome::{Action, ActionKind, ConversationOutcome, NOT_SUMMARISED, TargetOutcome};
use crate::plan::{Plan, is_over, tool_named_by};
use crate::policy::{Layer, SummaryWhen, TargetKind};
use crate::settle::Change;
use crate::text::{count, thousands};
use crate::tokens::{Sizes, Voices, usage};
use crate::transcript::{Conversation, Transcript};

impl Pipeline<'_> {
    /// The outcomes of conversations to which nothing has been done yet.
    pub(super) fn before(
        &self,
        (format, part, first_line): (Format, Part, u64),
        transcript: &Transcript<'_>,
        sizes: &mut Sizes,
    ) -> Vec<ConversationOutcome> {
        let outcome = |conversation: &Conversation| {
            let voices = sizes.voices(transcript, conversation);
            let tokens = voices.total();
            let id = part.id_of(conversation, first_line);
            let messages = conversation.messages.len() as u64;
            let outcome =
                ConversationOutcome::unchanged(id, self.estimator.name(), tokens, messages);
            let mut outcome = outcome.said_by(&voices);
            let answers = self.earlier.answers_in_window(transcript, conversation);
            outcome.usage = usage(format, transcript, conversation, &answers, sizes);
            outcome.threshold = self.policy.threshold();
            outcome.reason = match (self.policy.layers.is_empty(), messages) {
                (true, _) => "no layer is on",
                (false, 0) => "nothing to compact",
                (false, _) => "nothing to gain",
            }
            .to_owned();
            outcome.target = self.cap_without_summary(tokens, tokens);
            outcome
        };
        reported(transcript, part).map(outcome).collect()
    }

    /// Why a conversation of this many tokens is not summarised, if the only reason is that summaries are switched off.
    fn switched_off(&self, tokens: u64) -> Option<String> {
        let policy = self.policy;
        let is_off = policy.has(Layer::Summarize) && policy.summary.when == SummaryWhen::Never;
        (is_off && is_over(policy, tokens)).then(|| {
            let by = self
                .off_by
                .map(|by| format!(" (by {by})"))
                .unwrap_or_default();
            format!("{NOT_SUMMARISED}summaries are off{by}")
        })
    }

    /// The triggers that a conversation has stayed below, in words, if any: "nothing to gain" would suggest that something was
    /// tried.
    fn below_triggers(&self, outcome: &ConversationOutcome) -> Option<String> {
        let (policy, tokens) = (self.policy, outcome.tokens_after);
        let mut actions = outcome.actions.iter();
        // Offloading has brought the conversation below its own trigger.
        let is_offloaded = actions.any(|action| action.kind == ActionKind::Offload);
        let offloads = policy.has(Layer::Offload) && !is_offloaded;
        let offload = offloads.then_some(policy.offload.tokens);
        let is_automatic = policy.summary.when == SummaryWhen::Auto;
        let summarize = policy.threshold().filter(|_| is_automatic);
        let held = |tokens, trigger: &u64| policy.trigger.compare.holds(tokens, *trigger);
        let missed: BTreeSet<u64> = [offload, summarize]
            .into_iter()
            .flatten()
            .filter(|trigger| !held(tokens, trigger))
            .collect();
        // A trigger that must be exceeded is also missed by exactly its number of tokens.
        let how = match missed.first()? {
            least if tokens < *least => "below",
            _ => "not over",
        };
        let numbers: Vec<String> = missed.iter().copied().map(thousands).collect();
        let noun = match numbers.len() {
            1 => "trigger",
            _ => "triggers",
        };
        // The other layers have brought it there.
        let is_brought = missed.iter().all(|one| held(outcome.tokens_before, one));
        let then = if is_brought { "then " } else { "" };
        Some(format!(
            "{then}{how} its {noun} of {}",
            numbers.join(" and ")
        ))
    }

    /// The cap of a conversation whose live tokens went from `before` to `after`, if no summary can bring it below the cap because
    /// the policy writes none.
    fn cap_without_summary(&self, before: u64, after: u64) -> Option<TargetOutcome> {
        let policy = self.policy;
        let is_due = match policy.has(Layer::Summarize) {
            // A share applies whatever the trigger says; without the layer, there is no trigger.
            true => policy.target.is_share() || is_over(policy, before),
            false => true,
        };
        let is_off = !policy.has(Layer::Summarize) || policy.summary.when == SummaryWhen::Never;
        let is_cap = policy.target.kind == TargetKind::Cap;
        let tokens = policy.target.asked(before)?;
        (is_off && is_due && is_cap).then(|| TargetOutcome::new(tokens, after))
    }

    /// The actions of a step, each with the number of its conversation.
    pub(super) fn actions(
        &self,
        work: &Work<'_, '_>,
        step: Step<'_>,
        plan: &Plan<'_>,
        changes: &[Change],
    ) -> Vec<(u32, Action)> {
        let (transcript, first_line) = (&work.transcript, work.input.first_line);
        let input_lines = transcript.input_lines();
        let line_of = |line: u32| u64::from(input_lines[line as usize]) + first_line;
        // Lines that a summary makes dead are part of what it replaces, and not counted again.
        let dead = match step {
            Step::Free => Some(&plan.removed.drop),
            Step::Offload { .. }
            | Step::Summarise { .. }
            | Step::Prune { .. }
            | Step::DropDead
            | Step::Fit { .. } => None,
        };
        let dropped = dead.into_iter().flat_map(runs).map(|(line, lines)| {
            let action = Action {
                kind: ActionKind::Drop,
                line: line_of(line),
                message: 0,
                tool: None,
                reason: format!("{} outside the live window", count(lines, "line")),
                tokens_before: 0,
                tokens_after: 0,
            };
            (0, action)
        });
        let action = |change: &Change| {
            let action = Action {
                kind: ActionKind::of(change.why.layer()),
                line: line_of(transcript.block(change.block).line),
                message: u64::from(change.message) + 1,
                tool: Some(tool_named_by(transcript, change.named_by).into_owned()),
                reason: change.why.reason(|line| Some(line_of(line))),
                tokens_before: change.tokens_before,
                tokens_after: change.tokens_after,
            };
            (change.conversation, action)
        };
        let mut actions: Vec<(u32, Action)> = dropped.collect();
        let changed = transcript.each(changes.iter(), action);
        append(&mut actions, changed);
        actions
    }

    /// Completes the outcomes after a round.
    pub(super) fn after(
        &self,
        work: &mut Work<'_, '_>,
        round: &mut Round,
        outcomes: &mut [ConversationOutcome],
    ) {
        let actions = std::mem::take(&mut round.actions);
        let results = &round.summaries.conversations;
        measure(work, results, outcomes);
        for (number, action) in actions {
            if let Some(outcome) = outcomes.get_mut(number as usize) {
                outcome.actions.push(action);
            }
        }
        for result in results {
            let number = work.numbers.get(&result.id).map(|number| *number as usize);
            if let Some(outcome) = number.and_then(|number| outcomes.get_mut(number)) {
                result.report(work.input.first_line, outcome);
            }
        }
        self.explain(results, outcomes);
    }

    /// Says of each conversation what was done and why no more, and its target where no summary was due.
    fn explain(&self, results: &[ConversationResult], outcomes: &mut [ConversationOutcome]) {
        let mut by_id: BTreeMap<String, &ConversationResult> = BTreeMap::new();
        for result in results {
            by_id.entry(result.id.to_string()).or_insert(result);
        }
        let is_only = outcomes.len() == 1;
        for outcome in outcomes {
            let result = match is_only {
                true => results.first(),
                false => by_id.get(&outcome.id).copied(),
            };
            if result.is_none() {
                let (before, after) = (outcome.tokens_before, outcome.tokens_after);
                outcome.target = self.cap_without_summary(before, after);
            }
            let what = Some(in_words(&outcome.actions)).filter(|what| !what.is_empty());
            let parts = [what, self.why(result, outcome)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            if !parts.is_empty() {
                outcome.reason = parts.join("; ");
            }
        }
    }

    /// Why no more was done to a conversation.
    fn why(
        &self,
        result: Option<&ConversationResult>,
        outcome: &ConversationOutcome,
    ) -> Option<String> {
        let why = result.map(ConversationResult::in_words);
        let why = why.or_else(|| self.switched_off(outcome.tokens_after));
        // An empty conversation already has its reason.
        why.or_else(|| match outcome.messages_before {
            0 => None,
            _ => self.below_triggers(outcome),
        })
    }
}

/// Notes the sizes of conversations after a round. An only outcome is that of any conversation: its id may have changed.
fn measure(
    work: &mut Work<'_, '_>,
    results: &[ConversationResult],
    outcomes: &mut [ConversationOutcome],
) {
    // A sidechain that was removed with its task has nothing left.
    for outcome in outcomes.iter_mut() {
        outcome.becomes(&Voices::default());
        outcome.messages_after = 0;
    }
    let renamed: BTreeMap<&str, String> = results
        .iter()
        .map(|result| (result.id_after.as_str(), result.id.to_string()))
        .collect();
    let is_only = outcomes.len() == 1;
    let mut by_id: BTreeMap<String, &mut ConversationOutcome> = outcomes
        .iter_mut()
        .map(|outcome| (outcome.id.clone(), outcome))
        .collect();
    for conversation in &work.transcript.conversations {
        let id = conversation.id.to_string();
        let outcome = match is_only {
            true => by_id.values_mut().next(),
            false => by_id.get_mut(renamed.get(id.as_str()).unwrap_or(&id)),
        };
        if let Some(outcome) = outcome {
            outcome.becomes(&work.sizes.voices(&work.transcript, conversation));
            outcome.messages_after = conversation.messages.len() as u64;
        }
    }
}

/// The conversations in the report: a line without a conversation (blank, broken) is omitted.
pub(super) fn reported<'t>(
    transcript: &'t Transcript<'_>,
    part: Part,
) -> impl Iterator<Item = &'t Conversation> {
    let counts = move |c: &&Conversation| part == Part::File || !c.messages.is_empty();
    transcript.conversations.iter().filter(counts)
}

/// The file's line number (from 1) of the first line of each conversation in the report.
pub(super) fn first_lines(work: &Work<'_, '_>) -> Vec<u64> {
    let Input {
        first_line, part, ..
    } = work.input;
    let first = |conversation: &Conversation| {
        let message = conversation.messages.first();
        let line = message.map(|message| conversation.first_line(message));
        u64::from(line.unwrap_or_default()) + first_line
    };
    reported(&work.transcript, part).map(first).collect()
}

/// The runs of consecutive lines: the first line of each, and its length.
fn runs(lines: &BTreeSet<u32>) -> impl Iterator<Item = (u32, u64)> + '_ {
    let mut lines = lines.iter().copied().peekable();
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let mut number = 1;
        while lines.next_if_eq(&(first + number)).is_some() {
            number += 1;
        }
        Some((first, u64::from(number)))
    })
}

/// `3 results cleared, 1 result demoted, dead lines dropped`.
fn in_words(actions: &[Action]) -> String {
    let number = |kind| actions.iter().filter(|a| a.kind == kind).count() as u64;
    let mut words = Vec::new();
    if number(ActionKind::Redact) > 0 {
        words.push("secrets masked".to_owned());
    }
    for (kind, what) in [
        (ActionKind::Clear, "cleared"),
        (ActionKind::Demote, "demoted"),
        (ActionKind::Offload, "offloaded"),
    ] {
        if number(kind) > 0 {
            words.push(format!("{} {what}", count(number(kind), "result")));
        }
    }
    if number(ActionKind::Drop) > 0 {
        words.push("dead lines dropped".to_owned());
    }
    if number(ActionKind::Restore) > 0 {
        let files = count(number(ActionKind::Restore), "file");
        words.push(format!("{files} restored"));
    }
    words.join(", ")
}
