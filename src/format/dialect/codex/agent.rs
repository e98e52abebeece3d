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

    fn naming(&self) -> Naming {
        Naming::Header
    }

    /// A session from which others were forked names itself twice.
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

/// The payload of a header.
fn header(line: &[u8]) -> Option<Value<'_>> {
    memchr::memmem::find(line, b"\"session_meta\"")?;
    let [kind, payload] = Value::of(line).fields(["type", "payload"]);
    (kind.string() == Some(b"session_meta")).then_some(payload)
}
