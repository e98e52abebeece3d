//! Reads one message: `{id, role, content, ts, metadata}`.
//!
//! A message meant only for the user (`displayOnly`) is not sent. Of what the user typed, the agent sends the part inside
//! `<user_input>`. Never decides what is live.

use super::result;
use crate::format::shapes::blocks::{self, quoted};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{
    Block, BlockKind, Compaction, LineKind, Link, LinkKind, Outcome, Record, Role, Shape, Source,
};

/// The kind of a summary.
const SUMMARY: &[u8] = b"compaction_summary";
/// The tag around what the user typed.
const BEGIN: &[u8] = b"<user_input ";
const END: &[u8] = b"</user_input>";

/// What a message's metadata say.
#[derive(Default)]
struct Metadata {
    is_for_display: bool,
    is_summary: bool,
    /// Whether the agent wrote it in the user's name.
    is_added: bool,
}

/// One message.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (mut role, mut id, mut content) = (None, Span::default(), None);
    let mut of = Metadata::default();
    let object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"role", _) => {
                role = match c.string_span()?.of(line) {
                    b"user" => Some(Role::User),
                    b"assistant" => Some(Role::Assistant),
                    _ => None,
                }
            }
            (b"id", _) => id = c.string_span()?,
            (b"content", _) => {
                content = Some(c.clone());
                c.skip()?;
            }
            (b"metadata", Kind::Object) => of = metadata(c)?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let Some(role) = role else {
        return Ok(LineKind::Unknown);
    };
    let mut link = Link {
        id,
        role: Some(role),
        ..Link::default()
    };
    if of.is_for_display {
        record.link(link);
        return Ok(LineKind::Session);
    }
    let start = record.block_mark();
    let mut span = Span::default();
    if let Some(mut at) = content {
        span = self::content(&mut at, record)?;
        c.anomalies.insert(at.anomalies);
    }
    let source = match (of.is_summary, of.is_added) {
        (true, _) => Source::Summary,
        (false, true) => Source::Injected,
        (false, false) => blocks::source(record.first_words(start, line)),
    };
    if of.is_summary {
        link.is_summary = true;
        link.kind = LinkKind::Compaction(Compaction::Summary);
    }
    record.unit(role, object, span, source, start);
    record.link(link);
    Ok(LineKind::Message)
}

fn metadata(c: &mut Cursor<'_>) -> Parse<Metadata> {
    let line = c.line();
    let mut read = Metadata::default();
    c.object(|key, c| {
        match key {
            b"displayOnly" => read.is_for_display = c.is_true()?,
            b"kind" => {
                let kind = c.string_span()?.of(line);
                read.is_summary = kind == SUMMARY;
                read.is_added = !kind.is_empty() && !read.is_summary;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// The content of a message: a text, or a list of blocks.
fn content(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Span> {
    match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            let texts = record.text_mark();
            record.text(typed(text, c.line()));
            record.block(Block::bare(BlockKind::Text, quoted(text)), texts);
            Ok(quoted(text))
        }
        Kind::Array => c.array(|c| match c.kind()? {
            Kind::Object => block(c, record),
            Kind::Array | Kind::String | Kind::Number | Kind::Bool | Kind::Null => {
                c.skip().map(drop)
            }
        }),
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => c.skip(),
    }
}

/// One block. Its `type` may be its last key.
fn block(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let line = c.line();
    let (mut kind, mut id, mut answers) = (Span::default(), Span::default(), Span::default());
    let (mut name, mut input) = (Span::default(), Span::default());
    let (mut text, mut thinking, mut content) = (None, None, None);
    let mut outcome = Outcome::Fine;
    let value = c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"id" => id = c.string_span()?,
            b"tool_use_id" => answers = c.string_span()?,
            b"name" => name = c.string_span()?,
            b"text" => text = c.string_or_skip()?,
            b"thinking" => thinking = c.string_or_skip()?,
            b"input" => input = c.skip()?,
            b"content" => {
                content = Some(c.clone());
                c.skip()?;
            }
            b"is_error" => {
                outcome = match c.is_true()? {
                    true => Outcome::Failed,
                    false => Outcome::Fine,
                }
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let texts = record.text_mark();
    let whole = |kind| Block::whole(kind, value);
    let mut block = match kind.of(line) {
        b"text" => whole(BlockKind::Text),
        b"thinking" => whole(BlockKind::Thinking),
        b"redacted_thinking" => whole(BlockKind::Redacted),
        b"image" | b"media" => whole(BlockKind::Image),
        b"file" => whole(BlockKind::Attachment),
        b"tool_use" => whole(BlockKind::Call),
        b"tool_result" => whole(BlockKind::Result),
        _ => whole(BlockKind::Other),
    };
    let words = text.filter(|_| block.kind == BlockKind::Text);
    let words = words.or(thinking.filter(|_| block.kind == BlockKind::Thinking));
    if let Some(words) = words {
        record.text(typed(words, line));
        (block.shape, block.content) = (Shape::String, quoted(words));
    }
    if block.kind == BlockKind::Call {
        (block.call_id, block.tool, block.content) = (id, name, input);
    }
    if block.kind == BlockKind::Result {
        (block.call_id, block.tool, block.outcome) = (answers, name, outcome);
        block.content = Span::default();
        if let Some(mut at) = content {
            result::content(&mut at, record, &mut block)?;
            c.anomalies.insert(at.anomalies);
        }
    }
    record.block(block, texts);
    Ok(())
}

/// The part of a text that the user typed, without the tag around it.
fn typed(text: Text, line: &[u8]) -> Text {
    let raw = text.span.of(line);
    let opened = memchr::memchr(b'>', raw).map(|at| at + 1);
    let opened = opened.filter(|_| raw.starts_with(BEGIN) && raw.ends_with(END));
    let Some(begin) = opened.filter(|begin| begin + END.len() <= raw.len()) else {
        return text;
    };
    let inner = text.without_start(line, begin);
    let after = text.without_start(line, raw.len() - END.len());
    Text {
        span: Span {
            len: inner.span.len - after.span.len,
            ..inner.span
        },
        scalars: inner.scalars - after.scalars,
        astral: inner.astral - after.astral,
    }
}
