//! What the shape of a message shows about its format: features that only messages of one kind have, and parts that the
//! readers of the formats would not understand.
//!
//! Looks at keys, roles and types, never at texts. A dialect states what its reader understands; what looks like a text, a
//! call or a result but is not understood is unrecognised.

use crate::format::Format;
use crate::scan::{Cursor, Kind, Parse, Value};

/// A part of a message that the reader of a format may or may not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// The role.
    Role(&'a [u8]),
    /// A key that marks a call or a result.
    CallKey(&'static str),
    /// A block of the content, by its type; empty if it has none.
    Block(&'a [u8]),
    /// A string in a list of blocks.
    BareString,
    /// Content that is an object.
    ObjectContent,
    /// A block `tool_result` whose content is an object.
    ObjectResult,
    /// A fragment of a streamed message.
    Piece,
}

/// What a reader does not understand in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unrecognised<'a> {
    /// The line, by its type.
    Line(&'a [u8]),
    /// A key of a message.
    Key(&'static str),
    /// The role.
    Role(&'a [u8]),
    /// A block of the content, by its type, if it has one.
    Block(&'a [u8]),
    /// A list among the blocks of the content.
    ListInList,
    /// A text block whose text is not a string.
    Text,
    /// Content that is neither a string nor a list.
    Content,
    /// A message without content.
    NoContent,
    /// A parent that is neither an id nor null.
    Parent,
    /// A result whose content is neither of these.
    Result,
    /// `tool_calls` that are not function calls.
    Calls,
    /// A fragment of a streamed message.
    Piece,
}

impl<'a> From<Part<'a>> for Unrecognised<'a> {
    fn from(part: Part<'a>) -> Self {
        match part {
            Part::Role(role) => Unrecognised::Role(role),
            Part::CallKey(key) => Unrecognised::Key(key),
            Part::Block(kind) => Unrecognised::Block(kind),
            Part::BareString => Unrecognised::Block(b"string"),
            Part::ObjectContent => Unrecognised::Content,
            Part::ObjectResult => Unrecognised::Result,
            Part::Piece => Unrecognised::Piece,
        }
    }
}

/// The set of features that distinguish messages of one kind from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Features(u8);

impl Features {
    pub(super) const ANTHROPIC: Features = Features(1);
    pub(super) const OPENAI: Features = Features(2);
    pub(super) const AI_SDK: Features = Features(4);
    /// Pictures and documents as Anthropic writes them.
    pub(super) const PICTURES: Features = Features(8);
    pub(super) const SYSTEM: Features = Features(16);
    /// `"type": "message"`, which items of the Responses API also have.
    pub(super) const ITEM: Features = Features(32);

    pub(super) fn has(self, other: Features) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn insert(&mut self, other: Features) {
        self.0 |= other.0;
    }
}

/// Keys that mark a message as a call or a result; each reader understands some of them.
const CALL_KEYS: [&str; 10] = [
    "tool_calls",
    "tool_call_id",
    "function_call",
    "toolCallId",
    "toolCalls",
    "toolInvocations",
    "functionCall",
    "functionResponse",
    "parts",
    "tool_use_id",
];

/// The indices of those [`CALL_KEYS`] that are OpenAI's, whatever their value.
const OPENAI_CALL_KEYS: std::ops::Range<usize> = 0..3;

/// Keys that mark a block without a type as a call or a result.
const CALLING: [&str; 8] = [
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
    "toolUse",
    "toolResult",
    "tool_use",
    "tool_result",
];

/// Keys of a text block whose strings are not its text. A string under any other key may be.
const NOT_TEXT: [&[u8]; 11] = [
    b"id",
    b"uuid",
    b"name",
    b"lang",
    b"language",
    b"format",
    b"phase",
    b"status",
    b"signature",
    b"textSignature",
    b"thoughtSignature",
];

/// The keys of a block without a type, of formats that write such blocks.
const UNTYPED: [&[u8]; 12] = [
    b"text",
    b"thought",
    b"thoughtSignature",
    b"thought_signature",
    b"inlineData",
    b"inline_data",
    b"fileData",
    b"file_data",
    b"executableCode",
    b"codeExecutionResult",
    b"videoMetadata",
    b"partMetadata",
];

/// The index of a key among some that mark calls and results. All of them begin with one of three letters, few others do.
#[inline]
fn position(marks: &[&str], key: &[u8]) -> Option<usize> {
    if !matches!(key.first(), Some(b'f' | b'p' | b't')) {
        return None;
    }
    marks.iter().position(|mark| mark.as_bytes() == key)
}

/// Whether a type names a call or a result.
pub(in crate::format) fn is_call(kind: &[u8]) -> bool {
    // Types are short, and preparing a search would take longer than this one.
    let has = |part: &[u8]| kind.windows(part.len()).any(|within| within == part);
    has(b"tool") && kind != b"tool_reference"
        || has(b"Tool")
        || has(b"function")
        || has(b"_call")
        || kind.ends_with(b"Call")
}

/// What has been read of a message so far.
#[derive(Debug, Default)]
pub(in crate::format) struct MessageShape<'a> {
    pub(in crate::format) role: &'a [u8],
    has_content: bool,
    has_words: bool,
    /// The [`CALL_KEYS`] whose value is not empty, as bits.
    calls: u16,
    has_calls: bool,
    /// The parts of its content that a reader has to understand, without repetitions close to each other.
    content: Vec<Part<'a>>,
    /// A part that no reader understands.
    strange: Option<Unrecognised<'static>>,
    calls_unread: bool,
    is_piece: bool,
    responses: bool,
    features: Features,
}

impl<'a> MessageShape<'a> {
    /// Reads a message object.
    pub(super) fn read(c: &mut Cursor<'a>) -> Parse<Self> {
        let mut shape = MessageShape::default();
        c.object(|key, c| shape.key(key, c))?;
        Ok(shape)
    }

    /// Reads the value of a key of the message.
    pub(super) fn key(&mut self, key: &[u8], c: &mut Cursor<'a>) -> Parse<()> {
        let line = c.line();
        let kind = c.kind()?;
        match (key, kind) {
            (b"role", Kind::String) => self.role = c.string()?.span.of(line),
            // No reader understands a role of such a name, so that the message is refused.
            (b"role", _) => self.role = c.skip()?.of(line),
            (b"content", _) => {
                self.has_content = true;
                self.content.clear();
                self.strange = None;
                match kind {
                    Kind::Array => drop(c.array(|c| self.part(c))?),
                    Kind::Object => {
                        self.content.push(Part::ObjectContent);
                        c.skip()?;
                    }
                    Kind::String | Kind::Number | Kind::Bool | Kind::Null => drop(c.skip()?),
                }
            }
            (b"text", Kind::String) => {
                self.has_words = true;
                c.skip()?;
            }
            (b"delta", Kind::Bool) => self.is_piece = c.is_true()?,
            _ => match position(&CALL_KEYS, key) {
                Some(at) => self.call(at, c)?,
                None => drop(c.skip()?),
            },
        }
        Ok(())
    }

    /// Reads the value of one of [`CALL_KEYS`].
    fn call(&mut self, at: usize, c: &mut Cursor<'a>) -> Parse<()> {
        self.has_calls |= OPENAI_CALL_KEYS.contains(&at);
        let holds = match c.kind()? {
            Kind::Null | Kind::Bool => {
                c.skip()?;
                false
            }
            Kind::Array if CALL_KEYS[at] == "tool_calls" => {
                let mut any = false;
                c.array(|c| {
                    any = true;
                    let is_function = c.kind()? == Kind::Object && calls_a_function(c)?;
                    self.calls_unread |= !is_function;
                    Ok(())
                })?;
                any
            }
            Kind::Array if CALL_KEYS[at] == "parts" => {
                let mut any = false;
                c.array(|c| {
                    any = true;
                    self.part(c)
                })?;
                any
            }
            Kind::Array => {
                let mut any = false;
                c.array(|c| {
                    any = true;
                    c.skip().map(drop)
                })?;
                any
            }
            kind @ (Kind::Object | Kind::String | Kind::Number) => {
                if CALL_KEYS[at] == "parts" {
                    self.strange = Some(Unrecognised::Content);
                }
                self.calls_unread |= match CALL_KEYS[at] {
                    "tool_calls" => true,
                    "function_call" => kind != Kind::Object,
                    _ => false,
                };
                c.skip()?.len > 2
            }
        };
        self.calls |= u16::from(holds) << at;
        Ok(())
    }

    /// Reads one part of the content.
    fn part(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        match c.kind()? {
            Kind::Object => {}
            Kind::String => {
                self.content(Part::BareString);
                return c.skip().map(drop);
            }
            kind @ (Kind::Array | Kind::Number | Kind::Bool | Kind::Null) => {
                if kind == Kind::Array {
                    self.strange = Some(Unrecognised::ListInList);
                }
                return c.skip().map(drop);
            }
        }
        let line = c.line();
        let mut kind: &[u8] = b"";
        let (mut has_words, mut names_media, mut calls) = (false, false, false);
        let (mut is_object, mut says_otherwise) = (false, false);
        let (mut is_strange, mut has_other_words) = (false, false);
        c.object(|key, c| {
            let found = c.kind()?;
            is_strange |= kind.is_empty()
                && key != b"type"
                && !UNTYPED.contains(&key)
                && position(&CALLING, key).is_none();
            match (key, found) {
                (b"type", Kind::String) => {
                    kind = c.string()?.span.of(line);
                    return Ok(());
                }
                (b"text", Kind::String) => has_words = true,
                (b"content", Kind::Object) => (is_object, says_otherwise) = (true, true),
                (b"text", Kind::Object | Kind::Array | Kind::Number | Kind::Bool)
                | (b"content" | b"value", _) => says_otherwise = true,
                (b"image" | b"mediaType" | b"mimeType", _) => names_media = true,
                _ if position(&CALLING, key).is_some() => calls = true,
                (key, Kind::String) => has_other_words |= !NOT_TEXT.contains(&key),
                (_, _) => {}
            }
            c.skip().map(drop)
        })?;
        self.features.insert(match kind {
            b"tool-call" | b"tool-result" | b"reasoning" => Features::AI_SDK,
            b"image" | b"file" if names_media => Features::AI_SDK,
            b"tool_use" | b"tool_result" | b"thinking" | b"redacted_thinking"
            | b"server_tool_use" | b"mcp_tool_use" => Features::ANTHROPIC,
            b"image" | b"document" => Features::PICTURES,
            b"image_url" | b"input_audio" | b"refusal" | b"file" => Features::OPENAI,
            _ => Features::default(),
        });
        self.responses |= matches!(kind, b"input_text" | b"output_text" | b"input_image");
        let is_text = matches!(kind, b"text" | b"input_text" | b"output_text");
        let is_untyped = kind.is_empty() && !is_strange;
        if !has_words && (is_text && has_other_words || (is_text || is_untyped) && says_otherwise) {
            self.strange = Some(Unrecognised::Text);
        }
        if kind.is_empty() && is_strange && !has_words && !calls {
            self.strange = Some(Unrecognised::Block(b""));
        }
        if is_object && kind == b"tool_result" {
            self.content(Part::ObjectResult);
        }
        if has_words || calls || is_call(kind) {
            self.content(Part::Block(kind));
        }
        Ok(())
    }

    fn content(&mut self, part: Part<'a>) {
        /// Messages usually have parts of a few kinds only. For one with very many, searching all of them for each part would be
        /// too slow.
        const LATEST: usize = 16;
        if !self.content.iter().rev().take(LATEST).any(|p| *p == part) {
            self.content.push(part);
        }
    }

    /// Whether this is a message: a role with content, text or a call.
    pub(in crate::format) fn is_message(&self) -> bool {
        !self.role.is_empty()
            && (self.has_content || self.has_words || self.has_calls || self.calls != 0)
    }

    /// Whether it has content of any kind.
    pub(in crate::format) fn has_content(&self) -> bool {
        self.has_content
    }

    /// Whether it is written as in the Responses API.
    pub(in crate::format) fn is_item(&self) -> bool {
        self.responses
    }

    /// Whether it has this key, with a value that is not empty.
    pub(in crate::format) fn has(&self, key: &str) -> bool {
        let at = CALL_KEYS.iter().position(|name| *name == key);
        at.is_some_and(|at| self.calls >> at & 1 == 1)
    }

    /// Whether it is a user's message without content, text or call.
    fn lacks_content(&self) -> bool {
        self.role == b"user" && !self.has_content && !self.has_words && self.calls == 0
    }

    /// What the reader of a format does not understand in it.
    pub(in crate::format) fn unrecognised(&self, format: Format) -> Option<Unrecognised<'a>> {
        let dialect = format.dialect();
        let understands = |part| dialect.understands(part);
        let calls = CALL_KEYS.iter().zip(0..);
        let mut calls = calls.filter(|(_, at)| self.calls >> at & 1 == 1);
        let strange = calls.find(|(key, _)| !understands(Part::CallKey(key)));
        if !self.role.is_empty() && !understands(Part::Role(self.role)) {
            Some(Unrecognised::Role(self.role))
        } else if let Some((key, _)) = strange {
            Some(Unrecognised::Key(key))
        } else if self.calls_unread && understands(Part::CallKey(CALL_KEYS[0])) {
            Some(Unrecognised::Calls)
        } else if self.lacks_content() {
            Some(Unrecognised::NoContent)
        } else if self.has_words && !self.has_content {
            Some(Unrecognised::Key("text"))
        } else if self.is_piece && !understands(Part::Piece) {
            Some(Unrecognised::Piece)
        } else if let Some(strange) = self.strange {
            Some(strange)
        } else {
            let mut content = self.content.iter().copied();
            content
                .find(|part| !understands(*part))
                .map(Unrecognised::from)
        }
    }

    /// Its features, once all of it has been read.
    pub(super) fn features(&self) -> Features {
        let mut features = self.features;
        let is_result = matches!(self.role, b"tool" | b"function");
        if self.has_calls || is_result && !features.has(Features::AI_SDK) {
            features.insert(Features::OPENAI);
        }
        if matches!(self.role, b"system" | b"developer") {
            features.insert(Features::SYSTEM);
        }
        features
    }
}

/// Whether an element of `tool_calls` is written as in the API.
fn calls_a_function(c: &mut Cursor<'_>) -> Parse<bool> {
    let called = c.fields(["function", "custom"])?;
    Ok(called.map(Value::kind).contains(&Some(Kind::Object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_of_a_call_is_found() {
        for marks in [&CALL_KEYS[..], &CALLING[..]] {
            for (number, mark) in marks.iter().enumerate() {
                assert_eq!(position(marks, mark.as_bytes()), Some(number), "{mark}");
            }
        }
    }

    #[test]
    fn a_part_is_looked_for_among_the_latest_only() {
        let parts = |kinds: usize| {
            let parts = (0..4 * kinds).map(|n| format!(r#"{{"type":"tool{}"}}"#, n % kinds));
            let parts: Vec<String> = parts.collect();
            let message = format!(r#"{{"role":"user","content":[{}]}}"#, parts.join(","));
            let shape = MessageShape::read(&mut Cursor::new(message.as_bytes())).ok();
            shape.map(|shape| shape.content.len())
        };
        assert_eq!(parts(3), Some(3));
        assert_eq!(parts(100), Some(400));
    }
}
