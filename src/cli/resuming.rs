//! Flags about earlier runs of the same command: which of their results are reused.
//!
//! Decides nothing about inputs; `batch` does.

use std::path::Path;

use clap::Args;

use super::reports::OUTPUT;
use super::useless_flags::{given, refused};
use crate::batch::{OrphanPolicy, Resume, Trust};
use crate::error::Result;
use crate::text::{count, thousands};

/// How a command uses the results of earlier runs.
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// Reuse the results of an earlier run of this command, even with hooks or --files-root
    ///
    /// Even without this flag, an input is skipped if it, its output, the policy and the program version are unchanged, so an
    /// interrupted run continues where it stopped, and its report covers the whole run. The store keeps the record. Inputs that
    /// failed or are degraded are tried again. Hooks do not run for reused results. Therefore runs with hooks, with --files-root
    /// (whose files may have changed) or with --timings reuse nothing unless this flag is given.
    #[arg(long, help_heading = OUTPUT)]
    resume: bool,
    /// Use size and modification time alone to decide that a file is unchanged
    ///
    /// A run that finds nothing new then reads no transcript. A file that changed but kept its size and modification time is
    /// missed.
    #[arg(long, help_heading = OUTPUT)]
    trust_mtime: bool,
    /// Remove outputs in DIR whose input is gone from the folders that are named
    ///
    /// Only outputs that ctxpack wrote and that have not changed since are removed; without this flag, they are only reported.
    /// Nothing is removed after an interruption, or if an input folder contains no transcript at all: its disk may not be mounted.
    #[arg(long, requires = "out_dir", help_heading = OUTPUT)]
    prune_outputs: bool,
}

impl ResumeArgs {
    /// Rejects flags that cannot have an effect: `none` says why there are no results of an earlier run, if that is the case.
    pub(super) fn check(&self, out_dir: Option<&Path>, none: Option<&str>) -> Result<()> {
        // clap does not enforce a required flag that conflicts with another flag that is given.
        if self.prune_outputs && out_dir.is_none() {
            let why = "there is no output folder";
            return Err(refused(&["--prune-outputs"], why).hint("name it with --out-dir DIR"));
        }
        let flags = given([
            ("--resume", self.resume.then_some(())),
            ("--trust-mtime", self.trust_mtime.then_some(())),
        ]);
        let flags: Vec<&str> = flags.collect();
        match none {
            Some(why) if !flags.is_empty() => {
                Err(refused(&flags, why).hint("leave it out, or write to a file or a folder"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What happens to outputs whose input is gone.
    pub(super) fn orphans(&self) -> OrphanPolicy {
        if self.prune_outputs {
            OrphanPolicy::Prune
        } else {
            OrphanPolicy::Keep
        }
    }

    pub(super) fn resume(&self) -> Resume {
        if self.resume {
            Resume::Asked
        } else {
            Resume::Alike
        }
    }

    pub(super) fn trust(&self) -> Trust {
        if self.trust_mtime {
            Trust::Time
        } else {
            Trust::Bytes
        }
    }
}

/// The message about inputs that were finished before, if there are any.
pub(super) fn taken_over(done: u64, of: u64) -> Option<String> {
    (done > 0).then(|| {
        format!(
            "{} of {} finished before, by the same command",
            thousands(done),
            count(of, "input")
        )
    })
}
