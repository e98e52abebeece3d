//! A conversation as events: messages of the person and the agent, calls and results.
//!
//! Reasoning is not an event, since it is not always sent again. What agents add to a person's message (reminders, notices) is
//! removed.

use std::borrow::Cow;

use super::call::{CELL_TOOL, Call, End, end, end_in_cell};
use crate::facts::{block_text, queued};
use crate::ids::IdMap;
use crate::scan::decoded;
use crate::transcript::{Author, Block, BlockKind, Conversation, Message, Role, Transcript, Typed};

/// An event.
#[derive(Debug)]
pub(super) struct Event {
    /// The index of its message, from 0.
    pub(super) message: usize,
    /// The block; `None` for an event on a line of its own.
    pub(super) block: Option<u32>,
    pub(super) what: EventKind,
    /// Its text; for a call, the fields that refer to something.
    pub(super) text: String,
    /// The text that a call writes.
    pub(super) body: String,
}

/// The kind of an event.
#[derive(Debug)]
pub(super) enum EventKind {
    /// A person.
    User,
    /// The agent.
    Agent,
    /// The agent calls a tool.
    Call { tool: String, call: Call },
    /// A tool answers the call at the event index `of`, if that call exists.
    Result { of: Option<usize>, end: End },
    /// A notice of the agent's program.
    Notice,
}

impl Event {
    /// Whether the agent or a person chose the words.
    pub(super) fn is_authored(&self) -> bool {
        match self.what {
            EventKind::User | EventKind::Agent | EventKind::Call { .. } => true,
            EventKind::Result { .. } | EventKind::Notice => false,
        }
    }
}

/// Wrappers that agents put into a person's message, by their names.
const WRAPPERS: [&str; 13] = [
    "system-reminder",
    "system_reminder",
    "current_datetime",
    "sql_tables",
    "recommended_plugins",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
    "local-command-caveat",
    "local-command-stdout",
    "command-name",
    "command-message",
    "environment_context",
];

/// Whether text typed while the agent was working counts; such text is on lines that no model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    Counted,
    Ignored,
}

/// The events of a conversation, in its order.
pub(super) fn events(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    queued: Queued,
) -> Vec<Event> {
    let mut reader = Reader {
        transcript,
        events: Vec::new(),
        calls: IdMap::default(),
        by_block: IdMap::default(),
        nameless: None,
    };
    let mut typed = match queued {
        Queued::Counted => typed_meanwhile(transcript),
        Queued::Ignored => Vec::new(),
    }
    .into_iter()
    .peekable();
    for (number, message) in conversation.messages.iter().enumerate() {
        let line = conversation.first_line(message);
        while let Some((_, text)) = typed.next_if(|(at, _)| *at < line) {
            reader.push(number.saturating_sub(1), None, EventKind::User, text);
        }
        for block in conversation.blocks(message) {
            reader.block(number, message, *block);
        }
    }
    let last = conversation.messages.len().saturating_sub(1);
    for (_, text) in typed {
        reader.push(last, None, EventKind::User, text);
    }
    reader.events
}

struct Reader<'t, 'a> {
    transcript: &'t Transcript<'a>,
    events: Vec<Event>,
    /// The events of calls, by their ids.
    calls: IdMap<&'t [u8], usize>,
    /// The same, keyed by block.
    by_block: IdMap<u32, usize>,
    /// The last call without an id.
    nameless: Option<usize>,
}

impl Reader<'_, '_> {
    fn push(&mut self, message: usize, block: Option<u32>, what: EventKind, text: String) {
        self.events.push(Event {
            message,
            block,
            what,
            text,
            body: String::new(),
        });
    }

