//! The sessions of installed agents: found in their folders, looked up by id, counted.
//!
//! Lists folders and reads; never writes. Follows no link out of an agent's folder. The format's agent knows how sessions are named
//! and where they may be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use super::exclude::Exclude;
use super::inspect::each;
use super::over::{Over, Read};
use super::project::{directory_of_file, is_spawned, is_unused, whole_id};
use super::walk::{Interest, Leave, walk};
use super::{FileSource, Found, Origin, SkipReason, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::format::agent::{Import, Surroundings, directory_of};
use crate::format::{Detected, Format, Warnings};
use crate::stats::{Counter, FileStats};
use crate::store::folder::folder_of;
use crate::text::shown_path;

/// The message if no agent can have a folder.
pub const NO_HOME: &str = "agents keep sessions below HOME, which is not set";

/// The maximum number of sessions listed in an error.
const MAX_NAMED: usize = 5;

/// A file that an agent recognises as a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The format of its agent.
    pub format: Format,
    /// The id by which the agent knows it.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// The agent's folder below which it was found.
    pub folder: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
}

/// The sessions of agents.
#[derive(Debug, Default)]
pub struct Sessions {
    /// The sessions, the newest first.
    pub list: Vec<Session>,
    /// The folders that were searched, or that do not exist.
    pub folders: Vec<PathBuf>,
    /// What could not be read.
    pub unseen: Vec<Error>,
    /// What was left out although nothing failed.
    pub skipped: Vec<(PathBuf, SkipReason)>,
}

/// Which session is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'w> {
    /// The one that was last written to.
    Latest,
    /// The one whose id begins with this.
    Id(&'w str),
}

/// A session that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant<'s> {
    /// The requested one, or the latest one of this project.
    Named(&'s Session),
    /// The latest session of all: this project has none.
    LatestElsewhere(&'s Session),
}

/// The contents of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The folder in which its agent worked.
    pub directory: Option<String>,
    /// The counts; `None` if it is not in its agent's format, or cannot be read.
    pub counts: Option<Figures>,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// The figures of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Typed messages of the live windows.
    pub turns: u64,
    /// Tokens of the live windows.
    pub tokens: u64,
    /// The provider's token count for the last request, as recorded in the file.
    pub recorded: Option<u64>,
    /// Bytes of message lines that models no longer see.
    pub dead_bytes: u64,
}

/// Finds the sessions of all agents, or of one.
pub fn sessions(around: &Surroundings, of: Option<Format>) -> Sessions {
    let mut found = Sessions::default();
    let formats = Format::of_agents().into_iter();
    for format in formats.filter(|format| of.is_none_or(|of| of == *format)) {
        let Some(agent) = format.agent() else {
            continue;
        };
        for folder in agent.folders(around) {
            match folder.metadata() {
                Ok(_) => found.add(format, &folder),
                // Most agents are not installed.
                Err(error) if is_absent(&error) => {}
                Err(error) => found.unseen.push(Error::io(&folder, "look at it", error)),
            }
            found.folders.push(folder);
        }
    }
    found.list.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    found
}

/// Whether an error says that there is no such folder. A folder that may not be looked at is none of these: it may hold sessions.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The session in a file, if its agent would find it there.
pub fn session_at(around: &Surroundings, format: Format, path: &Path) -> Option<Session> {
    let agent = format.agent()?;
    // The file itself may be a link: the agent looks at the link's own path, not at its target.
    let parent = folder_of(path).canonicalize().ok()?;
    let path = parent.join(path.file_name()?);
    agent.folders(around).into_iter().find_map(|folder| {
        let folder = folder.canonicalize().ok()?;
        let id = agent.id(path.strip_prefix(&folder).ok()?)?;
        let id = whole_id(agent, &path, id);
        let modified = path.metadata().ok()?.modified().ok()?;
        Some(Session {
            format,
            id,
            path: path.clone(),
            folder,
            modified,
        })
    })
}

/// The folders in which agents look for sessions.
pub fn agents_folders(around: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let agents = Format::of_agents().into_iter().filter_map(Format::agent);
    agents.flat_map(|agent| agent.folders(around))
}

