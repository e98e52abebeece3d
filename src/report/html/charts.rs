//! The charts on `compact`: tokens before and after by role, by what was done, by tool, format, project and week, and how
//! savings are spread.
//!
//! A chart with nothing to compare is omitted, such as the one by role in a report from a version without roles.

use std::io;

use super::change;
use crate::outcome::{Entries, Outcome, Status};
use crate::report::cells::{has_sizes, saved};
use crate::report::groups::{Groups, Order, Sum, Sums};
use crate::report::page::{Bar, Bars, Chart, Histogram, Tone, amount_of, figure};
use crate::report::view::grouped;
use crate::text::shown_name;

/// The maximum number of outliers to name.
const OUTLIERS: usize = 8;
/// The minimum number of values for outliers.
const SPREAD: u64 = 8;

/// The data for the charts, from the entries so far.
#[derive(Default)]
pub(super) struct Seen {
    roles: Sums,
    kinds: Sums,
    tools: Sums,
    groups: Groups,
    shares: Shares,
}

impl Seen {
    pub(super) fn see(&mut self, outcome: &Outcome) {
        for role in outcome.conversations.iter().flat_map(|c| &c.roles) {
            let sum = Sum {
                times: 0,
                before: role.tokens_before,
                after: role.tokens_after,
            };
            self.roles.add(role.role.name(), sum);
        }
        for action in outcome.conversations.iter().flat_map(|c| &c.actions) {
            let sum = Sum {
                times: 1,
                before: action.tokens_before,
                after: action.tokens_after,
            };
            self.kinds.add(&action.kind.to_string(), sum);
            self.tools
                .add(action.tool.as_deref().unwrap_or(NO_TOOL), sum);
        }
        grouped(outcome)
            .iter()
            .for_each(|entry| self.groups.add(entry));
        self.shares.see(outcome);
    }

    /// The charts that have something to show. Goes through the entries again to find the outliers to name.
    pub(super) fn charts(&self, entries: &dyn Entries) -> io::Result<Vec<Chart>> {
        let mut charts = Vec::new();
        if !self.roles.is_empty() {
            charts.push(bars(
                "By role",
                "Tokens of all live windows by who said them, before and after. Most agents have summaries said by the user.",
                Noted::Nothing,
                &self.roles,
            ));
        }
        if !self.kinds.is_empty() {
            charts.push(bars(
                "By what was done",
                "Tokens of what each kind of edit replaced, before and after.",
                Noted::Times("edit"),
                &self.kinds,
            ));
            charts.push(bars(
                "By tool",
                "Tokens of the calls and results that were edited, by their tool.",
                Noted::Times("edit"),
                &self.tools,
            ));
        }
        charts.extend(self.groups.shown().map(|(grouping, groups)| {
            let about = format!(
                "{}Tokens of all live windows, before and after.",
                grouping.about()
            );
            chart(grouping.title(), about, Noted::Times("file"), groups)
        }));
        charts.extend(self.shares.spread(entries)?);
        Ok(charts)
    }
}

/// The name for edits without a tool.
const NO_TOOL: &str = "(messages)";

/// The text beside the name of a bar.
#[derive(Clone, Copy)]
enum Noted {
    Nothing,
    /// The number of these things.
    Times(&'static str),
}

fn bars(title: &'static str, about: &str, noted: Noted, sums: &Sums) -> Chart {
    chart(title, about.to_owned(), noted, sums.ranked(Order::Size))
}

fn chart(title: &'static str, about: String, noted: Noted, sums: Vec<(String, Sum)>) -> Chart {
    let adds = sums.iter().any(|(_, sum)| sum.after > sum.before);
    let mut parts = vec![(Tone::Stays, "after"), (Tone::Gone, "saved")];
    if adds {
        parts.push((Tone::Added, "added"));
    }
    let bar = |(name, sum): (String, Sum)| Bar {
        name,
        note: match noted {
            Noted::Nothing => String::new(),
            Noted::Times(what) => amount_of(sum.times, what),
        },
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

/// The resolution of shares: a hundredth of a percent.
const WHOLE: usize = 10_000;

/// How many of the compacted files saved each share.
struct Shares {
    files: Vec<u64>,
    compacted: u64,
    others: u64,
}

impl Default for Shares {
    fn default() -> Self {
        Shares {
            files: vec![0; WHOLE + 1],
            compacted: 0,
            others: 0,
        }
    }
}

impl Shares {
    fn see(&mut self, outcome: &Outcome) {
        match share(outcome) {
            Some(share) => {
                self.files[share] += 1;
                self.compacted += 1;
            }
            None => self.others += u64::from(has_sizes(outcome.status)),
        }
    }

    /// The share of the file at a position in the order of shares, and how many files before it have the same share.
    fn at(&self, place: u64) -> (usize, u64) {
        let mut before = place;
        for (share, files) in self.files.iter().enumerate() {
            match before.checked_sub(*files) {
                Some(rest) => before = rest,
                None => return (share, before),
            }
        }
        (WHOLE, before)
    }

    /// How the savings of the compacted files are spread, if there are several.
    fn spread(&self, entries: &dyn Entries) -> io::Result<Option<Chart>> {
        if self.compacted < 2 {
            return Ok(None);
        }
        let mut tenths = [0; 10];
        for (share, files) in self.files.iter().enumerate() {
            tenths[(share * 10 / WHOLE).min(9)] += files;
        }
        let (middle, mut before) = self.at(self.compacted / 2);
        let mut of_middle = String::new();
        let (low, high) = (
            self.at(self.compacted / 4).0,
            self.at(self.compacted * 3 / 4).0,
        );
        let mut outliers: Vec<(usize, String, String)> = Vec::new();
        entries.each(&mut |outcome| {
            let Some(share) = share(outcome) else {
                return Ok(());
            };
            let saved = || saved(outcome.tokens_before(), outcome.tokens_after());
            if share == middle {
                if before == 0 {
                    of_middle = saved();
                }
                before = before.wrapping_sub(1);
            }
            // Outliers are more than 1.5 interquartile ranges away from the middle half; the farthest come first, equal ones in
            // path order.
            let away = low.saturating_sub(share).max(share.saturating_sub(high));
            let rank = outliers.partition_point(|(other, ..)| *other >= away);
            let is_far = self.compacted >= SPREAD && away * 2 > (high - low) * 3;
            if is_far && rank < OUTLIERS {
                let name = shown_name(&outcome.file.path).into_owned();
                outliers.insert(rank, (away, name, saved()));
                outliers.truncate(OUTLIERS);
            }
            Ok(())
        })?;
        let about = format!(
            "Share of the tokens saved in each of {}, the median is {of_middle}; {} saved none.",
            amount_of(self.compacted, "compacted file"),
            amount_of(self.others, "other file")
        );
        let outliers = outliers.into_iter();
        Ok(Some(Chart::Histogram(Histogram {
            title: "Savings over files",
            about,
            what: "file",
            tenths,
            outliers: outliers.map(|(_, path, saved)| (path, saved)).collect(),
        })))
    }
}

/// The share saved in a compacted file, in hundredths of a percent; 0 if it grew.
fn share(outcome: &Outcome) -> Option<usize> {
    let (before, after) = (outcome.tokens_before(), outcome.tokens_after());
    let gone = u128::from(before.saturating_sub(after));
    let share = || (gone * WHOLE as u128 / u128::from(before)) as usize;
    (outcome.status == Status::Compacted && before > 0).then(share)
}
