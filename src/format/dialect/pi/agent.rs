//! Where pi keeps its sessions, and how it continues them.
//!
//! PURE. A session is `sessions/--PATH--/TIME_ID.jsonl`, or `TIME_ID.jsonl` in a folder that a variable names. The agent finds
//! it by the id in its header, or takes any file that it is given.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::format::agent::{Agent, Named, Naming, Surroundings, text_of, uuid_at_end};
use crate::scan::{Span, Value};

/// The variable that replaces `~/.pi/agent`.
const FOLDER: &str = "PI_CODING_AGENT_DIR";
/// The variable that replaces the folder of the sessions; there are no folders per project then.
const SESSIONS: &str = "PI_CODING_AGENT_SESSION_DIR";

/// The agent.
#[derive(Debug)]
pub(super) struct PiAgent;

impl Agent for PiAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[FOLDER, SESSIONS]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let folder = around.folder(FOLDER, ".pi/agent");
        let own = folder.map(|folder| folder.join("sessions"));
        around.named(SESSIONS).or(own).into_iter().collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        if below.components().count() > 2 {
            return None;
        }
        self.id_of_name(below.file_name()?.to_str()?)
    }

    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let stem = name.strip_suffix(".jsonl")?;
        let id = uuid_at_end(stem)?;
        stem.strip_suffix(id)?.ends_with('_').then_some(id)
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
        let named = match session {
            Named::Id(id) => OsString::from(id),
            Named::File(path) => path.as_os_str().to_owned(),
        };
        Some(vec!["pi".into(), "--session".into(), named])
    }
}

/// The value of a header line.
fn header(line: &[u8]) -> Option<Value<'_>> {
    memchr::memmem::find(line, b"\"session\"")?;
    let header = Value::of(line);
    (header.field("type").string() == Some(b"session")).then_some(header)
}
