//! `ctxpack undo`: the original bytes of compacted files.
//!
//! Keeps nothing of a file that is done but a byte, and a hash of an error about another file.

mod results;
mod words;

use std::collections::HashSet;
use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::named::{AgentArgs, LatestScope};
use super::progress::{Bar, size};
use super::reading::note_skipped;
use super::report_cleanup::{Stale, take_back};
use super::shape::{Shape, ShapeArgs};
use super::walking::ExcludeArgs;
use super::{Context, Voice, stdout_failed};
use crate::batch::{
    Effect, FileSource, Paths, PlaceKey, Progress, Search, Source, SourceList, has_ending,
    place_key, refuse_folder,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{NoticeLevel, Notices, path_text};
use crate::store::atomic::Existing;
use crate::store::undo::{self, Appended, Dest, Found, State, Undone};
use crate::text::{count, printable};

use results::Results;
use words::{result, result_line, sum_line};

/// Restore the original bytes of compacted files.
///
/// Restores in place, or into another file with -o. The store's records name the original; its hash is checked before anything is
/// replaced. In a folder or pattern, every output of ctxpack is restored; other files stay unchanged. The report beside a file that
/// is restored in place is deleted.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack undo in.compact.jsonl              in place
  ctxpack undo in.compact.jsonl -o in.jsonl  into another file
  ctxpack undo sessions/                     every output below a folder
  ctxpack undo --dry-run sessions/           what that would restore
  ctxpack undo --all                         every output below the current folder")]
pub(super) struct Undo {
    /// Compacted files, folders, patterns, ids of sessions, or latest
    #[arg(required_unless_present = "all")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    /// Restore all outputs below the current folder, or below the given folders
    #[arg(long, conflicts_with = "output")]
    all: bool,
    /// Write the original to FILE instead; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The store, if it is not the .ctxpack folder beside the file or above it
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    overwrite: bool,
    #[command(flatten)]
    exclude: ExcludeArgs,
    /// Discard what was appended to a file after it was compacted
    #[arg(long)]
    discard_appended: bool,
    /// Check the originals and show what would be restored; write nothing
    #[arg(short = 'n', long, conflicts_with = "output")]
    dry_run: bool,
    #[command(flatten)]
    shape: ShapeArgs,
}

/// What has been done so far.
struct Tally {
    /// Files below folders that were restored, and the bytes of their originals.
    restored: u64,
    bytes: u64,
    failed: bool,
    notices: Notices,
    /// What was done with each file, for programs.
    results: Results,
    /// The lines to print about the current file.
    lines: Vec<String>,
    /// Errors that were reported about other files (a store): each is reported once, however many files it concerns. If the input of
    /// each file is gone, there are many: only their keys are kept.
    reported: HashSet<PlaceKey>,
}

impl Tally {
    fn new(shape: Shape) -> Self {
        Tally {
            restored: 0,
            bytes: 0,
            failed: false,
            notices: Notices::default(),
            results: Results::new(shape),
            lines: Vec::new(),
            reported: HashSet::new(),
        }
    }

    /// Says how much was restored below folders; each file that was named has a line of its own.
    fn say_restored(&self, effect: Effect) {
        let restored = match self.restored {
            0 if !self.results.is_empty() => return,
            files => sum_line(files, self.bytes, effect),
        };
        let _ = writeln!(io::stderr().lock(), "{restored}");
    }
}

/// Notes the stores that were not searched.
fn note_foreign(undo: &undo::Undo, notices: &mut Notices) {
    for store in undo.foreign() {
        let message = "not searched: a store above the folder belongs to another user; name it with --store to search it";
        let place = (&*path_text(store), None);
        notices.add(NoticeLevel::Warning, "foreign_store", message, None, place);
    }
}

/// Notes the stores with records that cannot be read.
fn note_damaged(undo: &undo::Undo, notices: &mut Notices) {
    for (store, records) in undo.damaged() {
        let message = format!(
            "cannot read {} of the store; the outputs named there are treated as files of others",
            count(records, "record")
        );
        let place = (&*path_text(store), None);
        let hint = Some("ctxpack gc --dry-run names the first of them");
        notices.add(
            NoticeLevel::Warning,
            "damaged_record",
            &message,
            hint,
            place,
        );
    }
}

impl Undo {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        self.check_arguments()?;
        let mut paths = self
            .agent
            .paths(context, &self.paths, LatestScope::ThisFolder)?;
        if paths.is_empty() {
            paths.push(PathBuf::from("."));
        }
        let search = Search {
            skip: None,
            exclude: &self.exclude.exclude()?,
            shard: None,
            scratch: &env::temp_dir(),
        };
        let found = search.outputs(&Paths::new(paths))?;
        let mut is_any_walked = false;
        let mut is_one = found.len() == 1 && found.missing.is_empty();
        for source in found.sources.iter() {
            let source = source?;
            is_any_walked |= source.folder().is_some();
            is_one &= source.folder().is_none() && *source != Source::Stdin;
        }
        if self.output.is_some() && is_any_walked {
            return Err(Error::new(
                ErrorKind::Usage,
                "-o takes one file, not a folder or a pattern",
            )
            .hint("leave -o out to undo files in place"));
        }
        let mut undo = undo::Undo::new(self.store.clone());
        let mut tally = Tally::new(self.shape.shape());
        for error in &found.missing {
            tally.failed = true;
            context.error(error);
        }
        self.restore_all(context, &found.sources, &mut undo, &mut tally)?;
        note_foreign(&undo, &mut tally.notices);
        if is_any_walked {
            note_damaged(&undo, &mut tally.notices);
        }
        note_skipped(&found.skipped, &mut tally.notices);
        context.notices(std::mem::take(&mut tally.notices));
        if is_any_walked && context.is_for_people() {
            tally.say_restored(self.effect());
        }
        tally.results.print(&mut io::stdout().lock())?;
        Ok(match (tally.failed, is_one) {
            (false, _) => 0,
            (true, true) => 2,
            (true, false) => 3,
        })
    }

    fn effect(&self) -> Effect {
        match self.dry_run {
            true => Effect::DryRun,
            false => Effect::Write,
        }
    }

    fn check_arguments(&self) -> Result<()> {
        if self.output.is_some() && self.paths.len() > 1 {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("-o takes one input, not {}", self.paths.len()),
            )
            .hint("leave -o out to undo files in place"));
        }
        if let Some(output) = &self.output {
            refuse_folder(output, "name a file, or leave -o out to undo in place")?;
        }
        let to_stdout = self.output.as_deref() == Some(Path::new("-"));
        if to_stdout && self.shape.shape() == Shape::Json {
            let message = "standard output is for the original, and --json prints results there";
            return Err(Error::new(ErrorKind::Usage, message).hint("-o FILE writes elsewhere"));
        }
        if self.paths.iter().any(|path| path == Path::new("-")) {
            let message = "cannot undo standard input: there is no record of where it came from";
            return Err(Error::new(ErrorKind::Usage, message).hint("name the compacted file"));
        }
        Ok(())
    }

    /// Whether a source is an output, as far as records tell by its path; other files are only looked at.
    fn is_output(source: &Source, undo: &mut undo::Undo) -> bool {
        match source {
            Source::Stdin => false,
            Source::File(FileSource {
                path,
                folder: Some(folder),
                ..
            }) => undo.names(path, folder).unwrap_or(true),
            Source::File(FileSource { folder: None, .. }) => true,
        }
    }

    /// Restores the files one after the other, until the run is interrupted. An error ends it only if nobody reads what it prints.
    fn restore_all(
        &self,
        context: &Context,
        sources: &SourceList,
        undo: &mut undo::Undo,
        tally: &mut Tally,
    ) -> Result<()> {
        let mut are_outputs = Vec::new();
        let mut is_output = |source: &Source| {
            let is_output = Self::is_output(source, undo);
            are_outputs.push(is_output);
            Ok(is_output)
        };
        let bar = Bar::of(sources, &mut is_output, context.voice)?;
        for (source, is_output) in sources.iter().zip(are_outputs) {
            let source = &*source?;
            if context.interrupted().is_some() {
                break;
            }
            // The current size of the file, before the original replaces it.
            let bytes = size(source);
            let done = match source {
                // Refused before.
                Source::Stdin => Ok(()),
                Source::File(FileSource {
                    path, folder: None, ..
                }) => undo
                    .find(path)
                    .and_then(|found| self.named(context, path, &found, tally)),
                Source::File(FileSource {
                    path,
                    folder: Some(folder),
                    ..
                }) => self.below(context, path, folder, undo, tally),
            };
            if is_output {
                bar.done(bytes);
            }
            let lines = std::mem::take(&mut tally.lines);
            if !lines.is_empty() {
                bar.aside(|| lines.iter().for_each(|line| say(line)));
            }
            match done {
                Ok(()) => {}
                Err(error) if error.kind == ErrorKind::ClosedPipe => return Err(error),
                Err(error) => {
                    tally.failed = true;
                    if error.path.as_deref() == Some(source.path())
                        || tally.reported.insert(key_of(&error))
                    {
                        bar.aside(|| context.error(&error));
                    }
                }
            }
        }
        bar.finish();
        Ok(())
    }

    /// Restores a file that was named.
    fn named(
        &self,
        context: &Context,
        path: &Path,
        found: &Found,
        tally: &mut Tally,
    ) -> Result<()> {
        let done = self.restore(found)?;
        tally.results.add(&result(path, &done, self.effect()))?;
        if context.is_for_people() {
            tally.lines.push(result_line(path, &done, self.effect()));
        }
        match self.output {
            None if !self.dry_run => take_report_back(path, None, found, tally),
            Some(_) | None => Ok(()),
        }
    }

    /// Restores a file below a folder, if it is an output.
    fn below(
        &self,
        context: &Context,
        path: &Path,
        folder: &Path,
        undo: &mut undo::Undo,
        tally: &mut Tally,
    ) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !has_ending(&name) && !undo.names(path, folder)? {
            return Ok(());
        }
        let mut left = |message| {
            let place = (&*path_text(path), None);
            tally
                .notices
                .add(NoticeLevel::Note, "not_undone", message, None, place);
        };
        let found = match undo.find_below(path, folder)? {
            Some(found) if found.is_fork() => {
                left("a fork is a separate session; left as is");
                return Ok(());
            }
            Some(found) => found,
            None => {
                left("not an output of ctxpack; left as it is");
                return Ok(());
            }
        };
        let done = self.restore(&found)?;
        if matches!(done.state, State::AlreadyOriginal(_)) {
            return Ok(());
        }
        tally.results.add(&result(path, &done, self.effect()))?;
        tally.restored += 1;
        tally.bytes += done.bytes;
        if done.copy_of.is_some() {
            let message = match self.effect() {
                Effect::Write => "restored, and now a copy of its input, which is still there",
                Effect::DryRun => "would be a copy of its input, which is still there",
            };
            let place = (&*path_text(path), None);
            tally
                .notices
                .add(NoticeLevel::Note, "second_copy", message, None, place);
        }
        // Losses are reported for each file.
        let is_plain = matches!((&done.state, &done.lost[..]), (State::Compacted, []));
        if context.is_for_people() && (context.voice == Voice::Loud || !is_plain) {
            tally.lines.push(result_line(path, &done, self.effect()));
        }
        match self.dry_run {
            true => Ok(()),
            false => take_report_back(path, Some(folder), &found, tally),
        }
    }

    fn restore(&self, found: &Found) -> Result<Undone> {
        let appended = if self.discard_appended {
            Appended::Discard
        } else {
            Appended::Refuse
        };
        let mut out = io::stdout().lock();
        let dest = match &self.output {
            None if self.dry_run => Dest::Nowhere,
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
        found.restore(dest, appended).map_err(|error| {
            match &error.source {
                // An error without a path is about the output stream, not the original.
                Some(source) if to_stdout && error.path.is_none() => stdout_failed(source),
                Some(_) | None => error,
            }
        })
    }
}

