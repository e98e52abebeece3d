//! Anthropic's content blocks, which several formats use.

use crate::format::detect::Part;
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{Block, BlockKind, Outcome, Record, Shape, Source};

/// Reads a message's `content` and adds its blocks; returns the value's span.
pub(in crate::format) fn content(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Span> {
    match c.kind()? {
        Kind::String => words(c, record),
        Kind::Array => c.array(|c| match c.kind()? {
            Kind::Object => block(c, record),
            Kind::String => words(c, record).map(drop),
            Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
                let texts = record.text_mark();
                record.block(Block::whole(BlockKind::Other, c.skip()?), texts);
                Ok(())
            }
        }),
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => c.skip(),
    }
}

/// Adds a plain string as a text block; returns its span with the quotes.
pub(in crate::format) fn words(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Span> {
    let text = c.string()?;
    said(record, BlockKind::Text, text);
    Ok(quoted(text))
}

/// Adds a plain string as a block.
pub(in crate::format) fn said(record: &mut Record<'_, '_>, kind: BlockKind, text: Text) {
    let texts = record.text_mark();
    record.text(text);
    record.block(Block::bare(kind, quoted(text)), texts);
}

/// Reads a message's content that is not a list; a string becomes a text block.
pub(in crate::format) fn unlisted(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
) -> Parse<Content> {
    let texts = record.text_mark();
    let content = result_content(c, record)?;
    if content.shape == Shape::String {
        record.block(Block::bare(BlockKind::Text, content.span), texts);
    }
    Ok(content)
}

/// The span of a string with its quotes.
pub(in crate::format) fn quoted(text: Text) -> Span {
    Span {
        start: text.span.start - 1,
        len: text.span.len + 2,
    }
}

/// Reads one block. Its `type` may be its last key, so all keys are read before the kind of the block is decided.
fn block(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    let line = c.line();
    let texts = record.text_mark();
    let mut kind = Span::default();
    let (mut id, mut answers, mut name) = (Span::default(), Span::default(), Span::default());
    let (mut text, mut thinking, mut input) = (None, None, None);
    let (mut content, mut document) = (None, None);
    let mut outcome = Outcome::Fine;
    let value = c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"id" => id = c.string_span()?,
            b"tool_use_id" => answers = c.string_span()?,
            b"name" => name = c.string_span()?,
            b"text" => text = c.string_or_skip()?,
            b"thinking" => thinking = c.string_or_skip()?,
            b"input" => input = Some(c.skip()?),
            b"source" => document = plain_text(c)?,
            b"content" => {
                record.forget_texts(texts);
                content = Some(result_content(c, record)?);
            }
            b"is_error" => {
                outcome = if c.is_true()? {
                    Outcome::Failed
                } else {
                    Outcome::Fine
                }
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let mut block = match kind.of(line) {
        b"text" => Block::new(BlockKind::Text),
        b"thinking" => Block::new(BlockKind::Thinking),
        b"redacted_thinking" => Block::new(BlockKind::Redacted),
        b"image" => Block::new(BlockKind::Image),
        b"document" => Block::new(BlockKind::Document),
        b"tool_use" => Block::new(BlockKind::Call),
        b"tool_result" => Block::new(BlockKind::Result),
        b"server_tool_use" | b"mcp_tool_use" => Block::new(BlockKind::Server),
        other if other.ends_with(b"_tool_result") => Block::new(BlockKind::Server),
        _ => Block::new(BlockKind::Other),
    };
    block.value = value;
    block.content = if block.kind == BlockKind::Result {
        Span::default()
    } else {
        value
    };
    match block.kind {
        BlockKind::Text | BlockKind::Thinking => {
            record.forget_texts(texts);
            if let Some(text) = if block.kind == BlockKind::Text {
                text
            } else {
                thinking
            } {
                record.text(text);
                block.shape = Shape::String;
                block.content = quoted(text);
            }
        }
        BlockKind::Call => {
            record.forget_texts(texts);
            (block.call_id, block.tool) = (id, name);
            block.content = input.unwrap_or_default();
        }
        BlockKind::Result => {
            block.call_id = answers;
            block.outcome = outcome;
            block.take(content);
        }
        BlockKind::Server => {
            record.forget_texts(texts);
            (block.call_id, block.tool) = (if answers.is_empty() { id } else { answers }, name);
        }
        BlockKind::Document => {
            record.forget_texts(texts);
            document.into_iter().for_each(|text| record.text(text));
        }
        BlockKind::Image | BlockKind::Redacted | BlockKind::Attachment | BlockKind::Other => {
            record.forget_texts(texts);
        }
    }
    record.block(block, texts);
    Ok(())
}

/// The text of a plain-text document, from its source.
fn plain_text(c: &mut Cursor<'_>) -> Parse<Option<Text>> {
    let (mut is_text, mut data) = (false, None);
    if c.kind()? != Kind::Object {
        c.skip()?;
        return Ok(None);
    }
    let line = c.line();
    c.object(|key, c| {
        match key {
            b"type" => is_text = c.string_span()?.of(line) == b"text",
            b"data" => data = c.string_or_skip()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(data.filter(|_| is_text))
}

/// A result's content: where it is, how it is written, and how many of its parts are not text.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct Content {
    pub(in crate::format) span: Span,
    pub(in crate::format) shape: Shape,
    pub(in crate::format) images: u8,
    pub(in crate::format) documents: u8,
    pub(in crate::format) others: u8,
}

impl Content {
    /// Empty content of this shape.
    pub(in crate::format) fn of(shape: Shape) -> Self {
        Content {
            span: Span::default(),
            shape,
            images: 0,
            documents: 0,
            others: 0,
        }
    }

    /// Counts a part that is not text.
    pub(in crate::format) fn count(&mut self, kind: BlockKind) {
        let count = match kind {
            BlockKind::Text => return,
            BlockKind::Image => &mut self.images,
            BlockKind::Document => &mut self.documents,
            BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Call
            | BlockKind::Result
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => &mut self.others,
        };
        *count = count.saturating_add(1);
    }
}

/// Reads a result's content, string or list of parts, and adds its texts.
pub(in crate::format) fn result_content(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
) -> Parse<Content> {
    let mut content = Content::of(Shape::Absent);
    match c.kind()? {
        Kind::String => {
            let text = c.string()?;
            record.text(text);
            content.span = quoted(text);
            content.shape = Shape::String;
        }
        Kind::Array => {
            content.shape = Shape::List;
            content.span = c.array(|c| {
                content.count(part(c, record)?);
                Ok(())
            })?;
        }
        Kind::Null => content.span = c.skip()?,
        Kind::Object | Kind::Number | Kind::Bool => {
            content.shape = Shape::Other;
            content.span = c.skip()?;
        }
    }
    Ok(content)
}

/// Reads one part of a content list, as Anthropic or OpenAI writes it, and adds its text to the record.
pub(in crate::format) fn part(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<BlockKind> {
    match c.kind()? {
        Kind::Object => {}
        Kind::String => {
            let text = c.string()?;
            record.text(text);
            return Ok(BlockKind::Text);
        }
        Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            return c.skip().map(|_| BlockKind::Other);
        }
    }
    Ok(match kind_and_words(c)? {
        (b"text" | b"refusal" | b"input_text" | b"output_text", Some(text)) => {
            record.text(text);
            BlockKind::Text
        }
        (b"image" | b"image_url" | b"input_image", _) => BlockKind::Image,
        (b"document" | b"file", _) => BlockKind::Document,
        _ => BlockKind::Other,
    })
}

/// The `type` of a part that is an object, and its text.
pub(in crate::format) fn kind_and_words<'a>(c: &mut Cursor<'a>) -> Parse<(&'a [u8], Option<Text>)> {
    let (mut kind, mut words) = (Span::default(), None);
    c.object(|key, c| {
        match key {
            b"type" => kind = c.string_span()?,
            b"text" | b"refusal" => words = c.string_or_skip()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok((kind.of(c.line()), words))
}

impl Block {
    /// A block that has a value and no other fields.
    pub(in crate::format) fn whole(kind: BlockKind, value: Span) -> Self {
        Block {
            value,
            content: value,
            ..Block::new(kind)
        }
    }

    /// A block that is a string; `value` is its span with the quotes.
    pub(in crate::format) fn bare(kind: BlockKind, value: Span) -> Self {
        Block {
            shape: Shape::String,
            ..Block::whole(kind, value)
        }
    }

    /// Sets the block's content to a result's content.
    pub(in crate::format) fn take(&mut self, content: Option<Content>) {
        let Some(content) = content else { return };
        self.shape = content.shape;
        self.content = content.span;
        (self.images, self.documents, self.others) =
            (content.images, content.documents, content.others);
    }
}

/// Whether a message begins with an echo or a reminder that the agent wrote rather than a person.
///
/// The list contains Claude Code's wrappers; other agents have adopted them. Who only mentions one does not close it, or goes on
/// behind it: what follows is a person's then.
pub(in crate::format) fn is_echo(first_text: &[u8]) -> bool {
    /// The agent has a sentence behind it.
    const NOTIFICATION: &[u8] = b"task-notification>";
    /// With nothing behind them but further elements.
    const WRAPPERS: [&[u8]; 7] = [
        b"command-name>",
        b"command-message>",
        b"system-reminder>",
        b"local-command-",
        b"bash-input>",
        b"bash-stdout>",
        b"bash-stderr>",
    ];
    const CAVEAT: &[u8] =
        b"Caveat: The messages below were generated by the user while running local commands";
    let words = after_blanks(first_text);
    let begins = |wrapper: &&[u8]| {
        words
            .strip_prefix(b"<")
            .is_some_and(|tag| tag.starts_with(wrapper))
    };
    begins(&NOTIFICATION) && after_element(words).is_some()
        || WRAPPERS.iter().any(begins) && is_all_elements(words)
        || words.starts_with(CAVEAT)
}

/// A text, as it stands in JSON, after the blanks and line breaks that it begins with.
fn after_blanks(text: &[u8]) -> &[u8] {
    let mut rest = text.trim_ascii_start();
    while let Some(after) = rest
        .strip_prefix(b"\\n")
        .or_else(|| rest.strip_prefix(b"\\r"))
    {
        rest = after.trim_ascii_start();
    }
    rest
}

/// Whether a text, as it stands in JSON, consists of elements.
fn is_all_elements(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(after) = after_element(rest) {
        rest = after_blanks(after);
    }
    rest.is_empty()
}

/// The rest of a text that begins with an element, as it stands in JSON.
fn after_element(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"<")?;
    let name = &inside[..memchr::memchr2(b'>', b' ', inside)?];
    let end = [name, b">"].concat();
    let mut ends = memchr::memmem::find_iter(inside, &end);
    let at = ends.find(|at| inside[..*at].ends_with(b"</") || inside[..*at].ends_with(b"<\\/"))?;
    Some(&inside[at + end.len()..])
}

/// Who wrote a message, judged by how it begins.
pub(in crate::format) fn source(first_text: Option<&[u8]>) -> Source {
    if first_text.is_some_and(is_echo) {
        Source::Injected
    } else {
        Source::Own
    }
}

/// Whether this module reads a part of a message.
pub(in crate::format) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"assistant" | b"system" | b"developer"),
        Part::Block(kind) => {
            matches!(
                kind,
                b"text"
                    | b"thinking"
                    | b"redacted_thinking"
                    | b"image"
                    | b"document"
                    | b"tool_use"
                    | b"tool_result"
                    | b"server_tool_use"
                    | b"mcp_tool_use"
            ) || kind.ends_with(b"_tool_result")
        }
        Part::BareString => true,
        Part::CallKey(_) | Part::ObjectContent | Part::ObjectResult | Part::Piece => false,
    }
}
