//! The contents of outputs that may be shortened for a target, and how the store would keep them.
//!
//! Only reads. Recognises what an earlier run has left: a preview may still be shortened, a placeholder may not.

use super::{Context, Stored, is_already_replaced, stored};
use crate::facts;
use crate::plan::{Content, OutputCandidate, ResultRef};
use crate::policy::Policy;
use crate::store::offload_in;
use crate::transcript::Transcript;

/// An output that may be shortened.
#[derive(Debug)]
pub struct Output {
    /// Which one.
    pub place: ResultRef,
    /// Its content.
    pub content: OutputContent,
}

/// The content of an output.
#[derive(Debug)]
pub enum OutputContent {
    /// The output of the tool, or what is left of it.
    Text {
        /// The text.
        text: String,
        /// How the store would keep it, if it may go there.
        stored: Option<Stored>,
    },
    /// The name of the output in the store.
    Name {
        /// The name in the store, as it is spelled in the text.
        name: String,
        /// The beginning of the output.
        preview: String,
    },
}

/// The contents of `results`, without those that are placeholders.
pub(super) fn outputs(
    transcript: &Transcript<'_>,
    results: &[OutputCandidate],
    policy: &Policy,
    context: Context<'_>,
) -> Vec<Output> {
    let output = |result: &OutputCandidate| {
        let text = facts::block_text(transcript, transcript.block(result.place.block));
        let demoted = policy.demote.text.matches(&text);
        let content = match demoted.filter(|values| offload_in(values.name).is_some()) {
            Some(values) => OutputContent::Name {
                name: values.name.to_owned(),
                preview: values.preview.to_owned(),
            },
            None if is_already_replaced(&text, &result.place.tool(transcript), policy) => {
                return None;
            }
            None => {
                let may_leave = result.content == Content::Stored;
                let kept = may_leave.then(|| stored(transcript, &result.place, policy, context));
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
