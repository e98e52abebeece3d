//! Takes one transcript through the stages: read, then plan, artifacts, settle and apply until nothing changes, then verify.
//!
//! Reads only what artifacts need and writes nothing: the caller decides what to do with the result. A result that breaks a
//! rule which the input keeps, or has more tokens than the input, is rejected, and the input is kept.

mod account;
mod compacted;
mod input;
mod masking;
mod original;
mod planning;
mod released;
mod round;
mod run;
mod summaries;
mod sums;
mod usage;
mod work;

use crate::artifacts::{Replies, Root, Sources, SummaryModel};
use crate::error::{Error, ErrorKind, Result};
use crate::facts::{Earlier, Placeholders, coverage};
use crate::format::Warnings;
use crate::outcome::{Clock, ConversationOutcome, Phase};
use crate::plan::Keeping;
use crate::policy::{Layer, Policy, Redact, Source, SummaryWhen};
use crate::redact::Redactor;
use crate::tokens::{Estimator, Sizes};

use account::first_lines;
use compacted::{errors, reject};

pub use compacted::{Compacted, Rejected};
pub use input::{Input, Part, Stored};
pub use masking::masked_text;
pub use round::{Gates, Round, SummaryGate};
pub use work::Work;

/// What all transcripts of a run share.
#[derive(Debug)]
pub struct Pipeline<'p> {
    policy: &'p Policy,
    estimator: Estimator,
    /// Counts everything that a model reads, if the policy's own estimator does not.
    whole: Option<Estimator>,
    keeping: Keeping,
    earlier: Earlier,
    /// The sources of artifacts.
    sources: Sources<'p>,
    /// Measures the phases, if requested.
    clock: Option<&'p dyn Clock>,
    /// What has switched summaries off, if known: a flag, a variable or a file.
    off_by: Option<&'p str>,
}

impl<'p> Pipeline<'p> {
    /// A pipeline for one policy.
    ///
    /// # Errors
    /// If the policy names a provider, or a folder of files that cannot be read.
    pub fn new(policy: &'p Policy, keeping: Keeping) -> Result<Self> {
        Pipeline::asking(policy, keeping, None)
    }

