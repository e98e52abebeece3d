//! Determines the original that records agree on.
//!
//! PURE. Never guesses: if records name several originals and none is certainly the last one, that is an error.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::store::manifest::{Original, Record, newest};

/// At most this many records of one original are kept: enough places to find its bytes, and few enough that thousands of equal
/// files do not each hold thousands of records.
const MOST_PLACES: usize = 64;

/// The records of the one original that `records` agree on; empty if there are none.
///
/// Records of this path take precedence, because two inputs can give the same output; of several, the last one.
pub(super) fn one_original(
    file: &Path,
    records: &[&Record],
    name: Option<&str>,
) -> Result<Option<Vec<Record>>> {
    let is_here = |record: &Record| Some(record.output.as_str()) == name;
    let here: Vec<&Record> = records.iter().copied().filter(|r| is_here(r)).collect();
    let chosen = match (records, here.as_slice()) {
        ([], _) => return Ok(None),
        ([first, rest @ ..], []) => {
            let is_other = |record: &&Record| record.input_hash != first.input_hash;
            if rest.iter().any(is_other) {
                return Err(several(
                    file,
                    "several originals compact to these bytes",
                    records,
                    "move the file back to where it was written, so that its own original is known",
                ));
            }
            first
        }
        (_, here) => newest(here).ok_or_else(|| {
            several(
                file,
                "this file was made from several different originals, and the records do not say which came last",
                here,
                "take the right one out of the store's archive by its name, or use the input that is named",
            )
        })?,
    };
    let is_same = |record: &&Record| record.input_hash == chosen.input_hash;
    let elsewhere = records.iter().copied().filter(|record| !is_here(record));
    let same = here.iter().copied().chain(elsewhere).filter(is_same);
    Ok(Some(same.take(MOST_PLACES).cloned().collect()))
}

/// The error that lists the different originals of `records`.
fn several(file: &Path, message: &str, records: &[&Record], hint: &str) -> Error {
    let originals: BTreeSet<String> = records
        .iter()
        .map(|record| match (record.original, &record.archive) {
            (Original::Archive, Some(archive)) => format!("{} ({archive})", record.input),
            (Original::Input | Original::Fork, _) | (Original::Archive, None) => {
                record.input.clone()
            }
        })
        .collect();
    let originals: Vec<String> = originals.into_iter().collect();
    Error::new(
        ErrorKind::Store,
        format!("{message}: {}", originals.join(", ")),
    )
    .at(file)
    .hint(hint)
}
