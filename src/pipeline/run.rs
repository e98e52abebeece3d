//! One round of a policy's layers over a transcript, in place.
//!
//! A round is a list of steps, and each step is planned as data, its artifacts are gathered, it is settled, and its changes are
//! applied. The free layers come first. Then summaries that are due are written: the built-in one from the input as it was before
//! the free layers, a model's from what they have left. Then results that the summary has made old go to the store, and outputs
//! are shortened if a target is still missed.

use std::cell::OnceCell;

use super::original::Original;
use super::released::{is_named, released};
use super::summaries::{Placed, RoundSummaries};
use super::work::{SummarySource, View};
use super::{Gates, Pipeline, Round, SummaryGate, Work};
use crate::artifacts;
use crate::ids::{IdMap, IdSet};
use crate::outcome::{ActionKind, Phase, TargetOutcome};
use crate::plan::{Content, Fit, Keeping, OutputPlan, Plan, ResultPlan};
use crate::policy::{History, Layer};
use crate::settle::{KeptMessages, Settlement, SummaryResult, settle};
use crate::transcript::{ConversationId, Role};

/// How often outputs are fitted to a target: one pass can come out too large.
const TRIES: u32 = 6;

/// A step of a round.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'s> {
    /// Dead lines are dropped, and the free layers replace results.
    Free,
    /// Old results go to the store.
    Offload {
        /// The live tokens of each conversation.
        totals: &'s [u64],
    },
    /// Old messages become summaries. If outputs leave no room for a summary, only these outputs are fitted.
    Summarise {
        /// Which conversations.
        group: Group,
        /// Whether anything may be summarised.
        summaries: SummaryGate,
        /// The conversations whose outputs were fitted already, with the reason why a summary was due.
        fitted: &'s IdMap<usize, String>,
    },
    /// Reasoning, calls and results are removed from the kept messages, because no summary could be written.
    Prune {
        /// The conversation's number.
        number: usize,
    },
    /// Lines that summaries have made dead are dropped.
    DropDead,
    /// Outputs are shortened, because the conversation is over its target.
    Fit {
        /// The conversation's number.
        number: usize,
        /// The target.
        target: TargetOutcome,
        /// The live tokens of the conversation.
        total: u64,
        /// How many more times they may be fitted.
        tries_left: u32,
    },
}

/// Conversations that are summarised together. The main ones come first: if the call of a task is removed, its sidechain goes
/// too and needs no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// All but sidechains.
    Main,
    /// Sidechains.
    Sidechains,
}

impl Group {
    /// Whether a conversation belongs to the group.
    pub(super) fn contains(self, id: &ConversationId) -> bool {
        match id {
            ConversationId::Sidechain(_) => self == Group::Sidechains,
            ConversationId::Main | ConversationId::Line(_) => self == Group::Main,
        }
    }
}

/// What a step has done.
#[derive(Debug, Default)]
struct Done {
    /// Whether the transcript has changed.
    is_changed: bool,
    /// The conversations whose outputs were fitted for a summary, and why that summary is due.
    fitted: Vec<(usize, String)>,
    /// The conversations that were summarised.
    placed: Vec<Placed>,
}

/// A round in progress.
struct Run<'r, 'a, 's> {
    pipeline: &'r Pipeline<'r>,
    work: &'r mut Work<'a, 's>,
    /// What summaries are made from; kept before the first change.
    original: OnceCell<Option<Original<'a>>>,
    round: Round,
}

impl Pipeline<'_> {
    /// Runs all layers once; another round would change nothing.
    pub fn round(&self, work: &mut Work<'_, '_>, gates: Gates) -> Round {
        let mut run = Run {
            pipeline: self,
            work,
            original: OnceCell::new(),
            round: Round::default(),
        };
        run.step(Step::Free);
        run.round.offloaded = run.offload();
        if gates.let_summarise(run.round.offloaded) {
            run.summarise(gates.summaries);
            run.hold_targets();
        }
        run.round.not_stored.settle(&run.work.transcript);
        run.round
    }
}

