//! A whole conversation on one line: `{"messages": […]}`.
//!
//! Never reads what is in a message, and nothing beside the list.

use crate::scan::{Cursor, Kind, Parse};
use crate::transcript::{LineKind, Record};

/// Reads the line with `message`, which is called before each object of the list and reads exactly that. `None`, and the
/// cursor has not moved, where the line is no conversation.
pub(in crate::format) fn messages(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    mut message: impl FnMut(&mut Cursor<'_>, &mut Record<'_, '_>) -> Parse<()>,
) -> Parse<Option<LineKind>> {
    // A line with `messages` is not itself a message, whatever other keys it has.
    if !has_messages(c)? {
        return Ok(None);
    }
    c.object(|key, c| {
        if key != b"messages" || c.kind()? != Kind::Array {
            return c.skip().map(drop);
        }
        c.array(|c| match c.kind()? {
            Kind::Object => message(c, record),
            Kind::Array | Kind::String | Kind::Number | Kind::Bool | Kind::Null => {
                c.skip().map(drop)
            }
        })
        .map(drop)
    })?;
    Ok(Some(LineKind::Message))
}

/// Whether the object at the cursor, which does not move, has a list `messages`.
fn has_messages(c: &Cursor<'_>) -> Parse<bool> {
    // The key is nearly always the first; a search rejects lines without it before they are read twice. Escapes can spell it, too.
    let has = |text: &[u8]| memchr::memmem::find(c.line(), text).is_some();
    if !has(b"\"messages\"") && !has(br"\u00") {
        return Ok(false);
    }
    let [messages] = c.clone().fields(["messages"])?;
    Ok(messages.kind() == Some(Kind::Array))
}
