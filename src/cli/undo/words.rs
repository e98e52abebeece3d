//! What `undo` says of the files that it restored, or would restore.
//!
//! PURE.

use std::path::Path;

use serde_json::{Value, json};

use crate::batch::Effect;
use crate::outcome::path_text;
use crate::store::atomic::lost_of_the_file;
use crate::store::undo::{State, Undone};
use crate::text::{count, shown_path};

/// What happens to an original.
fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Write => "restored",
        Effect::DryRun => "would be restored",
    }
}

/// How many files were restored, with so many bytes of originals.
pub(super) fn sum_line(files: u64, bytes: u64, effect: Effect) -> String {
    match (files, effect) {
        (0, Effect::Write) => "nothing was restored".to_owned(),
        (0, Effect::DryRun) => "nothing would be restored".to_owned(),
        (files, effect) => {
            let (files, bytes) = (count(files, "file"), count(bytes, "byte"));
            format!("{files} {}, {bytes}", verb(effect))
        }
    }
}

/// What was done with a file, for programs.
pub(super) fn result(path: &Path, done: &Undone, effect: Effect) -> Value {
    let restored = match effect {
        Effect::Write => "restored",
        Effect::DryRun => "would_restore",
    };
    let (result, discarded) = match &done.state {
        State::AlreadyOriginal(_) => ("already_original", 0),
        State::Compacted => (restored, 0),
        State::Grown(lost) => (restored, *lost),
    };
    json!({"file": path_text(path), "result": result, "bytes": done.bytes, "bytes_discarded": discarded})
}

/// What was done with a file, as a line of text.
pub(super) fn result_line(path: &Path, done: &Undone, effect: Effect) -> String {
    let bytes = count(done.bytes, "byte");
    let verb = verb(effect);
    let lost = if done.lost.is_empty() {
        String::new()
    } else {
        format!("; warning: {}", lost_of_the_file(&done.lost))
    };
    let result = match &done.state {
        State::AlreadyOriginal(_) => format!("is already the original ({bytes})"),
        State::Compacted => format!("{bytes} {verb}"),
        State::Grown(lost) => {
            let appended = count(*lost, "appended byte");
            let discarded = verb.replace("restored", "discarded");
            format!("{bytes} {verb}, {appended} {discarded}")
        }
    };
    let copy = match (&done.copy_of, effect) {
        (Some(input), Effect::Write) => format!("; it is a copy of {} now", shown_path(input)),
        (Some(input), Effect::DryRun) => format!("; it would be a copy of {}", shown_path(input)),
        (None, _) => String::new(),
    };
    format!("{}: {result}{copy}{lost}", shown_path(path))
}
