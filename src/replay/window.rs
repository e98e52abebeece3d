//! A session in the hands of one policy: what is there now, and what each request costs.
//!
//! One transcript over the recording's bytes, into which lines are pushed as they come: a message keeps its place in these
//! bytes as its name, whatever becomes of its content.

use super::Figures;
use super::recording::Recording;
use crate::ids::IdSet;
use crate::pipeline::{Input, Part, Place, Work};
use crate::tokens::{Estimator, Size, Sizes};
use crate::transcript::{Conversation, Presence, Transcript};

/// The session as it is now.
pub(super) struct Window<'r> {
    pub(super) recording: &'r Recording,
    /// What the policy works on; its sizes are the policy's.
    pub(super) work: Work<'r, 'static>,
    /// As all are counted.
    alike: Sizes,
    /// The first message that is not there yet.
    pub(super) next: usize,
    /// The request before.
    sent: Vec<Message>,
}

/// A message of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    /// What stays the same when its content is replaced.
    name: Name,
    /// The number of its first block: lines that are edited get new ones.
    says: u32,
}

/// What stays the same of a message when its content is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    /// Its place in the recording.
    Recorded(usize),
    /// The number of its first block, for one that the policy has written: nothing is replaced in it.
    Written(u32),
}

/// The same figure in both measures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) tokens: Figures,
    pub(super) own: Figures,
}

impl<'r> Window<'r> {
    /// An empty session.
    pub(super) fn new(recording: &'r Recording, own: Estimator, alike: Estimator) -> Self {
        let input = Input {
            format: recording.format,
            bytes: &recording.bytes,
            first_line: 1,
            part: Part::File,
            place: Place::default(),
        };
        Window {
            recording,
            work: Work::live(input, own),
            alike: Sizes::new(alike),
            next: 0,
            sent: Vec::new(),
        }
    }

    /// Appends the messages up to that number.
    pub(super) fn append(&mut self, end: usize) {
        let messages = self.recording.messages[self.next..end].iter();
        self.work.append(messages.map(|message| message.raw));
        self.next = end;
    }

    /// The tokens that are there, as the policy counts.
    pub(super) fn total(&mut self) -> u64 {
        self.work.totals().iter().sum()
    }

    /// Sends what is there.
    pub(super) fn send(&mut self, costs: &mut Costs) {
        let Work {
            transcript, sizes, ..
        } = &mut self.work;
        let Some(conversation) = transcript.conversations.first() else {
            return;
        };
        let messages = messages(transcript, conversation);
        let first = self.sent.iter().zip(&messages).take_while(|(a, b)| a == b);
        let first = first.count();
        let lost: Vec<usize> = if first == self.sent.len() {
            Vec::new()
        } else {
            let before: IdSet<_> = self.sent.iter().map(|message| message.name).collect();
            let is_known = |n: &usize| before.contains(&messages[*n].name);
            (first..messages.len()).filter(is_known).collect()
        };
        for (sizes, figures) in [
            (sizes, &mut costs.own),
            (&mut self.alike, &mut costs.tokens),
        ] {
            let all = sizes.messages(transcript, conversation);
            let total = sizes.estimator().total(all.iter().copied());
            figures.sent += total;
            figures.peak = figures.peak.max(total);
            if !lost.is_empty() {
                let lost: Size = lost.iter().map(|n| all[*n]).sum();
                figures.cache_lost += sizes.estimator().tokens(lost);
            }
        }
        self.sent = messages;
    }

    /// What is there at the end.
    pub(super) fn end(&mut self, costs: &mut Costs) {
        costs.own.last = self.total();
        let transcript = &self.work.transcript;
        let conversations = transcript.conversations.iter();
        let tokens = conversations.map(|c| self.alike.conversation(transcript, c));
        costs.tokens.last = tokens.sum();
    }
}

/// The messages of a request.
fn messages(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Message> {
    let messages = conversation.messages.iter().map(|message| {
        let line = conversation.first_line(message);
        let slot = &transcript.lines()[line as usize];
        let says = transcript.blocks_of_line(line).start;
        let name = match slot.presence {
            Presence::Kept => Name::Recorded(slot.start),
            Presence::Dropped | Presence::Inserted => Name::Written(says),
        };
        Message { name, says }
    });
    messages.collect()
}
