//! Reads one record: a message, a part of an answer, a result, a compaction, or a record that changes or describes the session.
//!
//! The agent builds its messages from `context.` records alone. A [`Link`] contains what this needs:
//!
//! | record | `id` | `parent` | `message` | `content` |
//! | --- | --- | --- | --- | --- |
//! | `context.append_message` | its id | the prompt that a reminder belongs to | | its content |
//! | a loop event | the step that it begins or ends | its step | the type of the event | of `step.end`: the id of the answer |
//! | a copy for another reader | | | | the id of what it repeats |
//!
//! `is_root`: the user can go back to before this message. `is_sidechain`: of another agent than the main one.

use super::evidence::is_record;
use super::message;
use crate::format::shapes::blocks::{quoted, said};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{BlockKind, Compaction, LineKind, Link, LinkKind, Record, Role};

/// The agent whose file it is, unless it is one of a subagent.
const MAIN: &[u8] = b"main";

/// Types of records that repeat messages or report the progress of a turn; they are removed with the turn.
const OF_A_TURN: [&[u8]; 8] = [
    b"llm.request",
    b"usage.record",
    b"prompt.completed",
    b"agent.message.appended",
    b"agent.turn.started",
    b"agent.turn.ended",
    b"turn.ended",
    b"turn.cancel",
];

/// Types of records that describe the session, in addition to those of [`is_record`].
const OF_THE_SESSION: [&[u8]; 11] = [
    b"metadata",
    b"forked",
    b"llm.",
    b"config.",
    b"tools.",
    b"permission.",
    b"runtime.",
    b"plugin.",
    b"goal.",
    b"task.",
    b"subagent.",
];

/// The values of the keys of a record.
#[derive(Default)]
struct Fields<'a> {
    kind: &'a [u8],
    agent: &'a [u8],
    message: Option<Cursor<'a>>,
    event: Option<Cursor<'a>>,
    summary: Option<Summary<'a>>,
    /// The text that is sent instead of the summary.
    sent: Option<Text>,
    keeps_words: bool,
    keeps_tail: Option<bool>,
    prompt: Span,
    count: Span,
    tokens: Span,
    folder: Span,
}

/// The summary of a compaction; older versions wrote it as a message.
enum Summary<'a> {
    Text(Text),
    Message(Cursor<'a>),
}

/// One record.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let mut fields = fields(c)?;
    let mut link = Link {
        is_sidechain: !matches!(fields.agent, b"" | MAIN),
        ..Link::default()
    };
    let found = match fields.kind {
        b"context.append_message" => match &mut fields.message {
            Some(at) => within(c, at, |at| message::message(at, record, &mut link))?,
            None => LineKind::Unknown,
        },
        b"context.append_loop_event" => match &mut fields.event {
            Some(at) => within(c, at, |at| message::event(at, record, &mut link))?,
            None => LineKind::Unknown,
        },
        b"context.apply_compaction" => compaction(c, &mut fields, record, &mut link)?,
        b"context.undo" => {
            (link.kind, link.content) = (LinkKind::GoBack, fields.count);
            LineKind::Control
        }
        b"context.clear" => {
            link.kind = LinkKind::Compaction(Compaction::Boundary);
            LineKind::Control
        }
        b"agent.switched" => {
            link.kind = LinkKind::ChosenPointer;
            LineKind::Control
        }
        b"profile.bind" => {
            if !fields.folder.is_empty() {
                (link.kind, link.content) = (LinkKind::Folder, fields.folder);
            }
            LineKind::Session
        }
        b"llm.tools_snapshot" => {
            link.kind = LinkKind::Request;
            LineKind::Session
        }
        b"agent.message.appended" => {
            if let Some(at) = &mut fields.message {
                within(c, at, |at| message::copy(at, record, &mut link))?;
            }
            LineKind::Mirror
        }
        b"turn.prompt" | b"turn.steer" => {
            (link.role, link.content) = (Some(Role::User), fields.prompt);
            LineKind::Mirror
        }
        kind if kind.starts_with(b"token_counting.") => {
            (link.kind, link.content) = (LinkKind::Count, fields.tokens);
            LineKind::Mirror
        }
        kind if OF_A_TURN.contains(&kind) || kind.starts_with(b"turn.step.") => LineKind::Mirror,
        b"context.undone" => LineKind::Control,
        kind if kind.starts_with(b"full_compaction.") => LineKind::Control,
        kind if kind.starts_with(b"micro_compaction.") => LineKind::Control,
        kind if OF_THE_SESSION.iter().any(|own| kind.starts_with(own)) || is_record(kind) => {
            LineKind::Session
        }
        _ => LineKind::Unknown,
    };
    record.link(link);
    Ok(found)
}

