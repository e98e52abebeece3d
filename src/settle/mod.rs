//! Turns a plan and its artifacts into a change set, with a record of what it does.
//!
//! PURE. Actual sizes decide here: a change that saves nothing is not made, and a summary is as large as its budget allows.
//! `composer.rs` lists which file holds each part of writing a summary.

mod budget;
mod change;
mod clip;
mod composer;
mod content;
mod draft;
mod files;
mod fitting;
mod keep_reason;
mod notices;
mod restored;
mod results;
mod summarised;
mod summary;
mod words;

use crate::artifacts::{Artifacts, SummaryArtifacts};
use crate::format::{self, Format, Splice};
use crate::outcome::{Degraded, MissReason, Warning};
use crate::plan::{Cut, Decision, Plan, Subject, SummaryRequest};
use crate::policy::Policy;
use crate::tokens::Sizes;
use crate::transcript::{ChangeSet, Transcript};

use composer::Composer;

pub use change::Change;
pub use clip::marker_of;
pub use draft::summary_request;
pub use summarised::{KeptMessages, LossReason, Summarised, SummaryMessage, SummaryResult, Tried};
pub use words::TypedMessages;

/// What one step of a round changes.
#[derive(Debug, Default)]
pub struct Settlement {
    /// The changes to the transcript.
    pub changes: ChangeSet,
    /// The results that get new contents.
    pub results: Vec<Change>,
    /// The outcome for each conversation that the plan considered for a summary, in the plan's order.
    pub summaries: Vec<ConversationSettlement>,
}

/// The outcome for one conversation that was considered for a summary.
#[derive(Debug)]
pub struct ConversationSettlement {
    /// Why it is summarised, or why not.
    pub why: String,
    /// The summary, or why there is none.
    pub result: SummaryResult,
    /// Where the summary was placed, if there is one.
    pub placement: Option<Placement>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// Why there is no summary where one was asked for.
    pub degraded: Option<Degraded>,
}

/// A conversation after its summary was placed in it.
#[derive(Debug)]
pub struct Placement {
    /// The conversation's number before the summary was placed.
    pub number: usize,
    /// The number of messages that it has now.
    pub messages: usize,
    /// The id of its first line now, in formats whose lines have ids.
    pub first_id: Option<String>,
}

/// Settles one step: decides which planned changes are made.
pub fn settle(
    format: Format,
    transcript: &Transcript<'_>,
    plan: &Plan<'_>,
    artifacts: &Artifacts<'_>,
    sizes: &Sizes,
    policy: &Policy,
) -> Settlement {
    let mut results = results::results(transcript, &plan.results, &artifacts.stored, sizes, policy);
    for (plan, outputs) in plan.outputs.iter().zip(&artifacts.outputs) {
        let fitted = fitting::fitted(transcript, outputs, &plan.fit, sizes.estimator(), policy);
        results.extend(fitted);
    }
    let mut changes = plan.removed.clone();
    changes.extend(content::contents(transcript, &results));
    let mut summaries = Vec::new();
    for (plan, artifacts) in plan.summaries.iter().zip(&artifacts.summaries) {
        summaries.push(match &plan.decision {
            Decision::Leave { why, target } => ConversationSettlement {
                why: why.clone(),
                result: SummaryResult::Unchanged {
                    why: why.clone(),
                    tried: Tried::No,
                    target: *target,
                },
                placement: None,
                warnings: Vec::new(),
                degraded: None,
            },
            Decision::Summarise {
                subject,
                cut,
                why,
                request,
            } => {
                let planned = Planned {
                    subject,
                    cut: *cut,
                    why,
                    request: *request,
                };
                planned.place_summary(format, artifacts, &mut changes)
            }
        });
    }
    Settlement {
        changes,
        results,
        summaries,
    }
}

/// A summary to be composed and placed.
struct Planned<'p> {
    subject: &'p Subject<'p>,
    cut: Cut,
    why: &'p str,
    request: Option<SummaryRequest>,
}

impl Planned<'_> {
    /// Composes the summary and adds the changes that place it.
    fn place_summary(
        &self,
        format: Format,
        artifacts: &SummaryArtifacts<'_>,
        changes: &mut ChangeSet,
    ) -> ConversationSettlement {
        let subject = self.subject;
        let composer = Composer::new(subject).with(artifacts, self.request);
        let mut settlement = ConversationSettlement {
            why: self.why.to_owned(),
            result: composer.compose(self.cut),
            placement: None,
            warnings: notices::of_answer(subject.first_line, artifacts),
            degraded: notices::failed(artifacts),
        };
        let empty = notices::empty(subject.first_line, artifacts, &settlement.result);
        settlement.warnings.extend(empty);
        let summarised = match &settlement.result {
            SummaryResult::Unchanged { why, .. } => {
                settlement.why.clone_from(why);
                return settlement;
            }
            SummaryResult::Summarised(summarised) => summarised,
        };
        let notices = notices::of_summary(subject.first_line, artifacts, summarised);
        settlement.warnings.extend(notices);
        let kept_less = notices::kept_less(subject, self.cut, summarised);
        settlement.warnings.extend(kept_less);
        let summary = summarised.message.as_ref().map(|message| format::Summary {
            role: message.role,
            text: &message.text,
            acknowledgement: &message.acknowledgement,
            tokens_before: summarised.baseline,
        });
        let conversation = subject.current_conversation();
        match format.dialect().splice(
            subject.current,
            conversation,
            summarised.first_kept,
            summary,
        ) {
            Some(Splice {
                changes: new,
                begins,
            }) => {
                settlement.placement = Some(Placement {
                    number: subject.number,
                    messages: summarised.messages_after(conversation),
                    first_id: begins,
                });
                changes.extend(new);
            }
            None => {
                let target = summarised.target;
                let target = target.map(|target| target.after(summarised.now));
                settlement.why =
                    "the first kept message is not linked to the messages before it".to_owned();
                settlement.result = SummaryResult::Unchanged {
                    why: settlement.why.clone(),
                    tried: Tried::No,
                    target: target.map(|target| target.because(MissReason::KeptMessages)),
                };
            }
        }
        settlement
    }
}
