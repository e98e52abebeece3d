//! New contents of results, each with its reason.

use super::clip;
use crate::artifacts::Stored;

/// A result's new content.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What the content says now; its shape stays.
    pub text: String,
    /// The content's tokens as they were.
    pub tokens_before: u64,
    /// The content's tokens now.
    pub tokens_after: u64,
    /// The old content in the store, where the new one names it.
    pub stored: Option<Stored>,
}

/// What was done to a result, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A placeholder took its place: a later read, which stays, shows the same.
    Superseded {
        /// The later read's line, from 0.
        line: u32,
        /// Its message, from 0.
        message: u32,
    },
    /// It went to the store: it has more tokens than this.
    Oversize {
        /// `demote.min_tokens`
        limit: u64,
    },
    /// The placeholder took its place: so many newer results come after it.
    Old {
        /// Results of the policy's kinds that are newer.
        newer: u64,
    },
    /// It went to the store: it is among the oldest of a conversation that is large.
    Offloaded,
    /// It went to the store: a target leaves no room for it.
    Demoted {
        /// The target, in tokens.
        target: u64,
    },
    /// Its start and its end stay: a target leaves no room for the rest.
    Clipped {
        /// The target, in tokens.
        target: u64,
    },
}

impl Why {
    /// Whether the new text is one of what was there: a part of it, or the name of its place.
    pub fn names_content(self) -> bool {
        match self {
            Why::Oversize { .. } | Why::Offloaded | Why::Demoted { .. } | Why::Clipped { .. } => {
                true
            }
            Why::Old { .. } | Why::Superseded { .. } => false,
        }
    }
}

impl Change {
    /// The one line of the new text that stands where a reader of the file finds the old one again.
    pub fn in_mirrors(&self) -> &str {
        let omitted = match self.why {
            Why::Clipped { .. } => clip::marker_of(&self.text),
            Why::Superseded { .. }
            | Why::Oversize { .. }
            | Why::Old { .. }
            | Why::Offloaded
            | Why::Demoted { .. } => None,
        };
        omitted.unwrap_or_else(|| self.text.lines().next().unwrap_or_default())
    }

    /// Takes over what a later layer has made of the same result.
    pub fn become_smaller(&mut self, later: Change) {
        self.why = later.why;
        self.text = later.text;
        self.tokens_after = later.tokens_after;
    }
}