/// Deletes the report about a file that was undone in place, or notes why it stays.
fn take_report_back(
    path: &Path,
    folder: Option<&Path>,
    found: &Found,
    tally: &mut Tally,
) -> Result<()> {
    let Some(hash) = found.output_hash() else {
        return Ok(());
    };
    let message = match take_back(path, folder, hash)? {
        Stale::Nothing | Stale::Removed => return Ok(()),
        Stale::OfOthers => "kept the report beside it: it also covers other files",
        Stale::OfAnother => "kept the report beside it: it describes a different result",
    };
    let place = (&*path_text(path), None);
    tally
        .notices
        .add(NoticeLevel::Note, "report_stays", message, None, place);
    Ok(())
}

/// The key of what an error says.
fn key_of(error: &Error) -> PlaceKey {
    place_key(Path::new(&error.to_string()))
}

fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Exclude;

    #[test]
    fn progress_counts_outputs_and_not_their_inputs() {
        let place = tempfile::tempdir().unwrap();
        let policy = crate::Policy::preset("auto").unwrap();
        for name in ["a", "b"] {
            let input = place.path().join(format!("{name}.jsonl"));
            std::fs::write(&input, "{\"role\":\"user\",\"content\":\"hello\"}\n").unwrap();
            let output = place.path().join(format!("{name}.compact.jsonl"));
            crate::compact_file(&input, &output, &policy).unwrap();
        }
        let search = Search {
            skip: None,
            exclude: &Exclude::default(),
            shard: None,
            scratch: place.path(),
        };
        let found = search
            .outputs(&Paths::new(vec![place.path().to_owned()]))
            .unwrap();
        let mut undo = undo::Undo::new(None);
        let outputs: Vec<bool> = found
            .sources
            .iter()
            .map(|source| Undo::is_output(&source.unwrap(), &mut undo))
            .collect();
        assert_eq!(outputs, [true, false, true, false]);
    }
}
