//! The messages of a compacted file, each with what became of it, for the page of a run over that file alone.
//!
//! Reads the output and the input of the run; writes nothing. The page of a run over many files has no such table: it would be as
//! large as the files.

use std::path::Path;

use super::Context;
use super::reports::Planned;
use crate::batch::{Effect, Loaded, Loading, Options};
use crate::diff::{Diff, Differ, Source};
use crate::error::Result;
use crate::format::Detected;
use crate::outcome::{NoticeLevel, Notices, Outcome, Status};
use crate::policy::{Policy, Redact};
use crate::report::ReportFormat;
use crate::store::undo::Undo;

/// What became of the messages, if a page is written on one file that was compacted into another or in its place. If this cannot be
/// read, says so.
pub(super) fn aligned(
    context: &Context,
    one: &Outcome,
    planned: &[Planned],
    options: &Options,
    policy: &Policy,
) -> Option<Diff> {
    let has_page = planned
        .iter()
        .any(|(_, format)| *format == ReportFormat::Html);
    let output = one.output.as_deref().filter(|output| *output != "-")?;
    let is_written = one.status == Status::Compacted && options.effect == Effect::Write;
    if !has_page
        || !is_written
        || one.file.path == "-"
        || options.fork.is_some()
        || options.emit.is_some()
    {
        return None;
    }
    match read(context, one, Path::new(output), options, policy) {
        Ok(diff) => diff,
        Err(error) => {
            let mut notices = Notices::default();
            let message = format!("the page lacks its messages: {error}");
            let place = (&*one.file.path, None);
            notices.add(
                NoticeLevel::Warning,
                "messages_not_shown",
                &message,
                None,
                place,
            );
            context.notices(notices);
            None
        }
    }
}

fn read(
    context: &Context,
    one: &Outcome,
    output: &Path,
    options: &Options,
    policy: &Policy,
) -> Result<Option<Diff>> {
    let loading = Loading {
        format: options.format,
        limits: options.limits,
        bad_lines: options.bad_lines,
        stop: &context.stop,
    };
    let input = Path::new(&one.file.path);
    let old = match options.destination.is_in_place() {
        true => {
            let mut bytes = Vec::new();
            let mut undo = Undo::new(options.store.clone());
            undo.find(input)?.original(&mut bytes)?;
            loading.bytes(input, &bytes)?
        }
        false => loading.file(input)?,
    };
    let new = loading.file(output)?;
    let (Some(before), Some(after)) = (source(&old), source(&new)) else {
        return Ok(None);
    };
    if before.format != after.format || before.layout != after.layout {
        return Ok(None);
    }
    let mut diff = Differ::new(policy)?.diff(before, after, &one.conversations);
    match policy.redact {
        // The first words of what is gone were never masked.
        Redact::Outputs => {
            for row in diff.conversations.iter_mut().flat_map(|c| &mut c.rows) {
                row.words.clear();
            }
        }
        Redact::Requests | Redact::Never => {}
    }
    Ok(Some(diff))
}

fn source(loaded: &Loaded) -> Option<Source<'_>> {
    match loaded.detected {
        Detected::Known(format, layout) => Some(Source {
            bytes: &loaded.bytes,
            format,
            layout,
        }),
        Detected::Unsupported(_) => None,
    }
}
