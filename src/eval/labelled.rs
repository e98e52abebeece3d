//! The names of cut sessions with their features and whether they were needed: the data to which the weights of names are fitted.
//!
//! Measures nothing. Used only by `scripts/fit-summary`, not by any command.

use super::events::{Queued, events};
use super::index::Index;
use super::segment::{bytes_of, folders, lines_before, nearest, places, segments};
use crate::error::Result;
use crate::facts::{Activity, Earlier};
use crate::format::{Format, Warnings};
use crate::policy::Policy;
use crate::summarizer::extractive::{Extract, FEATURES, Source, WEIGHTS};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::Transcript;

/// The share of the tokens before a cut that is kept besides a summary, in percent, for a budget of 10 %.
const STAYS: u64 = 3;

/// One cut of a session.
#[derive(Debug)]
pub struct Labelled {
    /// The tokens of the session.
    pub tokens: u64,
    /// The features of each name that could be found only in a summary, and whether it was needed.
    pub names: Vec<([f64; FEATURES], bool)>,
}

/// The names at each of `cuts` (in percent of the tokens) of each session of a transcript.
///
/// # Errors
/// If the policy counts tokens by a vocabulary that is not built in.
pub fn labelled(
    format: Format,
    transcript: &Transcript<'_>,
    policy: &Policy,
    cuts: &[f64],
) -> Result<Vec<Labelled>> {
    if let Some(lines) = transcript.document_as_lines() {
        let transcript = format.read(&lines, 1, &mut Warnings::default());
        return labelled(format, &transcript, policy, cuts);
    }
    let estimator = Estimator::new(&policy.tokens)?;
    let earlier = Earlier::of(policy)?;
    let mut all = Vec::new();
    for segment in segments(format, transcript, 1, None) {
        let mut warnings = Warnings::default();
        let transcript = format.read(&segment.bytes, 1, &mut warnings);
        let Some(conversation) = transcript.conversations.first() else {
            continue;
        };
        let growth = Sizes::new(estimator.clone()).growth(&transcript, conversation);
        let tokens = growth.last().copied().unwrap_or(0);
        let places = places(&transcript, conversation, &growth);
        let index = Index::new(
            events(&transcript, conversation, Queued::Counted),
            folders(&segment.bytes),
        );
        let spelled = index.spelled();
        let mut done = Vec::new();
        for cut in cuts {
            let Some(place) = nearest(&places, *cut, tokens).filter(|p| !done.contains(p)) else {
                continue;
            };
            done.push(place);
            let lines = lines_before(&transcript, conversation, place);
            let bytes = bytes_of(&transcript, &lines);
            let prefix = format.read(&bytes, 1, &mut warnings);
            let Some(conversation) = prefix.conversations.first() else {
                continue;
            };
            let stays = place.tokens * STAYS / 100;
            let end = growth.partition_point(|sum| *sum + stays < place.tokens);
            let end = (end + 1).min(conversation.messages.len());
            let source = Source {
                transcript: &prefix,
                conversation,
                acts: &Activity::of(&prefix, conversation, &policy.tools),
                origins: &earlier.origins(&prefix, conversation),
                earlier: &earlier,
                first_line: 1,
                instructions: "",
                policy,
                weights: &WEIGHTS,
            };
            let needed = index.needed(index.event_of(place.message));
            let needed = needed.iter().map(|name| spelled[*name as usize]);
            all.push(Labelled {
                tokens,
                names: Extract::of(source, 0..end).labelled(needed),
            });
        }
    }
    Ok(all)
}
