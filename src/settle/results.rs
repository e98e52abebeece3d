//! Applies the layers to each result in order, using actual sizes: when clearing looks at a demoted result, that result is as large
//! as its preview. A change that does not save tokens is not made.
//!
//! PURE. Results are settled newest first, because a later read replaces an earlier one only if no layer removes what the later one
//! shows.

use std::collections::BTreeMap;

use super::Change;
use crate::artifacts::StoredResult;
use crate::facts::LaterReads;
use crate::ids::IdMap;
use crate::plan::{Candidate, Content, Reason, ResultPlan, ResultRef, Why};
use crate::policy::{Policy, Substitutions, Unit};
use crate::tokens::{Size, Sizes};
use crate::transcript::{Block, Transcript};

/// At most one change for each of the results, in their order.
pub(super) fn results(
    transcript: &Transcript<'_>,
    results: &[ResultPlan<'_>],
    stored: &BTreeMap<u32, StoredResult>,
    sizes: &Sizes,
    policy: &Policy,
) -> Vec<Change> {
    let settle = Settle {
        transcript,
        stored,
        sizes,
        policy,
    };
    let of_each = results.chunk_by(|a, b| a.place == b.place);
    if results.iter().all(|plan| plan.candidate.reason.is_known()) {
        let alone = |result| settle.result(result, &mut KeptReads::default());
        let changes = transcript.each(of_each, alone);
        return changes.into_iter().flatten().collect();
    }
    let mut kept = KeptReads::default();
    let mut changes: Vec<Change> = Vec::new();
    for result in of_each.rev() {
        match settle.result(result, &mut kept) {
            Some(change) => changes.push(change),
            None => kept.add(transcript, result),
        }
    }
    changes.reverse();
    changes
}

/// The reads that are kept as they are, by their conversations and files.
#[derive(Default)]
struct KeptReads(IdMap<(u32, u32), LaterReads<LaterRead>>);

/// A later read of the same.
#[derive(Debug, Clone, Copy)]
struct LaterRead {
    line: u32,
    message: u32,
}

impl KeptReads {
    fn add(&mut self, transcript: &Transcript<'_>, result: &[ResultPlan<'_>]) {
        for ResultPlan { place, candidate } in result {
            if let Reason::ShownAgain { file, shows } = candidate.reason {
                let read = LaterRead {
                    line: transcript.block(place.block).line,
                    message: place.message,
                };
                let reads = self.0.entry((place.conversation, file)).or_default();
                reads.add(transcript, shows, read);
            }
        }
    }

    /// The reason for replacing a result, even if it depends on later reads.
    fn why(
        &mut self,
        transcript: &Transcript<'_>,
        place: &ResultRef,
        reason: Reason,
    ) -> Option<Why> {
        match reason {
            Reason::Known(why) => Some(why),
            Reason::ShownAgain { file, shows } => {
                let reads = self.0.get_mut(&(place.conversation, file))?;
                let LaterRead { line, message } = reads.newest_covering(transcript, shows)?;
                Some(Why::Superseded { line, message })
            }
        }
    }
}

struct Settle<'s, 'a> {
    transcript: &'s Transcript<'a>,
    stored: &'s BTreeMap<u32, StoredResult>,
    sizes: &'s Sizes,
    policy: &'s Policy,
}

/// The size of a result's content between two layers.
#[derive(Clone, Copy)]
struct ContentSize {
    size: Size,
    chars: u64,
}

impl Settle<'_, '_> {
    /// The combined change that the layers make to a result.
    fn result(&self, result: &[ResultPlan<'_>], kept: &mut KeptReads) -> Option<Change> {
        let place = result.first()?.place;
        let block = self.transcript.block(place.block);
        let texts = self.transcript.texts(block).iter();
        let mut now = ContentSize {
            size: self.sizes.result(self.transcript, place.block),
            chars: texts
                .map(|text| self.chars(text.scalars, text.astral))
                .sum(),
        };
        // The savings of a later layer are measured against the original size.
        let tokens_before = self.sizes.estimator().tokens(now.size);
        let mut change: Option<Change> = None;
        let mut plans = result.iter().peekable();
        while let Some(ResultPlan { candidate, .. }) = plans.next() {
            // Only the tool's own output goes to the store.
            if candidate.content != Content::Dropped && change.is_some() {
                continue;
            }
            let Some(why) = kept.why(self.transcript, &place, candidate.reason) else {
                continue;
            };
            if let Some(smaller) = self.replaced(&place, candidate, why, &now) {
                if plans.peek().is_some() {
                    now = self.size_of(&smaller.text, block);
                }
                change = Some(Change {
                    tokens_before,
                    ..smaller
                });
            }
        }
        change
    }

    /// The change that a layer makes to a result of this size, if the policy wants it and it saves tokens.
    fn replaced(
        &self,
        place: &ResultRef,
        candidate: &Candidate<'_>,
        why: Why,
        now: &ContentSize,
    ) -> Option<Change> {
        let tokens = self.sizes.estimator().tokens(now.size);
        if !candidate.over.are_exceeded(tokens, || now.chars) {
            return None;
        }
        let stored = match candidate.content {
            Content::Dropped => None,
            Content::NoStore | Content::NotOnlyText => return None,
            Content::Stored => Some(self.stored.get(&place.block)?),
        };
        let text = candidate.text.render(&Substitutions {
            tool: &place.tool(self.transcript),
            name: stored.map_or("", |kept| &kept.stored.path),
            preview: stored.map_or("", |kept| &kept.preview),
            summary: "",
        });
        let change = self.change(place, why, text, now)?;
        Some(Change {
            stored: stored.map(|kept| kept.stored.clone()),
            ..change
        })
    }

    /// The change to `text`, if it saves something.
    fn change(
        &self,
        place: &ResultRef,
        why: Why,
        text: String,
        now: &ContentSize,
    ) -> Option<Change> {
        let estimator = self.sizes.estimator();
        let block = self.transcript.block(place.block);
        let new = estimator.replaced(self.transcript, block, &text);
        let (before, after) = (estimator.tokens(now.size), estimator.tokens(new));
        (after < before).then_some(Change {
            conversation: place.conversation,
            message: place.message,
            block: place.block,
            named_by: place.named_by,
            why,
            text,
            tokens_before: before,
            tokens_after: after,
            stored: None,
        })
    }

    /// The size of a result's content if it were `text`.
    fn size_of(&self, text: &str, block: &Block) -> ContentSize {
        let astral = text.chars().filter(|c| *c as u32 > 0xffff).count() as u32;
        let scalars = text.chars().count() as u32;
        ContentSize {
            size: self
                .sizes
                .estimator()
                .replaced(self.transcript, block, text),
            chars: self.chars(scalars, astral),
        }
    }

    fn chars(&self, scalars: u32, astral: u32) -> u64 {
        match self.policy.tokens.unit {
            Unit::Scalar => u64::from(scalars),
            Unit::Utf16 => u64::from(scalars) + u64::from(astral),
        }
    }
}
