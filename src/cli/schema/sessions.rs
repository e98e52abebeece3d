//! What `sessions` prints for programs.

use serde_json::json;

use super::build::{Schema, count, key, list, object, one_of, or_null, text, text_like};
use crate::format::Format;

pub(super) fn schema() -> Schema {
    let figure = |name, about| key(name, or_null(count()), about);
    let agents = Format::of_agents().into_iter().map(Format::name);
    let session = object(vec![
        key(
            "agent",
            one_of(agents),
            "The agent, by the name of its format.",
        ),
        key("id", text(), "The session's id."),
        key("path", text(), "Its file."),
        key(
            "modified",
            or_null(text_like(
                "^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
            )),
            "When the file was last written, in UTC.",
        ),
        key(
            "project",
            or_null(text()),
            "The folder that the agent worked in, if its lines name one.",
        ),
        figure("turns", "Typed messages; null if it could not be read."),
        figure(
            "live_tokens",
            "What a model would see now; null if it could not be read.",
        ),
        figure(
            "recorded",
            "The tokens of the last request, as the provider counted them.",
        ),
        figure(
            "dead_bytes",
            "Bytes of message lines that no model sees; null if it could not be read.",
        ),
        key(
            "error",
            or_null(text()),
            "Why it could not be read, or null.",
        ),
    ]);
    let root = object(vec![
        key(
            "schema_version",
            json!({"const": 1}),
            "It rises when a field changes its meaning or is removed.",
        ),
        key("folders", list(text()), "The folders that were searched."),
        key("sessions", list(session), "The newest first."),
        key("more", count(), "How many more there are."),
    ]);
    Schema {
        title: "ctxpack sessions",
        about: "The sessions of installed agents: what sessions --json prints.",
        root,
        parts: Vec::new(),
    }
}
