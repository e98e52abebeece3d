//! Reads one line: a text or a fragment of one, a call, a result, or an event about the run.

use crate::format::shapes::blocks::quoted;
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{Block, BlockKind, LineKind, Outcome, Record, Role, Shape, Source};

/// The values of the keys of a line.
#[derive(Default)]
struct Fields<'a> {
    object: Span,
    kind: &'a [u8],
    role: &'a [u8],
    content: Option<Text>,
    tool: Span,
    id: Span,
    parameters: Span,
    status: &'a [u8],
    output: Option<Text>,
    /// The message of an `error`.
    error: Option<Text>,
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let read = fields(c)?;
    let (texts, blocks) = (record.text_mark(), record.block_mark());
    let mut block = Block::new(BlockKind::Text);
    let (role, text) = match (read.kind, read.role) {
        (b"message", b"user") => (Role::User, read.content),
        (b"message", b"assistant") => (Role::Assistant, read.content),
        (b"tool_use", _) => {
            block.kind = BlockKind::Call;
            block.content = read.parameters;
            (Role::Assistant, None)
        }
        (b"tool_result", _) => {
            block.kind = BlockKind::Result;
            if read.status == b"error" {
                block.outcome = Outcome::Failed;
            }
            // A failure is described in `error`; there may also be an output.
            (Role::Tool, read.output.or(read.error))
        }
        (b"init" | b"error" | b"result", _) => return Ok(LineKind::Session),
        (_, _) => return Ok(LineKind::Unknown),
    };
    if let Some(text) = text {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    block.value = match block.kind {
        BlockKind::Text => block.content,
        _ => read.object,
    };
    (block.call_id, block.tool) = (read.id, read.tool);
    record.block(block, texts);
    record.unit(role, read.object, block.content, Source::Own, blocks);
    Ok(LineKind::Message)
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let line = c.line();
    let mut read = Fields::default();
    read.object = c.object(|key, c| {
        match key {
            b"type" => read.kind = c.string_span()?.of(line),
            b"role" => read.role = c.string_span()?.of(line),
            b"content" => read.content = c.string_or_skip()?,
            b"tool_name" => read.tool = c.string_span()?,
            b"tool_id" => read.id = c.string_span()?,
            b"parameters" => read.parameters = c.skip()?,
            b"status" => read.status = c.string_span()?.of(line),
            b"output" => read.output = c.string_or_skip()?,
            b"error" if c.kind()? == Kind::Object => {
                read.error = None;
                c.object(|key, c| {
                    match key {
                        b"message" => read.error = c.string_or_skip()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}
