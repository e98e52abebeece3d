//! Reads one message: `{info, parts}`.
//!
//! An answer that failed is not sent, unless it was interrupted after it had said something. Never decides what is live.

use super::part::{self, Parts};
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{Answer, Compaction, LineKind, Link, LinkKind, Record, Role, Source};

/// What a message's `info` tells about it.
#[derive(Default)]
struct Info {
    id: Span,
    role: Option<Role>,
    parent: Span,
    is_summary: bool,
    is_finished: bool,
    /// The name of its error, if it has one.
    error: Option<Span>,
}

/// One message.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (mut of, mut list) = (Info::default(), None);
    let object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"info", Kind::Object) => of = info(c)?,
            (b"parts", Kind::Array) => {
                list = Some(c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let (Some(role), Some(mut list)) = (of.role, list) else {
        return Ok(LineKind::Unknown);
    };
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let parts = part::parts(&mut list, record, role)?;
    c.anomalies.insert(list.anomalies);
    let error = of.error.map(|name| name.of(line));
    let is_sent = match error {
        None => true,
        Some(name) => name == b"MessageAbortedError" && parts.says,
    };
    let is_summary = role == Role::Assistant && of.is_summary && of.is_finished && error.is_none();
    let mut link = Link {
        id: of.id,
        parent: of.parent,
        role: Some(role),
        is_summary,
        ..Link::default()
    };
    link.kind = match parts.compaction {
        _ if is_summary => LinkKind::Compaction(Compaction::Summary),
        Some(tail) => {
            link.content = tail;
            LinkKind::Compaction(Compaction::Boundary)
        }
        None => LinkKind::Node,
    };
    if !is_sent {
        link.answer = Answer::ApiError;
        record.forget(blocks, texts);
    }
    let Parts {
        span, only_added, ..
    } = parts;
    let (role, source) = match is_summary {
        true => (Role::User, Source::Summary),
        false if role == Role::User && only_added => (role, Source::Injected),
        false => (role, Source::Own),
    };
    record.unit(role, object, span, source, blocks);
    record.link(link);
    Ok(match is_sent {
        true => LineKind::Message,
        false => LineKind::Session,
    })
}

fn info(c: &mut Cursor<'_>) -> Parse<Info> {
    let line = c.line();
    let mut info = Info::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"id", Kind::String) => info.id = c.string_span()?,
            (b"parentID", Kind::String) => info.parent = c.string_span()?,
            (b"role", Kind::String) => {
                info.role = match c.string_span()?.of(line) {
                    b"user" => Some(Role::User),
                    b"assistant" => Some(Role::Assistant),
                    _ => None,
                }
            }
            (b"summary", Kind::Bool) => info.is_summary = c.is_true()?,
            (b"finish", Kind::String) => info.is_finished = !c.string_span()?.is_empty(),
            (b"error", Kind::Object) => {
                let mut name = Span::default();
                c.object(|key, c| {
                    match key {
                        b"name" => name = c.string_span()?,
                        _ => drop(c.skip()?),
                    }
                    Ok(())
                })?;
                info.error = Some(name);
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(info)
}
