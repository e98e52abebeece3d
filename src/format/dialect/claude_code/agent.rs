//! Where Claude Code keeps its sessions, and how it continues them.
//!
//! PURE. A session is `projects/FOLDER/ID.jsonl`, where FOLDER is made from the working directory. The id is the file's name:
//! the agent finds a session only by this name, and only in the folder of the directory in which it is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::format::agent::{Agent, Named, Naming, Surroundings, is_uuid, text_of};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.claude`.
const FOLDER: &str = "CLAUDE_CONFIG_DIR";
/// The maximum length of a project folder's name; a longer one is cut and ends in a hash.
const MOST_NAME: usize = 200;

/// The agent.
#[derive(Debug)]
pub(super) struct ClaudeCodeAgent;

impl Agent for ClaudeCodeAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.folder(FOLDER, ".claude");
        folder
            .map(|folder| folder.join("projects"))
            .into_iter()
            .collect()
    }

    /// Files in deeper folders belong to subagents, which are not sessions of their own.
    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        if below.components().count() != 2 {
            return None;
        }
        self.id_of_name(below.file_name()?.to_str()?)
    }

    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_suffix(".jsonl").filter(|id| is_uuid(id))
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        memchr::memmem::find(line, b"\"cwd\"")?;
        text_of(Value::of(line).field("cwd"))
    }

    fn belongs(&self, directory: &str, folder: &str) -> bool {
        let is_kept = |c: char| c.is_ascii_alphanumeric();
        // The agent counts UTF-16 code units.
        let name: String = directory
            .chars()
            .flat_map(|c| std::iter::repeat_n(if is_kept(c) { c } else { '-' }, c.len_utf16()))
            .collect();
        name == folder || name.len() > MOST_NAME && folder.starts_with(&name[..MOST_NAME])
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
            Named::Id(id) => Some(["claude", "--resume", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}