/// Counts sessions, keyed by their paths.
///
/// # Errors
/// What stops the run: threads that do not start, a signal ([`ErrorKind::Interrupted`]).
pub fn count(over: &Over<'_>, counting: &Counter<'_>) -> Result<BTreeMap<PathBuf, Contents>> {
    let counted = over.each(
        |path: &Path, read, _| (path.to_owned(), contents(path, &read, counting)),
        |path, error| {
            let error = Some(error.message.clone());
            (
                path.to_owned(),
                Contents {
                    error,
                    ..Contents::default()
                },
            )
        },
    )?;
    Ok(counted.into_iter().collect())
}

fn contents(path: &Path, read: &Read<'_>, counting: &Counter<'_>) -> Contents {
    let &Read {
        ref detected,
        bytes,
        ..
    } = read;
    let (format, layout) = match detected {
        Detected::Unsupported(_) => return Contents::default(),
        Detected::Known(format, layout) => (*format, *layout),
    };
    let mut stats = FileStats::default();
    each(bytes, layout, |bytes, first_line, _| {
        let transcript = format.read(bytes, first_line, &mut Warnings::default());
        counting.add(&mut stats, format, &transcript, None);
    });
    Contents {
        directory: directory(format, path, bytes),
        counts: Some(Figures {
            turns: stats.counts.live.turns,
            tokens: stats.counts.live.tokens,
            recorded: last_recorded(&stats),
            dead_bytes: stats.counts.dead.bytes,
        }),
        error: None,
    }
}

/// The provider's count for the last answer of the first conversation that records any for its window as it is.
fn last_recorded(stats: &FileStats) -> Option<u64> {
    let mut conversations = stats.conversations.iter();
    conversations.find_map(|conversation| {
        let mut turns = conversation.timeline.iter().rev();
        turns.find_map(|turn| turn.recorded)
    })
}

fn directory(format: Format, path: &Path, text: &[u8]) -> Option<String> {
    let folder = path
        .parent()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    directory_of(format.agent()?, text, folder)
}

/// How an agent that keeps its sessions in a database takes the one in a file.
pub fn import_of(format: Format, path: &Path) -> Option<Import> {
    let importer = format.importer()?;
    // A packed file is none that the agent takes.
    importer.import(&fs::read(path).ok()?, path)
}

/// The folder in which the agent of a session worked, according to the beginning of its file.
pub fn directory_of_head(format: Format, path: &Path) -> Option<String> {
    directory_of_file(path, format)?
}

impl Session {
    /// Whether an agent of another session has started it: no user talks to it then.
    pub fn is_spawned(&self) -> bool {
        let agent = self.format.agent();
        agent.is_some_and(|agent| is_spawned(agent, &self.path))
    }

    /// Whether its agent worked in this folder.
    fn is_of(&self, here: &Path) -> bool {
        // Checking the folder's name first avoids reading most files.
        let may_be = self.folder_belongs(&here.to_string_lossy());
        may_be
            && directory_of_head(self.format, &self.path)
                .is_some_and(|directory| Path::new(&directory) == here)
    }

    /// Whether its agent, if started in this directory, searches the folder that contains the session.
    pub fn folder_belongs(&self, directory: &str) -> bool {
        let folder = self.path.parent().and_then(Path::file_name);
        let folder = folder.and_then(|name| name.to_str()).unwrap_or_default();
        self.format
            .agent()
            .is_some_and(|agent| agent.belongs(directory, folder))
    }
}

impl Sessions {
    fn add(&mut self, format: Format, folder: &Path) {
        let Some(agent) = format.agent() else { return };
        let is_session = |path: &Path, _: &str| {
            let below = path.strip_prefix(folder);
            match below.is_ok_and(|below| agent.id(below).is_some()) {
                true => Interest::Wanted,
                false => Interest::Ignored,
            }
        };
        let leave = Leave {
            skip: None,
            exclude: &Exclude::default(),
        };
        let walked = walk(folder, leave, is_session);
        self.unseen.extend(walked.errors);
        self.skipped.extend(walked.skipped);
        for path in walked.files {
            let metadata = fs::metadata(&path);
            // An agent creates the file before it writes to it.
            if metadata.as_ref().is_ok_and(|metadata| metadata.len() == 0)
                || is_unused(agent, &path)
            {
                continue;
            }
            let modified = metadata.and_then(|metadata| metadata.modified());
            let id = path
                .strip_prefix(folder)
                .ok()
                .and_then(|below| agent.id(below))
                .map(|id| whole_id(agent, &path, id));
            match (modified, id) {
                (Ok(modified), Some(id)) => {
                    let folder = folder.to_owned();
                    self.list.push(Session {
                        format,
                        id,
                        path,
                        folder,
                        modified,
                    });
                }
                (Err(error), _) => self.unseen.push(Error::io(path, "look at it", error)),
                (Ok(_), None) => {}
            }
        }
    }

