//! What each step of a round would do, as data.
//!
//! Decides from the transcript and the policy alone; reads nothing else and changes nothing.

use std::cell::OnceCell;

use super::original::Original;
use super::run::{Group, Step};
use super::work::View;
use super::{Pipeline, SummaryGate};
use crate::ids::IdMap;
use crate::plan::{
    self, Cutter, Decision, Due, Fit, Force, Goal, Live, OutputCandidate, OutputPlan, Plan, Room,
    Subject, SummaryPlan,
};
use crate::policy::Source;
use crate::settle;
use crate::tokens::Sizes;
use crate::transcript::{Conversation, Role};

/// Why a conversation that is a request of the agent to itself is skipped.
const REQUEST: &str = "an internal request by the agent";

impl Pipeline<'_> {
    /// Plans a step.
    pub(super) fn plan<'t, 'a, 's: 't>(
        &'t self,
        view: View<'t, 'a, 's>,
        sizes: &mut Sizes,
        original: &'t OnceCell<Option<Original<'a>>>,
        step: Step<'_>,
    ) -> Plan<'t> {
        let (policy, keeping) = (self.policy, self.keeping);
        let (format, transcript) = (view.input.format, view.transcript);
        match step {
            Step::Free => plan::plan(format, transcript, policy, keeping),
            Step::Offload { totals } => plan::offload(transcript, policy, totals),
            Step::Summarise {
                group,
                summaries,
                fitted,
            } => {
                let planner = Planner {
                    pipeline: self,
                    view,
                    original,
                    fitted,
                };
                planner.summaries(sizes, group, summaries)
            }
            Step::Prune { number } => {
                let conversation = &transcript.conversations[number];
                let blocks = plan::prunable(transcript, conversation);
                Plan {
                    removed: format.dialect().without(transcript, conversation, &blocks),
                    ..Plan::default()
                }
            }
            Step::DropDead => Plan {
                removed: format.dead(transcript),
                ..Plan::default()
            },
            Step::Fit {
                number,
                target,
                total,
                tries_left,
            } => Plan {
                outputs: vec![OutputPlan {
                    conversation: number,
                    results: plan::outputs(transcript, number, 0, policy, keeping),
                    fit: Fit::Target {
                        target,
                        total,
                        tries_left,
                    },
                }],
                ..Plan::default()
            },
        }
    }
}

/// Plans summaries.
struct Planner<'f, 't, 'a, 's> {
    pipeline: &'t Pipeline<'t>,
    view: View<'t, 'a, 's>,
    original: &'t OnceCell<Option<Original<'a>>>,
    /// The conversations whose outputs were fitted already, with the reason why a summary was due.
    fitted: &'f IdMap<usize, String>,
}

/// The decision on one conversation.
enum Decided<'t> {
    /// Whether it is summarised.
    Summary(Decision<'t>),
    /// A summary is due, and outputs leave no room for it.
    Overflow(OutputPlan),
}

