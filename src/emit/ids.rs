//! The ids of calls in the output: their own, unless it is missing, the provider rejects it, or it was used before.
//!
//! An id only ties a call to its result; a new one depends only on the position of the call.

use super::loss::{Loss, Losses};
use super::said::{Say, call_of};
use crate::ids::IdSet;
use crate::scan::unescape;

/// Which ids a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Any; unique within one answer.
    OncePerAnswer,
    /// Letters, digits, `_` and `-`; unique.
    PlainOnce,
}

/// The ids of a conversation.
#[derive(Debug)]
pub(super) struct Ids {
    rule: Rule,
    /// The calls' own ids.
    own: IdSet<Vec<u8>>,
    /// The ids already used.
    used: IdSet<Vec<u8>>,
    calls: u64,
}

impl Ids {
    pub(super) fn new(said: &[Say<'_>], rule: Rule) -> Self {
        let pieces = said.iter().flat_map(|say| &say.pieces);
        let calls = pieces.filter_map(call_of);
        let own = calls.map(|call| unescape(call.id).into_owned());
        Ids {
            rule,
            own: own.collect(),
            used: IdSet::default(),
            calls: 0,
        }
    }

    /// Begins an answer.
    pub(super) fn begin(&mut self) {
        if self.rule == Rule::OncePerAnswer {
            self.used.clear();
        }
    }

    /// The unescaped id of the next call, whose own id is `raw`, the content between its quotes.
    pub(super) fn next(&mut self, raw: &[u8], losses: &mut Losses) -> Vec<u8> {
        self.calls += 1;
        let own = unescape(raw).into_owned();
        let is_plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let mut id: Vec<u8> = match self.rule {
            Rule::OncePerAnswer => own.clone(),
            Rule::PlainOnce => {
                let plain = own.iter().map(|b| if is_plain(b) { *b } else { b'_' });
                plain.collect()
            }
        };
        if id.is_empty() {
            id = format!("call_{}", self.calls).into_bytes();
        }
        // Another call may have this as its own id.
        let is_taken = |id: &Vec<u8>| *id != own && self.own.contains(id) || self.used.contains(id);
        let (base, mut more) = (id.clone(), 1);
        while is_taken(&id) {
            more += 1;
            id = [&base[..], format!("_{more}").as_bytes()].concat();
        }
        losses.add(Loss::CallId, u64::from(id != own));
        self.used.insert(id.clone());
        id
    }
}
