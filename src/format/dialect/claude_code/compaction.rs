//! A summary as Claude Code writes it: a `compact_boundary` line, the `isCompactSummary` line that hangs on it, and the
//! messages that stay hanging on that.
//!
//! The agents follow `parentUuid` and nothing else, so the first line that stays has to name the summary; one that names a
//! line which leaves would silently lose everything before it. Where nothing stays, the summary takes the id of the last
//! line: an agent that has the session open goes on behind that. What is dead afterwards is for `history` to say.

use super::history::relinked;
use super::tree::Tree;
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, ConversationId, Replace, Transcript};

/// What a new line takes over from the line that it follows: where and by whom the session is held.
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

/// Puts a summary into a session; `None` where the first line that stays has no link that could name it, or where a
/// sidechain's would overrule the pointer that the session follows.
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
    let (gone, stays) = path.split_at(at);
    let model = gone.iter().rfind(|line| tree.link(**line).role.is_some())?;
    // A sidechain is known by the line that it hangs on: where old lines stay, it is still that one.
    let is_aside = matches!(conversation.id, ConversationId::Sidechain(_));
    let is_on_chain = |line: &&u32| !conversation.gathered.contains(line);
    let above = gone.iter().rfind(is_on_chain).filter(|_| is_aside);
    let above = above.map(|line| transcript.bytes(*line, tree.link(*line).id));
    let new = summary.map(|summary| {
        // The agent may have the session open: what it appends hangs on the last line that it knows.
        let left = gone.iter().rfind(is_on_chain).copied();
        let left = left.filter(|left| stays.is_empty() && !is_aside && !tree.is_followed(*left));
        let says_model = is_aside || stays.iter().any(|line| tree.is_answer(*line));
        let answer = (!says_model).then(|| tree.last_answer(gone)).flatten();
        let place = InsertionPoint {
            model: *model,
            above,
            left,
            answer,
        };
        records(&tree, &place, summary)
    });
    // Without a summary the first line that stays hangs where the conversation does.
    let parent = match &new {
        Some(new) => Some(new.summary_id.as_bytes()),
        None => above,
    };
    let id_of = |line: u32| transcript.bytes(line, tree.link(line).id);
    let first = stays.first().map(|line| id_of(*line));
    let begins = new
        .as_ref()
        .map(|new| new.boundary_id.as_bytes())
        .or(first)?;
    let begins = Some(String::from_utf8_lossy(begins).into_owned());
    let mut changes = ChangeSet::default();
    let among: IdSet<u32> = stays.iter().copied().collect();
    let mut before: Option<u32> = None;
    for line in stays.iter().copied() {
        let is_on_chain = !conversation.gathered.contains(&line);
        // What hangs off the chain may do so over lines that no model sees.
        let above = if is_on_chain { 1 } else { usize::MAX };
        let mut above = tree.ancestry(line).skip(1).take(above);
        if !above.any(|above| among.contains(&above)) {
            let link = tree.link(line);
            if link.parent.is_empty() {
                return None;
            }
            // The first one hangs on the summary. What was preserved over an earlier compaction goes on at its end.
            let earlier = before.filter(|_| is_on_chain).map(id_of);
            let relinked = Replace::id(line, link.parent, earlier.or(parent));
            changes.replace.push(relinked);
        }
        if is_on_chain {
            before = Some(line);
        }
    }
    let leaf = before.map(id_of).or(parent)?;
    let end = transcript.lines().len() as u32;
    let mut place = stays.iter().min().copied().unwrap_or(end);
    if let Some(pointer) = last_pointer(&tree) {
        if !is_aside {
            let mended = mended(&tree, pointer, &among, leaf);
            changes.replace.extend(mended);
        }
        // A boundary, even a sidechain's, overrules the pointers before it, and the newer branch ends the file as before.
        let main = transcript.conversations.first();
        if let Some(left) = main.and_then(|main| left_leaf(&tree, main)) {
            // A sidechain is what its last line leads to: a summary of all of it cannot stand before that.
            if is_aside && stays.is_empty() {
                return None;
            }
            place = place.min(pointer).min(left + 1);
        }
    }
    // What an earlier compaction preserved stands before it, and agents take the last boundary for the last one.
    let place = place.max(after_compactions(&tree, *model));
    if let Some(new) = new {
        changes.insert.insert(place, new.lines);
    }
    Some(Splice { changes, begins })
}

/// Takes blocks out of a session, and the lines that say nothing without them; what hangs on these hangs on what they hung
/// on.
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

/// The line behind the compactions that are recorded for the conversation that a line is of.
fn after_compactions(tree: &Tree<'_, '_>, of: u32) -> u32 {
    let links = (0u32..).zip(tree.transcript.links());
    let recorded = links.filter(|(line, link)| {
        let is_one = link.is_boundary() || link.is_summary;
        is_one && tree.link(*line).is_aside == tree.link(of).is_aside
    });
    recorded.map(|(line, _)| line + 1).last().unwrap_or(0)
}

/// The last line that says which one is the leaf.
fn last_pointer(tree: &Tree<'_, '_>) -> Option<u32> {
    let links = (0u32..).zip(tree.transcript.links());
    let pointers = links.filter(|(_, link)| link.is_pointer());
    pointers.map(|(line, _)| line).last()
}

/// A pointer to a line that does not stay points to the leaf: agents would go on from there, and nothing that comes behind
/// the summary would be seen.
fn mended(tree: &Tree<'_, '_>, pointer: u32, stays: &IdSet<u32>, leaf: &[u8]) -> Option<Replace> {
    let link = tree.link(pointer);
    let named = tree.named(tree.transcript.bytes(pointer, link.parent))?;
    (!stays.contains(&named)).then(|| Replace::id(pointer, link.parent, Some(leaf)))
}

/// The leaf of a conversation that ends on an older branch, where only a pointer leads.
fn left_leaf(tree: &Tree<'_, '_>, conversation: &Conversation) -> Option<u32> {
    let leaf = conversation.leaf?;
    let mut newer = leaf + 1..tree.transcript.links().len() as u32;
    let is_left = newer.any(|line| {
        let is_beside = tree.link(line).is_aside == tree.link(leaf).is_aside;
        tree.link(line).is_node() && is_beside
    });
    is_left.then_some(leaf)
}

/// Where the new lines stand.
struct InsertionPoint<'t> {
    /// The line that they are like.
    model: u32,
    /// The id that they hang on, if any.
    above: Option<&'t [u8]>,
    /// The last line of the chain, where it leaves: the summary takes its id.
    left: Option<u32>,
    /// The answer that says which model the session is held with, where none stays.
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
    let is_aside = link.is_aside.to_string();
    let id = link.id.of(line);
    let boundary_id = uuid(&[b"boundary", id, summary.text.as_bytes()]);
    let summary_id = match place.left {
        Some(left) => tree.id_of(left),
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
        out.extend_from_slice(format!(",\"isSidechain\":{is_aside}").as_bytes());
        out.extend_from_slice(&identity);
        out.extend_from_slice(format!(",\"uuid\":\"{id}\",\"type\":\"{kind}\"").as_bytes());
        out
    };
    let above = answer.as_ref().map(|(_, id)| id.as_bytes()).or(place.above);
    let mut boundary = begin(above, "system", &boundary_id);
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

/// A name in the form of a UUID that follows from `parts`: the same input gives the same output.
fn uuid(parts: &[&[u8]]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut hex = hash.finalize().to_hex().to_string();
    hex.truncate(32);
    // Version 8: of a form that is the writer's own.
    format!(
        "{}-{}-8{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}
