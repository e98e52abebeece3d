//! Turns new contents of results into changes of lines, copies of these results elsewhere in the file included.

use super::Change;
use crate::format::{MirrorCut, mirror_cuts};
use crate::ids::{IdMap, IdSet};
use crate::transcript::{BlockKind, ChangeSet, Mirror, Replace, Transcript};

/// The changes of lines that give results their new contents.
pub(super) fn contents(transcript: &Transcript<'_>, changes: &[Change]) -> ChangeSet {
    let mut replace = Vec::with_capacity(changes.len() * 2);
    // Ids are unique in a conversation only.
    let mut by_call: IdMap<(u32, &[u8]), &Change> = IdMap::default();
    let mut by_line: IdMap<u32, (usize, &Change)> = IdMap::default();
    let copies = copies(transcript, changes);
    for change in changes {
        let block = transcript.block(change.block);
        replace.push(Replace::content(block, &change.text));
        for copy in copies.get(&change.block).into_iter().flatten() {
            let copy = transcript.block(*copy);
            let copied = Replace::content(copy, &change.text);
            // A text made from the old content does not fit a copy whose content differs. One that does not must stay the same.
            let is_same = transcript.bytes(copy.line, copy.content)
                == transcript.bytes(block.line, block.content);
            let fits =
                !change.why.depends_on_old_text() && copied.with.len() < copy.content.len as usize;
            if is_same || fits {
                replace.push(copied);
                by_line.entry(copy.line).or_insert((0, change)).0 += 1;
            }
        }
        if !block.call_id.is_empty() {
            let id = transcript.bytes(block.line, block.call_id);
            by_call.insert((change.conversation, id), change);
        }
        by_line.entry(block.line).or_insert((0, change)).0 += 1;
    }
    let mut owners: IdMap<u32, u32> = IdMap::default();
    for (number, conversation) in (0..).zip(&transcript.conversations) {
        owners.extend(conversation.mirrors.iter().map(|line| (*line, number)));
    }
    for mirror in transcript.mirrors() {
        let change = if mirror.of.is_empty() {
            // It repeats all results on its line, so it changes only when all of them do.
            let blocks = transcript.blocks_of_line(mirror.line);
            let results = blocks.filter(|b| transcript.block(*b).kind == BlockKind::Result);
            let results = results.count();
            let changed = by_line.get(&mirror.line);
            changed
                .filter(|(changed, _)| *changed == results)
                .map(|(_, change)| *change)
        } else {
            let owner = owners.get(&mirror.line);
            owner
                .and_then(|owner| by_call.get(&(*owner, transcript.bytes(mirror.line, mirror.of))))
                .copied()
        };
        if let Some(change) = change {
            replace.extend(mirrored(transcript, mirror, change));
        }
    }
    replace.into_iter().collect()
}

/// The blocks that repeat changed results, by the block that they repeat.
fn copies(transcript: &Transcript<'_>, changes: &[Change]) -> IdMap<u32, Vec<u32>> {
    let changed: IdSet<u32> = changes.iter().map(|change| change.block).collect();
    let mut copies: IdMap<u32, Vec<u32>> = IdMap::default();
    for conversation in &transcript.conversations {
        for (copy, of) in &conversation.copies {
            if changed.contains(of) {
                copies.entry(*of).or_default().push(*copy);
            }
        }
    }
    copies
}

/// Shortens a mirror of a changed result to one line of the new text.
fn mirrored(
    transcript: &Transcript<'_>,
    mirror: &Mirror,
    change: &Change,
) -> impl Iterator<Item = Replace> {
    let text = change.in_mirrors();
    let line = mirror.line;
    let cuts = mirror_cuts(transcript.line(line), mirror.value).into_iter();
    let replaced = move |(span, cut)| match cut {
        MirrorCut::Text => Replace::text(line, span, text),
        MirrorCut::List => Replace {
            line,
            span,
            with: b"[]".to_vec(),
        },
    };
    cuts.map(replaced).filter(Replace::is_shorter)
}
