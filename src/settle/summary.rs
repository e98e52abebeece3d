//! A summary that is as large as it may be: what is kept, what it tells and what is put back are weighed against each
//! other until the result fits.
//!
//! PURE. Where a cap binds, restored files give way first, then what the summary tells besides the user's words, then the
//! kept messages down to the last answer, and that too where it alone takes half, then the user's words but for the last
//! ones. What is still too large then is the smallest result there is, and the outcome says that the target was not
//! reached.

use super::draft::{Draft, Wrote};
use crate::artifacts::{Refused, Reply};
use crate::facts::{Earlier, Left};
use crate::format::Summaries;
use crate::ids::IdSet;
use crate::outcome::{Restored, Spent, SummaryOutcome, TargetOutcome};
use crate::plan::{Cut, Cutter, Recent, Recents, Section};
use crate::policy::{Layer, OnFailure, Policy, Role as Speaker, SummaryWhen, TooLarge};
use crate::tokens::{Estimator, Size};
use crate::transcript::{BlockKind, Conversation, Role, Transcript};

/// So often a summary is asked for again because it came out larger than the room for it.
pub(super) const ROUNDS: usize = 6;

/// Of what a cap leaves to a summary, at most so many hundredths are for files that come back: they tell less of what will be
/// needed than it does.
const FILES: u64 = 10;

/// One part of so many of a cap stays free where tokens are estimated: a summary's text, which is all names, takes more of a
/// model's tokens than what it was estimated by.
const MARGIN: u64 = 33;

/// A conversation that is to be summarised.
#[derive(Debug)]
pub struct Summing<'s> {
    /// The input, with nothing cleared.
    pub transcript: &'s Transcript<'s>,
    /// The conversation there.
    pub conversation: &'s Conversation,
    /// What each of its messages is to a later compaction.
    pub left: &'s [Left],
    /// What such messages look like.
    pub earlier: &'s Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// The sizes of the messages as the free layers have left them.
    pub sizes: &'s [Size],
    /// The live tokens of the input.
    pub before: u64,
    /// Where the conversation may be cut.
    pub cutter: &'s Cutter<'s>,
    /// What another summariser has written, if one was asked.
    pub reply: Option<&'s Reply>,
    /// How many messages it tells.
    pub told: Option<usize>,
    /// Names and figures in it that it was not given.
    pub invented: u64,
    /// The files that may come back, if any.
    pub recents: Option<&'s Recents<'s>>,
    /// The results that a free layer has replaced.
    pub replaced: &'s IdSet<u32>,
    /// How the format writes summaries.
    pub summaries: Summaries,
    /// How tokens are counted.
    pub estimator: &'s Estimator,
    /// What the summary must keep, in the words of whoever asked for it; "" = nothing special.
    pub instructions: &'s str,
    /// The name of the original in the store, for summaries that name it.
    pub archive: &'s str,
    /// The policy.
    pub policy: &'s Policy,
}

/// What came of it.
#[derive(Debug)]
pub enum Settled {
    /// A summary takes the place of the messages before the cut.
    Summarised(Box<Summarised>),
    /// The conversation stays as it is.
    Stays {
        /// Why.
        why: String,
        /// What was tried.
        tried: Option<Box<SummaryOutcome>>,
        /// The cap, as far as it was asked for.
        target: Option<TargetOutcome>,
    },
}

/// A summary, or the lack of one, ready to be put into its conversation.
#[derive(Debug)]
pub struct Summarised {
    /// The first message that stays, from 0; the number of messages where none does.
    pub tail: usize,
    /// What comes in the place of the others; none where they only leave.
    pub says: Option<Says>,
    /// What becomes of the messages that stay.
    pub kept: Kept,
    /// The tokens of the messages that leave.
    pub replaced: u64,
    /// The live tokens before it, with what the free layers have cleared.
    pub now: u64,
    /// The live tokens that the result stays below: these, or those of the input.
    pub bound: u64,
    /// The live tokens of the result.
    pub total: u64,
    /// For the report.
    pub outcome: SummaryOutcome,
    /// What was put back.
    pub restored: Vec<Restored>,
    /// The cap, if there is one.
    pub target: Option<TargetOutcome>,
}

