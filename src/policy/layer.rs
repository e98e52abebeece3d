//! The layers of a compaction. A layer is one variant here; `plan` decides what it does.

use super::choice::choice;

choice! {
    /// A step of compaction. Layers run in the order of the variants.
    Layer {
        /// Removes dead lines.
        Drop = "drop",
        /// Replaces a read whose path and range a later read covers.
        Superseded = "superseded",
        /// Moves an oversize tool output to the store and leaves a preview and its name.
        Demote = "demote",
        /// Replaces an old tool result by a placeholder.
        Clear = "clear",
        /// Moves an old tool result to the store and leaves its name.
        Offload = "offload",
        /// Replaces old messages by one summary.
        Summarize = "summarize",
        /// Puts recently read files back after a summary.
        Restore = "restore",
    }
}
