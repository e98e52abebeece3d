//! One round of a policy's layers over a transcript, in place: the layers that cost nothing, then what is due is summarised,
//! then what the summary has made old among the messages that stayed.
//!
//! `compact` makes one round over a whole session; a live agent makes one before each request, behind [`Gates`] of its own.

use std::collections::BTreeMap;

use super::summarise::{Telling, Told};
use super::{Input, Pipeline};
use crate::apply::{self, Edit};
use crate::artifacts;
use crate::format::{Revision, Warnings};
use crate::ids::{IdMap, IdSet};
use crate::outcome::{Action, ActionKind, Degraded, DegradedKind, Warning, WarningKind};
use crate::plan::{self, Demote, Keeping, Plan};
use crate::policy::Layer;
use crate::scan::RawLine;
use crate::settle::{self, Change, Settled, Why};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{ConversationId, Transcript};

/// A transcript on its way.
#[derive(Debug)]
pub struct Work<'a, 's> {
    /// Where it comes from.
    pub(super) input: Input<'a, 's>,
    /// As it is now.
    pub transcript: Transcript<'a>,
    /// The sizes of its blocks.
    pub sizes: Sizes,
    /// Where a summary takes its words from.
    pub(super) source: Words,
    /// The conversations of the input, by number.
    pub(super) numbers: BTreeMap<ConversationId, u32>,
    /// Their live tokens.
    pub(super) before: BTreeMap<ConversationId, u64>,
    /// The scripted answer that comes next.
    pub(super) next_reply: usize,
    /// Of each conversation as it is now, its number in the input and by how many messages it was longer there.
    moved: Vec<(u32, u32)>,
    /// The first block of lines that were edited, as they were read.
    first_blocks: BTreeMap<u32, u32>,
}

/// Where a summary takes its words from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// The input as it was read, before anything was cleared.
    Input,
    /// The transcript as it is now.
    Now,
}

/// What a live agent has decided besides its policy's triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// Whether anything may be summarised.
    pub summaries: Summaries,
    /// Nothing is summarised where offloading has freed so many tokens in this round; `None`: whatever it has freed.
    pub freed: Option<u64>,
}

/// Whether anything may be summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summaries {
    /// Where the policy says so.
    Due,
    /// Even below the policy's trigger.
    Forced,
    /// Only where the transcript itself asks for it, whatever the policy's trigger.
    Asked,
    /// Not now.
    Never,
}

impl Gates {
    /// Nothing stands in the way of what the policy says.
    pub const OPEN: Gates = Gates {
        summaries: Summaries::Due,
        freed: None,
    };
}

/// What a round has done. Conversations and messages are numbered as in the input.
#[derive(Debug, Default)]
pub struct Round {
    /// The results that were replaced.
    pub changes: Vec<Change>,
    /// How many lines have left that no model saw any more.
    pub dropped: usize,
    /// The tokens that offloading has freed before anything was summarised.
    pub offloaded: u64,
    /// What the transcript named in the store and does not any more.
    pub released: Vec<String>,
    /// What was done, for the report, by conversations.
    pub(super) actions: Vec<(u32, Action)>,
    /// What came of summarising.
    pub(super) telling: Telling,
    /// What was due and takes a store, where there is none.
    pub(super) unkept: Unkept,
    /// The results that were replaced, by their blocks in the input.
    pub(super) replaced: IdSet<u32>,
}

/// What was due and takes a store, where there is none.
#[derive(Debug, Default)]
pub(super) struct Unkept {
    /// Whether results were to be offloaded.
    offload: bool,
    /// The lines (from 0) of results that were to be demoted.
    demote: Vec<u32>,
}

impl Unkept {
    /// What a policy asks for that cannot be had.
    pub(super) fn degraded(&self) -> Option<Degraded> {
        self.offload.then(|| Degraded {
            kind: DegradedKind::NoStore,
            message: "the policy's offload step was left out, for there is no store".to_owned(),
        })
    }

