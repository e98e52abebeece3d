//! Composes a summary that fits its budget, and decides whether it is worth placing.
//!
//! PURE. If a cap is too small for everything, these are given up in turn: restored files; what the summary says besides the user's
//! words; kept messages, down to the last answer, and that too if it alone takes half of the room; the user's words except the
//! newest. If the result is still too large, it is the smallest one possible, and the outcome says that the target was missed.

use std::ops::Range;

use super::composer::Composer;
use super::draft::{Draft, Writer};
use super::keep_reason::KeepReason;
use super::summarised::{
    KeptMessages, LossReason, Summarised, SummaryMessage, SummaryResult, Tried,
};
use super::words::TypedMessages;
use crate::artifacts::ModelError;
use crate::facts::MessageOrigin;
use crate::format::Summaries;
use crate::outcome::{MissReason, Narrative, Spent, SummaryOutcome, TargetOutcome};
use crate::plan::{Cut, Goal};
use crate::policy::{OnFailure, Role as Speaker, TargetKind, TooLarge, UserWords};
use crate::transcript::{BlockKind, Role, Typed};

impl Composer<'_> {
    /// Composes the summary. `policy_cut` is the cut that the policy asks for.
    pub(super) fn compose(&self, policy_cut: Cut) -> SummaryResult {
        match self.compose_once(policy_cut) {
            // Clearing has reached the goal, and no summary has room for what was cleared. A second run would find the goal
            // reached from the start, so do what that run would do.
            SummaryResult::Unchanged { .. } if self.baseline() > self.subject.total() => {
                let now = Composer {
                    before: self.subject.total(),
                    ..*self
                };
                now.compose_once(policy_cut)
            }
            settled => settled,
        }
    }

    fn compose_once(&self, policy_cut: Cut) -> SummaryResult {
        let why = match self.judge(policy_cut) {
            Ok(summarised) => return SummaryResult::Summarised(Box::new(summarised)),
            Err(why) => why,
        };
        let pruned = match self.subject.policy.summary.on_failure {
            OnFailure::Prune if why.is_failure() => {
                self.last_turns(policy_cut, KeptMessages::Pruned)
            }
            OnFailure::Prune | OnFailure::Extractive | OnFailure::Keep | OnFailure::Fail => None,
        };
        match pruned {
            Some(pruned) => SummaryResult::Summarised(Box::new(pruned)),
            None => SummaryResult::Unchanged {
                why: why.to_string(),
                tried: self.tried(&why),
                target: self.target(
                    self.subject.total(),
                    self.typed(0..self.subject.sizes.len()),
                    0,
                ),
            },
        }
    }

    /// What replaces the old messages: a summary, or nothing if that would be too large; or why they stay.
    fn judge(&self, policy_cut: Cut) -> Result<Summarised, KeepReason> {
        let draft = self.draft(policy_cut, self.answer_text()?);
        let draft = draft.ok_or_else(|| self.why_no_draft(policy_cut))?;
        if self.is_too_large(draft.total) {
            match self.last_turns(policy_cut, KeptMessages::Whole) {
                Some(last) => return Ok(last),
                // An earlier run's result must stay as it is: its last turns begin before the call that a cut keeps whole.
                None if self.subject.goal.is_none() => return Err(KeepReason::OnlyLastTurns),
                None => {}
            }
        }
        if draft.total >= self.baseline() {
            return Err(KeepReason::NotSmaller);
        }
        if self.is_over_aim() && draft.total > self.lenient_budget() {
            return Err(KeepReason::SavesTooLittle);
        }
        let now = self.subject.total();
        let is_reached = |cap: &u64| now <= *cap && *cap < self.baseline();
        let reached = self.cap().filter(is_reached);
        if reached.is_some_and(|cap| draft.total > cap) {
            return Err(KeepReason::NoRoom);
        }
        let tells_more = draft.tells_more_than_words();
        let summarised = self.finish(draft);
        if reached.is_some() && !tells_more && summarised.restored.is_empty() {
            return Err(KeepReason::AddsNothing);
        }
        Ok(summarised)
    }

    /// The text that was written for the summary by another than the built-in summariser, if that is to be used.
    fn answer_text(&self) -> Result<Option<&str>, KeepReason> {
        let Some(answer) = self.answer else {
            return Ok(None);
        };
        match &answer.reply.text {
            Ok(text) => Ok(Some(text)),
            Err(ModelError::Pending) => Err(KeepReason::DryRun),
            Err(ModelError::Waiting(_)) => Err(KeepReason::InBatch),
            Err(
                ModelError::Failed(why)
                | ModelError::Refused(why)
                | ModelError::TooLong { why, .. },
            ) => match self.subject.policy.summary.on_failure {
                OnFailure::Extractive => Ok(None),
                OnFailure::Keep | OnFailure::Fail | OnFailure::Prune => {
                    Err(KeepReason::Failed(why.clone()))
                }
            },
        }
    }

    fn why_no_draft(&self, policy_cut: Cut) -> KeepReason {
        let is_earlier = |origin: &MessageOrigin| *origin != MessageOrigin::Session;
        if self.subject.cutter.has_span(policy_cut) && !self.candidates(policy_cut).is_empty() {
            KeepReason::Empty
        } else if self.subject.cutter.origins().iter().any(is_earlier) {
            KeepReason::OnlyEarlierSummary
        } else {
            KeepReason::NoMessages
        }
    }

    /// The attempt that led to no summary, if there was one.
    fn tried(&self, why: &KeepReason) -> Tried {
        match (why, self.answer) {
            (KeepReason::Empty, _) => Tried::Empty(Box::new(self.base_outcome())),
            (_, Some(_)) => Tried::Failed(Box::new(self.base_outcome())),
            (_, None) => Tried::No,
        }
    }

    /// Whether the policy keeps only the last turns instead of a result of `total` tokens.
    fn is_too_large(&self, total: u64) -> bool {
        let limit = self
            .subject
            .policy
            .summary
            .too_large_limit(&self.subject.policy.window);
        let is_cap = |goal: &Goal| goal.kind == TargetKind::Cap;
        let cap = self.subject.goal.filter(is_cap).map(|goal| goal.cap());
        match self.subject.policy.summary.too_large {
            TooLarge::LastTurns => limit.or(cap).is_some_and(|limit| total > limit),
            TooLarge::Shrink | TooLarge::Accept => false,
        }
    }

    /// Removes the messages before those that the policy keeps, without a summary. `None` if there are none.
    fn last_turns(&self, policy_cut: Cut, kept: KeptMessages) -> Option<Summarised> {
        let count = self.subject.sizes.len();
        let pruned = self.subject.cutter.pruned();
        let (cutter, policy_cut) = match kept {
            KeptMessages::Whole => (&self.subject.cutter, policy_cut),
            KeptMessages::Pruned => {
                let policy_cut =
                    pruned.by_pruned(&self.subject.policy.summary, &self.subject.tokens());
                (&pruned, policy_cut)
            }
        };
        // If the policy keeps nothing, keep the least; and the last typed message, since no summary quotes it.
        let cut = if policy_cut.first_kept < count {
            policy_cut
        } else {
            cutter.least()
        };
        let cut = cutter.from_a_user(cutter.with_last_words(cut));
        if !cutter.has_span(cut) {
            return None;
        }
        let stays = (0..count).filter(|n| *n >= cut.first_kept || self.subject.is_system(*n));
        let total = self
            .subject
            .estimator
            .total(stays.map(|n| self.subject.sizes[n]));
        let TypedMessages { lost, pictures, .. } = self.typed_messages(cut.first_kept, "");
        let fallback = match kept {
            KeptMessages::Whole => "last_turns",
            KeptMessages::Pruned => "prune",
        };
        Some(Summarised {
            first_kept: cut.first_kept,
            message: None,
            kept,
            replaced: self.subject.span(cut),
            now: self.subject.total(),
            baseline: self.baseline(),
            total,
            outcome: SummaryOutcome {
                user_clipped: lost.len() as u64,
                fallback: Some(fallback.to_owned()),
                ..self.outcome_of(cut)
            },
            lost: (lost, LossReason::NoSummary),
            pictures,
            restored: Vec::new(),
            target: self.target(total, self.typed(0..count), 0),
        })
    }

    fn finish(&self, draft: Draft) -> Summarised {
        let quoted = draft.summary.tokens.saturating_sub(draft.summary.counted);
        let words = quoted + self.typed(draft.cut.first_kept..self.subject.sizes.len());
        let TypedMessages {
            verbatim,
            lost,
            pictures,
        } = self.typed_messages(draft.cut.first_kept, &draft.text);
        let why = match (draft.words, self.subject.policy.summary.user_words) {
            (UserWords::Verbatim, _) => LossReason::TooLong,
            (UserWords::Budget, UserWords::Verbatim) => LossReason::Target,
            (UserWords::Budget, UserWords::Budget) => LossReason::Policy,
        };
        let (restored, draft) = self.with_files(draft);
        let Draft {
            cut,
            summary,
            writer,
            text,
            total,
            words: _,
        } = draft;
        let target = self.target(total, words, summary.counted);
        let fallback = match (self.answer, writer) {
            (Some(_), Writer::Extractive) => Some("extractive".to_owned()),
            (Some(_) | None, _) => None,
        };
        let estimator = self.subject.estimator;
        let outcome = SummaryOutcome {
            success: fallback.is_none(),
            narrative: self.narrative(writer),
            tokens: estimator.tokens(estimator.text(&summary.text)),
            fallback,
            user_verbatim: verbatim,
            user_clipped: lost.len() as u64,
            ..self.outcome_of(cut)
        };
        let acknowledgement = self.acknowledgement(cut);
        let message = [estimator.message(self.role(), &text)];
        let answer = (!acknowledgement.is_empty())
            .then(|| estimator.message(Role::Assistant, acknowledgement));
        Summarised {
            first_kept: cut.first_kept,
            message: Some(SummaryMessage {
                role: self.role(),
                acknowledgement: acknowledgement.to_owned(),
                tokens: estimator.total(message.into_iter().chain(answer)),
                text,
            }),
            kept: KeptMessages::Whole,
            replaced: self.subject.span(cut),
            now: self.subject.total(),
            baseline: self.baseline(),
            total,
            outcome,
            lost: (lost, why),
            pictures,
            restored,
            target,
        }
    }

    /// The narrative of a summary by `writer`, if it has one.
    fn narrative(&self, writer: Writer) -> Option<Narrative> {
        let has_rows = writer == Writer::Model && self.subject.policy.summary.must_keep;
        let answer = self.answer.filter(|_| has_rows)?;
        let text = answer.reply.text.as_ref().ok()?;
        Some(Narrative {
            tokens: self.tokens_of(text),
            citations: answer.citations,
            citations_removed: answer.citations_removed,
        })
    }

    /// Whether the goal is reached with `total` live tokens, of which `words` are the user's and `counted` the rest of a summary.
    fn target(&self, total: u64, words: u64, counted: u64) -> Option<TargetOutcome> {
        let goal = self.subject.goal?;
        let content = goal.content(total).unwrap_or(total);
        let missed = match content.saturating_sub(words) {
            rest if rest <= goal.tokens => MissReason::UserWords,
            rest if rest.saturating_sub(counted) <= goal.tokens => MissReason::SummaryRoom,
            _ => MissReason::KeptMessages,
        };
        Some(goal.outcome(total).because(missed))
    }

    /// The tokens of the typed messages in `span`.
    fn typed(&self, span: Range<usize>) -> u64 {
        let is_typed = |n: &usize| {
            self.subject.conversation.messages[*n].typed == Typed::Yes
                && self.subject.cutter.origins()[*n] == MessageOrigin::Session
        };
        let typed = span.filter(is_typed);
        typed
            .map(|n| self.subject.estimator.tokens(self.subject.sizes[n]))
            .sum()
    }

    /// The outcome of what replaces the messages before `cut`, for others to fill in.
    fn outcome_of(&self, cut: Cut) -> SummaryOutcome {
        let counts = |n: &usize| !self.subject.is_system(*n);
        let count = |span: Range<usize>| span.filter(counts).count() as u64;
        SummaryOutcome {
            messages: count(0..cut.first_kept),
            preserved_messages: count(cut.first_kept..self.subject.sizes.len()),
            cut_moved: cut.moved,
            ..self.base_outcome()
        }
    }

    /// The outcome of a failed attempt, as a base for other outcomes.
    fn base_outcome(&self) -> SummaryOutcome {
        let reply = self.answer.map(|answer| &answer.reply);
        SummaryOutcome {
            source: self.subject.policy.summary.source.name().to_owned(),
            model: reply.and_then(|reply| reply.model.clone()),
            success: false,
            messages: 0,
            preserved_messages: self.subject.sizes.len() as u64,
            tokens: 0,
            attempts: reply.map_or(1, |reply| reply.attempts),
            fallback: None,
            error: reply.and_then(|reply| match &reply.text {
                Err(
                    ModelError::Failed(why)
                    | ModelError::Refused(why)
                    | ModelError::TooLong { why, .. },
                ) => Some(why.clone()),
                Err(ModelError::Pending | ModelError::Waiting(_)) | Ok(_) => None,
            }),
            invented: self.answer.map_or(0, |answer| answer.invented),
            sentences_dropped: self.answer.map_or(0, |answer| answer.dropped),
            cut_moved: 0,
            user_verbatim: 0,
            user_clipped: 0,
            rounds: self
                .answer
                .and_then(|answer| answer.reading)
                .map(|reading| reading.rounds),
            narrative: None,
            spent: reply
                .map(|reply| reply.spent)
                .filter(|spent| *spent != Spent::default()),
        }
    }

    pub(super) fn role(&self) -> Role {
        use crate::format::Opening;
        match (self.subject.policy.summary.role, self.subject.summaries) {
            (Speaker::Assistant, Summaries::Message(Opening::Any)) => Role::Assistant,
            (Speaker::User | Speaker::Assistant, _) => Role::User,
        }
    }

    /// The assistant's answer to the summary; "" in a native record, and before an answer that begins with thinking.
    pub(super) fn acknowledgement(&self, cut: Cut) -> &str {
        let follows = self.subject.conversation.messages.get(cut.first_kept);
        let thinks = follows.is_some_and(|message| {
            let first = self.subject.conversation.blocks(message).first();
            let kind = first.map(|block| self.subject.transcript.block(*block).kind);
            message.role == Role::Assistant
                && matches!(kind, Some(BlockKind::Thinking | BlockKind::Redacted))
        });
        match self.subject.summaries {
            Summaries::Message(_) if !thinks => &self.subject.policy.summary.ack,
            Summaries::Message(_) | Summaries::Native => "",
        }
    }
}
