//! The parts of messages in Gemini's API, as several agents record them: texts, calls, results, pictures, thoughts.
//!
//! Never decides what is live.

use crate::format::shapes::blocks::{quoted, said};
use crate::scan::{Cursor, Kind, Parse, Span, Text, unescape};
use crate::transcript::{Author, Block, BlockKind, BlockMark, Outcome, Record, Shape};

/// The tool whose output states how a command ended.
const SHELL: &[u8] = b"run_shell_command";

/// The parts around the files that a person mentioned, as written in JSON.
const FILES_BEGIN: &[u8] = b"\\n--- Content from referenced files ---";
const FILES_END: &[u8] = b"\\n--- End of content ---";

/// What was found in a message's content.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::format) struct Content {
    /// Its value.
    pub(in crate::format) span: Span,
    /// Whether it has a call or a thought: if so, the agent takes all calls and thoughts from here.
    pub(in crate::format) has_calls_or_thoughts: bool,
    /// Whether it has results and nothing else.
    pub(in crate::format) only_results: bool,
    /// The first part that is not blank; `None` if all are blank.
    pub(in crate::format) begins: Option<Begins>,
}

/// How the content begins.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) enum Begins {
    /// With words.
    Words(Span),
    /// With a part of another kind.
    Other,
}

/// Whether the agent sends its model's thoughts again. Thoughts that it removes do not become blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Thoughts {
    Sent,
    Removed,
}

/// What a part turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Found {
    Words(Text),
    Call,
    Thought,
    Result,
    Other,
}

/// Reads the content of a message: a string, a part, or a list of either.
pub(in crate::format) fn content(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    thoughts: Thoughts,
) -> Parse<Content> {
    let line = c.line();
    let start = record.block_mark();
    let mut content = Content::default();
    let (mut results, mut others) = (0, 0);
    let mut add = |found: Found| {
        let begins = match found {
            Found::Words(text) if is_blank(line, text.span) => None,
            Found::Words(text) => Some(Begins::Words(text.span)),
            Found::Call | Found::Thought | Found::Result | Found::Other => Some(Begins::Other),
        };
        content.begins = content.begins.or(begins);
        content.has_calls_or_thoughts |= matches!(found, Found::Call | Found::Thought);
        match found {
            Found::Result => results += 1,
            Found::Words(_) | Found::Call | Found::Thought | Found::Other => others += 1,
        }
    };
    let span = match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            // An empty string is not a part.
            if !text.span.is_empty() {
                said(record, BlockKind::Text, text);
                add(Found::Words(text));
            }
            quoted(text)
        }
        Kind::Array => {
            let span = c.array(|c| {
                add(part(c, record, None, thoughts)?);
                Ok(())
            })?;
            mentioned(record, start, line);
            span
        }
        Kind::Object => {
            let start = c.place()?;
            add(part(c, record, None, thoughts)?);
            Span::new(start, c.last_end())
        }
        Kind::Number | Kind::Bool | Kind::Null => c.skip()?,
    };
    content.span = span;
    content.only_results = results > 0 && others == 0;
    Ok(content)
}

/// Marks mentioned files as the program's. The agent appends each file that a person mentioned as a part of its own, between two
/// marker lines that are also parts: none of these are the person's words.
fn mentioned(record: &mut Record<'_, '_>, start: BlockMark, line: &[u8]) {
    let mut number = 0;
    let mut author = Author::OfMessage;
    record.authors(start, line, |text| {
        // The prompt comes before the files that it mentions.
        if number > 0 && text == FILES_BEGIN {
            author = Author::Program;
        }
        number += 1;
        match text == FILES_END {
            true => std::mem::replace(&mut author, Author::OfMessage),
            false => author,
        }
    });
}

/// Whether a text is white space.
fn is_blank(line: &[u8], text: Span) -> bool {
    let text = unescape(text.of(line));
    String::from_utf8_lossy(&text).trim().is_empty()
}

