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

/// Records of outputs at other paths; can be read more than once.
pub(super) type Elsewhere<'r> = &'r dyn Fn() -> Box<dyn Iterator<Item = Result<Record>> + 'r>;

/// The records of the one original that the records of this path, and those of `elsewhere`, agree on; `None` if there are none.
///
/// Records of this path take precedence, because two inputs can give the same output; of several, the last one.
///
/// # Errors
/// [`ErrorKind::Store`] if they do not agree; those of `elsewhere`.
pub(super) fn one_original(
    file: &Path,
    here: &[&Record],
    elsewhere: Elsewhere<'_>,
) -> Result<Option<Vec<Record>>> {
    let input_hash = match here {
        [] => match common_input(elsewhere)? {
            Common::One(input_hash) => input_hash,
            Common::None => return Ok(None),
            Common::Several => {
                let originals = elsewhere().map(|record| Ok(named_original(&record?)));
                return Err(several(
                    file,
                    "several originals compact to these bytes",
                    originals.collect::<Result<_>>()?,
                    "move the file back to where it was written, so that its own original is known",
                ));
            }
        },
        here => match newest(here) {
            Some(newest) => newest.input_hash.clone(),
            None => {
                return Err(several(
                    file,
                    "this file was made from several different originals, and the records do not say which came last",
                    here.iter().map(|record| named_original(record)).collect(),
                    "take the right one out of the store's archive by its name, or use the input that is named",
                ));
            }
        },
    };
    let here = here.iter().map(|record| Ok((*record).clone()));
    let is_same = |record: &Result<Record>| {
        let record = record.as_ref();
        record.map_or(true, |record| record.input_hash == input_hash)
    };
    let same = here.chain(elsewhere()).filter(is_same);
    Ok(Some(same.take(MOST_PLACES).collect::<Result<_>>()?))
}

/// What records name as the hash of their input.
enum Common {
    None,
    One(String),
    Several,
}

fn common_input(records: Elsewhere<'_>) -> Result<Common> {
    let mut records = records();
    let Some(first) = records.next().transpose()? else {
        return Ok(Common::None);
    };
    for record in records {
        if record?.input_hash != first.input_hash {
            return Ok(Common::Several);
        }
    }
    Ok(Common::One(first.input_hash))
}

/// The original of a record, for people.
fn named_original(record: &Record) -> String {
    match (record.original, &record.archive) {
        (Original::Archive, Some(archive)) => format!("{} ({archive})", record.input),
        (Original::Input | Original::Fork, _) | (Original::Archive, None) => record.input.clone(),
    }
}

/// The error that lists different originals.
fn several(file: &Path, message: &str, originals: BTreeSet<String>, hint: &str) -> Error {
    let originals: Vec<String> = originals.into_iter().collect();
    Error::new(
        ErrorKind::Store,
        format!("{message}: {}", originals.join(", ")),
    )
    .at(file)
    .hint(hint)
}
