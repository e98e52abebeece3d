//! The lines of a session that no model will ever see again, and how the other lines are linked without them.
//!
//! Chained lines outside every live window are dead, and so are the lines attached to them and the sidechains of dead tasks. Lines
//! outside the chain (titles, snapshots, queue operations) describe the session and are kept.

use std::collections::{BTreeMap, BTreeSet};

use super::preserved::Preserved;
use super::tree::{NONE, Tree};
use crate::ids::{IdMap, IdSet};
use crate::scan::{Value, unescape};
use crate::transcript::{
    BlockKind, ChangeSet, Conversation, ConversationId, LinkKind, Replace, Transcript,
};

/// The dead lines of a session.
///
/// Empty if no line has a parent, or if the main conversation has no messages: no agent writes such a file, and removing all but
/// its last line would be a guess.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let tree = Tree::new(transcript);
    let follows = |line| tree.parent(line) != NONE;
    let speaks = |main: &Conversation| main.messages.iter().any(|m| !main.blocks(m).is_empty());
    // Unreadable lines at the end have no links.
    if !(0..transcript.links().len() as u32).any(follows)
        || !transcript.conversations.first().is_some_and(speaks)
    {
        return ChangeSet::default();
    }
    let mut live: BTreeSet<u32> = BTreeSet::new();
    for (conversation, is_alive) in transcript.conversations.iter().zip(alive(transcript)) {
        if is_alive {
            live.extend(&conversation.path);
            live.extend(&conversation.beside);
            live.extend(&conversation.mirrors);
        }
    }
    // The agent looks up the lines that a live compaction names, even if the chain no longer leads there.
    let boundaries = live.iter().filter(|line| tree.link(**line).is_boundary());
    // A compaction's parent is also kept if no other line records the model.
    let main = transcript.conversations.first();
    let has_answer = main.is_some_and(|main| main.path.iter().any(|line| tree.is_answer(*line)));
    let answers = boundaries
        .clone()
        .filter_map(|line| tree.answer_above(*line));
    let answers: Vec<u32> = answers.filter(|_| !has_answer).collect();
    let preserved: Vec<Preserved> = boundaries
        .map(|line| Preserved::read(transcript.line(*line)))
        .collect();
    let named = preserved.iter().flat_map(Preserved::named);
    live.extend(named.filter_map(|id| tree.named(id)));
    live.extend(answers);
    // A compaction without a summary has just been written: its summary is still to come, with the compaction as its parent.
    let nodes = (0u32..).zip(transcript.links());
    let last = nodes
        .filter(|(_, link)| link.is_node() && !link.id.is_empty())
        .last();
    live.extend(
        last.filter(|(_, link)| link.is_boundary())
            .map(|(line, _)| line),
    );
    let mut lines = dead_lines(&tree, &live);
    if lines.is_empty() {
        return ChangeSet::default();
    }
    // Copies of requests repeat messages that are removed.
    let links = (0u32..).zip(transcript.links());
    let requests = links.filter(|(_, link)| link.kind == LinkKind::Request);
    lines.extend(requests.map(|(line, _)| line));
    ChangeSet {
        replace: relinked(&tree, &lines),
        drop: lines,
        ..ChangeSet::default()
    }
}

/// The messages outside every live window, and the lines attached only to them.
///
/// A line without a message is kept if it is attached to a live line. A line without a parent is removed if a dead line is attached
/// to it.
fn dead_lines(tree: &Tree<'_, '_>, live: &BTreeSet<u32>) -> BTreeSet<u32> {
    let speaks = |line: u32| {
        let is_compaction = tree.link(line).is_boundary() || tree.link(line).is_summary;
        is_compaction || tree.link(line).role.is_some()
    };
    let links = (0u32..).zip(tree.transcript.links());
    let outside = links.filter(|(line, link)| !link.id.is_empty() && !live.contains(line));
    let (mut dead, silent): (BTreeSet<u32>, BTreeSet<u32>) = outside
        .map(|(line, _)| line)
        .partition(|line| speaks(*line) || tree.comes_again(*line));
    let stops = |line: u32| live.contains(&line) || speaks(line);
    let mut known = IdMap::default();
    let roots: IdSet<u32> = dead
        .iter()
        .map(|line| tree.climb(*line, &mut known, stops))
        .filter(|above| above.stop == NONE)
        .map(|above| above.last)
        .collect();
    for line in silent {
        let above = tree.climb(line, &mut known, stops);
        let leaves = if above.stop == NONE {
            roots.contains(&above.last)
        } else {
            !live.contains(&above.stop)
        };
        if leaves {
            dead.insert(line);
        }
    }
    dead
}

