//! Rows summed up by fate.

use serde::Serialize;

use super::{Diff, Fate};

/// The messages of one fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stat {
    /// Their fate.
    pub fate: Fate,
    /// How many messages.
    pub messages: u64,
    /// Their tokens before.
    pub tokens_before: u64,
    /// Their tokens after.
    pub tokens_after: u64,
}

/// A sum for each fate that occurs. Together they add up to the tokens before and after.
pub fn stat(diff: &Diff) -> Vec<Stat> {
    let rows = || diff.conversations.iter().flat_map(|c| &c.rows);
    let of = |fate: Fate| {
        let rows = || rows().filter(move |row| row.fate == fate);
        Stat {
            fate,
            messages: rows().count() as u64,
            tokens_before: rows().map(|row| row.tokens_before).sum(),
            tokens_after: rows().map(|row| row.tokens_after).sum(),
        }
    };
    let all = Fate::ALL.into_iter().map(of);
    all.filter(|stat| stat.messages > 0).collect()
}
