//! Where artifacts come from.

use super::{Replies, Root, SummaryModel};
use crate::format::Format;
use crate::plan::Placeholders;
use crate::policy::Policy;
use crate::redact::Redactor;
use crate::store::Store;

/// What artifacts are gathered from, for all transcripts of a run.
#[derive(Debug)]
pub struct Sources<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Who is asked for summaries, where the policy names a provider.
    pub server: Option<&'p dyn SummaryModel>,
    /// The answers of a scripted summariser.
    pub replies: Replies,
    /// Where files are read from, if anywhere.
    pub root: Option<Root>,
    /// Finds secrets, where any are to be masked.
    pub redactor: Option<Redactor>,
    /// What stands where results were replaced.
    pub placeholders: Placeholders,
}

/// What artifacts of one transcript are gathered with.
#[derive(Debug, Clone, Copy)]
pub struct Context<'s> {
    /// Its format.
    pub format: Format,
    /// What holds the results that earlier runs have taken out of it, and the answers to earlier requests, if anything does.
    pub store: Option<&'s Store>,
}
