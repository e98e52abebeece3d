//! Older sessions of Gemini CLI: the messages of a session of lines, as a document has them.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::gemini;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::{Around, Written};

/// Each message as it stood last, where it first stood. A turn with half of a surrogate pair, which is no text for this reader, is
/// left out.
pub(super) fn session(tape: &mut Tape) -> Written {
    let mut messages: Vec<(Value, String)> = Vec::new();
    let (mut turn, mut is_left_out) = (0, false);
    for line in gemini::session(tape, Mode::Clean).lines {
        let raw = serde_json::from_slice::<&RawValue>(&line);
        let (Ok(raw), Ok(message)) = (raw, serde_json::from_slice::<Value>(&line)) else {
            messages.truncate(turn);
            is_left_out = true;
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let parts = message["content"].as_array();
        let mut parts = parts.into_iter().flatten();
        let is_prompt =
            message["type"] == "user" && parts.all(|part| part.get("functionResponse").is_none());
        if is_prompt {
            (turn, is_left_out) = (messages.len(), false);
        }
        if is_left_out {
            continue;
        }
        let new = (id.clone(), raw.get().to_owned());
        match messages.iter_mut().find(|(known, _)| known == id) {
            Some(known) => *known = new,
            None => messages.push(new),
        }
    }
    let text = |text: &str| json!(text);
    Written {
        around: Around::from([
            ("sessionId", text("1307a0e7-228c-4264-9f9a-3632866d31f0")),
            ("projectHash", text("3a2a0eeefd7e41d2")),
            ("startTime", text("2026-01-02T00:00:00.000Z")),
            ("lastUpdated", text("2026-01-02T00:00:00.000Z")),
        ]),
        messages: messages.into_iter().map(|(_, raw)| raw).collect(),
    }
}

pub(super) fn id(message: &Value) -> &Value {
    &message["id"]
}

/// Takes out what a compaction may change: results and what was displayed of them.
pub(super) fn blank(message: &mut Value) {
    if let Some(parts) = message.get_mut("content").and_then(Value::as_array_mut) {
        for part in parts {
            if let Some(said) = part.get_mut("functionResponse") {
                said["response"] = Value::Null;
            }
        }
    }
    if let Some(calls) = message.get_mut("toolCalls").and_then(Value::as_array_mut) {
        for call in calls.iter_mut().filter_map(Value::as_object_mut) {
            call.remove("result");
            call.remove("resultDisplay");
        }
    }
}
