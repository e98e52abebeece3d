//! What comes after a compaction: where the output is, and the command with which its agent continues the session.
//!
//! A line for a shell, which is never run here. What comes out of a transcript is quoted, and steers no terminal.

use std::borrow::Cow;
use std::path::Path;

use crate::batch::{directory_of_head, session_at};
use crate::format::Format;
use crate::format::agent::{Named, Surroundings};
use crate::outcome::{Outcome, Status};
use crate::text::{printable, shown_path};

/// Where the output went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// It took the input's place.
    InPlace,
    /// It is a session of its own.
    Fork,
    /// It is a file like any other.
    Elsewhere,
}

/// The closing line on one input, if there is something to say.
pub(super) fn next(outcome: &Outcome, went: Went, around: &Surroundings) -> Option<String> {
    match outcome.status {
        Status::Compacted | Status::Unchanged => {}
        Status::Rejected | Status::Failed | Status::Unsupported | Status::Skipped => return None,
    }
    let output = outcome.output.as_deref().unwrap_or(&outcome.file.path);
    // What waits is written later.
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
        let words = command
            .iter()
            .map(|word| quoted(&shown_path(Path::new(word))).into_owned());
        let words: Vec<String> = words.collect();
        let directory = directory_of_head(format, file);
        // Its agent would look into another folder from there.
        let finds = |directory: &String| {
            session
                .as_ref()
                .is_none_or(|session| session.folder_belongs(directory))
        };
        Some(match directory.filter(finds) {
            Some(directory) => format!("{} && {}", change_to(&directory), words.join(" ")),
            None => words.join(" "),
        })
    });
    let line = match (continued, went, agent) {
        (Some(command), Went::InPlace, _) => format!("continue: {command}"),
        (Some(command), Went::Fork, _) => format!("forked to {shown}; continue: {command}"),
        (Some(command), Went::Elsewhere, _) => format!("written to {shown}; continue: {command}"),
        (None, Went::InPlace, Some((format, _))) => {
            format!(
                "not in a folder of {}, which does not find it there",
                format.name()
            )
        }
        (None, Went::InPlace, None) => return None,
        (None, Went::Fork, _) => format!("forked to {shown}, where no agent looks"),
        (None, Went::Elsewhere, None) => format!("written to {shown}"),
        (None, Went::Elsewhere, Some((format, _))) => {
            let input = Path::new(&outcome.file.path);
            match session_at(around, format, input) {
                Some(_) => {
                    let name = input.file_name().map(|name| shown_path(Path::new(name)));
                    let name = name.unwrap_or_default();
                    let agent = format.name();
                    format!(
                        "written to {shown}, a copy: {agent} resumes {name} only in its own folder; --in-place or --fork"
                    )
                }
                None => format!("written to {shown}"),
            }
        }
    };
    Some(printable(&line).into_owned())
}

/// The words that go to a folder; one whose name begins like a flag is none.
fn change_to(directory: &str) -> String {
    let flagless = if directory.starts_with('-') {
        "-- "
    } else {
        ""
    };
    format!("cd {flagless}{}", quoted(directory))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> Cow<'_, str> {
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
