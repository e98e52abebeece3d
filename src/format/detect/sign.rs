//! What one line says about the format of its file: whose line it is, whether it holds a message, and what of that no
//! reader would understand.

use super::said::{Dialect, Features, Said, Unread, is_call};
use crate::scan::{Cursor, Kind, Parse};

/// Whose lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Lines of one of the formats with an envelope.
    Base(Base),
    /// Messages without an envelope, one a line: one of three formats.
    Bare,
    /// `{"messages": […]}`: a conversation a line.
    Conversations,
    /// A format that is known by its name alone, and the one that its plainest lines could be taken for.
    Named(&'static str, Like),
}

/// Formats whose lines say whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    ClaudeCode,
    Codex,
    Pi,
}

/// What the plainest lines of a format that is known by name look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Like {
    Base(Base),
    Bare,
    Conversations,
    Nothing,
}

/// What a line is to its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It holds (a part of) a message.
    Message,
    /// It holds none, and is of no other family.
    Mark,
}

/// What a line says.
#[derive(Debug)]
pub(super) struct Sign<'a> {
    pub(super) family: Option<Family>,
    pub(super) weight: Weight,
    pub(super) features: Features,
    /// What is not understood, by each dialect that could be the file's.
    pub(super) unread: [Option<Unread<'a>>; Dialect::ALL.len()],
}

/// Keys of a line that is a call or a result by its type.
const CALLED: [&[u8]; 18] = [
    b"tool_name",
    b"toolName",
    b"tool_id",
    b"tool_use_id",
    b"tool_call_id",
    b"toolCallId",
    b"call_id",
    b"name",
    b"tool",
    b"input",
    b"output",
    b"parameters",
    b"arguments",
    b"args",
    b"result",
    b"content",
    b"function",
    b"data",
];

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

/// Whether a line of Claude Code is one that has no place in the chain; copies of requests hold messages.
fn is_note(kind: &[u8]) -> bool {
    kind == b"queue-operation" || kind.starts_with(b"api-request")
}

/// Items of the Responses API that belong to a call.
const CALL_ITEMS: [&[u8]; 5] = [
    b"function_call",
    b"function_call_output",
    b"custom_tool_call",
    b"custom_tool_call_output",
    b"local_shell_call",
];

/// Other items that are read, or that look like calls and are none.
const OTHER_ITEMS: [&[u8]; 12] = [
    b"message",
    b"agent_message",
    b"reasoning",
    b"web_search_call",
    b"image_generation_call",
    b"tool_search_call",
    b"tool_search_output",
    b"additional_tools",
    b"compaction",
    b"compaction_summary",
    b"context_compaction",
    b"ghost_snapshot",
];

const QWEN: Family = Family::Named("qwen", Like::Base(Base::ClaudeCode));
const DROID: Family = Family::Named("factory-droid", Like::Base(Base::Pi));
const STREAM: Family = Family::Named("stream-json", Like::Bare);
const SYNAPSE: Family = Family::Named("synapse", Like::Bare);
const UI_MESSAGES: Family = Family::Named("ui-messages", Like::Bare);

macro_rules! keys {
    ($($name:ident)*) => { keys!(@ 0u32; $($name)*); };
    (@ $at:expr; $name:ident $($rest:ident)*) => {
        const $name: u32 = 1 << $at;
        keys!(@ $at + 1; $($rest)*);
    };
    (@ $at:expr;) => {};
}

keys! {
    PAYLOAD PARENT_UUID UUID LEAF_UUID SESSION_ID MESSAGE MESSAGES FROM_VALUE HISTORY TRAJECTORY VERSION PARENT_ID PATCH
    RECORD_TYPE MESSAGE_ID SNAPSHOT PARTS DATA CALL_ID SOURCE CWD STREAM_SESSION TOOL_OF_STREAM OF_QWEN PROJECT CALLED_KEY
}

