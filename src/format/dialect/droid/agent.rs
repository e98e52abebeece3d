//! Where Factory Droid keeps its sessions, and how it continues them.
//!
//! PURE. A session is `sessions/FOLDER/ID.jsonl`, where FOLDER is made from the working directory, with its settings in a file
//! beside it. The agent finds a session by the name of its file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::format::agent::{Agent, Named, Naming, Surroundings, is_uuid, text_of};
use crate::scan::{Span, Value};

/// The variable that replaces the home folder.
const HOME: &str = "FACTORY_HOME_OVERRIDE";

/// The agent.
#[derive(Debug)]
pub(super) struct DroidAgent;

impl Agent for DroidAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[HOME]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let home = around.folder(HOME, "");
        let folder = home.map(|home| home.join(".factory").join("sessions"));
        folder.into_iter().collect()
    }

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
        text_of(header(line)?.field("cwd"))
    }

    fn naming(&self) -> Naming {
        Naming::Header
    }

    fn ids_on(&self, line: &[u8]) -> Vec<Span> {
        let id = header(line).and_then(|header| header.field("id").inside());
        id.into_iter().collect()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["droid", "--resume", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}

/// The line that a session begins with.
fn header(line: &[u8]) -> Option<Value<'_>> {
    memchr::memmem::find(line, b"\"session_start\"")?;
    let line = Value::of(line);
    (line.field("type").string() == Some(b"session_start")).then_some(line)
}