/// Reads one part. `by` is what a result's call tells about it.
pub(in crate::format) fn part(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    by: Option<Block>,
    thoughts: Thoughts,
) -> Parse<Found> {
    let texts = record.text_mark();
    match c.kind()? {
        Kind::Object => {}
        Kind::String => {
            let text = c.string()?;
            said(record, BlockKind::Text, text);
            return Ok(Found::Words(text));
        }
        Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
            return Ok(Found::Other);
        }
    }
    let (mut text, mut is_thought) = (None, false);
    let (mut call, mut response, mut media) = (None, None, None);
    let value = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"text", _) => text = c.string_or_skip()?,
            (b"thought", _) => is_thought = c.is_true()?,
            (b"functionCall", Kind::Object) => {
                call = Some(c.clone());
                c.skip()?;
            }
            (b"functionResponse", Kind::Object) => {
                response = Some(c.clone());
                c.skip()?;
            }
            (b"inlineData" | b"fileData", Kind::Object) => media = Some(picture_or_document(c)?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    if let Some(mut at) = call {
        let mut block = Block::new(BlockKind::Call);
        block.value = value;
        at.object(|key, c| {
            match key {
                b"id" => block.call_id = c.string_span()?,
                b"name" => block.tool = c.string_span()?,
                b"args" => block.content = c.skip()?,
                _ => drop(c.skip()?),
            }
            Ok(())
        })?;
        c.anomalies.insert(at.anomalies);
        record.block(block, texts);
        return Ok(Found::Call);
    }
    if let Some(mut at) = response {
        let mut block = by.unwrap_or(Block::new(BlockKind::Result));
        block.value = value;
        function_response(&mut at, record, &mut block)?;
        c.anomalies.insert(at.anomalies);
        record.block(block, texts);
        return Ok(Found::Result);
    }
    if is_thought {
        let thought = text.filter(|_| thoughts == Thoughts::Sent);
        if let Some(text) = thought {
            record.text(text);
            let mut block = Block::whole(BlockKind::Thinking, value);
            (block.shape, block.content) = (Shape::String, quoted(text));
            record.block(block, texts);
        }
        return Ok(Found::Thought);
    }
    let mut block = match (text, media) {
        (Some(_), _) => Block::whole(BlockKind::Text, value),
        (None, Some(media)) => Block::whole(media, value),
        (None, None) => Block::whole(BlockKind::Other, value),
    };
    if let Some(text) = text {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    record.block(block, texts);
    Ok(text.map_or(Found::Other, Found::Words))
}

/// The kind of content sent as inline data or as a file.
fn picture_or_document(c: &mut Cursor<'_>) -> Parse<BlockKind> {
    let line = c.line();
    let mut mime = Span::default();
    c.object(|key, c| {
        match key {
            b"mimeType" => mime = c.string_span()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(match mime.of(line).starts_with(b"image/") {
        true => BlockKind::Image,
        false => BlockKind::Document,
    })
}

/// Reads a result: its output is the only string of `response`; a response of another shape stays as it is.
fn function_response(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    block: &mut Block,
) -> Parse<()> {
    let mut response = None;
    let (mut images, mut documents) = (0u8, 0u8);
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"id", Kind::String) => block.call_id = c.string_span()?,
            (b"name", Kind::String) => block.tool = c.string_span()?,
            (b"response", _) => {
                response = Some(c.clone());
                c.skip()?;
            }
            (b"parts", Kind::Array) => drop(c.array(|c| {
                if c.kind()? != Kind::Object {
                    return c.skip().map(drop);
                }
                c.object(|key, c| {
                    match (key, c.kind()?) {
                        (b"inlineData" | b"fileData", Kind::Object) => {
                            let is_picture = picture_or_document(c)? == BlockKind::Image;
                            let count = if is_picture {
                                &mut images
                            } else {
                                &mut documents
                            };
                            *count = count.saturating_add(1);
                        }
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })
                .map(drop)
            })?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    (block.images, block.documents) = (images, documents);
    if let Some(mut at) = response {
        output(&mut at, record, block)?;
        c.anomalies.insert(at.anomalies);
    }
    fail_by_status(block, c.line());
    Ok(())
}

/// The value of `response`.
fn output(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, block: &mut Block) -> Parse<()> {
    let line = c.line();
    match c.kind()? {
        Kind::Object => {}
        Kind::Null => {
            block.content = c.skip()?;
            return Ok(());
        }
        Kind::String | Kind::Array | Kind::Number | Kind::Bool => {
            return json(c.skip()?, line, record, block);
        }
    }
    let (mut members, mut said, mut is_error) = (0, None, false);
    let span = c.object(|key, c| {
        members += 1;
        is_error |= key == b"error" && c.kind()? != Kind::Null;
        said = c.string_or_skip()?;
        Ok(())
    })?;
    if is_error {
        block.outcome = Outcome::Failed;
    }
    match said.filter(|_| members == 1) {
        Some(text) => {
            record.text(text);
            (block.shape, block.content) = (Shape::String, quoted(text));
            Ok(())
        }
        None => json(span, line, record, block),
    }
}

/// Adds a value of another shape, as the model reads it.
fn json(span: Span, line: &[u8], record: &mut Record<'_, '_>, block: &mut Block) -> Parse<()> {
    let read = unescape(span.of(line));
    let read = String::from_utf8_lossy(&read);
    record.text(Text {
        span,
        scalars: read.chars().count() as u32,
        astral: read.chars().filter(|c| c.len_utf16() == 2).count() as u32,
    });
    (block.shape, block.content) = (Shape::Other, span);
    Ok(())
}

/// Marks a result as failed by its exit status. A command's output ends with the status if that is not 0; older versions always
/// wrote it.
pub(in crate::format) fn fail_by_status(result: &mut Block, line: &[u8]) {
    const LAST: usize = 400;
    const STATUS: &[u8] = b"\\nExit Code: ";
    if result.tool.of(line) != SHELL {
        return;
    }
    let raw = result.content.of(line);
    let ends = &raw[raw.len().saturating_sub(LAST)..];
    let Some(at) = memchr::memmem::rfind(ends, STATUS) else {
        return;
    };
    let code = &ends[at + STATUS.len()..];
    if matches!(code, [b'1'..=b'9', ..] | [b'-', ..]) {
        result.outcome = Outcome::Failed;
    }
}
