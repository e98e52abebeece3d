//! Names in the store that a transcript no longer contains, for policies that clean up.

use super::Pipeline;
use crate::artifacts;
use crate::ids::IdSet;
use crate::policy::Layer;
use crate::settle::Change;
use crate::store::offload_names_in;
use crate::transcript::Transcript;

impl Pipeline<'_> {
    /// The names in the store that results contain, if the policy cleans up.
    pub(super) fn named(&self, transcript: &Transcript<'_>) -> Vec<String> {
        if self.policy.has(Layer::Offload) && self.policy.offload.cleanup {
            artifacts::offloaded(transcript, self.policy)
        } else {
            Vec::new()
        }
    }
}

/// Whether the transcript contains the name under which a change stored its content.
pub(super) fn is_named(transcript: &Transcript<'_>, change: &Change) -> bool {
    change.stored.as_ref().is_some_and(|stored| {
        let line = transcript.block(change.block).line;
        let bytes = transcript.line(line);
        transcript.is_there(line) && memchr::memmem::find(bytes, stored.name.as_bytes()).is_some()
    })
}

/// The names in `named` that no line contains any more. Lines are searched once for all names, since there may be as many names as
/// lines.
pub(super) fn released(transcript: &Transcript<'_>, mut named: Vec<String>) -> Vec<String> {
    if named.is_empty() {
        return named;
    }
    let mut held: IdSet<String> = IdSet::default();
    let lines = 0..transcript.lines().len() as u32;
    for line in lines.filter(|line| transcript.is_there(*line)) {
        held.extend(offload_names_in(transcript.line(line)));
    }
    named.retain(|name| !held.contains(name.as_str()));
    named
}
