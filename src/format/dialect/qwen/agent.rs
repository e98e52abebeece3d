//! Where Qwen Code keeps its sessions, and how it continues them.
//!
//! PURE. A session is `projects/FOLDER/chats/ID.jsonl`, where FOLDER is made from the working directory. The agent finds a session
//! by the name of its file, and only in the folder of the directory in which it is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::format::agent::{Agent, Named, Naming, Surroundings, is_uuid, text_of};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.qwen` for what a session writes.
const RUNTIME: &str = "QWEN_RUNTIME_DIR";
/// The variable that replaces it for everything.
const FOLDER: &str = "QWEN_HOME";

/// The agent.
#[derive(Debug)]
pub(super) struct QwenAgent;

impl Agent for QwenAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[RUNTIME, FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.named(RUNTIME);
        let folder = folder.or_else(|| around.folder(FOLDER, ".qwen"));
        folder
            .map(|folder| folder.join("projects"))
            .into_iter()
            .collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        let folder = below.parent()?;
        // Subagents' conversations are in other folders.
        let is_chat = folder.components().count() == 2 && folder.ends_with("chats");
        let name = below.file_name()?.to_str()?;
        self.id_of_name(name).filter(|_| is_chat)
    }

    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_suffix(".jsonl").filter(|id| is_uuid(id))
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        memchr::memmem::find(line, b"\"cwd\"")?;
        text_of(Value::of(line).field("cwd"))
    }

    fn naming(&self) -> Naming {
        Naming::EveryLine
    }

    fn ids_on(&self, line: &[u8]) -> Vec<Span> {
        if memchr::memmem::find(line, b"\"sessionId\"").is_none() {
            return Vec::new();
        }
        let id = Value::of(line).field("sessionId").inside();
        id.into_iter().collect()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["qwen", "--resume", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}