fn bit(key: &[u8]) -> u32 {
    match key {
        b"payload" => PAYLOAD,
        b"parentUuid" => PARENT_UUID,
        b"uuid" => UUID,
        b"leafUuid" => LEAF_UUID,
        b"sessionId" => SESSION_ID,
        b"session_id" => STREAM_SESSION,
        b"message" => MESSAGE,
        b"messages" => MESSAGES,
        b"conversations" => FROM_VALUE,
        b"history" => HISTORY,
        b"trajectory" => TRAJECTORY,
        b"version" => VERSION,
        b"parentId" => PARENT_ID,
        b"$set" | b"$rewindTo" => PATCH,
        b"record_type" => RECORD_TYPE,
        b"messageId" => MESSAGE_ID,
        b"snapshot" => SNAPSHOT,
        b"parts" => PARTS,
        b"data" => DATA | CALLED_KEY,
        b"call_id" => CALL_ID | CALLED_KEY,
        b"cwd" => CWD,
        b"projectHash" => PROJECT,
        b"source" | b"observation" | b"action" => SOURCE,
        b"toolCallResult" | b"systemPayload" | b"provenance" => OF_QWEN,
        b"tool_name" | b"tool_id" => TOOL_OF_STREAM | CALLED_KEY,
        key if CALLED.contains(&key) => CALLED_KEY,
        _ => 0,
    }
}

/// The line while it is read.
#[derive(Debug, Default)]
struct Line<'a> {
    keys: u32,
    kind: &'a [u8],
    /// Its own role and content.
    own: Said<'a>,
    /// Those of its `message`.
    message: Option<Said<'a>>,
    /// Those of its `payload`, and its type.
    payload: Option<(&'a [u8], Said<'a>)>,
    /// What its `messages` come to together.
    messages: Option<(Features, Option<Unread<'a>>)>,
}

impl<'a> Sign<'a> {
    /// What a line says; nothing where it is no JSON object.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let mut read = Line::default();
        let mut c = Cursor::new(line);
        read.read(&mut c).and_then(|()| c.end()).ok()?;
        Some(read.sign())
    }

    fn new(family: Option<Family>, weight: Weight) -> Self {
        Sign {
            family,
            weight,
            features: Features::default(),
            unread: [None; Dialect::ALL.len()],
        }
    }

    fn mark(family: Family) -> Self {
        Sign::new(Some(family), Weight::Mark)
    }

    /// Nobody's, and of no weight.
    fn nothing() -> Self {
        Sign::new(None, Weight::Mark)
    }

    /// A line with a message, and what of it nobody would understand.
    fn message(family: Family, unread: Option<Unread<'a>>) -> Self {
        Sign {
            unread: [unread; Dialect::ALL.len()],
            ..Sign::new(Some(family), Weight::Message)
        }
    }

    /// A line that looks like a part of a conversation and is of no format.
    fn stray(kind: &'a [u8]) -> Self {
        Sign {
            unread: [Some(Unread::Line(kind)); Dialect::ALL.len()],
            ..Sign::new(None, Weight::Message)
        }
    }
}

impl<'a> Line<'a> {
    fn has(&self, keys: u32) -> bool {
        self.keys & keys == keys
    }

    fn read(&mut self, c: &mut Cursor<'a>) -> Parse<()> {
        let line = c.line();
        c.object(|key, c| {
            self.keys |= bit(key);
            match (key, c.kind()?) {
                (b"type", Kind::String) => self.kind = c.string()?.span.of(line),
                (b"message", Kind::Object) => self.message = Some(Said::read(c)?),
                (b"payload", Kind::Object) => {
                    let (mut kind, mut said): (&[u8], _) = (b"", Said::default());
                    c.object(|key, c| match (key, c.kind()?) {
                        (b"type", Kind::String) => {
                            kind = c.string()?.span.of(line);
                            Ok(())
                        }
                        _ => said.key(key, c),
                    })?;
                    self.payload = Some((kind, said));
                }
                (b"messages", Kind::Array) => {
                    self.messages = None;
                    c.array(|c| {
                        if c.kind()? != Kind::Object {
                            return c.skip().map(drop);
                        }
                        let says = Said::read(c)?;
                        if says.is_message() {
                            let (features, unread) = self.messages.get_or_insert_default();
                            features.insert(says.features());
                            *unread = unread.or(says.unread(Dialect::OpenAi));
                        }
                        Ok(())
                    })?;
                }
                _ => self.own.key(key, c)?,
            }
            Ok(())
        })
        .map(drop)
    }