    /// These sessions as inputs.
    pub fn inputs(list: &[Session]) -> Found {
        let source = |session: &Session| {
            Source::File(FileSource {
                path: session.path.clone(),
                folder: Some(session.folder.as_path().into()),
                origin: Origin::Walked,
            })
        };
        let mut sources: Vec<Source> = list.iter().map(source).collect();
        sources.sort();
        Found {
            sources: sources.into_iter().collect(),
            ..Found::default()
        }
    }

    /// The requested session; the latest session of the project `here` takes precedence over later ones of other projects.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] where there is none, or more than one.
    pub fn find(&self, wanted: Wanted<'_>, here: Option<&Path>) -> Result<Meant<'_>> {
        let begins = match wanted {
            Wanted::Latest => {
                let is_here = |session: &&Session| {
                    here.is_some_and(|here| session.is_of(here)) && !session.is_spawned()
                };
                let of_here = self.list.iter().find(is_here).map(Meant::Named);
                let of_all = || {
                    let mut list = self.list.iter();
                    list.find(|session| !session.is_spawned())
                        .map(Meant::LatestElsewhere)
                };
                let latest = of_here.or_else(of_all);
                return latest.ok_or_else(|| self.none("no session was found"));
            }
            Wanted::Id(begins) => begins.to_ascii_lowercase(),
        };
        let is_meant = |session: &&Session| {
            let id = session.id.to_ascii_lowercase();
            id.starts_with(&begins) || number_of(&id).starts_with(&begins)
        };
        let meant: Vec<&Session> = self.list.iter().filter(is_meant).collect();
        match meant.as_slice() {
            [] => Err(self.none(&format!(
                "no file has that name, and no session has an id that begins with {begins}"
            ))),
            [one] => Ok(Meant::Named(one)),
            several => {
                let named = several
                    .iter()
                    .take(MAX_NAMED)
                    .map(|session| shown_path(&session.path));
                let named = named.collect::<Vec<_>>().join(", ");
                let message = format!(
                    "{} sessions have an id that begins with {begins}: {named}",
                    several.len()
                );
                let (first, rest) = (several[0], &several[1..]);
                let hint = match () {
                    () if rest.iter().any(|other| other.id != first.id) => {
                        "give more of the id, or name the file"
                    }
                    () if rest.iter().any(|other| other.format != first.format) => {
                        "name the agent with --agent, or the file"
                    }
                    () => "name the file",
                };
                Err(Error::new(ErrorKind::Usage, message).hint(hint))
            }
        }
    }

    fn none(&self, message: &str) -> Error {
        let hint = match self.folders.is_empty() {
            true => NO_HOME.to_owned(),
            false => format!(
                "`ctxpack sessions --all` lists the sessions of {}",
                self.looked_into()
            ),
        };
        Error::new(ErrorKind::Usage, message).hint(hint)
    }

    /// The folders that were looked into, for a message.
    pub fn looked_into(&self) -> String {
        let folders = self.folders.iter().map(|folder| shown_path(folder));
        folders.collect::<Vec<_>>().join(", ")
    }
}

/// The part of an id after the prefix that all ids of its agent share, if there is one: `session_` of Kimi Code.
pub fn number_of(id: &str) -> &str {
    let parts = id.split_once('_');
    let is_word = |prefix: &str| prefix.bytes().all(|byte| byte.is_ascii_alphabetic());
    parts
        .filter(|(prefix, _)| is_word(prefix))
        .map_or(id, |(_, number)| number)
}
