//! What recent results say, and how the store would keep them: for those that may become smaller for a target.
//!
//! Only reads. What an earlier run has put in the place of a result is known as such: a preview may still become shorter,
//! a placeholder has nothing to lose.

use super::{Stored, is_already_replaced, stored};
use crate::facts;
use crate::plan::{Content, OutputCandidate, Place};
use crate::policy::Policy;
use crate::store::is_offload_name;
use crate::transcript::Transcript;

/// A result that may become smaller.
#[derive(Debug)]
pub struct Output {
    /// Which one.
    pub place: Place,
    /// What it says.
    pub content: OutputContent,
}

/// What a result says.
#[derive(Debug)]
pub enum OutputContent {
    /// What its tool has said, or what is left of that.
    Text {
        /// The words.
        text: String,
        /// How the store would keep them, if it may.
        stored: Option<Stored>,
    },
    /// Where to find what its tool has said.
    Name {
        /// The name in the store.
        name: String,
        /// The first words.
        preview: String,
    },
}

/// What `results` say; those that hold a placeholder are left out.
pub(super) fn outputs(
    transcript: &Transcript<'_>,
    results: &[OutputCandidate],
    policy: &Policy,
) -> Vec<Output> {
    let output = |result: &OutputCandidate| {
        let text = facts::said(transcript, transcript.block(result.place.block));
        let demoted = policy.demote.text.matches(&text);
        let content = match demoted.filter(|values| is_offload_name(values.name)) {
            Some(values) => OutputContent::Name {
                name: values.name.to_owned(),
                preview: values.preview.to_owned(),
            },
            None if is_already_replaced(&text, &result.place.tool(transcript), policy) => {
                return None;
            }
            None => {
                let may_leave = result.content == Content::Stored;
                let kept = may_leave.then(|| stored(transcript, &result.place, policy));
                OutputContent::Text {
                    stored: kept.flatten().map(|(stored, _)| stored),
                    text: text.into_owned(),
                }
            }
        };
        Some(Output {
            place: result.place,
            content,
        })
    };
    results.iter().filter_map(output).collect()
}
