//! Reads the parts of a message: texts, thoughts, files, calls with their results.
//!
//! A result that the agent pruned (`time.compacted`) is sent without its output. `metadata` repeats outputs for a viewer. Text
//! files that the user attached are sent as texts of their own, so the file part itself is not. Never decides what is live.

use crate::format::shapes::blocks::{quoted, said};
use crate::scan::{Anomalies, Cursor, Kind, Parse, Span, Text};
use crate::transcript::{Author, Block, BlockKind, Outcome, Record, Role, Shape};

/// The tool whose metadata say how a command ended.
const SHELL: &[u8] = b"bash";

/// What was found in the parts of a message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    /// The list.
    pub(super) span: Span,
    /// Whether there are parts other than thoughts and the start of a step.
    pub(super) says: bool,
    /// If a part is a compaction, the id of the first message that it keeps, which may be empty.
    pub(super) compaction: Option<Span>,
    /// Whether the agent added all of the texts.
    pub(super) only_added: bool,
}

/// The parts at the cursor.
pub(super) fn parts(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, role: Role) -> Parse<Parts> {
    let mut parts = Parts::default();
    let (mut added, mut own) = (0, 0);
    let span = c.array(|c| {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        let one = fields(c)?;
        let line = c.line();
        let kind = one.kind.of(line);
        parts.says |= !matches!(kind, b"step-start" | b"reasoning");
        match (kind, role) {
            (b"text", _) => {
                let is_unsent = one.is_ignored && role == Role::User;
                let said_text = one.text.filter(|text| !text.span.is_empty());
                let Some(text) = said_text.filter(|_| !is_unsent) else {
                    return Ok(());
                };
                match one.is_added {
                    true => added += 1,
                    false => own += 1,
                }
                let texts = record.text_mark();
                record.text(text);
                let mut block = Block::bare(BlockKind::Text, quoted(text));
                if one.is_added {
                    block.author = Author::Program;
                }
                record.block(block, texts);
            }
            (b"reasoning", Role::Assistant) => {
                if let Some(text) = one.text.filter(|text| !text.span.is_empty()) {
                    said(record, BlockKind::Thinking, text);
                }
            }
            (b"file", Role::User) => {
                let mime = one.mime.of(line);
                if !matches!(mime, b"text/plain" | b"application/x-directory") {
                    own += 1;
                    let kind = match mime.starts_with(b"image/") {
                        true => BlockKind::Image,
                        false => BlockKind::Document,
                    };
                    let texts = record.text_mark();
                    record.block(Block::whole(kind, one.value), texts);
                }
            }
            // A command of the user's that runs as a task of its own: the prompt is all that is left of it.
            (b"subtask", Role::User) => {
                if let Some(prompt) = one.prompt.filter(|prompt| !prompt.span.is_empty()) {
                    own += 1;
                    said(record, BlockKind::Text, prompt);
                }
            }
            (b"compaction", Role::User) => parts.compaction = Some(one.tail),
            (b"tool", Role::Assistant) => {
                let read = tool(&one, c, record)?;
                c.anomalies.insert(read);
            }
            _ => {}
        }
        Ok(())
    })?;
    parts.span = span;
    parts.only_added = added > 0 && own == 0;
    Ok(parts)
}

/// The values of the keys of a part.
#[derive(Default)]
struct Fields<'a> {
    value: Span,
    kind: Span,
    text: Option<Text>,
    prompt: Option<Text>,
    is_added: bool,
    is_ignored: bool,
    mime: Span,
    tail: Span,
    tool: Span,
    call: Span,
    state: Option<Cursor<'a>>,
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let mut read = Fields::default();
    read.value = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => read.kind = c.string_span()?,
            (b"text", _) => read.text = c.string_or_skip()?,
            (b"prompt", _) => read.prompt = c.string_or_skip()?,
            (b"synthetic", _) => read.is_added = c.is_true()?,
            (b"ignored", _) => read.is_ignored = c.is_true()?,
            (b"mime", _) => read.mime = c.string_span()?,
            (b"tail_start_id", _) => read.tail = c.string_span()?,
            (b"tool", _) => read.tool = c.string_span()?,
            (b"callID", _) => read.call = c.string_span()?,
            (b"state", Kind::Object) => {
                read.state = Some(c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A call, and its result if it has ended.
fn tool(part: &Fields<'_>, c: &Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Anomalies> {
    let line = c.line();
    let Some(mut at) = part.state.clone() else {
        return Ok(Anomalies::default());
    };
    let (mut status, mut input) = (Span::default(), Span::default());
    let (mut output, mut error, mut is_pruned) = (None, None, false);
    let (mut images, mut documents) = (0u8, 0u8);
    let mut metadata = Metadata::default();
    at.object(|key, c| {
        match (key, c.kind()?) {
            (b"status", _) => status = c.string_span()?,
            (b"input", _) => input = c.skip()?,
            (b"output", _) => output = c.string_or_skip()?,
            (b"error", _) => error = c.string_or_skip()?,
            (b"time", Kind::Object) => {
                c.object(|key, c| {
                    let value = c.skip()?;
                    is_pruned |= key == b"compacted" && !matches!(value.of(line), b"0" | b"null");
                    Ok(())
                })?;
            }
            (b"metadata", Kind::Object) => metadata = self::metadata(c)?,
            (b"attachments", Kind::Array) => {
                c.array(|c| {
                    let mime = if c.kind()? == Kind::Object {
                        fields(c)?.mime
                    } else {
                        c.skip()?
                    };
                    let count = match mime.of(line).starts_with(b"image/") {
                        true => &mut images,
                        false => &mut documents,
                    };
                    *count = count.saturating_add(1);
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let texts = record.text_mark();
    let mut call = Block::new(BlockKind::Call);
    // The part also contains the result, and ids that no model sees.
    call.value = if input.is_empty() { part.call } else { input };
    call.content = input;
    (call.call_id, call.tool) = (part.call, part.tool);
    record.block(call, texts);
    let was_interrupted = metadata.output.filter(|_| metadata.is_interrupted);
    let (said, outcome) = match status.of(line) {
        b"completed" => (output, Outcome::Fine),
        b"error" => (was_interrupted.or(error), Outcome::Failed),
        _ => (None, Outcome::Fine),
    };
    let Some(said) = said else {
        return Ok(at.anomalies);
    };
    let texts = record.text_mark();
    let mut result = Block::new(BlockKind::Result);
    (result.value, result.content) = (quoted(said), quoted(said));
    (result.call_id, result.tool) = (part.call, part.tool);
    (result.shape, result.outcome) = (Shape::String, outcome);
    if metadata.has_failed && part.tool.of(line) == SHELL {
        result.outcome = Outcome::Failed;
    }
    if !is_pruned {
        record.text(said);
        (result.images, result.documents) = (images, documents);
    }
    record.block(result, texts);
    let is_result = status.of(line) == b"error" && was_interrupted.is_some();
    if !metadata.span.is_empty() && !is_result {
        record.mirror(metadata.span, part.call);
    }
    Ok(at.anomalies)
}

/// What a tool recorded for a viewer.
#[derive(Default)]
struct Metadata {
    span: Span,
    output: Option<Text>,
    is_interrupted: bool,
    has_failed: bool,
}

fn metadata(c: &mut Cursor<'_>) -> Parse<Metadata> {
    let line = c.line();
    let mut read = Metadata::default();
    read.span = c.object(|key, c| {
        match key {
            b"output" => read.output = c.string_or_skip()?,
            b"interrupted" => read.is_interrupted = c.is_true()?,
            b"exit" => read.has_failed = !matches!(c.skip()?.of(line), b"0" | b"null"),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}
