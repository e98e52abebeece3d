//! What a message says about its format: what only messages of one kind have, and what the readers of each way to write
//! a content would not understand.
//!
//! Looks at keys, roles and types, never at words. Each list says what the reader of the same name reads; what looks like
//! words, a call or a result and is in none of them is unread.

use crate::scan::{Cursor, Kind, Parse};

/// Ways to write a message's content, each with a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Anthropic,
    OpenAi,
    AiSdk,
    Responses,
    Pi,
}

impl Dialect {
    pub(super) const ALL: [Dialect; 5] = [
        Dialect::Anthropic,
        Dialect::OpenAi,
        Dialect::AiSdk,
        Dialect::Responses,
        Dialect::Pi,
    ];
}

/// What of a line a reader does not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread<'a> {
    /// The line: by its type.
    Line(&'a [u8]),
    /// A key of a message.
    Key(&'static str),
    /// Who says it.
    Role(&'a [u8]),
    /// A block of its content: by its type, if it has one.
    Block(&'a [u8]),
    /// A content that is neither words nor a list.
    Content,
    /// A result like that.
    Result,
    /// `tool_calls` that hold no functions.
    Calls,
    /// A piece of a message, as it was streamed.
    Piece,
}

/// What only messages of one kind have; a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Features(u8);

impl Features {
    pub(super) const ANTHROPIC: Features = Features(1);
    pub(super) const OPENAI: Features = Features(2);
    pub(super) const AI_SDK: Features = Features(4);
    /// Pictures and documents as Anthropic has them.
    pub(super) const PICTURES: Features = Features(8);
    pub(super) const SYSTEM: Features = Features(16);
    /// `"type": "message"`, which items of the Responses API have, too.
    pub(super) const ITEM: Features = Features(32);

    pub(super) fn has(self, other: Features) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn insert(&mut self, other: Features) {
        self.0 |= other.0;
    }
}

/// Keys that say that a message calls or answers; a reader knows some of them.
const CALL_KEYS: [(&str, Option<Dialect>); 10] = [
    ("tool_calls", Some(Dialect::OpenAi)),
    ("tool_call_id", Some(Dialect::OpenAi)),
    ("function_call", Some(Dialect::OpenAi)),
    ("toolCallId", Some(Dialect::Pi)),
    ("toolCalls", None),
    ("toolInvocations", None),
    ("functionCall", None),
    ("functionResponse", None),
    ("parts", None),
    ("tool_use_id", None),
];

/// Keys of a block without a type that say the same.
const CALLING: [&[u8]; 8] = [
    b"functionCall",
    b"functionResponse",
    b"function_call",
    b"function_response",
    b"toolUse",
    b"toolResult",
    b"tool_use",
    b"tool_result",
];

/// Whether a type names a call or a result.
pub(super) fn is_call(kind: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(kind, part).is_some();
    has(b"tool") && kind != b"tool_reference"
        || has(b"Tool")
        || has(b"function")
        || has(b"_call")
        || kind.ends_with(b"Call")
}

/// A message while it is read.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    pub(super) role: &'a [u8],
    pub(super) has_content: bool,
    has_words: bool,
    /// Of [`CALL_KEYS`], those that hold something.
    calls: u16,
    has_calls: bool,
    content: [Option<Unread<'a>>; Dialect::ALL.len()],
    calls_unread: bool,
    is_piece: bool,
    responses: bool,
    pub(super) features: Features,
}

impl<'a> Said<'a> {
    /// Reads a message object.
    pub(super) fn read(c: &mut Cursor<'a>) -> Parse<Self> {
        let mut said = Said::default();
        c.object(|key, c| said.key(key, c))?;
        Ok(said)
    }

    /// Reads the value of one of its keys.
    pub(super) fn key(&mut self, key: &[u8], c: &mut Cursor<'a>) -> Parse<()> {
        let line = c.line();
        let kind = c.kind()?;
        match (key, kind) {
            (b"role", Kind::String) => self.role = c.string()?.span.of(line),
            (b"content", _) => {
                self.has_content = true;
                self.content = [None; Dialect::ALL.len()];
                match kind {
                    Kind::Array => drop(c.array(|c| self.part(c))?),
                    Kind::Object => {
                        self.content = [Some(Unread::Content); Dialect::ALL.len()];
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
            _ => match CALL_KEYS
                .iter()
                .position(|(name, _)| name.as_bytes() == key)
            {
                Some(at) => self.call(at, c)?,
                None => drop(c.skip()?),
            },
        }
        Ok(())
    }

    /// Reads the value of one of [`CALL_KEYS`].
    fn call(&mut self, at: usize, c: &mut Cursor<'a>) -> Parse<()> {
        self.has_calls |= CALL_KEYS[at].1 == Some(Dialect::OpenAi);
        let holds = match c.kind()? {
            Kind::Null | Kind::Bool => {
                c.skip()?;
                false
            }
            Kind::Array if CALL_KEYS[at].0 == "tool_calls" => {
                let mut any = false;
                c.array(|c| {
                    any = true;
                    let is_function = c.kind()? == Kind::Object && calls_a_function(c)?;
                    self.calls_unread |= !is_function;
                    Ok(())
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
                self.calls_unread |= match CALL_KEYS[at].0 {
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

    /// One part of a content.
    fn part(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        match c.kind()? {
            Kind::Object => {}
            Kind::String => {
                for dialect in [Dialect::AiSdk, Dialect::Pi] {
                    self.content[dialect as usize].get_or_insert(Unread::Block(b"string"));
                }
                return c.skip().map(drop);
            }
            Kind::Array | Kind::Number | Kind::Bool | Kind::Null => return c.skip().map(drop),
        }
        let line = c.line();
        let mut kind: &[u8] = b"";
        let (mut has_words, mut names_media, mut calls) = (false, false, false);
        let mut is_object = false;
        c.object(|key, c| {
            match (key, c.kind()?) {
                (b"type", Kind::String) => {
                    kind = c.string()?.span.of(line);
                    return Ok(());
                }
                (b"text", Kind::String) => has_words = true,
                (b"content", Kind::Object) => is_object = true,
                (b"image" | b"mediaType" | b"mimeType", _) => names_media = true,
                _ => calls |= CALLING.contains(&key),
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
        if is_object && kind == b"tool_result" {
            self.content[Dialect::Anthropic as usize].get_or_insert(Unread::Result);
        }
        if has_words || calls || is_call(kind) {
            for dialect in Dialect::ALL {
                if !reads_block(dialect, kind) {
                    self.content[dialect as usize].get_or_insert(Unread::Block(kind));
                }
            }
        }
        Ok(())
    }

    /// Whether it says anything at all.
    pub(super) fn is_message(&self) -> bool {
        !self.role.is_empty()
            && (self.has_content || self.has_words || self.has_calls || self.calls != 0)
    }

    /// Whether it is written as the Responses API has it.
    pub(super) fn is_item(&self) -> bool {
        self.responses
    }

    /// Whether it has a key that holds something.
    pub(super) fn has(&self, key: &str) -> bool {
        let at = CALL_KEYS.iter().position(|(name, _)| *name == key);
        at.is_some_and(|at| self.calls >> at & 1 == 1)
    }

    /// What of it no reader of that dialect understands.
    pub(super) fn unread(&self, dialect: Dialect) -> Option<Unread<'a>> {
        let strange = CALL_KEYS
            .iter()
            .zip(0..)
            .find(|((_, reader), at)| self.calls >> at & 1 == 1 && *reader != Some(dialect));
        if !self.role.is_empty() && !reads_role(dialect, self.role) {
            Some(Unread::Role(self.role))
        } else if let Some(((key, _), _)) = strange {
            Some(Unread::Key(key))
        } else if self.calls_unread && dialect == Dialect::OpenAi {
            Some(Unread::Calls)
        } else if self.has_words && !self.has_content {
            Some(Unread::Key("text"))
        } else if self.is_piece {
            Some(Unread::Piece)
        } else {
            self.content[dialect as usize]
        }
    }

    /// What only messages like it have, once all of it is read.
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

/// Whether an element of `tool_calls` is written as the API has it.
fn calls_a_function(c: &mut Cursor<'_>) -> Parse<bool> {
    let mut is_function = false;
    c.object(|key, c| {
        is_function |= matches!(key, b"function" | b"custom") && c.kind()? == Kind::Object;
        c.skip().map(drop)
    })?;
    Ok(is_function)
}

fn reads_role(dialect: Dialect, role: &[u8]) -> bool {
    match dialect {
        Dialect::Anthropic | Dialect::Responses => {
            matches!(role, b"user" | b"assistant" | b"system" | b"developer")
        }
        Dialect::OpenAi => matches!(
            role,
            b"user" | b"assistant" | b"system" | b"developer" | b"tool" | b"function"
        ),
        Dialect::AiSdk => matches!(role, b"user" | b"assistant" | b"system" | b"tool"),
        Dialect::Pi => matches!(
            role,
            b"user"
                | b"assistant"
                | b"toolResult"
                | b"bashExecution"
                | b"custom"
                | b"hookMessage"
                | b"branchSummary"
                | b"compactionSummary"
                | b"system"
        ),
    }
}

fn reads_block(dialect: Dialect, kind: &[u8]) -> bool {
    match dialect {
        Dialect::Anthropic => {
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
        Dialect::OpenAi => matches!(
            kind,
            b"text"
                | b"refusal"
                | b"input_text"
                | b"output_text"
                | b"image"
                | b"image_url"
                | b"input_image"
                | b"document"
                | b"file"
        ),
        Dialect::AiSdk => matches!(
            kind,
            b"text" | b"reasoning" | b"image" | b"file" | b"tool-call" | b"tool-result"
        ),
        Dialect::Responses => matches!(
            kind,
            b"input_text"
                | b"output_text"
                | b"text"
                | b"summary_text"
                | b"reasoning_text"
                | b"refusal"
                | b"input_image"
                | b"image"
                | b"image_url"
                | b"input_file"
                | b"file"
                | b"document"
        ),
        Dialect::Pi => matches!(kind, b"text" | b"thinking" | b"image" | b"toolCall"),
    }
}
