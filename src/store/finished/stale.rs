//! Files of finished work that are no longer of use: for none of their lines are input and output as they were, or the report that
//! they name is gone, or the lines are from which they were derived.
//!
//! Compares sizes only, and reads no input. A file with even one line that may still be valid is kept whole.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::BufReader;

use super::{FINISHED, MAX_LINE_BYTES, NoteHeader};
use crate::error::Result;
use crate::store::folder::{Folder, not_plain};
use crate::store::line_file::{names, next_line};
use crate::store::{FileIdentity, Store, rows};

impl Store {
    /// The names of such files relative to the store, with their sizes. There must be no active run.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the system refuses; [`crate::ErrorKind::Store`] for anything that no run of ours can have made.
    pub(in crate::store) fn stale_finished(&self) -> Result<BTreeMap<String, u64>> {
        let mut stale = BTreeMap::new();
        let Some(folder) = self.part(FINISHED)? else {
            return Ok(stale);
        };
        for name in names(&folder)? {
            let failed = |e| not_plain(&folder.path().join(&name), "read", e);
            let file = folder.read(&name).map_err(failed)?;
            let bytes = file.metadata().map_err(failed)?.len();
            let mut lines = BufReader::new(file);
            let mut line = Vec::new();
            let mut may_count = false;
            while !may_count
                && next_line(&mut lines, MAX_LINE_BYTES, &mut line)
                    .map_err(failed)?
                    .is_some()
            {
                may_count = NoteHeader::of(&line).is_some_and(|header| self.may_count(&header));
            }
            if let (false, Some(name)) = (may_count, name.to_str()) {
                stale.insert(format!("{FINISHED}/{name}"), bytes);
            }
        }
        stale.extend(self.stale_reports(&folder)?);
        stale.extend(stale_rows(&folder, &stale)?);
        Ok(stale)
    }

    /// Whether a run could take over a line, as far as sizes tell.
    fn may_count(&self, finished: &NoteHeader<'_>) -> bool {
        let is_as_seen = |name: &str, seen: FileIdentity| {
            fs::metadata(self.path_of(name)).is_ok_and(|now| now.len() == seen.bytes)
        };
        match (&finished.output, finished.output_seen) {
            // In place, the output has taken the place of the input.
            (Some(output), Some(seen)) if **output == *finished.input => is_as_seen(output, seen),
            (Some(output), Some(seen)) => {
                is_as_seen(output, seen) && is_as_seen(&finished.input, finished.input_seen)
            }
            (Some(_) | None, _) => is_as_seen(&finished.input, finished.input_seen),
        }
    }
}

/// The rows of files that are gone, or in `stale`.
fn stale_rows(folder: &Folder, stale: &BTreeMap<String, u64>) -> Result<Vec<(String, u64)>> {
    let failed = |e| not_plain(folder.path(), "list", e);
    let mut left = Vec::new();
    for name in folder.names().map_err(failed)? {
        let Some(lines) = rows::lines_of(&name) else {
            continue;
        };
        let in_store = |name: &OsStr| name.to_str().map(|name| format!("{FINISHED}/{name}"));
        let is_stale = in_store(&lines).is_some_and(|lines| stale.contains_key(&lines));
        if (is_stale || folder.look(&lines).map_err(failed)?.is_none())
            && let (Some(seen), Some(name)) = (folder.look(&name).map_err(failed)?, in_store(&name))
        {
            left.push((name, seen.len()));
        }
    }
    Ok(left)
}
