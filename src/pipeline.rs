//! One transcript through the stages, in order: read, plan, artifacts, settle, apply, verify.
//!
//! Reads nothing but what artifacts need and writes nothing: the caller decides what becomes of the result. A result
//! that breaks a rule which the input kept, or that has more tokens than the input, is rejected here, and the input
//! stands.

use std::collections::{BTreeMap, BTreeSet};

use crate::apply::{self, Edit};
use crate::artifacts::{self, Content};
use crate::error::Result;
use crate::format::{Format, Warnings};
use crate::outcome::{Action, ActionKind, ConversationOutcome, Rejection};
use crate::plan::{self, Keeping, Plan, tool_named_by};
use crate::policy::Policy;
use crate::settle::{self, Change, Why};
use crate::text::{count, thousands};
use crate::tokens::{Estimator, Sizes, usage};
use crate::transcript::{Conversation, ConversationId, Transcript};
use crate::verify::{Finding, Severity, new_findings, verify};

/// What stays the same for all transcripts of a run.
#[derive(Debug)]
pub struct Pipeline<'p> {
    policy: &'p Policy,
    estimator: Estimator,
    keeping: Keeping,
}

/// One transcript as it comes in.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// How to read it.
    pub format: Format,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The number (from 1) of its first line in its file.
    pub first_line: u64,
    /// Whether it is a whole file or one line of one.
    pub part: Part,
}

/// Whether a transcript is a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    File,
    /// A line of a conversation-per-line file.
    Line,
}

/// What came of a transcript.
#[derive(Debug)]
pub struct Compacted<'a> {
    transcript: Transcript<'a>,
    changes: Vec<Change>,
    /// How many lines have left.
    dropped: usize,
    /// Findings of the input.
    pub findings_before: u64,
    /// Findings of the result; those of the input where it was rejected.
    pub findings_after: u64,
    /// What happened to each conversation.
    pub conversations: Vec<ConversationOutcome>,
    /// Why the result was rejected, if it was.
    pub rejection: Option<Rejected>,
}

/// Why a result was rejected.
#[derive(Debug)]
pub struct Rejected {
    /// The kind of reason.
    pub why: Rejection,
    /// The reason for people.
    pub message: String,
    /// The line of the result that it is about, from 1.
    pub line: Option<u64>,
}

impl<'p> Pipeline<'p> {
    /// A pipeline for one policy.
    ///
    /// # Errors
    /// Where the policy asks for what is not built in.
    pub fn new(policy: &'p Policy, keeping: Keeping) -> Result<Self> {
        Ok(Pipeline {
            policy,
            estimator: Estimator::new(&policy.tokens)?,
            keeping,
        })
    }

