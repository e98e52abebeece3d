//! What becomes of dead lines, originals and secrets, and the tables of the layers that replace tool results:
//! `[superseded]`, `[demote]`, `[clear]`, `[offload]`.
//!
//! Data only: `plan` decides what is replaced in a conversation.

use super::choice::choice;
use super::key::table;
use super::layer::Layer;
use super::restore::ToolKind;
use super::template::Slot::{Name, Preview, Tool};
use super::template::Template;

choice! {
    /// `history`: what becomes of dead lines and of the lines that a summary replaces.
    History {
        /// They are removed from the output.
        Drop = "drop",
        /// They stay unchanged before the boundary.
        Keep = "keep",
    }
}

choice! {
    /// `archive`: when a copy of the original goes into the store.
    Archive {
        /// Only if the original would be gone: in place, or from a stream.
        Auto = "auto",
        /// Whenever the policy summarises.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

choice! {
    /// `redact`: where secrets are masked.
    Redact {
        /// In what is sent to a provider.
        Requests = "requests",
        /// There and in every line of an output.
        Outputs = "outputs",
        /// Nowhere.
        Never = "never",
    }
}

table! {
    /// Reads superseded by a later read of the same lines.
    "superseded" Superseded {
        /// What replaces the older result; may contain `{tool}`.
        placeholder: Template = "[Superseded: this file was read again later]",
            slots(&[], &[Tool]), needed_by(Layer::Superseded);
    }
}

table! {
    /// Oversize tool results, the newest included.
    "demote" Demote {
        /// A tool result larger than this goes to the store and leaves a preview; 0 means every result that becomes smaller that
        /// way.
        min_tokens: u64 = 10_000, unit("tokens"), common();
        /// The length of the preview.
        preview_chars: u64 = 2_000, unit("characters");
        /// What replaces the result; must contain `{name}`, may contain `{preview}` and `{tool}`.
        text: Template = "Output too large. Saved to: {name}\nPreview:\n{preview}...",
            slots(&[Name], &[Preview, Tool]), needed_by(Layer::Demote);
    }
}

table! {
    /// Old tool results, replaced by a placeholder.
    "clear" Clear {
        /// The newest results of `clear.tools` that are kept; those already cleared count.
        keep: u64 = 5, unit("results"), common();
        /// The kinds of tool whose results are cleared; an empty list means all.
        tools: Vec<ToolKind> = &[], common();
        /// Minimum size of a result to be cleared; both `clear.min_tokens` and `clear.min_chars` must be exceeded; 0 means no
        /// limit.
        min_tokens: u64 = 250, unit("tokens"), common();
        /// A result is cleared if it is longer than this and larger than `clear.min_tokens`; 0 means no limit.
        min_chars: u64 = 0, unit("characters");
        /// The forms of content that may be cleared.
        shapes: Vec<Shape> = &[Shape::String, Shape::List];
        /// What replaces the result, in the same form; may contain `{tool}`, the tool's name.
        placeholder: Template = "[Output of {tool} cleared - run it again if needed]",
            slots(&[], &[Tool]), needed_by(Layer::Clear), common();
    }
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

table! {
    /// What is moved out of a transcript or archived.
    "store" Naming {
        /// How texts refer to files in the store. With `--in-place` and `--fork`, the names are absolute paths, since an agent
        /// reads the file where it is.
        names: Names = Names::Relative;
    }
}

choice! {
    /// `store.names`: how texts name what is in the store.
    Names {
        /// By the path from the output's folder.
        Relative = "relative",
        /// By the whole path, which any program on this machine can open.
        Absolute = "absolute",
    }
}

table! {
    /// Old tool results that go to the store and leave their names.
    "offload" Offload {
        /// Offloading starts at this number of live tokens, compared as `trigger.compare` says.
        tokens: u64 = 0, unit("tokens");
        /// The share of messages, counted from the oldest, whose results may be offloaded.
        share: f64 = 0.0, share();
        /// A result is offloaded if it is longer than this and if that saves tokens.
        min_chars: u64 = 0, unit("characters");
        /// What replaces the result; must contain `{name}`, may contain `{tool}`.
        text: Template = "", slots(&[Name], &[Tool]), needed_by(Layer::Offload);
        /// Whether offloaded content is put back before a summary is written.
        restore_before_summary: bool = false;
        /// What replaces offloaded content that cannot be read at that point; may contain `{name}`.
        unavailable: Template = "", slots(&[], &[Name]);
        /// Whether, after a summary, offloaded files that no kept message names are deleted.
        cleanup: bool = false;
    }
}
