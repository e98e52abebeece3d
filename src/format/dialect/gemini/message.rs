//! Reads a message object, which is on a line of its own or in a list of messages.
//!
//! The agent sends a user message unless it begins like a command, and a model message together with its calls and their results.
//! Messages to the user (`info` and the like) are never sent. Never decides what is live.

use crate::format::shapes::blocks::{self, quoted};
use crate::format::shapes::parts::{self, Begins, Content, Thoughts};
use crate::scan::{Cursor, Kind, Parse, Span, unescape};
use crate::transcript::{Block, BlockKind, Outcome, Record, Role, Shape, Source};

/// The type of a user message, or of results that are sent in the user's name.
pub(super) const TYPED: &[u8] = b"user";
/// The type of a model message.
pub(super) const ANSWER: &[u8] = b"gemini";
/// The types of messages to the user.
pub(super) const NOTES: [&[u8]; 3] = [b"info", b"error", b"warning"];
/// The prefix of the ids of summaries that this program wrote.
pub(super) const SUMMARY: &[u8] = b"ctxpack-summary-";

/// The beginnings of user messages that the agent does not send: commands, and contexts that it regenerates.
const UNSENT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];
/// How the messages begin that the agent writes in the user's name, as they stand in JSON: one of them has what a process printed.
const INJECTED: [&[u8]; 2] = [
    b"System: Potential loop detected",
    b"Background execution update:\\n<background_output>\\n",
];

/// What an object turned out to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said {
    /// A message that a model sees.
    Message {
        /// Its id, between the quotes.
        id: Span,
    },
    /// A message that is not sent.
    Unsent {
        /// Its id, between the quotes.
        id: Span,
    },
    /// An object that the agent ignores.
    Nothing,
}

impl Said {
    /// The id, between the quotes; empty if there is none.
    pub(super) fn id(self) -> Span {
        match self {
            Said::Message { id } | Said::Unsent { id } => id,
            Said::Nothing => Span::default(),
        }
    }

    /// Whether it is a summary that this program wrote.
    pub(super) fn is_summary(self, line: &[u8]) -> bool {
        self.id().of(line).starts_with(SUMMARY)
    }
}

/// Reads a list of messages, calling `each` with each result. Returns the span of the list.
pub(super) fn messages(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    mut each: impl FnMut(Said),
) -> Parse<Span> {
    c.array(|c| match c.kind()? {
        Kind::Object => {
            each(message(c, record)?);
            Ok(())
        }
        Kind::Array | Kind::String | Kind::Number | Kind::Bool | Kind::Null => c.skip().map(drop),
    })
}

