//! The common part of commands that read many transcripts: how these are found and read, and what is reported about those that
//! cannot be read. Never writes anything.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::limits::{INPUT, LimitArgs, jobs, threads};
use super::named::{AgentArgs, LatestScope};
use super::progress::Bar;
use super::shard::ShardArgs;
use super::walking::{ExcludeArgs, FilterArgs, say_nothing_left};
use super::{Context, Fault, all_paths, format_named, input_format_help};
use crate::batch::{
    Exclude, Found, Kept, Over, Paths, Search, SkipReason, Skipped, Sorted, WallClock, Workload,
    pool, unread,
};
use crate::error::Result;
use crate::outcome::{
    Clock, Entries, Examined, FileStatus, NotReads, NoticeLevel, Notices, path_text,
};

/// Up to this many inputs, threads cost more than they save.
const PARALLEL_THRESHOLD: usize = 256;

/// Which transcripts are looked at, and how.
#[derive(Debug, Args)]
pub(super) struct Reading {
    /// Transcripts, folders, patterns, ids of sessions, latest, or - for standard input
    paths: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    #[arg(long, value_name = "NAME", help = input_format_help(), help_heading = INPUT)]
    input_format: Option<String>,
    /// Threads; 0 = one per processor
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = jobs, help_heading = INPUT)]
    jobs: usize,
    /// Read more paths from FILE, newline- or NUL-separated; - is standard input
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    files_from: Option<PathBuf>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    shard: ShardArgs,
}

impl Reading {
    /// Fails if no input is named: standard input may be empty.
    pub(super) fn check_named(&self) -> Result<()> {
        if self.paths.is_empty() && self.files_from.is_none() {
            let search = Search {
                skip: None,
                exclude: &Exclude::default(),
                shard: None,
                scratch: &env::temp_dir(),
            };
            search.inputs(&Paths::default())?;
        }
        Ok(())
    }

    /// Calls `tell`, which reports on these entries, with threads for what it does in parallel.
    pub(super) fn tell<E: Kept, T: Send>(
        &self,
        entries: &Sorted<E>,
        tell: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        match entries {
            Sorted::Held(entries) if entries.len() <= PARALLEL_THRESHOLD => tell(),
            Sorted::Held(_) | Sorted::Spooled(_) => pool(threads(self.jobs))?.install(tell),
        }
    }

    /// The result of `look` for the inputs, with a progress bar in the meantime, and what was not read. Standard input is read if
    /// nothing is named and it is not a terminal.
    pub(super) fn each<T>(
        &self,
        context: &Context,
        (job, clock): (Workload, Option<&WallClock>),
        look: impl FnOnce(&Over<'_>) -> Result<T>,
    ) -> Result<(T, NotReads)> {
        let format = format_named(self.input_format.as_deref())?;
        let named = self
            .agent
            .paths(context, &self.paths, LatestScope::Anywhere)?;
        let mut paths = all_paths(named, self.files_from.as_deref(), &context.stop)?;
        if paths.is_empty() && self.files_from.is_none() && !io::stdin().is_terminal() {
            paths.push(PathBuf::from("-"));
        }
        let filter = self.filter.filter()?;
        let scratch = env::temp_dir();
        let search = Search {
            skip: None,
            exclude: &self.exclude.exclude()?,
            shard: self.shard.shard()?,
            scratch: &scratch,
        };
        let mut found = search.inputs(&paths)?;
        let mut notices = Notices::default();
        let jobs = threads(self.jobs);
        FilterArgs::apply(&filter, &mut found, &mut notices, (jobs, &scratch))?;
        let bar = Bar::new(&found.sources, context.voice)?;
        let looked = look(&Over {
            found: &found,
            format,
            limits: self.limits.limits(),
            bad_lines: self.limits.bad_lines(),
            job,
            jobs,
            stop: &context.stop,
            progress: &bar,
            clock: clock.map(|clock| clock as &dyn Clock),
        })?;
        bar.finish();
        note_skipped(&found.skipped, &mut notices);
        context.notices(notices);
        say_nothing_left(context, &found);
        Ok((looked, not_read(&found)))
    }
}

/// Adds notices about what a walk skipped although nothing failed.
pub(super) fn note_skipped(skipped: &Skipped, notices: &mut Notices) {
    for ((why, extension), group) in skipped.groups() {
        let message = match extension {
            Some(extension) => format!(
                "not read: the name ends in {extension}, not in .jsonl, .jsonl.gz or .jsonl.zst"
            ),
            None => why.message().to_owned(),
        };
        let level = match why {
            SkipReason::FolderLink
            | SkipReason::NoFile
            | SkipReason::Vanished
            | SkipReason::ToPrune
            | SkipReason::Pruned
            | SkipReason::VanishedButChanged => NoticeLevel::Warning,
            SkipReason::BrokenLink
            | SkipReason::Store
            | SkipReason::SameFile
            | SkipReason::OtherExtension
            | SkipReason::Output
            | SkipReason::Excluded
            | SkipReason::Ignored
            | SkipReason::Older
            | SkipReason::Newer
            | SkipReason::OtherProject
            | SkipReason::NotDegraded => NoticeLevel::Note,
        };
        let names = group.first.iter().map(|path| path_text(path));
        let inputs = (group.count, names.collect());
        let hint = match message.contains("ends in .json,") {
            true => Some(
                "transcripts in .json files are read if they are named, for example by a quoted pattern: 'DIR/**/*.json'",
            ),
            false => why.hint(),
        };
        notices.add_all((level, why.kind()), &message, hint, inputs);
    }
}

/// What a walk left out, for a report.
pub(super) fn not_read(found: &Found) -> NotReads {
    let mut all = NotReads::default();
    for ((why, extension), group) in found.skipped.groups() {
        let examples = group.examples.into_iter().collect();
        all.add(why.kind(), extension, (group.count, examples));
    }
    all
}

/// Adds notices about what was not understood in an input: an unsupported format, and unreadable lines; `left` says what was not
/// done with it if its format is unsupported.
pub(super) fn add_not_understood<T>(file: &Examined<T>, left: &str, notices: &mut Notices) {
    let path = &file.file.path;
    notices.warnings(path, &file.warnings, "lines that cannot be read");
    match &file.status {
        FileStatus::Unsupported(unread) => notices.unsupported(path, &unread.why, left),
        FileStatus::Examined | FileStatus::Failed => {}
    }
}

/// Reports which inputs could not be read, and what was not understood in the others; adds what was not read. Returns whether an input
/// could not be read. `left` as for [`add_not_understood`].
///
/// # Errors
/// If an entry cannot be read back.
pub(super) fn say_all<T>(
    context: &Context,
    files: &Sorted<Examined<T>>,
    left: &str,
    not_read: &mut NotReads,
) -> Result<bool>
where
    Examined<T>: Kept,
{
    let mut failed = false;
    let mut notices = Notices::default();
    let mut see = |_, file: &Examined<T>| {
        failed |= say_of(context, file);
        add_not_understood(file, left, &mut notices);
        not_read.add_file(file);
        Ok(())
    };
    files.each_remarkable(&mut see).map_err(unread)?;
    context.notices(notices);
    Ok(failed)
}

/// Reports why an input could not be read; returns whether that is the case.
pub(super) fn say_of<T>(context: &Context, file: &Examined<T>) -> bool {
    let Some(error) = &file.file.error else {
        return false;
    };
    context.fault(&Fault {
        kind: json!(error.kind),
        file: Some(file.file.path.clone()),
        line: error.line,
        message: &error.message,
        hint: error.hint.as_deref(),
    });
    true
}
