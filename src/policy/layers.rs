//! Which layers are on, and the tables of those that replace tool results: `[superseded]`, `[demote]`, `[clear]`,
//! `[offload]`.
//!
//! Data only: what is replaced in a conversation is the plan's to say.

use serde::{Deserialize, Serialize};

use super::choice::choice;
use super::{Template, ToolKind};

choice! {
    /// A step of compaction. Their order is fixed: that of the variants.
    Layer {
        /// Dead lines leave the output.
        Drop = "drop",
        /// A read whose path and range a later read covers is replaced.
        Superseded = "superseded",
        /// An oversize tool output goes to the store and leaves a preview and its name.
        Demote = "demote",
        /// An old tool result is replaced by a placeholder.
        Clear = "clear",
        /// An old tool result goes to the store and leaves its name.
        Offload = "offload",
        /// Old messages are replaced by one summary.
        Summarize = "summarize",
        /// Recently read files come back after a summary.
        Restore = "restore",
    }
}

choice! {
    /// `history`: what becomes of dead lines and of the lines that a summary replaces.
    History {
        /// They leave the output.
        Drop = "drop",
        /// They stay, untouched, before the boundary.
        Keep = "keep",
    }
}

choice! {
    /// `archive`: when a copy of the original goes into the store.
    Archive {
        /// Only where the original would be gone: in place, or from a stream.
        Auto = "auto",
        /// Whenever the policy summarises.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

choice! {
    /// `redact`: where secrets are blanked out.
    Redact {
        /// In what is sent to a provider.
        Requests = "requests",
        /// There, and in every line of an output.
        Outputs = "outputs",
        /// Nowhere.
        Never = "never",
    }
}

/// `[superseded]`: reads that a later read covers, which no other layer takes out itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superseded {
    /// What the older result becomes; may hold `{tool}`.
    pub placeholder: Template,
}

/// `[demote]`: oversize outputs, the newest too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demote {
    /// A result with more tokens than this is demoted. 40 000 in `layered`.
    pub min_tokens: u64,
    /// Characters of the preview. 2 000 in `layered`.
    pub preview_chars: u64,
    /// What the result becomes; holds `{name}`, may hold `{preview}` and `{tool}`.
    pub text: Template,
}

/// `[clear]`: old tool results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clear {
    /// The newest results of `tools` that stay; those already cleared count. 3 in the published systems.
    pub keep: u64,
    /// The kinds of tool whose results are cleared; none named = all.
    pub tools: Vec<ToolKind>,
    /// A result is cleared when it has more tokens than this, and more characters than `min_chars`; 0 = no limit.
    /// 1 000 in `layered`.
    pub min_tokens: u64,
    /// A result is cleared when it has more characters than this, and more tokens than `min_tokens`; 0 = no limit.
    /// 100 in the system that resets everything.
    pub min_chars: u64,
    /// The forms of content that may be cleared.
    pub shapes: Vec<Shape>,
    /// What the result becomes; may hold `{tool}`. The content keeps its form.
    pub placeholder: Template,
}

choice! {
    /// `clear.shapes`: the form of a result's content.
    Shape {
        /// A JSON string.
        String = "string",
        /// A JSON list of blocks.
        List = "list",
    }
}

/// `[offload]`: old tool results that go to the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offload {
    /// The live tokens at which offloading starts, by `trigger.compare`.
    pub tokens: u64,
    /// The messages concerned, as a share, 0 to 1, from the oldest: floor(messages × share).
    pub share: f64,
    /// A result is offloaded when it has more characters than this, and only if that saves tokens.
    pub min_chars: u64,
    /// What the result becomes; holds `{name}`, may hold `{tool}`.
    pub text: Template,
    /// Whether offloaded content is put back before a summary is written.
    pub restore_before_summary: bool,
    /// What stands for offloaded content that cannot be read then; may hold `{name}`.
    pub unavailable: Template,
    /// Whether, after a summary, our own offloads that no kept message names are cleaned up.
    pub cleanup: bool,
}
