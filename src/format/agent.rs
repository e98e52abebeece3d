//! Agents that store their sessions in files: where the files are, what a session's id is, and how to continue it.
//!
//! PURE. The environment comes in as data; no folder is listed and no file is opened here. A session's text is not trusted:
//! code that displays it must escape it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::Format;
use crate::scan::{RawLine, Span, Value, lines, unescape};

/// An agent that continues sessions from the files of one format.
pub trait Agent: Debug + Sync {
    /// The environment variables that set the location of its folders.
    fn variables(&self) -> &'static [&'static str];

    /// The folders that contain its sessions, at any depth.
    fn folders(&self, around: &Surroundings) -> Vec<PathBuf>;

    /// The id of the session in a file, from the file's path below one of these folders; `None` where the agent does not look.
    fn id<'p>(&self, below: &'p Path) -> Option<&'p str> {
        self.id_of_name(below.file_name()?.to_str()?)
    }

    /// The id of a session, from its file name.
    fn id_of_name<'n>(&self, name: &'n str) -> Option<&'n str>;

    /// How much of the id its file names contain.
    fn names(&self) -> Names {
        Names::Whole
    }

    /// The working directory that a line names.
    fn directory(&self, line: &[u8]) -> Option<String>;

    /// Whether a session of that working directory belongs in a folder of that name.
    fn belongs(&self, _directory: &str, _folder: &str) -> bool {
        true
    }

    /// A function that tells from the beginning of a file whether another session's agent spawned this one; `None` for an agent
    /// that keeps such sessions elsewhere.
    fn tells_spawned(&self) -> Option<fn(&[u8]) -> bool> {
        None
    }

    /// A function that tells from the whole text of a file whether nothing was said in it yet; `None` for an agent that writes no such
    /// files.
    fn tells_unused(&self) -> Option<fn(&[u8]) -> bool> {
        None
    }

    /// Which of its lines name the session.
    fn naming(&self) -> Naming;

    /// The ids of the session on a line, without their quotes.
    fn ids_on(&self, line: &[u8]) -> Vec<Span>;

    /// The command that continues a session.
    fn command(&self, session: Named<'_>) -> Option<Vec<OsString>>;
}

/// How much of a session's id its file name contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// All of it.
    Whole,
    /// The beginning, which the agent does not accept as the id: the full id is on the lines.
    Beginning,
    /// Nothing: each session has a folder of its own, whose name contains the id.
    Nothing,
}

/// Which lines name the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// All lines.
    EveryLine,
    /// The first line with an id. Later ids belong to sessions that it was forked from.
    Header,
}

/// How the session to continue is specified to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'p> {
    /// A session in one of its folders.
    Id(&'p str),
    /// A file anywhere else.
    File(&'p Path),
}

/// How an agent that keeps its sessions in a database takes one from a document, and continues it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The folder in which the agent worked.
    pub directory: Option<String>,
    /// The command that deletes the session. Where the agent has one with that id, it has to come before `take`, and undoes what was
    /// said since.
    pub delete: Vec<OsString>,
    /// The command that takes the document.
    pub take: Vec<OsString>,
    /// The command that continues the session.
    pub resume: Vec<OsString>,
}

/// An agent that keeps its sessions in a database, and takes them from documents.
pub trait Importer: Debug + Sync {
    /// How it takes the session in a document, which is in the file of that path; `None` if there is no session in it.
    fn import(&self, document: &[u8], file: &Path) -> Option<Import>;

    /// Whether a file that begins like this may be one of its documents.
    fn may_begin(&self, document: &[u8]) -> bool;

    /// The id of a copy of the session in a document; `None` if there is no session in it. It depends on the session's id and on `of`.
    fn id_of_copy(&self, document: &[u8], of: &str) -> Option<String>;

    /// The document with the session under another id, and with other ids for all that the agent keeps once.
    fn under_id(&self, document: &[u8], id: &str) -> Vec<u8>;
}

