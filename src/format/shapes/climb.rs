//! Walks up from parent to parent in formats whose lines form a tree.
//!
//! PURE. Knows no format: closures supply the parents and the stopping condition. Never walks the same path twice.

use crate::ids::{IdMap, IdSet};

/// No line.
pub(in crate::format) const NONE: u32 = u32::MAX;

/// Where a climb ended.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct Above {
    /// The last line that did not stop it.
    pub(in crate::format) last: u32,
    /// The line that stopped it, or [`NONE`].
    pub(in crate::format) stop: u32,
}

/// Walks from `line` to its `parent`, and further up, until a line `stops` it. `known` caches the results, and is valid only for
/// these parents and this `stops`.
pub(in crate::format) fn climb(
    line: u32,
    known: &mut IdMap<u32, Above>,
    parent: impl Fn(u32) -> u32,
    stops: impl Fn(u32) -> bool,
) -> Above {
    let mut path = vec![line];
    let mut seen = IdSet::from_iter([line]);
    let found = loop {
        let last = path[path.len() - 1];
        if let Some(found) = known.get(&last) {
            break *found;
        }
        let above = parent(last);
        if above == NONE || stops(above) {
            break Above { last, stop: above };
        }
        if !seen.insert(above) {
            break Above { last, stop: NONE };
        }
        path.push(above);
    };
    known.extend(path.into_iter().map(|line| (line, found)));
    found
}
