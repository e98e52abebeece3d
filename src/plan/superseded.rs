//! Reads that a later read may cover.
//!
//! Says what each of them shows; whether the later one still shows it in the end is settled afterwards, with what the
//! other layers do.

use super::results::{Candidate, Content, Found, Limits, Reason, Results, is_persisted};
use crate::facts::{self, exchanges, reads};
use crate::ids::IdMap;
use crate::policy::Policy;

/// The reads of files that are read more than once.
pub(super) fn candidates<'p>(results: &Results<'_, '_>, policy: &'p Policy) -> Vec<Found<'p>> {
    let transcript = results.transcript;
    let exchanges = exchanges(transcript, results.conversation, &policy.tools);
    let reads = reads(transcript, &exchanges);
    let mut files: IdMap<(&str, &[u8]), (u32, u32)> = IdMap::default();
    for read in &reads {
        let number = files.len() as u32;
        let file = files.entry((&read.path, &read.options));
        file.or_insert((number, 0)).1 += 1;
    }
    let mut marks: IdMap<u32, Reason> = IdMap::default();
    for read in &reads {
        let block = transcript.block(read.result.block);
        let Some((file, 2..)) = files.get(&(&read.path, &read.options)).copied() else {
            continue;
        };
        let said = facts::block_text(transcript, block);
        let is_ours = || policy.replacements_in(&said).next().is_some();
        if is_persisted(transcript, block) || is_ours() {
            continue;
        }
        if let Some(shows) = read.shown(&said) {
            marks.insert(read.result.block, Reason::ShownAgain { file, shows });
        }
    }
    let candidate = |reason: &Reason| Candidate {
        reason: *reason,
        over: Limits::default(),
        text: &policy.superseded.placeholder,
        content: Content::Dropped,
    };
    let all = results.all.iter().enumerate();
    all.filter_map(|(number, place)| Some((number, candidate(marks.get(&place.block)?))))
        .collect()
}
