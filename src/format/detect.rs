//! Which format is it? Decided by content, line by line, until one line settles it.

use crate::scan::{Cursor, Kind, Parse, lines};

use super::Format;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// A format that is read and written.
    Known(Format, Layout),
    /// A shape that is known by name and left alone.
    Unsupported(&'static str),
}

/// How a file holds its transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The file is one transcript.
    File,
    /// Every line is one transcript.
    Line,
}

/// Sees lines until it knows.
#[derive(Debug, Default)]
pub struct Detector {
    found: Option<Detected>,
    /// Only plain messages so far: both message formats would do.
    plain: Option<Format>,
}

impl Detector {
    /// What `bytes` are, if one of their lines settles it.
    pub fn look(&mut self, bytes: &[u8]) -> Option<Detected> {
        for raw in lines(bytes) {
            if self.found.is_some() {
                break;
            }
            let line = &bytes[raw.start..raw.end];
            let mut hints = Hints::default();
            // A line that is broken behind its first keys still says what it is.
            let _ = hints.read(&mut Cursor::new(line));
            self.found = hints.verdict(&mut self.plain);
        }
        self.found
    }

    /// What it is when all lines have been seen.
    pub fn decide(&self) -> Detected {
        match (self.found, self.plain) {
            (Some(found), _) => found,
            (None, Some(format)) => Detected::Known(format, Layout::File),
            (None, None) => Detected::Unsupported("unknown"),
        }
    }
}

/// What one line shows.
#[derive(Debug, Default)]
struct Hints<'a> {
    /// Keys of the line's object, a bit each.
    keys: u32,
    kind: &'a [u8],
    messages: MessageHints<'a>,
}

/// What the messages of a line show.
#[derive(Debug, Default)]
struct MessageHints<'a> {
    role: &'a [u8],
    has_content: bool,
    openai: bool,
    anthropic: bool,
    ai_sdk: bool,
    responses: bool,
}

/// What stands in the envelopes of Codex rollouts.
const ENVELOPES: [&[u8]; 8] = [
    b"session_meta",
    b"response_item",
    b"event_msg",
    b"turn_context",
    b"compacted",
    b"world_state",
    b"inter_agent_communication",
    b"token_usage_record",
];

/// Items of the Responses API that belong to a call.
const ITEMS: [&[u8]; 5] = [
    b"function_call",
    b"function_call_output",
    b"custom_tool_call",
    b"custom_tool_call_output",
    b"local_shell_call",
];

const PAYLOAD: u32 = 1;
const PARENT_UUID: u32 = 1 << 1;
const UUID: u32 = 1 << 2;
const LEAF_UUID: u32 = 1 << 3;
const SESSION_ID: u32 = 1 << 4;
const MESSAGE: u32 = 1 << 5;
const MESSAGES: u32 = 1 << 6;
const FROM_VALUE: u32 = 1 << 7;
const HISTORY: u32 = 1 << 8;
const TRAJECTORY: u32 = 1 << 9;
const VERSION: u32 = 1 << 10;
const PARENT_ID: u32 = 1 << 11;
const PATCH: u32 = 1 << 12;
const INSTRUCTIONS: u32 = 1 << 13;
const RECORD_TYPE: u32 = 1 << 14;
const MESSAGE_ID: u32 = 1 << 15;
const SNAPSHOT: u32 = 1 << 16;
const PARTS: u32 = 1 << 17;
const DATA: u32 = 1 << 18;
const CALL_ID: u32 = 1 << 19;
const SOURCE: u32 = 1 << 20;
const CWD: u32 = 1 << 21;
const MESSAGE_OBJECT: u32 = 1 << 22;

impl<'a> Hints<'a> {
    fn has(&self, keys: u32) -> bool {
        self.keys & keys == keys
    }

    fn read(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        if c.kind()? != Kind::Object {
            return Ok(());
        }
        let line = c.line();
        c.object(|key, c| {
            self.keys |= match key {
                b"payload" => PAYLOAD,
                b"parentUuid" => PARENT_UUID,
                b"uuid" => UUID,
                b"leafUuid" => LEAF_UUID,
                b"sessionId" => SESSION_ID,
                b"message" => MESSAGE,
                b"messages" => MESSAGES,
                b"conversations" => FROM_VALUE,
                b"history" => HISTORY,
                b"trajectory" => TRAJECTORY,
                b"version" => VERSION,
                b"parentId" => PARENT_ID,
                b"$set" | b"$rewindTo" => PATCH,
                b"instructions" => INSTRUCTIONS,
                b"record_type" => RECORD_TYPE,
                b"messageId" => MESSAGE_ID,
                b"snapshot" => SNAPSHOT,
                b"parts" => PARTS,
                b"data" => DATA,
                b"call_id" => CALL_ID,
                b"cwd" => CWD,
                b"source" | b"observation" | b"action" => SOURCE,
                _ => 0,
            };
            match (key, c.kind()?) {
                (b"type", Kind::String) => self.kind = c.string()?.span.of(line),
                (b"messages", Kind::Array) => {
                    c.array(|c| {
                        if c.kind()? == Kind::Object {
                            c.object(|key, c| self.messages.key(key, c)).map(drop)
                        } else {
                            c.skip().map(drop)
                        }
                    })?;
                }
                (b"message", Kind::Object) => {
                    self.keys |= MESSAGE_OBJECT;
                    c.skip()?;
                }
                _ => self.messages.key(key, c)?,
            }
            Ok(())
        })?;
        Ok(())
    }

