//! Old results: all but the newest of their kinds are replaced by a placeholder.
//!
//! PURE.

use super::Why;
use super::results::{Candidate, Content, Found, Limits, Reason, Results, is_persisted, limit};
use crate::facts::kind_of;
use crate::policy::{Policy, Shape as ClearShape};
use crate::transcript::{Block, Shape, Transcript};

/// The results that have `clear.keep` newer ones of the policy's kinds.
pub(super) fn candidates<'p>(results: &Results<'_, '_>, policy: &'p Policy) -> Vec<Found<'p>> {
    let transcript = results.transcript;
    let clear = &policy.clear;
    let mut found = Vec::new();
    // Starts from the newest: a kept result counts whatever it holds now, so that a second run keeps the same ones.
    let mut newer = 0;
    for (number, place, block) in results.blocks().rev() {
        let of_kind = || {
            clear
                .tools
                .contains(&kind_of(&place.tool(transcript), &policy.tools))
        };
        if !clear.tools.is_empty() && !of_kind() {
            continue;
        }
        if newer >= clear.keep && may_clear(transcript, block, policy) {
            let candidate = Candidate {
                reason: Reason::Known(Why::Old { newer }),
                over: Limits {
                    tokens: limit(clear.min_tokens),
                    chars: limit(clear.min_chars),
                },
                text: &clear.placeholder,
                content: Content::Dropped,
            };
            found.push((number, candidate));
        }
        newer += 1;
    }
    found
}

fn may_clear(transcript: &Transcript<'_>, result: &Block, policy: &Policy) -> bool {
    let shape = match result.shape {
        Shape::String => ClearShape::String,
        Shape::List | Shape::Parts => ClearShape::List,
        Shape::Absent | Shape::Other => return false,
    };
    // Parts of unknown kinds (references to loaded tools) mean something to the agent.
    let known = result.others == 0 && policy.clear.shapes.contains(&shape);
    known && !is_persisted(transcript, result)
}
