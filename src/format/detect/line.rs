//! One line of a file whose format is not known yet: its keys, its type, and the shape of its message.

use super::message_shape::{Features, MessageShape, Unrecognised};
use crate::format::Format;
use crate::scan::{Cursor, Kind, Parse, Strings};

/// Declares a bit for each key, or group of keys, by which the format of a line may be recognised.
macro_rules! keys {
    ($($name:ident = $($key:literal)|+;)*) => {
        keys!(@ 0u64; $($name)*);

        #[inline]
        fn bit(key: &[u8]) -> u64 {
            match key {
                $($($key)|+ => $name,)*
                _ => 0,
            }
        }
    };
    (@ $at:expr; $name:ident $($rest:ident)*) => {
        pub(in crate::format) const $name: u64 = 1 << $at;
        keys!(@ $at + 1; $($rest)*);
    };
    (@ $at:expr;) => {
        const _: () = assert!(1 << ($at - 1) < BAD_PARENT, "every key needs a bit of its own");
    };
}

keys! {
    ID = b"id";
    TIMESTAMP = b"timestamp";
    PAYLOAD = b"payload";
    PARENT_UUID = b"parentUuid";
    UUID = b"uuid";
    LEAF_UUID = b"leafUuid";
    SESSION_ID = b"sessionId";
    STREAM_SESSION = b"session_id";
    MESSAGE = b"message";
    MESSAGES = b"messages";
    INFO = b"info";
    ORIGIN = b"origin";
    FROM_VALUE = b"conversations";
    HISTORY = b"history";
    TRAJECTORY = b"trajectory";
    VERSION = b"version";
    PARENT_ID = b"parentId";
    PATCH = b"$set" | b"$rewindTo";
    RECORD_TYPE = b"record_type";
    MESSAGE_ID = b"messageId";
    SNAPSHOT = b"snapshot";
    PARTS = b"parts";
    DATA = b"data";
    CALL_ID = b"call_id";
    CWD = b"cwd";
    PROJECT = b"projectHash";
    SOURCE = b"source" | b"observation" | b"action";
    QWEN_VERSION = b"qwen_code_version";
    PARENT_CALL = b"parent_tool_use_id";
    STATUS = b"status";
    SCHEMA_VERSION = b"schema_version";
    LANE = b"lane";
    SEQUENCE = b"seq";
    RETAINED_TAIL = b"retainedTail";
    OF_REPORT = b"findings_before" | b"last_message";
    OF_QWEN = b"toolCallResult" | b"systemPayload" | b"provenance";
    TOOL_OF_STREAM = b"tool_name" | b"tool_id";
    OF_A_CALL = b"toolName" | b"tool_use_id" | b"tool_call_id" | b"toolCallId" | b"name" | b"tool" | b"input" | b"output"
        | b"parameters" | b"arguments" | b"args" | b"result" | b"content" | b"function";
}

/// Not a key of its own: the `id` is at least as long as a UUID.
pub(in crate::format) const LONG_ID: u64 = 1 << 63;
/// Not a key of its own either: the `replacement` is not null.
pub(in crate::format) const REPLACES: u64 = 1 << 62;
/// Nor this: the parent is neither an id nor null.
pub(in crate::format) const BAD_PARENT: u64 = 1 << 61;
/// The length of a UUID.
const UUID_LEN: u32 = 36;

/// The keys of lines whose type is that of a call or a result.
const CALLED: u64 = OF_A_CALL | TOOL_OF_STREAM | CALL_ID | DATA;

