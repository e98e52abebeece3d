//! Reads a message, an event of the agent loop that builds an answer, or a copy of a message for another reader.

use crate::format::shapes::blocks::{self, quoted, said};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{
    Answer, Block, BlockKind, LineKind, Link, LinkKind, Outcome, Record, Role, Shape,
};

/// The values of the keys of a message, except its content.
#[derive(Default)]
struct Said<'a> {
    role: &'a [u8],
    content: Option<Cursor<'a>>,
    calls: Option<Cursor<'a>>,
    answers: Span,
    outcome: Option<Outcome>,
    note: Option<Text>,
}

/// A message.
pub(super) fn message(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let line = c.line();
    let mut read = Said::default();
    let mut origin = None;
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"role", _) => read.role = c.string_span()?.of(line),
            (b"id", _) => link.id = c.string_span()?,
            (b"content", _) => {
                read.content = Some(c.clone());
                c.skip()?;
            }
            (b"toolCalls", kind) => {
                read.calls = (kind == Kind::Array).then(|| c.clone());
                c.skip()?;
            }
            (b"toolCallId", _) => read.answers = c.string_span()?,
            (b"isError", _) => read.outcome = Some(outcome(c)?),
            (b"note", _) => read.note = c.string_or_skip()?,
            (b"origin", kind) => {
                origin = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    link.kind = LinkKind::Node;
    link.role = match read.role {
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        b"tool" => Some(Role::Tool),
        b"system" => Some(Role::System),
        _ => None,
    };
    if link.role == Some(Role::Tool) {
        let mut block = Block::new(BlockKind::Result);
        (block.call_id, block.outcome) = (read.answers, read.outcome.unwrap_or(Outcome::Fine));
        let texts = record.text_mark();
        let content = match &mut read.content {
            Some(at) => Some(blocks::result_content(at, record)?),
            None => None,
        };
        result(record, block, content, texts, read.note);
        link.content = content.map(|content| content.span).unwrap_or_default();
        return Ok(LineKind::Message);
    }
    let start = record.block_mark();
    if let Some(at) = &mut read.content {
        link.content = parts(at, record)?;
        c.anomalies.insert(at.anomalies);
    }
    link.is_echo = record.first_words(start, line).is_some_and(blocks::is_echo);
    if let Some(at) = &mut read.calls {
        let calls = at.array(|c| call(c, record))?;
        if link.content.is_empty() {
            link.content = calls;
        }
    }
    match &mut origin {
        Some(at) => wrote(at, link)?,
        None => link.is_root = link.role == Some(Role::User),
    }
    Ok(LineKind::Message)
}

/// The kinds of origins whose messages the agent writes, or of which it depends on what triggered them.
const OF_AGENT: [&[u8]; 12] = [
    b"skill_activation",
    b"plugin_command",
    b"injection",
    b"shell_command",
    b"compaction_summary",
    b"system_trigger",
    b"background_task",
    b"task",
    b"cron_job",
    b"cron_missed",
    b"hook_result",
    b"retry",
];

