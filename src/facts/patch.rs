//! Patches in the form of `apply_patch`: which files they change.
//!
//! Never applies them: placing a hunk by its context needs the whole file. So a hunk counts as a replacement that must fit in
//! exactly one place.

use std::borrow::Cow;

use super::input::Input;
use super::operation::{FileAction, Occurrences, Replacement};

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'p> {
    pub(super) path: &'p str,
    pub(super) what: FileAction,
    /// The lines of its part.
    pub(super) body: &'p str,
}

/// The lines that a part of a patch adds: the content of a new file.
pub(super) fn added(body: &str) -> String {
    let added = body.lines().filter_map(|line| line.strip_prefix('+'));
    added.map(|line| format!("{line}\n")).collect()
}

/// The replacements of the hunks of a part, in order.
pub(super) fn replacements(body: &str) -> Vec<Replacement> {
    let lines: Vec<&str> = body.lines().collect();
    let hunks = lines.split(|line| line.starts_with("@@"));
    let hunks = hunks.filter(|hunk| !hunk.is_empty());
    let side = |hunk: &[&str], other: char| {
        let lines = hunk.iter().filter(|line| !line.starts_with("***"));
        let lines = lines.filter(|line| !line.starts_with(other));
        lines
            .map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
            .collect::<String>()
    };
    hunks
        .map(|hunk| Replacement {
            old: side(hunk, '+'),
            new: side(hunk, '-'),
            at: Occurrences::Lines,
        })
        .collect()
}

/// The patch in a call's input: under a key, or the input itself.
pub(super) fn of<'i>(input: &'i Input<'_>) -> Option<Cow<'i, str>> {
    const BEGIN: &str = "*** Begin Patch";
    let is_one = |text: &Cow<'_, str>| text.contains(BEGIN);
    let own = input.text(&["input", "patch", "patchText"]).filter(is_one);
    // A shell command may also contain a patch.
    let command = || input.text(&["command", "cmd"]).filter(is_one);
    let argument = || {
        let mut arguments = input.texts(&["command", "cmd"])?.into_iter();
        arguments.find(|text| text.contains(BEGIN)).map(Cow::Owned)
    };
    let plain = || Some(input.plain()).filter(is_one);
    own.or_else(command).or_else(argument).or_else(plain)
}

/// The files of a patch, in its order.
pub(super) fn parts(patch: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut start, mut end) = (0, 0);
    for line in patch.split_inclusive('\n') {
        let begins = end;
        end += line.len();
        let line = line.trim_end_matches('\n').trim_end_matches('\r');
        let headers = [
            ("*** Add File: ", FileAction::Write),
            ("*** Update File: ", FileAction::Edit),
            ("*** Delete File: ", FileAction::Delete),
            ("*** Move to: ", FileAction::Edit),
        ];
        let header = headers
            .into_iter()
            .find_map(|(header, what)| Some((header, line.strip_prefix(header)?.trim(), what)));
        let ended = line.starts_with("*** End Patch");
        if (header.is_some() || ended)
            && let Some(last) = parts.last_mut()
        {
            last.body = &patch[start..begins];
        }
        if ended {
            return parts;
        }
        if let Some((header, path, what)) = header {
            // The old path is deleted; the patch does not show the whole content of the new one.
            if header == "*** Move to: "
                && let Some(old) = parts.last_mut()
            {
                old.what = FileAction::MoveFrom;
                // The previous content of the new path is gone, too.
                parts.push(Part {
                    path,
                    what: FileAction::Delete,
                    body: "",
                });
            }
            start = end;
            parts.push(Part {
                path,
                what,
                body: "",
            });
        }
    }
    if let Some(last) = parts.last_mut() {
        last.body = &patch[start..];
    }
    parts
}
