//! Model messages of the Vercel AI SDK, one per line: `{"role", "content"}` with parts for calls and results.
//!
//! A tool message holds results of several calls, each with an `output` that states its type. The fourth version of the SDK uses
//! `args` for a call's `input` and `result` for the `output`; both are read. Calls that a provider made and answered itself stay as
//! they are.

use crate::format::shapes::blocks::{self, Content, quoted};
use crate::scan::{Cursor, Kind, Parse, Span, Text, unescape};
use crate::transcript::{Block, BlockKind, LineKind, Outcome, Record, Role, Shape};

/// Reads one line: a message, or an object that only looks like one.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let (start, texts) = (record.block_mark(), record.text_mark());
    let mut content = Span::default();
    let line = c.line();
    // The kind of a part depends on the role, which may be the last key of the line.
    let before = c.clone();
    let [role] = c.fields(["role"])?;
    let Some(role) = role.string().and_then(named) else {
        return Ok(LineKind::Unknown);
    };
    *c = before;
    let object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"content", Kind::String | Kind::Array) => {
                record.forget(start, texts);
                content = contents(c, role, record)?;
            }
            (b"content", _) => {
                record.forget(start, texts);
                content = c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let source = blocks::source(record.first_words(start, line));
    record.unit(role, object, content, source, start);
    Ok(LineKind::Message)
}

fn named(role: &[u8]) -> Option<Role> {
    match role {
        b"system" => Some(Role::System),
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        b"tool" => Some(Role::Tool),
        _ => None,
    }
}

/// A message's content: a string, or a list of parts.
fn contents(c: &mut Cursor<'_>, role: Role, record: &mut Record<'_, '_>) -> Parse<Span> {
    if c.kind()? == Kind::Array {
        c.array(|c| part(c, role, record))
    } else {
        blocks::words(c, record)
    }
}

/// The values of a part's keys.
#[derive(Default)]
struct Part<'a> {
    kind: &'a [u8],
    text: Option<Text>,
    id: Span,
    tool: Span,
    input: Span,
    output: Option<(Content, Outcome)>,
    by_provider: bool,
    is_error: bool,
}

/// Reads one part. Its `type` may be its last key, so all keys are read before the kind of the part is decided.
fn part(c: &mut Cursor<'_>, role: Role, record: &mut Record<'_, '_>) -> Parse<()> {
    let texts = record.text_mark();
    if c.kind()? != Kind::Object {
        record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
        return Ok(());
    }
    let line = c.line();
    let mut part = Part::default();
    let value = c.object(|key, c| {
        match key {
            b"type" => part.kind = c.string_span()?.of(line),
            b"text" => part.text = c.string_or_skip()?,
            b"toolCallId" => part.id = c.string_span()?,
            b"toolName" => part.tool = c.string_span()?,
            b"input" | b"args" => part.input = c.skip()?,
            b"output" if c.kind()? == Kind::Object => {
                record.forget_texts(texts);
                part.output = Some(output(c, record)?);
            }
            b"result" => {
                record.forget_texts(texts);
                part.output = Some((json(c, record)?, Outcome::Fine));
            }
            b"providerExecuted" => part.by_provider = c.is_true()?,
            b"isError" => part.is_error = c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let is_result = part.kind == b"tool-result" && role == Role::Tool;
    if !is_result {
        record.forget_texts(texts);
    }
    let mut block = Block::new(match part.kind {
        b"text" => BlockKind::Text,
        b"reasoning" => BlockKind::Thinking,
        b"image" => BlockKind::Image,
        b"file" => BlockKind::Document,
        b"tool-call" if part.by_provider => BlockKind::Server,
        b"tool-call" => BlockKind::Call,
        b"tool-result" if is_result => BlockKind::Result,
        b"tool-result" => BlockKind::Server,
        _ => BlockKind::Other,
    });
    (block.call_id, block.tool) = (part.id, part.tool);
    block.content = value;
    match block.kind {
        BlockKind::Text | BlockKind::Thinking => {
            if let Some(text) = part.text {
                record.text(text);
                (block.shape, block.content) = (Shape::String, quoted(text));
            }
        }
        BlockKind::Call => block.content = part.input,
        BlockKind::Result => {
            block.content = Span::default();
            let (content, outcome) = part.output.unzip();
            block.take(content);
            block.outcome = if part.is_error {
                Outcome::Failed
            } else {
                outcome.unwrap_or(Outcome::Fine)
            };
        }
        BlockKind::Image
        | BlockKind::Document
        | BlockKind::Redacted
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => {}
    }
    block.value = value;
    record.block(block, texts);
    Ok(())
}

/// `{"type", "value"}` or `{"type", "reason"}`: the part that may be replaced, and whether the call failed.
fn output(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<(Content, Outcome)> {
    let line = c.line();
    let (mut kind, mut value) = (Span::default(), None);
    c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"value" | b"reason" => {
                c.kind()?;
                value = Some(c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let content = match (kind.of(line), value) {
        (_, None) => Content::of(Shape::Absent),
        (b"content", Some(mut at)) => listed(&mut at, record)?,
        (b"text" | b"json" | b"error-text" | b"error-json" | b"execution-denied", Some(mut at)) => {
            json(&mut at, record)?
        }
        (_, Some(mut at)) => {
            let mut other = Content::of(Shape::Other);
            other.span = at.skip()?;
            other
        }
    };
    let outcome = match kind.of(line) {
        b"error-text" | b"error-json" | b"execution-denied" => Outcome::Failed,
        _ => Outcome::Fine,
    };
    Ok((content, outcome))
}

/// Reads a JSON value as the model sees it. Its replacement is a string, which is also a JSON value.
fn json(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Content> {
    let mut content = Content::of(Shape::String);
    let line = c.line();
    match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            record.text(text);
            content.span = quoted(text);
        }
        Kind::Null => {
            content.shape = Shape::Absent;
            content.span = c.skip()?;
        }
        Kind::Object | Kind::Array | Kind::Number | Kind::Bool => {
            let span = c.skip()?;
            let read = unescape(span.of(line));
            let read = String::from_utf8_lossy(&read);
            let scalars = read.chars().count() as u32;
            let astral = read.chars().filter(|c| c.len_utf16() == 2).count() as u32;
            record.text(Text {
                span,
                scalars,
                astral,
            });
            content.span = span;
        }
    }
    Ok(content)
}

/// Reads the parts of an output of type `content`.
fn listed(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Content> {
    if c.kind()? != Kind::Array {
        return json(c, record);
    }
    let line = c.line();
    let mut content = Content::of(Shape::List);
    content.span = c.array(|c| {
        if c.kind()? != Kind::Object {
            content.count(BlockKind::Other);
            return c.skip().map(drop);
        }
        let (mut kind, mut text) = (Span::default(), None);
        c.object(|key, c| {
            match key {
                b"type" => kind = c.string_span()?,
                b"text" => text = c.string_or_skip()?,
                _ => drop(c.skip()?),
            }
            Ok(())
        })?;
        match (kind.of(line), text) {
            (b"text", Some(text)) => record.text(text),
            (kind, _) if kind.starts_with(b"image") => content.count(BlockKind::Image),
            (kind, _) if kind.starts_with(b"file") || kind == b"media" => {
                content.count(BlockKind::Document);
            }
            _ => content.count(BlockKind::Other),
        }
        Ok(())
    })?;
    Ok(content)
}