impl Run<'_, '_, '_> {
    /// Plans a step, gathers its artifacts, settles it and applies it.
    fn step(&mut self, step: Step<'_>) -> Done {
        let Run {
            pipeline,
            work,
            original,
            round,
        } = self;
        let view = View {
            input: work.input,
            transcript: &work.transcript,
            source: work.source,
            before: &work.before,
            read: &work.read,
            replaced: &work.replaced,
        };
        let context = view.context();
        let (transcript, policy) = (view.transcript, pipeline.policy);
        let (sizes, next_reply) = (&mut work.sizes, &mut work.next_reply);
        let plan = pipeline.plan(view, sizes, original, step);
        work.laps.lap(pipeline.clock, Phase::Plan);
        let sources = &pipeline.sources;
        let artifacts = sources.gather(transcript, &plan, sizes, context, next_reply);
        work.laps.lap(pipeline.clock, Phase::Artifacts);
        let settlement = settle(context.format, transcript, &plan, &artifacts, sizes, policy);
        if let (Step::Offload { .. }, Keeping::Nothing) = (step, pipeline.keeping) {
            round.not_stored.offload |= !settlement.results.is_empty();
            return Done::default();
        }
        let line = |block: u32| work.transcript.block(block).line;
        // Another layer may have replaced a result.
        let left = |why| {
            let replaced = settlement.results.iter().map(|change| change.block);
            let replaced: IdSet<u32> = replaced.collect();
            let stays = large_enough(work, &plan, why).filter(|block| !replaced.contains(block));
            stays.map(line).collect::<Vec<u32>>()
        };
        match step {
            Step::Free => {
                round.dropped = plan.removed.drop.len();
                // Those that were cleared instead are in no store, either.
                let no_store = large_enough(work, &plan, Content::NoStore);
                round.not_stored.demote = no_store.map(line).collect();
                round.not_stored.not_only_text = left(Content::NotOnlyText);
            }
            Step::Offload { .. } => {
                let lines = left(Content::NotOnlyText);
                if !lines.is_empty() {
                    let input = work.transcript.input_lines();
                    let lines = lines.iter().map(|line| input[*line as usize]);
                    round.not_stored.old_not_only_text.extend(lines);
                }
            }
            Step::Summarise { .. } | Step::Prune { .. } | Step::DropDead | Step::Fit { .. } => {}
        }
        let Settlement {
            changes,
            results,
            summaries,
        } = settlement;
        let results = work.renumbered(results);
        let actions = pipeline.actions(work, step, &plan, &results);
        let summaries = plan.summaries.iter().zip(summaries);
        let done = Done {
            is_changed: !changes.is_empty(),
            fitted: fitted(&plan),
            placed: summaries
                .filter_map(|(planned, settlement)| round.summaries.add(planned, settlement))
                .collect(),
        };
        drop((plan, artifacts));
        if done.is_changed {
            original.get_or_init(|| pipeline.original(view));
        }
        work.note(&results, &changes);
        round.add(results, actions);
        work.apply(changes);
        work.laps.lap(pipeline.clock, Phase::Apply);
        done
    }

    /// Offloads old results; returns the tokens that this freed.
    fn offload(&mut self) -> u64 {
        if !self.pipeline.policy.has(Layer::Offload) {
            return 0;
        }
        let before = self.work.totals();
        if !self.step(Step::Offload { totals: &before }).is_changed {
            return 0;
        }
        let after = self.work.totals();
        let freed = before.iter().zip(&after);
        freed
            .map(|(before, after)| before.saturating_sub(*after))
            .sum()
    }

    /// Writes the summaries that are due, then offloads the results that are old now.
    fn summarise(&mut self, summaries: SummaryGate) {
        let conversations = self.work.transcript.conversations.iter();
        let counts: Vec<usize> = conversations.map(|c| c.messages.len()).collect();
        let named = self.pipeline.named(&self.work.transcript);
        for group in [Group::Main, Group::Sidechains] {
            let mut fitted = IdMap::default();
            let placed = loop {
                let done = self.step(Step::Summarise {
                    group,
                    summaries,
                    fitted: &fitted,
                });
                if done.fitted.is_empty() {
                    break done.placed;
                }
                fitted.extend(done.fitted);
            };
            self.finish_summaries(placed);
            // A pending summary can remove sidechains, so these are not requested.
            if self.round.summaries.is_to_come() {
                break;
            }
        }
        if self.work.source == SummarySource::Input {
            self.discard_replaced_changes();
        }
        if self.round.summaries.summaries().next().is_none() {
            return;
        }
        self.work.find(&self.round.summaries.conversations, &counts);
        self.offload();
        self.round.released = released(&self.work.transcript, named);
    }

    /// Checks the conversations that were summarised, prunes them and drops dead lines if that was decided, and notes their new
    /// ids.
    fn finish_summaries(&mut self, mut placed: Vec<Placed>) {
        if placed.is_empty() {
            return;
        }
        let places = self.work.places();
        let mut checked = placed.iter();
        let rejected = checked.find_map(|placed| placed.check(places.find(placed)));
        let results = &mut self.round.summaries;
        results.rejected = results.rejected.take().or(rejected);
        for placed in &mut placed {
            self.prune(placed);
        }
        if self.pipeline.policy.history == History::Drop {
            self.step(Step::DropDead);
        }
        // A sidechain has the id of its first line, which may be removed.
        let places = self.work.places();
        for mut placed in placed {
            if let Some(conversation) = places.find(&placed) {
                placed.result.id_after = conversation.id.to_string();
            }
            self.round.summaries.conversations.push(placed.result);
        }
    }

    /// Removes reasoning, calls and results from the kept messages of a conversation, if that was decided.
    fn prune(&mut self, placed: &mut Placed) {
        let is_pruned = |placed: &Placed| {
            let summarised = placed.result.summarised();
            summarised.is_some_and(|summarised| summarised.kept == KeptMessages::Pruned)
        };
        let number = self.work.places().number(placed);
        let Some(number) = number.filter(|_| is_pruned(placed)) else {
            return;
        };
        self.step(Step::Prune { number });
        let total = self.work.total(number);
        if let (SummaryResult::Summarised(summarised), Some(conversation)) = (
            &mut placed.result.summary,
            self.work.transcript.conversations.get(number),
        ) {
            let messages = conversation.messages.iter();
            let kept = messages.filter(|message| message.role != Role::System);
            summarised.outcome.preserved_messages = kept.count() as u64;
            summarised.total = total;
            summarised.target = summarised.target.map(|target| target.after(total));
        }
    }

    /// Discards the changes of results that were summarised afterwards, unless their lines are still there. (Not for a live
    /// agent, which has sent them already.)
    fn discard_replaced_changes(&mut self) {
        let Round {
            changes,
            actions,
            summaries,
            ..
        } = &mut self.round;
        let transcript = &self.work.transcript;
        let mut tails: IdMap<u32, usize> = IdMap::default();
        for (result, summarised) in summaries.summaries() {
            let number = self.work.number_of(&result.id).unwrap_or(0);
            let tail = tails.entry(number).or_default();
            *tail = summarised.first_kept.max(*tail);
        }
        let tail_of = |number: u32| tails.get(&number).copied().unwrap_or(0);
        changes.retain(|change| {
            let is_kept = change.message as usize >= tail_of(change.conversation);
            // A sidechain may have been removed with its task.
            let is_there = transcript.is_there(transcript.block(change.block).line);
            is_there && (is_kept || is_named(transcript, change))
        });
        actions.retain(|(number, action)| {
            action.kind == ActionKind::Drop || action.message > tail_of(*number) as u64
        });
    }

    /// Shortens outputs where a target is still missed. A conversation whose summary is pending or failed is left alone.
    fn hold_targets(&mut self) {
        // Shorter outputs do not change a conversation's id.
        let mut numbers = IdMap::default();
        for (number, conversation) in self.work.transcript.conversations.iter().enumerate() {
            numbers.entry(conversation.id.to_string()).or_insert(number);
        }
        let RoundSummaries { conversations, .. } = &mut self.round.summaries;
        for mut result in std::mem::take(conversations) {
            let number = numbers.get(&result.id_after).copied();
            let missed = result.target().filter(|target| !target.reached);
            if let (Some(target), Some(number)) = (missed, number) {
                *target = target.after(self.fit(number, *target));
            }
            self.round.summaries.conversations.push(result);
        }
    }

    /// Shortens the outputs of a conversation until it is within `target`, if possible; returns its live tokens.
    fn fit(&mut self, number: usize, target: TargetOutcome) -> u64 {
        for tries_left in (0..TRIES).rev() {
            let total = self.work.total(number);
            let step = Step::Fit {
                number,
                target,
                total,
                tries_left,
            };
            if total <= target.cap() || !self.step(step).is_changed {
                return total;
            }
        }
        self.work.total(number)
    }
}

/// The conversations whose outputs a plan fits for a summary, and why that summary is due.
fn fitted(plan: &Plan<'_>) -> Vec<(usize, String)> {
    let due = |outputs: &OutputPlan| match &outputs.fit {
        Fit::Summary { due, .. } => Some((outputs.conversation, due.clone())),
        Fit::Target { .. } => None,
    };
    plan.outputs.iter().filter_map(due).collect()
}

/// The blocks of the results that are large enough for the store, and do not go there for this reason.
fn large_enough<'p>(
    work: &'p Work<'_, '_>,
    plan: &'p Plan<'_>,
    why: Content,
) -> impl Iterator<Item = u32> + 'p {
    let Work {
        transcript, sizes, ..
    } = work;
    let is_one = move |result: &&ResultPlan<'_>| {
        let candidate = &result.candidate;
        candidate.content == why
            && artifacts::is_large_enough(transcript, result.place.block, candidate, sizes)
    };
    plan.results
        .iter()
        .filter(is_one)
        .map(|result| result.place.block)
}
