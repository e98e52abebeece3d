//! One round of a policy's layers over a transcript, in place: the layers that cost nothing, then what is due is summarised,
//! then what the summary has made old among the messages that stayed.
//!
//! `compact` makes one round over a whole session; a live agent makes one before each request, behind [`Gates`] of its own.

use super::work::Words;
use super::{Gates, Pipeline, Round, Summaries, Work};
use crate::artifacts;
use crate::outcome::ActionKind;
use crate::plan::{self, Demote, Keeping, Plan};
use crate::policy::Layer;
use crate::settle::{self, Change};
use crate::transcript::Transcript;

impl Pipeline<'_> {
    /// Whether a round could do anything to a transcript of one conversation, of `total` live tokens, that the round before
    /// has left as it was, and to which nothing but words has been added since.
    ///
    /// A live agent asks before each request. Without new results the layers that look at results find what they found, so
    /// that only what counts tokens, or hears how an answer ended, can have changed its mind.
    pub fn may_act(&self, work: &Work<'_, '_>, total: u64, gates: Gates) -> bool {
        let is_broken = || {
            let conversation = work.transcript.conversations.first();
            conversation.is_some_and(|conversation| {
                plan::broke_off(
                    work.input.format,
                    self.policy,
                    &work.transcript,
                    conversation,
                )
                .is_some()
            })
        };
        let may_summarise = match gates.summaries {
            Summaries::Never => false,
            Summaries::Asked => is_broken(),
            Summaries::Due => plan::may_be_due(self.policy, total, &plan::Force::No) || is_broken(),
            Summaries::Forced => true,
        };
        may_summarise || plan::may_offload(self.policy, total)
    }

    /// Whether a round leaves any conversation alone because of what it is.
    pub fn skips(&self, work: &Work<'_, '_>) -> bool {
        let mut conversations = work.transcript.conversations.iter();
        conversations.any(|c| plan::is_skipped(self.policy, &work.transcript, c))
    }

    /// Runs the layers once, to where another run would change nothing.
    pub fn round(&self, work: &mut Work<'_, '_>, gates: Gates) -> Round {
        let mut round = Round::default();
        let plan = plan::plan(
            work.input.format,
            &work.transcript,
            self.policy,
            self.keeping,
        );
        round.dropped = plan.dead.drop.len();
        let transcript = &work.transcript;
        let undemoted = plan.results.iter().filter(|result| {
            result.demote == Demote::NoStore
                && artifacts::is_oversize(transcript, result, &work.sizes, self.policy)
        });
        round.unkept.demote = undemoted
            .map(|result| transcript.block(result.block).line)
            .collect();
        self.make(work, &plan, &mut round);
        round.offloaded = self.offload(work, &mut round);
        if gates.summaries == Summaries::Never
            || gates.freed.is_some_and(|freed| round.offloaded >= freed)
        {
            return round;
        }
        let counts: Vec<usize> = work
            .transcript
            .conversations
            .iter()
            .map(|conversation| conversation.messages.len())
            .collect();
        let named = self.named(&work.transcript);
        let telling = self.summarise(work, &mut round, gates.summaries);
        // A live agent has sent what was cleared before.
        let is_account = work.source == Words::Input;
        for (told, summarised) in telling.summaries().filter(|_| is_account) {
            let number = work.numbers.get(&told.id).copied().unwrap_or(0);
            // What was cleared and then summarised away was never there, unless its line stays for another's sake.
            let stays = |message: u32| message as usize >= summarised.tail;
            round.changes.retain(|c| {
                c.conversation != number || stays(c.message) || names(&work.transcript, c)
            });
            round.actions.retain(|(of, action)| {
                *of != number
                    || action.kind == ActionKind::Drop
                    || action.message > summarised.tail as u64
            });
        }
        // Nor what left with the task that it belonged to.
        let transcript = &work.transcript;
        round
            .changes
            .retain(|c| !is_account || transcript.is_there(transcript.block(c.block).line));
        let is_summarised = telling.summaries().next().is_some();
        if is_summarised {
            work.find(&telling.told, &counts);
        }
        round.telling = telling;
        if is_summarised {
            self.offload(work, &mut round);
            round.released = released(&work.transcript, named);
        }
        self.hold_targets(work, &mut round);
        round
    }

    /// Offloads what is old; gives the tokens that this has freed.
    fn offload(&self, work: &mut Work<'_, '_>, round: &mut Round) -> u64 {
        if !self.policy.has(Layer::Offload) {
            return 0;
        }
        let totals = work.totals();
        let plan = plan::offload(&work.transcript, self.policy, &totals);
        match self.keeping {
            Keeping::Store => self.make(work, &plan, round),
            Keeping::Nothing => {
                round.unkept.offload |= !self.due(work, &plan).is_empty();
                return 0;
            }
        }
        let after = work.totals();
        let freed = totals.iter().zip(&after);
        freed
            .map(|(before, after)| before.saturating_sub(*after))
            .sum()
    }

    /// Makes what a plan comes to.
    fn make(&self, work: &mut Work<'_, '_>, plan: &Plan, round: &mut Round) {
        let changes = self.due(work, plan);
        self.change(work, plan, changes, round);
    }

    /// What a plan comes to.
    fn due(&self, work: &Work<'_, '_>, plan: &Plan) -> Vec<Change> {
        let artifacts = artifacts::gather(&work.transcript, plan, &work.sizes, self.policy);
        settle::settle(&work.transcript, plan, &artifacts, &work.sizes, self.policy)
    }

    /// Makes changes, with what else a plan has.
    pub(super) fn change(
        &self,
        work: &mut Work<'_, '_>,
        plan: &Plan,
        mut changes: Vec<Change>,
        round: &mut Round,
    ) {
        if changes.is_empty() && plan.dead.drop.is_empty() {
            return;
        }
        let blocks = changes
            .iter()
            .map(|change| work.block_as_read(change.block));
        round.replaced.extend(blocks);
        let mut edits = plan.dead.clone();
        edits.extend(settle::contents(&work.transcript, &changes));
        let actions = self.actions(work, plan, &changes);
        for change in &mut changes {
            (change.conversation, change.message) =
                work.numbered(change.conversation, change.message);
        }
        round.add(changes, actions);
        work.change(edits);
    }

    /// What results name in the store, where the policy cleans up.
    fn named(&self, transcript: &Transcript<'_>) -> Vec<String> {
        if self.policy.has(Layer::Offload) && self.policy.offload.cleanup {
            artifacts::offloaded(transcript, self.policy)
        } else {
            Vec::new()
        }
    }
}

/// Whether the transcript names what a change has put into the store.
fn names(transcript: &Transcript<'_>, change: &Change) -> bool {
    change.stored.as_ref().is_some_and(|stored| {
        let line = transcript.block(change.block).line;
        let bytes = transcript.line(line);
        transcript.is_there(line) && memchr::memmem::find(bytes, stored.name.as_bytes()).is_some()
    })
}

/// Those of `named` that no line holds any more.
fn released(transcript: &Transcript<'_>, named: Vec<String>) -> Vec<String> {
    let holds = |name: &str| {
        let lines = 0..transcript.lines().len() as u32;
        lines
            .filter(|line| transcript.is_there(*line))
            .any(|line| memchr::memmem::find(transcript.line(line), name.as_bytes()).is_some())
    };
    named.into_iter().filter(|name| !holds(name)).collect()
}