/// Reads a value that the cursor has already passed.
fn within<'a, T>(
    c: &mut Cursor<'a>,
    at: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Parse<T>,
) -> Parse<T> {
    let found = read(at)?;
    c.anomalies.insert(at.anomalies);
    Ok(found)
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let line = c.line();
    let mut read = Fields::default();
    let object = |c: &mut Cursor<'a>, kind| -> Parse<Option<Cursor<'a>>> {
        // Its meaning depends on the type, which may come later.
        let at = (kind == Kind::Object).then(|| c.clone());
        c.skip()?;
        Ok(at)
    };
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => read.kind = c.string_span()?.of(line),
            (b"agentId", _) => read.agent = c.string_span()?.of(line),
            (b"message", kind) => read.message = object(c, kind)?,
            (b"event", kind) => read.event = object(c, kind)?,
            (b"summary", Kind::String) => read.summary = Some(Summary::Text(c.string()?)),
            (b"summary", kind) => read.summary = object(c, kind)?.map(Summary::Message),
            (b"contextSummary", _) => read.sent = c.string_or_skip()?,
            (b"keptUserMessageCount", kind) => {
                read.keeps_words = kind == Kind::Number;
                c.skip()?;
            }
            (b"legacyTail", kind) => {
                read.keeps_tail = None;
                if kind == Kind::Bool {
                    read.keeps_tail = Some(c.is_true()?);
                } else {
                    c.skip()?;
                }
            }
            (b"promptId" | b"messageId", _) => read.prompt = c.string_span()?,
            (b"count", Kind::Number) => read.count = c.skip()?,
            (b"tokens", Kind::Number) => read.tokens = c.skip()?,
            (b"environmentDisclosure", Kind::Object) => {
                let [folder] = c.fields(["cwd"])?;
                read.folder = folder.inside().unwrap_or_default();
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A compaction: it keeps the tail of the messages, or those that the user wrote.
fn compaction<'a>(
    c: &mut Cursor<'a>,
    fields: &mut Fields<'a>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let keeps_tail = fields.keeps_tail.unwrap_or(!fields.keeps_words);
    link.kind = LinkKind::Compaction(match keeps_tail {
        true => Compaction::Summary,
        false => Compaction::UserWords,
    });
    match (fields.summary.take(), fields.sent) {
        (Some(Summary::Message(mut at)), None) if keeps_tail => {
            within(c, &mut at, |at| message::message(at, record, &mut *link))?;
            link.kind = LinkKind::Compaction(Compaction::Summary);
        }
        (_, Some(text)) | (Some(Summary::Text(text)), None) => {
            link.content = quoted(text);
            said(record, BlockKind::Text, text);
        }
        (Some(Summary::Message(_)) | None, None) => {
            link.kind = LinkKind::Compaction(Compaction::Unreadable);
            return Ok(LineKind::Control);
        }
    }
    (link.role, link.is_summary) = (Some(Role::User), true);
    (link.id, link.parent) = (Span::default(), Span::default());
    Ok(LineKind::Message)
}
