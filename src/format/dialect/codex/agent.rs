//! Where Codex keeps its sessions, and how it continues them.
//!
//! PURE. A session is `sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`; the agent finds it by the id in the file's name, at any
//! depth. Archived sessions (`archived_sessions`) cannot be continued and are not listed.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::format::agent::{Agent, Named, Naming, Surroundings, text_of, uuid_at_end};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.codex`.
const FOLDER: &str = "CODEX_HOME";

/// The agent.
#[derive(Debug)]
pub(super) struct CodexAgent;

impl Agent for CodexAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.folder(FOLDER, ".codex");
        folder
            .map(|folder| folder.join("sessions"))
            .into_iter()
            .collect()
    }

    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let name = name.strip_suffix(".zst").unwrap_or(name);
        let name = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
        uuid_at_end(name)
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        text_of(header(line)?.field("cwd"))
    }

    fn tells_spawned(&self) -> Option<fn(&[u8]) -> bool> {
        Some(is_spawned)
    }

    fn naming(&self) -> Naming {
        Naming::Header
    }

    /// The header of a session that others were forked from contains its id twice.
    fn ids_on(&self, line: &[u8]) -> Vec<Span> {
        let Some(header) = header(line) else {
            return Vec::new();
        };
        let [id, session] = header.fields(["id", "session_id"]);
        let session = Some(session).filter(|session| session.string() == id.string());
        let mut ids = [Some(id), session].into_iter().flatten();
        let mut spans: Vec<Span> = ids.by_ref().filter_map(Value::inside).collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["codex", "resume", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}

/// Whether the header says that another session's agent spawned this one. The header is long and may be incomplete here, so it is
/// searched rather than parsed: unescaped quotes around a key cannot occur inside a string.
fn is_spawned(head: &[u8]) -> bool {
    let header = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |key: &[u8]| memchr::memmem::find(header, key).is_some();
    has(b"\"session_meta\"")
        && (has(b"\"thread_source\":\"subagent\"") || has(b"\"source\":{\"subagent\":"))
}

/// The payload of a header.
fn header(line: &[u8]) -> Option<Value<'_>> {
    memchr::memmem::find(line, b"\"session_meta\"")?;
    let [kind, payload] = Value::of(line).fields(["type", "payload"]);
    (kind.string() == Some(b"session_meta")).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_a_spawned_session() {
        let header = |of: &str| {
            format!(r#"{{"type":"session_meta","payload":{{"id":"a",{of},"base_instructions":"x"#)
        };
        for of in [
            r#""thread_source":"subagent""#,
            r#""source":{"subagent":{"thread_spawn":{}}}"#,
        ] {
            assert!(is_spawned(header(of).as_bytes()), "{of}");
        }
        let main = header(r#""source":"exec","thread_source":"user""#);
        let said = format!("{main}\n{}", header(r#""thread_source":"subagent""#));
        assert!(!is_spawned(said.as_bytes()));
    }
}