    /// Compacts one transcript.
    pub fn compact<'a>(&self, input: Input<'a>, warnings: &mut Warnings) -> Compacted<'a> {
        let Input {
            format,
            bytes,
            first_line,
            part: _,
        } = input;
        let mut transcript = format.read(bytes, first_line, warnings);
        let mut sizes = Sizes::new(self.estimator.clone());
        let findings = verify(format, &transcript);
        let mut conversations = self.before(&transcript, &mut sizes, input);

        let plan = plan::plan(format, &transcript, self.policy, self.keeping);
        let artifacts = artifacts::gather(&transcript, &plan, &sizes, self.policy);
        let changes = settle::settle(&transcript, &plan, &artifacts, &sizes, self.policy);
        let dropped = plan.dead.lines.len();
        if changes.is_empty() && dropped == 0 {
            return Compacted {
                transcript,
                changes,
                dropped,
                findings_before: errors(&findings),
                findings_after: errors(&findings),
                conversations,
                rejection: None,
            };
        }
        let lines = apply::apply(
            &transcript,
            self.edits(format, &transcript, &plan, &changes),
        );
        format.edit(&mut transcript, lines, &plan.dead.lines);

        let after = verify(format, &transcript);
        self.after(
            &transcript,
            &mut sizes,
            &plan,
            &changes,
            first_line,
            &mut conversations,
        );
        let rejection = reject(&findings, &after, &conversations, first_line);
        if rejection.is_some() {
            conversations = conversations
                .into_iter()
                .map(ConversationOutcome::left_alone)
                .collect();
        }
        let findings_after = errors(if rejection.is_some() {
            &findings
        } else {
            &after
        });
        Compacted {
            transcript,
            changes,
            dropped,
            findings_before: errors(&findings),
            findings_after,
            conversations,
            rejection,
        }
    }

    /// All edits: what was changed, links to what leaves, and figures that an agent would act on.
    fn edits(
        &self,
        format: Format,
        transcript: &Transcript<'_>,
        plan: &Plan,
        changes: &[Change],
    ) -> Vec<Edit> {
        let mut edits = apply::edits(transcript, changes);
        edits.extend(apply::relinked(&plan.dead));
        for (number, conversation) in (0u32..).zip(&transcript.conversations) {
            let of_this = changes
                .iter()
                .filter(|change| change.conversation == number);
            let saved = of_this
                .map(|change| change.tokens_before - change.tokens_after)
                .sum();
            edits.extend(apply::refigured(format.corrected_usage(
                transcript,
                conversation,
                saved,
            )));
        }
        edits.retain(|edit| !plan.dead.lines.contains(&edit.line));
        edits
    }

    fn before(
        &self,
        transcript: &Transcript<'_>,
        sizes: &mut Sizes,
        input: Input<'_>,
    ) -> Vec<ConversationOutcome> {
        let Input {
            format,
            first_line,
            part,
            ..
        } = input;
        let outcome = |conversation: &Conversation| {
            let tokens = sizes.conversation(transcript, conversation);
            let id = match part {
                Part::File => conversation.id.to_string(),
                Part::Line => ConversationId::Line(first_line).to_string(),
            };
            let messages = conversation.messages.len() as u64;
            let mut outcome =
                ConversationOutcome::unchanged(id, self.estimator.name(), tokens, messages);
            outcome.usage = usage(format, transcript, conversation, sizes);
            outcome.threshold = self.policy.threshold();
            outcome.reason = if self.policy.layers.is_empty() {
                "no layer is on"
            } else {
                "nothing to gain"
            }
            .to_owned();
            outcome
        };
        // A line that holds no conversation (blank, broken) is none in the report.
        let counts = |c: &&Conversation| part == Part::File || !c.messages.is_empty();
        transcript
            .conversations
            .iter()
            .filter(counts)
            .map(outcome)
            .collect()
    }

    fn after(
        &self,
        transcript: &Transcript<'_>,
        sizes: &mut Sizes,
        plan: &Plan,
        changes: &[Change],
        first_line: u64,
        outcomes: &mut [ConversationOutcome],
    ) {
        // A conversation that left with the task that it belonged to has nothing any more.
        for outcome in outcomes.iter_mut() {
            (outcome.tokens_after, outcome.messages_after) = (0, 0);
        }
        let only = outcomes.len() == 1;
        let mut by_id: BTreeMap<String, &mut ConversationOutcome> = outcomes
            .iter_mut()
            .map(|outcome| (outcome.id.clone(), outcome))
            .collect();
        for conversation in &transcript.conversations {
            let id = conversation.id.to_string();
            let outcome = if only {
                by_id.values_mut().next()
            } else {
                by_id.get_mut(&id)
            };
            if let Some(outcome) = outcome {
                outcome.tokens_after = sizes.conversation(transcript, conversation);
                outcome.messages_after = conversation.messages.len() as u64;
            }
        }
        if let Some(main) = outcomes.first_mut() {
            main.actions
                .extend(runs(&plan.dead.lines).map(|(line, lines)| Action {
                    kind: ActionKind::Drop,
                    line: u64::from(line) + first_line,
                    message: 0,
                    tool: None,
                    reason: format!("{} that no model sees any more", count(lines, "line")),
                    tokens_before: 0,
                    tokens_after: 0,
                }));
        }
        for change in changes {
            let (kind, reason) = match change.why {
                Why::Superseded { line, message } => (
                    ActionKind::Clear,
                    format!(
                        "read again at line {}, message {}",
                        u64::from(line) + first_line,
                        message + 1
                    ),
                ),
                Why::Oversize { limit } => (
                    ActionKind::Demote,
                    format!("more than {} tokens", thousands(limit)),
                ),
                Why::Old { newer } => (
                    ActionKind::Clear,
                    format!("{} after it", count(newer, "newer result")),
                ),
            };
            outcomes[change.conversation as usize].actions.push(Action {
                kind,
                line: u64::from(transcript.block(change.block).line) + first_line,
                message: u64::from(change.message) + 1,
                tool: Some(tool_named_by(transcript, change.named_by).into_owned()),
                reason,
                tokens_before: change.tokens_before,
                tokens_after: change.tokens_after,
            });
        }
        for outcome in outcomes.iter_mut().filter(|o| !o.actions.is_empty()) {
            outcome.reason = in_words(&outcome.actions);
        }
    }
}

