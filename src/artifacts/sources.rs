//! The sources of artifacts.

use super::{InstructionSource, Replies, Root, SummaryModel};
use crate::facts::Placeholders;
use crate::format::Format;
use crate::policy::Policy;
use crate::redact::Redactor;
use crate::store::Store;

/// The sources of artifacts, the same for all transcripts of a run.
#[derive(Debug)]
pub struct Sources<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// The server for summaries, if the policy names a provider.
    pub server: Option<&'p dyn SummaryModel>,
    /// The answers of a scripted summariser.
    pub replies: Replies,
    /// The folder that files are read from, if there is one.
    pub root: Option<Root>,
    /// Finds secrets, if any are to be masked.
    pub redactor: Option<Redactor>,
    /// The texts that replace results.
    pub placeholders: Placeholders,
}

/// What gathering needs to know of one transcript.
#[derive(Debug, Clone, Copy)]
pub struct Context<'s> {
    /// Its format.
    pub format: Format,
    /// The store with results that earlier runs moved there, and answers to earlier requests, if there is one.
    pub store: Option<&'s Store>,
    /// Who asks for summaries: see [`ModelRequest::requester`](super::ModelRequest::requester).
    pub requester: Option<&'s str>,
    /// The name of the store's folder in texts.
    pub folder: &'s str,
    /// Asked before a summary is written.
    pub instruction_source: Option<&'s dyn InstructionSource>,
}
