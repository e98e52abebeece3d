//! Reads one line of a session file.

use crate::format::shapes::blocks::{self, Content, quoted};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{
    Answer, Block, BlockKind, BlockMark, Compaction, LineKind, Link, LinkKind, Outcome, Record,
    Role, Shape, TextMark,
};

/// The values read before the line's `type` was known.
#[derive(Default)]
struct Parts {
    kind: Span,
    summary: Option<Text>,
    content: Option<Content>,
    message: Option<Message>,
    /// For an edit, the id of the edited entry.
    target: Span,
    /// Whether that entry is omitted from now on.
    omits: bool,
    link: Link,
}

/// The values of the keys of a message, except the blocks of its content.
#[derive(Default)]
struct Message {
    role: Span,
    content: Option<Content>,
    answers: Span,
    tool: Span,
    is_error: bool,
    details: Option<Span>,
    stop: Span,
    command: Option<Text>,
    output: Option<Text>,
    summary: Option<Text>,
    is_left_out: bool,
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (start, texts) = (record.block_mark(), record.text_mark());
    let mut parts = Parts::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => parts.kind = c.string_span()?,
            (b"id", _) => parts.link.id = c.string_span()?,
            (b"parentId", _) => parts.link.parent = c.string_span()?,
            (b"summary", _) => parts.summary = c.string_or_skip()?,
            (b"targetId", _) => parts.target = c.string_span()?,
            (b"replacement", kind) => {
                parts.omits = kind == Kind::Null;
                c.skip()?;
            }
            (b"content", Kind::String | Kind::Array) => {
                record.forget(start, texts);
                parts.content = Some(contents(c, record)?);
            }
            (b"message", Kind::Object) => {
                record.forget(start, texts);
                parts.message = Some(message(c, record)?);
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let Parts {
        kind,
        summary,
        content,
        message,
        target,
        omits,
        mut link,
    } = parts;
    link.kind = LinkKind::Node;
    let is_message = message.is_some();
    let line_kind = match kind.of(line) {
        b"message" if is_message => {
            let message = message.unwrap_or_default();
            said(message, line, record, &mut link, (start, texts))
        }
        b"custom_message" if content.is_some() && !is_message => {
            link.role = Some(Role::User);
            link.is_injected = true;
            link.content = content.map(|content| content.span).unwrap_or_default();
            LineKind::Message
        }
        other => {
            record.forget(start, texts);
            match other {
                b"session" => {
                    link = Link::default();
                    LineKind::Session
                }
                b"compaction" => {
                    link.role = Some(Role::User);
                    link.kind = LinkKind::Compaction(Compaction::Summary);
                    link.is_summary = true;
                    words(record, &mut link, summary);
                    LineKind::Message
                }
                b"branch_summary" if summary.is_some_and(|text| !text.span.is_empty()) => {
                    link.role = Some(Role::User);
                    link.is_injected = true;
                    words(record, &mut link, summary);
                    LineKind::Message
                }
                b"context_edit" if omits => {
                    link.message = target;
                    LineKind::Control
                }
                b"model_change"
                | b"thinking_level_change"
                | b"branch_summary"
                | b"custom"
                | b"label"
                | b"leaf"
                | b"session_info" => LineKind::Control,
                _ => LineKind::Unknown,
            }
        }
    };
    record.link(link);
    Ok(line_kind)
}

/// Adds a text that is the only content of a line.
fn words(record: &mut Record<'_, '_>, link: &mut Link, text: Option<Text>) {
    let Some(text) = text else { return };
    link.content = quoted(text);
    blocks::said(record, BlockKind::Text, text);
}

/// The kind of a `message` entry, by its role. The blocks of its content have been added since the marks.
fn said(
    message: Message,
    line: &[u8],
    record: &mut Record<'_, '_>,
    link: &mut Link,
    (start, texts): (BlockMark, TextMark),
) -> LineKind {
    let content = message.content.map(|content| content.span);
    link.content = content.unwrap_or_default();
    match message.role.of(line) {
        b"user" => {
            link.role = Some(Role::User);
            let words = record.first_words(start, line);
            link.is_injected = words.is_some_and(blocks::is_echo);
            LineKind::Message
        }
        b"custom" | b"hookMessage" => {
            link.role = Some(Role::User);
            link.is_injected = true;
            LineKind::Message
        }
        b"assistant" => {
            link.role = Some(Role::Assistant);
            if matches!(message.stop.of(line), b"error" | b"aborted") {
                // Neither the answer nor its calls are sent again.
                link.answer = Answer::Uncounted;
                record.forget(start, texts);
                return LineKind::Control;
            }
            LineKind::Message
        }
        b"toolResult" => {
            link.role = Some(Role::Tool);
            record.forget_blocks(start);
            let mut block = Block::new(BlockKind::Result);
            (block.call_id, block.tool) = (message.answers, message.tool);
            if message.is_error {
                block.outcome = Outcome::Failed;
            }
            block.take(message.content);
            block.value = block.content;
            record.block(block, texts);
            if let Some(details) = message.details {
                record.mirror(details, Span::default());
            }
            LineKind::Message
        }
        b"bashExecution" => {
            link.role = Some(Role::User);
            link.is_injected = true;
            record.forget(start, texts);
            if message.is_left_out {
                return LineKind::Control;
            }
            words(record, link, message.command);
            if let Some(output) = message.output {
                // The output of a command is a result, even if the user ran it.
                let texts = record.text_mark();
                record.text(output);
                let mut block = Block::bare(BlockKind::Result, quoted(output));
                // The tool's name is the beginning of the role.
                block.tool = Span {
                    len: 4,
                    ..message.role
                };
                record.block(block, texts);
            }
            LineKind::Message
        }
        role @ (b"branchSummary" | b"compactionSummary") => {
            link.role = Some(Role::User);
            link.is_injected = true;
            link.is_summary = role == b"compactionSummary";
            record.forget(start, texts);
            words(record, link, message.summary);
            LineKind::Message
        }
        // The agent's own instructions: they configure the session, and the agent itself sends them again.
        b"system" => {
            record.forget(start, texts);
            LineKind::Control
        }
        _ => {
            record.forget(start, texts);
            LineKind::Unknown
        }
    }
}

/// Reads the message of an entry and adds the blocks of its content.
fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Message> {
    let (start, texts) = (record.block_mark(), record.text_mark());
    let mut message = Message::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"role", _) => message.role = c.string_span()?,
            (b"content", _) => {
                record.forget(start, texts);
                message.content = Some(contents(c, record)?);
            }
            (b"toolCallId", _) => message.answers = c.string_span()?,
            (b"toolName", _) => message.tool = c.string_span()?,
            (b"isError", _) => message.is_error = c.is_true()?,
            (b"details", _) => message.details = Some(c.skip()?),
            (b"stopReason", _) => message.stop = c.string_span()?,
            (b"command", _) => message.command = c.string_or_skip()?,
            (b"output", _) => message.output = c.string_or_skip()?,
            (b"summary", _) => message.summary = c.string_or_skip()?,
            (b"excludeFromContext", _) => message.is_left_out = c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(message)
}

