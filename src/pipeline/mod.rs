//! One transcript through the stages, in order: read, plan, artifacts, settle, apply, verify.
//!
//! Reads nothing but what artifacts need and writes nothing: the caller decides what becomes of the result. A result
//! that breaks a rule which the input kept, or that has more tokens than the input, is rejected here, and the input
//! stands.

mod account;
mod summarise;

use std::collections::BTreeMap;

use crate::apply::{self, Edit};
use crate::artifacts::{self, Content, Replies, Root};
use crate::error::{Error, ErrorKind, Result};
use crate::facts::Earlier;
use crate::format::{Format, Revision, Warnings};
use crate::outcome::{ActionKind, ConversationOutcome, Rejection, Warning};
use crate::plan::{self, Keeping, Placeholders, Plan};
use crate::policy::{Layer, OnFailure, Policy, Source, SummaryWhen, TooLarge};
use crate::settle::{self, Change};
use crate::tokens::{Estimator, Sizes, usage};
use crate::transcript::{Conversation, ConversationId, Transcript};
use crate::verify::{Finding, Severity, new_findings, verify};
use summarise::Free;

/// What stays the same for all transcripts of a run.
#[derive(Debug)]
pub struct Pipeline<'p> {
    policy: &'p Policy,
    estimator: Estimator,
    keeping: Keeping,
    earlier: Earlier,
    placeholders: Placeholders,
    replies: Replies,
    /// Where files are read from, if anywhere.
    root: Option<Root>,
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
    /// How many conversations were summarised.
    summarised: usize,
    /// What is odd about the result.
    pub warnings: Vec<Warning>,
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
    /// Where the policy asks for what is not built in, or for files below a folder that cannot be read.
    pub fn new(policy: &'p Policy, keeping: Keeping) -> Result<Self> {
        is_built_in(policy)?;
        Ok(Pipeline {
            policy,
            estimator: Estimator::new(&policy.tokens)?,
            keeping,
            earlier: Earlier::of(policy)?,
            placeholders: Placeholders::of(policy)?,
            replies: Replies::default(),
            root: Root::open(&policy.restore)?,
        })
    }

    /// The same pipeline with the answers of a scripted summariser.
    #[must_use]
    pub fn with_replies(self, replies: Replies) -> Self {
        Pipeline { replies, ..self }
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
        let numbers: BTreeMap<ConversationId, u32> = transcript
            .conversations
            .iter()
            .map(|conversation| conversation.id.clone())
            .zip(0..)
            .collect();
        let before: BTreeMap<ConversationId, u64> = numbers
            .iter()
            .filter_map(|(id, n)| Some((id.clone(), conversations.get(*n as usize)?.tokens_before)))
            .collect();

        let plan = plan::plan(format, &transcript, self.policy, self.keeping);
        let artifacts = artifacts::gather(&transcript, &plan, &sizes, self.policy);
        let mut changes = settle::settle(&transcript, &plan, &artifacts, &sizes, self.policy);
        let dropped = plan.dead.lines.len();
        let mut actions = self.actions(&transcript, &plan, &changes, first_line);
        if !changes.is_empty() || dropped > 0 {
            let new = apply::apply(
                &transcript,
                self.edits(format, &transcript, &plan, &changes),
            );
            let dropped = &plan.dead.lines;
            let inserted = BTreeMap::new();
            format.edit(
                &mut transcript,
                Revision {
                    new,
                    dropped,
                    inserted,
                },
            );
        }
        let replaced = changes.iter().map(|change| change.block).collect();
        let free = Free {
            before: &before,
            replaced: &replaced,
        };
        let telling = self.summarise(input, &mut transcript, &mut sizes, free);
        for (told, summarised) in telling.summaries() {
            let number = numbers.get(&told.id).copied().unwrap_or(0);
            // What was cleared and then summarised away was never there.
            let goes = |message: u64| (message as usize) <= summarised.tail;
            changes.retain(|c| c.conversation != number || c.message as usize >= summarised.tail);
            actions.retain(|(of, action)| {
                *of != number || action.kind == ActionKind::Drop || !goes(action.message)
            });
        }
        let summarised = telling.summaries().count();
        let is_changed = !changes.is_empty() || dropped > 0 || summarised > 0;
        let after = if is_changed {
            verify(format, &transcript)
        } else {
            findings.clone()
        };
        self.after(
            &transcript,
            &mut sizes,
            (&numbers, actions),
            &telling,
            first_line,
            &mut conversations,
        );
        let rejection = telling
            .rejected
            .or_else(|| reject(&findings, &after, &conversations, first_line));
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
            summarised,
            warnings: if rejection.is_some() {
                Vec::new()
            } else {
                telling.warnings
            },
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
}

/// Whether all that the policy asks for is built in.
fn is_built_in(policy: &Policy) -> Result<()> {
    if !policy.has(Layer::Summarize) || policy.summary.when == SummaryWhen::Never {
        return Ok(());
    }
    let missing = match (
        policy.summary.source,
        policy.summary.on_failure,
        policy.summary.too_large,
    ) {
        (Source::Anthropic | Source::Openai, _, _) => "summary.source",
        (_, OnFailure::Prune, _) => "summary.on_failure",
        (_, _, TooLarge::LastTurns) => "summary.too_large",
        (
            Source::Extractive | Source::Scripted,
            OnFailure::Extractive | OnFailure::Keep,
            TooLarge::Shrink | TooLarge::Accept,
        ) => return Ok(()),
    };
    Err(Error::new(
        ErrorKind::Config,
        format!("this version does not know how to do what {missing} asks for"),
    )
    .hint(format!(
        "take {missing} out of the policy, or set it with --set {missing}=VALUE"
    )))
}

impl<'a> Compacted<'a> {
    /// Whether the output differs from the input.
    pub fn is_changed(&self) -> bool {
        let some = !self.changes.is_empty() || self.dropped > 0 || self.is_summarised();
        self.rejection.is_none() && some
    }

    /// Whether a summary stands in the output.
    pub fn is_summarised(&self) -> bool {
        self.rejection.is_none() && self.summarised > 0
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