    fn block(&mut self, number: usize, message: &Message, at: u32) {
        let transcript = self.transcript;
        let block = transcript.block(at);
        let bytes = |span| transcript.bytes(block.line, span);
        match block.kind {
            BlockKind::Text => {
                let text = block_text(transcript, block);
                let (what, text) = match (message.role, message.typed) {
                    _ if block.author == Author::Program => (EventKind::Notice, text.into_owned()),
                    (Role::Assistant, _) => (EventKind::Agent, text.into_owned()),
                    (Role::User, Typed::Yes) => (EventKind::User, unwrapped(&text)),
                    (Role::User, Typed::No) => match arguments(&text) {
                        Some(arguments) => (EventKind::User, arguments.to_owned()),
                        None => (EventKind::Notice, text.into_owned()),
                    },
                    (Role::System | Role::Tool, _) => (EventKind::Notice, text.into_owned()),
                };
                self.push(number, Some(at), what, text);
            }
            BlockKind::Call => {
                let tool = decoded(bytes(block.tool)).into_owned();
                let mut call = Call::read(&tool, bytes(block.content));
                let (text, body) = (
                    std::mem::take(&mut call.refers),
                    std::mem::take(&mut call.body),
                );
                self.by_block.insert(at, self.events.len());
                match bytes(block.call_id) {
                    [] => self.nameless = Some(self.events.len()),
                    id => drop(self.calls.insert(id, self.events.len())),
                }
                self.push(number, Some(at), EventKind::Call { tool, call }, text);
                if let Some(event) = self.events.last_mut() {
                    event.body = body;
                }
            }
            BlockKind::Result => {
                let of = match (transcript.call_beside(at), bytes(block.call_id)) {
                    (Some(call), _) => self.by_block.get(&call).copied(),
                    (None, []) => self.nameless.take(),
                    (None, id) => self.calls.get(id).copied(),
                };
                let (end, text) = self.result(block, of);
                self.push(number, Some(at), EventKind::Result { of, end }, text);
            }
            BlockKind::Attachment | BlockKind::Server => {
                let mut text = String::new();
                strings(bytes(block.content), &mut text);
                self.push(number, Some(at), EventKind::Notice, text);
            }
            BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Other => {}
        }
    }

    /// How the call of a result ended, and the result's text.
    fn result(&self, block: &Block, of: Option<usize>) -> (End, String) {
        let text = block_text(self.transcript, block);
        let header = decoded(self.transcript.header(block));
        let call = of.and_then(|of| match &self.events[of].what {
            EventKind::Call { tool, call } => Some((tool, call)),
            EventKind::User | EventKind::Agent | EventKind::Notice | EventKind::Result { .. } => {
                None
            }
        });
        let cell = call.filter(|(tool, _)| *tool == CELL_TOOL);
        let end = match cell.map(|(_, call)| call.commands.len()) {
            None | Some(0) => end(&header, &text, block.outcome),
            Some(1) => end_in_cell(&text).unwrap_or(End::Fine),
            // The result does not say which of them ended this way.
            Some(_) => End::Fine,
        };
        let reads = call.is_some_and(|(_, call)| call.reads);
        let numbers = call.is_some_and(|(_, call)| call.commands.iter().any(|c| numbers_lines(c)));
        let text: Cow<'_, str> = match printed(&text) {
            Some(printed) => printed.into(),
            None if reads => undotted(&unnumbered(&text)).into(),
            None if numbers => unpadded(&text).into(),
            None => text,
        };
        match &header[..] {
            "" => (end, text.into_owned()),
            header => (end, format!("{header}\n{text}")),
        }
    }
}

/// Text that a person typed while the agent was working, with its line.
fn typed_meanwhile(transcript: &Transcript<'_>) -> Vec<(u32, String)> {
    let is_typed = |text: &str| {
        // The program's notices and the events of its tasks are queued too.
        let is_event = text.starts_with("{\"task_id\":") && text.contains("\"task_type\":");
        !text.is_empty() && !is_event && !text.trim_start().starts_with('<')
    };
    let queued = queued(transcript).into_iter();
    queued.filter(|(_, text)| is_typed(text)).collect()
}

/// The arguments of a command that a person typed, if any.
fn arguments(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<command-args>")?;
    let (arguments, _) = rest.split_once("</command-args>")?;
    let is_command = text.trim_start().starts_with("<command-");
    Some(arguments.trim()).filter(|arguments| is_command && !arguments.is_empty())
}

