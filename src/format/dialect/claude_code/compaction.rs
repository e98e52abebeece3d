//! Writes a summary as Claude Code does: a `compact_boundary` line, its child, the `isCompactSummary` line, and as descendants of
//! that, the messages that are kept.
//!
//! The agents only follow `parentUuid`, so the first kept line has to name the summary; if it named a removed line, everything
//! before it would silently be lost. If no line is kept, the summary takes the id of the last line: an agent that has the session
//! open continues after that line. Which lines are dead afterwards is decided in `history`.

use super::history::relinked;
use super::tree::Tree;
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, ConversationId, Replace, Spared, Transcript};

/// The keys that a new line copies from the line it follows: where, and by which version, the session is run.
const IDENTITY: [&str; 8] = [
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "agentId",
];

/// Inserts a summary into a session; `None` if the first kept line has no link that could name it, or if a sidechain's summary
/// would cancel the pointer that the session follows.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<Splice> {
    let tree = Tree::new(transcript);
    let path = &conversation.path;
    let first = conversation.messages.get(tail);
    let at = match first.map(|message| conversation.first_line(message)) {
        Some(line) => path.iter().position(|other| *other == line)?,
        None => path.len(),
    };
    let (old, kept) = path.split_at(at);
    let model = old.iter().rfind(|line| tree.link(**line).role.is_some())?;
    // A sidechain is identified by the line that it starts from, which does not change.
    let is_sidechain = matches!(conversation.id, ConversationId::Sidechain(_));
    let is_on_chain = |line: &&u32| !conversation.gathered.contains(line);
    let above = old.iter().rfind(is_on_chain).filter(|_| is_sidechain);
    let above = above.map(|line| transcript.bytes(*line, tree.link(*line).id));
    // The agent may have the session open: the parent of what it appends is the last line that it knows.
    let last = old.iter().rfind(is_on_chain).copied();
    let last = last.filter(|last| kept.is_empty() && !is_sidechain && !tree.is_followed(*last));
    // The summary has to lead to a broken chain, or the next run would take for dead what is before the break.
    let is_broken = matches!(conversation.spared, Some(Spared::BrokenChain(_)));
    let leads_there = |line: &&u32| is_on_chain(line) && Some(**line) != last;
    let before = old.iter().rfind(leads_there).copied();
    if is_broken && (summary.is_none() || before.is_none()) {
        return None;
    }
    let new = summary.map(|summary| {
        let says_model = is_sidechain || kept.iter().any(|line| tree.is_answer(*line));
        let answer = (!says_model).then(|| tree.last_answer(old)).flatten();
        let place = InsertionPoint {
            model: *model,
            above,
            before: before.filter(|_| is_broken),
            last,
            answer,
        };
        records(&tree, &place, summary)
    });
    // Without a summary, the first kept line gets the parent of the conversation.
    let parent = match &new {
        Some(new) => Some(new.summary_id.as_bytes()),
        None => above,
    };
    let id_of = |line: u32| transcript.bytes(line, tree.link(line).id);
    let first = kept.first().map(|line| id_of(*line));
    let begins = new
        .as_ref()
        .map(|new| new.boundary_id.as_bytes())
        .or(first)?;
    let begins = Some(String::from_utf8_lossy(begins).into_owned());
    let mut changes = ChangeSet::default();
    let kept_lines: IdSet<u32> = kept.iter().copied().collect();
    let leaf = relink(
        &tree,
        conversation,
        (kept, &kept_lines),
        parent,
        &mut changes,
    )?;
    let end = transcript.lines().len() as u32;
    let mut place = kept.iter().min().copied().unwrap_or(end);
    if let Some(pointer) = last_pointer(&tree) {
        if !is_sidechain {
            let mended = mended(&tree, pointer, &kept_lines, leaf);
            changes.replace.extend(mended);
        }
        // A boundary, even a sidechain's, cancels the pointers before it, and the newer branch must still end the file.
        let main = transcript.conversations.first();
        if let Some(last) = main.and_then(|main| older_leaf(&tree, main)) {
            // A sidechain is found from its last line: a summary of the whole sidechain cannot come before that line.
            if is_sidechain && kept.is_empty() {
                return None;
            }
            place = place.min(pointer).min(last + 1);
        }
    }
    // Lines preserved by an earlier compaction are before it, but the agents use the last boundary of the file.
    let place = place.max(after_compactions(&tree, *model));
    if let Some(new) = new {
        changes.insert.insert(place, new.lines);
    }
    Some(Splice { changes, begins })
}

