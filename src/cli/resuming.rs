//! Flags about earlier runs of the same command: what of their work is taken over.
//!
//! Decides nothing about inputs; `batch` does.

use clap::Args;

use super::reports::OUTPUT;
use crate::batch::{Resume, Trust};
use crate::text::{count, thousands};

/// How a command makes use of what it did before.
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// Take over what an earlier run of this command has done, also where hooks or --files-root took part
    ///
    /// Without this, too, an input is not done again if its bytes, those of its output, the policy and the program are the same:
    /// an interrupted run goes on where it stopped, and its report is that of a whole run. The store remembers. What failed or is
    /// degraded is tried again. Hooks do not run for what is taken over, so that runs with hooks take nothing over unless this is
    /// given; nor do runs with --files-root, whose files may be others now, and with --timings.
    #[arg(long, help_heading = OUTPUT)]
    resume: bool,
    /// Tell by size and time alone that a file has not changed since an earlier run
    ///
    /// A run that finds nothing new then reads no transcript. A file that is changed without another size or time is missed.
    #[arg(long, help_heading = OUTPUT)]
    trust_mtime: bool,
}

impl ResumeArgs {
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

/// What is said of inputs that were done before, if there are any.
pub(super) fn taken_over(done: u64, of: u64) -> Option<String> {
    (done > 0).then(|| {
        format!(
            "{} of {} done before, by the same command",
            thousands(done),
            count(of, "input")
        )
    })
}
