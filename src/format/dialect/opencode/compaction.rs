//! Writes a summary as the agent does: a user question with a part `compaction`, and its answer, which is the summary. Both come
//! before the first kept message.
//!
//! The agent sorts messages by time and id, so the two have the time of the message before them, and ids that continue its id.
//! Messages before the last compaction that it does not keep are dead.

use std::collections::{BTreeMap, BTreeSet};

use super::window::Taken;
use crate::format::shapes::splice::{Splice, Summary};
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Compaction, Conversation, LinkKind, Replace, Role, Transcript};

/// Replaces the messages before `tail` with a summary, or removes them.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<Splice> {
    let messages = &conversation.messages;
    let (old, kept) = messages.split_at(tail.min(messages.len()));
    let lines = |messages: &[_]| -> BTreeSet<u32> {
        let lines = messages.iter().flat_map(|m| conversation.lines(m));
        lines.copied().collect()
    };
    let (old, kept) = (lines(old), lines(kept));
    let last = *old.last()?;
    // What an answer said and the results on the same line stay together.
    if old.intersection(&kept).next().is_some() {
        return None;
    }
    let place = kept.first().copied();
    let Some(summary) = summary else {
        let links = transcript.links();
        let leaves = |line: &u32| {
            let link = &links[*line as usize];
            link.role.is_some() && !kept.contains(line) && place.is_none_or(|place| *line < place)
                || old.contains(line)
                || is_question(transcript, *line)
        };
        let removed = (0..links.len() as u32).filter(leaves).collect();
        return Some(without(transcript, removed, None).into());
    };
    let place = place.unwrap_or(transcript.after_messages());
    // Of two compactions, the later one counts.
    let links = transcript.links();
    let superseded = (place..links.len() as u32).filter(|line| {
        is_question(transcript, *line) || links[*line as usize].is_summary && old.contains(line)
    });
    let superseded: BTreeSet<u32> = superseded.collect();
    let before = (0..place.min(links.len() as u32))
        .rev()
        .find(|line| links[*line as usize].role.is_some())
        .unwrap_or(last);
    let pair = pair(transcript, before, summary.text)?;
    let mut changes = without(transcript, superseded, None);
    changes.insert = BTreeMap::from([(place, pair.messages.to_vec())]);
    Some(Splice {
        changes,
        begins: Some(pair.question),
    })
}

/// Whether a line is the question of a compaction.
fn is_question(transcript: &Transcript<'_>, line: u32) -> bool {
    transcript.links()[line as usize].kind == LinkKind::Compaction(Compaction::Boundary)
}

/// A compaction: the question with its id, and the answer.
struct Pair {
    question: String,
    messages: [Vec<u8>; 2],
}

/// What messages say of the session around them, as JSON.
struct Surroundings {
    agent: Vec<u8>,
    provider: Vec<u8>,
    model: Vec<u8>,
    /// Both, as a user's message has them.
    user_model: Vec<u8>,
    path: Vec<u8>,
}

impl Surroundings {
    /// As the nearest messages have them, the earlier ones first.
    fn of(transcript: &Transcript<'_>, before: u32) -> Self {
        let nearest = |role: Role, key: &str| {
            let links = transcript.links();
            let mut lines = (0..=before).rev().chain(before + 1..links.len() as u32);
            lines.find_map(|line| {
                let value = info(transcript, line).field(key);
                (links[line as usize].role == Some(role) && value.is_there()).then(|| value.raw())
            })
        };
        let or = |value: Option<&[u8]>, other: &[u8]| match (value, other) {
            (Some(value), _) => value.to_vec(),
            (None, b"") => b"\"\"".to_vec(),
            (None, other) => other.to_vec(),
        };
        let of_user = nearest(Role::User, "model");
        let named = |name: &str| Value::of(of_user.unwrap_or_default()).field(name).raw();
        let provider = or(nearest(Role::Assistant, "providerID"), named("providerID"));
        let model = or(nearest(Role::Assistant, "modelID"), named("modelID"));
        let user_model = match of_user {
            Some(model) => model.to_vec(),
            None => [
                b"{\"providerID\":",
                &provider[..],
                b",\"modelID\":",
                &model,
                b"}",
            ]
            .concat(),
        };
        Surroundings {
            agent: or(nearest(Role::User, "agent"), b"\"build\""),
            provider,
            model,
            user_model,
            path: or(
                nearest(Role::Assistant, "path"),
                b"{\"cwd\":\"\",\"root\":\"\"}",
            ),
        }
    }
}

