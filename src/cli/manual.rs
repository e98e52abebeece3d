//! `ctxpack completions` and `ctxpack man`: completions and man pages for the command line, generated from the same definition as
//! `--help`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, flush, help, put};
use crate::error::{Error, Result};

/// Print completions for a shell.
///
/// Where a shell looks for them is in the examples; open a new shell afterwards.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack completions bash > ~/.local/share/bash-completion/completions/ctxpack
  ctxpack completions zsh > ~/.zfunc/_ctxpack        # with ~/.zfunc in fpath
  ctxpack completions fish > ~/.config/fish/completions/ctxpack.fish")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<u8> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut help::with_names(), "ctxpack", &mut text);
        let mut out = io::stdout().lock();
        put(&mut out, &text)?;
        flush(&mut out)?;
        Ok(0)
    }
}

/// Write man pages, one for each command.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack man ~/.local/share/man/man1 && man ctxpack-compact")]
pub(super) struct Man {
    /// The folder for ctxpack.1, ctxpack-compact.1 and the others; created if it does not exist
    dir: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> Result<u8> {
        std::fs::create_dir_all(&self.dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.dir))
            .and_then(|()| {
                let mut command = Cli::command();
                command.build();
                name_examples(&command, &self.dir, "ctxpack")
            })
            .map_err(|error| {
                let error = Error::io(&self.dir, "write the man pages", error);
                error.elsewhere("name a folder in which you may write")
            })?;
        Ok(0)
    }
}

/// Gives the examples of each page the heading that readers of man pages look for: the generator calls any text at the end `EXTRA`.
fn name_examples(command: &Command, dir: &Path, name: &str) -> io::Result<()> {
    let path = dir.join(format!("{name}.1"));
    let page = fs::read_to_string(&path)?;
    let named = page.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
    if named != page {
        fs::write(&path, named)?;
    }
    command
        .get_subcommands()
        .try_for_each(|one| name_examples(one, dir, &format!("{name}-{}", one.get_name())))
}
