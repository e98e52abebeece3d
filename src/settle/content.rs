//! Turns new contents of results into changes of lines, including copies of these results elsewhere in the file.

use std::collections::BTreeMap;

use super::Change;
use crate::format::{MirrorCut, mirror_cuts};
use crate::ids::{IdMap, IdSet};
use crate::scan::Span;
use crate::transcript::{Block, BlockKind, ChangeSet, Mirror, Replace, Transcript};

/// The changes of lines that give results their new contents.
pub(super) fn contents(transcript: &Transcript<'_>, changes: &[Change]) -> ChangeSet {
    let has_copies = transcript
        .conversations
        .iter()
        .any(|c| !c.copies.is_empty());
    if transcript.mirrors().is_empty() && !has_copies {
        let content =
            |change: &Change| Replace::content(transcript.block(change.block), &change.text);
        let replace = transcript.each(changes.iter(), content);
        return replace.into_iter().collect();
    }
    let mut replace = Vec::with_capacity(changes.len() * 2);
    let by_call = by_call(transcript, changes);
    let mut by_block: IdMap<u32, &Change> = IdMap::default();
    let mut by_line: IdMap<u32, (usize, &Change)> = IdMap::default();
    by_block.reserve(changes.len());
    by_line.reserve(changes.len());
    let copies = copies(transcript, changes);
    for change in changes {
        let block = transcript.block(change.block);
        replace.push(Replace::content(block, &change.text));
        for copy in copies.get(&change.block).into_iter().flatten() {
            let copy = transcript.block(*copy);
            let copied = Replace::content(copy, &change.text);
            // A copy with the same content always changes. One with different content changes only if the new text does not depend
            // on the old one and is shorter than the copy.
            let is_same = transcript.bytes(copy.line, copy.content)
                == transcript.bytes(block.line, block.content);
            let fits =
                !change.why.depends_on_old_text() && copied.with.len() < copy.content.len as usize;
            if is_same || fits {
                replace.push(copied);
                by_line.entry(copy.line).or_insert((0, change)).0 += 1;
            }
        }
        by_block.insert(change.block, change);
        by_line.entry(block.line).or_insert((0, change)).0 += 1;
    }
    let mut owners: IdMap<u32, u32> = IdMap::default();
    for (number, conversation) in (0..).zip(&transcript.conversations) {
        owners.extend(conversation.mirrors.iter().map(|line| (*line, number)));
    }
    let mut results = ResultsOfLine::default();
    for mirror in transcript.mirrors() {
        let change = if mirror.of.is_empty() {
            // The mirror repeats all results on its line, so it changes only when all of them do.
            let blocks = transcript.blocks_of_line(mirror.line);
            let results = blocks.filter(|b| transcript.block(*b).kind == BlockKind::Result);
            let results = results.count();
            let changed = by_line.get(&mirror.line);
            changed
                .filter(|(changed, _)| *changed == results)
                .map(|(_, change)| *change)
        } else if let beside @ [_, ..] = results.beside(transcript, mirror) {
            // The mirror may repeat any of several results, so all of them have to change.
            let all: Option<Vec<_>> = beside.iter().map(|b| by_block.get(b)).collect();
            all.and_then(|all| all.last().copied().copied())
        } else {
            owners.get(&mirror.line).and_then(|owner| {
                let id = transcript.bytes(mirror.line, mirror.of);
                let calls = by_call.get(&(*owner, id))?;
                change_at(calls, (mirror.line, mirror.value.start))
            })
        };
        if let Some(change) = change {
            replace.extend(mirrored(transcript, mirror, change));
        }
    }
    replace.into_iter().collect()
}

/// A line, and a place on it.
type Place = (u32, u32);

/// The calls with one id, by start position, each with the changes of its results: `None` for a result that stays as it is.
type Calls<'c> = BTreeMap<Place, Vec<Option<&'c Change>>>;

