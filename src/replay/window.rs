//! A session in the hands of one policy: what is there now, and what each request costs.
//!
//! One transcript over the recording's bytes, into which lines are pushed as they come: a message keeps its place in these
//! bytes as its name, whatever becomes of its content.

use super::Figures;
use super::recording::Recording;
use crate::ids::IdSet;
use crate::pipeline::{Gates, Input, Part, Pipeline, Place, Round, Work};
use crate::tokens::{Estimator, Growing, Size, Sizes};
use crate::transcript::{BlockKind, Conversation, Presence, Transcript};

/// The session as it is now.
pub(super) struct Window<'r> {
    pub(super) recording: &'r Recording,
    /// What the policy works on; its sizes are the policy's.
    pub(super) work: Work<'r, 'static>,
    /// As all are counted.
    alike: Sizes,
    /// The first message that is not there yet.
    pub(super) next: usize,
    /// What is there, as the policy counts.
    own: Growing,
    /// The same, as all are counted.
    shared: Growing,
    /// What came since a round that had nothing to do.
    news: News,
    /// The request before.
    sent: Vec<Message>,
    /// What became of the messages of the request before.
    past: Past,
}

/// What came since the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// Texts and reasoning, and the round had nothing to do.
    Words,
    /// Anything else; or the round did something, or may do something the next time.
    More,
}

/// What became of the messages of the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    /// They are all there, as they were sent.
    Same,
    /// Some may have changed.
    Changed,
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
            own: Growing::default(),
            shared: Growing::default(),
            news: News::More,
            sent: Vec::new(),
            past: Past::Same,
        }
    }

    /// Appends the messages up to that number.
    pub(super) fn append(&mut self, end: usize) {
        let messages = self.recording.messages[self.next..end].iter();
        let from = self.count();
        self.work.append(messages.map(|message| message.raw));
        self.next = end;
        self.measure(from);
        let Some(conversation) = self.work.transcript.conversations.first() else {
            return;
        };
        let new = conversation.messages[from..].iter();
        let mut blocks = new.flat_map(|message| conversation.blocks(message));
        let is_word = |block: &u32| match self.work.transcript.block(*block).kind {
            BlockKind::Text | BlockKind::Thinking | BlockKind::Redacted => true,
            BlockKind::Image
            | BlockKind::Document
            | BlockKind::Call
            | BlockKind::Result
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => false,
        };
        if !blocks.all(is_word) {
            self.news = News::More;
        }
    }

    /// The messages that are there.
    fn count(&self) -> usize {
        let conversation = self.work.transcript.conversations.first();
        conversation.map_or(0, |conversation| conversation.messages.len())
    }

    /// Adds the messages from that number on to the sums.
    fn measure(&mut self, from: usize) {
        let Work {
            transcript, sizes, ..
        } = &mut self.work;
        let Some(conversation) = transcript.conversations.first() else {
            return;
        };
        for (sizes, growing) in [(sizes, &mut self.own), (&mut self.alike, &mut self.shared)] {
            for message in &conversation.messages[from..] {
                let size = sizes.message(transcript, conversation, message);
                sizes.estimator().add(growing, size);
            }
        }
    }

    /// The tokens that are there, as the policy counts.
    pub(super) fn total(&self) -> u64 {
        self.work.sizes.estimator().grown(self.own)
    }

    /// Runs a policy's layers on what is there, unless it is known that they would do nothing. A debug build looks whether
    /// that was true.
    pub(super) fn round(&mut self, pipeline: &Pipeline<'_>, gates: Gates) -> Round {
        if self.news == News::Words && !pipeline.may_act(&self.work, self.total(), gates) {
            debug_assert!(
                is_idle(&self.run(pipeline, gates)),
                "a round was left out that has something to do"
            );
            return Round::default();
        }
        let round = self.run(pipeline, gates);
        self.news = if is_idle(&round) && !pipeline.skips(&self.work) {
            News::Words
        } else {
            News::More
        };
        if round.is_changed() {
            self.past = Past::Changed;
            (self.own, self.shared) = (Growing::default(), Growing::default());
            self.measure(0);
        }
        round
    }

    fn run(&mut self, pipeline: &Pipeline<'_>, gates: Gates) -> Round {
        self.work.begin();
        pipeline.round(&mut self.work, gates)
    }

    /// Sends what is there.
    pub(super) fn send(&mut self, costs: &mut Costs) {
        let transcript = &self.work.transcript;
        let Some(conversation) = transcript.conversations.first() else {
            return;
        };
        let own = self.work.sizes.estimator().grown(self.own);
        let shared = self.alike.estimator().grown(self.shared);
        for (total, figures) in [(own, &mut costs.own), (shared, &mut costs.tokens)] {
            figures.sent += total;
            figures.peak = figures.peak.max(total);
        }
        match self.past {
            Past::Same => {
                let new = messages(transcript, conversation, self.sent.len());
                self.sent.extend(new);
            }
            Past::Changed => {
                let messages: Vec<Message> = messages(transcript, conversation, 0).collect();
                self.lose(&messages, costs);
                self.sent = messages;
                self.past = Past::Same;
                self.forget_dropped();
            }
        }
    }

    /// Forgets what has left.
    fn forget_dropped(&mut self) {
        let Some(moved) = self.work.forget_dropped() else {
            return;
        };
        self.alike.renumber(&moved);
        let transcript = &self.work.transcript;
        if let Some(conversation) = transcript.conversations.first() {
            self.sent = messages(transcript, conversation, 0).collect();
        }
    }

    /// Counts what a prompt cache had of the request before, and cannot give for these messages.
    fn lose(&mut self, messages: &[Message], costs: &mut Costs) {
        let first = self.sent.iter().zip(messages).take_while(|(a, b)| a == b);
        let first = first.count();
        if first == self.sent.len() {
            return;
        }
        let Work {
            transcript, sizes, ..
        } = &mut self.work;
        let Some(conversation) = transcript.conversations.first() else {
            return;
        };
        let before: IdSet<_> = self.sent.iter().map(|message| message.name).collect();
        let is_known = |n: &usize| before.contains(&messages[*n].name);
        let lost: Vec<usize> = (first..messages.len()).filter(is_known).collect();
        for (sizes, figures) in [
            (sizes, &mut costs.own),
            (&mut self.alike, &mut costs.tokens),
        ] {
            let size =
                |n: &usize| sizes.message(transcript, conversation, &conversation.messages[*n]);
            let lost: Size = lost.iter().map(size).sum();
            figures.cache_lost += sizes.estimator().tokens(lost);
        }
    }

    /// What is there at the end.
    pub(super) fn end(&mut self, costs: &mut Costs) {
        costs.own.last = self.total();
        costs.tokens.last = self.alike.estimator().grown(self.shared);
    }
}

/// Whether a round did nothing, and asked nobody for a summary.
fn is_idle(round: &Round) -> bool {
    !round.is_changed() && round.tried().next().is_none()
}

/// The messages of a request from that number on.
fn messages<'t>(
    transcript: &'t Transcript<'_>,
    conversation: &'t Conversation,
    from: usize,
) -> impl Iterator<Item = Message> + 't {
    conversation.messages[from..].iter().map(|message| {
        let line = conversation.first_line(message);
        let slot = &transcript.lines()[line as usize];
        let says = transcript.blocks_of_line(line).start;
        let name = match slot.presence {
            Presence::Kept => Name::Recorded(slot.start),
            Presence::Dropped | Presence::Inserted => Name::Written(says),
        };
        Message { name, says }
    })
}
