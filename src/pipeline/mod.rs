//! One transcript through the stages, in order: read, plan, artifacts, settle, apply, verify.
//!
//! Reads nothing but what artifacts need and writes nothing: the caller decides what becomes of the result. A result
//! that breaks a rule which the input kept, or that has more tokens than the input, is rejected here, and the input
//! stands.

mod account;
mod asking;
mod layers;
mod masking;
mod recorded;
mod results;
mod round;
mod splice;
mod summarise;
mod target;
mod work;

use std::collections::BTreeMap;

use crate::artifacts::{Ask, Content, Replies, Root};
use crate::error::{Error, ErrorKind, Result};
use crate::facts::Earlier;
use crate::format::{Format, Warnings};
use crate::outcome::{ConversationOutcome, Degraded, Rejection, Warning};
use crate::plan::{Keeping, Placeholders};
use crate::policy::{Layer, Policy, Redact, Source, SummaryWhen};
use crate::redact::Redactor;
use crate::settle::Change;
use crate::store::Store;
use crate::tokens::{Estimator, usage};
use crate::transcript::{Conversation, ConversationId, Transcript};
use crate::verify::{Finding, Severity, new_findings};

pub use round::{Gates, Round, Summaries};
pub use work::Work;

/// What stays the same for all transcripts of a run.
#[derive(Debug)]
pub struct Pipeline<'p> {
    policy: &'p Policy,
    estimator: Estimator,
    /// Counts all that a model reads, where the policy does not.
    whole: Option<Estimator>,
    keeping: Keeping,
    earlier: Earlier,
    placeholders: Placeholders,
    replies: Replies,
    /// Who is asked for summaries, where the policy names a provider.
    server: Option<&'p dyn Ask>,
    /// Where files are read from, if anywhere.
    root: Option<Root>,
    /// Finds secrets, where any are to be masked.
    redactor: Option<Redactor>,
}

/// One transcript as it comes in.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, 's> {
    /// How to read it.
    pub format: Format,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The number (from 1) of its first line in its file.
    pub first_line: u64,
    /// Whether it is a whole file or one line of one.
    pub part: Part,
    /// Where things of it are kept.
    pub place: Place<'s>,
}

/// Where things of a transcript are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'s> {
    /// What holds the results that earlier runs have taken out of it, if there is one.
    pub store: Option<&'s Store>,
    /// The name that its original has there, for summaries that name it.
    pub archive: Option<&'s str>,
    /// The live tokens of its conversations before anything was compacted, by their ids in a report, where that is known.
    pub originals: Option<&'s BTreeMap<String, u64>>,
}

impl Input<'_, '_> {
    /// The id of a conversation in a report.
    fn id_of(&self, conversation: &Conversation) -> String {
        match self.part {
            Part::File => conversation.id.to_string(),
            Part::Line => ConversationId::Line(self.first_line).to_string(),
        }
    }
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
    /// How many lines had secrets in them.
    masked: usize,
    /// How many conversations were summarised.
    summarised: usize,
    /// What the output no longer names in the store, and the input did.
    released: Vec<String>,
    /// What was asked for and failed.
    pub degraded: Vec<Degraded>,
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
    /// Where the policy names a provider, or files below a folder that cannot be read.
    pub fn new(policy: &'p Policy, keeping: Keeping) -> Result<Self> {
        Pipeline::asking(policy, keeping, None)
    }

