//! OpenAI chat completions: one message or one conversation `{"messages": […]}` per line.

use crate::format::shapes::{blocks, conversation};
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{Block, BlockKind, LineKind, Record, Role, Shape};

/// Reads one line: a message, a conversation, or something else.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let listed = |c: &mut Cursor<'_>, record: &mut Record<'_, '_>| message(c, record).map(drop);
    if let Some(kind) = conversation::messages(c, record, listed)? {
        return Ok(kind);
    }
    message(c, record).map(|kind| kind.unwrap_or(LineKind::Unknown))
}

/// The values of the keys of a message, except the blocks that they add.
#[derive(Default)]
struct Fields<'a> {
    object: Span,
    role: Option<&'a [u8]>,
    content: Option<blocks::Content>,
    answers: Span,
    name: Span,
}

/// The keys that add blocks.
const ADDING: [&[u8]; 5] = [
    b"content",
    b"reasoning_content",
    b"reasoning",
    b"tool_calls",
    b"function_call",
];

/// One message object; `None` if it has no known role.
fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Option<LineKind>> {
    let line = c.line();
    let (start, texts) = (record.block_mark(), record.text_mark());
    let before = c.clone();
    let mut times = [0; ADDING.len()];
    let mut read = fields(c, record, |key| {
        times[key] += 1;
        Wanted::Yes
    })?;
    if times.iter().any(|times| *times > 1) {
        // If a key occurs twice, the last one counts, and the blocks that the others added are discarded.
        record.forget(start, texts);
        *c = before;
        read = fields(c, record, |key| {
            times[key] -= 1;
            if times[key] == 0 {
                Wanted::Yes
            } else {
                Wanted::No
            }
        })?;
    }
    let Fields {
        object,
        role,
        content,
        answers,
        name,
    } = read;
    let (role, is_result) = match role {
        Some(b"user") => (Role::User, false),
        Some(b"assistant") => (Role::Assistant, false),
        Some(b"system" | b"developer") => (Role::System, false),
        Some(b"tool" | b"function") => (Role::Tool, true),
        _ => {
            record.forget(start, texts);
            return Ok(None);
        }
    };
    let span = content.map(|c| c.span).unwrap_or_default();
    if is_result {
        // The content was read as texts of a message, but it is a result: a single block with all of them.
        record.forget_blocks(start);
        let mut block = Block::new(BlockKind::Result);
        (block.call_id, block.tool) = (answers, name);
        block.take(content);
        block.value = block.content;
        record.block(block, texts);
    }
    let source = blocks::source(record.first_words(start, line));
    record.unit(role, object, span, source, start);
    Ok(Some(LineKind::Message))
}

/// Whether to read the value of a key.
#[derive(PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

/// Reads a message; `wanted` is called before each key of [`ADDING`], with its index.
fn fields<'a>(
    c: &mut Cursor<'a>,
    record: &mut Record<'_, '_>,
    mut wanted: impl FnMut(usize) -> Wanted,
) -> Parse<Fields<'a>> {
    let line = c.line();
    let mut read = Fields::default();
    read.object = c.object(|key, c| {
        let adding = ADDING.iter().position(|adding| *adding == key);
        if adding.is_some_and(|key| wanted(key) == Wanted::No) {
            return c.skip().map(drop);
        }
        match key {
            b"role" => read.role = c.string_or_skip()?.map(|t| t.span.of(line)),
            b"content" => read.content = Some(contents(c, record)?),
            b"tool_call_id" => read.answers = c.string_span()?,
            b"name" => read.name = c.string_span()?,
            b"reasoning_content" | b"reasoning" => thinking(c, record)?,
            b"tool_calls" if c.kind()? == Kind::Array => drop(c.array(|c| call(c, record))?),
            b"function_call" if c.kind()? == Kind::Object => function_call(c, record)?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A message's content; every part of it becomes a block, unless the role later shows that it is a result.
fn contents(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<blocks::Content> {
    if c.kind()? != Kind::Array {
        return blocks::unlisted(c, record);
    }
    let mut content = blocks::Content::of(Shape::List);
    content.span = c.array(|c| {
        let texts = record.text_mark();
        let start = c.place()?;
        let kind = blocks::part(c, record)?;
        let value = Span::new(start, c.last_end());
        content.count(kind);
        record.block(Block::whole(kind, value), texts);
        Ok(())
    })?;
    Ok(content)
}

fn thinking(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    if let Some(text) = c.string_or_skip()? {
        blocks::said(record, BlockKind::Thinking, text);
    }
    Ok(())
}

/// One element of `tool_calls`: a call of a function or a custom tool.
fn call(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    if c.kind()? != Kind::Object {
        return c.skip().map(drop);
    }
    let texts = record.text_mark();
    let mut block = Block::new(BlockKind::Call);
    block.value = c.object(|key, c| {
        match key {
            b"id" => block.call_id = c.string_span()?,
            b"function" | b"custom" if c.kind()? == Kind::Object => {
                record.forget_texts(texts);
                called(c, record, &mut block)?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    record.block(block, texts);
    Ok(())
}

/// The older form: one call per message, without an id.
fn function_call(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let texts = record.text_mark();
    let mut block = Block::new(BlockKind::Call);
    let start = c.place()?;
    called(c, record, &mut block)?;
    block.value = Span::new(start, c.last_end());
    record.block(block, texts);
    Ok(())
}

/// `{"name", "arguments"}` or `{"name", "input"}`.
fn called(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, block: &mut Block) -> Parse<()> {
    let texts = record.text_mark();
    c.object(|key, c| {
        match key {
            b"name" => block.tool = c.string_span()?,
            b"arguments" | b"input" => {
                record.forget_texts(texts);
                if c.kind()? == Kind::String {
                    let text = c.string()?;
                    record.text(text);
                    (block.shape, block.content) = (Shape::String, blocks::quoted(text));
                } else {
                    (block.shape, block.content) = (Shape::Other, c.skip()?);
                }
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })
    .map(drop)
}
