//! Oversize results, the newest included: they go to the store and leave a preview.
//!
//! PURE.

use super::results::{Candidate, Content, Found, Limits, Reason, Results, may_leave};
use super::{Keeping, Why};
use crate::policy::Policy;

/// Every result that may go to the store, if it is oversize.
pub(super) fn candidates<'p>(
    results: &Results<'_, '_>,
    policy: &'p Policy,
    keeping: Keeping,
) -> Vec<Found<'p>> {
    let limit = policy.demote.min_tokens;
    let candidate = Candidate {
        reason: Reason::Known(Why::Oversize { limit }),
        over: Limits {
            tokens: Some(limit),
            chars: None,
        },
        text: &policy.demote.text,
        content: match keeping {
            Keeping::Store => Content::Stored,
            Keeping::Nothing => Content::NoStore,
        },
    };
    let blocks = results.blocks();
    blocks
        .filter(|(_, _, block)| may_leave(results.transcript, block))
        .map(|(number, _, _)| (number, candidate))
        .collect()
}
