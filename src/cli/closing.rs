//! The last lines of `compact`: where the outputs and reports are, and what to do next.
//!
//! Reads the outcomes of few inputs only; what is said of many follows from the flags and the sums.

use super::named::surroundings;
use super::next::{OutputMode, next, quoted};
use super::reports::Planned;
use crate::batch::{Destination, Options, Sorted, unread};
use crate::error::Result;
use crate::outcome::{Entries, Outcome, Status};
use crate::text::{printable, shown_path};

/// The maximum number of sessions compacted in place for which the command that continues each is shown.
const MOST_CONTINUED: usize = 5;

/// Where the outputs are, and how their sessions are continued.
///
/// # Errors
/// If outcomes cannot be read back from disk.
pub(super) fn outputs(
    outcomes: &Sorted,
    options: &Options,
    output_mode: OutputMode,
) -> Result<Vec<String>> {
    let totals = outcomes.totals();
    let has_outputs = totals.compacted + totals.unchanged > 0;
    Ok(match &options.destination {
        _ if outcomes.len() == 1 => {
            let only = outcomes.get(0).map_err(unread)?;
            let line = next(&only, output_mode, &surroundings());
            line.into_iter().collect()
        }
        Destination::Folder(folder) if has_outputs => {
            vec![format!("written to {}", printable(&shown_path(folder)))]
        }
        Destination::Beside if has_outputs => {
            vec!["each output is beside its input, with .compact in its name".to_owned()]
        }
        Destination::InPlace if totals.compacted > 0 => in_place(outcomes)?,
        Destination::Folder(_)
        | Destination::Beside
        | Destination::InPlace
        | Destination::File(_)
        | Destination::Stdout => Vec::new(),
    })
}

/// How to continue each of a few sessions, and how to restore them all.
fn in_place(outcomes: &Sorted) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    if outcomes.len() <= MOST_CONTINUED {
        let around = surroundings();
        let mut see = |outcome: &Outcome| {
            if outcome.status == Status::Compacted {
                let line = next(outcome, OutputMode::InPlace, &around);
                let path = shown_path(outcome.file.path.as_ref());
                lines.extend(line.map(|line| match line.contains(&*path) {
                    true => line,
                    false => format!("{}: {line}", printable(&path)),
                }));
            }
            Ok(())
        };
        outcomes.each(&mut see).map_err(unread)?;
    }
    lines.push("ctxpack undo with the same paths restores the originals".to_owned());
    Ok(lines)
}

/// Where the reports of the run are; `None` if it wrote none.
pub(super) fn reports(planned: &[Planned]) -> Option<String> {
    let paths = planned.iter().map(|(path, _)| shown_path(path));
    let paths: Vec<String> = paths
        .map(|path| quoted(&printable(&path)).into_owned())
        .collect();
    match &paths[..] {
        [] => None,
        [one] => Some(format!("report: {one}")),
        several => Some(format!("reports: {}", several.join(" "))),
    }
}
