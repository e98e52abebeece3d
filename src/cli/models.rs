//! Checks that some setting names the model for summaries: an error before the first input is better than one after each.
//!
//! Reads the first inputs and nothing else; sends nothing.

use crate::batch::{Loading, Source, each_transcript};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Warnings};
use crate::pipeline::asks_a_server;
use crate::policy::Policy;

/// How many inputs are examined: the inputs of an archive are mostly of one kind.
const LOOKED_AT: usize = 20;

/// Rejects a policy that uses a model but names none, if the inputs name none either.
///
/// `first` returns the first inputs, up to the given number.
pub(super) fn check(
    policy: &Policy,
    first: impl FnOnce(usize) -> Result<Vec<Source>>,
    loading: &Loading<'_>,
) -> Result<()> {
    if !asks_a_server(policy) || !policy.summary.model.is_empty() {
        return Ok(());
    }
    let mut nameless = None;
    for source in first(LOOKED_AT)? {
        // An input that cannot be read is reported when it is processed; a stream can be read only once.
        let Source::File(file) = source else {
            return Ok(());
        };
        let Ok(loaded) = loading.file(&file.path) else {
            return Ok(());
        };
        let Detected::Known(format, layout) = loaded.detected else {
            continue;
        };
        let mut names_one = false;
        each_transcript(&loaded.bytes, layout, |bytes, first_line, _| {
            let transcript = format.read(bytes, first_line, &mut Warnings::default());
            let mut conversations = transcript.conversations.iter();
            names_one |= conversations.any(|c| format.model(&transcript, c).is_some());
        });
        if names_one {
            return Ok(());
        }
        nameless = nameless.or(Some(file.path));
    }
    let Some(path) = nameless else {
        return Ok(());
    };
    let message = "neither the policy nor the transcript names a model to ask for a summary";
    Err(Error::new(ErrorKind::Config, message)
        .at(path)
        .hint("name one: --model NAME"))
}
