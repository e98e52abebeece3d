//! Content of a file that no model reads as a message, although a user or a model wrote it.
//!
//! Only counts: who needs what is there reads the lines.

use crate::scan::{Kind, Value};
use crate::transcript::Transcript;

/// Something that is said beside the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// Instructions of the agent, which it adds to each request by itself.
    Instructions,
    /// Thinking that is not sent again.
    Thinking,
    /// An answer that broke off, which is not sent again.
    Answer,
}

/// Gets what is there, and how often.
pub(crate) type Show<'s> = dyn FnMut(Unsent, u64) + 's;

/// Shows what `of` says of each line that is there.
pub(super) fn by_line(
    transcript: &Transcript<'_>,
    show: &mut Show<'_>,
    of: impl Fn(Value<'_>) -> Option<(Unsent, u64)>,
) {
    for line in (0..transcript.lines().len() as u32).filter(|line| transcript.is_there(*line)) {
        if let Some((what, times)) = of(Value::of(transcript.line(line))) {
            show(what, times);
        }
    }
}

/// Instructions, if there is a text or a list under these keys.
pub(super) fn instructions(value: Value<'_>) -> Option<(Unsent, u64)> {
    let says = match value.kind() {
        Some(Kind::String) => value.string() != Some(b""),
        Some(Kind::Object | Kind::Array) => true,
        _ => false,
    };
    says.then_some((Unsent::Instructions, 1))
}
