//! Removes blocks from messages that are complete objects, each on its own line or in a list on a line.
//!
//! A message without remaining content is removed as a whole. Otherwise the blocks are removed from its list, and a member that
//! contained nothing else is removed from the message. Never decides which blocks to remove.

use super::splice::{cuts, remove_messages};
use crate::ids::IdSet;
use crate::scan::{Cursor, Span};
use crate::transcript::{Block, BlockKind, ChangeSet, Transcript, Unit};

/// Removes blocks from their messages.
pub(in crate::format) fn without(transcript: &Transcript<'_>, blocks: &IdSet<u32>) -> ChangeSet {
    let mut changes = ChangeSet::default();
    let mut silent: IdSet<usize> = IdSet::default();
    for (number, unit) in transcript.units().iter().enumerate() {
        let own = unit.blocks.0..unit.blocks.1;
        if !own.clone().any(|block| blocks.contains(&block)) {
            continue;
        }
        let speaks =
            |block: u32| !blocks.contains(&block) && says(transcript, transcript.block(block));
        if own.clone().any(speaks) {
            parts(transcript, unit, blocks, &mut changes);
        } else {
            silent.insert(number);
        }
    }
    remove_messages(transcript, &mut changes, |number| silent.contains(&number));
    changes
}

/// Whether a block has any content.
pub(in crate::format) fn says(transcript: &Transcript<'_>, block: &Block) -> bool {
    let texts = transcript.texts(block);
    block.kind != BlockKind::Text || texts.iter().any(|text| !text.span.is_empty())
}

/// The spans to cut so that blocks are removed from a list of blocks.
pub(in crate::format) fn out_of_list(
    transcript: &Transcript<'_>,
    list: Span,
    own: impl Iterator<Item = u32>,
    blocks: &IdSet<u32>,
) -> Vec<Span> {
    let is_in = |value: Span| list.start < value.start && value.end() < list.end();
    let own: Vec<u32> = own
        .filter(|block| is_in(transcript.block(*block).value))
        .collect();
    let items: Vec<Span> = own.iter().map(|b| transcript.block(*b).value).collect();
    cuts(&items, |at| blocks.contains(&own[at]))
}

/// Removes blocks from lines that hold one message each, and drops the lines that have no other content.
pub(in crate::format) fn out_of_lines(
    transcript: &Transcript<'_>,
    lines: &[u32],
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let mut changes = ChangeSet::default();
    for line in lines.iter().copied() {
        let own = transcript.blocks_of_line(line);
        if !own.clone().any(|block| blocks.contains(&block)) {
            continue;
        }
        let speaks = |b: u32| !blocks.contains(&b) && says(transcript, transcript.block(b));
        if own.clone().any(speaks) {
            let content = transcript.links()[line as usize].content;
            changes.remove(line, out_of_list(transcript, content, own, blocks));
        } else {
            changes.drop.insert(line);
        }
    }
    changes
}

/// Removes part of a message's content.
fn parts(transcript: &Transcript<'_>, unit: &Unit, blocks: &IdSet<u32>, changes: &mut ChangeSet) {
    let own = unit.blocks.0..unit.blocks.1;
    let listed = out_of_list(transcript, unit.content, own.clone(), blocks);
    changes.remove(unit.line, listed);
    let members = members(transcript.line(unit.line), unit.object);
    let spans: Vec<Span> = members.iter().map(|(member, _)| *member).collect();
    let is_removed = |at: usize| {
        let (member, value) = members[at];
        let is_in = |block: &u32| {
            let of = transcript.block(*block).value;
            member.start <= of.start && of.end() <= member.end()
        };
        let mut held = own.clone().filter(is_in).peekable();
        value != unit.content && held.peek().is_some() && held.all(|b| blocks.contains(&b))
    };
    changes.remove(unit.line, cuts(&spans, is_removed));
}

/// The spans of the members of an object on a line, each with the span of its value.
pub(in crate::format) fn members(line: &[u8], object: Span) -> Vec<(Span, Span)> {
    let bytes = object.of(line);
    let at = object.start as usize;
    let mut members = Vec::new();
    // The line was read before, so this should not fail; if it does, the members found up to there are returned.
    let _ = Cursor::new(bytes).object(|key, c| {
        let value = c.skip()?;
        let before = bytes[..value.start as usize].trim_ascii_end();
        let before = before.strip_suffix(b":").unwrap_or(before).trim_ascii_end();
        let begin = before.len().saturating_sub(key.len() + 2);
        members.push((
            Span::new(at + begin, at + value.end()),
            Span::new(at + value.start as usize, at + value.end()),
        ));
        Ok(())
    });
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::apply;
    use crate::format::{Format, Warnings};

    /// The text of a transcript after its thinking, calls and results are removed.
    fn left(format: Format, text: &str) -> String {
        let mut transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let is_removed = [BlockKind::Thinking, BlockKind::Call, BlockKind::Result];
        let blocks = (0..transcript.block_count() as u32)
            .filter(|block| is_removed.contains(&transcript.block(*block).kind))
            .collect();
        let changes = without(&transcript, &blocks);
        apply(format, &mut transcript, changes);
        let pieces: Vec<&[u8]> = transcript.pieces().collect();
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn a_message_that_says_nothing_any_more_leaves_and_others_keep_their_bytes() {
        let text = concat!(
            r#"{"role":"user","content":"go"}"#,
            "\n",
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}, {"type":"text","text":"so"} , {"type":"tool_use","id":"1","name":"f","input":{}}], "x": 1}"#,
            "\n",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"}]}"#,
            "\n",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"},{"type":"text","text":"on"}]}"#,
            "\n",
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"f","input":{}},{"type":"text","text":""}]}"#,
            "\n",
        );
        let expected = concat!(
            r#"{"role":"user","content":"go"}"#,
            "\n",
            r#"{"role":"assistant","content":[{"type":"text","text":"so"}], "x": 1}"#,
            "\n",
            r#"{"role":"user","content":[{"type":"text","text":"on"}]}"#,
            "\n",
        );
        assert_eq!(left(Format::Anthropic, text), expected);
    }

    #[test]
    fn members_that_held_nothing_else_leave_with_their_commas() {
        let call = r#"{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}"#;
        let text = format!(
            concat!(
                r#"{{"role":"assistant","content":"so" , "tool_calls" : [{0},{0}]}}"#,
                "\n",
                r#"{{"reasoning_content":"hm","tool_calls":[{0}],"role":"assistant","content":"so"}}"#,
                "\n",
                r#"{{"role":"assistant","content":null,"tool_calls":[{0}]}}"#,
                "\n",
                r#"{{"role":"tool","tool_call_id":"1","content":"a"}}"#,
                "\n",
                r#"{{"messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":"","tool_calls":[{0}]}},{{"role":"tool","tool_call_id":"1","content":"a"}},{{"role":"user","content":"on"}}]}}"#,
                "\n",
            ),
            call
        );
        let expected = concat!(
            r#"{"role":"assistant","content":"so"}"#,
            "\n",
            r#"{"role":"assistant","content":"so"}"#,
            "\n",
            r#"{"messages":[{"role":"user","content":"go"},{"role":"user","content":"on"}]}"#,
            "\n",
        );
        assert_eq!(left(Format::OpenAi, &text), expected);
    }
}
