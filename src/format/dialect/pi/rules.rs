//! What pi requires of a session file to resume it, and what providers require of the resulting messages.
//!
//! The agent omits aborted answers and adds results for calls that have none; it sends a result without its call as it is,
//! and silently ignores a parent or a first kept entry that is missing. Never looks at entries that no model sees.

use super::tree::{FirstKept, Tree};
use crate::ids::IdSet;
use crate::scan::{Kind, Value};
use crate::transcript::{Block, BlockKind, Conversation, LineKind, Message, Role, Shape};
use crate::verify::{Findings, OpenCalls, Rule};

/// Checks the messages of a conversation.
pub(super) fn messages(f: &mut Findings<'_, '_>, conversation: &Conversation) {
    let transcript = f.transcript;
    if let Some(first) = conversation.messages.first()
        && first.role == Role::Assistant
    {
        let line = conversation.first_line(first);
        f.error(Rule::FirstNotUser, line, f.uuid(line));
    }
    let mut open = OpenCalls::default();
    let mut known = IdSet::default();
    for message in &conversation.messages {
        match message.role {
            Role::Tool => {
                for block in of_kind(f, conversation, message, BlockKind::Result) {
                    if block.shape != Shape::List {
                        f.call_error(Rule::ContentNotList, block);
                    }
                    open.result(f, block);
                }
                continue;
            }
            Role::System | Role::User | Role::Assistant => open.close(f),
        }
        for block in of_kind(f, conversation, message, BlockKind::Call) {
            let id = f.call_id(block);
            if id.is_empty() {
                f.call_error(Rule::InvalidId, block);
            } else if !known.insert(id.clone()) {
                f.call_error(Rule::DuplicateCall, block);
            }
            open.call(block, id);
        }
    }
    open.close(f);
    let lines = conversation.path.iter().rev();
    let is_answer = |line: &&u32| transcript.links()[**line as usize].role == Some(Role::Assistant);
    if let Some(last) = lines.copied().find(|line| is_answer(&line))
        && !has_usage(transcript.line(last))
    {
        f.error(Rule::UsageMissing, last, f.uuid(last));
    }
}

/// The blocks of a message that are of this kind.
fn of_kind<'t>(
    f: &Findings<'t, '_>,
    conversation: &Conversation,
    message: &Message,
    kind: BlockKind,
) -> Vec<&'t Block> {
    let transcript = f.transcript;
    let blocks = conversation.blocks(message).iter();
    let blocks = blocks.map(|block| transcript.block(*block));
    blocks.filter(|block| block.kind == kind).collect()
}

/// Whether the message of a line has a usage.
fn has_usage(line: &[u8]) -> bool {
    Value::of(line).within(&["message", "usage"]).kind() == Some(Kind::Object)
}

/// Checks how the entries are linked.
pub(super) fn session(f: &mut Findings<'_, '_>) {
    let transcript = f.transcript;
    let tree = Tree::new(transcript);
    let first = tree.entries().next();
    if let Some(first) = first
        && transcript.lines()[first as usize].kind != LineKind::Session
    {
        f.error(Rule::HeaderMissing, first, b"");
    }
    let path = tree.path();
    if let Some(root) = path.first().copied() {
        let parent = transcript.bytes(root, tree.link(root).parent);
        if !tree.id_of(root).is_empty() && !parent.is_empty() && tree.named(parent).is_none() {
            f.error(Rule::ChainParentMissing, root, tree.id_of(root));
        }
    }
    let Some(at) = tree.compaction(&path) else {
        return;
    };
    let line = path[at];
    let id = tree.id_of(line);
    if tree.link(line).content.is_empty() {
        f.error(Rule::SummaryMalformed, line, id);
    }
    let kept = FirstKept::read(transcript.line(line));
    let names_none = kept.id.is_none() && kept.index.is_none();
    let target = tree.target(line, kept);
    let is_there = target.is_some_and(|target| path.contains(&target));
    if !names_none && !is_there {
        f.error(Rule::PreservedMissing, line, id);
    }
}