/// New links for the kept lines whose old links name `dead` lines.
pub(super) fn relinked(tree: &Tree<'_, '_>, dead: &BTreeSet<u32>) -> Vec<Replace> {
    let transcript = tree.transcript;
    let main = transcript.conversations.first();
    let stays = |line: &u32| !dead.contains(line);
    let leaf = main.and_then(|main| {
        let last = main.path.iter().copied().rfind(stays);
        main.leaf.filter(stays).or(last)
    });
    let mut relinks = Vec::new();
    let mut known = IdMap::default();
    for (line, link) in (0u32..).zip(transcript.links()) {
        if link.parent.is_empty() || dead.contains(&line) {
            continue;
        }
        let named = tree.named(transcript.bytes(line, link.parent));
        let to = if link.is_pointer() || link.kind == LinkKind::Title {
            if named.is_none_or(|target| !dead.contains(&target)) {
                continue;
            }
            leaf
        } else {
            // For a missing parent, the agent bridges to the line before, which may now be a different one: so write down the
            // parent that it finds at present, or none.
            if link.id.is_empty() || named.is_some_and(|parent| !dead.contains(&parent)) {
                continue;
            }
            let above = tree.climb(line, &mut known, |above| !dead.contains(&above));
            Some(above.stop).filter(|stop| *stop != NONE)
        };
        let to = to.map(|to| transcript.bytes(to, tree.link(to).id));
        relinks.push(Replace::id(line, link.parent, to));
    }
    relinks
}

/// Which conversations may be needed again: the main one, and all sidechains except those of tasks whose calls are dead.
///
/// Inline sidechains name no call: their first message is the task's prompt, and several sidechains with the same prompt belong to
/// the calls in the same order.
fn alive(transcript: &Transcript<'_>) -> Vec<bool> {
    let conversations = &transcript.conversations;
    let mut owners: IdMap<u32, usize> = IdMap::default();
    for (number, conversation) in conversations.iter().enumerate() {
        let lines = conversation.path.iter().chain(&conversation.beside);
        owners.extend(lines.map(|line| (*line, number)));
    }
    let mut aside: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (number, conversation) in conversations.iter().enumerate() {
        if let Some(prompt) = first_words(transcript, conversation) {
            aside.entry(prompt).or_default().push(number);
        }
    }
    let mut alive = vec![true; conversations.len()];
    if aside.is_empty() {
        return alive;
    }
    let mut groups = groups(&aside, &tasks(transcript, &aside));
    // For each conversation, the groups that it called.
    let mut called: Vec<Vec<usize>> = vec![Vec::new(); conversations.len()];
    for (number, group) in groups.iter().enumerate() {
        for sidechain in &group.sidechains {
            alive[*sidechain] = false;
        }
        for owner in group.lines.iter().filter_map(|line| owners.get(line)) {
            called[*owner].push(number);
        }
    }
    // A task may have been started by another task.
    let mut next: Vec<usize> = (0..alive.len()).filter(|number| alive[*number]).collect();
    while let Some(number) = next.pop() {
        for group in std::mem::take(&mut called[number]) {
            for sidechain in std::mem::take(&mut groups[group].sidechains) {
                alive[sidechain] = true;
                next.push(sidechain);
            }
        }
    }
    alive
}

