//! Files in which several sessions were concatenated, in formats whose readers treat all lines as one session.

use crate::scan::Value;
use crate::transcript::{LineKind, Spared, Transcript};

/// The line where a header begins another session: it comes after messages, and its id differs from that of the first header.
/// Headers are lines of type `kind`; `id_of` extracts their session id.
pub(crate) fn joined<'t>(
    transcript: &'t Transcript<'_>,
    kind: &str,
    id_of: impl Fn(Value<'t>) -> Value<'t>,
) -> Option<Spared> {
    let mut first = None;
    let mut is_begun = false;
    for (number, line) in (0u32..).zip(transcript.lines()) {
        is_begun |= line.kind == LineKind::Message;
        if line.kind != LineKind::Session || !transcript.is_there(number) {
            continue;
        }
        let text = transcript.line(number);
        // Skip lines without the word: most lines are not headers, and some are long.
        if memchr::memmem::find(text, kind.as_bytes()).is_none() {
            continue;
        }
        let value = Value::of(text);
        if value.field("type").string() != Some(kind.as_bytes()) {
            continue;
        }
        let id = id_of(value).raw();
        if *first.get_or_insert(id) != id && is_begun {
            return Some(Spared::Joined(number));
        }
    }
    None
}
