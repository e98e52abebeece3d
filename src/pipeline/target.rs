//! A target holds also where the newest outputs alone are larger: they give way.
//!
//! Twice: before a summary is written, where there would be no room for it; and in the end, where all else has given way.
//! Never touches what an answer says, nor what a person typed.

use super::results::Told;
use super::{Pipeline, Round, Work};
use crate::artifacts::{self, Output};
use crate::ids::IdMap;
use crate::outcome::TargetOutcome;
use crate::plan::{Cutter, Plan, ResultPlan, outputs};
use crate::policy::TargetKind;
use crate::settle::{Room, Settled, Summing, fitted};
use crate::transcript::Transcript;

/// So often outputs are made smaller because together they came out larger than there is room.
const ROUNDS: usize = 6;

/// The newest outputs have so many hundredths of a target that may be missed, whatever else there is.
const OUTPUTS: u64 = 50;

/// The newest outputs of a conversation that is to be summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outputs {
    /// As the free layers have left them.
    AsTheyAre,
    /// As small as they have to be.
    Fitted {
        /// Why the conversation was due before.
        due: String,
    },
}

/// Outputs that leave no room for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crowd {
    /// The first message that stays in any case, from 0.
    from: usize,
    /// The room that they get.
    room: Room,
}

impl Pipeline<'_> {
    /// The newest outputs of a conversation, where they leave no room for its summary.
    pub(super) fn crowd(
        &self,
        (transcript, number): (&Transcript<'_>, usize),
        cutter: &Cutter<'_>,
        summing: &Summing<'_>,
    ) -> Option<Crowd> {
        let least = cutter.least();
        let results = outputs(transcript, number, least.tail, self.policy, self.keeping);
        let size = |result: &ResultPlan| {
            let block = transcript.block(result.block);
            self.estimator
                .tokens(self.estimator.result(transcript, block))
        };
        let sizes: Vec<u64> = results.iter().map(size).collect();
        let room = summing.crowded(least, &sizes)?;
        Some(Crowd {
            from: least.tail,
            room,
        })
    }

    /// Makes room for the summary of a conversation.
    pub(super) fn make_room(
        &self,
        work: &mut Work<'_, '_>,
        number: usize,
        Crowd { from, room }: Crowd,
        round: &mut Round,
    ) {
        let outputs = self.outputs(work, number, from);
        self.fit(work, &outputs, room, round);
    }

    /// Makes outputs smaller where a target does not hold yet, and says whether it does now. A conversation that waits for
    /// a summary, or was to have one and has none, is left alone.
    pub(super) fn hold_targets(&self, work: &mut Work<'_, '_>, round: &mut Round) {
        let mut told = std::mem::take(&mut round.telling.told);
        // Smaller outputs change no conversation's name.
        let ids = work.transcript.conversations.iter();
        let mut numbers = IdMap::default();
        for (number, conversation) in ids.enumerate() {
            numbers.entry(conversation.id.to_string()).or_insert(number);
        }
        for told in &mut told {
            let is_missed = told.target().is_some_and(|target| !target.reached);
            let number = numbers.get(&told.id_after).copied();
            if let (true, Some(target), Some(number)) = (is_missed, told.target(), number) {
                let total = self.fit_all(work, number, *target, round);
                *target = target.after(total);
            }
        }
        round.telling.told = told;
    }

    /// Makes the outputs of a conversation smaller until it is within `target`; gives its live tokens. Where it may be missed,
    /// outputs do not have to make up for what the user typed: they keep a part of it.
    fn fit_all(
        &self,
        work: &mut Work<'_, '_>,
        number: usize,
        target: TargetOutcome,
        round: &mut Round,
    ) -> u64 {
        let cap = target.cap();
        for rounds_left in (0..ROUNDS).rev() {
            let total = work.total(number);
            if total <= cap {
                return total;
            }
            let outputs = self.outputs(work, number, 0);
            let sizes = outputs.iter().map(|output| {
                let block = work.transcript.block(output.result.block);
                self.estimator
                    .tokens(self.estimator.result(&work.transcript, block))
            });
            let all = sizes.sum::<u64>();
            let left = all.saturating_sub(total - cap);
            let tokens = match (target.kind, rounds_left) {
                (TargetKind::Aim, _) => left.max(target.tokens * OUTPUTS / 100),
                (TargetKind::Cap, 0) => 0,
                (TargetKind::Cap, _) => left,
            };
            let room = Room {
                target: target.tokens,
                tokens,
            };
            if all <= tokens || !self.fit(work, &outputs, room, round) {
                return total;
            }
        }
        work.total(number)
    }

    fn outputs(&self, work: &Work<'_, '_>, number: usize, from: usize) -> Vec<Output> {
        let results = outputs(&work.transcript, number, from, self.policy, self.keeping);
        artifacts::outputs(&work.transcript, results, self.policy)
    }

    /// Fits outputs into the room for them; whether any of them has changed.
    fn fit(
        &self,
        work: &mut Work<'_, '_>,
        outputs: &[Output],
        room: Room,
        round: &mut Round,
    ) -> bool {
        let changes = fitted(
            &work.transcript,
            outputs,
            room,
            &self.estimator,
            self.policy,
        );
        let is_changed = !changes.is_empty();
        self.change(work, &Plan::default(), changes, round);
        is_changed
    }
}

impl Told {
    /// The target of a conversation that has its summary, or needs none.
    fn target(&mut self) -> Option<&mut TargetOutcome> {
        match &mut self.settled {
            Settled::Summarised(summarised) => summarised.target.as_mut(),
            Settled::Stays {
                tried: None,
                target,
                ..
            } => target.as_mut(),
            Settled::Stays { tried: Some(_), .. } => None,
        }
    }
}
