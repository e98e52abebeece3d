//! Reads the command line, and says what is wrong with one that cannot be read.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use serde_json::json;

use super::next::quoted;
use super::screen::Color;
use super::{Cli, Context, ErrorFormat, Voice, json_line, stdout_failed};
use crate::error::{Error, ErrorKind};
use crate::text::printable;

/// The exit code of a command line that cannot be read.
const USAGE: u8 = 2;

/// Parses a command line; its help and its errors have colours as `--color` says.
fn parsed(words: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let colour = match value_of(words, "--color") {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        Some(_) | None => clap::ColorChoice::Auto,
    };
    let mut command = Cli::command().color(colour);
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Parses a command line. Errors, and help that was requested, are printed here; the error is the exit code.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> std::result::Result<Cli, u8> {
    let words: Vec<OsString> = words.into_iter().collect();
    parsed(&words).map_err(|error| {
        if let Some(path) = path_as_command(&error) {
            say_compact(&path, error_format(&words));
            return USAGE;
        }
        if let Some((word, command)) = other_word(&error) {
            let message = format!("unknown command {word:?}");
            let hint = format!("the command for that is: ctxpack {command}");
            let error = Error::new(ErrorKind::Usage, message).hint(hint);
            say(&error, error_format(&words));
            return USAGE;
        }
        if let Some(file) = file_as_flag(&error, &words) {
            say_flag(&file, error_format(&words));
            return USAGE;
        }
        if error.use_stderr() && error_format(&words) == ErrorFormat::Json {
            // The first paragraph is the message; the remedy and the usage follow.
            let text = error.to_string();
            let (message, hint) = text.split_once("\n\n").unwrap_or((&text, ""));
            let json = json!({
                "kind": ErrorKind::Usage,
                "message": message.trim().trim_start_matches("error: "),
                "file": null,
                "line": null,
                "hint": hint.split_whitespace().collect::<Vec<_>>().join(" "),
            });
            // If stderr itself fails, the failure cannot be reported anywhere.
            let _ = writeln!(io::stderr(), "{}", json_line(&json));
        } else {
            let is_plain =
                |word: &OsString| matches!(printable(&word.to_string_lossy()), Cow::Borrowed(_));
            let printed = if words.iter().all(is_plain) {
                // With colours, if the terminal supports them.
                error.print().and_then(|()| io::stdout().flush())
            } else {
                let text = error.to_string();
                let shown: Vec<_> = text.lines().map(printable).collect();
                writeln!(io::stderr(), "{}", shown.join("\n"))
            };
            // If stderr itself fails, the failure cannot be reported anywhere.
            if let Err(failed) = printed
                && !error.use_stderr()
            {
                return unprinted(&failed, error_format(&words));
            }
        }
        u8::try_from(error.exit_code()).unwrap_or(USAGE)
    })
}

/// The word in place of a command, and the command that it stands for elsewhere: the commands that are spelt like it do something
/// else.
fn other_word(error: &clap::Error) -> Option<(String, &'static str)> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let command = match word.as_str() {
        "clear" | "compaction" | "compress" | "shrink" | "summarise" | "summarize" | "trim" => {
            "compact"
        }
        "decompress" | "restore" | "revert" | "rollback" | "uncompact" => "undo",
        "count" | "inspect" | "tokens" | "usage" => "stats",
        "lint" | "valid" | "validate" => "verify",
        "list" | "ls" => "sessions",
        "fork" => "compact --fork",
        "presets" => "policy list",
        "test" => "check",
        _ => return None,
    };
    Some((word.clone(), command))
}

/// The word in place of a command, if it looks like the path of a transcript.
fn path_as_command(error: &clap::Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let is_path = word.contains(['/', '\\', '.']) || Path::new(word).exists();
    is_path.then(|| word.clone())
}

/// The word that was taken for a flag, if it is a file's name.
fn file_as_flag(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let ContextValue::String(flag) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return None;
    }
    let begins = |word: &&str| word.starts_with('-') && word.starts_with(flag.as_str());
    let mut named = words.iter().filter_map(|word| word.to_str());
    let named = named.find(|word| begins(word) && Path::new(word).exists());
    named.map(str::to_owned)
}

/// Explains how to name a file whose name looks like a flag.
fn say_flag(file: &str, error_format: ErrorFormat) {
    let message = format!("{file:?} looks like a flag");
    let error = Error::new(ErrorKind::Usage, message);
    let hint = format!("to name the file: {}", quoted(&format!("./{file}")));
    say(&error.hint(hint), error_format);
}

/// Says that a path needs a command before it.
fn say_compact(path: &str, error_format: ErrorFormat) {
    let error = Error::new(ErrorKind::Usage, format!("unknown command {path:?}"));
    say(
        &error.hint(format!(
            "to compact a transcript: ctxpack compact {}",
            quoted(path)
        )),
        error_format,
    );
}

/// Reports that help could not be written; returns the exit code for a command whose output cannot be written.
fn unprinted(failed: &io::Error, error_format: ErrorFormat) -> u8 {
    let error = stdout_failed(failed);
    if error.kind == ErrorKind::ClosedPipe {
        return 0;
    }
    say(&error, error_format);
    USAGE
}

fn say(error: &Error, error_format: ErrorFormat) {
    let context = Context {
        voice: Voice::Normal,
        color: Color::Auto,
        error_format,
        stop: Arc::default(),
        work_ended: Arc::default(),
    };
    context.error(error);
}

/// The value of `--error-format` on a command line that cannot be parsed.
fn error_format(words: &[OsString]) -> ErrorFormat {
    match value_of(words, "--error-format") {
        Some("json") => ErrorFormat::Json,
        Some(_) | None => ErrorFormat::Text,
    }
}

/// The last value of a flag on a command line that may be wrong otherwise.
fn value_of<'w>(words: &'w [OsString], flag: &str) -> Option<&'w str> {
    let options = words.iter().take_while(|word| *word != "--");
    let mut before: Option<&OsString> = None;
    let values = options.filter_map(|word| {
        let text = word.to_str();
        match before.replace(word) {
            Some(before) if before == flag => text,
            _ => text?.strip_prefix(flag)?.strip_prefix('='),
        }
    });
    values.last()
}
