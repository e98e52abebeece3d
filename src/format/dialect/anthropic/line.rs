//! Anthropic messages, one per line: `{"role", "content"}` and other keys that an exporter added. Of the latter, only `"isMeta":
//! true` is read: it marks a user message that the agent itself wrote. Alternatively, one conversation per line: `{"messages":
//! […]}`, optionally with a `system`, which is not a message and stays as it is.

use crate::format::shapes::{blocks, conversation};
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{LineKind, Record, Role, Source};

/// Reads one line: a message, a conversation, or an object that only looks like either.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    // Most lines are a message, which this reads in one pass.
    let before = c.clone();
    if let Some(kind) = message(c, record, Place::Line)? {
        return Ok(kind);
    }
    *c = before;
    let listed =
        |c: &mut Cursor<'_>, record: &mut Record<'_, '_>| message(c, record, Place::List).map(drop);
    if let Some(kind) = conversation::messages(c, record, listed)? {
        return Ok(kind);
    }
    let kind = message(c, record, Place::List)?;
    Ok(kind.unwrap_or(LineKind::Unknown))
}

/// Where a message is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is a line.
    Line,
    /// It is one of several messages on a line.
    List,
}

/// Reads a message. Returns `None` without recording anything if the object is a line with a list of messages.
fn message(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    place: Place,
) -> Parse<Option<LineKind>> {
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let mut role = None;
    let mut content = Span::default();
    let mut is_meta = false;
    let mut has_messages = false;
    let line = c.line();
    let object = c.object(|key, c| {
        match key {
            b"role" => {
                role = c
                    .string_or_skip()?
                    .and_then(|t| role_named(t.span.of(line)))
            }
            b"content" => {
                record.forget(blocks, texts);
                content = match c.kind()? {
                    Kind::String | Kind::Array => blocks::content(c, record)?,
                    Kind::Object | Kind::Number | Kind::Bool | Kind::Null => c.skip()?,
                };
            }
            b"isMeta" => is_meta = c.is_true()?,
            b"messages" => {
                has_messages = c.kind()? == Kind::Array;
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    if has_messages && place == Place::Line {
        record.forget(blocks, texts);
        return Ok(None);
    }
    let Some(role) = role else {
        record.forget(blocks, texts);
        return Ok(Some(LineKind::Unknown));
    };
    let source = match is_meta {
        true => Source::Injected,
        false => blocks::source(record.first_words(blocks, line)),
    };
    record.unit(role, object, content, source, blocks);
    Ok(Some(LineKind::Message))
}

fn role_named(name: &[u8]) -> Option<Role> {
    match name {
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        b"system" | b"developer" => Some(Role::System),
        _ => None,
    }
}
