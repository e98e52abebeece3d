//! Flags on what is taken from folders. A file that is named is always taken.

use std::path::Path;
use std::time::SystemTime;

use clap::Args;

use super::Context;
use super::limits::INPUT;
use super::since::since;
use crate::batch::{Exclude, Filter, Found};
use crate::error::Result;
use crate::outcome::{NoticeLevel, Notices, path_text};

/// What is excluded from folders.
#[derive(Debug, Args)]
pub(super) struct ExcludeArgs {
    /// Exclude matching files from folders and patterns; gitignore syntax, relative to each folder; repeatable
    ///
    /// A file .ctxpackignore in a folder holds such globs for all commands. .gitignore is not read, because transcripts are often in
    /// ignored folders. Files given by name are always read.
    #[arg(long = "exclude", value_name = "GLOB", help_heading = INPUT)]
    globs: Vec<String>,
}

impl ExcludeArgs {
    pub(super) fn exclude(&self) -> Result<Exclude> {
        Exclude::new(&self.globs)
    }
}

/// Which transcripts in folders are selected.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// In folders, take only files whose last timestamp is at or after this time: 7d, 24h, 2026-11-01 (in UTC)
    ///
    /// Uses the last timestamp in the transcript's final MiB; for formats without timestamps and for compressed files, the file's
    /// modification time.
    #[arg(long, value_name = "TIME", value_parser = since, help_heading = INPUT)]
    since: Option<SystemTime>,
    /// In folders, take only files whose last timestamp is before this time: 7d, 24h, 2026-11-01 (in UTC)
    #[arg(long, value_name = "TIME", value_parser = since, help_heading = INPUT)]
    until: Option<SystemTime>,
    /// In folders, take only transcripts of projects whose path or folder name matches: app, '*/code/*'
    #[arg(long, value_name = "GLOB", help_heading = INPUT)]
    project: Option<String>,
}

/// Reports that filters and exclusions have left nothing: tables and sums over no files would look like those of empty ones.
pub(super) fn say_nothing_left(context: &Context, found: &Found) {
    if found.is_empty() && found.skipped.is_asked_for() {
        context.remark(
            "nothing_left",
            "nothing to do: every transcript was left out",
            None,
        );
    }
}

impl FilterArgs {
    pub(super) fn filter(&self) -> Result<Filter> {
        Filter::new(self.since, self.until, self.project.as_deref())
    }

    /// Removes from `found` what is not selected, and reports the inputs to which a filter does not apply.
    pub(super) fn apply(
        filter: &Filter,
        found: &mut Found,
        notices: &mut Notices,
        (threads, scratch): (usize, &Path),
    ) -> Result<()> {
        filter.apply(found, (threads, scratch), &mut |path| {
            let message = "given by name, so --since, --until and --project do not apply";
            let place = (&*path_text(path), None);
            notices.add(NoticeLevel::Note, "filter_unused", message, None, place);
        })
    }
}