/// The calls of changed results by their conversation and id. Ids are unique only within a conversation; if two of its calls have
/// the same id, each has the results that follow it. Only mirrors are looked up there.
fn by_call<'t, 'c>(
    transcript: &'t Transcript<'_>,
    changes: &'c [Change],
) -> IdMap<(u32, &'t [u8]), Calls<'c>> {
    let id = |block: &Block| transcript.bytes(block.line, block.call_id);
    let mut by_call: IdMap<(u32, &[u8]), Calls<'_>> = IdMap::default();
    if transcript.mirrors().is_empty() {
        return by_call;
    }
    let mut changed: IdMap<(u32, u32), &Change> = IdMap::default();
    for change in changes {
        let block = transcript.block(change.block);
        changed.insert((change.conversation, change.block), change);
        if !block.call_id.is_empty() {
            by_call.insert((change.conversation, id(block)), Calls::new());
        }
    }
    let conversations = (0..).zip(&transcript.conversations);
    for (number, conversation) in conversations.filter(|(_, c)| !c.mirrors.is_empty()) {
        for (_, block_number) in conversation.all_blocks() {
            let block = transcript.block(block_number);
            let Some(calls) = by_call.get_mut(&(number, id(block))) else {
                continue;
            };
            let at = (block.line, block.value.start);
            if block.kind == BlockKind::Call {
                calls.entry(at).or_default();
            } else if block.kind == BlockKind::Result {
                let call = calls.range(..=at).next_back();
                let call = call.map_or(at, |(call, _)| *call);
                let change = changed.get(&(number, block_number)).copied();
                calls.entry(call).or_default().push(change);
            }
        }
    }
    by_call
}

/// The change for a mirror at `at`. If several calls share the id, the mirror belongs to the last one before it; if the call has
/// several results, the mirror may repeat any of them, so all of them have to change.
fn change_at<'c>(calls: &Calls<'c>, at: Place) -> Option<&'c Change> {
    let before = calls.range(..=at).next_back();
    let (_, results) = before.or_else(|| calls.first_key_value())?;
    let all: Option<Vec<&Change>> = results.iter().copied().collect();
    all?.pop()
}

/// The results on the line that was looked at last, by the place of their ids: a line may have very many results and mirrors.
#[derive(Default)]
struct ResultsOfLine {
    line: Option<u32>,
    by_id: IdMap<Span, Vec<u32>>,
}

impl ResultsOfLine {
    /// The results that are written together with a mirror, on the same line: the mirror repeats these, whichever other results
    /// have the same id.
    fn beside(&mut self, transcript: &Transcript<'_>, mirror: &Mirror) -> &[u32] {
        if self.line != Some(mirror.line) {
            self.line = Some(mirror.line);
            self.by_id.clear();
            for number in transcript.blocks_of_line(mirror.line) {
                let block = transcript.block(number);
                if block.kind == BlockKind::Result {
                    self.by_id.entry(block.call_id).or_default().push(number);
                }
            }
        }
        self.by_id.get(&mirror.of).map_or(&[], Vec::as_slice)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::plan::Why;

    #[test]
    fn a_mirror_goes_with_the_result_of_its_own_call() {
        let line = |kind: &str, payload: &str| {
            format!(r#"{{"timestamp":"t","type":"{kind}","payload":{{{payload}}}}}"#)
        };
        let call = r#""type":"function_call","name":"exec","arguments":"{}","call_id":"call_0""#;
        let said = "a line of output\\n".repeat(50);
        let event = format!(r#""type":"exec_command_end","call_id":"call_0","stdout":"{said}""#);
        let result =
            format!(r#""type":"function_call_output","call_id":"call_0","output":"{said}""#);
        let turn = [
            line("response_item", call),
            line("event_msg", &event),
            line("response_item", &result),
        ];
        // The second turn numbers its calls from 0 again; in the third, two calls are made at once.
        let [call, event, result] = &turn;
        let header = line("session_meta", r#""id":"s","cwd":"/w""#);
        let lines = [&header, call, event, result, call, event, result]
            .into_iter()
            .chain([call, event, call, event, result, result]);
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        let text = lines.join("\n");
        let transcript = Format::Codex.read(text.as_bytes(), 1, &mut Warnings::default());
        let blocks = transcript.conversations[0].all_blocks();
        let results: Vec<u32> = blocks
            .map(|(_, block)| block)
            .filter(|block| transcript.block(*block).kind == BlockKind::Result)
            .collect();
        let change = |number: usize| Change {
            conversation: 0,
            message: 0,
            block: results[number],
            named_by: results[number],
            why: Why::Old { newer: 1 },
            text: "cleared".to_owned(),
            tokens_before: 100,
            tokens_after: 1,
            stored: None,
        };
        for (changed, expected) in [
            (vec![0], vec![2, 3]),
            (vec![1], vec![5, 6]),
            (vec![1, 0], vec![2, 3, 5, 6]),
            // Nothing says which of the two calls it answers.
            (vec![2], vec![11]),
            (vec![2, 3], vec![10, 11, 12]),
        ] {
            let changes: Vec<Change> = changed.iter().map(|number| change(*number)).collect();
            let replaced = contents(&transcript, &changes).replace;
            let mut lines: Vec<u32> = replaced.iter().map(|replace| replace.line).collect();
            lines.sort_unstable();
            assert_eq!(lines, expected, "{changed:?}");
        }
    }
}
