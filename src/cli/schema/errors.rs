//! What every command writes to stderr for programs: a line for each error, warning or note.

use std::collections::BTreeSet;

use super::build::{Schema, from_one, key, object, one_of, or_null, text};
use super::words::{Table, every, words};
use crate::batch::SkipReason;
use crate::cli::topics::Topic;
use crate::error::{ErrorKind, Result};

/// The tables with the kinds of notices: warnings and failures of inputs, and notices that occur only on stderr.
const TABLES: [&str; 5] = ["Rejections", "Degraded", "Warnings", "Odd lines", "Notices"];

pub(super) fn schema() -> Result<Schema> {
    let mut kinds: BTreeSet<String> = words::<ErrorKind>()
        .iter()
        .map(ToString::to_string)
        .collect();
    for heading in TABLES {
        let table = Table::of(Topic::Errors, heading)?;
        kinds.extend(table.names().map(str::to_owned));
    }
    let skipped = every!(SkipReason.kind: FolderLink Store NoFile BrokenLink SameFile OtherExtension Output Excluded Ignored Older Newer OtherProject NotDegraded Vanished ToPrune Pruned VanishedButChanged);
    kinds.extend(skipped.map(str::to_owned));
    let root = object(vec![
        key(
            "kind",
            one_of(kinds),
            "The stable name; `ctxpack help errors` explains each.",
        ),
        key("message", text(), "What is wrong; not stable."),
        key(
            "file",
            or_null(text()),
            "The file that it is about, if it is about one.",
        ),
        key(
            "line",
            or_null(from_one()),
            "The line of that file, if it is about one.",
        ),
        key("hint", or_null(text()), "What to do about it, or null."),
    ]);
    Ok(Schema {
        title: "ctxpack error",
        about: "An error, a warning or a note: a line of stderr with --error-format json.",
        root,
        parts: Vec::new(),
    })
}
