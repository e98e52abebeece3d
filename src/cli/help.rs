//! `ctxpack help`: the help of a command, or a topic, which says what is too long for a page of flags.
//!
//! Prints what the program contains; never reads a file, and decides nothing.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory};

use super::filled::filled;
use super::topics::Topic;
use super::{Cli, flush, put, screen, stdout_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::text::nearest;

/// Print the help of a command, or a topic.
///
/// Topics are listed below the commands on `ctxpack help`. They are Markdown; on a terminal, lines are filled to its width.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack help compact                       the same as ctxpack compact --help
  ctxpack help keys | less                   every key of a policy
  ctxpack help guarantees                    what always holds")]
pub(super) struct Help {
    /// A command, with a command of its own where it has any, or a topic
    #[arg(value_name = "COMMAND|TOPIC")]
    of: Vec<String>,
}

impl Help {
    pub(super) fn run(&self) -> Result<u8> {
        let mut command = Cli::command();
        command.build();
        let topic = match self.of.as_slice() {
            [name] => Topic::named(name),
            _ => None,
        };
        match (page(&mut command, &self.of), topic) {
            // If a command and a topic share a name, both are printed, the command first.
            (Some(page), topic) => {
                page.print_long_help().map_err(|e| stdout_failed(&e))?;
                topic.map_or(Ok(()), |topic| print(&format!("\n{}", shown(topic)?)))?;
            }
            (None, Some(topic)) => print(&shown(topic)?)?,
            (None, None) => return Err(unknown(&self.of.join(" "))),
        }
        Ok(0)
    }
}

/// A topic: as Markdown, or in lines that fit where a terminal shows it.
fn shown(topic: Topic) -> Result<Cow<'static, str>> {
    let text = topic.text()?;
    Ok(match screen::text_width() {
        Some(width) if io::stdout().is_terminal() => Cow::Owned(filled(&text, width)),
        Some(_) | None => text,
    })
}

/// The command of these names; without a name, the program itself.
fn page<'c>(root: &'c mut Command, names: &[String]) -> Option<&'c mut Command> {
    names.iter().try_fold(root, |command, name| {
        command.find_subcommand_mut(name.as_str())
    })
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    put(&mut out, text.as_bytes())?;
    flush(&mut out)
}

fn unknown(name: &str) -> Error {
    let error = Error::new(
        ErrorKind::Usage,
        format!("there is no command or topic {name:?}"),
    );
    let names = names();
    error.hint(match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near:?}? `ctxpack help` lists them"),
        None => "`ctxpack help` lists them".to_owned(),
    })
}

/// The names of everything that has help.
fn names() -> Vec<String> {
    let command = Cli::command();
    let commands = command.get_subcommands().map(Command::get_name);
    let topics = Topic::ALL.iter().map(|topic| topic.name());
    commands.chain(topics).map(str::to_owned).collect()
}

/// The command line with the names that help takes, for completions. (Parsing leaves them to [`unknown`].)
pub(super) fn with_names() -> Command {
    let names = names();
    Cli::command().mut_subcommand("help", |help| {
        help.mut_arg("of", |of| of.value_parser(PossibleValuesParser::new(names)))
    })
}
