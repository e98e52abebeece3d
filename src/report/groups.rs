//! Inputs grouped by format, project and week: charts on pages, tables in Markdown.
//!
//! A grouping that would show a single group is omitted. Names are text from transcripts; the renderer escapes them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cells::{percent, saved};
use super::page::figure;
use super::rows::Table;
use crate::outcome::FileRecord;
use crate::text::{count, thousands};

/// The maximum number of groups to show; the others share one.
pub(super) const MOST: usize = 12;

/// A sum over inputs or edits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    /// How many.
    pub(super) times: u64,
    /// Their tokens.
    pub(super) before: u64,
    /// Their tokens afterwards.
    pub(super) after: u64,
}

impl Sum {
    pub(super) fn add(&mut self, times: u64, before: u64, after: u64) {
        self.times += times;
        self.before += before;
        self.after += after;
    }
}

/// An input with its size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grouped<'f> {
    pub(super) file: &'f FileRecord,
    /// Tokens before and after.
    pub(super) tokens: [u64; 2],
}

/// What inputs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    Format,
    Project,
    Week,
}

/// The order in which groups are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The largest first.
    Size,
    /// By name; if there are too many, the last ones are shown.
    Name,
}

impl Grouping {
    /// In the order of reports.
    pub(super) const ALL: [Grouping; 3] = [Grouping::Format, Grouping::Project, Grouping::Week];

    /// The heading of a chart.
    pub(super) fn title(self) -> &'static str {
        match self {
            Grouping::Format => "By format",
            Grouping::Project => "By project",
            Grouping::Week => "By week",
        }
    }

    /// A sentence about what is grouped by.
    pub(super) fn about(self) -> &'static str {
        match self {
            Grouping::Format => "",
            Grouping::Project => "The project is the folder in which the agent worked. ",
            Grouping::Week => "The ISO week, in UTC, of the last message. ",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Grouping::Format => "format",
            Grouping::Project => "project",
            Grouping::Week => "week",
        }
    }

    fn key(self, entry: &Grouped<'_>) -> Option<String> {
        match self {
            Grouping::Format => entry.file.format.clone(),
            Grouping::Project => entry.file.project.clone(),
            Grouping::Week => entry.file.last_message.as_deref().and_then(week),
        }
    }

    fn order(self) -> Order {
        match self {
            Grouping::Format | Grouping::Project => Order::Size,
            Grouping::Week => Order::Name,
        }
    }
}

/// The maximum number of names with sums of their own: names are text from transcripts, and their number may be unlimited.
const MOST_NAMES: usize = 10_000;

/// Sums by name.
#[derive(Debug, Default)]
pub(super) struct Sums {
    named: BTreeMap<String, Sum>,
    /// The sum of further names.
    rest: Sum,
}

impl Sums {
    /// Adds something with this name.
    pub(super) fn add(&mut self, name: &str, sum: Sum) {
        let there = self.named.len() < MOST_NAMES || self.named.contains_key(name);
        let to = match there {
            true => self.named.entry(name.to_owned()).or_default(),
            false => &mut self.rest,
        };
        to.add(sum.times, sum.before, sum.after);
    }

    /// Whether there are no sums by name.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// The groups to show; the others share one.
    pub(super) fn ranked(&self, order: Order) -> Vec<(String, Sum)> {
        let named = self.named.iter();
        let mut sums: Vec<(String, Sum)> = named.map(|(name, sum)| (name.clone(), *sum)).collect();
        match order {
            // The sort is stable, so that equal groups stay in name order.
            Order::Size => sums.sort_by_key(|(_, sum)| Reverse(sum.before.max(sum.after))),
            Order::Name => sums.reverse(),
        }
        let mut rest = None;
        if sums.len() > MOST + 1 {
            let others = sums.split_off(MOST);
            let mut sum = self.rest;
            for (_, other) in &others {
                sum.add(other.times, other.before, other.after);
            }
            let what = match (order, self.rest.times) {
                (Order::Size, 0) => "others",
                (Order::Name, 0) => "earlier ones",
                (Order::Size | Order::Name, _) => "or more others",
            };
            rest = Some((format!("{} {what}", figure(others.len() as u64)), sum));
        }
        sums.extend(rest);
        if order == Order::Name {
            sums.reverse();
        }
        sums
    }
}

/// The sums of inputs by each grouping.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// In the order of [`Grouping::ALL`]: the sums by name, and the sum of inputs without one.
    by: [(Sums, Sum); 3],
    whole: u64,
}

impl Groups {
    /// Adds an input.
    pub(super) fn add(&mut self, entry: &Grouped<'_>) {
        let [before, after] = entry.tokens;
        self.whole += before;
        for (grouping, (named, unknown)) in Grouping::ALL.into_iter().zip(&mut self.by) {
            match grouping.key(entry) {
                Some(name) => named.add(
                    &name,
                    Sum {
                        times: 1,
                        before,
                        after,
                    },
                ),
                None => unknown.add(1, before, after),
            }
        }
    }