/// Sidechains with the calls that keep them alive: each of the calls keeps all of the sidechains.
struct Group {
    sidechains: Vec<usize>,
    /// The lines of the calls.
    lines: Vec<u32>,
}

/// The sidechains of tasks with their calls: one group each, or a joint group if the calls cannot be assigned.
fn groups(sidechains: &BTreeMap<Vec<u8>, Vec<usize>>, tasks: &Tasks<'_>) -> Vec<Group> {
    let mut groups = Vec::new();
    for (prompt, sidechains) in sidechains {
        let Some(calls) = tasks.get(prompt) else {
            continue;
        };
        if calls.len() == sidechains.len() {
            let pairs = sidechains.iter().zip(calls);
            groups.extend(pairs.map(|(sidechain, (_, lines))| Group {
                sidechains: vec![*sidechain],
                lines: lines.clone(),
            }));
        } else {
            groups.push(Group {
                sidechains: sidechains.clone(),
                lines: calls.iter().flat_map(|(_, lines)| lines).copied().collect(),
            });
        }
    }
    groups
}

/// The calls of tasks by their prompts, in the order of the file: the id of each, and its lines, since the file may contain the
/// same history twice.
type Tasks<'t> = BTreeMap<Vec<u8>, Vec<(&'t [u8], Vec<u32>)>>;

/// The text of the first message of a sidechain.
fn first_words(transcript: &Transcript<'_>, conversation: &Conversation) -> Option<Vec<u8>> {
    let ConversationId::Sidechain(_) = conversation.id else {
        return None;
    };
    let first = conversation.messages.first()?;
    let block = transcript.block(*conversation.blocks(first).first()?);
    let text = transcript.texts(block).first()?;
    Some(unescape(transcript.bytes(block.line, text.span)).into_owned())
}

/// The calls of tasks with these prompts.
fn tasks<'t>(transcript: &'t Transcript<'_>, prompts: &BTreeMap<Vec<u8>, Vec<usize>>) -> Tasks<'t> {
    let mut calls = Tasks::new();
    let mut places: IdMap<&[u8], usize> = IdMap::default();
    for line in 0..transcript.lines().len() as u32 {
        for block in transcript.blocks_of_line(line).map(|b| transcript.block(b)) {
            let is_task = block.kind == BlockKind::Call
                && matches!(transcript.bytes(line, block.tool), b"Task" | b"Agent");
            let Some(prompt) = is_task
                .then(|| prompt(transcript.bytes(line, block.content)))
                .flatten()
                .filter(|prompt| prompts.contains_key(prompt.as_ref()))
            else {
                continue;
            };
            let id = transcript.bytes(line, block.call_id);
            let of_prompt = calls.entry(prompt.into_owned()).or_default();
            let place = *places.entry(id).or_insert(of_prompt.len());
            match of_prompt.get_mut(place).filter(|(known, _)| *known == id) {
                Some((_, lines)) => lines.push(line),
                None => of_prompt.push((id, vec![line])),
            }
        }
    }
    calls
}

/// The `prompt` of a task's input.
fn prompt(input: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    Value::of(input).field("prompt").unescaped()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_cannot_be_assigned_are_noted_once() {
        let prompt = || b"p".to_vec();
        let grouped = |calls: u32, sidechains: usize| {
            let calls = (0..calls).map(|line| (&b""[..], vec![line])).collect();
            let sidechains: Vec<usize> = (0..sidechains).collect();
            let groups = groups(
                &BTreeMap::from([(prompt(), sidechains)]),
                &BTreeMap::from([(prompt(), calls)]),
            );
            let sizes = groups.iter().map(|g| (g.sidechains.len(), g.lines.len()));
            sizes.collect::<Vec<_>>()
        };
        assert_eq!(grouped(3, 3), [(1, 1); 3]);
        assert_eq!(grouped(1_001, 1_000), [(1_000, 1_001)]);
    }
}
