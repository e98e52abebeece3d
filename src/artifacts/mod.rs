//! Gathers what a plan needs from outside before it can be settled.
//!
//! Only reads; nothing is written until the result is verified. This module gathers the contents of results that may go to the
//! store, and the names that they would have there. `disk` reads files to restore, `summary` asks for summaries.

mod answer;
mod asking;
mod batch_client;
mod chunked;
mod counts;
mod disk;
mod model;
mod offloaded;
mod outputs;
mod parts;
mod recents;
mod replies;
mod sources;
mod summary;

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::plan::{self, Candidate, Decision, Plan, ResultPlan, ResultRef};
use crate::policy::{Policy, Replacement};
use crate::scan::{Text, lossy, unescape_into};
use crate::store::{OffloadHash, offload_in};
use crate::tokens::Sizes;
use crate::transcript::{Block, Transcript};

pub use answer::Answer;
pub use batch_client::{BatchClient, BatchReport, Demand};
pub use chunked::ReadCoverage;
pub use counts::PromptCut;
pub use disk::{NotRead, Root};
pub use model::{
    CUT_OFF, EMPTY, Ending, Excess, InstructionSource, MORE, ModelError, ModelReply, ModelRequest,
    SummaryModel,
};
pub use offloaded::{offloaded, returned};
pub use outputs::{Output, OutputContent};
pub use recents::UnreadFile;
pub use replies::Replies;
pub use sources::{Context, Sources};
pub use summary::SummaryArtifacts;

use outputs::outputs;
use recents::recents;

/// A content up to this size, in bytes, is compared with the texts that earlier runs leave, which are far smaller.
const WHOLE_BYTES: usize = 1 << 20;

/// What was gathered for a plan.
#[derive(Debug, Default)]
pub struct Artifacts<'t> {
    /// The results that may go to the store, by block.
    pub stored: BTreeMap<u32, StoredResult>,
    /// The contents of outputs to fit, in the order of the plan.
    pub outputs: Vec<Vec<Output>>,
    /// The artifacts for each conversation that the plan considered for a summary.
    pub summaries: Vec<SummaryArtifacts<'t>>,
}

/// A result that may go to the store.
#[derive(Debug)]
pub struct StoredResult {
    /// The result as the store would keep it.
    pub stored: Stored,
    /// Its first characters.
    pub preview: String,
}

/// A result as the store would keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name, relative to the store.
    pub name: String,
    /// Its path, as it appears in texts.
    pub path: String,
    /// Its content, if the line was edited since the input was read.
    pub content: Option<Vec<u8>>,
}

impl Sources<'_> {
    /// Gathers the artifacts of a plan; `next_reply` is the number of the next scripted answer.
    pub fn gather<'t>(
        &'t self,
        transcript: &Transcript<'_>,
        plan: &Plan<'t>,
        sizes: &Sizes,
        context: Context<'_>,
        next_reply: &mut usize,
    ) -> Artifacts<'t> {
        let mut artifacts = results(transcript, &plan.results, sizes, self.policy, context);
        let planned = plan.outputs.iter();
        artifacts.outputs = planned
            .map(|plan| outputs(transcript, &plan.results, self.policy, context))
            .collect();
        let planned = plan.summaries.iter();
        artifacts.summaries = planned
            .map(|plan| match &plan.decision {
                Decision::Summarise {
                    subject,
                    cut,
                    request,
                    ..
                } => self.summary(context, next_reply, subject, *cut, *request),
                Decision::Leave { .. } => SummaryArtifacts::default(),
            })
            .collect();
        artifacts
    }
}

/// Gathers what is needed of results. Results that are small enough are skipped; so is what an earlier run left, since a preview
/// would only become a preview of itself, and a placeholder is not worth keeping.
fn results<'t>(
    transcript: &Transcript<'_>,
    results: &[ResultPlan<'_>],
    sizes: &Sizes,
    policy: &Policy,
    context: Context<'_>,
) -> Artifacts<'t> {
    let mut artifacts = Artifacts::default();
    for result in results {
        let block = result.place.block;
        let candidate = &result.candidate;
        if candidate.content != plan::Content::Stored
            || !is_large_enough(transcript, block, candidate, sizes)
        {
            continue;
        }
        if let Some((stored, head)) = stored(transcript, &result.place, policy, context) {
            let preview = head.chars().take(policy.demote.preview_chars as usize);
            let preview = preview.collect();
            artifacts
                .stored
                .insert(block, StoredResult { stored, preview });
        }
    }
    artifacts
}

