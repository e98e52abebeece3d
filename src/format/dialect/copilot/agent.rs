//! Where GitHub Copilot CLI keeps its sessions, and how it continues them.
//!
//! PURE. A session is `session-state/ID/events.jsonl`, with other files beside it; the agent finds it by the name of the folder.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::format::agent::{Agent, Named, Names, Naming, Surroundings, is_uuid, text_of};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.copilot`.
const FOLDER: &str = "COPILOT_HOME";
/// The name of every session's file.
const FILE: &str = "events.jsonl";

/// The agent.
#[derive(Debug)]
pub(super) struct CopilotAgent;

impl Agent for CopilotAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.folder(FOLDER, ".copilot");
        folder
            .map(|folder| folder.join("session-state"))
            .into_iter()
            .collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        let mut parts = below.components();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Component::Normal(id)), Some(Component::Normal(name)), None) if name == FILE => {
                id.to_str().filter(|id| is_uuid(id))
            }
            _ => None,
        }
    }

    /// All sessions have files of the same name.
    fn id_of_name<'n>(&self, _name: &'n str) -> Option<&'n str> {
        None
    }

    fn names(&self) -> Names {
        Names::Nothing
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        text_of(header(line)?.within(&["context", "cwd"]))
    }

    fn naming(&self) -> Naming {
        Naming::Header
    }

    fn ids_on(&self, line: &[u8]) -> Vec<Span> {
        let id = header(line).and_then(|data| data.field("sessionId").inside());
        id.into_iter().collect()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(vec!["copilot".into(), format!("--resume={id}").into()]),
            Named::File(_) => None,
        }
    }
}

/// The data of a session's first event.
fn header(line: &[u8]) -> Option<Value<'_>> {
    memchr::memmem::find(line, b"\"session.start\"")?;
    let [kind, data] = Value::of(line).fields(["type", "data"]);
    (kind.string() == Some(b"session.start")).then_some(data)
}
