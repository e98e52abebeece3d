//! The report beside an output: what becomes of it when the output is undone.
//!
//! Deletes only a report of ours about exactly that output.

use std::io::Read;
use std::path::Path;

use crate::batch::stats_beside;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::report::read::read_compact;
use crate::report::{ReportFormat, is_report};
use crate::store::atomic::remove;
use crate::store::{Missing, OpenPath};

/// Larger reports are on more than one file.
const MAX_REPORT_BYTES: u64 = 256 << 20;

/// What happened to the report about an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stale {
    /// There is no report of ours.
    Nothing,
    /// It was deleted.
    Removed,
    /// It is about other files, too, and stays.
    OfOthers,
    /// It is about bytes other than those that were undone, and stays.
    OfAnother,
}

/// Deletes the report next to an output that was undone, if it is about that output alone, with this hash. Below `folder`, no link
/// is followed.
pub(super) fn take_back(output: &Path, folder: Option<&Path>, hash: &str) -> Result<Stale> {
    let path = stats_beside(&path_text(output));
    let spot = match folder {
        Some(folder) => OpenPath::below(folder, &path, Missing::Refuse),
        None => OpenPath::named(&path, Missing::Refuse),
    };
    let opened = spot.and_then(|spot| Ok((spot.read()?, spot)));
    let (file, spot) = match opened {
        // A link, a folder or nothing at all is not a report of ours.
        Err(error) if is_no_report(&error) => return Ok(Stale::Nothing),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    let read_all = (&file).take(MAX_REPORT_BYTES + 1).read_to_end(&mut bytes);
    read_all.map_err(|e| Error::io(&path, "read", e))?;
    if !is_report(&bytes, ReportFormat::Json) {
        return Ok(Stale::Nothing);
    }
    if bytes.len() as u64 > MAX_REPORT_BYTES {
        return Ok(Stale::OfOthers);
    }
    // The report is from another command, or from a later version.
    let Ok(report) = read_compact(&path, &bytes) else {
        return Ok(Stale::Nothing);
    };
    let [one] = report.files() else {
        return Ok(Stale::OfOthers);
    };
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let is_its = one.output.as_deref().and_then(name) == name(&path_text(output));
    if !is_its || one.hash_after.as_deref() != Some(hash) {
        return Ok(Stale::OfAnother);
    }
    Ok(match remove(&spot, &file)? {
        true => Stale::Removed,
        false => Stale::OfAnother,
    })
}

/// Whether there is nothing that can be read as a file.
fn is_no_report(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::Exists)
        || error.kind == ErrorKind::Io && error.source.is_none()
}