/// The part of the environment that agents look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    home: Option<PathBuf>,
    variables: BTreeMap<&'static str, PathBuf>,
}

impl Surroundings {
    /// Uses `variable` to read every variable that any agent looks at.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let agents = Format::ALL.into_iter().filter_map(Format::agent);
        let names = agents.flat_map(Agent::variables);
        Surroundings {
            home: path(if cfg!(windows) { "USERPROFILE" } else { "HOME" }),
            variables: names
                .filter_map(|name| Some((*name, path(name)?)))
                .collect(),
        }
    }

    /// The folder that a variable names, or else one below the home folder.
    pub(super) fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variables.get(variable).map(|path| self.expanded(path));
        named.or_else(|| Some(self.home.as_ref()?.join(below_home)))
    }

    /// The folder that a variable names.
    pub(super) fn named(&self, variable: &str) -> Option<PathBuf> {
        self.variables.get(variable).map(|path| self.expanded(path))
    }

    /// Replaces a leading `~` with the home folder: for these variables, no shell has expanded it.
    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => home.join(below),
            (Ok(_), None) | (Err(_), _) => path.to_owned(),
        }
    }
}

/// The working directory of a session, from all or the beginning of its text; `folder` is the name of the folder that contains the
/// file.
pub fn directory_of(agent: &dyn Agent, text: &[u8], folder: Option<&str>) -> Option<String> {
    // A session that changed directories names several; if it was copied from elsewhere, the first one is a good guess.
    const MOST: usize = 500;
    let found = lines(text).filter_map(|raw| agent.directory(of_line(raw, text)));
    let mut first = None;
    for directory in found.take(MOST) {
        if folder.is_none_or(|folder| agent.belongs(&directory, folder)) {
            return Some(directory);
        }
        first.get_or_insert(directory);
    }
    first
}

/// The id of a session, from the beginning of its text.
pub fn id_on_lines(agent: &dyn Agent, text: &[u8]) -> Option<String> {
    lines(text).find_map(|raw| {
        let line = of_line(raw, text);
        let id = agent.ids_on(line).into_iter().next()?;
        Some(String::from_utf8_lossy(id.of(line)).into_owned())
    })
}

/// The session under another id: every id that its lines name is replaced, and no other byte changes.
pub fn under_id(agent: &dyn Agent, text: &[u8], id: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for raw in lines(text) {
        let spans = agent.ids_on(of_line(raw, text));
        for span in &spans {
            out.extend_from_slice(&text[done..raw.start + span.start as usize]);
            out.extend_from_slice(id.as_bytes());
            done = raw.start + span.end();
        }
        match agent.naming() {
            Naming::EveryLine => {}
            Naming::Header if spans.is_empty() => {}
            Naming::Header => break,
        }
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// A line's bytes; empty for a line that is too long to be read.
fn of_line(raw: RawLine, text: &[u8]) -> &[u8] {
    let line = &text[raw.start..raw.end];
    if line.len() > Span::MAX_LINE {
        return &[];
    }
    line
}

/// The id of a copy: the same session with the same bytes always gets the same id. It is a UUID, since agents accept nothing
/// else.
pub fn id_of_copy(id: &str, hash: &str) -> String {
    let digest = blake3::hash(format!("{id}\n{hash}").as_bytes()).to_hex();
    let [a, b, c, d, e] = [0..8, 8..12, 13..16, 17..20, 20..32].map(|range| &digest[range]);
    format!("{a}-{b}-4{c}-8{d}-{e}")
}

/// Whether a text has the form of a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match byte {
            b'-' => dashes.contains(&at),
            byte => byte.is_ascii_hexdigit() && !dashes.contains(&at),
        })
}

/// The UUID at the end of a text.
pub(super) fn uuid_at_end(text: &str) -> Option<&str> {
    let id = text.get(text.len().checked_sub(36)?..)?;
    is_uuid(id).then_some(id)
}

/// The text of a JSON string.
pub(super) fn text_of(value: Value<'_>) -> Option<String> {
    let text = unescape(value.string()?);
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests;
