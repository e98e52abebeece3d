//! A whole conversation on one line: `{"messages": […]}`.
//!
//! Never reads the inside of a message, or anything beside the list.

use crate::scan::{Cursor, Kind, Parse};
use crate::transcript::{LineKind, Record};

/// Reads the line with `message`, which is called at the start of each object in the list and must read exactly that object.
/// Returns `None` without moving the cursor if the line is not a conversation.
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
    // The key is nearly always the first. A search rejects lines without it before they are read twice. The key may also be written
    // with escapes.
    let has = |text: &[u8]| memchr::memmem::find(c.line(), text).is_some();
    if !has(b"\"messages\"") && !has(br"\u00") {
        return Ok(false);
    }
    let [messages] = c.clone().fields(["messages"])?;
    Ok(messages.kind() == Some(Kind::Array))
}