    /// What could be done in a better way.
    pub(super) fn warnings(&self, first_line: u64) -> impl Iterator<Item = Warning> + '_ {
        self.demote.iter().map(move |line| Warning {
            kind: WarningKind::NotDemoted,
            line: Some(u64::from(*line) + first_line),
            message: "oversize tool outputs were not moved to the store, for there is none"
                .to_owned(),
        })
    }
}

impl Round {
    /// Whether the transcript differs from what it was.
    pub fn is_changed(&self) -> bool {
        let is_summarised = self.telling.summaries().next().is_some();
        !self.changes.is_empty() || self.dropped > 0 || is_summarised
    }

    /// Notes changes, each with its action. What a target has made of a result that was changed before counts with that.
    fn add(&mut self, changes: Vec<Change>, actions: Vec<(u32, Action)>) {
        let is_for_target = |change: &Change| match change.why {
            Why::Demoted { .. } | Why::Clipped { .. } => true,
            Why::Superseded { .. } | Why::Oversize { .. } | Why::Old { .. } | Why::Offloaded => {
                false
            }
        };
        let is_again = changes.first().is_some_and(is_for_target);
        if !is_again {
            self.actions.extend(actions);
            self.changes.extend(changes);
            return;
        }
        let place =
            |(of, a): &(u32, Action)| (*of, a.line, a.message, a.tool.clone(), a.tokens_after);
        let mut known: IdMap<_, usize> = IdMap::default();
        for (at, earlier) in self.actions.iter().enumerate() {
            known.entry(place(earlier)).or_insert(at);
        }
        for (number, action) in actions {
            let wanted = (
                number,
                action.line,
                action.message,
                action.tool.clone(),
                action.tokens_before,
            );
            match known.get(&wanted) {
                Some(at) => {
                    let tokens_before = self.actions[*at].1.tokens_before;
                    self.actions[*at].1 = Action {
                        tokens_before,
                        ..action
                    };
                }
                None => self.actions.push((number, action)),
            }
        }
        let place = |c: &Change| (c.conversation, c.message, c.named_by, c.tokens_after);
        let mut known: IdMap<_, usize> = IdMap::default();
        for (at, earlier) in self.changes.iter().enumerate() {
            known.entry(place(earlier)).or_insert(at);
        }
        for change in changes {
            let wanted = (
                change.conversation,
                change.message,
                change.named_by,
                change.tokens_before,
            );
            match known.get(&wanted) {
                Some(at) => self.changes[*at].become_smaller(change),
                None => self.changes.push(change),
            }
        }
    }

    /// What came of summarising each conversation that was looked at, with the reason.
    pub fn tried(&self) -> impl Iterator<Item = (&ConversationId, &str, &Settled)> {
        let told = self.telling.told.iter();
        told.map(|told| (&told.id, told.why.as_str(), &told.settled))
    }
}

impl<'a, 's> Work<'a, 's> {
    /// Reads a transcript.
    pub fn read(input: Input<'a, 's>, estimator: Estimator, warnings: &mut Warnings) -> Self {
        let transcript = input.format.read(input.bytes, input.first_line, warnings);
        let mut work = Work {
            input,
            transcript,
            sizes: Sizes::new(estimator),
            source: Words::Input,
            numbers: BTreeMap::new(),
            before: BTreeMap::new(),
            next_reply: 0,
            moved: Vec::new(),
            first_blocks: BTreeMap::new(),
        };
        work.begin();
        work
    }

    /// A transcript that is still to come: its lines are appended as they do, and a summary takes its words from what is
    /// there.
    pub fn live(input: Input<'a, 's>, estimator: Estimator) -> Self {
        let nothing = Input {
            bytes: &[],
            ..input
        };
        let mut work = Work::read(nothing, estimator, &mut Warnings::default());
        work.input = input;
        work.transcript = Transcript::new(input.bytes);
        work.source = Words::Now;
        work
    }

    /// Appends the next lines of the input.
    pub fn append(&mut self, lines: impl IntoIterator<Item = RawLine>) {
        // What is odd about a line is the business of those who read the whole.
        let mut warnings = Warnings::default();
        for line in lines {
            self.input
                .format
                .push(&mut self.transcript, line, &mut warnings);
        }
        self.input.format.extend(&mut self.transcript);
    }

