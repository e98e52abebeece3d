//! The window of a session under one policy, and the cost of each request.
//!
//! A transcript over the recording's bytes, to which lines are appended. A message is identified by its position in these bytes,
//! even if its content is replaced.

use super::Figures;
use super::recording::Recording;
use crate::ids::IdSet;
use crate::pipeline::{Gates, Input, Part, Pipeline, Round, Stored, Work};
use crate::summarizer::extractive::WEIGHTS;
use crate::tokens::{Estimator, Growing, Size, Sizes};
use crate::transcript::{BlockKind, Conversation, Presence, Transcript};

/// The window of a session.
pub(super) struct Window<'r> {
    pub(super) recording: &'r Recording,
    /// The transcript that the policy works on, with sizes by the policy's estimator.
    pub(super) work: Work<'r, 'static>,
    /// Sizes by the estimator for comparisons.
    alike: Sizes,
    /// The next message to append.
    pub(super) next: usize,
    /// The size of the window by the policy's estimator.
    own: Growing,
    /// The same by the estimator for comparisons.
    shared: Growing,
    /// What was appended since the last round that changed nothing.
    news: News,
    /// The previous request.
    sent: Vec<Message>,
    /// Whether the messages of the previous request are unchanged.
    past: Past,
}

/// What was appended since the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// Only texts and reasoning, and the round changed nothing.
    Words,
    /// Something else; or the round changed something, or the next one may.
    More,
}

/// Whether the messages of the previous request are unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    /// All are present as they were sent.
    Same,
    /// Some may have changed.
    Changed,
}

/// A message of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    /// Its identity, which stays the same when its content is replaced.
    name: Name,
    /// The number of its first block; it changes when the line is edited.
    says: u32,
}

/// The identity of a message, which stays the same when its content is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    /// Its position in the recording.
    Recorded(usize),
    /// The number of its first block, for a message that the policy wrote: its content is never replaced.
    Written(u32),
}

/// A figure by both estimators.
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
            stored: Stored::default(),
            strings: &crate::scan::NO_STRINGS,
            instruction_source: None,
            weights: &WEIGHTS,
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

    /// Appends the messages up to index `end`.
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

    /// The messages in the window.
    fn count(&self) -> usize {
        let conversation = self.work.transcript.conversations.first();
        conversation.map_or(0, |conversation| conversation.messages.len())
    }

    /// Adds the messages from number `from` on to the sums.
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

    /// The tokens in the window by the policy's estimator.
    pub(super) fn total(&self) -> u64 {
        self.work.sizes.estimator().grown(self.own)
    }

    /// Runs a policy's layers on the window, unless they are known to change nothing. A debug build checks that.
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

    /// Counts a request with the current window.
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

    /// Forgets dropped lines.
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

    /// Counts the tokens of the previous request that a prompt cache held and cannot serve for these messages.
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

    /// Records the size of the window at the end.
    pub(super) fn end(&mut self, costs: &mut Costs) {
        costs.own.last = self.total();
        costs.tokens.last = self.alike.estimator().grown(self.shared);
    }
}

/// Whether a round changed nothing and requested no summary.
fn is_idle(round: &Round) -> bool {
    !round.is_changed() && round.tried().next().is_none()
}

/// The messages of a request from number `from` on.
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