/// Gives the kept lines whose parents are gone new ones, the first one `parent`. Returns the id of the line that the chain ends
/// with; `None` where a line has no link to change, or where there is no such line.
fn relink<'t: 'p, 'p>(
    tree: &Tree<'t, '_>,
    conversation: &Conversation,
    (kept, kept_lines): (&[u32], &IdSet<u32>),
    parent: Option<&'p [u8]>,
    changes: &mut ChangeSet,
) -> Option<&'p [u8]> {
    let id_of = |line: u32| tree.transcript.bytes(line, tree.link(line).id);
    let mut before: Option<u32> = None;
    for line in kept.iter().copied() {
        let is_on_chain = !conversation.gathered.contains(&line);
        // Between the chain and a line beside it there may be lines that no model sees.
        let above = if is_on_chain { 1 } else { usize::MAX };
        let mut above = tree.ancestry(line).skip(1).take(above);
        if !above.any(|above| kept_lines.contains(&above)) {
            let link = tree.link(line);
            if link.parent.is_empty() {
                return None;
            }
            // The parent of the first kept line is the summary. Lines after an earlier compaction continue at the end of the
            // lines that it preserved.
            let earlier = before.filter(|_| is_on_chain).map(id_of);
            let relinked = Replace::id(line, link.parent, earlier.or(parent));
            changes.replace.push(relinked);
        }
        if is_on_chain {
            before = Some(line);
        }
    }
    before.map(id_of).or(parent)
}

/// Removes blocks from a session, and the lines that have no other content; children of a removed line get that line's parent.
pub(super) fn without(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let mut changes = out_of_lines(transcript, &conversation.path, blocks);
    let relinked = relinked(&Tree::new(transcript), &changes.drop);
    changes.replace.extend(relinked);
    changes
}

/// The line after the last recorded compaction of the conversation that line `of` belongs to.
fn after_compactions(tree: &Tree<'_, '_>, of: u32) -> u32 {
    let links = (0u32..).zip(tree.transcript.links());
    let recorded = links.filter(|(line, link)| {
        let is_one = link.is_boundary() || link.is_summary;
        is_one && tree.link(*line).is_sidechain == tree.link(of).is_sidechain
    });
    recorded.map(|(line, _)| line + 1).last().unwrap_or(0)
}

/// The last pointer: a line that names the leaf.
fn last_pointer(tree: &Tree<'_, '_>) -> Option<u32> {
    let links = (0u32..).zip(tree.transcript.links());
    let pointers = links.filter(|(_, link)| link.is_pointer());
    pointers.map(|(line, _)| line).last()
}

/// A pointer to a line that is not kept is changed to point to the leaf: otherwise agents would continue from the old line,
/// and a model would see nothing that comes after the summary.
fn mended(tree: &Tree<'_, '_>, pointer: u32, kept: &IdSet<u32>, leaf: &[u8]) -> Option<Replace> {
    let link = tree.link(pointer);
    let named = tree.named(tree.transcript.bytes(pointer, link.parent))?;
    (!kept.contains(&named)).then(|| Replace::id(pointer, link.parent, Some(leaf)))
}

/// The leaf of a conversation that ends on an older branch, which only a pointer makes live.
fn older_leaf(tree: &Tree<'_, '_>, conversation: &Conversation) -> Option<u32> {
    let leaf = conversation.leaf?;
    let mut newer = leaf + 1..tree.transcript.links().len() as u32;
    let is_older = newer.any(|line| {
        let is_beside = tree.link(line).is_sidechain == tree.link(leaf).is_sidechain;
        tree.link(line).is_node() && is_beside
    });
    is_older.then_some(leaf)
}