/// Whether a result has more tokens than the layer's limit.
pub fn is_large_enough(
    transcript: &Transcript<'_>,
    block: u32,
    candidate: &Candidate<'_>,
    sizes: &Sizes,
) -> bool {
    let tokens = || sizes.estimator().tokens(sizes.result(transcript, block));
    candidate.over.tokens.is_none_or(|limit| tokens() > limit)
}

/// A result as the store would keep it, and its beginning; `None` if an earlier run has replaced it already.
fn stored(
    transcript: &Transcript<'_>,
    place: &ResultRef,
    policy: &Policy,
    context: Context<'_>,
) -> Option<(Stored, String)> {
    let block = transcript.block(place.block);
    let mut hash = OffloadHash::default();
    let (mut head, mut bytes) = (Vec::new(), 0);
    let head_bytes = WHOLE_BYTES.max(policy.demote.preview_chars as usize * 4 + 4);
    let content = Content::now(transcript, block);
    content.pieces(|piece| {
        hash.update(piece);
        bytes += piece.len();
        let room = head_bytes - head.len();
        head.extend_from_slice(&piece[..piece.len().min(room)]);
    });
    let text = lossy(&head);
    if bytes == head.len() && is_already_replaced(&text, &place.tool(transcript), policy) {
        return None;
    }
    let content = transcript.is_edited(block.line).then(|| {
        let mut whole = Vec::with_capacity(bytes);
        content.pieces(|piece| whole.extend_from_slice(piece));
        whole
    });
    let name = hash.name();
    let stored = Stored {
        path: format!("{}/{name}", context.folder),
        name,
        content,
    };
    Some((stored, text.into_owned()))
}

/// Whether `text` is what an earlier run puts in the place of a result of `tool`.
fn is_already_replaced(text: &str, tool: &str, policy: &Policy) -> bool {
    policy
        .replacements_in(text)
        .any(|(kind, values)| match kind {
            Replacement::Demoted | Replacement::Offloaded => offload_in(values.name).is_some(),
            Replacement::Superseded | Replacement::Cleared | Replacement::Unavailable => {
                values.tool.is_empty() || values.tool == tool
            }
        })
}

/// The content of a result as the store keeps it: its texts, separated by line breaks.
///
/// Read from the input, so that it is available after the result was replaced, and in pieces, because one result may be nearly
/// all of a large file.
#[derive(Debug, Clone, Copy)]
pub enum Content<'t> {
    /// Texts of a line.
    Line {
        /// The line.
        line: &'t [u8],
        /// The texts on it.
        texts: &'t [Text],
    },
    /// A copy of the content.
    Whole(&'t [u8]),
}

impl<'t> Content<'t> {
    /// The content that was moved to the store as `stored`; `block` is the changed block.
    pub fn stored(stored: &'t Stored, transcript: &'t Transcript<'_>, block: u32) -> Self {
        let block = transcript.block(block);
        match &stored.content {
            Some(content) => Content::Whole(content),
            None => Content::Line {
                line: transcript.original_line(block.line),
                texts: transcript.texts(block),
            },
        }
    }

    /// The content of a result as it is now.
    fn now(transcript: &'t Transcript<'_>, block: &Block) -> Self {
        Content::Line {
            line: transcript.line(block.line),
            texts: transcript.texts(block),
        }
    }

    /// Passes it to `sink` piece by piece.
    pub fn pieces(self, mut sink: impl FnMut(&[u8])) {
        match self {
            Content::Whole(content) => sink(content),
            Content::Line { line, texts } => {
                for (i, text) in texts.iter().enumerate() {
                    if i > 0 {
                        sink(b"\n");
                    }
                    unescape_into(text.span.of(line), &mut sink);
                }
            }
        }
    }

    /// Writes it to `out`.
    ///
    /// # Errors
    ///
    /// The first error of `out`.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        let mut done = Ok(());
        self.pieces(|piece| {
            if done.is_ok() {
                done = out.write_all(piece);
            }
        });
        done
    }
}
