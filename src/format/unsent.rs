//! Content that no model reads as a message, although a user or a model wrote it.
//!
//! Only counts it; callers that need the content read the lines.

use crate::scan::{Kind, Value};
use crate::transcript::Transcript;

/// A kind of content outside the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// Instructions that the agent itself adds to each request.
    Instructions,
    /// Thinking that is not sent again.
    Thinking,
    /// An answer that broke off and is not sent again.
    Answer,
}

/// Receives what was found, and how often.
pub(crate) type Show<'s> = dyn FnMut(Unsent, u64) + 's;

/// Reports what `of` finds on each line of the output.
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

/// Instructions, if the value is a non-empty string, an object or a list.
pub(super) fn instructions(value: Value<'_>) -> Option<(Unsent, u64)> {
    let says = match value.kind() {
        Some(Kind::String) => value.string() != Some(b""),
        Some(Kind::Object | Kind::Array) => true,
        _ => false,
    };
    says.then_some((Unsent::Instructions, 1))
}
