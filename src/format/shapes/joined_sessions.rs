//! Files into which several sessions were joined, in formats whose readers take all lines for those of one session.

use crate::scan::Value;
use crate::transcript::{LineKind, Spared, Transcript};

/// Where a header begins another session: it comes after messages, and its id is not that of the first header. Headers are lines of
/// this type; `id_of` says how they name their session.
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
        // Most lines of that kind are no headers, and some are long.
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
