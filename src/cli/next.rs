//! What comes after a compaction: where the output is, and the command with which its agent continues the session.
//!
//! The line is meant for a shell, but is never run here. Text from a transcript is quoted, and contains no terminal control
//! sequences.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use crate::batch::{directory_of_head, import_of, session_at};
use crate::format::Format;
use crate::format::agent::{Agent, Named, Names, Surroundings};
use crate::outcome::{Outcome, Status};
use crate::text::{printable, shown_path};

/// Where the output went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputMode {
    /// It replaced the input.
    InPlace,
    /// It is a session of its own.
    Fork,
    /// It is an ordinary file.
    Elsewhere,
}

/// The closing line for a single input, if there is something to say.
pub(super) fn next(
    outcome: &Outcome,
    output_mode: OutputMode,
    around: &Surroundings,
) -> Option<String> {
    match outcome.status {
        Status::Compacted | Status::Unchanged => {}
        // A copy, as it was.
        Status::Unsupported => {
            let copy = outcome.output.as_deref().filter(|output| *output != "-")?;
            let shown = shown_path(Path::new(copy));
            return Some(printable(&format!("copied as it is to {shown}")).into_owned());
        }
        Status::Rejected | Status::Failed | Status::Skipped => return None,
    }
    let output = outcome.output.as_deref().unwrap_or(&outcome.file.path);
    // A pending output is written later.
    if output == "-" || outcome.is_pending() {
        return None;
    }
    let file = Path::new(output);
    let shown = shown_path(file);
    let format = outcome.file.format.as_deref().and_then(Format::named);
    let agent = format.and_then(|format| Some((format, format.agent()?)));
    let continued = agent.and_then(|(format, agent)| {
        let session = session_at(around, format, file);
        let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let named = match &session {
            Some(session) => Named::Id(&session.id),
            None => Named::File(&whole),
        };
        let command = agent.command(named)?;
        let directory = directory_of_head(format, file);
        // From that directory, its agent would search another folder.
        let finds = |directory: &String| {
            session
                .as_ref()
                .is_none_or(|session| session.folder_belongs(directory))
        };
        Some(from(directory.filter(finds).as_deref(), &line_of(&command)))
    });
    let continued = continued.or_else(|| {
        // What was not changed is not put in the place of anything.
        let format = format.filter(|_| outcome.status == Status::Compacted)?;
        imported(format, file, output_mode)
    });
    let line = match (continued, output_mode, agent) {
        (Some(command), OutputMode::InPlace, _) => command,
        (command, OutputMode::Fork, _) if outcome.output.is_none() => {
            let command = command.map(|command| format!("; {command}"));
            let command = command.unwrap_or_default();
            format!("not forked, because nothing was changed{command}")
        }
        (Some(command), OutputMode::Fork, _) => format!("forked to {shown}; {command}"),
        (Some(command), OutputMode::Elsewhere, _) => format!("written to {shown}; {command}"),
        (None, OutputMode::InPlace, Some((format, _))) => {
            let agent = format.name();
            format!("{shown} is outside the folders of {agent}, which will not find it there")
        }
        (None, OutputMode::InPlace, None) => return None,
        (None, OutputMode::Fork, _) => format!("forked to {shown}, where no agent looks"),
        (None, OutputMode::Elsewhere, None) => format!("written to {shown}"),
        (None, OutputMode::Elsewhere, Some((format, agent))) => {
            match session_at(around, format, Path::new(&outcome.file.path)) {
                Some(_) => {
                    let input = Path::new(&outcome.file.path);
                    let why = match input.parent() == file.parent() {
                        true => "name",
                        false => "folder",
                    };
                    copied(&shown, why, format, agent)
                }
                None => format!("written to {shown}"),
            }
        }
    };
    Some(printable(&line).into_owned())
}

/// How to continue a session that its agent has to import first, if the file holds one. Importing it is no part of the command that
/// continues it, which people repeat: a second import would undo what was said since.
fn imported(format: Format, file: &Path, output_mode: OutputMode) -> Option<String> {
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let import = import_of(format, &whole)?;
    let directory = import.directory.as_deref();
    // An imported session belongs to the folder in which it is imported.
    let here = directory.filter(|directory| Path::new(directory).is_dir());
    let (what, delete) = match output_mode {
        // The agent has no session with that id yet.
        OutputMode::Fork => ("take the new session into", None),
        OutputMode::InPlace | OutputMode::Elsewhere => {
            ("replace the session in", Some(line_of(&import.delete)))
        }
    };
    let taken = here.map(change_to).into_iter().chain(delete);
    let taken: Vec<String> = taken.chain([line_of(&import.take)]).collect();
    let resume = from(directory, &line_of(&import.resume));
    Some(format!(
        "{what} {} by `{}`, once; {resume}",
        format.name(),
        taken.join(" && ")
    ))
}

/// A command, quoted for a shell.
fn line_of(command: &[OsString]) -> String {
    let words = command
        .iter()
        .map(|word| quoted(&shown_path(Path::new(word))).into_owned());
    words.collect::<Vec<String>>().join(" ")
}

/// How to continue with a command from the folder of its session, if that is known.
fn from(directory: Option<&str>, command: &str) -> String {
    match directory {
        None => format!("continue: {command}"),
        Some(directory) if Path::new(directory).is_dir() => {
            format!("continue: {} && {command}", change_to(directory))
        }
        // A session from another machine, or a project that has moved: changing to its folder would fail before the agent starts.
        Some(directory) => format!("its folder {directory} is not here; continue: {command}"),
    }
}

/// The message about a copy of a session that its agent does not recognise.
fn copied(shown: &str, why: &str, format: Format, agent: &dyn Agent) -> String {
    let name = format.name();
    let fork = match agent.names() {
        Names::Nothing => "",
        Names::Whole | Names::Beginning => "; --fork writes a new session with its own id",
    };
    format!(
        "written to {shown}, a copy that {name} does not recognise as a session because of its {why}; --in-place compacts the session itself{fork}"
    )
}

/// The command that changes to a folder, even if the folder's name looks like a flag.
fn change_to(directory: &str) -> String {
    let flagless = if directory.starts_with('-') {
        "-- "
    } else {
        ""
    };
    format!("cd {flagless}{}", quoted(directory))
}

/// A word quoted for a shell.
pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [
            ("/srv/tide", "/srv/tide"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$(rm -r x);`y`", "'$(rm -r x);`y`'"),
            ("~", "'~'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert_eq!(change_to("-x"), "cd -- -x");
    }
}
