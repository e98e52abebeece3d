//! `ctxpack undo`: the original bytes of compacted files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::named::AgentArgs;
use super::{Context, Voice, stdout_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::{Existing, lost_of_the_file};
use crate::store::undo::{self, Appended, Dest, State};
use crate::text::{count, printable, shown_path};

/// Restore the original bytes of compacted files.
///
/// In place, or into another file with -o. The store's records name the original; its hash is checked before anything is
/// replaced.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack undo in.compact.jsonl              in place
  ctxpack undo in.compact.jsonl -o in.jsonl  into another file")]
pub(super) struct Undo {
    /// Compacted files, ids of sessions, or latest
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    /// Write the original to FILE instead; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The store, if it is not the .ctxpack folder beside the file or above it
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    overwrite: bool,
    /// Discard what was appended to a file after it was compacted
    #[arg(long)]
    discard_appended: bool,
}

impl Undo {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        if self.output.is_some() && self.paths.len() > 1 {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("-o takes one input, not {}", self.paths.len()),
            )
            .hint("leave -o out to undo files in place"));
        }
        let paths = self.agent.paths(context, &self.paths)?;
        let mut undo = undo::Undo::new(self.store.clone());
        let mut failed = false;
        for path in &paths {
            match self.one(&mut undo, path) {
                Ok(said) if context.voice > Voice::Quiet => {
                    let _ = writeln!(
                        io::stderr().lock(),
                        "{}: {said}",
                        printable(&shown_path(path))
                    );
                }
                Ok(_) => {}
                Err(error) if error.kind == ErrorKind::ClosedPipe => return Err(error),
                Err(error) => {
                    failed = true;
                    context.error(&error);
                }
            }
        }
        Ok(match (failed, self.paths.len()) {
            (false, _) => 0,
            (true, 1) => 2,
            (true, _) => 3,
        })
    }

    fn one(&self, undo: &mut undo::Undo, path: &Path) -> Result<String> {
        let found = undo.find(path)?;
        let appended = if self.discard_appended {
            Appended::Discard
        } else {
            Appended::Refuse
        };
        let mut out = io::stdout().lock();
        let dest = match &self.output {
            None => Dest::InPlace,
            Some(to) if to == Path::new("-") => Dest::Writer(&mut out),
            Some(to) => Dest::Path(
                to,
                if self.overwrite {
                    Existing::Overwrite
                } else {
                    Existing::Refuse
                },
            ),
        };
        let to_stdout = matches!(dest, Dest::Writer(_));
        let done = found.restore(dest, appended).map_err(|error| {
            match &error.source {
                // A fault without a path is the stream's, not the original's.
                Some(source) if to_stdout && error.path.is_none() => stdout_failed(source),
                Some(_) | None => error,
            }
        })?;
        let bytes = count(done.bytes, "byte");
        let lost = if done.lost.is_empty() {
            String::new()
        } else {
            format!("; warning: {}", lost_of_the_file(&done.lost))
        };
        let said = match done.state {
            State::AlreadyOriginal(_) => format!("is the original already ({bytes})"),
            State::Compacted => format!("{bytes} given back"),
            State::Grown(lost) => format!(
                "{bytes} given back, {} appended later lost",
                count(lost, "byte")
            ),
        };
        Ok(printable(&(said + &lost)).into_owned())
    }
}