/// How the new lines fit into the session.
struct InsertionPoint<'t> {
    /// The line from which they copy common keys.
    model: u32,
    /// The id of their parent, if any.
    above: Option<&'t [u8]>,
    /// The line that the boundary names as the one before it, so that a broken chain is still found; only for such chains.
    before: Option<u32>,
    /// The last line of the chain, if it is removed: the summary takes its id.
    last: Option<u32>,
    /// The answer that records the session's model, if no other answer is kept.
    answer: Option<u32>,
}

/// The new lines.
struct Records {
    lines: Vec<Vec<u8>>,
    boundary_id: String,
    summary_id: String,
}

fn records(tree: &Tree<'_, '_>, place: &InsertionPoint<'_>, summary: Summary<'_>) -> Records {
    let transcript = tree.transcript;
    let model = place.model;
    let line = transcript.line(model);
    let link = &transcript.links()[model as usize];
    let known = Value::of(line).in_order(IDENTITY).into_iter();
    let known = known.chain([("timestamp", Value::of(line).field("timestamp"))]);
    let mut identity: Vec<u8> = Vec::new();
    for (name, value) in known.filter(|(_, value)| value.is_there()) {
        identity.extend([b",\"", name.as_bytes(), b"\":", value.raw()].concat());
    }
    let is_sidechain = link.is_sidechain.to_string();
    let id = link.id.of(line);
    let boundary_id = uuid(&[b"boundary", id, summary.text.as_bytes()]);
    let summary_id = match place.last {
        Some(last) => tree.id_of(last),
        None => uuid(&[b"summary", id, summary.text.as_bytes()]),
    };
    let answer = place.answer.map(|answer| {
        let id = tree.id_of(answer);
        let id = uuid(&[b"answer", id.as_bytes(), summary.text.as_bytes()]);
        (tree.emptied(answer, &id), id)
    });
    let begin = |parent: Option<&[u8]>, kind: &str, id: &str| {
        let mut out = Vec::with_capacity(summary.text.len() + 512);
        out.extend_from_slice(b"{\"parentUuid\":");
        match parent {
            Some(parent) => out.extend([b"\"", parent, b"\""].concat()),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(format!(",\"isSidechain\":{is_sidechain}").as_bytes());
        out.extend_from_slice(&identity);
        out.extend_from_slice(format!(",\"uuid\":\"{id}\",\"type\":\"{kind}\"").as_bytes());
        out
    };
    let above = answer.as_ref().map(|(_, id)| id.as_bytes()).or(place.above);
    let mut boundary = begin(above, "system", &boundary_id);
    if let Some(before) = place.before {
        let before = tree.id_of(before);
        boundary.extend_from_slice(format!(",\"logicalParentUuid\":\"{before}\"").as_bytes());
    }
    boundary.extend_from_slice(
        format!(
            ",\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\",\"isMeta\":false,\"level\":\"info\",\
             \"compactMetadata\":{{\"trigger\":\"manual\",\"preTokens\":{}}}}}",
            summary.tokens_before
        )
        .as_bytes(),
    );
    let mut line = begin(Some(boundary_id.as_bytes()), "user", &summary_id);
    line.extend_from_slice(b",\"isVisibleInTranscriptOnly\":true,\"isCompactSummary\":true");
    line.extend_from_slice(b",\"message\":{\"role\":\"user\",\"content\":");
    push_json_string(&mut line, summary.text);
    line.extend_from_slice(b"}}");
    let answer = answer.map(|(line, _)| line);
    Records {
        lines: answer.into_iter().chain([boundary, line]).collect(),
        boundary_id,
        summary_id,
    }
}

/// A UUID derived from `parts`: the same input gives the same output.
fn uuid(parts: &[&[u8]]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut hex = hash.finalize().to_hex().to_string();
    hex.truncate(32);
    // Version 8: its content is defined by the writer.
    format!(
        "{}-{}-8{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}