    /// Each grouping that has several groups, with its groups.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Grouping, Vec<(String, Sum)>)> {
        let all = Grouping::ALL.into_iter().zip(&self.by);
        all.filter_map(|(grouping, (named, unknown))| {
            let mut shown = named.ranked(grouping.order());
            let unknown = Some(unknown).filter(|sum| sum.times > 0);
            let name = || format!("(no {} is known)", grouping.name());
            shown.extend(unknown.map(|sum| (name(), *sum)));
            (shown.len() > 1).then_some((grouping, shown))
        })
    }
}

impl<'f> FromIterator<Grouped<'f>> for Groups {
    fn from_iter<I: IntoIterator<Item = Grouped<'f>>>(entries: I) -> Self {
        let mut groups = Groups::default();
        for entry in entries {
            groups.add(&entry);
        }
        groups
    }
}

/// The ISO week of a time, in UTC: `2026-W48`.
fn week(time: &str) -> Option<String> {
    let time: Timestamp = time.parse().ok()?;
    let week = TimeZone::UTC.to_datetime(time).date().iso_week_date();
    Some(format!("{:04}-W{:02}", week.year(), week.week()))
}

/// What Markdown says about the tokens of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figures {
    /// Before, after, and what was saved.
    Change,
    /// The number, and its share of all.
    Share,
}

/// Writes a table for each grouping that has several groups.
pub(super) fn write_markdown(
    groups: &Groups,
    figures: Figures,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (grouping, groups_of) in groups.shown() {
        let header = match figures {
            Figures::Change => vec![grouping.name(), "files", "tokens before", "after", "saved"],
            Figures::Share => vec![grouping.name(), "files", "tokens", "share"],
        };
        let mut table = Table::new(header);
        table.rows.extend(groups_of.into_iter().map(|(name, sum)| {
            let mut row = vec![name, thousands(sum.times), thousands(sum.before)];
            row.extend(match figures {
                Figures::Change => vec![thousands(sum.after), saved(sum.before, sum.after)],
                Figures::Share => vec![percent(sum.before, groups.whole)],
            });
            row
        }));
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    Ok(())
}

/// `3 files`
pub(super) fn files(sum: &Sum) -> String {
    count(sum.times, "file")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn record(project: Option<&str>, last_message: &str) -> FileRecord {
        let mut record = FileRecord::new(Path::new("a"));
        record.format = Some("pi".to_owned());
        record.project = project.map(str::to_owned);
        record.last_message = Some(last_message.to_owned());
        record
    }

    #[test]
    fn groups_are_by_size_and_weeks_by_time() {
        // The first of January 2027 is a Friday: its week is the 53rd of the year before.
        let records = [
            record(Some("/a"), "2027-01-01T00:00:00Z"),
            record(Some("/b"), "2026-11-25T23:59:59.5Z"),
            record(Some("/a"), "2027-01-04T00:30:00+01:00"),
            record(None, "no time"),
        ];
        let sizes = [10, 30, 15, 7];
        let entries = records.iter().zip(sizes).map(|(file, before)| Grouped {
            file,
            tokens: [before, before / 2],
        });
        let groups: Groups = entries.collect();
        let shown = |grouping: Grouping| {
            let mut all = groups.shown();
            let groups = all.find_map(|(by, groups)| (by == grouping).then_some(groups));
            let groups = groups.into_iter().flatten();
            let groups = groups.map(|(name, sum)| format!("{name} {} {}", sum.times, sum.before));
            groups.collect::<Vec<_>>()
        };
        assert_eq!(shown(Grouping::Format), Vec::<String>::new());
        let projects = ["/b 1 30", "/a 2 25", "(no project is known) 1 7"];
        assert_eq!(shown(Grouping::Project), projects);
        let weeks = ["2026-W48 1 30", "2026-W53 2 25", "(no week is known) 1 7"];
        assert_eq!(shown(Grouping::Week), weeks);
    }

    #[test]
    fn too_many_groups_share_one() {
        let sum = |before| Sum {
            times: 1,
            before,
            after: 0,
        };
        let sums = |n: u64| {
            let mut sums = Sums::default();
            (0..n).for_each(|k| sums.add(&format!("{k:02}"), sum(k)));
            sums
        };
        let names = |n, order| -> Vec<String> {
            let ranked = sums(n).ranked(order).into_iter();
            ranked.map(|(name, _)| name).collect()
        };
        assert_eq!(names(13, Order::Size).len(), 13);
        assert_eq!(names(13, Order::Name)[0], "00");
        let by_size = names(20, Order::Size);
        assert_eq!((&*by_size[0], &*by_size[12]), ("19", "8 others"));
        let by_name = names(20, Order::Name);
        assert_eq!((&*by_name[0], &*by_name[12]), ("8 earlier ones", "19"));
        // Unlimited names do not take unlimited memory, and nothing is missing from the sums.
        let many = sums(2 * MOST_NAMES as u64);
        assert_eq!(many.named.len(), MOST_NAMES);
        let shown = many.ranked(Order::Size);
        assert_eq!(shown[MOST].0, "9\u{a0}988 or more others");
        let times: u64 = shown.iter().map(|(_, sum)| sum.times).sum();
        assert_eq!(times, 2 * MOST_NAMES as u64);
    }
}
