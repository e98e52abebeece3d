//! Reads one line: a message, a change to what was recorded, or a header. A header has no messages: with messages, it is a
//! document.
//!
//! The agent checks in this order, and so does this: `$rewindTo`, an id, `$set`, and then the two ids of a header.

use super::message::{Said, message, messages};
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{Compaction, LineKind, Link, LinkKind, Record};

/// The values of the keys of a line that is not a message.
#[derive(Default)]
struct Fields<'a> {
    rewind: Option<Span>,
    has_id: bool,
    set: Option<Cursor<'a>>,
    is_header: (bool, bool),
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let whole = c.clone();
    let fields = fields(c)?;
    let mut link = Link::default();
    let kind = if let Some(to) = fields.rewind {
        link.kind = LinkKind::GoBack;
        link.content = to;
        LineKind::Control
    } else if fields.has_id {
        let mut again = whole;
        let said = message(&mut again, record)?;
        c.anomalies.insert(again.anomalies);
        link.id = said.id();
        match said {
            Said::Message { .. } => {
                link.is_summary = said.is_summary(c.line());
                LineKind::Message
            }
            Said::Unsent { .. } => LineKind::Mirror,
            Said::Nothing => LineKind::Unknown,
        }
    } else if let Some(mut set) = fields.set {
        let kind = patch(&mut set, record, &mut link)?;
        c.anomalies.insert(set.anomalies);
        kind
    } else if fields.is_header == (true, true) {
        LineKind::Session
    } else {
        LineKind::Unknown
    };
    record.link(link);
    Ok(kind)
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let mut read = Fields::default();
    c.object(|key, c| {
        let kind = c.kind()?;
        match key {
            b"$rewindTo" => read.rewind = c.string_or_skip()?.map(|text| text.span),
            b"id" => {
                read.has_id = kind == Kind::String;
                c.skip()?;
            }
            b"$set" => {
                let holds = matches!(kind, Kind::Object | Kind::Array);
                read.set = holds.then(|| c.clone());
                c.skip()?;
            }
            b"sessionId" => read.is_header.0 = !c.string_span()?.is_empty(),
            b"projectHash" => read.is_header.1 = !c.string_span()?.is_empty(),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A change to what was recorded. With `messages`, it begins a new history; a change that only records the time belongs to the
/// message before it.
fn patch(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, link: &mut Link) -> Parse<LineKind> {
    if c.kind()? != Kind::Object {
        c.skip()?;
        return Ok(LineKind::Unknown);
    }
    let (mut messages, mut others, mut times) = (None, 0, 0);
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"messages", Kind::Array) => {
                messages = Some(c.clone());
                c.skip()?;
            }
            (b"messages", _) => {
                messages = None;
                c.skip()?;
            }
            (b"lastUpdated", _) => {
                times += 1;
                c.skip()?;
            }
            _ => {
                others += 1;
                c.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(mut at) = messages else {
        return Ok(match (others, times) {
            (0, 1..) => LineKind::Mirror,
            (_, _) => LineKind::Session,
        });
    };
    link.kind = LinkKind::Compaction(Compaction::Replacement);
    let kind = list(&mut at, record, link)?.unwrap_or(LineKind::Control);
    c.anomalies.insert(at.anomalies);
    Ok(kind)
}

/// A list of messages; `None` if a model sees none of them.
fn list(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<Option<LineKind>> {
    let line = c.line();
    let mut any = false;
    link.content = messages(c, record, |said| {
        any |= matches!(said, Said::Message { .. });
        link.is_summary |= said.is_summary(line);
    })?;
    // If a model sees any of its messages, the conversation begins with this list.
    link.is_root = any;
    Ok(any.then_some(LineKind::Message))
}
