//! Summaries take their places in a transcript, and what was settled to leave leaves.
//!
//! Never decides what is summarised, nor what a summary says. What was to stay is counted afterwards: an agent that meets a
//! missing link loses the rest without a word, and so would we.

use super::results::Told;
use super::{Pipeline, Rejected, Work};
use crate::apply::apply;
use crate::format::{self, Splice};
use crate::ids::IdMap;
use crate::outcome::{Missed, Rejection};
use crate::plan::prunable;
use crate::policy::History;
use crate::settle::{Kept, Settled, Summarised};
use crate::text::count;
use crate::transcript::{ChangeSet, Conversation, Role, Transcript};

/// A conversation that is summarised, by its number in the transcript as it is now.
pub(super) struct Made {
    pub(super) number: usize,
    pub(super) told: Told,
    /// The messages that the conversation has afterwards.
    pub(super) messages: usize,
    /// The id of the line that it begins with afterwards, in formats whose lines have one.
    pub(super) begins: Option<String>,
}

impl Pipeline<'_> {
    /// The transcript with these summaries in it.
    pub(super) fn spliced(
        &self,
        work: &mut Work<'_, '_>,
        mut made: Vec<Made>,
    ) -> (Vec<Told>, Option<Rejected>) {
        if made.is_empty() {
            return (Vec::new(), None);
        }
        let format = work.input.format;
        let transcript = &mut work.transcript;
        let mut all = ChangeSet::default();
        for Made {
            number,
            told,
            begins: begins_with,
            ..
        } in &mut made
        {
            let Settled::Summarised(summarised) = &told.settled else {
                continue;
            };
            let conversation = &transcript.conversations[*number];
            let now = summarised.now;
            let summary = summarised.says.as_ref().map(|says| format::Summary {
                role: says.role,
                text: &says.text,
                acknowledgement: &says.acknowledgement,
                tokens_before: summarised.bound,
            });
            let splice =
                format
                    .dialect()
                    .splice(transcript, conversation, summarised.tail, summary);
            let Some(Splice { changes, begins }) = splice else {
                let why = "the first message that stays hangs on nothing".to_owned();
                let target = summarised.target;
                let target = target.map(|target| target.after(now).because(Missed::KeptMessages));
                told.why.clone_from(&why);
                told.settled = Settled::Stays {
                    why,
                    tried: None,
                    target,
                };
                continue;
            };
            all.extend(changes);
            *begins_with = begins;
        }
        apply(format, transcript, all);
        let beginnings = Beginnings::of(transcript);
        let rejected = made.iter().find_map(|made| {
            let found = beginnings.find(made, transcript);
            made.check(found)
        });
        for made in &mut made {
            self.prune(work, made);
        }
        let transcript = &mut work.transcript;
        if self.policy.history == History::Drop {
            let dead = format.dialect().dead(transcript);
            apply(format, transcript, dead);
        }
        // A sidechain takes its name from its first line, which may have left.
        let beginnings = Beginnings::of(transcript);
        for made in &mut made {
            if let Some(conversation) = beginnings.find(made, transcript) {
                made.told.id_after = conversation.id.to_string();
            }
        }
        (made.into_iter().map(|made| made.told).collect(), rejected)
    }

    /// Takes reasoning, calls and results out of what stays of a conversation, where that was settled.
    fn prune(&self, work: &mut Work<'_, '_>, made: &mut Made) {
        let is_whole = |summarised: &Summarised| summarised.kept == Kept::Whole;
        match &made.told.settled {
            Settled::Summarised(summarised) if !is_whole(summarised) => {}
            Settled::Summarised(_) | Settled::Stays { .. } => return,
        }
        let number = Beginnings::of(&work.transcript).number(made);
        let number = number.filter(|number| *number < work.transcript.conversations.len());
        let (Settled::Summarised(summarised), Some(number)) = (&mut made.told.settled, number)
        else {
            return;
        };
        let Work {
            input,
            transcript,
            sizes,
            ..
        } = work;
        let conversation = &transcript.conversations[number];
        let blocks = prunable(transcript, conversation);
        let pruned = input
            .format
            .dialect()
            .without(transcript, conversation, &blocks);
        apply(input.format, transcript, pruned);
        if let Some(conversation) = transcript.conversations.get(number) {
            let total = sizes.conversation(transcript, conversation);
            summarised.total = total;
            summarised.target = summarised.target.map(|target| target.after(total));
            summarised.outcome.preserved_messages = conversation
                .messages
                .iter()
                .filter(|message| message.role != Role::System)
                .count() as u64;
        }
    }
}

/// The messages that a conversation has afterwards.
pub(super) fn messages_after(conversation: &Conversation, summarised: &Summarised) -> usize {
    let system = |n: &usize| conversation.messages[*n].role == Role::System;
    let new = match &summarised.says {
        Some(says) if says.acknowledgement.is_empty() => 1,
        Some(_) => 2,
        None => 0,
    };
    (0..summarised.tail).filter(system).count() + new + conversation.messages.len()
        - summarised.tail
}

/// The conversations of a transcript by the id of the line that they begin with.
struct Beginnings<'c>(IdMap<&'c [u8], usize>);

impl<'c> Beginnings<'c> {
    fn of(transcript: &'c Transcript<'_>) -> Self {
        let mut found = IdMap::default();
        for (number, conversation) in transcript.conversations.iter().enumerate() {
            let first = conversation.path.first().map(|line| *line as usize);
            if let Some((line, link)) =
                first.and_then(|line| Some((line, transcript.links().get(line)?)))
            {
                let id = transcript.bytes(line as u32, link.id);
                found.entry(id).or_insert(number);
            }
        }
        Beginnings(found)
    }

    /// The conversation with this summary in it: by its number, where lines have no ids.
    fn number(&self, made: &Made) -> Option<usize> {
        match &made.begins {
            Some(id) => self.0.get(id.as_bytes()).copied(),
            None => Some(made.number),
        }
    }

    fn find(&self, made: &Made, transcript: &'c Transcript<'_>) -> Option<&'c Conversation> {
        transcript.conversations.get(self.number(made)?)
    }
}

impl Made {
    /// Whether what was to stay is still there: an agent that meets a missing link loses the rest without a word, and so
    /// would we.
    fn check(&self, found: Option<&Conversation>) -> Option<Rejected> {
        let Settled::Summarised(_) = self.told.settled else {
            return None;
        };
        let there = found.map_or(0, |c| c.messages.len());
        (there != self.messages).then(|| Rejected {
            why: Rejection::LostMessages,
            message: format!(
                "the result would have {there} instead of {} in conversation {}",
                count(self.messages as u64, "message"),
                self.told.id
            ),
            line: None,
        })
    }
}