/// Who wrote a message, by its origin.
fn wrote(c: &mut Cursor<'_>, link: &mut Link) -> Parse<()> {
    let line = c.line();
    let (mut kind, mut trigger): (&[u8], &[u8]) = (b"", b"");
    let (mut owner, mut is_in_turn) = (Span::default(), false);
    c.object(|key, c| {
        match key {
            b"kind" => kind = c.string_span()?.of(line),
            b"trigger" => trigger = c.string_span()?.of(line),
            b"ownerPromptId" => owner = c.string_span()?,
            b"inTurn" => is_in_turn = c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let by_user = match kind {
        b"user" => true,
        b"skill_activation" | b"plugin_command" => trigger == b"user-slash",
        _ => false,
    };
    // What an origin of an unknown kind has may be the user's words.
    link.is_injected = !by_user && OF_AGENT.contains(&kind);
    link.is_summary = kind == b"compaction_summary";
    link.is_root = by_user && !is_in_turn && link.role == Some(Role::User);
    if kind == b"injection" {
        // Reminders outlive undone turns, unless their prompt is removed.
        (link.parent, link.answer) = (owner, Answer::Uncounted);
    }
    Ok(())
}

/// The content of a message: parts, or a text.
fn parts(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Span> {
    match c.kind()? {
        Kind::String => blocks::words(c, record),
        Kind::Array => c.array(|c| part(c, record)),
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => c.skip(),
    }
}

/// One part of a message.
fn part(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let line = c.line();
    let texts = record.text_mark();
    if c.kind()? != Kind::Object {
        record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
        return Ok(());
    }
    let (mut kind, mut text, mut thought) = (Span::default(), None, None);
    let value = c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"text" => text = c.string_or_skip()?,
            b"think" => thought = c.string_or_skip()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let (kind, text) = match kind.of(line) {
        b"text" => (BlockKind::Text, text),
        b"think" => (BlockKind::Thinking, thought),
        b"image_url" => (BlockKind::Image, None),
        _ => (BlockKind::Other, None),
    };
    let mut block = Block::whole(kind, value);
    if let Some(text) = text {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    record.block(block, texts);
    Ok(())
}

/// A call in the list of a message. The first version wrote its name and arguments one level deeper.
fn call(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let texts = record.text_mark();
    if c.kind()? != Kind::Object {
        record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
        return Ok(());
    }
    let mut block = Block::new(BlockKind::Call);
    let (mut own, mut deeper) = (None, None);
    block.value = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"id", _) => block.call_id = c.string_span()?,
            (b"name", _) => block.tool = c.string_span()?,
            (b"arguments", _) => own = c.string_or_skip()?,
            (b"function", Kind::Object) => {
                c.object(|key, c| {
                    match key {
                        b"name" => block.tool = c.string_span()?,
                        b"arguments" => deeper = c.string_or_skip()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    if let Some(text) = own.or(deeper) {
        record.text(text);
        (block.shape, block.content) = (Shape::String, quoted(text));
    }
    record.block(block, texts);
    Ok(())
}

/// The values of the keys of an event.
#[derive(Default)]
struct Event<'a> {
    kind: Span,
    uuid: Span,
    step: Span,
    call: Span,
    name: Span,
    answer: Span,
    finish: &'a [u8],
    arguments: Span,
    part: Option<Cursor<'a>>,
    result: Option<Cursor<'a>>,
    object: Span,
}

/// An event of the loop: the beginning or end of a step, a part of its answer, a call, or a result.
pub(super) fn event(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let line = c.line();
    let mut read = Event::default();
    read.object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => read.kind = c.string_span()?,
            (b"uuid", _) => read.uuid = c.string_span()?,
            (b"stepUuid", _) => read.step = c.string_span()?,
            (b"toolCallId", _) => read.call = c.string_span()?,
            (b"name", _) => read.name = c.string_span()?,
            (b"messageId", _) => read.answer = c.string_span()?,
            (b"finishReason", _) => read.finish = c.string_span()?.of(line),
            (b"args", _) => read.arguments = c.skip()?,
            (b"part", _) => {
                read.part = Some(c.clone());
                c.skip()?;
            }
            (b"result", kind) => {
                read.result = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    link.message = read.kind;
    link.parent = read.step;
    link.role = Some(Role::Assistant);
    let texts = record.text_mark();
    match (read.kind.of(line), &mut read.part, &mut read.result) {
        (b"step.begin", _, _) => link.id = read.uuid,
        (b"step.end", _, _) => {
            (link.id, link.content) = (read.uuid, read.answer);
            // The agent leaves such a step open until the next one begins.
            if matches!(read.finish, b"interrupted" | b"error") {
                link.answer = Answer::Uncounted;
            }
        }
        (b"content.part", Some(at), _) => {
            part(at, record)?;
            c.anomalies.insert(at.anomalies);
        }
        (b"tool.call", _, _) => {
            let mut block = Block::new(BlockKind::Call);
            (block.call_id, block.tool) = (read.call, read.name);
            (block.value, block.content) = (read.object, read.arguments);
            record.block(block, texts);
        }
        (b"tool.result", _, Some(at)) => {
            let mut block = Block::new(BlockKind::Result);
            block.call_id = read.call;
            let (mut output, mut note) = (None, None);
            at.object(|key, c| {
                match key {
                    b"output" => {
                        record.forget_texts(texts);
                        output = Some(blocks::result_content(c, record)?);
                    }
                    b"isError" => block.outcome = outcome(c)?,
                    b"note" => note = c.string_or_skip()?,
                    _ => drop(c.skip()?),
                }
                Ok(())
            })?;
            c.anomalies.insert(at.anomalies);
            result(record, block, output, texts, note);
            link.role = Some(Role::Tool);
        }
        _ => {
            link.role = None;
            return Ok(LineKind::Unknown);
        }
    }
    link.kind = LinkKind::Node;
    Ok(LineKind::Message)
}

fn outcome(c: &mut Cursor<'_>) -> Parse<Outcome> {
    Ok(match c.is_true()? {
        true => Outcome::Failed,
        false => Outcome::Fine,
    })
}

/// Adds a result, and the agent's remark on it to the model, which stays when the output is replaced.
fn result(
    record: &mut Record<'_, '_>,
    mut block: Block,
    content: Option<blocks::Content>,
    texts: crate::transcript::TextMark,
    note: Option<Text>,
) {
    block.take(content);
    block.value = block.content;
    record.block(block, texts);
    if let Some(note) = note.filter(|note| !note.span.is_empty()) {
        said(record, BlockKind::Text, note);
    }
}

/// A copy of a message: which one it repeats, and its output if that is a result.
pub(super) fn copy(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let line = c.line();
    let (mut role, mut call, mut content): (&[u8], _, _) = (b"", Span::default(), Span::default());
    let [mut answer, mut prompt] = [Span::default(); 2];
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"message", Kind::Object) => {
                c.object(|key, c| {
                    match key {
                        b"role" => role = c.string_span()?.of(line),
                        b"toolCallId" => call = c.string_span()?,
                        b"content" => content = c.skip()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            (b"meta", Kind::Object) => {
                c.object(|key, c| {
                    match key {
                        b"messageId" => answer = c.string_span()?,
                        b"userMessageId" => prompt = c.string_span()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    (link.role, link.content) = match role {
        b"tool" => (Some(Role::Tool), call),
        b"assistant" => (Some(Role::Assistant), answer),
        _ => (Some(Role::User), prompt),
    };
    if link.role == Some(Role::Tool) && !call.is_empty() && !content.is_empty() {
        record.mirror(content, call);
    }
    Ok(LineKind::Mirror)
}
