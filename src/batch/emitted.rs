//! The result of a compaction as messages of a provider's API (`--emit`), instead of a transcript.
//!
//! Decides nothing about content: `emit` writes the messages, from the bytes of the result.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::names::split_ending;
use crate::emit::{Messages, emit};
use crate::error::{Error, Result};
use crate::format::{Detected, Format, Layout};
use crate::outcome::{EmittedOutcome, LossOutcome};
use crate::pipeline::{Compacted, Pipeline};
use crate::plan::Keeping;
use crate::policy::{Policy, preset};

/// Inserted into the name of such an output, before its extension.
pub(super) const MESSAGES: &str = ".messages";

/// A policy that changes nothing.
static NOTHING: LazyLock<Option<Policy>> = LazyLock::new(|| preset("none").ok());

/// The pipeline that reads formats that are never compacted.
///
/// # Errors
/// None in practice: the policy is one of the program's own.
pub(super) fn reading() -> Result<Pipeline<'static>> {
    let nothing = NOTHING.as_ref();
    let nothing = nothing.ok_or_else(|| {
        Error::new(
            crate::error::ErrorKind::Internal,
            "the policy `none` is missing",
        )
    })?;
    Pipeline::new(nothing, Keeping::Nothing)
}

/// What an input counts as: if messages are emitted, formats that are never compacted are accepted too.
pub(super) fn taken(detected: Detected, emits: Option<Messages>) -> Detected {
    match emits {
        Some(_) => detected,
        None => detected.for_compaction(),
    }
}

/// The lines of a result, one for each conversation that has messages; whatever they lack is noted in the conversations.
pub(super) fn lines(
    compacted: &mut Compacted<'_>,
    (format, layout): (Format, Layout),
    messages: Messages,
) -> Vec<u8> {
    let emitted = {
        let mut pieces = compacted.pieces();
        let bytes = match (pieces.next(), pieces.next()) {
            (None, _) => Cow::Borrowed(&b""[..]),
            (Some(whole), None) => Cow::Borrowed(whole),
            (Some(first), Some(second)) => {
                let mut bytes = [first, second].concat();
                pieces.for_each(|piece| bytes.extend_from_slice(piece));
                Cow::Owned(bytes)
            }
        };
        emit(format, &bytes, layout, messages)
    };
    let mut lines = Vec::new();
    for one in emitted {
        lines.extend_from_slice(&one.line);
        let id = one.id.to_string();
        let is_it = |outcome: &&mut crate::outcome::ConversationOutcome| {
            layout == Layout::Line || outcome.id == id
        };
        if let Some(outcome) = compacted.conversations.iter_mut().find(is_it) {
            let losses = one.losses.iter();
            let losses = losses.map(|(kind, count)| LossOutcome { kind, count });
            outcome.emitted = Some(EmittedOutcome {
                messages: one.messages,
                losses: losses.collect(),
            });
        }
    }
    lines
}

/// `dir/in.jsonl` → `dir/in.messages.jsonl`, `in.json.gz` → `in.messages.jsonl.gz`; the ending is added to a file without one.
pub(super) fn named(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let ending = split_ending(&name.to_string_lossy()).1.to_owned();
    // Names may not be valid Unicode; their extensions are.
    let mut bare = PathBuf::from(name);
    for _ in ending.matches('.') {
        bare.set_extension("");
    }
    let packed = ending
        .rsplit('.')
        .next()
        .filter(|last| matches!(last.to_ascii_lowercase().as_str(), "gz" | "zst"));
    let mut output: OsString = bare.into_os_string();
    output.push(MESSAGES);
    output.push(OsStr::new(".jsonl"));
    if let Some(packed) = packed {
        output.push(".");
        output.push(packed);
    }
    path.with_file_name(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_named_after_its_input() {
        for (input, output) in [
            ("a/in.jsonl", "a/in.messages.jsonl"),
            ("in.jsonl.gz", "in.messages.jsonl.gz"),
            ("s.json", "s.messages.jsonl"),
            ("s.JSON.ZST", "s.messages.jsonl.ZST"),
            ("v1.2", "v1.2.messages.jsonl"),
        ] {
            assert_eq!(named(Path::new(input)), Path::new(output), "{input}");
        }
    }
}
