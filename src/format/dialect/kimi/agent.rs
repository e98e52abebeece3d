//! Where Kimi Code keeps its sessions, and how it continues them.
//!
//! PURE. A session is a folder `sessions/WORKSPACE/ID`, with the records of each agent in `agents/AGENT/wire.jsonl`. The agent
//! finds it by the name of the folder; the working directory is in a separate file beside the records, and in the record of the
//! agent's profile.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::format::agent::{Agent, Named, Names, Naming, Surroundings, is_uuid, text_of};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.kimi-code`.
const FOLDER: &str = "KIMI_CODE_HOME";
/// The parts of the path of a session's file after its id.
const FILE: [&str; 3] = ["agents", "main", "wire.jsonl"];

/// The agent.
#[derive(Debug)]
pub(super) struct KimiAgent;

impl Agent for KimiAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.folder(FOLDER, ".kimi-code");
        folder
            .map(|folder| folder.join("sessions"))
            .into_iter()
            .collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        let parts = below.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        match parts.collect::<Option<Vec<&str>>>()?.as_slice() {
            [_, id, file @ ..] if file == FILE => Some(*id).filter(|id| is_session(id)),
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
        memchr::memmem::find(line, b"\"profile.bind\"")?;
        let [kind, disclosed] = Value::of(line).fields(["type", "environmentDisclosure"]);
        let directory = text_of(disclosed.field("cwd"))?;
        (kind.string() == Some(b"profile.bind")).then_some(directory)
    }

    fn naming(&self) -> Naming {
        Naming::Header
    }

    /// No record names the session.
    fn ids_on(&self, _line: &[u8]) -> Vec<Span> {
        Vec::new()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["kimi", "--session", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}

fn is_session(id: &str) -> bool {
    id.strip_prefix("session_").is_some_and(is_uuid)
}