fn info<'t>(transcript: &'t Transcript<'_>, line: u32) -> Value<'t> {
    Value::of(transcript.line(line)).field("info")
}

/// The two messages after the line `before`.
fn pair(transcript: &Transcript<'_>, before: u32, text: &str) -> Option<Pair> {
    let [id, session, time] = info(transcript, before).fields(["id", "sessionID", "time"]);
    let id = String::from_utf8_lossy(id.string()?).into_owned();
    let session = session.raw();
    let time = time.field("created").raw();
    let around = Surroundings::of(transcript, before);
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let hash = &hash.as_bytes()[..8];
    let hash = String::from_utf8_lossy(hash);
    let (question, answer) = (format!("{id}0{hash}"), format!("{id}1{hash}"));
    let part = |id: &str| id.replacen("msg", "prt", 1);
    let mut said = Vec::new();
    push_json_string(&mut said, text);
    let owned = |id: &str| [b"\"id\":\"", id.as_bytes(), b"\",\"sessionID\":", session].concat();
    let part = |id: &str| {
        let owned = owned(&part(id));
        [&owned[..], b",\"messageID\":\"", id.as_bytes(), b"\"}]}"].concat()
    };
    let asked = [
        b"{\"info\":{\"role\":\"user\",\"time\":{\"created\":",
        time,
        b"},\"agent\":",
        &around.agent,
        b",\"model\":",
        &around.user_model,
        b",",
        &owned(&question),
        b"},\"parts\":[{\"type\":\"compaction\",\"auto\":false,",
        &part(&question),
    ]
    .concat();
    let told = [
        b"{\"info\":{\"parentID\":\"",
        question.as_bytes(),
        b"\",\"role\":\"assistant\",\"mode\":\"compaction\",\"agent\":\"compaction\",\"path\":",
        &around.path,
        b",\"cost\":0,\"tokens\":{\"input\":0,\"output\":0,\"reasoning\":0,\"cache\":{\"read\":0,\"write\":0}},\"modelID\":",
        &around.model,
        b",\"providerID\":",
        &around.provider,
        b",\"time\":{\"created\":",
        time,
        b",\"completed\":",
        time,
        b"},\"finish\":\"stop\",\"summary\":true,",
        &owned(&answer),
        b"},\"parts\":[{\"type\":\"text\",\"text\":",
        &said,
        b",",
        &part(&answer),
    ]
    .concat();
    Some(Pair {
        question,
        messages: [asked, told],
    })
}

/// Drops the messages that the agent no longer uses, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let taken = Taken::of(transcript);
    let Some((question, _)) = taken.compaction else {
        return ChangeSet::default();
    };
    let question = taken.lines[question];
    let heir = transcript.bytes(question, transcript.links()[question as usize].id);
    let kept: BTreeSet<u32> = taken.lines.iter().copied().collect();
    let links = transcript.links();
    let lines = 0..links.len() as u32;
    let removed = lines.filter(|line| links[*line as usize].role.is_some() && !kept.contains(line));
    without(transcript, removed.collect(), Some(heir))
}

/// Drops messages; answers to them then become answers to `heir`.
fn without(transcript: &Transcript<'_>, removed: BTreeSet<u32>, heir: Option<&[u8]>) -> ChangeSet {
    let links = transcript.links();
    let id = |line: &u32| transcript.bytes(*line, links[*line as usize].id);
    let gone: BTreeSet<&[u8]> = removed.iter().map(id).collect();
    let lines = (0..links.len() as u32).filter(|line| !removed.contains(line));
    let replace = lines.filter_map(|line| {
        let parent = links[line as usize].parent;
        let heir = heir.filter(|_| gone.contains(transcript.bytes(line, parent)))?;
        (!parent.is_empty()).then(|| Replace::id(line, parent, Some(heir)))
    });
    ChangeSet {
        replace: replace.collect(),
        drop: removed.clone(),
        ..ChangeSet::default()
    }
}