    /// A pipeline for one policy that asks `server` for summaries if the policy names a provider.
    ///
    /// # Errors
    /// The errors of [`Pipeline::new`], the first only if there is no server.
    pub fn asking(
        policy: &'p Policy,
        keeping: Keeping,
        server: Option<&'p dyn SummaryModel>,
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
            .hint("use --set summary.source=extractive, or scripted with a file of answers"));
        }
        let masks = match policy.redact {
            Redact::Outputs => true,
            Redact::Requests => server.is_some(),
            Redact::Never => false,
        };
        let redactor = masks.then(Redactor::new).transpose();
        let redactor = redactor.map_err(|e| {
            Error::new(ErrorKind::Internal, format!("cannot look for secrets: {e}"))
        })?;
        Ok(Pipeline {
            policy,
            estimator: Estimator::new(&policy.tokens)?,
            whole: usage::whole(&policy.tokens)?,
            keeping,
            earlier: Earlier::of(policy)?,
            sources: Sources {
                policy,
                server,
                replies: Replies::default(),
                root: Root::open(&policy.restore)?,
                redactor,
                placeholders: Placeholders::of(policy)?,
            },
            clock: None,
            off_by: None,
        })
    }

    /// The same pipeline with the origin of the `summary.when` setting, for the reason why nothing is summarised.
    #[must_use]
    pub fn switched_off_by(self, origin: Option<&'p str>) -> Self {
        Pipeline {
            off_by: origin,
            ..self
        }
    }

    /// The same pipeline with the answers of a scripted summariser.
    #[must_use]
    pub fn with_replies(self, replies: Replies) -> Self {
        let sources = Sources {
            replies,
            ..self.sources
        };
        Pipeline { sources, ..self }
    }

    /// The same pipeline, which measures its phases with `clock`.
    #[must_use]
    pub fn timed(self, clock: Option<&'p dyn Clock>) -> Self {
        Pipeline { clock, ..self }
    }

    /// Compacts one transcript.
    pub fn compact<'a>(&self, input: Input<'a, '_>, warnings: &mut Warnings) -> Compacted<'a> {
        let work = Work::parsed(input, self.estimator.clone(), self.clock, warnings);
        self.compact_parsed(input, work)
    }

    /// Compacts one transcript whose blocks have already been measured; reuses the sizes if they come from an equivalent estimator.
    pub fn compact_measured<'a>(
        &self,
        input: Input<'a, '_>,
        sizes: &Sizes,
        warnings: &mut Warnings,
    ) -> Compacted<'a> {
        let mut work = Work::parsed(input, self.estimator.clone(), self.clock, warnings);
        if self.estimator.counts_as(sizes.estimator()) {
            work.sizes = sizes.clone();
        }
        self.compact_parsed(input, work)
    }

    /// Compacts a transcript that has been read.
    fn compact_parsed<'a>(&self, input: Input<'a, '_>, mut work: Work<'a, '_>) -> Compacted<'a> {
        let coverage = coverage(&work.transcript, &self.policy.tools);
        work.lap(self.clock, Phase::Read);
        work.begin();
        work.lap(self.clock, Phase::Plan);
        let Input {
            format,
            part,
            first_line,
            ..
        } = input;
        let (transcript, sizes) = (&work.transcript, &mut work.sizes);
        let (findings, mut conversations) = transcript.both(
            || format.verify(transcript),
            || self.before((format, part, first_line), transcript, sizes),
        );
        work.lap(self.clock, Phase::Verify);
        let masked = self.mask(&mut work, &mut conversations);
        let first_lines = first_lines(&work);
        let windows = self.windows(&mut work);
        let mut round = self.round(&mut work, Gates::OPEN);
        let after = if round.is_changed() {
            self.correct(&mut work, &windows, &round);
            work.lap(self.clock, Phase::Plan);
            let findings = input.format.verify(&work.transcript);
            work.lap(self.clock, Phase::Verify);
            findings
        } else {
            findings.clone()
        };
        self.after(&mut work, &mut round, &mut conversations);
        for (outcome, line) in conversations.iter_mut().zip(first_lines) {
            sums::add_up(outcome, line);
        }
        work.lap(self.clock, Phase::Plan);
        let summarised = round.summaries.summaries().count();
        let Round {
            changes,
            summaries,
            dropped,
            released,
            not_stored,
            ..
        } = round;
        let degraded = summaries.degraded.into_iter().chain(not_stored.degraded());
        let rejection = summaries
            .rejected
            .or_else(|| reject(&findings, &after, &conversations, input.first_line));
        let compacted = Compacted {
            transcript: work.transcript,
            changes,
            dropped,
            masked: masked.len(),
            summarised,
            released,
            degraded: degraded.collect(),
            warnings: masked,
            findings_before: errors(&findings),
            findings_after: errors(&after),
            conversations,
            rejection,
            coverage,
            timings: work.laps.timings(self.clock),
        };
        if compacted.rejection.is_some() {
            return self.kept(input, compacted);
        }
        let mut compacted = compacted;
        compacted.warnings.extend(summaries.warnings);
        compacted
            .warnings
            .extend(not_stored.warnings(input.first_line));
        compacted
    }

    /// The result after a rejection: the input, with its secrets masked.
    fn kept<'a>(&self, input: Input<'a, '_>, rejected: Compacted<'a>) -> Compacted<'a> {
        let mut transcript = rejected.transcript;
        let conversations = rejected.conversations.into_iter();
        let mut conversations: Vec<_> =
            conversations.map(ConversationOutcome::left_alone).collect();
        if rejected.masked > 0 {
            let mut work = Work::read(input, self.estimator.clone(), &mut Warnings::default());
            self.mask(&mut work, &mut conversations);
            transcript = work.transcript;
        }
        Compacted {
            transcript,
            changes: Vec::new(),
            findings_after: rejected.findings_before,
            conversations,
            ..rejected
        }
    }
}

/// Whether a policy has a provider write its summaries.
pub fn asks_a_server(policy: &Policy) -> bool {
    let asks = match policy.summary.source {
        Source::Extractive | Source::Scripted => false,
        Source::Anthropic | Source::Openai => true,
    };
    asks && policy.has(Layer::Summarize) && policy.summary.when != SummaryWhen::Never
}
