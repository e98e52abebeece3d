//! Where Cline's command line keeps its sessions, and how it continues them.
//!
//! PURE. A session is `sessions/ID/ID.messages.json`, with its manifest in a file beside it. The agent finds a session by that
//! manifest; the document names the working directory only in the instructions for the model, which come last.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::format::agent::{Agent, Named, Names, Naming, Surroundings};
use crate::scan::{Span, unescape};

/// The variable that replaces the folder of sessions.
const SESSIONS: &str = "CLINE_SESSION_DATA_DIR";
/// The variable that replaces `~/.cline/data`.
const DATA: &str = "CLINE_DATA_DIR";
/// The variable that replaces `~/.cline`.
const FOLDER: &str = "CLINE_DIR";
/// The end of a session's file name, after its id.
const FILE: &str = ".messages.json";
/// The key of the instructions for the model.
const PROMPT: &[u8] = b"\"system_prompt\"";
/// The text before the working directory in the instructions.
const DIRECTORY: &[u8] = b"Working Directory: ";

/// The agent.
#[derive(Debug)]
pub(super) struct ClineAgent;

impl Agent for ClineAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[SESSIONS, DATA, FOLDER]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let data = || {
            let folder = || Some(around.folder(FOLDER, ".cline")?.join("data"));
            around.named(DATA).or_else(folder)
        };
        let folder = around.named(SESSIONS);
        let folder = folder.or_else(|| Some(data()?.join("sessions")));
        folder.into_iter().collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        let mut parts = below.components();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Component::Normal(id)), Some(Component::Normal(name)), None) => {
                let id = id.to_str()?;
                (name.to_str()?.strip_suffix(FILE)? == id).then_some(id)
            }
            _ => None,
        }
    }

    /// A copy would need a manifest of its own.
    fn id_of_name<'n>(&self, _name: &'n str) -> Option<&'n str> {
        None
    }

    fn names(&self) -> Names {
        Names::Nothing
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        // A message may hold such a key as well, and stands before this one.
        let prompt = &line[memchr::memmem::rfind(line, PROMPT)?..];
        let folder = &prompt[memchr::memmem::find(prompt, DIRECTORY)? + DIRECTORY.len()..];
        let folder = unescape(&folder[..memchr::memmem::find(folder, b"\\n")?]);
        Some(String::from_utf8_lossy(&folder).into_owned())
    }

    fn naming(&self) -> Naming {
        Naming::Header
    }

    /// The manifest names the session as well, so that another id in the document alone makes no other session.
    fn ids_on(&self, _line: &[u8]) -> Vec<Span> {
        Vec::new()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["cline", "--id", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}