    fn sign(&self) -> Sign<'a> {
        let claude = self.has(PARENT_UUID)
            || self.has(LEAF_UUID)
            || self.has(UUID | SESSION_ID)
            || self.has(UUID | MESSAGE) && !self.has(STREAM_SESSION);
        if claude {
            return self.chained();
        }
        if self.has(MESSAGE_ID | SNAPSHOT) || self.has(SESSION_ID) && is_note(self.kind) {
            return Sign::mark(Family::Base(Base::ClaudeCode));
        }
        let of_known = self.known_by_name();
        let read = [Self::rollout, Self::entry, Self::conversation, Self::bare];
        of_known
            .or_else(|| read.iter().find_map(|read| read(self)))
            .unwrap_or_else(|| self.other())
    }

    /// A line of Claude Code, or of an agent that has taken its envelope over.
    fn chained(&self) -> Sign<'a> {
        let says = self.message.as_ref();
        let has_parts =
            self.has(PARTS) || says.is_some_and(|m| m.has("parts") || m.role == b"model");
        if self.has(OF_QWEN) || has_parts {
            return match says {
                Some(_) => Sign::message(QWEN, Some(Unread::Line(self.kind))),
                None => Sign::mark(QWEN),
            };
        }
        let family = Family::Base(Base::ClaudeCode);
        match (self.kind, says) {
            (b"user" | b"assistant", Some(says)) => {
                Sign::message(family, says.unread(Dialect::Anthropic))
            }
            (b"user" | b"assistant", None) => Sign::message(family, None),
            (kind, Some(says)) if says.is_message() => {
                Sign::message(family, Some(Unread::Line(kind)))
            }
            (_, _) => Sign::mark(family),
        }
    }

    /// Formats that are known by what only they write.
    fn known_by_name(&self) -> Option<Sign<'a>> {
        let named = |name| Family::Named(name, Like::Nothing);
        let unread = Some(Unread::Line(self.kind));
        let (family, is_message) = match self.kind {
            b"session_start" if self.has(CWD | VERSION) => (DROID, false),
            b"agent_turn_outcome" | b"compaction_state" => (DROID, false),
            kind if kind.starts_with(b"context.") => (
                named("kimi"),
                self.message.is_some() || kind.ends_with(b"_event"),
            ),
            b"user.message"
            | b"assistant.message"
            | b"tool.execution_start"
            | b"tool.execution_complete"
                if self.has(DATA) =>
            {
                (named("copilot"), true)
            }
            b"item.completed" | b"thread.started" => (named("codex-exec"), true),
            b"user" | b"assistant" | b"system" | b"result"
                if self.has(STREAM_SESSION) && !self.own.is_message() =>
            {
                (STREAM, true)
            }
            b"tool_use" | b"tool_result" if self.has(TOOL_OF_STREAM) => (STREAM, true),
            _ if self.has(PATCH) || self.has(SESSION_ID | PROJECT) || self.kind == b"gemini" => {
                (named("gemini"), true)
            }
            _ if self.has(FROM_VALUE) => (named("sharegpt"), true),
            _ if self.has(TRAJECTORY) => (named("swe-agent"), true),
            _ if self.has(HISTORY) => (named("openhands"), true),
            _ if self.own.role.is_empty() => return None,
            _ if self.own.has("toolCalls") || self.own.has("toolCallId") => (SYNAPSE, true),
            _ if self.has(PARTS) || self.own.has("toolInvocations") => (UI_MESSAGES, true),
            _ => return None,
        };
        Some(match (is_message, self.kind) {
            (false, _) => Sign::mark(family),
            (true, b"") => Sign::message(family, self.own.unread(Dialect::OpenAi)),
            (true, _) => Sign::message(family, unread),
        })
    }

    /// A line of a Codex rollout.
    fn rollout(&self) -> Option<Sign<'a>> {
        let family = Family::Base(Base::Codex);
        if self.has(PAYLOAD) && ENVELOPES.contains(&self.kind) {
            let Some((kind, says)) = self
                .payload
                .as_ref()
                .filter(|_| self.kind == b"response_item")
            else {
                return Some(Sign::mark(family));
            };
            let is_known = CALL_ITEMS.contains(kind) || OTHER_ITEMS.contains(kind);
            return Some(match *kind {
                b"message" | b"agent_message" => {
                    let role = says.unread(Dialect::Responses);
                    Sign::message(family, role.filter(|_| *kind == b"message"))
                }
                kind if !is_known && is_call(kind) => {
                    Sign::message(family, Some(Unread::Line(kind)))
                }
                _ => Sign::message(family, None),
            });
        }
        let is_item = CALL_ITEMS.contains(&self.kind) && self.has(CALL_ID);
        let is_said = self.own.is_item() && self.kind == b"message";
        if is_said {
            return Some(Sign::message(family, self.own.unread(Dialect::Responses)));
        }
        if is_item {
            return Some(Sign::message(family, None));
        }
        let is_other = OTHER_ITEMS.contains(&self.kind) && self.kind != b"message";
        (self.has(RECORD_TYPE) || is_other && !self.own.is_message()).then(|| Sign::mark(family))
    }

    /// An entry of a pi session.
    fn entry(&self) -> Option<Sign<'a>> {
        let family = Family::Base(Base::Pi);
        match (self.kind, &self.message) {
            (b"session", _) if self.has(CWD) || self.has(VERSION) => Some(Sign::mark(family)),
            (b"message", Some(says)) if self.own.role.is_empty() => {
                Some(Sign::message(family, says.unread(Dialect::Pi)))
            }
            (_, _) => None,
        }
    }

    /// A whole conversation.
    fn conversation(&self) -> Option<Sign<'a>> {
        let (features, unread) = self.messages?;
        let named = |name| Family::Named(name, Like::Conversations);
        let family = if features.has(Features::AI_SDK) {
            named("ai-sdk")
        } else if features.has(Features::ANTHROPIC) || features.has(Features::PICTURES) {
            named("anthropic requests")
        } else {
            Family::Conversations
        };
        // The name tells what these are written like; which of their blocks are foreign says nothing more.
        let unread = unread.filter(|_| family == Family::Conversations);
        Some(Sign::message(family, unread))
    }

    /// A message without an envelope.
    fn bare(&self) -> Option<Sign<'a>> {
        let says = &self.own;
        if !says.is_message() || self.has(MESSAGE) {
            return None;
        }
        let mut sign = Sign::new(Some(Family::Bare), Weight::Message);
        sign.features = says.features();
        if self.kind == b"message" {
            sign.features.insert(Features::ITEM);
        }
        for dialect in Dialect::ALL {
            sign.unread[dialect as usize] = says.unread(dialect);
        }
        Some(sign)
    }

    /// What is left: a line that looks like a part of a conversation, or one of no weight.
    fn other(&self) -> Sign<'a> {
        let says = self.message.as_ref().is_some_and(Said::is_message);
        // What names its session and is no message is a note that an agent has put beside its chain.
        let is_called = is_call(self.kind) && self.has(CALLED_KEY) && !self.has(SESSION_ID);
        if says || self.own.is_message() || is_called {
            return Sign::stray(self.kind);
        }
        if self.has(SOURCE) && self.own.role.is_empty() {
            return Sign::mark(Family::Named("openhands", Like::Nothing));
        }
        Sign::nothing()
    }
}