    /// From now on the transcript as it is counts as the input of the next round.
    pub fn begin(&mut self) {
        let ids = || self.transcript.conversations.iter().map(|c| c.id.clone());
        self.numbers = ids().zip(0..).collect();
        self.moved = (0..self.transcript.conversations.len() as u32)
            .map(|number| (number, 0))
            .collect();
        let totals = self.totals();
        let ids = self.transcript.conversations.iter().map(|c| c.id.clone());
        self.before = ids.zip(totals).collect();
        self.first_blocks.clear();
    }

    /// The live tokens of a conversation.
    pub fn total(&mut self, number: usize) -> u64 {
        let conversation = &self.transcript.conversations[number];
        self.sizes.conversation(&self.transcript, conversation)
    }

    /// The live tokens of each conversation.
    pub fn totals(&mut self) -> Vec<u64> {
        let Work {
            transcript, sizes, ..
        } = self;
        let conversations = transcript.conversations.iter();
        conversations
            .map(|c| sizes.conversation(transcript, c))
            .collect()
    }

    /// The number of a block of the transcript as it is now, in the transcript as it was read.
    fn block_as_read(&self, block: u32) -> u32 {
        let line = self.transcript.block(block).line;
        match self.first_blocks.get(&line) {
            Some(first) => first + block - self.transcript.blocks_of_line(line).start,
            None => block,
        }
    }

    /// Applies edits and drops lines.
    fn edit(&mut self, edits: Vec<Edit>, plan: &Plan) {
        let new = apply::apply(&self.transcript, edits);
        for line in new.keys() {
            let first = self.transcript.blocks_of_line(*line).start;
            self.first_blocks.entry(*line).or_insert(first);
        }
        let revision = Revision {
            new,
            dropped: &plan.dead.lines,
            inserted: BTreeMap::new(),
        };
        self.input.format.edit(&mut self.transcript, revision);
    }

    /// A conversation's number and that of one of its messages, as in the input.
    pub(super) fn numbered(&self, conversation: u32, message: u32) -> (u32, u32) {
        match self.moved.get(conversation as usize) {
            Some((number, longer)) => (*number, message + longer),
            None => (conversation, message),
        }
    }

    /// Notes where the conversations of the input are now.
    fn find(&mut self, told: &[Told], counts: &[usize]) {
        let renamed: BTreeMap<&str, &ConversationId> = told
            .iter()
            .map(|told| (told.id_after.as_str(), &told.id))
            .collect();
        let conversations = self.transcript.conversations.iter();
        self.moved = conversations
            .map(|conversation| {
                let id = conversation.id.to_string();
                let id = renamed
                    .get(id.as_str())
                    .copied()
                    .unwrap_or(&conversation.id);
                let number = self.numbers.get(id).copied().unwrap_or(0);
                let was = counts.get(number as usize).copied().unwrap_or(0);
                let longer = was.saturating_sub(conversation.messages.len());
                (number, longer as u32)
            })
            .collect();
    }
}

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
        round.dropped = plan.dead.lines.len();
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
        if changes.is_empty() && plan.dead.lines.is_empty() {
            return;
        }
        let blocks = changes
            .iter()
            .map(|change| work.block_as_read(change.block));
        round.replaced.extend(blocks);
        let edits = self.edits(work, plan, &changes);
        let actions = self.actions(work, plan, &changes);
        for change in &mut changes {
            (change.conversation, change.message) =
                work.numbered(change.conversation, change.message);
        }
        round.add(changes, actions);
        work.edit(edits, plan);
    }

    /// All edits: what was changed, and links to what leaves.
    fn edits(&self, work: &Work<'_, '_>, plan: &Plan, changes: &[Change]) -> Vec<Edit> {
        let transcript = &work.transcript;
        let mut edits = apply::edits(transcript, changes);
        edits.extend(apply::relinked(&plan.dead));
        edits.retain(|edit| !plan.dead.lines.contains(&edit.line));
        edits
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
