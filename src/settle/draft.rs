//! Drafts of a summary, from the one that keeps most to the one that keeps least, until one fits its budget.
//!
//! PURE. A [`Draft`] is a cut, the text of a summary, and the live tokens of the result.

use super::composer::Composer;
use crate::facts::{MessageOrigin, note_of_original};
use crate::plan::{Cut, Goal, KEPT_SHARE, Subject, SummaryRequest};
use crate::policy::{Slot, Substitutions, TargetKind, UserWords};
use crate::summarizer::extractive::{Extract, ExtractiveSummary, Row, Section, Source, as_prose};
use crate::transcript::{Role, Typed};

/// The share of a cap that kept messages may take, in percent. Whoever sets a cap wants a small session, and a summary then says
/// more in the same tokens: 20 instead of 30 finds 0.9/0.4/0.4 points more of what was needed at 5/10/20 % of the tokens (`ctxpack
/// eval` on 37 sessions), and 2.7/0.8/0.5 more of the commands.
const CAPPED_SHARE: u64 = 20;

/// The share of the cap, less the user's words, that kept messages may use, in percent. If the last answer alone takes more, no
/// message is kept.
const LEAST: u64 = 50;

/// How often a summary is written again because it came out too large.
pub(super) const ROUNDS: usize = 6;

/// Sizes to try for the smallest summary that is not empty, in tokens.
const SMALLEST: [u64; 9] = [8, 12, 16, 24, 32, 64, 128, 256, 512];

/// A summary with its cut.
pub(super) struct Draft {
    pub(super) cut: Cut,
    /// Whether the user's words count against the size of the summary.
    pub(super) words: UserWords,
    pub(super) summary: ExtractiveSummary,
    pub(super) writer: Writer,
    /// The text of the summary's message.
    pub(super) text: String,
    /// The live tokens of the result.
    pub(super) total: u64,
}

impl Draft {
    /// Whether the summary says nothing.
    fn is_empty(&self) -> bool {
        self.summary.text.trim().is_empty()
    }

    /// Whether the summary contains more than the user's words.
    pub(super) fn tells_more_than_words(&self) -> bool {
        let is_more = |row: &Row| row.section != Section::Requests;
        match self.writer {
            Writer::Extractive => self.summary.rows.iter().any(is_more),
            Writer::Model => true,
        }
    }
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The built-in summariser.
    Extractive,
    /// A model, or a scripted answer; rows by the built-in summariser may follow.
    Model,
}

/// The extracts of the messages before each cut. Extracting is most of the work for a summary, and several drafts share it.
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

/// The request to a model, if there is anything to summarise: which messages, in how many tokens. The first candidate with
/// room for the size that the policy asks for; if there is none, the one with the most room.
///
/// Its size is what the rest of the message leaves, so a draft with an empty answer is written to find it.
pub fn summary_request(subject: &Subject<'_>, policy_cut: Cut) -> Option<SummaryRequest> {
    Composer::new(subject).request(policy_cut)
}

