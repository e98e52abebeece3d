//! Patches in the form of `apply_patch`: which files they change.
//!
//! Never applies one: a hunk says where it belongs by its surroundings, and only who has the file can tell.

use std::borrow::Cow;

use super::files::What;
use super::input::Input;

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'p> {
    pub(super) path: &'p str,
    pub(super) what: What,
    body: Vec<&'p str>,
}

impl Part<'_> {
    /// The lines that it adds, which are all that a new file has.
    pub(super) fn added(&self) -> String {
        let added = self.body.iter().filter_map(|line| line.strip_prefix('+'));
        added.map(|line| format!("{line}\n")).collect()
    }
}

/// The patch in a call's input: under a key, or the input itself.
pub(super) fn of<'i>(input: &'i Input<'_>) -> Option<Cow<'i, str>> {
    let patch = input
        .text(&["input", "patch"])
        .unwrap_or_else(|| input.plain());
    patch.contains("*** Begin Patch").then_some(patch)
}

/// The files of a patch, in its order.
pub(super) fn parts(patch: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for line in patch.lines() {
        let headers = [
            ("*** Add File: ", What::Write),
            ("*** Update File: ", What::Edit),
            ("*** Delete File: ", What::Delete),
        ];
        let header = headers
            .into_iter()
            .find_map(|(header, what)| Some((line.strip_prefix(header)?.trim(), what)));
        if let Some((path, what)) = header {
            let body = Vec::new();
            parts.push(Part { path, what, body });
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            // The old path goes; what the new one holds nobody says in full.
            if let Some(old) = parts.last_mut() {
                old.what = What::Delete;
            }
            parts.push(Part {
                path: path.trim(),
                what: What::Edit,
                body: Vec::new(),
            });
        } else if let Some(part) = parts.last_mut() {
            part.body.push(line);
        }
    }
    parts
}