    fn verdict(&self, plain: &mut Option<Format>) -> Option<Detected> {
        let unsupported = |name| Some(Detected::Unsupported(name));
        let m = &self.messages;
        if self.has(PARENT_UUID)
            || self.has(LEAF_UUID)
            || self.has(UUID | SESSION_ID)
            || self.has(UUID | MESSAGE)
        {
            return if m.role == b"model" || self.has(MESSAGE | PARTS) {
                unsupported("qwen")
            } else {
                Some(Detected::Known(Format::ClaudeCode, Layout::File))
            };
        }
        if self.has(MESSAGE_ID | SNAPSHOT)
            || self.has(SESSION_ID) && self.kind == b"queue-operation"
        {
            return Some(Detected::Known(Format::ClaudeCode, Layout::File));
        }
        let is_item = ITEMS.contains(&self.kind) && self.has(CALL_ID);
        let is_said = m.responses && self.kind == b"message";
        if self.has(PAYLOAD) && ENVELOPES.contains(&self.kind)
            || self.has(RECORD_TYPE)
            || is_item
            || is_said
        {
            return Some(Detected::Known(Format::Codex, Layout::File));
        }
        let is_header = self.kind == b"session" && (self.has(CWD) || self.has(VERSION));
        let is_entry = self.kind == b"message" && self.has(MESSAGE_OBJECT) && m.role.is_empty();
        if is_header || is_entry {
            return Some(Detected::Known(Format::Pi, Layout::File));
        }
        if self.kind.starts_with(b"context.") {
            return unsupported("kimi");
        }
        if self.has(PATCH) {
            return unsupported("gemini");
        }
        if self.has(FROM_VALUE) {
            return unsupported("sharegpt");
        }
        if self.has(TRAJECTORY) {
            return unsupported("swe-agent");
        }
        if self.has(HISTORY) || self.has(SOURCE) && m.role.is_empty() {
            return unsupported("openhands");
        }
        if self.has(PARTS) && !m.role.is_empty() {
            return unsupported("ui-messages");
        }
        if m.ai_sdk {
            return if self.has(MESSAGES) {
                unsupported("ai-sdk")
            } else {
                Some(Detected::Known(Format::AiSdk, Layout::File))
            };
        }
        if self.has(MESSAGES) {
            return match (m.anthropic, m.role.is_empty()) {
                (true, _) => unsupported("anthropic requests"),
                (false, false) => Some(Detected::Known(Format::OpenAi, Layout::Line)),
                (false, true) => None,
            };
        }
        if m.role.is_empty() || !(m.has_content || m.openai) {
            return None;
        }
        match m.role {
            _ if m.anthropic => Some(Detected::Known(Format::Anthropic, Layout::File)),
            _ if m.openai => Some(Detected::Known(Format::OpenAi, Layout::File)),
            b"tool" | b"function" => Some(Detected::Known(Format::OpenAi, Layout::File)),
            b"user" | b"assistant" => {
                plain.get_or_insert(Format::Anthropic);
                None
            }
            // Anthropic's system prompt is no message; a line for it is OpenAI's way, unless blocks say otherwise.
            b"system" | b"developer" => {
                *plain = Some(Format::OpenAi);
                None
            }
            _ => None,
        }
    }
}

impl<'a> MessageHints<'a> {
    fn key(&mut self, key: &[u8], c: &mut Cursor<'a>) -> Parse<()> {
        let line = c.line();
        match (key, c.kind()?) {
            (b"role", Kind::String) => self.role = c.string()?.span.of(line),
            (b"content", kind) => {
                self.has_content = true;
                if kind == Kind::Array {
                    c.array(|c| self.part(c))?;
                } else {
                    c.skip()?;
                }
            }
            (b"tool_calls" | b"tool_call_id" | b"function_call", _) => {
                self.openai = true;
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    }

    fn part(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        let line = c.line();
        let mut kind: &[u8] = b"";
        let mut names_media = false;
        c.object(|key, c| {
            if key == b"type" && c.kind()? == Kind::String {
                kind = c.string()?.span.of(line);
                return Ok(());
            }
            names_media |= matches!(key, b"image" | b"mediaType" | b"mimeType");
            c.skip().map(drop)
        })?;
        match kind {
            b"tool-call" | b"tool-result" | b"reasoning" => self.ai_sdk = true,
            b"image" | b"file" if names_media => self.ai_sdk = true,
            b"input_text" | b"output_text" | b"input_image" => self.responses = true,
            b"tool_use" | b"tool_result" | b"thinking" | b"redacted_thinking" | b"image"
            | b"document" => self.anthropic = true,
            b"image_url" | b"input_audio" | b"refusal" | b"file" => self.openai = true,
            _ => {}
        }
        Ok(())
    }
}
