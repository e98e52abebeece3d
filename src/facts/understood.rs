//! Whether it is known what a call does.
//!
//! PURE. Does not say what the effect is or how the call ended.

use super::input::Input;
use super::shape::kind_by_shape;
use super::tools::{kind_of, steers};
use super::{patch, path, service};
use crate::policy::{ToolKind, Tools};

/// Whether it is known what a call does.
pub(super) fn understands<'i>(
    name: &str,
    input: impl FnOnce() -> Input<'i>,
    added: &Tools,
) -> bool {
    if steers(name) {
        return true;
    }
    let input = input();
    match kind_of(name, added) {
        ToolKind::Other => {
            kind_by_shape(name, &input) != ToolKind::Other || service::said(name, &input).is_some()
        }
        // The object that a tool works on is text.
        kind => names_its_object(kind, &input) || !input.has_any_text(),
    }
}

/// Whether an input names, under a known key, what a tool of this kind works on: a patch under an unknown key would change files
/// unnoticed.
fn names_its_object(kind: ToolKind, input: &Input<'_>) -> bool {
    let has_path = || path::of(input).is_some() || input.has(&["files", "paths", "include"]);
    let has_patch = || patch::of(input).is_some_and(|patch| !patch::parts(&patch).is_empty());
    match kind {
        // A running command may receive more input.
        ToolKind::Shell => input.has_command() || input.has(&["session_id"]) || has_patch(),
        ToolKind::Read => has_path(),
        ToolKind::Write | ToolKind::Edit => has_path() || has_patch(),
        ToolKind::Search | ToolKind::Web | ToolKind::Other => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_tool_whose_object_has_an_unknown_name_is_not_understood() {
        let patch = r#""*** Begin Patch\n*** Delete File: a\n*** End Patch""#;
        for (name, input, understood) in [
            ("apply_patch", format!(r#"{{"patchText":{patch}}}"#), true),
            ("apply_patch", format!(r#"{{"somePatch":{patch}}}"#), false),
            ("apply_patch", patch.to_owned(), true),
            ("Read", r#"{"file_path":"/a"}"#.to_owned(), true),
            ("Read", r#"{"where":"/a","limit":3}"#.to_owned(), false),
            ("Write", r#"{"where":"/a","content":"x"}"#.to_owned(), false),
            ("Bash", r#"{"script":"ls"}"#.to_owned(), false),
            ("Bash", "{}".to_owned(), true),
            ("Bash", r#"{"n":1}"#.to_owned(), true),
            (
                "write_stdin",
                r#"{"session_id":3,"chars":"y"}"#.to_owned(),
                true,
            ),
            ("LS", r#"{"depth":3}"#.to_owned(), true),
        ] {
            let is_understood =
                understands(name, || Input::in_json(input.as_bytes()), &Tools::default());
            assert_eq!(is_understood, understood, "{name} {input}");
        }
    }
}
