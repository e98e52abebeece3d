//! The end of a run of `compact` over so many inputs that their outcomes are on the disk.
//!
//! Says and writes what the end of any run does, of one outcome at a time.

use std::io::{self, BufWriter, Write};

use super::emit::EmitArgs;
use super::gates::CompactGates;
use super::reading::{not_read, passed_by};
use super::reports::{self, Planned};
use super::saying::{policy_ref, say};
use super::stale::stats_beside;
use super::{Context, Voice};
use crate::batch::{Found, Overwrite, Spooled};
use crate::error::{Error, Result};
use crate::outcome::{Exit, Interrupted, Notices, Outcome};
use crate::policy::Effective;
use crate::report::{
    Depth, Entries, Report, ReportFormat, SAVINGS_SHOWN, StreamedReport, troubled,
};
use crate::store::{Missing, Spot};

/// What the end of the run is about.
pub(super) struct Ending<'e> {
    pub(super) effective: &'e Effective,
    pub(super) found: &'e Found,
    pub(super) left: Option<Interrupted>,
    pub(super) planned: &'e [Planned],
    pub(super) overwrite: Overwrite,
    /// Lines before the table.
    pub(super) before: Vec<String>,
    /// Whether there is a report beside each output.
    pub(super) beside: Beside,
    pub(super) gates: &'e CompactGates,
    pub(super) emit: &'e EmitArgs,
}

/// What came of the end of a run.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// The exit code of the gates.
    pub(super) gate: u8,
    /// What could not be written.
    pub(super) unwritten: Vec<Error>,
    /// The last line.
    pub(super) closing: Option<String>,
}

/// Whether there is a report beside each output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// There is.
    Written,
    /// There are others, or none is wanted.
    Nothing,
}

/// The entries of the report.
struct Read<'s>(&'s Spooled);

impl Entries for Read<'_> {
    fn each(&self, show: &mut dyn FnMut(Outcome) -> io::Result<()>) -> io::Result<()> {
        for at in 0..self.0.len() {
            show(self.0.get(at).map_err(|e| io::Error::other(e.message))?)?;
        }
        Ok(())
    }
}

/// Ends the run.
pub(super) fn end(context: &Context, spooled: &Spooled, ending: &Ending<'_>) -> Result<Ended> {
    let remarkable = spooled.remarkable();
    say(context, ending.found, remarkable);
    let mut left_out = not_read(ending.found);
    left_out.add_outcomes(remarkable);
    let policy = policy_ref(ending.effective);
    let entries = Read(spooled);
    let report = StreamedReport::new(policy, *spooled.totals(), &entries)
        .with_left(left_out.into_list(), ending.left);
    if context.voice > Voice::Quiet {
        let mut err = BufWriter::new(io::stderr().lock());
        for line in &ending.before {
            let _ = writeln!(err, "{line}");
        }
        let mut at: Vec<usize> = spooled.largest_savings(SAVINGS_SHOWN);
        let troubled = troubled(remarkable).filter_map(|one| spooled.place_of(&one.file.path));
        at.extend(troubled);
        at.sort_unstable();
        at.dedup();
        let selected: Result<Vec<Outcome>> = at.into_iter().map(|at| spooled.get(at)).collect();
        let depth = match context.voice {
            Voice::Loud => Depth::Reasons,
            Voice::Quiet | Voice::Normal => Depth::Sums,
        };
        let screen = context.color.screen(&io::stderr());
        // A table that cannot be shown is no reason to fail.
        let _ = report
            .write_table(&selected?, depth, screen, &mut err)
            .and_then(|()| err.flush());
    }
    let mut notices = Notices::of(remarkable);
    passed_by(&ending.found.passed, &mut notices);
    context.notices(notices);
    let (gate, closing) = watched(context, spooled, ending)?;
    let mut unwritten = Vec::new();
    for (path, format) in ending.planned {
        let spot = Spot::named(path, Missing::Make);
        let written =
            spot.and_then(|spot| reports::write(spot, &report, *format, ending.overwrite));
        unwritten.extend(written.err());
    }
    if ending.beside == Beside::Written {
        unwritten.extend(write_beside(spooled, ending)?);
    }
    Ok(Ended {
        exit: Exit::of(remarkable),
        gate,
        unwritten,
        closing,
    })
}

/// What gates say, and what is said of emitted messages: both ask of all outcomes.
fn watched(
    context: &Context,
    spooled: &Spooled,
    ending: &Ending<'_>,
) -> Result<(u8, Option<String>)> {
    let mut watch = ending.gates.watch();
    let mut emitted = ending
        .emit
        .emitted()
        .filter(|_| context.voice > Voice::Quiet);
    if ending.gates.is_any() || emitted.is_some() {
        for at in 0..spooled.len() {
            let outcome = spooled.get(at)?;
            watch.see(&outcome);
            if let Some(emitted) = &mut emitted {
                emitted.see(&outcome);
            }
        }
    }
    let gate = context.gates(&watch.closed(spooled.totals()));
    Ok((gate, emitted.map(|emitted| emitted.closing())))
}

/// Writes a report beside each output; gives what went wrong.
fn write_beside(spooled: &Spooled, ending: &Ending<'_>) -> Result<Vec<Error>> {
    let mut unwritten = Vec::new();
    let report_of = |outcome: &Outcome| {
        let output = outcome.output.as_deref().filter(|output| *output != "-");
        output.map(stats_beside)
    };
    let bases = ending.found.folders_of_inputs();
    // `a.jsonl` and `a.jsonl.gz` have one report.
    for places in spooled.together(&report_of)? {
        let outcomes: Result<Vec<Outcome>> = places.iter().map(|at| spooled.get(*at)).collect();
        let outcomes = outcomes?;
        let Some(path) = outcomes.first().and_then(report_of) else {
            continue;
        };
        let base = outcomes.iter().find_map(|one| bases.of(&one.file.path));
        let spot = match base {
            Some(base) => Spot::below(base, &path, Missing::Make),
            None => Spot::named(&path, Missing::Make),
        };
        let one = Report::new(policy_ref(ending.effective), outcomes);
        let written =
            spot.and_then(|spot| reports::write(spot, &one, ReportFormat::Json, ending.overwrite));
        unwritten.extend(written.err());
    }
    Ok(unwritten)
}
