//! The end of a run of `compact`: what is said, and which reports are written.
//!
//! Reads one outcome at a time, wherever they are.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use super::emit::EmitArgs;
use super::gates::{CompactGates, OverTarget};
use super::messages::{policy_ref, say};
use super::next::OutputMode;
use super::reading::{not_read, note_skipped};
use super::reports::{self, Planned};
use super::shape::Shape;
use super::sibling_reports::BesideReports;
use super::unused_settings::UnusedSettings;
use super::walking::say_nothing_left;
use super::{Context, Voice, aligned, closing, flush, stdout_failed};
use crate::batch::{self, Effect, Found, Options, ReportNotes, Sorted, unread};
use crate::diff::Diff;
use crate::error::{Error, Result};
use crate::outcome::{Entries, Exit, Interrupted, Notices, Outcome};
use crate::policy::Effective;
use crate::report::{Depth, Estimate, Render, Report, ReportFormat, StreamedReport};
use crate::store::{Missing, OpenPath};

/// What the end of the run is about.
pub(super) struct Ending<'e> {
    pub(super) effective: &'e Effective,
    pub(super) options: &'e Options,
    pub(super) found: &'e Found,
    pub(super) left: Option<Interrupted>,
    /// What a run would request from a server.
    pub(super) estimate: Option<Estimate>,
    /// How long the run took, if times are told.
    pub(super) wall: Option<Duration>,
    pub(super) planned: &'e [Planned],
    pub(super) report_notes: &'e ReportNotes,
    /// Whether the report is printed as well.
    pub(super) shape: Shape,
    /// Lines before the table.
    pub(super) before: Vec<String>,
    /// The reports beside the outputs, if there are any.
    pub(super) beside: Option<&'e BesideReports>,
    /// The inputs whose outcomes were amended at the end of the run.
    pub(super) changed: &'e [String],
    pub(super) gates: &'e CompactGates,
    pub(super) emit: &'e EmitArgs,
    /// Where the output of a single input went.
    pub(super) output_mode: OutputMode,
}

/// The result of ending a run.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// The exit code of the gates.
    pub(super) gate: u8,
    /// Errors for what could not be written.
    pub(super) unwritten: Vec<Error>,
    /// The last lines.
    pub(super) closing: Vec<String>,
}

/// Ends the run.
///
/// # Errors
/// If outcomes cannot be read back from disk.
pub(super) fn end(context: &Context, outcomes: &Sorted, ending: &Ending<'_>) -> Result<Ended> {
    say(context, ending.found, outcomes).map_err(unread)?;
    let mut left_out = not_read(ending.found);
    // The table already says it, so it is not repeated.
    let mut over_target = (!context.is_for_people()).then(OverTarget::default);
    let mut see = |_, outcome: &Outcome| {
        left_out.add_outcome(outcome);
        if let Some(over) = &mut over_target {
            over.see(outcome);
        }
        Ok(())
    };
    outcomes.each_remarkable(&mut see).map_err(unread)?;
    context.gates(&over_target.unwrap_or_default().closed());
    let policy = policy_ref(ending.effective);
    let report = StreamedReport::new(policy, outcomes.totals(), outcomes)
        .with_left(left_out.into_list(), ending.left)
        .with_estimate(ending.estimate)
        .with_timings(ending.wall)
        .map_err(unread)?;
    if context.is_for_people() {
        let mut err = BufWriter::new(io::stderr().lock());
        for line in &ending.before {
            let _ = writeln!(err, "{line}");
        }
        let depth = match context.voice {
            Voice::Loud => Depth::Reasons,
            Voice::Quiet | Voice::Normal => Depth::Sums,
        };
        let screen = context.color.screen(&io::stderr());
        // A table that cannot be shown is no reason to fail.
        let shown = report.write_table(depth, screen, &mut err);
        let _ = shown.and_then(|()| err.flush());
    }
    let mut notices = Notices::of(outcomes).map_err(unread)?;
    note_skipped(&ending.found.skipped, &mut notices);
    context.notices(notices);
    say_unheard(context, outcomes, ending.effective)?;
    say_nothing_left(context, ending.found);
    let (gate, emitted) = watched(context, outcomes, ending)?;
    let is_told = context.voice > Voice::Quiet && ending.options.effect == Effect::Write;
    let mut closing = match is_told && !ending.emit.is_asked() {
        true => closing::outputs(outcomes, ending.options, ending.output_mode)?,
        false => Vec::new(),
    };
    closing.extend(emitted);
    let diff = match outcomes.len() {
        1 => aligned_with(context, &*outcomes.get(0).map_err(unread)?, ending),
        _ => None,
    };
    let report = report.with_messages(diff);
    match ending.shape {
        Shape::Text => {}
        Shape::Json => print(&report)?,
    }
    let unwritten = write_reports(&report, outcomes, ending)?;
    if is_told && unwritten.is_empty() {
        closing.extend(closing::reports(ending.planned));
    }
    Ok(Ended {
        exit: outcomes.exit(),
        gate,
        unwritten,
        closing,
    })
}