impl<'t, 'a, 's: 't> Planner<'_, 't, 'a, 's> {
    /// The summaries of a group; or only the outputs to fit, if some leave no room for a summary.
    fn summaries(&self, sizes: &mut Sizes, group: Group, summaries: SummaryGate) -> Plan<'t> {
        let (policy, transcript) = (self.pipeline.policy, self.view.transcript);
        let mut plan = Plan::default();
        for (number, conversation) in transcript.conversations.iter().enumerate() {
            if !group.contains(&conversation.id) {
                continue;
            }
            let force = self.force(conversation, summaries);
            if summaries == SummaryGate::Asked && force == Force::No {
                continue;
            }
            // After its outputs were fitted, a conversation is looked at again even if it is no longer over the trigger.
            let total = sizes.conversation(transcript, conversation);
            let was_due = self.fitted.contains_key(&number);
            if !was_due && !plan::may_be_due(policy, total, &force) {
                continue;
            }
            let (first, decided) = if plan::is_skipped(policy, transcript, conversation) {
                let why = REQUEST.to_owned();
                let target = None;
                ((0, 0), Decided::Summary(Decision::Leave { why, target }))
            } else {
                let subject = self.subject(sizes, number, &force);
                (first_message(&subject), self.decide(subject, &force))
            };
            match decided {
                Decided::Summary(decision) => plan.summaries.push(SummaryPlan {
                    id: conversation.id.clone(),
                    first,
                    decision,
                }),
                Decided::Overflow(outputs) => plan.outputs.push(outputs),
            }
        }
        if !plan.outputs.is_empty() {
            plan.summaries.clear();
        }
        plan
    }

    /// What makes a summary due below the policy's trigger.
    fn force(&self, conversation: &Conversation, summaries: SummaryGate) -> Force {
        match summaries {
            SummaryGate::Forced => Force::Outside("the last answer was cut off".to_owned()),
            SummaryGate::Due | SummaryGate::Asked | SummaryGate::Never => plan::forced(
                self.view.input.format,
                self.pipeline.policy,
                self.view.transcript,
                conversation,
            ),
        }
    }

    /// A conversation with all that is known of it.
    fn subject(&self, sizes: &mut Sizes, number: usize, force: &Force) -> Subject<'t> {
        let Planner { pipeline, view, .. } = self;
        let (policy, input) = (pipeline.policy, view.input);
        let current = view.transcript;
        let original = self.original.get_or_init(|| pipeline.original(*view));
        let (transcript, conversation) = match original {
            Some(original) => original.of(current, number),
            None => (current, &current.conversations[number]),
        };
        let now = &current.conversations[number];
        let origins = pipeline.earlier.origins(transcript, conversation);
        let before = view.before.get(&now.id).copied().unwrap_or(0);
        let mut subject = Subject {
            number,
            transcript,
            conversation,
            acts: OnceCell::new(),
            current,
            cutter: Cutter::new(current, now, origins),
            earlier: &pipeline.earlier,
            first_line: input.first_line,
            sizes: sizes.messages(current, now),
            before,
            goal: None,
            original: None,
            replaced: view.replaced,
            summaries: input.format.dialect().summaries(),
            estimator: &pipeline.estimator,
            instructions: plan::instructions(&policy.summary.instructions, force),
            archive: input.stored.archive.unwrap_or_default(),
            policy,
            weights: input.weights,
        };
        let tokens = self.original_tokens(&subject);
        subject.goal = Goal::of(&policy.target, tokens, subject.system());
        subject.original = policy.target.is_share().then_some(tokens);
        subject
    }

    /// The live tokens of a conversation before its first compaction, if its summaries or the store know them.
    fn original_tokens(&self, subject: &Subject<'_>) -> u64 {
        if !self.pipeline.policy.target.is_share() {
            return subject.before;
        }
        let noted = self.pipeline.earlier.original(
            subject.transcript,
            subject.conversation,
            subject.cutter.origins(),
        );
        let input = self.view.input;
        let recorded = input.stored.originals.and_then(|originals| {
            let id = input.id_of(subject.current_conversation());
            originals.get(&id).copied()
        });
        let read = self.view.read.get(&subject.current_conversation().id);
        [noted, recorded, read.copied()]
            .into_iter()
            .flatten()
            .fold(subject.before, u64::max)
    }

    /// Decides whether a conversation is summarised, and prepares the request.
    fn decide(&self, subject: Subject<'t>, force: &Force) -> Decided<'t> {
        let policy = self.pipeline.policy;
        let fitted = self.fitted.get(&subject.number);
        let (total, goal) = (subject.total(), subject.goal);
        let tokens = subject.tokens();
        let live = Live {
            tokens: &tokens,
            total,
            system: subject.system(),
            goal,
        };
        let due = match (plan::due(policy, force, &subject.cutter, live), fitted) {
            // A summary that was due before outputs were fitted still is, unless the target is reached now.
            (Due::No(_), Some(why)) if goal.is_some_and(|goal| total > goal.cap()) => {
                let cut = subject.cutter.by_policy(&policy.summary, &tokens);
                Due::Yes(cut, why.clone())
            }
            (due, _) => due,
        };
        let (cut, why) = match due {
            Due::Yes(cut, why) => (cut, why),
            Due::No(why) => {
                let goal = goal.filter(|_| fitted.is_some());
                let target = goal.map(|goal| goal.outcome(total));
                return Decided::Summary(Decision::Leave { why, target });
            }
        };
        let overflow = self.overflow(&subject).filter(|_| fitted.is_none());
        if let Some((results, room)) = overflow {
            return Decided::Overflow(OutputPlan {
                conversation: subject.number,
                results,
                fit: Fit::Summary { room, due: why },
            });
        }
        let request = match policy.summary.source {
            Source::Extractive => None,
            Source::Scripted | Source::Anthropic | Source::Openai => {
                settle::summary_request(&subject, cut)
            }
        };
        Decided::Summary(Decision::Summarise {
            subject: Box::new(subject),
            cut,
            why,
            request,
        })
    }

    /// The newest outputs of a conversation and the room for them, if they leave no room for a summary.
    fn overflow(&self, subject: &Subject<'_>) -> Option<(Vec<OutputCandidate>, Room)> {
        let (transcript, pipeline) = (subject.current, self.pipeline);
        let least = subject.cutter.least();
        let (number, policy) = (subject.number, pipeline.policy);
        let results = plan::outputs(
            transcript,
            number,
            least.first_kept,
            policy,
            pipeline.keeping,
        );
        let size = |result: &OutputCandidate| {
            let block = transcript.block(result.place.block);
            let size = pipeline.estimator.result(transcript, block);
            pipeline.estimator.tokens(size)
        };
        let sizes: Vec<u64> = results.iter().map(size).collect();
        let room = Room::beside_one_large(subject, least, &sizes)?;
        Some((results, room))
    }
}

/// The line and the number of the first message that a summary could replace.
fn first_message(subject: &Subject<'_>) -> (u32, usize) {
    let messages = &subject.current_conversation().messages;
    let first = messages
        .iter()
        .position(|message| message.role != Role::System);
    let first = first.unwrap_or(0);
    let was = subject.conversation;
    let line = was
        .messages
        .get(first)
        .map_or(0, |message| was.first_line(message));
    (line, first)
}
