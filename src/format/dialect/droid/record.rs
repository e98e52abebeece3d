//! Reads one line: a message, a compaction with its summary, or a record that describes the session.

use crate::format::shapes::blocks::{self, quoted};
use crate::scan::{Cursor, Kind, Parse, Span, Text};
use crate::transcript::{BlockKind, Compaction, LineKind, Link, LinkKind, Record, Role};

/// The values of the keys of a line.
#[derive(Default)]
struct Fields<'a> {
    kind: &'a [u8],
    id: Span,
    parent: Span,
    turn: Span,
    summary: Option<Text>,
    message: Option<Cursor<'a>>,
}

/// The values of the keys of a message, except its content.
#[derive(Default)]
struct Said<'a> {
    role: &'a [u8],
    visibility: &'a [u8],
    is_agents: bool,
    content: Option<Cursor<'a>>,
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let fields = fields(c)?;
    let mut link = Link {
        id: fields.id,
        parent: fields.parent,
        ..Link::default()
    };
    let kind = match (fields.kind, fields.message) {
        (b"message", Some(mut at)) => {
            let kind = message(&mut at, record, &mut link)?;
            c.anomalies.insert(at.anomalies);
            kind
        }
        (b"compaction_state", _) => match fields.summary {
            Some(text) => {
                link.role = Some(Role::User);
                link.kind = LinkKind::Compaction(Compaction::Summary);
                link.is_summary = true;
                link.content = quoted(text);
                blocks::said(record, BlockKind::Text, text);
                LineKind::Message
            }
            None => LineKind::Unknown,
        },
        (b"agent_turn_outcome", _) => {
            link = Link {
                message: fields.turn,
                ..Link::default()
            };
            LineKind::Mirror
        }
        (b"session_start" | b"todo_state", _) => {
            link = Link::default();
            LineKind::Session
        }
        (_, _) => LineKind::Unknown,
    };
    record.link(link);
    Ok(kind)
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let line = c.line();
    let mut read = Fields::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => read.kind = c.string_span()?.of(line),
            (b"id", _) => read.id = c.string_span()?,
            (b"parentId", _) => read.parent = c.string_span()?,
            (b"turnId", _) => read.turn = c.string_span()?,
            (b"summaryText", _) => read.summary = c.string_or_skip()?,
            (b"message", kind) => {
                read.message = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, link: &mut Link) -> Parse<LineKind> {
    let line = c.line();
    let mut said = Said::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"role", _) => said.role = c.string_span()?.of(line),
            (b"visibility", _) => said.visibility = c.string_span()?.of(line),
            (b"hookEventName", kind) => {
                said.is_agents |= kind == Kind::String;
                c.skip()?;
            }
            (b"hiddenFromUserViews", _) => said.is_agents |= c.is_true()?,
            (b"isUserVisible", kind) => {
                said.is_agents |= kind == Kind::Bool && !c.is_true()?;
                if kind != Kind::Bool {
                    c.skip()?;
                }
            }
            (b"content", _) => {
                said.content = Some(c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    if said.role.is_empty() {
        return Ok(LineKind::Unknown);
    }
    link.kind = LinkKind::Node;
    link.role = match said.role {
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        // A message from the agent to the user.
        _ => Some(Role::System),
    };
    let unsent = said.visibility == b"user_only" || link.role == Some(Role::System);
    let Some(mut at) = said.content.filter(|_| !unsent) else {
        return Ok(LineKind::Control);
    };
    let start = record.block_mark();
    link.content = blocks::content(&mut at, record)?;
    c.anomalies.insert(at.anomalies);
    link.is_injected = said.is_agents || said.visibility == b"llm_only";
    link.is_echo = record.first_words(start, line).is_some_and(blocks::is_echo);
    Ok(LineKind::Message)
}
