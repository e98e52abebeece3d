//! The messages of a log: those of the run, and those of each subagent, identified by the call that started it.

use std::collections::BTreeMap;

use crate::scan::Span;
use crate::transcript::{
    BlockKind, Conversation, ConversationId, LinkKind, Role, Transcript, Typed,
};

/// The conversations, the main one first.
pub(super) fn conversations(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let mut main = Vec::new();
    let mut asides: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut first_of: BTreeMap<&[u8], u32> = BTreeMap::new();
    let links = (0u32..).zip(transcript.links());
    for (line, link) in links.filter(|(_, link)| link.kind == LinkKind::Node) {
        match link.is_sidechain {
            false => main.push(line),
            true => {
                let name = transcript.bytes(line, link.parent);
                let first = *first_of.entry(name).or_insert(line);
                asides.entry(first).or_default().push(line);
            }
        }
    }
    let asides = asides.into_iter().map(|(first, lines)| {
        let name = transcript.bytes(first, transcript.links()[first as usize].parent);
        let name = String::from_utf8_lossy(name).into_owned();
        conversation(transcript, ConversationId::Sidechain(name), &lines)
    });
    let main = conversation(transcript, ConversationId::Main, &main);
    [main].into_iter().chain(asides).collect()
}

fn conversation(transcript: &Transcript<'_>, id: ConversationId, lines: &[u32]) -> Conversation {
    let links = transcript.links();
    let mut conversation = Conversation::new(id);
    // Each block of an answer is on a line of its own, and so is each result of its calls.
    let is_one = |a: &u32, b: &u32| {
        let [one, other] = [a, b].map(|line| &links[*line as usize]);
        let [id, same] = [(a, one), (b, other)].map(|(l, link)| transcript.bytes(*l, link.message));
        match (one.role, other.role) {
            (Some(Role::Assistant), Some(Role::Assistant)) => !id.is_empty() && id == same,
            (Some(Role::User), Some(Role::User)) => {
                is_results(transcript, *a) && is_results(transcript, *b)
            }
            (_, _) => false,
        }
    };
    for group in lines.chunk_by(is_one) {
        let link = &links[group[0] as usize];
        let Some(role) = link.role else { continue };
        let blocks: Vec<u32> = group
            .iter()
            .flat_map(|line| transcript.blocks_of_line(*line))
            .collect();
        if blocks.is_empty() {
            continue;
        }
        let message = conversation.push(role, Span::default(), Span::default());
        conversation.messages[message].typed =
            match link.is_sidechain || link.is_injected || link.is_echo {
                true => Typed::No,
                false => transcript.is_typed(role, &blocks),
            };
        for line in group {
            conversation.extend(*line, transcript.blocks_of_line(*line));
        }
    }
    conversation.path = lines.to_vec();
    conversation
}

fn is_results(transcript: &Transcript<'_>, line: u32) -> bool {
    let mut blocks = transcript.blocks_of_line(line).peekable();
    blocks.peek().is_some() && blocks.all(|block| transcript.block(block).kind == BlockKind::Result)
}
