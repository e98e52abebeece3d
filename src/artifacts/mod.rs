//! What a plan needs from outside before it can be settled.
//!
//! Only reads. Here: the content of results that may be demoted, and the name that the store would give it. Nothing is
//! written until the result is verified.

use std::collections::BTreeMap;

use crate::plan::{Demote, Plan};
use crate::policy::{Policy, Substitutions};
use crate::scan::unescape_into;
use crate::store::{is_offload_name, offload_name};
use crate::tokens::Sizes;
use crate::transcript::{Block, Transcript};

/// What was gathered for a plan.
#[derive(Debug, Default)]
pub struct Artifacts {
    /// Of each result that may be demoted, by its block: what the store would call it, and how it begins.
    pub demoted: BTreeMap<u32, Demoted>,
}

/// A result as the store would keep it.
#[derive(Debug)]
pub struct Demoted {
    /// Its name, relative to the store.
    pub name: String,
    /// Its first characters.
    pub preview: String,
}

/// Gathers what `plan` needs. Results that are small enough are not looked at; what an earlier run left is passed over,
/// since a preview would only become a preview of itself, and nobody wants a placeholder back.
pub fn gather(
    transcript: &Transcript<'_>,
    plan: &Plan,
    sizes: &Sizes,
    policy: &Policy,
) -> Artifacts {
    let Policy { demote, .. } = policy;
    let placeholders = [&policy.superseded.placeholder, &policy.clear.placeholder];
    let mut artifacts = Artifacts::default();
    for result in plan
        .results
        .iter()
        .filter(|r| r.demote == Demote::Candidate)
    {
        let block = transcript.block(result.block);
        let size = sizes.estimator().result(transcript, block);
        if sizes.estimator().tokens(size) <= demote.min_tokens {
            continue;
        }
        let content = content(transcript, block);
        let text = String::from_utf8_lossy(&content);
        let is_preview = demote
            .text
            .matches(&text)
            .is_some_and(|values| is_offload_name(values.name));
        let tool = result.tool(transcript);
        let values = Substitutions {
            tool: &tool,
            ..Substitutions::default()
        };
        if is_preview || placeholders.iter().any(|p| p.render(&values) == text) {
            continue;
        }
        let preview = text.chars().take(demote.preview_chars as usize).collect();
        artifacts.demoted.insert(
            result.block,
            Demoted {
                name: offload_name(&content),
                preview,
            },
        );
    }
    artifacts
}

/// What a result says, as the store keeps it: its texts, a line each where there are several.
///
/// Read from the input, so that it can still be had after the result was replaced.
pub fn content(transcript: &Transcript<'_>, block: &Block) -> Vec<u8> {
    let line = transcript.original_line(block.line);
    let mut content = Vec::new();
    for (i, text) in transcript.texts(block).iter().enumerate() {
        if i > 0 {
            content.push(b'\n');
        }
        unescape_into(text.span.of(line), |chunk| content.extend_from_slice(chunk));
    }
    content
}
