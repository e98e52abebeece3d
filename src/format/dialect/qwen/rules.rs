//! What the agent requires of a session. It silently ignores everything before a missing parent, and fails to start if a compaction
//! has a history that is not a list.

use super::chain::{Chain, NONE};
use crate::transcript::{Compaction, LinkKind};
use crate::verify::{Findings, Rule};

/// Checks the chain; the messages are checked before it.
pub(super) fn session(f: &mut Findings<'_, '_>) {
    let chain = Chain::new(f.transcript);
    let path = chain.path();
    if let Some(root) = path.first().copied()
        && !chain.link(root).parent.is_empty()
        && chain.parent(root) == NONE
    {
        f.error(Rule::ChainParentMissing, root, chain.id_of(root));
    }
    for record in path {
        if chain.link(record).kind == LinkKind::Compaction(Compaction::Unreadable) {
            f.error(Rule::SummaryMalformed, record, chain.id_of(record));
        }
    }
}
