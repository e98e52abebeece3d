//! The calls since a user's last message, which results may answer: each result answers one of them, and each has one.

use std::borrow::Cow;

use super::{Findings, Rule};
use crate::ids::IdSet;
use crate::transcript::Block;

/// The calls that may be answered.
#[derive(Default)]
pub(crate) struct OpenCalls<'t> {
    calls: Vec<(&'t Block, Cow<'t, [u8]>)>,
    /// The ids of `calls`.
    ids: IdSet<Cow<'t, [u8]>>,
    answered: IdSet<Cow<'t, [u8]>>,
}

impl<'t> OpenCalls<'t> {
    /// Adds a call with this id.
    pub(crate) fn call(&mut self, block: &'t Block, id: Cow<'t, [u8]>) {
        self.ids.insert(id.clone());
        self.calls.push((block, id));
    }

    /// Checks a result: it is the first that answers a call.
    pub(crate) fn result(&mut self, f: &mut Findings<'t, '_>, block: &Block) {
        let id = f.call_id(block);
        if !self.ids.contains(&id) {
            f.call_error(Rule::OrphanResult, block);
        } else if !self.answered.insert(id) {
            f.call_error(Rule::DuplicateResult, block);
        }
    }

    /// Checks that all calls are answered: no later result can do so.
    pub(crate) fn close(&mut self, f: &mut Findings<'t, '_>) {
        for (call, id) in self.calls.drain(..) {
            if !self.answered.contains(&id) {
                f.call_error(Rule::MissingResult, call);
            }
        }
        self.ids.clear();
        self.answered.clear();
    }
}
