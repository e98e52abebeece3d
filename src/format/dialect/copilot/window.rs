//! Which events form the live window, and what messages they form.
//!
//! The file is read once from its beginning, as the agent does when it resumes. A compaction runs in the background: messages since
//! the last `session.compaction_start` stay after its summary, and if none is pending, nothing stays. Each subagent has a window of
//! its own, in which nothing is compacted.

use std::collections::BTreeMap;

use crate::format::shapes::joined_sessions::joined;
use crate::scan::Span;
use crate::transcript::{
    Compaction, Conversation, ConversationId, Link, LinkKind, Role, Transcript, Typed,
};

/// The conversations of a session.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let window = Window::of(transcript, Compactions::Apply);
    let mut all = conversations(transcript, &window);
    if let Some(main) = all.first_mut() {
        main.spared = joined(transcript, "session.start", |line| {
            line.field("data").field("sessionId")
        });
    }
    all
}

/// The whole conversations, as if nothing had been compacted.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let window = Window::of(transcript, Compactions::PassOver);
    conversations(transcript, &window)
}

/// What happens to recorded compactions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compactions {
    /// They replace what was before them.
    Apply,
    /// They are ignored.
    PassOver,
}

/// What a model sees at the end of a session.
#[derive(Default)]
pub(super) struct Window {
    /// The lines of the messages, in the order in which they are sent.
    pub(super) live: Vec<u32>,
    /// The summary that it begins with.
    pub(super) summary: Option<u32>,
    /// The line before which no message of the main conversation is live, except the summary.
    pub(super) begins: u32,
    /// The lines of the messages of each subagent, by its first line.
    asides: BTreeMap<u32, Vec<u32>>,
}

impl Window {
    pub(super) fn of(transcript: &Transcript<'_>, compactions: Compactions) -> Self {
        let mut window = Window::default();
        // Where the pending compaction began: the number of messages before it, and its line.
        let mut pending = None;
        let mut first_of: BTreeMap<&[u8], u32> = BTreeMap::new();
        for (line, link) in (0u32..).zip(transcript.links()) {
            if link.is_sidechain {
                if is_message(link) {
                    let name = transcript.bytes(line, link.message);
                    let first = *first_of.entry(name).or_insert(line);
                    window.asides.entry(first).or_default().push(line);
                }
                continue;
            }
            match link.kind {
                LinkKind::Compaction(_) if compactions == Compactions::PassOver => {}
                LinkKind::Compaction(Compaction::Boundary) => {
                    pending = Some((window.live.len(), line));
                }
                LinkKind::Compaction(Compaction::Summary) => {
                    let (at, begins) = pending.take().unwrap_or((window.live.len(), line));
                    window.live.drain(..at);
                    window.live.insert(0, line);
                    (window.summary, window.begins) = (Some(line), begins);
                }
                LinkKind::Compaction(_) => {}
                _ if link.is_root => {
                    window.live.clear();
                    (window.summary, window.begins) = (None, line);
                    pending = None;
                    if is_message(link) {
                        window.live.push(line);
                    }
                }
                _ if is_message(link) => window.live.push(line),
                _ => {}
            }
        }
        window
    }
}

/// Whether a model sees the event, or saw it.
pub(super) fn is_message(link: &Link) -> bool {
    link.role.is_some_and(|role| role != Role::System)
}

fn conversations(transcript: &Transcript<'_>, window: &Window) -> Vec<Conversation> {
    let main = conversation(transcript, ConversationId::Main, &window.live);
    let asides = window.asides.iter().map(|(first, lines)| {
        let name = transcript.bytes(*first, transcript.links()[*first as usize].message);
        let name = String::from_utf8_lossy(name).into_owned();
        conversation(transcript, ConversationId::Sidechain(name), lines)
    });
    [main].into_iter().chain(asides).collect()
}

fn conversation(transcript: &Transcript<'_>, id: ConversationId, lines: &[u32]) -> Conversation {
    let links = transcript.links();
    let mut conversation = Conversation::new(id);
    let is_one = |a: &u32, b: &u32| is_one_answer(transcript, *a, *b);
    for group in lines.chunk_by(is_one) {
        let link = &links[group[0] as usize];
        let Some(role) = link.role else { continue };
        let content = match group {
            [_] => link.content,
            _ => Span::default(),
        };
        let message = conversation.push(role, Span::default(), content);
        let blocks: Vec<u32> = transcript.blocks_of_line(group[0]).collect();
        let typed = match link.is_injected || link.is_echo || link.is_summary {
            true => Typed::No,
            false => transcript.is_typed(role, &blocks),
        };
        conversation.messages[message].typed = typed;
        conversation.messages[message].is_summary = link.is_summary;
        for line in group {
            conversation.extend(*line, transcript.blocks_of_line(*line));
        }
    }
    conversation.path = lines.to_vec();
    conversation
}

/// Whether two lines are parts of one answer: the agent writes an answer with several thoughts in pieces.
fn is_one_answer(transcript: &Transcript<'_>, a: u32, b: u32) -> bool {
    let [one, other] = [a, b].map(|line| &transcript.links()[line as usize]);
    let is_answer = |link: &Link| link.role == Some(Role::Assistant) && !link.is_sidechain;
    let [first, second] =
        [(a, one), (b, other)].map(|(line, link)| transcript.bytes(line, link.message));
    is_answer(one) && is_answer(other) && !first.is_empty() && first == second
}