/// A person's message without what agents add to it.
fn unwrapped(text: &str) -> String {
    let mut text = text.to_owned();
    for name in WRAPPERS {
        text = without(&text, &format!("<{name}>"), &format!("</{name}>"));
    }
    // In its plan mode, Copilot writes text before the request.
    if let Some((_, request)) = text
        .trim_start()
        .strip_prefix("[[PLAN]] ")
        .and_then(|plan| plan.split_once("\n\nMy request: "))
    {
        text = request.to_owned();
    }
    // The agent's note about an interruption is not the user's text.
    let is_note = text.trim().starts_with("[Request interrupted by user");
    if is_note { String::new() } else { text }
}

/// A text without these marks and everything between them.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        kept.push_str(before);
        rest = inside.split_once(close).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// What a command printed, taken from Codex's enclosing object.
fn printed(text: &str) -> Option<String> {
    if !text.starts_with("{\"output\":") {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value["output"].as_str().map(str::to_owned)
}

/// A text without the line numbers of tools.
fn unnumbered(text: &str) -> String {
    let bare = |line: &str| {
        let digits = line.trim_start_matches(' ');
        let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < digits.len();
        let content = rest.strip_prefix('\t').or_else(|| rest.strip_prefix('→'));
        content.filter(|_| is_numbered).unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(bare).collect();
    lines.join("\n")
}

/// Whether a command writes numbers before the lines that it shows, as tools for reading do.
fn numbers_lines(command: &str) -> bool {
    let mut parts = command.split(['|', ';', '&', '\n']);
    parts.any(|part| {
        let mut words = part.split_whitespace();
        match words.next() {
            Some("nl") => true,
            Some("cat") => words.next() == Some("-n"),
            Some(_) | None => false,
        }
    })
}

/// A text without the line numbers of `nl` and `cat -n`, which are six characters wide and end with a tab.
fn unpadded(text: &str) -> String {
    let bare = |line: &str| {
        let (number, content) = line.split_once('\t')?;
        let digits = number.trim_start_matches(' ');
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        (number.len() >= 6 && is_number).then(|| content.to_owned())
    };
    let lines = text.split('\n');
    let lines: Vec<String> = lines
        .map(|l| bare(l).unwrap_or_else(|| l.to_owned()))
        .collect();
    lines.join("\n")
}

/// A text without line numbers that a point ends, as Copilot writes them; unlike those of a list, every line has the next one.
fn undotted(text: &str) -> String {
    let numbered = |line: &'_ str| {
        let (number, content) = line.split_once('.')?;
        let number: u64 = number.trim_start_matches(' ').parse().ok()?;
        let content = content
            .strip_prefix(' ')
            .or(content.is_empty().then_some(""))?;
        Some((number, content.to_owned()))
    };
    let all: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let lines: Option<Vec<(u64, String)>> = all.into_iter().map(numbered).collect();
    let is_file = |lines: &Vec<(u64, String)>| {
        lines.len() > 1 && lines.windows(2).all(|two| two[1].0 == two[0].0 + 1)
    };
    match lines.filter(is_file) {
        Some(lines) => {
            let lines: Vec<String> = lines.into_iter().map(|(_, content)| content).collect();
            lines.join("\n")
        }
        None => text.to_owned(),
    }
}

/// Appends the strings of a JSON value, one per line.
fn strings(raw: &[u8], out: &mut String) {
    fn walk(value: &serde_json::Value, out: &mut String) {
        use serde_json::Value::{Array, Bool, Null, Number, Object, String};
        match value {
            String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Array(items) => items.iter().for_each(|item| walk(item, out)),
            Object(fields) => fields.values().for_each(|value| walk(value, out)),
            Null | Bool(_) | Number(_) => {}
        }
    }
    if let Ok(value) = serde_json::from_slice(raw) {
        walk(&value, out);
    }
}

#[cfg(test)]
mod tests;