/// What has been read of a line so far.
#[derive(Debug, Default)]
pub(crate) struct Line<'a> {
    keys: u64,
    pub(in crate::format) kind: &'a [u8],
    /// The shape of the line itself, as a message.
    pub(in crate::format) own: MessageShape<'a>,
    /// The shape of its `message`.
    pub(in crate::format) message: Option<MessageShape<'a>>,
    /// The type of its `payload`, and its shape as a message.
    pub(in crate::format) payload: Option<(&'a [u8], MessageShape<'a>)>,
    /// Its `version` as written, if that is a number.
    pub(in crate::format) version: &'a [u8],
    /// The type of its `event`.
    pub(in crate::format) event: &'a [u8],
    /// Set if its `$set` has messages: the first thing in them that is not understood, if any.
    pub(in crate::format) patched: Option<Option<Unrecognised<'a>>>,
    /// Whether there are objects in its `messages`.
    pub(in crate::format) has_messages: bool,
    /// The combined features of all its `messages`, and the first thing in them that the readers of OpenAI's and of Anthropic's
    /// messages do not understand.
    pub(super) messages: Option<(Features, [Option<Unrecognised<'a>>; 2])>,
    /// Whether it has keys other than these messages and a system prompt.
    pub(super) is_request: bool,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` if it is not a JSON object.
    pub(in crate::format) fn read(bytes: &'a [u8]) -> Option<Self> {
        Line::of(&mut Cursor::new(bytes))
    }

    /// The same for a line at offset `start` of its text; records its long strings.
    pub(super) fn noted(bytes: &'a [u8], start: usize, strings: &mut Strings) -> Option<Self> {
        let mut c = Cursor::noting(bytes, start, strings);
        let line = Line::of(&mut c);
        c.noted(strings);
        line
    }

    fn of(c: &mut Cursor<'a>) -> Option<Self> {
        let mut line = Line::default();
        line.object(c).and_then(|()| c.end()).ok()?;
        Some(line)
    }

    /// Whether it has all of these keys.
    pub(in crate::format) fn has(&self, keys: u64) -> bool {
        self.keys & keys == keys
    }

    /// Whether a line with Claude Code's envelope is Qwen Code's, which writes messages made of parts.
    pub(in crate::format) fn is_of_qwen(&self) -> bool {
        let says_parts = |says: &MessageShape<'_>| says.has("parts") || says.role == b"model";
        self.keys & (OF_QWEN | PARTS) != 0 || self.message.as_ref().is_some_and(says_parts)
    }

    /// Whether it has `messages`, each of them a message without an envelope.
    pub(in crate::format) fn has_bare_messages(&self) -> bool {
        self.messages.is_some()
    }

    /// Whether it has a key that a call or a result has.
    pub(super) fn is_called(&self) -> bool {
        self.keys & CALLED != 0
    }

    fn object(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        let line = c.line();
        c.object(|key, c| {
            self.keys |= bit(key);
            self.is_request |= !matches!(key, b"messages" | b"system");
            match (key, c.kind()?) {
                (b"type", Kind::String) => self.kind = c.string()?.span.of(line),
                (b"id", Kind::String) => {
                    if c.string()?.span.len >= UUID_LEN {
                        self.keys |= LONG_ID;
                    }
                }
                (b"parentUuid" | b"parentId", kind) => {
                    if !matches!(kind, Kind::String | Kind::Null) {
                        self.keys |= BAD_PARENT;
                    }
                    c.skip()?;
                }
                (b"version", Kind::Number) => self.version = c.skip()?.of(line),
                (b"replacement", kind) => {
                    if kind != Kind::Null {
                        self.keys |= REPLACES;
                    }
                    c.skip()?;
                }
                (b"message", Kind::Object) => self.message = Some(MessageShape::read(c)?),
                (b"payload", Kind::Object) => {
                    let (mut kind, mut shape): (&[u8], _) = (b"", MessageShape::default());
                    c.object(|key, c| match (key, c.kind()?) {
                        (b"type", Kind::String) => {
                            kind = c.string()?.span.of(line);
                            Ok(())
                        }
                        _ => shape.key(key, c),
                    })?;
                    self.payload = Some((kind, shape));
                }
                (b"event", Kind::Object) => {
                    let [kind] = c.fields(["type"])?;
                    self.event = kind.string().unwrap_or_default();
                }
                (b"messages", Kind::Array) => {
                    (self.messages, self.has_messages) = (None, false);
                    c.array(|c| self.one_of_several(c))?;
                }
                (b"$set", Kind::Object) => self.patch(c)?,
                _ => self.own.key(key, c)?,
            }
            Ok(())
        })
        .map(drop)
    }

    /// The value of `$set`.
    fn patch(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        self.patched = None;
        c.object(|key, c| match (key, c.kind()?) {
            (b"messages", Kind::Array) => c
                .array(|c| {
                    if c.kind()? != Kind::Object {
                        return c.skip().map(drop);
                    }
                    let says = MessageShape::read(c)?;
                    let unrecognised = self.patched.get_or_insert_default();
                    *unrecognised = unrecognised.or(says.unrecognised(Format::Gemini));
                    Ok(())
                })
                .map(drop),
            _ => c.skip().map(drop),
        })
        .map(drop)
    }

    /// One of a line's `messages`.
    fn one_of_several(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        self.has_messages = true;
        let says = MessageShape::read(c)?;
        if says.is_message() {
            let (features, unrecognised) = self.messages.get_or_insert_default();
            features.insert(says.features());
            for (found, format) in unrecognised
                .iter_mut()
                .zip([Format::OpenAi, Format::Anthropic])
            {
                *found = found.or(says.unrecognised(format));
            }
        }
        Ok(())
    }
}
