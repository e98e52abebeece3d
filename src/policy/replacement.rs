//! The texts that a policy leaves in place of tool results, all in one list, so that a later run recognises them.
//!
//! Knows only the form of a text: the caller checks whether a name in it is a file of the store.

use super::{Policy, Substitutions, Template};

/// A text that is left in place of a tool result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The file was read again later.
    Superseded,
    /// The beginning of an oversize output, and its name in the store.
    Demoted,
    /// The result was cleared.
    Cleared,
    /// The result's name in the store.
    Offloaded,
    /// The name of a result that the store lacks.
    Unavailable,
}

impl Replacement {
    /// All of them, in the order in which a text is compared with them.
    pub const ALL: [Replacement; 5] = [
        Replacement::Superseded,
        Replacement::Demoted,
        Replacement::Cleared,
        Replacement::Offloaded,
        Replacement::Unavailable,
    ];

    /// The policy's text.
    pub fn template(self, policy: &Policy) -> &Template {
        match self {
            Replacement::Superseded => &policy.superseded.placeholder,
            Replacement::Demoted => &policy.demote.text,
            Replacement::Cleared => &policy.clear.placeholder,
            Replacement::Offloaded => &policy.offload.text,
            Replacement::Unavailable => &policy.offload.unavailable,
        }
    }
}

impl Policy {
    /// The replacements by an earlier run that a result's whole text may be. An ordinary result matches none.
    pub fn replacements_in<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = (Replacement, Substitutions<'t>)> {
        Replacement::ALL.into_iter().filter_map(move |kind| {
            let values = kind.template(self).matches(text)?;
            Some((kind, values))
        })
    }
}
