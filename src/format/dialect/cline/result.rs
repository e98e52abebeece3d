//! Reads the content of a tool's result: a text, blocks, or the output of each of several commands, files or searches, `{query,
//! result, error, success}`.
//!
//! A result counts as failed if one of its parts says so: a report could not say which. A tool with a single answer writes it as
//! the JSON of such an object, in a text.

use crate::format::shapes::blocks::quoted;
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{Block, Outcome, Record, Shape};

/// The end of a text that is the JSON of one failed answer, and the beginning of any answer, in escaped form.
const FAILED: &[u8] = br#"\"success\":false}"#;
/// The same before a reason. A text within the answer has its quotes escaped twice.
const FAILED_WITH: &[u8] = br#",\"success\":false,\"error\":"#;
const ANSWER: &[u8] = br#"{\"query\":"#;

/// Reads the content at the cursor into `block`.
pub(super) fn content(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    block: &mut Block,
) -> Parse<()> {
    match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            let raw = text.span.of(c.line());
            let has_failed =
                || raw.ends_with(FAILED) || memchr::memmem::find(raw, FAILED_WITH).is_some();
            if raw.starts_with(ANSWER) && has_failed() {
                block.outcome = Outcome::Failed;
            }
            record.text(text);
            (block.shape, block.content) = (Shape::String, quoted(text));
        }
        Kind::Array => {
            block.shape = Shape::List;
            block.content = c.array(|c| item(c, record, block))?;
        }
        Kind::Null => block.content = c.skip()?,
        Kind::Object | Kind::Number | Kind::Bool => {
            (block.shape, block.content) = (Shape::Other, c.skip()?);
        }
    }
    Ok(())
}

/// Reads one of several parts.
fn item(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, block: &mut Block) -> Parse<()> {
    let line = c.line();
    match c.kind()? {
        Kind::Object => {}
        Kind::String => {
            let text = c.string()?;
            record.text(text);
            return Ok(());
        }
        Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            block.others = block.others.saturating_add(1);
            return c.skip().map(drop);
        }
    }
    let mut kind = Span::default();
    let (mut said, mut has_failed, mut others): ([Option<Text>; 4], _, _) =
        ([None; 4], false, false);
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => kind = c.string_span()?,
            (b"text", _) => said[0] = c.string_or_skip()?,
            (b"content", _) => said[1] = c.string_or_skip()?,
            (b"result", Kind::Object | Kind::Array) => {
                others = true;
                c.skip()?;
            }
            (b"result", _) => said[2] = c.string_or_skip()?,
            (b"error", _) => said[3] = c.string_or_skip()?,
            (b"success", Kind::Bool) => has_failed = !c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let count = match kind.of(line) {
        b"image" | b"media" => &mut block.images,
        _ => &mut block.others,
    };
    let mut said = said
        .into_iter()
        .flatten()
        .filter(|text| !text.span.is_empty())
        .peekable();
    if others || said.peek().is_none() && !kind.is_empty() {
        *count = count.saturating_add(1);
    }
    said.for_each(|text| record.text(text));
    if has_failed {
        block.outcome = Outcome::Failed;
    }
    Ok(())
}
