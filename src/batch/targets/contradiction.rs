//! How outputs contradict inputs or each other: names the first two files of which that is so.
//!
//! Holds all inputs in memory; used only for runs that are refused.

use std::collections::HashMap;

use crate::batch::Options;
use crate::batch::key_set::{PlaceKey, place_key};
use crate::batch::list::SourceList;
use crate::batch::source::Source;
use crate::batch::target::Destination;
use crate::error::{Error, ErrorKind, Result};
use crate::text::shown_path;

use super::Targets;

/// The error for inputs whose outputs contradict each other, of the first of them.
///
/// # Errors
/// If the list of inputs cannot be read.
pub(super) fn explain(targets: &Targets, sources: &SourceList, options: &Options) -> Result<Error> {
    let sources = sources.to_vec()?;
    let mut inputs: HashMap<PlaceKey, &Source> = HashMap::new();
    for source in &sources {
        if let Ok(plain) = source.path().canonicalize() {
            inputs.insert(place_key(&plain), source);
        }
    }
    let mut taken: HashMap<PlaceKey, &Source> = HashMap::new();
    for source in &sources {
        let met = (source.clone(), None);
        let Some(output) = targets.of(&met, options).output() else {
            continue;
        };
        let input = source.path();
        let replaced = output.canonicalize().ok();
        let replaced = replaced.and_then(|plain| inputs.get(&place_key(&plain)));
        match (replaced, &options.destination) {
            (None, _) | (Some(_), Destination::InPlace) => {}
            (Some(other), _) if other.path() == input => {
                let message = "the output would replace its own input";
                return Ok(Error::new(ErrorKind::Usage, message)
                    .at(input)
                    .hint("name another output"));
            }
            (Some(_), Destination::Beside) => {}
            (Some(other), _) => {
                let message = format!(
                    "the output of {} would overwrite this input",
                    shown_path(input)
                );
                return Ok(Error::new(ErrorKind::Usage, message)
                    .at(other.path())
                    .hint("name another output"));
            }
        }
        if let Some(other) = taken.insert(place_key(&output), source) {
            let message = format!(
                "the outputs of {} and of {} would be the same file",
                shown_path(other.path()),
                shown_path(input)
            );
            return Ok(Error::new(ErrorKind::Usage, message)
                .at(&output)
                .hint("name the folder that contains both: its tree is kept"));
        }
    }
    let message = "the inputs changed while it was checked where their outputs go";
    Ok(Error::new(ErrorKind::Changed, message).hint("run the command again"))
}