    /// A pipeline for one policy, which asks `server` for summaries where the policy names a provider.
    ///
    /// # Errors
    /// Those of [`Pipeline::new`], where there is no server.
    pub fn asking(
        policy: &'p Policy,
        keeping: Keeping,
        server: Option<&'p dyn Ask>,
    ) -> Result<Self> {
        if server.is_none() && asks_a_server(policy) {
            let why = if cfg!(feature = "http") {
                "this command sends no requests"
            } else {
                "this build cannot send requests: it lacks the feature `http`"
            };
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "summary.source is {:?}, and {why}",
                    policy.summary.source.name()
                ),
            )
            .hint("take --set summary.source=extractive, or scripted with a file of answers"));
        }
        let masks = match policy.redact {
            Redact::Outputs => true,
            Redact::Requests => server.is_some(),
            Redact::Never => false,
        };
        Ok(Pipeline {
            redactor: masks.then(Redactor::new).transpose().map_err(|e| {
                Error::new(ErrorKind::Internal, format!("cannot look for secrets: {e}"))
            })?,
            server,
            policy,
            estimator: Estimator::new(&policy.tokens)?,
            whole: recorded::whole(&policy.tokens)?,
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
    pub fn compact<'a>(&self, input: Input<'a, '_>, warnings: &mut Warnings) -> Compacted<'a> {
        let mut work = Work::read(input, self.estimator.clone(), warnings);
        let masked = self.mask(input, &mut work.transcript);
        if !masked.is_empty() {
            work.begin();
        }
        let findings = input.format.verify(&work.transcript);
        let mut conversations = self.before(&mut work);
        let windows = self.windows(&mut work);
        let round = self.round(&mut work, Gates::OPEN);
        let is_changed = round.is_changed();
        if is_changed {
            self.correct(&mut work, &windows, &round);
        }
        let after = if is_changed {
            input.format.verify(&work.transcript)
        } else {
            findings.clone()
        };
        self.after(&mut work, &round, &mut conversations);
        let Round {
            changes,
            telling,
            dropped,
            released,
            unkept,
            ..
        } = round;
        let summarised = telling.summaries().count();
        let rejection = telling
            .rejected
            .or_else(|| reject(&findings, &after, &conversations, input.first_line));
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
        let mut transcript = work.transcript;
        if rejection.is_some() && !masked.is_empty() {
            // The input stands, but for its secrets.
            transcript = input
                .format
                .read(input.bytes, input.first_line, &mut Warnings::default());
            self.mask(input, &mut transcript);
        }
        Compacted {
            transcript,
            changes: if rejection.is_some() {
                Vec::new()
            } else {
                changes
            },
            dropped,
            masked: masked.len(),
            summarised,
            released,
            degraded: telling
                .degraded
                .into_iter()
                .chain(unkept.degraded())
                .collect(),
            warnings: if rejection.is_some() {
                masked
            } else {
                let unkept = unkept.warnings(input.first_line);
                masked
                    .into_iter()
                    .chain(telling.warnings)
                    .chain(unkept)
                    .collect()
            },
            findings_before: errors(&findings),
            findings_after,
            conversations,
            rejection,
        }
    }

    fn before(&self, work: &mut Work<'_, '_>) -> Vec<ConversationOutcome> {
        let input = work.input;
        let Input { format, part, .. } = input;
        let Work {
            transcript, sizes, ..
        } = work;
        let outcome = |conversation: &Conversation| {
            let tokens = sizes.conversation(transcript, conversation);
            let id = input.id_of(conversation);
            let messages = conversation.messages.len() as u64;
            let mut outcome =
                ConversationOutcome::unchanged(id, self.estimator.name(), tokens, messages);
            outcome.usage = usage(format, transcript, conversation, sizes);
            outcome.threshold = self.policy.threshold();
            outcome.reason = match (self.policy.layers.is_empty(), messages) {
                (true, _) => "no layer is on",
                (false, 0) => "nothing to compact",
                (false, _) => "nothing to gain",
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

/// Whether a policy has summaries written by a provider.
pub fn asks_a_server(policy: &Policy) -> bool {
    let asks = match policy.summary.source {
        Source::Extractive | Source::Scripted => false,
        Source::Anthropic | Source::Openai => true,
    };
    asks && policy.has(Layer::Summarize) && policy.summary.when != SummaryWhen::Never
}

impl<'a> Compacted<'a> {
    /// Whether the output differs from the input.
    pub fn is_changed(&self) -> bool {
        let some = !self.changes.is_empty() || self.dropped > 0 || self.is_summarised();
        self.masked > 0 || self.rejection.is_none() && some
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
    pub fn offloads(&self) -> impl Iterator<Item = (&str, Content<'_>)> + '_ {
        let changes = if self.is_changed() {
            self.changes.as_slice()
        } else {
            &[]
        };
        changes.iter().filter_map(|change| {
            let stored = change.stored.as_ref()?;
            let content = Content::stored(stored, &self.transcript, change.block);
            Some((stored.name.as_str(), content))
        })
    }

    /// What the input names in the store and the output does not, where the policy cleans up after a summary.
    pub fn released(&self) -> &[String] {
        if self.is_summarised() {
            &self.released
        } else {
            &[]
        }
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
