//! Reads the data of the events that a model sees, and of those that record working folders and compactions.
//!
//! The agent sends its own version of a user message, in which the user's words are between a date and reminders: the words are one
//! text, the parts around them another. Reasoning is not read: the agent does not send it again.

use crate::format::shapes::blocks::{self, quoted};
use crate::scan::{Cursor, Kind, Parse, Span, Text, Value};
use crate::transcript::{
    Author, Block, BlockKind, Compaction, LineKind, Link, LinkKind, Outcome, Record, Role, Shape,
};

/// The keys of a result whose values repeat it or belong to it, beside the text that a model reads.
const REPEATED: [&[u8]; 5] = [
    b"detailedContent",
    b"contents",
    b"structuredContent",
    b"binaryResultsForLlm",
    b"uiResource",
];

/// A user's message.
pub(super) fn user(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let line = data.line();
    let (mut words, mut sent, mut source, mut parent) = (None, None, Span::default(), None);
    data.object(|key, c| {
        match (key, c.kind()?) {
            (b"content", _) => words = c.string_or_skip()?,
            (b"transformedContent", _) => sent = c.string_or_skip()?,
            (b"source", _) => source = c.string_span()?,
            (b"isAutopilotContinuation", _) => link.is_injected |= c.is_true()?,
            (b"parentToolCallId", Kind::String) => parent = Some(c.string_span()?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    aside(link, parent);
    link.role = Some(Role::User);
    link.is_injected |= !matches!(source.of(line), b"" | b"user") || link.is_sidechain;
    let words = words.filter(|text: &Text| !text.span.is_empty());
    let around = match (words, sent) {
        (Some(words), Some(sent)) => around(words, sent, line),
        (Some(_) | None, _) => None,
    };
    match (words, sent, around) {
        (Some(words), Some(sent), Some(around)) => {
            link.content = quoted(words);
            blocks::said(record, BlockKind::Text, words);
            let texts = record.text_mark();
            let around = around.into_iter().filter(|text| !text.span.is_empty());
            let around: Vec<Text> = around.collect();
            if !around.is_empty() {
                around.into_iter().for_each(|text| record.text(text));
                let mut block = Block::bare(BlockKind::Text, quoted(sent));
                block.author = Author::Program;
                record.block(block, texts);
            }
        }
        (_, Some(only), None) | (Some(only), None, _) => {
            link.content = quoted(only);
            blocks::said(record, BlockKind::Text, only);
        }
        (None, _, _) => {}
    }
    // The text around the words does not tell who wrote them.
    let said = words.filter(|_| around.is_some()).or(sent).or(words);
    link.is_echo = said.is_some_and(|text| blocks::is_echo(text.span.of(line)));
    Ok(LineKind::Message)
}

/// The parts of the sent text before and after the words; `None` if it does not contain them.
fn around(words: Text, sent: Text, line: &[u8]) -> Option<[Text; 2]> {
    let (inner, outer) = (words.span.of(line), sent.span.of(line));
    // After a backslash, its first byte would be part of an escape.
    let is_whole = |at: &usize| {
        let before = outer[..*at].iter().rev();
        before.take_while(|byte| **byte == b'\\').count() % 2 == 0
    };
    let at = memchr::memmem::find_iter(outer, inner).find(is_whole)?;
    let from_words = sent.without_start(line, at);
    let after = sent.without_start(line, at + inner.len());
    let before = Text {
        span: Span {
            len: at as u32,
            ..sent.span
        },
        scalars: sent.scalars - from_words.scalars,
        astral: sent.astral - from_words.astral,
    };
    Some([before, after])
}

/// Handles an event that names the call of its subagent but no agent: the call identifies the subagent just as well.
fn aside(link: &mut Link, parent: Option<Span>) {
    if let Some(parent) = parent
        && !link.is_sidechain
        && !parent.is_empty()
    {
        (link.is_sidechain, link.message) = (true, parent);
    }
}

/// An answer, with its calls.
pub(super) fn answer(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let (mut words, mut requests, mut request, mut parent) = (None, None, Span::default(), None);
    data.object(|key, c| {
        match (key, c.kind()?) {
            (b"content", _) => words = c.string_or_skip()?,
            (b"toolRequests", found) => {
                requests = (found == Kind::Array).then(|| c.clone());
                c.skip()?;
            }
            (b"apiCallId", _) => request = c.string_span()?,
            (b"parentToolCallId", Kind::String) => parent = Some(c.string_span()?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    aside(link, parent);
    link.role = Some(Role::Assistant);
    if !link.is_sidechain {
        link.message = request;
    }
    if let Some(words) = words.filter(|text: &Text| !text.span.is_empty()) {
        blocks::said(record, BlockKind::Text, words);
    }
    if let Some(mut requests) = requests {
        link.content = requests.array(|c| call(c, record))?;
    }
    Ok(LineKind::Message)
}

/// One call.
fn call(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let texts = record.text_mark();
    if c.kind()? != Kind::Object {
        record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
        return Ok(());
    }
    let mut block = Block::new(BlockKind::Call);
    let mut patch = None;
    block.value = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"toolCallId", _) => block.call_id = c.string_span()?,
            (b"name", _) => block.tool = c.string_span()?,
            (b"arguments", Kind::String) => {
                let text = c.string()?;
                (block.shape, block.content) = (Shape::String, quoted(text));
                patch = Some(text);
            }
            (b"arguments", _) => {
                (block.shape, block.content) = (Shape::Absent, c.skip()?);
                patch = None;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    if let Some(text) = patch {
        record.text(text);
    }
    record.block(block, texts);
    Ok(())
}

/// The result of a call, or of a command that the user ran.
pub(super) fn result(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let (mut said, mut error, mut repeated) = (None, None, Vec::new());
    let (mut parent, mut by_user, mut pictures) = (None, false, 0u8);
    let mut has_failed = false;
    let mut block = Block::new(BlockKind::Result);
    data.object(|key, c| {
        match (key, c.kind()?) {
            (b"toolCallId", _) => block.call_id = c.string_span()?,
            (b"success", _) => {
                block.outcome = if c.is_true()? {
                    Outcome::Fine
                } else {
                    Outcome::Failed
                }
            }
            (b"isUserRequested", _) => by_user = c.is_true()?,
            (b"shellExecution", Kind::Object) => {
                // The call counts as successful whenever the command has ended, whatever its exit code.
                let [status] = c.fields(["exitCode"])?;
                has_failed = !matches!(status.raw(), b"" | b"0" | b"null");
            }
            (b"parentToolCallId", Kind::String) => parent = Some(c.string_span()?),
            (b"result", Kind::Object) => {
                (said, pictures) = (None, 0);
                repeated.clear();
                c.object(|key, c| {
                    match (key, c.kind()?) {
                        (b"content", _) => said = c.string_or_skip()?,
                        (key, _) if REPEATED.contains(&key) => {
                            let value = c.skip()?;
                            if key == b"binaryResultsForLlm" {
                                pictures = count(c.line(), value);
                            }
                            repeated.push(value);
                        }
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            (b"error", Kind::Object) => {
                c.object(|key, c| {
                    match (key, c.kind()?) {
                        (b"message", _) => error = c.string_or_skip()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    aside(link, parent);
    link.role = Some(Role::Tool);
    if has_failed {
        block.outcome = Outcome::Failed;
    }
    if by_user {
        // It answers no call of a model.
        (link.role, link.is_injected) = (Some(Role::User), true);
        block.call_id = Span::default();
    }
    let texts = record.text_mark();
    if let Some(text) = said.or(error) {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    (block.value, block.images) = (block.content, pictures);
    link.content = block.content;
    record.block(block, texts);
    for value in repeated {
        record.mirror(value, Span::default());
    }
    Ok(LineKind::Message)
}

/// The number of elements of a list on a line.
fn count(line: &[u8], list: Span) -> u8 {
    let mut number = 0u8;
    Value::part(line, list).elements(|_| number = number.saturating_add(1));
    number
}

/// A message from the agent to the model in the user's name.
pub(super) fn notice(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    link.role = Some(Role::User);
    link.is_injected = true;
    said_under(b"content", data, record, link)
}

/// Makes the text under a key the content of the line.
fn said_under(
    name: &[u8],
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let mut words = None;
    data.object(|key, c| {
        if key == name {
            words = c.string_or_skip()?;
        } else {
            c.skip()?;
        }
        Ok(())
    })?;
    if let Some(words) = words {
        link.content = quoted(words);
        blocks::said(record, BlockKind::Text, words);
    }
    Ok(LineKind::Message)
}

/// The end of a compaction. The agent ignores one that failed or has no summary.
pub(super) fn compaction(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let (mut summary, mut is_done) = (None, false);
    data.object(|key, c| {
        match (key, c.kind()?) {
            (b"summaryContent", _) => summary = c.string_or_skip()?,
            (b"success", _) => is_done = c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let summary = summary.filter(|text: &Text| is_done && !text.span.is_empty());
    let Some(summary) = summary else {
        link.kind = LinkKind::Compaction(Compaction::Unreadable);
        return Ok(LineKind::Control);
    };
    link.kind = LinkKind::Compaction(Compaction::Summary);
    (link.role, link.is_summary) = (Some(Role::User), true);
    link.content = quoted(summary);
    blocks::said(record, BlockKind::Text, summary);
    Ok(LineKind::Message)
}

/// The user started over within the session, possibly with a message.
pub(super) fn cleared(
    data: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    link.is_root = true;
    said_under(b"initialMessage", data, record, link)?;
    if link.content.is_empty() {
        return Ok(LineKind::Control);
    }
    (link.role, link.is_injected) = (Some(Role::User), true);
    Ok(LineKind::Message)
}

/// The working folder that an event names.
pub(super) fn folder(data: &mut Cursor<'_>, link: &mut Link) -> Parse<()> {
    data.object(|key, c| match (key, c.kind()?) {
        (b"cwd", Kind::String) => {
            link.content = c.string_span()?;
            Ok(())
        }
        (b"context", Kind::Object) => {
            let [folder] = c.fields(["cwd"])?;
            link.content = folder.inside().unwrap_or(link.content);
            Ok(())
        }
        _ => c.skip().map(drop),
    })?;
    if !link.content.is_empty() {
        link.kind = LinkKind::Folder;
    }
    Ok(())
}
