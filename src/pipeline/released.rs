//! Names in the store that a transcript no longer contains, for policies that clean up.

use super::Pipeline;
use crate::artifacts;
use crate::policy::Layer;
use crate::settle::Change;
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

/// Whether the transcript contains the name of what a change put into the store.
pub(super) fn is_named(transcript: &Transcript<'_>, change: &Change) -> bool {
    change.stored.as_ref().is_some_and(|stored| {
        let line = transcript.block(change.block).line;
        let bytes = transcript.line(line);
        transcript.is_there(line) && memchr::memmem::find(bytes, stored.name.as_bytes()).is_some()
    })
}

/// Those of `named` that no line contains any more.
pub(super) fn released(transcript: &Transcript<'_>, named: Vec<String>) -> Vec<String> {
    let holds = |name: &str| {
        let finder = memchr::memmem::Finder::new(name);
        let mut lines = 0..transcript.lines().len() as u32;
        lines.any(|line| transcript.is_there(line) && finder.find(transcript.line(line)).is_some())
    };
    named.into_iter().filter(|name| !holds(name)).collect()
}
