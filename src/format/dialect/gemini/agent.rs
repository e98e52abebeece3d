//! Where Gemini CLI keeps its sessions, and how it continues them.
//!
//! PURE. A session is `tmp/PROJECT/chats/session-TIME-ID.jsonl`, with the beginning of its id in its name; the agent finds it by
//! the whole id, which its lines name, and only when it is started in the project's folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::format::agent::{Agent, Named, Names, Naming, Surroundings, uuid_at_end};
use crate::scan::{Span, Value, lines, unescape};

/// The variable that replaces the home folder.
const HOME: &str = "GEMINI_CLI_HOME";
/// The number of characters of an id in the name of a file.
const SHORT: usize = 8;
/// The beginning of the context that the agent sends first.
const CONTEXT: &[u8] = b"<session_context>";
/// The text before the agent's working folders in that context.
const FOLDERS: &[u8] = b"- **Workspace Directories:**\\n  - ";

/// The agent.
#[derive(Debug)]
pub(super) struct GeminiAgent;

impl Agent for GeminiAgent {
    fn variables(&self) -> &'static [&'static str] {
        &[HOME]
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let home = around.folder(HOME, "");
        let folder = home.map(|home| home.join(".gemini").join("tmp"));
        folder.into_iter().collect()
    }

    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        let folder = below.parent()?;
        // The sessions of subagents are in deeper folders.
        let is_chat = folder.components().count() == 2 && folder.ends_with("chats");
        let name = below.file_name()?.to_str()?;
        self.id_of_name(name).filter(|_| is_chat)
    }

    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let name = name.strip_prefix("session-")?.strip_suffix(".jsonl")?;
        if let Some(id) = uuid_at_end(name) {
            return Some(id);
        }
        let (_, short) = name.rsplit_once('-')?;
        let is_short =
            short.len() == SHORT && short.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_short.then_some(short)
    }

    fn names(&self) -> Names {
        Names::Beginning
    }

    fn directory(&self, line: &[u8]) -> Option<String> {
        let set = line.trim_ascii_start().starts_with(b"{\"$set\"");
        memchr::memmem::find(line, CONTEXT).filter(|_| set)?;
        let at = memchr::memmem::find(line, FOLDERS)? + FOLDERS.len();
        let folder = &line[at..];
        let folder = &folder[..memchr::memmem::find(folder, b"\\n")?];
        let folder = unescape(folder);
        Some(String::from_utf8_lossy(&folder).into_owned())
    }

    fn tells_unused(&self) -> Option<fn(&[u8]) -> bool> {
        Some(is_unused)
    }

    fn naming(&self) -> Naming {
        Naming::EveryLine
    }

    fn ids_on(&self, line: &[u8]) -> Vec<Span> {
        if memchr::memmem::find(line, b"\"sessionId\"").is_none() {
            return Vec::new();
        }
        let [own, set, message] = Value::of(line).fields(["sessionId", "$set", "id"]);
        let id = match (message.is_there(), set.is_there()) {
            (true, _) => None,
            (false, true) => set.field("sessionId").inside(),
            (false, false) => own.inside(),
        };
        id.into_iter().collect()
    }

    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>> {
        match session {
            Named::Id(id) => Some(["gemini", "--resume", id].map(OsString::from).into()),
            Named::File(_) => None,
        }
    }
}

/// Whether a file holds no message but the agent's own context. The agent writes such a file at each start; when it resumes a session at
/// its prompt, it gives it that session's id, goes on in the older file, and leaves this one behind.
fn is_unused(text: &[u8]) -> bool {
    let is_context = |message: Value<'_>| {
        let mut is_first = false;
        let content = message.field("content");
        content.elements(|part| {
            let text = part.field("text").string().unwrap_or_default();
            is_first |= text.starts_with(CONTEXT);
        });
        is_first
    };
    lines(text).all(|raw| {
        let [message, set] = Value::of(&text[raw.start..raw.end]).fields(["id", "$set"]);
        let mut is_unused = !message.is_there();
        let messages = set.field("messages");
        messages.elements(|message| is_unused &= is_context(message));
        is_unused
    })
}
