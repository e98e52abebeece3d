//! Reads that a later read may cover.
//!
//! Says what each of them shows; whether the later one still shows it in the end is settled afterwards, with what the
//! other layers do.

use super::{ResultPlan, is_persisted};
use crate::facts::{self, Shown, exchanges, reads};
use crate::ids::IdMap;
use crate::policy::Policy;
use crate::transcript::{Conversation, Transcript};

/// Whether a result is a read that a later one may cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// Another result shows the same file.
    Read {
        /// The same number for all reads of one file in one conversation.
        file: u32,
        /// What this one shows of it.
        shows: Shown,
    },
    /// The layer is off, or the result is no read of a file that is read twice.
    No,
}

/// Marks the reads among the results of one conversation; `files` is how many files there are in those before it.
pub(super) fn mark(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    policy: &Policy,
    files: &mut u32,
    results: &mut [ResultPlan],
) {
    let exchanges = exchanges(transcript, conversation, &policy.tools);
    let reads = reads(transcript, &exchanges);
    let mut times: IdMap<(&str, &[u8]), (u32, u32)> = IdMap::default();
    for read in &reads {
        let (_, number) = times.entry((&read.path, &read.options)).or_insert_with(|| {
            *files += 1;
            (*files, 0)
        });
        *number += 1;
    }
    let mut marks: IdMap<u32, Superseded> = IdMap::default();
    for read in &reads {
        let block = transcript.block(read.result.block);
        let Some((file, 2..)) = times.get(&(&read.path, &read.options)).copied() else {
            continue;
        };
        let said = facts::said(transcript, block);
        if is_persisted(transcript, block) || is_ours(&said, policy) {
            continue;
        }
        if let Some(shows) = read.shown(&said) {
            marks.insert(read.result.block, Superseded::Read { file, shows });
        }
    }
    if marks.is_empty() {
        return;
    }
    for result in results {
        if let Some(mark) = marks.get(&result.block) {
            result.superseded = *mark;
        }
    }
}

/// Whether an earlier run has put this there.
fn is_ours(said: &str, policy: &Policy) -> bool {
    let texts = [
        &policy.superseded.placeholder,
        &policy.demote.text,
        &policy.clear.placeholder,
    ];
    texts.iter().any(|text| text.matches(said).is_some())
}
