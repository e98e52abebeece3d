//! Oversize results, the newest included: they go to the store and leave a preview.
//!
//! PURE.

use super::results::{
    Candidate, Content, Found, Limits, Reason, Results, is_only_text, is_persisted,
};
use super::{Keeping, Why};
use crate::policy::Policy;

/// Every result that may go to the store, or would if it were only text, if it is oversize.
pub(super) fn candidates<'p>(
    results: &Results<'_, '_>,
    policy: &'p Policy,
    keeping: Keeping,
) -> Vec<Found<'p>> {
    let limit = policy.demote.min_tokens;
    let candidate = |content| Candidate {
        reason: Reason::Known(Why::Oversize { limit }),
        over: Limits {
            tokens: Some(limit),
            chars: None,
        },
        text: &policy.demote.text,
        content,
    };
    let blocks = results.blocks();
    blocks
        .filter(|(_, _, block)| !is_persisted(results.transcript, block))
        .map(|(number, _, block)| {
            let content = match (is_only_text(block), keeping) {
                (false, _) => Content::NotOnlyText,
                (true, Keeping::Store) => Content::Stored,
                (true, Keeping::Nothing) => Content::NoStore,
            };
            (number, candidate(content))
        })
        .collect()
}
