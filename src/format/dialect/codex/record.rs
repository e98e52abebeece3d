//! Reads one line of a rollout.

use super::events::event;
use super::{SUMMARY_BEGINS, output, type_of};
use crate::format::shapes::blocks::{
    Content, is_echo, kind_and_words, quoted, result_content, said, unlisted,
};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{
    Block, BlockKind, Compaction, LineKind, Link, LinkKind, Outcome, Record, Role, Shape, Source,
};

/// How the messages begin and end that the agent writes with the user's role. The agent itself asks for both: what has only one of
/// them, a person typed.
const INJECTED: [(&[u8], &[u8]); 11] = [
    (b"# AGENTS.md instructions", b"</INSTRUCTIONS>"),
    (b"<environment_context>", b"</environment_context>"),
    (b"<recommended_plugins>", b"</recommended_plugins>"),
    (b"<user_instructions>", b"</user_instructions>"),
    (b"<skill>", b"</skill>"),
    (b"<user_shell_command>", b"</user_shell_command>"),
    (b"<turn_aborted>", b"</turn_aborted>"),
    (b"<subagent_notification>", b"</subagent_notification>"),
    (b"<hook_prompt", b"</hook_prompt>"),
    (b"<codex_internal_context", b"</codex_internal_context>"),
    (b"<goal_context>", b"</goal_context>"),
];

/// The name of the tool whose calls have a type of their own, which begins with this name.
const LOCAL_SHELL: &[u8] = b"local_shell";

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let whole = c.clone();
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let mut link = Link::default();
    // Only an object with such a key can be an envelope; this search saves a second reading of bare items.
    let mut kind = None;
    if memchr::memmem::find(c.line(), b"\"payload\"").is_some() {
        kind = envelope(c, record, &mut link)?;
    }
    let kind = match kind {
        Some(kind) => kind,
        None => {
            *c = whole;
            record.forget(blocks, texts);
            bare(c, record)?
        }
    };
    record.link(link);
    Ok(kind)
}

