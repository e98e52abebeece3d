//! What the user typed while the agent was working, as Claude Code records it when it is queued.
//!
//! PURE. Omits what the user took back from the queue, since it was never sent. Does not say what became of the rest: it may
//! reappear as a message or an attachment, or not at all.

use std::ops::RangeInclusive;

use crate::scan::Value;
use crate::transcript::{LineKind, Transcript};

/// The texts queued on lines that are not messages, with the line numbers, in order.
pub fn queued(transcript: &Transcript<'_>) -> Vec<(u32, String)> {
    queued_on(transcript, 0..=u32::MAX)
}

/// The same of these lines. Those behind them are looked at only if there is something that they may take back: a file may have
/// very many spans.
pub fn queued_on(transcript: &Transcript<'_>, lines: RangeInclusive<u32>) -> Vec<(u32, String)> {
    let (first, last) = lines.into_inner();
    let mut queued: Vec<(u32, String)> = Vec::new();
    for (number, line) in (0..).zip(transcript.lines()).skip(first as usize) {
        if number > last && queued.is_empty() {
            break;
        }
        let bytes = transcript.line(number);
        if line.kind != LineKind::Session
            || memchr::memmem::find(bytes, b"\"queue-operation\"").is_none()
        {
            continue;
        }
        let [kind, operation, content] = Value::of(bytes).fields(["type", "operation", "content"]);
        if kind.string() != Some(b"queue-operation") {
            continue;
        }
        let text = content.text().unwrap_or_default().into_owned();
        match operation.string() {
            Some(b"enqueue") => queued.push((number, text)),
            // The text goes back to the user's input line. All other removals are the agent's, which sends the text.
            Some(b"popAll") => {
                if let Some(at) = queued.iter().rposition(|(_, queued)| *queued == text) {
                    queued.remove(at);
                }
            }
            Some(_) | None => {}
        }
    }
    queued.retain(|(number, _)| *number <= last);
    queued
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::read_as;
    use crate::format::Format;

    #[test]
    fn what_the_user_took_back_was_not_said() {
        let operation = |operation: &str, content: &str| {
            format!(
                r#"{{"type":"queue-operation","operation":"{operation}","timestamp":"t","sessionId":"s"{content}}}"#
            )
        };
        let text = |text: &str| format!(r#","content":"{text}""#);
        let lines = [
            r#"{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"go"}}"#.to_owned(),
            operation("enqueue", &text("and stop")),
            operation("enqueue", &text("delete it")),
            operation("enqueue", &text("and wait")),
            operation("popAll", &text("delete it")),
            operation("dequeue", ""),
            operation("remove", ""),
            operation("enqueue", &text("once more")),
            operation("popAll", &text("once more")),
            operation("enqueue", &text("once more")),
        ];
        let lines = lines.join("\n");
        let transcript = read_as(Format::ClaudeCode, &lines);
        let expected = [(1, "and stop"), (3, "and wait"), (9, "once more")];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(queued(&transcript), expected);
    }
}