/// A summary's message, and what answers it.
#[derive(Debug)]
pub struct Says {
    /// The message.
    pub text: String,
    /// Who says it.
    pub role: Role,
    /// The answer to it; "" = none.
    pub acknowledgement: String,
    /// The tokens of the message.
    pub tokens: u64,
}

/// What becomes of the messages that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// They stay as they are.
    Whole,
    /// Reasoning, calls and results leave them, but for the last answer's.
    Pruned,
}

impl Summing<'_> {
    /// Settles the summary; `asked` is the policy's cut.
    pub fn settle(&self, asked: Cut) -> Settled {
        let cap = self.policy.target.cap(self.before);
        let now = self.now();
        let stays = |why: &str| Settled::Stays {
            why: why.to_owned(),
            tried: self.failed(),
            target: cap.map(|cap| TargetOutcome::new(cap, now)),
        };
        let other = match self.reply.map(|reply| &reply.text) {
            Some(Ok(text)) => Some(text.as_str()),
            Some(Err(Refused::Pending)) => {
                return stays("pending: a dry run asks no server, and no earlier answer is kept");
            }
            Some(Err(Refused::Failed(why))) => {
                let why = format!("no summary could be had: {why}");
                match self.policy.summary.on_failure {
                    OnFailure::Extractive => None,
                    OnFailure::Keep => return stays(&why),
                    OnFailure::Prune => {
                        let last = self.last_turns(asked, cap, Kept::Pruned);
                        return last.unwrap_or_else(|| stays(&why));
                    }
                }
            }
            None => None,
        };
        let Some(draft) = self.draft(asked, cap, other) else {
            return stays(self.lack());
        };
        if self.is_too_large(draft.total, cap)
            && let Some(last) = self.last_turns(asked, cap, Kept::Whole)
        {
            return last;
        }
        if draft.total >= self.bound() {
            return stays("a summary would not be smaller");
        }
        let reached = cap.filter(|cap| now <= *cap && *cap < self.bound());
        if reached.is_some_and(|cap| draft.total > cap) {
            return stays("the target is reached, and leaves no room for a summary");
        }
        let tells_more = draft.tells_more_than_words();
        let summarised = self.finish(draft, cap);
        if reached.is_some() && !tells_more && summarised.restored.is_empty() {
            return stays(
                "the target is reached, and a summary would tell nothing of what was cleared",
            );
        }
        Settled::Summarised(Box::new(summarised))
    }

    /// Whether the policy has a result of so many tokens give way to the last turns.
    fn is_too_large(&self, total: u64, cap: Option<u64>) -> bool {
        let limit = self.policy.summary.too_large_limit(&self.policy.window);
        match self.policy.summary.too_large {
            TooLarge::LastTurns => limit.or(cap).is_some_and(|limit| total > limit),
            TooLarge::Shrink | TooLarge::Accept => false,
        }
    }

    /// No summary at all: what is older than the messages that the policy keeps only leaves. `None` where nothing does.
    fn last_turns(&self, asked: Cut, cap: Option<u64>, kept: Kept) -> Option<Settled> {
        let count = self.sizes.len();
        let asked = match kept {
            Kept::Whole => asked,
            Kept::Pruned => self.cutter.by_pruned(&self.policy.summary, &self.tokens()),
        };
        // A policy that keeps nothing would leave nothing; and no summary tells the last words of the user.
        let cut = if asked.tail < count {
            asked
        } else {
            self.cutter.least()
        };
        let cut = self.cutter.with_last_words(cut);
        if !self.cutter.has_span(cut) {
            return None;
        }
        let stays = (0..count).filter(|n| *n >= cut.tail || self.is_system(*n));
        let total = self.estimator.total(stays.map(|n| self.sizes[n]));
        let counts = |n: &usize| !self.is_system(*n);
        let fallback = match kept {
            Kept::Whole => "last_turns",
            Kept::Pruned => "prune",
        };
        Some(Settled::Summarised(Box::new(Summarised {
            tail: cut.tail,
            says: None,
            kept,
            replaced: self.span(cut),
            now: self.now(),
            bound: self.bound(),
            total,
            outcome: SummaryOutcome {
                preserved_messages: (cut.tail..count).filter(counts).count() as u64,
                messages: (0..cut.tail).filter(counts).count() as u64,
                fallback: Some(fallback.to_owned()),
                cut_moved: cut.moved,
                ..self.tried()
            },
            restored: Vec::new(),
            target: cap.map(|cap| TargetOutcome::new(cap, total)),
        })))
    }

    /// Why nothing is summarised where nothing new stands before the kept messages.
    fn lack(&self) -> &'static str {
        let is_earlier = |left: &Left| *left != Left::Nothing;
        if self.left.iter().any(is_earlier) {
            "nothing to compact: nothing but an earlier summary stands before the kept messages"
        } else {
            "nothing to compact: no message stands before the kept ones"
        }
    }

    /// The live tokens as the free layers have left them.
    pub(super) fn now(&self) -> u64 {
        self.estimator.total(self.sizes.iter().copied())
    }

    /// The live tokens that a result has to stay below. Where a summary is asked for in any case and the input is over the cap,
    /// those of the input: clearing outputs may have reached the cap alone, and what room there is is for what they said.
    pub(super) fn bound(&self) -> u64 {
        let is_over = |cap| self.before > cap;
        match self.policy.summary.when {
            SummaryWhen::Always if self.policy.target.cap(self.before).is_some_and(is_over) => {
                self.before.max(self.now())
            }
            SummaryWhen::Always | SummaryWhen::Auto | SummaryWhen::Never => self.now(),
        }
    }

    /// How large the built-in summary shall be. Where the policy fits a summary to a cap and the cap binds, it has what is
    /// left of it besides the files that may come back; `others` gives the live tokens that do not count as the summary's.
    pub(super) fn size(&self, cut: Cut, limit: u64, others: impl FnOnce() -> u64) -> u64 {
        let asked = self.policy.summary.size(self.span(cut));
        let is_fitted = self.policy.summary.too_large == TooLarge::Shrink;
        let cap = self.policy.target.cap(self.before);
        if !is_fitted || cap.is_none_or(|cap| self.bound() <= cap) {
            return asked;
        }
        let room = self.but_margin(limit).saturating_sub(others());
        let files = match self.policy.has(Layer::Restore) {
            true => self.policy.restore.tokens_total.min(room * FILES / 100),
            false => 0,
        };
        asked.min(room).max(room - files)
    }

    /// What of a cap is to be filled.
    fn but_margin(&self, cap: u64) -> u64 {
        match self.estimator.is_exact() {
            true => cap,
            false => cap - cap / MARGIN,
        }
    }

    fn finish(&self, draft: Draft, cap: Option<u64>) -> Summarised {
        let (restored, draft) = self.with_files(draft, cap);
        let Draft {
            cut,
            summary,
            source,
            text,
            total,
        } = draft;
        let counts = |n: &usize| !self.is_system(*n);
        let fallback = match (self.reply, source) {
            (Some(_), Wrote::Extractive) => Some("extractive".to_owned()),
            (Some(_) | None, _) => None,
        };
        let outcome = SummaryOutcome {
            success: fallback.is_none(),
            messages: (0..cut.tail).filter(counts).count() as u64,
            preserved_messages: (cut.tail..self.sizes.len()).filter(counts).count() as u64,
            tokens: self.estimator.tokens(self.estimator.text(&summary.text)),
            fallback,
            cut_moved: cut.moved,
            user_verbatim: summary.user_verbatim,
            user_clipped: summary.user_clipped,
            ..self.tried()
        };
        Summarised {
            tail: cut.tail,
            says: Some(Says {
                role: self.role(),
                acknowledgement: self.acknowledgement(cut).to_owned(),
                tokens: self
                    .estimator
                    .tokens(self.estimator.message(self.role(), &text)),
                text,
            }),
            kept: Kept::Whole,
            replaced: self.span(cut),
            now: self.now(),
            bound: self.bound(),
            total,
            outcome,
            restored,
            target: cap.map(|cap| TargetOutcome::new(cap, total)),
        }
    }

    /// A draft with the files that come back, as far as there is room: they are paid from what the summary saves, and
    /// never bring a conversation over its trigger again.
    fn with_files(&self, draft: Draft, cap: Option<u64>) -> (Vec<Restored>, Draft) {
        if !self.policy.has(Layer::Restore) {
            return (Vec::new(), draft);
        }
        let bound = self.bound();
        let below = match (self.policy.summary.when, self.policy.threshold()) {
            (SummaryWhen::Auto | SummaryWhen::Never, Some(threshold)) => threshold.min(bound),
            (SummaryWhen::Always, _) | (_, None) => bound,
        };
        let cap = cap.map_or(u64::MAX, |cap| self.but_margin(cap));
        let limit = cap.min(below.saturating_sub(1));
        let settings = &self.policy.restore;
        let is_visible = |recent: &&Recent| {
            let from = draft.cut.tail as u32;
            settings.skip_visible && recent.is_visible(from, |b| self.replaced.contains(&b))
        };
        let mut room = limit.saturating_sub(draft.total);
        for _ in 0..ROUNDS {
            if room == 0 {
                break;
            }
            let mut section = Section::new(self.estimator, room);
            let recents = self.recents.into_iter().flat_map(Recents::iter);
            let back = section.put_back(recents.filter(|r| !is_visible(r)), settings);
            if draft.source == Wrote::Other {
                // The built-in summary has them already.
                let from = draft.cut.tail as u32;
                section.put_back_extras(self.transcript, self.conversation, self.policy, from);
            }
            if section.text().is_empty() {
                break;
            }
            let text = format!("{}\n\n{}", draft.text, section.text());
            let total = self.total(draft.cut, &text);
            if total <= limit {
                let restored = back.into_iter().map(|back| Restored {
                    path: back.path,
                    tokens: back.tokens,
                    source: back.source,
                });
                return (
                    restored.collect(),
                    Draft {
                        text,
                        total,
                        ..draft
                    },
                );
            }
            room = room.saturating_sub(total - limit);
        }
        (Vec::new(), draft)
    }

    /// The outcome of an attempt that led to nothing, if there was one.
    fn failed(&self) -> Option<Box<SummaryOutcome>> {
        self.reply.map(|_| Box::new(self.tried()))
    }

    fn tried(&self) -> SummaryOutcome {
        SummaryOutcome {
            source: self.policy.summary.source.name().to_owned(),
            model: self.reply.and_then(|reply| reply.model.clone()),
            success: false,
            messages: 0,
            preserved_messages: self.sizes.len() as u64,
            tokens: 0,
            attempts: self.reply.map_or(1, |reply| reply.attempts),
            fallback: None,
            invented: self.invented,
            cut_moved: 0,
            user_verbatim: 0,
            user_clipped: 0,
            spent: self
                .reply
                .map(|reply| reply.spent)
                .filter(|spent| *spent != Spent::default()),
        }
    }

    pub(super) fn role(&self) -> Role {
        use crate::format::Opening;
        match (self.policy.summary.role, self.summaries) {
            (Speaker::Assistant, Summaries::Message(Opening::Any)) => Role::Assistant,
            (Speaker::User | Speaker::Assistant, _) => Role::User,
        }
    }

    /// The answer to the summary: none in a native record, nor before an answer that begins with thinking.
    pub(super) fn acknowledgement(&self, cut: Cut) -> &str {
        let follows = self.conversation.messages.get(cut.tail);
        let thinks = follows.is_some_and(|message| {
            let first = self.conversation.blocks(message).first();
            let kind = first.map(|block| self.transcript.block(*block).kind);
            message.role == Role::Assistant
                && matches!(kind, Some(BlockKind::Thinking | BlockKind::Redacted))
        });
        match self.summaries {
            Summaries::Message(_) if !thinks => &self.policy.summary.ack,
            Summaries::Message(_) | Summaries::Native => "",
        }
    }

    pub(super) fn is_system(&self, number: usize) -> bool {
        self.conversation.messages[number].role == Role::System
    }

    /// The tokens of each message; none for system messages, which no cut concerns.
    pub fn tokens(&self) -> Vec<u64> {
        let tokens = |(n, size): (usize, &Size)| match self.is_system(n) {
            true => 0,
            false => self.estimator.tokens(*size),
        };
        self.sizes.iter().enumerate().map(tokens).collect()
    }

    /// The tokens of system messages.
    pub fn system(&self) -> u64 {
        let sizes = self.sizes.iter().enumerate();
        sizes
            .filter(|(n, _)| self.is_system(*n))
            .map(|(_, size)| self.estimator.tokens(*size))
            .sum()
    }

    /// The tokens of the messages before a cut.
    pub(super) fn span(&self, cut: Cut) -> u64 {
        self.tokens()[..cut.tail].iter().sum()
    }
}
