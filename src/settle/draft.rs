//! Ways to summarise a conversation, from the one that keeps most to the one that keeps least, until one fits.
//!
//! PURE.

use super::composer::Composer;
use crate::facts::{MessageOrigin, note_of_original};
use crate::plan::{Cut, Goal, SummaryRequest};
use crate::policy::{Slot, Substitutions, TargetKind, UserWords};
use crate::summarizer::extractive::{Extract, Row, Section, Source, Summary};
use crate::transcript::{Role, Typed};

/// Of the room below a cap, this many hundredths are for kept messages: with more, a summary tells less of what will be
/// needed than it would for the same tokens.
pub(super) const TAIL: u64 = 30;

/// Kept messages have no more than so many hundredths of what the user's words leave; where the last answer alone takes more,
/// nothing is kept.
const LEAST: u64 = 50;

/// So often a summary is asked for again because it came out larger than the room for it.
pub(super) const ROUNDS: usize = 6;

/// Sizes of the smallest summaries that say something.
const SMALLEST: [u64; 9] = [8, 12, 16, 24, 32, 64, 128, 256, 512];

/// One way to do it.
pub(super) struct Draft {
    pub(super) cut: Cut,
    /// Where the user's words count in it.
    pub(super) words: UserWords,
    pub(super) summary: Summary,
    pub(super) writer: Writer,
    pub(super) text: String,
    pub(super) total: u64,
}

impl Draft {
    /// Whether nothing is told.
    fn is_empty(&self) -> bool {
        self.summary.text.trim().is_empty()
    }

    /// Whether there is anything in it besides what the user has written.
    pub(super) fn tells_more_than_words(&self) -> bool {
        let is_more = |row: &Row| row.section != Section::Requests;
        match self.writer {
            Writer::Extractive => self.summary.rows.iter().any(is_more),
            Writer::Other => true,
        }
    }
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The one that is built in.
    Extractive,
    /// The one that was asked.
    Other,
}

/// What the messages before cuts have to tell: the most work there is in a summary, and several ways share it.
struct Extracts<'s> {
    composer: &'s Composer<'s>,
    known: Vec<(usize, Extract)>,
}

impl<'s> Extracts<'s> {
    fn of(composer: &'s Composer<'s>) -> Self {
        Extracts {
            composer,
            known: Vec::new(),
        }
    }

    fn before(&mut self, cut: Cut) -> &Extract {
        let known = self
            .known
            .iter()
            .position(|(first_kept, _)| *first_kept == cut.first_kept);
        let number = known.unwrap_or_else(|| {
            let extract = Extract::of(self.composer.source(), 0..cut.first_kept);
            self.known.push((cut.first_kept, extract));
            self.known.len() - 1
        });
        &self.known[number].1
    }
}

