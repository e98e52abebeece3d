//! The charts on `compact`: tokens before and after by what was done, by tool, format, project and week, and how
//! savings are spread.
//!
//! A chart with nothing to compare is left out. Charts by role are those of `stats`: a report on `compact` does not know roles.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::change;
use crate::outcome::{Outcome, Status};
use crate::report::Report;
use crate::report::cells::{has_sizes, saved};
use crate::report::groups::{Grouping, Order, Sum, ranked};
use crate::report::page::{Bar, Bars, Chart, Histogram, Tone, amount_of, figure};

/// The most outliers that are named.
const OUTLIERS: usize = 8;
/// Fewer values have no outliers.
const SPREAD: usize = 8;

/// The charts that have something to say.
pub(super) fn of(report: &Report) -> Vec<Chart> {
    let files = report.files();
    let mut kinds: BTreeMap<String, Sum> = BTreeMap::new();
    let mut tools: BTreeMap<String, Sum> = BTreeMap::new();
    for outcome in files {
        for action in outcome.conversations.iter().flat_map(|c| &c.actions) {
            let (before, after) = (action.tokens_before, action.tokens_after);
            let kind = action.kind.to_string();
            kinds.entry(kind).or_default().add(1, before, after);
            let tool = action.tool.clone().unwrap_or_else(|| NO_TOOL.into());
            tools.entry(tool).or_default().add(1, before, after);
        }
    }
    let mut charts = Vec::new();
    if !kinds.is_empty() {
        charts.push(bars(
            "By what was done",
            "Tokens of what each kind of edit replaced, before and after.",
            "edit",
            kinds,
        ));
        charts.push(bars(
            "By tool",
            "Tokens of the calls and results that were edited, by their tool.",
            "edit",
            tools,
        ));
    }
    let entries = report.entries();
    for grouping in Grouping::ALL {
        let groups = grouping.groups(entries.iter().copied());
        let about = format!(
            "{}Tokens of all live windows, before and after.",
            grouping.about()
        );
        if !groups.is_empty() {
            charts.push(chart(grouping.title(), about, "file", groups));
        }
    }
    charts.extend(spread(files));
    charts
}

/// What an edit without a tool concerns.
const NO_TOOL: &str = "(messages)";

fn bars(title: &'static str, about: &str, what: &str, sums: BTreeMap<String, Sum>) -> Chart {
    let shown = ranked(sums, Order::Size);
    chart(title, about.to_owned(), what, shown)
}

fn chart(title: &'static str, about: String, what: &str, sums: Vec<(String, Sum)>) -> Chart {
    let adds = sums.iter().any(|(_, sum)| sum.after > sum.before);
    let mut parts = vec![(Tone::Stays, "after"), (Tone::Gone, "saved")];
    if adds {
        parts.push((Tone::Added, "added"));
    }
    let bar = |(name, sum): (String, Sum)| Bar {
        name,
        note: amount_of(sum.times, what),
        parts: change(sum.before, sum.after),
        value: match sum.after < sum.before {
            true => format!(
                "{} → {}, −{}",
                figure(sum.before),
                figure(sum.after),
                saved(sum.before, sum.after)
            ),
            false => format!("{} → {}", figure(sum.before), figure(sum.after)),
        },
    };
    Chart::Bars(Bars {
        title,
        about,
        parts,
        bars: sums.into_iter().map(bar).collect(),
    })
}

/// How the savings of the compacted files are spread, if there are several.
fn spread(files: &[Outcome]) -> Option<Chart> {
    let sized = files.iter().filter(|o| has_sizes(o.status));
    let (compacted, others): (Vec<&Outcome>, Vec<&Outcome>) =
        sized.partition(|o| o.status == Status::Compacted && o.tokens_before() > 0);
    if compacted.len() < 2 {
        return None;
    }
    let mut shares: Vec<(u64, &Outcome)> = compacted
        .iter()
        .map(|o| (hundredths(o.tokens_before(), o.tokens_after()), *o))
        .collect();
    let mut tenths = [0; 10];
    for (share, _) in &shares {
        tenths[(*share as usize / 1_000).min(9)] += 1;
    }
    // Stable, so that equal ones stay in path order.
    shares.sort_by_key(|(share, _)| *share);
    let middle = shares[shares.len() / 2].1;
    let about = format!(
        "Share of the tokens saved in each of {}, half of them more than {}; {} saved none.",
        amount_of(shares.len() as u64, "compacted file"),
        saved(middle.tokens_before(), middle.tokens_after()),
        amount_of(others.len() as u64, "other file")
    );
    let outliers = outliers(&shares).into_iter();
    Some(Chart::Histogram(Histogram {
        title: "Savings over files",
        about,
        what: "file",
        tenths,
        outliers: outliers
            .map(|o| {
                (
                    o.file.path.clone(),
                    saved(o.tokens_before(), o.tokens_after()),
                )
            })
            .collect(),
    }))
}

/// What was saved, in hundredths of a percent; 0 where it grew.
fn hundredths(before: u64, after: u64) -> u64 {
    let gone = u128::from(before.saturating_sub(after));
    (gone * 10_000 / u128::from(before.max(1))) as u64
}

/// Those more than one and a half of the middle half's width away from it, the farthest first. `shares` ascend.
fn outliers<'o>(shares: &[(u64, &'o Outcome)]) -> Vec<&'o Outcome> {
    if shares.len() < SPREAD {
        return Vec::new();
    }
    let (low, high) = (shares[shares.len() / 4].0, shares[shares.len() * 3 / 4].0);
    let away = |share: u64| low.saturating_sub(share).max(share.saturating_sub(high));
    let mut far: Vec<_> = shares
        .iter()
        .filter(|(share, _)| away(*share) * 2 > (high - low) * 3)
        .collect();
    far.sort_by_key(|(share, _)| Reverse(away(*share)));
    far.into_iter().take(OUTLIERS).map(|(_, o)| *o).collect()
}