/// Reports settings that had no effect.
fn say_unheard(context: &Context, outcomes: &Sorted, effective: &Effective) -> Result<()> {
    let Some(mut unused_settings) = UnusedSettings::of(effective) else {
        return Ok(());
    };
    let mut see = |outcome: &Outcome| {
        unused_settings.see(outcome);
        Ok(())
    };
    outcomes.each(&mut see).map_err(unread)?;
    unused_settings.say(context);
    Ok(())
}

fn aligned_with(context: &Context, one: &Outcome, ending: &Ending<'_>) -> Option<Diff> {
    let policy = &ending.effective.policy;
    aligned::aligned(context, one, ending.planned, ending.options, policy)
}

/// Evaluates the gates and collects what is reported on emitted messages: both need all outcomes.
fn watched(
    context: &Context,
    outcomes: &Sorted,
    ending: &Ending<'_>,
) -> Result<(u8, Option<String>)> {
    let mut watch = ending.gates.watch();
    let emitted = ending.emit.emitted();
    let mut emitted = emitted.filter(|_| context.voice > Voice::Quiet);
    if ending.gates.is_any() || emitted.is_some() {
        let mut see = |outcome: &Outcome| {
            watch.see(outcome);
            if let Some(emitted) = &mut emitted {
                emitted.see(outcome);
            }
            Ok(())
        };
        outcomes.each(&mut see).map_err(unread)?;
    }
    let gate = context.gates(&watch.closed(&outcomes.totals()));
    Ok((gate, emitted.map(|emitted| emitted.closing())))
}

/// Writes a report, unless the last run has written the same one.
fn write_report(
    report: &StreamedReport<'_>,
    (path, format): &Planned,
    entries: Option<&str>,
    ending: &Ending<'_>,
) -> Result<()> {
    let spot = OpenPath::named(path, Missing::Make)?;
    let key = entries.and_then(|entries| report.key(*format, entries));
    let notes = ending.report_notes;
    if key.as_ref().is_some_and(|key| notes.has(&spot, key)) {
        return Ok(());
    }
    let seen = reports::write(spot.clone(), report, *format, ending.options.overwrite)?;
    if let Some((key, seen)) = key.zip(seen) {
        notes.note(&spot, &key, seen);
    }
    Ok(())
}

/// Writes the report to standard output.
fn print(report: &StreamedReport<'_>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = report.render(ReportFormat::Json, &mut out);
    written.map_err(|e| stdout_failed(&e))?;
    flush(&mut out)
}

/// Writes the reports on the run, or else one next to each output; returns the errors.
fn write_reports(
    report: &StreamedReport<'_>,
    outcomes: &Sorted,
    ending: &Ending<'_>,
) -> Result<Vec<Error>> {
    let mut unwritten = Vec::new();
    let threads = batch::pool(ending.options.jobs)?;
    let entries = match ending.planned {
        [] => None,
        [..] => outcomes.key().map_err(unread)?,
    };
    for planned in ending.planned {
        let write = || write_report(report, planned, entries.as_deref(), ending);
        unwritten.extend(threads.install(write).err());
    }
    if let Some(beside) = ending.beside {
        let bases = ending.found.folders_of_inputs()?;
        let finished = |report: Report| report.with_timings(ending.wall);
        let base_of = |input: &str| bases.of(input);
        unwritten.extend(beside.end(outcomes, ending.changed, &base_of, &finished)?);
    }
    Ok(unwritten)
}
