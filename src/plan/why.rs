//! Why a result is replaced: one variant for each kind of edit.
//!
//! Data only. Its text in reports, and the layer that it belongs to, are defined here and nowhere else.

use crate::policy::Layer;
use crate::text::{count, thousands};

/// The edit of a result, and its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// A placeholder takes its place: a later read, which stays, shows the same.
    Superseded {
        /// The later read's line, from 0.
        line: u32,
        /// Its message, from 0.
        message: u32,
    },
    /// It goes to the store: it has more tokens than this.
    Oversize {
        /// `demote.min_tokens`
        limit: u64,
    },
    /// It is cleared: this many newer results come after it.
    Old {
        /// Results of the policy's kinds that are newer.
        newer: u64,
    },
    /// It goes to the store: it is among the oldest messages of a conversation that is large.
    Offloaded {
        /// `offload.share`
        share: f64,
    },
    /// It goes to the store: a target leaves no room for it.
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
    /// The layer that does it.
    pub fn layer(self) -> Layer {
        match self {
            Why::Superseded { .. } => Layer::Superseded,
            Why::Oversize { .. } | Why::Demoted { .. } => Layer::Demote,
            Why::Old { .. } | Why::Clipped { .. } => Layer::Clear,
            Why::Offloaded { .. } => Layer::Offload,
        }
    }

    /// Whether the edit is made for a target.
    pub fn is_for_target(self) -> bool {
        match self {
            Why::Demoted { .. } | Why::Clipped { .. } => true,
            Why::Superseded { .. } | Why::Oversize { .. } => false,
            Why::Old { .. } | Why::Offloaded { .. } => false,
        }
    }

    /// Whether the new text is what is left of the old one, with a note of what is missing.
    pub fn is_clipped(self) -> bool {
        matches!(self, Why::Clipped { .. })
    }

    /// Whether the new text depends on the old one: it is a part of it, or names the place where it is kept.
    pub fn depends_on_old_text(self) -> bool {
        match self {
            Why::Oversize { .. } | Why::Offloaded { .. } => true,
            Why::Demoted { .. } | Why::Clipped { .. } => true,
            Why::Old { .. } | Why::Superseded { .. } => false,
        }
    }

    /// The reason in a report; `number` gives the number of a line in the input, where lines have one.
    pub fn reason(self, number: impl Fn(u32) -> Option<u64>) -> String {
        let no_room = |target: u64| {
            let target = thousands(target);
            format!("too large for the target of {target} tokens")
        };
        match self {
            Why::Superseded { line, message } => match number(line) {
                Some(line) => format!("read again at line {line}, message {}", message + 1),
                None => format!("read again in message {}", message + 1),
            },
            Why::Oversize { limit } => format!("more than {} tokens", thousands(limit)),
            Why::Old { newer } => count(newer, "newer result") + " after it",
            Why::Offloaded { share } => {
                format!("among the first {}% of the messages", share * 100.0)
            }
            Why::Demoted { target } => no_room(target),
            Why::Clipped { target } => format!("clipped: {}", no_room(target)),
        }
    }
}