/// Reads content, a string or a list, and adds its blocks.
fn contents(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Content> {
    if c.kind()? != Kind::Array {
        return blocks::unlisted(c, record);
    }
    let mut content = Content::of(Shape::List);
    content.span = c.array(|c| {
        content.count(block(c, record)?);
        Ok(())
    })?;
    Ok(content)
}

/// One block of a list. Its `type` may be its last key, so all keys are read before the kind of the block is decided.
fn block(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<BlockKind> {
    let texts = record.text_mark();
    if c.kind()? != Kind::Object {
        record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
        return Ok(BlockKind::Other);
    }
    let line = c.line();
    let mut kind = Span::default();
    let (mut id, mut name, mut arguments) = (Span::default(), Span::default(), None);
    let (mut text, mut thinking) = (None, None);
    let mut is_redacted = false;
    let value = c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"id" => id = c.string_span()?,
            b"name" => name = c.string_span()?,
            b"text" => text = c.string_or_skip()?,
            b"thinking" => thinking = c.string_or_skip()?,
            b"redacted" => is_redacted = c.is_true()?,
            b"arguments" => arguments = Some(c.skip()?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let (kind, says) = match kind.of(line) {
        b"text" => (BlockKind::Text, text),
        b"thinking" if is_redacted => (BlockKind::Redacted, None),
        b"thinking" => (BlockKind::Thinking, thinking),
        b"image" => (BlockKind::Image, None),
        b"toolCall" => (BlockKind::Call, None),
        _ => (BlockKind::Other, None),
    };
    let mut block = Block::whole(kind, value);
    if let Some(text) = says {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    if kind == BlockKind::Call {
        (block.call_id, block.tool) = (id, name);
        block.content = arguments.unwrap_or_default();
    }
    record.block(block, texts);
    Ok(kind)
}
