//! Sessions that a command line names by their ids, or as the latest: looked up in the folders of installed agents.
//!
//! The only place where the environment is read for agents. A path that exists is never looked up.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Context;
use crate::batch::{Meant, Sessions, Wanted, number_of, sessions};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::format::agent::Surroundings;
use crate::text::{printable, shown_path};

/// The word for the most recently written session.
const LATEST: &str = "latest";
/// The shortest accepted prefix of an id, in characters.
const FEWEST: usize = 4;
/// The longest number in an id, in characters.
const MOST: usize = 36;

/// Which agent's sessions are searched.
#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(names()))]
    #[arg(help = agent_help(), hide_possible_values = true)]
    agent: Option<String>,
}

/// The names of agents, which are those of their formats.
fn names() -> Vec<&'static str> {
    Format::of_agents().into_iter().map(Format::name).collect()
}

fn agent_help() -> String {
    format!("Search only sessions of this agent: {}", names().join(", "))
}

/// The environment as agents see it.
pub(super) fn surroundings() -> Surroundings {
    Surroundings::of(|name| env::var_os(name))
}

/// Which sessions `latest` may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LatestScope {
    /// The latest of this folder, or, if there is none, the latest of all: for commands that change no session.
    Anywhere,
    /// The latest of this folder only.
    ThisFolder,
}

impl AgentArgs {
    /// The agent, if one was named.
    pub(super) fn format(&self) -> Result<Option<Format>> {
        let Some(name) = &self.agent else {
            return Ok(None);
        };
        let mut formats = Format::of_agents().into_iter();
        let unknown = || Error::new(ErrorKind::Usage, format!("unknown agent {name:?}"));
        let format = formats.find(|format| format.name() == name);
        format.map(Some).ok_or_else(unknown)
    }

    /// The paths, with ids replaced by the paths of their sessions; prints which sessions these are.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if no such session exists, or `latest` is a session of another folder and `scope` forbids that.
    pub(super) fn paths(
        &self,
        context: &Context,
        paths: &[PathBuf],
        scope: LatestScope,
    ) -> Result<Vec<PathBuf>> {
        let format = self.format()?;
        let mut found: Option<Sessions> = None;
        let mut all = Vec::with_capacity(paths.len());
        for path in paths {
            let Some(wanted) = wanted(path) else {
                all.push(path.clone());
                continue;
            };
            let found = found.get_or_insert_with(|| sessions(&surroundings(), format));
            let here = env::current_dir().ok();
            let meant = found.find(wanted, here.as_deref());
            // What could not be read may hold the session that is not found, or a later one.
            if meant.is_err() || wanted == Wanted::Latest {
                found.unseen.iter().for_each(|error| context.error(error));
            }
            let meant = meant?;
            let (Meant::Named(session) | Meant::LatestElsewhere(session)) = meant;
            if matches!(
                (meant, scope),
                (Meant::LatestElsewhere(_), LatestScope::ThisFolder)
            ) {
                let message = "no session belongs to this folder";
                return Err(Error::new(ErrorKind::NotFound, message).hint(format!(
                    "the latest of all is {}, in {}: to change that one, name it",
                    session.id,
                    session.path.display()
                )));
            }
            if context.is_for_people() {
                say(meant);
            }
            all.push(session.path.clone());
        }
        if format.is_some() && found.is_none() {
            let message = "--agent needs a session id, or latest";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("leave --agent out: the format of a file is detected from its content"));
        }
        Ok(all)
    }
}

/// Prints which session was chosen.
fn say(meant: Meant<'_>) {
    let (session, why) = match meant {
        Meant::Named(session) => (session, ""),
        Meant::LatestElsewhere(session) => (
            session,
            " (no session belongs to this folder; this is the latest of all)",
        ),
    };
    let (agent, path) = (session.format.name(), shown_path(&session.path));
    let _ = writeln!(
        io::stderr().lock(),
        "{agent} session {}: {}{why}",
        printable(&session.id),
        printable(&path)
    );
}

/// The session that an argument means, if it is not a path.
fn wanted(path: &Path) -> Option<Wanted<'_>> {
    let word = path.to_str()?;
    let number = number_of(word);
    let is_hex = number
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_id = (FEWEST..=MOST).contains(&number.len())
        && (is_hex || is_timed(number))
        && number.starts_with(|c: char| c.is_ascii_hexdigit());
    let wanted = match word {
        LATEST => Wanted::Latest,
        id if is_id => Wanted::Id(id),
        _ => return None,
    };
    // A broken link is a path, too.
    path.symlink_metadata().is_err().then_some(wanted)
}

/// Whether an id begins with a time, as Cline's do: `1795914832181_rvxmw`.
fn is_timed(number: &str) -> bool {
    let is_time = |time: &str| time.len() >= FEWEST && time.bytes().all(|b| b.is_ascii_digit());
    number.split_once('_').is_some_and(|(time, rest)| {
        is_time(time) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_latest_are_sessions_and_all_else_is_a_path() {
        for word in [
            "5c03",
            "5c030e11-0000-4000-8000-000000000001",
            "ABCD",
            "session_5c030e11-0000-4000-8000-000000000001",
            "1795914832181_rvxmw",
            "1795914832181_",
        ] {
            assert_eq!(wanted(Path::new(word)), Some(Wanted::Id(word)));
        }
        assert_eq!(wanted(Path::new("latest")), Some(Wanted::Latest));
        for word in [
            "5c0",
            "-abc",
            "./5c03",
            "5c03.jsonl",
            "newest",
            "src",
            "-",
            "1_5c03",
            "179_rvxmw",
            "1795914832181_a.b",
            "5c030e11_rvxmw",
            "session_",
            "a_5c0",
        ] {
            assert_eq!(wanted(Path::new(word)), None, "{word}");
        }
    }
}
