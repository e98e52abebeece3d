//! Reads one line: blocks of a message, or an event about the run.

use crate::format::shapes::blocks;
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{LineKind, Link, LinkKind, Record, Role};

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (mut kind, mut message, mut result) = (Span::default(), None, Span::default());
    let mut link = Link::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => kind = c.string_span()?,
            (b"parent_tool_use_id", _) => link.parent = c.string_span()?,
            (b"isSynthetic", _) => link.is_injected = c.is_true()?,
            (b"tool_use_result", _) => result = c.skip()?,
            (b"message", kind) => {
                // Its meaning depends on the type, which may come later.
                message = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    link.role = match kind.of(line) {
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        b"system" | b"result" | b"stream_event" => {
            record.link(Link::default());
            return Ok(LineKind::Session);
        }
        _ => None,
    };
    let Some((mut at, _)) = message.zip(link.role) else {
        record.link(Link::default());
        return Ok(LineKind::Unknown);
    };
    link.kind = LinkKind::Node;
    link.is_sidechain = !link.parent.is_empty();
    let start = record.block_mark();
    at.object(|key, c| {
        match key {
            b"id" => link.message = c.string_span()?,
            b"content" => link.content = blocks::content(c, record)?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    c.anomalies.insert(at.anomalies);
    link.is_echo = record.first_words(start, line).is_some_and(blocks::is_echo);
    if !result.is_empty() {
        record.mirror(result, Span::default());
    }
    record.link(link);
    Ok(LineKind::Message)
}
