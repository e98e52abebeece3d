//! New contents of results, each with its reason.

use super::clip;
use crate::artifacts::Stored;
use crate::plan::Why;

/// A result's new content.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which conversation, in the order of the transcript.
    pub conversation: u32,
    /// Which message of it, from 0.
    pub message: u32,
    /// Which block of the transcript.
    pub block: u32,
    /// The block that names its tool.
    pub named_by: u32,
    /// What was done, and why.
    pub why: Why,
    /// The new text; the content keeps its shape.
    pub text: String,
    /// The content's tokens before the change.
    pub tokens_before: u64,
    /// The content's tokens now.
    pub tokens_after: u64,
    /// The old content in the store, where the new one names it.
    pub stored: Option<Stored>,
}

impl Change {
    /// The line of the new text that replaces the content of the result's mirrors.
    pub fn in_mirrors(&self) -> &str {
        let clipped = self.why.is_clipped();
        let omitted = clipped.then(|| clip::marker_of(&self.text)).flatten();
        omitted.unwrap_or_else(|| self.text.lines().next().unwrap_or_default())
    }

    /// Merges a later change of the same result into this one.
    pub fn merge(&mut self, later: Change) {
        self.why = later.why;
        self.text = later.text;
        self.tokens_after = later.tokens_after;
    }
}