/// Reads the message object at the cursor.
pub(super) fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<Said> {
    let line = c.line();
    let (mut kind, mut id): (&[u8], Option<Span>) = (b"", None);
    let (mut content, mut calls) = (None, None);
    let object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => kind = c.string_span()?.of(line),
            (b"id", _) => id = c.string_or_skip()?.map(|text| text.span),
            (b"content", _) => {
                content = Some(c.clone());
                c.skip()?;
            }
            (b"toolCalls", Kind::Array) => {
                calls = Some(c.clone());
                c.skip()?;
            }
            (b"toolCalls", _) => {
                calls = None;
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let Some(id) = id else {
        return Ok(Said::Nothing);
    };
    let start = record.block_mark();
    let texts = record.text_mark();
    let mut said = Content::default();
    if kind == TYPED || kind == ANSWER {
        if let Some(mut at) = content {
            said = parts::content(&mut at, record, Thoughts::Removed)?;
            c.anomalies.insert(at.anomalies);
        }
        if let Some(mut at) = calls.filter(|_| kind == ANSWER) {
            tool_calls(&mut at, record, &said)?;
            c.anomalies.insert(at.anomalies);
        }
    }
    let first = record.first_words(start, line);
    let role = match kind {
        TYPED if is_unsent(line, said.begins) => {
            record.forget(start, texts);
            return Ok(Said::Unsent { id });
        }
        TYPED if said.only_results => Role::Tool,
        TYPED => Role::User,
        ANSWER => Role::Assistant,
        _ => return Ok(Said::Unsent { id }),
    };
    let source = if id.of(line).starts_with(SUMMARY) {
        Source::Summary
    } else if first.is_some_and(|first| INJECTED.iter().any(|begin| first.starts_with(begin))) {
        Source::Injected
    } else {
        blocks::source(first)
    };
    record.unit(role, object, said.span, source, start);
    Ok(Said::Message { id })
}

/// Whether the agent does not send a user message: it is empty, or begins like a command or a context.
fn is_unsent(line: &[u8], begins: Option<Begins>) -> bool {
    match begins {
        None => true,
        Some(Begins::Other) => false,
        Some(Begins::Words(words)) => {
            let words = unescape(words.of(line));
            let words = String::from_utf8_lossy(&words);
            let words = words.trim_start();
            UNSENT.iter().any(|beginning| words.starts_with(beginning))
        }
    }
}

/// The calls of a message with their results. If the content has calls or thoughts, the agent sends those, and only the results
/// from `toolCalls`.
fn tool_calls(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, said: &Content) -> Parse<()> {
    c.array(|c| {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        let line = c.line();
        let (mut id, mut name, mut args) = (Span::default(), Span::default(), Span::default());
        let (mut status, mut shown) = (Span::default(), Span::default());
        let mut result = None;
        let object = c.object(|key, c| {
            match (key, c.kind()?) {
                (b"id", _) => id = c.string_span()?,
                (b"name", _) => name = c.string_span()?,
                (b"args", _) => args = c.skip()?,
                (b"status", _) => status = c.string_span()?,
                (b"resultDisplay", Kind::String | Kind::Object | Kind::Array) => {
                    shown = c.skip()?
                }
                (b"resultDisplay", _) => {
                    shown = Span::default();
                    c.skip()?;
                }
                (b"result", _) => {
                    result = Some(c.clone());
                    c.skip()?;
                }
                _ => drop(c.skip()?),
            }
            Ok(())
        })?;
        if !said.has_calls_or_thoughts {
            let mut call = Block::new(BlockKind::Call);
            // The element also contains the result, which is a block of its own.
            call.value = match (args.is_empty(), id.is_empty()) {
                (false, _) => args,
                (true, false) => id,
                (true, true) => Span::new(object.start as usize, object.start as usize + 1),
            };
            call.content = args;
            (call.call_id, call.tool) = (id, name);
            record.block(call, record.text_mark());
        }
        let mut by = Block::new(BlockKind::Result);
        (by.call_id, by.tool) = (id, name);
        if matches!(status.of(line), b"error" | b"cancelled") {
            by.outcome = Outcome::Failed;
        }
        if let Some(mut at) = result {
            outputs(&mut at, record, by)?;
            c.anomalies.insert(at.anomalies);
        }
        if !shown.is_empty() && !id.is_empty() {
            record.mirror(shown, id);
        }
        Ok(())
    })
    .map(drop)
}

/// The results of a call; `by` is what the call tells about them.
fn outputs(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, by: Block) -> Parse<()> {
    match c.kind()? {
        Kind::String => {
            let texts = record.text_mark();
            let text = c.string()?;
            if !text.span.is_empty() {
                record.text(text);
                let mut block = Block {
                    shape: Shape::String,
                    value: quoted(text),
                    content: quoted(text),
                    ..by
                };
                parts::fail_by_status(&mut block, c.line());
                record.block(block, texts);
            }
            Ok(())
        }
        Kind::Array => c
            .array(|c| parts::part(c, record, Some(by), Thoughts::Removed).map(drop))
            .map(drop),
        Kind::Object => parts::part(c, record, Some(by), Thoughts::Removed).map(drop),
        Kind::Number | Kind::Bool | Kind::Null => c.skip().map(drop),
    }
}