impl<'a> Compacted<'a> {
    /// Whether the output differs from the input.
    pub fn is_changed(&self) -> bool {
        self.rejection.is_none() && (!self.changes.is_empty() || self.dropped > 0)
    }

    /// The output's bytes, in pieces; the input's where nothing changed or the result was rejected.
    pub fn pieces(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        if self.is_changed() {
            Box::new(self.transcript.pieces())
        } else {
            Box::new(std::iter::once(self.transcript.base()))
        }
    }

    /// What the output names in the store: the name and the content of each.
    pub fn offloads(&self) -> impl Iterator<Item = (&str, Content<'_, 'a>)> + '_ {
        let changes = if self.is_changed() {
            self.changes.as_slice()
        } else {
            &[]
        };
        changes.iter().filter_map(|change| {
            let name = change.stored.as_deref()?;
            Some((name, Content::of(&self.transcript, change.block)))
        })
    }

    /// The transcript as it is now, for those who compare.
    pub fn transcript(&self) -> &Transcript<'a> {
        &self.transcript
    }
}

/// Consecutive lines: the first of each run, and how many.
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

fn errors(findings: &[Finding]) -> u64 {
    findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count() as u64
}

fn reject(
    before: &[Finding],
    after: &[Finding],
    conversations: &[ConversationOutcome],
    first_line: u64,
) -> Option<Rejected> {
    if let Some(finding) = new_findings(before, after).first() {
        return Some(Rejected {
            why: Rejection::NewFinding,
            message: format!(
                "the result would break a rule that the input keeps: {}",
                finding.message
            ),
            line: Some(finding.line + first_line - 1),
        });
    }
    let worse = conversations
        .iter()
        .find(|c| c.tokens_after > c.tokens_before)?;
    Some(Rejected {
        why: Rejection::MoreTokens,
        message: format!(
            "the result would have more tokens ({} instead of {}) in conversation {}",
            worse.tokens_after, worse.tokens_before, worse.id
        ),
        line: None,
    })
}

/// `3 results cleared, 1 result demoted, dead lines dropped`.
fn in_words(actions: &[Action]) -> String {
    let number = |kind| actions.iter().filter(|a| a.kind == kind).count() as u64;
    let mut words = Vec::new();
    for (kind, what) in [
        (ActionKind::Clear, "cleared"),
        (ActionKind::Demote, "demoted"),
    ] {
        if number(kind) > 0 {
            words.push(format!("{} {what}", count(number(kind), "result")));
        }
    }
    if number(ActionKind::Drop) > 0 {
        words.push("dead lines dropped".to_owned());
    }
    words.join(", ")
}