impl Composer<'_> {
    /// The first draft that fits. Else the last one, of which nothing more could go; or the smallest, where a few words
    /// that were kept take more as a summary. One that saves nothing does not fit: so a summary is as small as it has to
    /// be, and what cannot be summarised now could not be later, when results are cleared.
    pub(super) fn draft(&self, policy_cut: Cut, other: Option<&str>) -> Option<Draft> {
        let writers = match other {
            Some(text) if self.subject.goal.is_some() => vec![Some(text), None],
            Some(text) => vec![Some(text)],
            None => vec![None],
        };
        let most = self.lenient_budget();
        let mut extracts = Extracts::of(self);
        let ways = self.candidates(policy_cut);
        let mut tried = Vec::new();
        for writer in writers {
            // What another one has written tells of the messages that it was given.
            let told = writer.and(self.request).map(|request| request.first_kept);
            let is_told = |cut: &Cut| told.is_none_or(|told| cut.first_kept == told);
            for (cut, words) in ways.iter().copied().filter(|(cut, _)| is_told(cut)) {
                let draft = self.write_draft(cut, words, writer, &mut extracts);
                if draft.is_empty() {
                    continue;
                }
                if draft.total <= most {
                    return Some(draft);
                }
                tried.push(draft);
            }
        }
        let last = tried.pop()?;
        let smallest = tried.into_iter().min_by_key(|draft| draft.total);
        let smaller = smallest.filter(|draft| draft.total < last.total);
        Some(
            smaller
                .filter(|_| last.total >= self.baseline())
                .unwrap_or(last),
        )
    }

    /// What another summariser is asked for, if there is anything to summarise: how many messages it tells, and in how many
    /// tokens. The first way that leaves room for as much as the policy asks for, else the one that leaves most; `policy_cut` is
    /// the policy's cut.
    pub fn request(&self, policy_cut: Cut) -> Option<SummaryRequest> {
        let limit = self.budget();
        let mut extracts = Extracts::of(self);
        let mut most: Option<SummaryRequest> = None;
        for (cut, words) in self.candidates(policy_cut) {
            // Nothing is kept where there is no other way.
            let keeps_nothing = cut.first_kept == self.subject.conversation.messages.len();
            if keeps_nothing && most.is_some_and(|most| most.tokens > 0) {
                continue;
            }
            let size = self.subject.policy.summary.size(self.subject.span(cut));
            let without = self.write_draft(cut, words, Some(""), &mut extracts);
            let room = limit.saturating_sub(without.total);
            let room = room.max(self.min_size(cut)).min(size);
            if most.is_none_or(|most| room > most.tokens) {
                most = Some(SummaryRequest {
                    first_kept: cut.first_kept,
                    tokens: room,
                });
            }
            if room == size {
                break;
            }
        }
        most
    }

    /// What may be kept and what has to be told, from the most to the least; none where nothing new would go.
    pub(super) fn candidates(&self, policy_cut: Cut) -> Vec<(Cut, UserWords)> {
        let words = self.subject.policy.summary.user_words;
        let mut ways = match self.subject.goal {
            Some(goal) if self.subject.total() > goal.cap() => {
                self.candidates_for(policy_cut, goal)
            }
            Some(goal) if self.baseline() > goal.cap() => {
                // The user's words and the last answer have room as they are; of those nothing stays only where the policy
                // has it so, as it would in another run.
                let mut ways = self.candidates_for(policy_cut, goal);
                let end = self.subject.sizes.len().max(policy_cut.first_kept + 1);
                ways.retain(|(cut, told)| *told == words && cut.first_kept < end);
                if ways
                    .iter()
                    .any(|(cut, _)| self.subject.cutter.has_span(*cut))
                {
                    ways
                } else {
                    vec![(policy_cut, words)]
                }
            }
            // Less than the policy keeps is kept only where the cap asks for it: an earlier run has left it there.
            Some(_) | None => vec![(policy_cut, words)],
        };
        ways.retain(|(cut, _)| self.subject.cutter.has_span(*cut));
        ways
    }

    fn candidates_for(&self, policy_cut: Cut, goal: Goal) -> Vec<(Cut, UserWords)> {
        let tokens = self.subject.tokens();
        let kept = |cut: Cut| tokens[cut.first_kept..].iter().sum::<u64>();
        let within = |limit: u64| match kept(policy_cut) > limit {
            true => self.subject.cutter.within(limit, &tokens),
            false => policy_cut,
        };
        let words = self.subject.policy.summary.user_words;
        let end = tokens.len();
        let none = Cut {
            requested: end,
            first_kept: end,
            moved: 0,
        };
        let (share, half, least, nothing) = match goal.kind {
            TargetKind::Cap => {
                let cap = goal.cap().saturating_sub(self.subject.system());
                let beside_words = cap.saturating_sub(self.words(policy_cut, cap));
                let half = beside_words * LEAST / 100;
                (cap * TAIL / 100, half, self.subject.cutter.least(), none)
            }
            // Nothing here depends on what was said before, so that a second run cuts where the first one did.
            TargetKind::Aim => {
                let (share, half) = (goal.tokens * TAIL / 100, goal.tokens * LEAST / 100);
                let pending = self.subject.cutter.pending();
                let least = pending.unwrap_or_else(|| self.subject.cutter.least());
                (share, half, least, pending.unwrap_or(none))
            }
        };
        let first = within(half.min(share));
        let cuts = match goal.kind {
            // The summary tells the last messages, too, and of each no more than there is room for.
            _ if kept(least) > half => vec![nothing],
            TargetKind::Aim if kept(first) > half => vec![least],
            // An earlier run has cut there, and the aim is missed as it was then.
            TargetKind::Aim if !self.subject.cutter.has_span(first) => return Vec::new(),
            _ if least.first_kept > first.first_kept => vec![first, least],
            TargetKind::Cap | TargetKind::Aim => vec![first],
        };
        let mut ways: Vec<(Cut, UserWords)> = cuts.iter().map(|cut| (*cut, words)).collect();
        match goal.kind {
            TargetKind::Aim => return ways,
            TargetKind::Cap => {}
        }
        if words == UserWords::Verbatim {
            ways.extend(cuts.iter().map(|cut| (*cut, UserWords::Budget)));
        }
        // Out of reach with a last answer: then without it.
        if !cuts.contains(&nothing) {
            ways.push((nothing, UserWords::Budget));
        }
        ways
    }

    /// The tokens of the user's words that a summary has to tell, where they could take a large part of a cap.
    fn words(&self, cut: Cut, cap: u64) -> u64 {
        let tokens = self.subject.tokens();
        let may_tell = |n: &usize| {
            let is_typed = self.subject.conversation.messages[*n].typed == Typed::Yes;
            is_typed || self.subject.cutter.origins()[*n] == MessageOrigin::Summary
        };
        let most: u64 = (0..cut.first_kept)
            .filter(may_tell)
            .map(|n| tokens[n])
            .sum();
        if most < cap * TAIL / 100 {
            return 0;
        }
        let words = self.subject.policy.summary.user_words;
        let extract = Extract::words(self.source(), 0..cut.first_kept);
        extract.summary(0, words, self.subject.estimator).tokens
    }

    /// What summaries are made of.
    fn source(&self) -> Source<'_, '_> {
        Source {
            transcript: self.subject.transcript,
            conversation: self.subject.conversation,
            origins: self.subject.cutter.origins(),
            earlier: self.subject.earlier,
            first_line: self.subject.first_line,
            instructions: &self.subject.instructions,
            policy: self.subject.policy,
        }
    }

    fn write_draft(
        &self,
        cut: Cut,
        words: UserWords,
        other: Option<&str>,
        extracts: &mut Extracts<'_>,
    ) -> Draft {
        let extract = extracts.before(cut);
        if let Some(other) = other {
            // The words that have to be told stand behind what another summariser has written, unless it tells them.
            let own = if self.subject.policy.summary.must_keep {
                extract.completing(other, words, self.subject.estimator)
            } else {
                extract.summary(0, words, self.subject.estimator)
            };
            let text = match own.text.as_str() {
                "" => other.to_owned(),
                own => format!("{other}\n\n{own}"),
            };
            return self.to_draft((cut, words), Summary { text, ..own }, Writer::Other);
        }
        let (limit, most) = (self.budget(), self.lenient_budget());
        let least = self.min_size(cut);
        let mut size = self.summary_size(cut, limit, || {
            let least = extract.summary(0, words, self.subject.estimator);
            let counted = least.counted;
            let draft = self.to_draft((cut, words), least, Writer::Extractive);
            draft.total.saturating_sub(counted)
        });
        size = size.max(least);
        let draft = |size| {
            let summary = extract.summary(size, words, self.subject.estimator);
            self.to_draft((cut, words), summary, Writer::Extractive)
        };
        let mut rounds = ROUNDS;
        loop {
            let written = draft(size);
            // Down to its least size a summary gives way to the goal; below that, only to what it would save.
            let (down_to, fits) = match size > least {
                true => (least, limit),
                false => (0, most),
            };
            let excess = written.total.saturating_sub(fits);
            if written.is_empty() && (size == 0 || excess == 0) {
                // It has to say something, or what it replaces would only be gone.
                let more = SMALLEST.into_iter().map(draft);
                return more.into_iter().find(|d| !d.is_empty()).unwrap_or(written);
            }
            if excess == 0 || size == 0 {
                return written;
            }
            rounds -= 1;
            // What it did not use of its size is nothing to be saved.
            let used = size.min(written.summary.counted);
            size = used.saturating_sub(excess).max(down_to);
            if rounds == 0 {
                (size, rounds) = (down_to, ROUNDS);
            }
        }
    }

    fn to_draft(&self, (cut, words): (Cut, UserWords), summary: Summary, writer: Writer) -> Draft {
        let text = self.rendered(&summary.text);
        let total = self.total(cut, &text);
        Draft {
            cut,
            words,
            summary,
            writer,
            text,
            total,
        }
    }

    /// The summary's message, without what is put back.
    pub(super) fn rendered(&self, summary: &str) -> String {
        let template = &self.subject.policy.summary.text;
        // What stands before the summary is not put there twice.
        let summary = summary
            .strip_prefix(template.prefix())
            .filter(|_| !template.holds(Slot::Name))
            .unwrap_or(summary);
        let noted = self.subject.original.map(|tokens| {
            let note = note_of_original(tokens);
            format!("{summary}\n\n{note}")
        });
        let summary = noted.as_deref().unwrap_or(summary);
        template.render(&Substitutions {
            summary,
            name: self.subject.archive,
            ..Substitutions::default()
        })
    }

    /// The live tokens with this summary and what is kept beside it.
    pub(super) fn total(&self, cut: Cut, text: &str) -> u64 {
        let ack = self.acknowledgement(cut);
        let kept = self
            .subject
            .sizes
            .iter()
            .enumerate()
            .filter(|(n, _)| *n >= cut.first_kept || self.subject.is_system(*n));
        let summary = self.subject.estimator.message(self.role(), text);
        let ack = (!ack.is_empty()).then(|| self.subject.estimator.message(Role::Assistant, ack));
        self.subject
            .estimator
            .total(kept.map(|(_, size)| *size).chain([summary]).chain(ack))
    }
}
