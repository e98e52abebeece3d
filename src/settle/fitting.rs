//! Shortens outputs, the largest first, until they fit into the room that a target leaves for them.
//!
//! PURE. With a store, an output goes there and leaves a preview and its name; without one, it loses its middle.

use super::Change;
use super::clip::clipped;
use crate::artifacts::{Output, OutputContent, Stored};
use crate::plan::{Fit, ResultRef, Room, Why};
use crate::policy::{Layer, Policy, Substitutions, TargetKind};
use crate::tokens::{Estimator, level};
use crate::transcript::Transcript;

/// The smallest output that goes to the store, in tokens: its name alone takes some 35.
const WORTH_A_NAME: u64 = 200;

/// The changes that make `outputs` fit into their room together, or as small as possible.
pub(super) fn fitted(
    transcript: &Transcript<'_>,
    outputs: &[Output],
    fit: &Fit,
    estimator: &Estimator,
    policy: &Policy,
) -> Vec<Change> {
    let size = |output: &Output| {
        let block = transcript.block(output.place.block);
        estimator.tokens(estimator.result(transcript, block))
    };
    let sizes: Vec<u64> = outputs.iter().map(size).collect();
    let room = room_for(fit, sizes.iter().sum());
    let fitting = Fitting {
        transcript,
        estimator,
        policy,
        target: room.target,
    };
    let Some(most) = level(&sizes, room.tokens) else {
        return Vec::new();
    };
    let large = outputs.iter().zip(sizes).filter(|(_, size)| *size > most);
    large
        .filter_map(|(output, size)| fitting.smaller(output, size, most))
        .collect()
}

/// The share of an aim that outputs may always take, in percent: they need not be shortened to compensate for what the user typed.
const OUTPUTS: u64 = 50;

/// The room for outputs that have `all` tokens together.
fn room_for(fit: &Fit, all: u64) -> Room {
    match fit {
        Fit::Summary { room, .. } => *room,
        Fit::Target {
            target,
            total,
            tries_left,
        } => {
            let left = all.saturating_sub(total.saturating_sub(target.cap()));
            let tokens = match (target.kind, tries_left) {
                (TargetKind::Aim, _) => left.max(target.tokens * OUTPUTS / 100),
                (TargetKind::Cap, 0) => 0,
                (TargetKind::Cap, _) => left,
            };
            Room {
                target: target.tokens,
                tokens,
            }
        }
    }
}

struct Fitting<'f, 'a> {
    transcript: &'f Transcript<'a>,
    estimator: &'f Estimator,
    policy: &'f Policy,
    target: u64,
}

impl Fitting<'_, '_> {
    /// The tokens of a result whose content is `text`.
    fn said(&self, place: &ResultRef, text: &str) -> u64 {
        let block = self.transcript.block(place.block);
        self.estimator
            .tokens(self.estimator.replaced(self.transcript, block, text))
    }

    /// The change that reduces an output of `size` tokens to `most`, or to the smallest possible size, if that saves anything.
    fn smaller(&self, output: &Output, size: u64, most: u64) -> Option<Change> {
        let place = &output.place;
        let target = self.target;
        let (why, text, stored) = match &output.content {
            OutputContent::Name { name, preview } => {
                let text = self.demoted(place, name, preview, most);
                (Why::Demoted { target }, text, None)
            }
            OutputContent::Text { text, stored } => {
                let stored = stored.as_ref().filter(|_| size >= WORTH_A_NAME);
                let demoted = stored.map(|stored| {
                    let text = self.demoted(place, &stored.path, text, most);
                    (Why::Demoted { target }, text, Some(stored.clone()))
                });
                let fits =
                    |(_, text, _): &(Why, String, Option<Stored>)| self.said(place, text) <= most;
                demoted.filter(fits).unwrap_or_else(|| {
                    let text = self.clipped(place, text, size, most);
                    (Why::Clipped { target }, text, None)
                })
            }
        };
        let after = self.said(place, &text);
        (after < size).then_some(Change {
            conversation: place.conversation,
            message: place.message,
            block: place.block,
            named_by: place.named_by,
            why,
            text,
            tokens_before: size,
            tokens_after: after,
            stored,
        })
    }

    /// A name in the store with as much of a preview as the policy and `most` allow. A name that is already there stays.
    fn demoted(&self, place: &ResultRef, name: &str, from: &str, most: u64) -> String {
        let tool = place.tool(self.transcript);
        let of = |chars: usize| {
            let end = from.char_indices().nth(chars).map(|(at, _)| at);
            self.policy.demote.text.render(&Substitutions {
                name,
                tool: &tool,
                preview: &from[..end.unwrap_or(from.len())],
                summary: "",
            })
        };
        let (mut best, mut low) = (of(0), 0);
        let mut high = self.policy.demote.preview_chars as usize;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let longer = of(middle);
            if self.said(place, &longer) <= most {
                (best, low) = (longer, middle);
            } else {
                high = middle - 1;
            }
        }
        best
    }

    /// The start and the end of an output that has `size` tokens.
    fn clipped(&self, place: &ResultRef, text: &str, size: u64, most: u64) -> String {
        let block = self.transcript.block(place.block);
        // Without its pictures an output is only text, and another run would demote it if it were oversize.
        let has_more = block.images > 0 || block.documents > 0;
        let most = if has_more && self.policy.has(Layer::Demote) {
            most.min(self.policy.demote.min_tokens)
        } else {
            most
        };
        let fits = |text: &str| self.said(place, text) <= most;
        clipped(text, size, most, self.estimator, fits)
    }
}
