//! Results that earlier runs have offloaded: their names in a transcript, and their contents in the store.
//!
//! Only names of our own form are looked up, and only inside the store. If a content cannot be read, a text says so.

use crate::ids::IdMap;
use crate::plan::tool_named_by;
use crate::policy::{Policy, Replacement, Substitutions};
use crate::store::{Store, offload_in};
use crate::transcript::{BlockKind, ChangeSet, Conversation, Replace, Transcript};

/// A result that contains the name of its offloaded content.
struct Named {
    block: u32,
    /// Its name in the store.
    name: String,
    /// The path that the result gives for it.
    path: String,
}

/// The names of offloaded contents in a transcript, each once.
pub fn offloaded(transcript: &Transcript<'_>, policy: &Policy) -> Vec<String> {
    let mut names: Vec<String> = named(transcript, policy)
        .into_iter()
        .map(|named| named.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Restores offloaded results; if the store does not have the content, the policy's text says so.
pub fn returned(transcript: &Transcript<'_>, policy: &Policy, store: Option<&Store>) -> ChangeSet {
    let said = |Named { block, name, path }: Named| {
        let content = store.and_then(|store| store.read_offload(&name).ok());
        let text = match content {
            Some(content) => String::from_utf8_lossy(&content).into_owned(),
            None if policy.offload.unavailable.is_empty() => return None,
            None => policy.offload.unavailable.render(&Substitutions {
                name: &path,
                tool: &tool_named_by(transcript, block),
                ..Substitutions::default()
            }),
        };
        Some(Replace::content(transcript.block(block), &text))
    };
    named(transcript, policy)
        .into_iter()
        .filter_map(said)
        .collect()
}

/// The contents that earlier runs have moved to the store, by the block of the result, for those results of a conversation whose
/// content the store still has.
pub(super) fn stored_contents(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    policy: &Policy,
    store: Option<&Store>,
) -> IdMap<u32, String> {
    let content = |block: u32| {
        let store = store?;
        let result = transcript.block(block);
        if result.kind != BlockKind::Result {
            return None;
        }
        let text = crate::facts::block_text(transcript, result);
        let name = policy
            .replacements_in(&text)
            .find_map(|(kind, values)| match kind {
                Replacement::Demoted | Replacement::Offloaded => offload_in(values.name),
                Replacement::Superseded | Replacement::Cleared | Replacement::Unavailable => None,
            })?;
        let content = store.read_offload(name).ok()?;
        Some((block, String::from_utf8_lossy(&content).into_owned()))
    };
    let blocks = conversation.all_blocks();
    blocks.filter_map(|(_, block)| content(block)).collect()
}

fn named(transcript: &Transcript<'_>, policy: &Policy) -> Vec<Named> {
    let conversations = transcript.conversations.iter();
    let blocks = conversations.flat_map(|c| c.all_blocks().map(|(_, block)| block));
    let name = |block: u32| {
        let result = transcript.block(block);
        if result.kind != BlockKind::Result {
            return None;
        }
        let text = crate::facts::block_text(transcript, result);
        let values = policy.offload.text.matches(&text)?;
        offload_in(values.name).map(|name| Named {
            block,
            name: name.to_owned(),
            path: values.name.to_owned(),
        })
    };
    blocks.filter_map(name).collect()
}