impl Composer<'_> {
    /// The first draft that fits the budget. If none does, the last one, which gives up most; or the smallest one if the last
    /// saves nothing (a few short messages can take more tokens as a summary). A draft that saves nothing never fits, so that
    /// what cannot be summarised now cannot be summarised by a later run either, when results are cleared.
    pub(super) fn draft(&self, policy_cut: Cut, other: Option<&str>) -> Option<Draft> {
        let writers = match other {
            Some(text) if self.subject.goal.is_some() => vec![Some(text), None],
            Some(text) => vec![Some(text)],
            None => vec![None],
        };
        let budget = self.lenient_budget();
        let mut extracts = Extracts::of(self);
        let candidates = self.candidates(policy_cut);
        let mut tried = Vec::new();
        for writer in writers {
            // A model's summary covers the messages that were sent to it, so it fits only that cut.
            let covered = writer.and(self.request).map(|request| request.first_kept);
            let fits = |cut: &Cut| covered.is_none_or(|covered| cut.first_kept == covered);
            for (cut, words) in candidates.iter().copied().filter(|(cut, _)| fits(cut)) {
                let draft = self.write_draft(cut, words, writer, &mut extracts);
                if draft.is_empty() {
                    continue;
                }
                if draft.total <= budget {
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

    /// See [`summary_request`].
    fn request(&self, policy_cut: Cut) -> Option<SummaryRequest> {
        let budget = self.budget();
        let mut extracts = Extracts::of(self);
        let mut largest: Option<SummaryRequest> = None;
        for (cut, words) in self.candidates(policy_cut) {
            // A candidate that keeps nothing is the last resort.
            let keeps_nothing = cut.first_kept == self.subject.conversation.messages.len();
            if keeps_nothing && largest.is_some_and(|largest| largest.tokens > 0) {
                continue;
            }
            let policy = &self.subject.policy.summary;
            let without = self.draft_of((cut, words), Some(""), 0, extracts.before(cut));
            let size = match policy.must_keep {
                true => self.summary_size(cut, budget, || without.total),
                false => policy.size(self.subject.span(cut)),
            };
            let room = match (policy.must_keep, self.subject.goal) {
                // A system's own policy asks for the size that its documentation states, however long the history is.
                (false, None) => size,
                (true, _) | (_, Some(_)) => {
                    let room = budget.saturating_sub(without.total);
                    room.max(self.min_size(cut)).min(size)
                }
            };
            let tokens = policy.narrative(room);
            if largest.is_none_or(|largest| tokens > largest.tokens) {
                largest = Some(SummaryRequest {
                    first_kept: cut.first_kept,
                    tokens,
                });
            }
            if room == size {
                break;
            }
        }
        largest
    }

    /// Where to cut and how to treat the user's words, from the candidate that keeps most to the one that keeps least. Empty if
    /// no new message would be summarised.
    pub(super) fn candidates(&self, policy_cut: Cut) -> Vec<(Cut, UserWords)> {
        let words = self.subject.policy.summary.user_words;
        let mut candidates = match self.subject.goal {
            Some(goal) if self.subject.total() > goal.cap() => {
                self.candidates_for(policy_cut, goal)
            }
            Some(goal) if self.baseline() > goal.cap() => {
                // There is room for the user's words and the last answer as they are, so drop the candidates that give these
                // up, as a second run would.
                let mut candidates = self.candidates_for(policy_cut, goal);
                let end = self.subject.sizes.len().max(policy_cut.first_kept + 1);
                candidates.retain(|(cut, own)| *own == words && cut.first_kept < end);
                if candidates
                    .iter()
                    .any(|(cut, _)| self.subject.cutter.has_span(*cut))
                {
                    candidates
                } else {
                    vec![(policy_cut, words)]
                }
            }
            // Only a cap can lead to keeping less than the policy asks for.
            Some(_) | None => vec![(policy_cut, words)],
        };
        candidates.retain(|(cut, _)| self.subject.cutter.has_span(*cut));
        candidates
    }

    fn candidates_for(&self, policy_cut: Cut, goal: Goal) -> Vec<(Cut, UserWords)> {
        let tokens = self.subject.tokens();
        let kept = |cut: Cut| tokens[cut.first_kept..].iter().sum::<u64>();
        let cutter = &self.subject.cutter;
        let within = |limit: u64| match goal.kind {
            _ if kept(policy_cut) <= limit => policy_cut,
            // A cut that moves back to keep a pair whole keeps more than its share, and leaves less room for the summary.
            TargetKind::Cap => cutter.at_most(limit, &tokens),
            TargetKind::Aim => cutter.within(limit, &tokens),
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
                let beside_words = cap.saturating_sub(self.quoted_words(policy_cut, cap));
                let half = beside_words * LEAST / 100;
                (
                    cap * CAPPED_SHARE / 100,
                    half,
                    self.subject.cutter.least(),
                    none,
                )
            }
            // Nothing here depends on the older messages, so that a second run cuts where the first one did.
            TargetKind::Aim => {
                let (share, half) = (goal.tokens * KEPT_SHARE / 100, goal.tokens * LEAST / 100);
                // Where the policy keeps no message, a later run with the goal reached would not keep this one either.
                let is_kept = |pending: &Cut| policy_cut.first_kept <= pending.first_kept;
                let pending = self.subject.cutter.pending().filter(is_kept);
                let least = pending.unwrap_or_else(|| self.subject.cutter.least());
                (share, half, least, pending.unwrap_or(none))
            }
        };
        let first = within(half.min(share));
        let cuts = match goal.kind {
            // The last messages are too large to be kept: the summary covers them too, each as far as there is room.
            _ if kept(least) > half => vec![nothing],
            TargetKind::Aim if kept(first) > half => vec![least],
            // An earlier run has cut there; the aim is still missed, as it was then.
            TargetKind::Aim if !self.subject.cutter.has_span(first) => return Vec::new(),
            _ if least.first_kept > first.first_kept => vec![first, least],
            TargetKind::Cap | TargetKind::Aim => vec![first],
        };
        let mut candidates: Vec<(Cut, UserWords)> = cuts.iter().map(|cut| (*cut, words)).collect();
        match goal.kind {
            TargetKind::Aim => return candidates,
            TargetKind::Cap => {}
        }
        if words == UserWords::Verbatim {
            candidates.extend(cuts.iter().map(|cut| (*cut, UserWords::Budget)));
        }
        // If the cap cannot be reached with the last answer, give that up too.
        if !cuts.contains(&nothing) {
            candidates.push((nothing, UserWords::Budget));
        }
        candidates
    }

    /// The tokens of the user's words that a summary must quote; 0 if they are surely a small part of the cap.
    fn quoted_words(&self, cut: Cut, cap: u64) -> u64 {
        let tokens = self.subject.tokens();
        let may_be_quoted = |n: &usize| {
            let is_typed = self.subject.conversation.messages[*n].typed == Typed::Yes;
            is_typed || self.subject.cutter.origins()[*n] == MessageOrigin::Summary
        };
        let upper: u64 = (0..cut.first_kept)
            .filter(may_be_quoted)
            .map(|n| tokens[n])
            .sum();
        if upper < cap * KEPT_SHARE / 100 {
            return 0;
        }
        let words = self.subject.policy.summary.user_words;
        let extract = Extract::words(self.source(), 0..cut.first_kept);
        extract.summary(0, words, self.subject.estimator).tokens
    }

    /// The source for the built-in summariser.
    fn source(&self) -> Source<'_, '_> {
        Source {
            transcript: self.subject.transcript,
            conversation: self.subject.conversation,
            acts: self.subject.acts(),
            origins: self.subject.cutter.origins(),
            earlier: self.subject.earlier,
            first_line: self.subject.first_line,
            instructions: self.instructions,
            policy: self.subject.policy,
            weights: self.subject.weights,
        }
    }

    fn write_draft(
        &self,
        cut: Cut,
        words: UserWords,
        answer: Option<&str>,
        extracts: &mut Extracts<'_>,
    ) -> Draft {
        let policy = &self.subject.policy.summary;
        let extract = extracts.before(cut);
        let draft = |size| self.draft_of((cut, words), answer, size, extract);
        if answer.is_some() && !policy.must_keep {
            // The words that must be quoted are appended to the model's text.
            return draft(0);
        }
        let (budget, lenient) = (self.budget(), self.lenient_budget());
        let min_size = self.min_size(cut);
        let size = self.summary_size(cut, budget, || {
            let least = draft(0);
            least.total.saturating_sub(least.summary.counted)
        });
        // Only the rows can be made smaller.
        let narrative = self.tokens_of(answer.unwrap_or_default());
        let rows = |size| match answer {
            Some(_) => policy.rows(size, narrative),
            None => size,
        };
        let least = rows(min_size);
        let mut size = rows(size).max(least);
        let mut rounds = ROUNDS;
        loop {
            let written = draft(size);
            // Above its minimum size a summary shrinks to reach the goal; below it, only to be worth it.
            let (down_to, fits) = match size > least {
                true => (least, budget),
                false => (0, lenient),
            };
            let excess = written.total.saturating_sub(fits);
            if written.is_empty() && (size == 0 || excess == 0) {
                // An empty summary would just delete what it replaces.
                let more = SMALLEST.into_iter().map(draft);
                return more.into_iter().find(|d| !d.is_empty()).unwrap_or(written);
            }
            if excess == 0 || size == 0 {
                return written;
            }
            rounds -= 1;
            // Size that the rows did not use saves nothing.
            let used = size.min(written.summary.counted.saturating_sub(narrative));
            size = used.saturating_sub(excess).max(down_to);
            if rounds == 0 {
                (size, rounds) = (down_to, ROUNDS);
            }
        }
    }

    /// A draft with rows of `size` tokens, behind a model's answer if there is one.
    fn draft_of(
        &self,
        cut: (Cut, UserWords),
        answer: Option<&str>,
        size: u64,
        extract: &Extract,
    ) -> Draft {
        let estimator = self.subject.estimator;
        let Some(answer) = answer else {
            let summary = extract.summary(size, cut.1, estimator);
            return self.draft_with(cut, summary, Writer::Extractive);
        };
        let narrative = match self.subject.policy.summary.must_keep {
            // Rows are parsed by their headings, which a model may have used too.
            true => as_prose(answer.trim_end()),
            false => answer.to_owned(),
        };
        let rows = extract.rows_after(&narrative, size, cut.1, estimator);
        let tokens = self.tokens_of(&narrative);
        let summary = ExtractiveSummary {
            text: match rows.text.as_str() {
                "" => narrative,
                own => format!("{narrative}\n\n{own}"),
            },
            tokens: rows.tokens + tokens,
            counted: rows.counted + tokens,
            ..rows
        };
        self.draft_with(cut, summary, Writer::Model)
    }

    pub(super) fn tokens_of(&self, text: &str) -> u64 {
        let estimator = self.subject.estimator;
        estimator.tokens(estimator.text(text))
    }

    fn draft_with(
        &self,
        (cut, words): (Cut, UserWords),
        summary: ExtractiveSummary,
        writer: Writer,
    ) -> Draft {
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

    /// The text of the summary's message, without restored files.
    pub(super) fn rendered(&self, summary: &str) -> String {
        let template = &self.subject.policy.summary.text;
        // A model may begin with the template's prefix already.
        let mark = template.prefix().trim_end();
        let summary = match summary.strip_prefix(mark) {
            Some(rest) if !mark.is_empty() && !template.holds(Slot::Name) => rest.trim_start(),
            Some(_) | None => summary,
        };
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

    /// The live tokens of the conversation with this summary and the messages after the cut.
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