/// A line with a payload; `None` for one without.
fn envelope(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<Option<LineKind>> {
    let line = c.line();
    let mut kind: &[u8] = b"";
    let mut is_timed = false;
    let mut payload = None;
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", Kind::String) => kind = c.string()?.span.of(line),
            (b"timestamp", Kind::String) => {
                c.skip()?;
                is_timed = true;
            }
            (b"payload", Kind::Object) => {
                payload = Some(c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let Some(mut inner) = payload else {
        return Ok(None);
    };
    let found = match kind {
        b"response_item" => item(&mut inner, record)?,
        b"event_msg" => event(&mut inner, record, link)?,
        b"compacted" => compacted(&mut inner, record, link, is_timed)?,
        b"session_meta" | b"turn_context" => {
            let [folder] = inner.fields(["cwd"])?;
            if let Some(folder) = folder.inside() {
                link.content = folder;
                link.kind = LinkKind::Folder;
            }
            LineKind::Session
        }
        // The usage of one request, for the agent's own totals.
        b"world_state" | b"token_usage_record" => LineKind::Session,
        _ => LineKind::Unknown,
    };
    c.anomalies.insert(inner.anomalies);
    Ok(Some(found))
}

/// An item without an envelope, a header of the first version, or a state between two items.
fn bare(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    if type_of(c)?.is_empty() {
        c.skip()?;
        return Ok(LineKind::Session);
    }
    item(c, record)
}

/// Reads the line of a compaction. The agent ignores a line without a time or a message.
fn compacted(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
    is_timed: bool,
) -> Parse<LineKind> {
    let blocks = record.block_mark();
    let (mut message, mut history) = (None, None);
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"message", _) => message = c.string_or_skip()?,
            (b"replacement_history", Kind::Array) => {
                history = Some(c.clone());
                c.skip()?;
            }
            (b"replacement_history", _) => {
                history = None;
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    link.kind = LinkKind::Compaction(Compaction::Unreadable);
    let Some(message) = message.filter(|_| is_timed) else {
        return Ok(LineKind::Unknown);
    };
    link.is_summary = true;
    let Some(mut history) = history else {
        link.kind = LinkKind::Compaction(Compaction::UserWords);
        said(record, BlockKind::Text, message);
        let value = quoted(message);
        record.unit(Role::User, value, value, Source::Summary, blocks);
        return Ok(LineKind::Message);
    };
    link.kind = LinkKind::Compaction(Compaction::Replacement);
    link.content = quoted(message);
    let (mut items, mut opaque) = (0, 0);
    let mut last = Found::Nothing;
    history.array(|c| {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        last = read_item(c, record)?;
        items += 1;
        opaque += usize::from(last == Found::Opaque);
        Ok(())
    })?;
    c.anomalies.insert(history.anomalies);
    // A single message that replaces all others is their summary.
    link.is_summary = items == opaque + 1 && last == Found::User;
    Ok(LineKind::Message)
}

/// The role of an item in the conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A message with the user's role.
    User,
    /// An earlier compaction, encrypted so that only the provider can read it.
    Opaque,
    /// Another part of the conversation.
    Part,
    /// Context that the agent sends to a model repeatedly.
    Context,
    /// Not a known part of the conversation.
    Nothing,
}

fn item(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    Ok(match read_item(c, record)? {
        Found::User | Found::Opaque | Found::Part => LineKind::Message,
        Found::Context => LineKind::Session,
        Found::Nothing => LineKind::Unknown,
    })
}

/// The values of the keys of an item that are needed; its texts are in the record.
#[derive(Default)]
struct Fields<'a> {
    object: Span,
    kind: Span,
    role: &'a [u8],
    name: Span,
    id: Span,
    call: Span,
    content: Option<Content>,
    input: Option<Content>,
    output: Option<Output>,
    action: Span,
}

/// A tool's output.
#[derive(Clone, Copy)]
struct Output {
    content: Content,
    header: u32,
    outcome: Outcome,
}

/// Reads one item of the Responses API; an item that is part of the conversation becomes a unit.
fn read_item(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Found> {
    let line = c.line();
    let kind = type_of(c)?;
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let read = fields(c, record, kind)?;
    let object = read.object;
    let (block, role) = match kind {
        b"message" | b"agent_message" => {
            let words = record.first_words(blocks, line).unwrap_or_default();
            let content = read.content.map(|c| c.span).unwrap_or_default();
            return Ok(match spoken(kind, read.role, words) {
                (Some(role), source, found) => {
                    record.unit(role, object, content, source, blocks);
                    found
                }
                (None, _, found) => {
                    record.forget(blocks, texts);
                    found
                }
            });
        }
        b"reasoning" => (read.block(BlockKind::Thinking), Role::Assistant),
        b"function_call" | b"custom_tool_call" => (read.function_call(), Role::Assistant),
        b"local_shell_call" => (read.shell_call(), Role::Assistant),
        b"function_call_output" | b"custom_tool_call_output" => {
            let Some(output) = read.output.filter(|o| o.content.shape != Shape::Other) else {
                // The agent ignores it.
                record.forget(blocks, texts);
                return Ok(Found::Nothing);
            };
            if read.call.is_empty() && !read.name.is_empty() {
                // It answers no call: the agent adds context in the form of an output, such as its current goal.
                let mut block = Block::bare(BlockKind::Text, output.content.span);
                block.take(Some(output.content));
                let content = block.content;
                record.block(block, texts);
                record.unit(Role::User, object, content, Source::Injected, blocks);
                return Ok(Found::Part);
            }
            (read.result(output), Role::Tool)
        }
        b"web_search_call"
        | b"image_generation_call"
        | b"tool_search_call"
        | b"tool_search_output" => {
            let mut block = read.block(BlockKind::Server);
            (block.call_id, block.tool) = (read.call, read.kind);
            (block, Role::Assistant)
        }
        b"compaction" | b"compaction_summary" | b"context_compaction" => {
            (read.block(BlockKind::Other), Role::System)
        }
        _ => {
            record.forget(blocks, texts);
            return Ok(Found::Nothing);
        }
    };
    let content = block.content;
    record.block(block, texts);
    record.unit(role, object, content, Source::Own, blocks);
    Ok(if role == Role::System {
        Found::Opaque
    } else {
        Found::Part
    })
}

/// Reads the values of an item of this kind; its texts go to the record.
fn fields<'a>(c: &mut Cursor<'a>, record: &mut Record<'_, '_>, kind: &[u8]) -> Parse<Fields<'a>> {
    let line = c.line();
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let mut read = Fields::default();
    read.object = c.object(|key, c| {
        match (key, kind) {
            (b"type", _) => read.kind = c.string_span()?,
            (b"role", _) => read.role = c.string_span()?.of(line),
            (b"name", _) => read.name = c.string_span()?,
            (b"id", _) => read.id = c.string_span()?,
            (b"call_id", _) => read.call = c.string_span()?,
            (b"content", b"message" | b"agent_message") => {
                record.forget(blocks, texts);
                read.content = Some(message(c, record)?);
            }
            (b"summary" | b"content", b"reasoning") => thoughts(c, record)?,
            (b"arguments", b"function_call") | (b"input", b"custom_tool_call") => {
                record.forget_texts(texts);
                read.input = Some(result_content(c, record)?);
            }
            (b"output", b"function_call_output" | b"custom_tool_call_output") => {
                record.forget_texts(texts);
                read.output = Some(result(c, record)?);
            }
            (b"action", b"local_shell_call") => read.action = c.skip()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

impl Fields<'_> {
    /// A block that is the whole item.
    fn block(&self, kind: BlockKind) -> Block {
        let mut block = Block::new(kind);
        (block.value, block.content) = (self.object, self.object);
        block
    }

    fn function_call(&self) -> Block {
        let mut block = self.block(BlockKind::Call);
        (block.call_id, block.tool) = (self.call, self.name);
        block.content = Span::default();
        block.take(self.input);
        block
    }

    fn shell_call(&self) -> Block {
        let mut block = self.block(BlockKind::Call);
        block.call_id = match self.call.is_empty() {
            true => self.id,
            false => self.call,
        };
        block.tool = Span {
            len: LOCAL_SHELL.len() as u32,
            ..self.kind
        };
        (block.content, block.shape) = (self.action, Shape::Other);
        block
    }

    fn result(&self, output: Output) -> Block {
        let mut block = self.block(BlockKind::Result);
        block.call_id = self.call;
        block.take(Some(output.content));
        block.value = block.content;
        (block.header, block.outcome) = (output.header, output.outcome);
        block
    }
}

/// A text as it stands in JSON, without the blanks and line breaks around it.
fn without_breaks(words: &[u8]) -> &[u8] {
    let mut bare = words.trim_ascii();
    while let Some(rest) = bare.strip_prefix(b"\\n") {
        bare = rest.trim_ascii_start();
    }
    while let Some(rest) = bare.strip_suffix(b"\\n") {
        bare = rest.trim_ascii_end();
    }
    bare
}

/// The role, the source and the kind of a message that begins with `words`.
fn spoken(kind: &[u8], role: &[u8], words: &[u8]) -> (Option<Role>, Source, Found) {
    match (kind, role) {
        // A message from another agent.
        (b"agent_message", _) => (Some(Role::User), Source::Injected, Found::Part),
        (_, b"user") => {
            let bare = without_breaks(words);
            let is_it =
                |(begin, end): &(&[u8], &[u8])| bare.starts_with(begin) && bare.ends_with(end);
            let is_injected = INJECTED.iter().any(is_it);
            let source = if is_injected || is_echo(words) {
                Source::Injected
            } else if bare.starts_with(SUMMARY_BEGINS.as_bytes()) {
                Source::Summary
            } else {
                Source::Own
            };
            (Some(Role::User), source, Found::User)
        }
        (_, b"assistant") => (Some(Role::Assistant), Source::Own, Found::Part),
        (_, b"developer" | b"system") => (None, Source::Own, Found::Context),
        (_, _) => (None, Source::Own, Found::Nothing),
    }
}

/// The content of a message: one block per part. A list with a single text is equivalent to a plain string.
fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Content> {
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    if c.kind()? != Kind::Array {
        return unlisted(c, record);
    }
    let mut only = None;
    let mut count = 0;
    let mut content = Content::of(Shape::Parts);
    content.span = c.array(|c| {
        let texts = record.text_mark();
        let start = c.place()?;
        let (kind, text) = part(c)?;
        let value = Span::new(start, c.last_end());
        if let Some(text) = text {
            record.text(text);
        }
        count += 1;
        only = text.filter(|_| count == 1);
        record.block(Block::whole(kind, value), texts);
        Ok(())
    })?;
    if let Some(text) = only.filter(|_| count == 1) {
        record.forget_blocks(blocks);
        record.block(Block::bare(BlockKind::Text, quoted(text)), texts);
    }
    Ok(content)
}

/// The output of a tool: a string, or a list of parts.
fn result(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Output> {
    let line = c.line();
    let mut output = Output {
        content: Content::of(Shape::Other),
        header: 0,
        outcome: Outcome::Fine,
    };
    match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            let raw = text.span.of(line);
            let header = output::header(raw);
            output.outcome = output::outcome(raw, header);
            output.header = header as u32;
            record.text(output::body(text, line, header));
            output.content.shape = Shape::String;
            output.content.span = quoted(text);
        }
        Kind::Array => {
            output.content.shape = Shape::Parts;
            output.content.span = c.array(|c| {
                let (kind, text) = part(c)?;
                if let Some(text) = text {
                    record.text(text);
                }
                output.content.count(kind);
                Ok(())
            })?;
        }
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => drop(c.skip()?),
    }
    Ok(output)
}

/// The texts of a list of reasoning parts.
fn thoughts(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    if c.kind()? != Kind::Array {
        return c.skip().map(drop);
    }
    c.array(|c| {
        if let (_, Some(text)) = part(c)? {
            record.text(text);
        }
        Ok(())
    })
    .map(drop)
}

/// One part of a list, and its text.
fn part(c: &mut Cursor<'_>) -> Parse<(BlockKind, Option<Text>)> {
    match c.kind()? {
        Kind::Object => {}
        Kind::String => return Ok((BlockKind::Text, Some(c.string()?))),
        Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            return c.skip().map(|_| (BlockKind::Other, None));
        }
    }
    Ok(match kind_and_words(c)? {
        (
            b"input_text" | b"output_text" | b"text" | b"summary_text" | b"reasoning_text"
            | b"refusal",
            Some(text),
        ) => (BlockKind::Text, Some(text)),
        (b"input_image" | b"image" | b"image_url", _) => (BlockKind::Image, None),
        (b"input_file" | b"file" | b"document", _) => (BlockKind::Document, None),
        _ => (BlockKind::Other, None),
    })
}
