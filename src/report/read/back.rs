//! What a report that was read back says besides its entries, and the rebuilt report over these entries, wherever they are stored.
//!
//! Rejects a report whose own sums differ from those of its entries.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{self, Error, ErrorKind};
use crate::eval::{self, FileEval};
use crate::outcome::{Entries, Examined, Interrupted, NotRead, Totals, unread};
use crate::replay::FileReplay;
use crate::report::run::{Head, RunReport};
use crate::report::times::RunTimings;
use crate::report::{
    CompactHeader, EvalHeader, Evals, ReplayHeader, Replays, Stats, StatsHeader, StreamedReport,
};
use crate::stats::FileStats;

/// What the head of every report says besides the command's own data.
#[derive(Debug, Deserialize)]
pub(super) struct Common {
    pub(super) version: String,
    #[serde(default)]
    pub(super) not_read: Vec<NotRead>,
    #[serde(default)]
    pub(super) timings: Option<RunTimings>,
}

/// The sums that a report states, whatever they are about.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    totals: Sums,
}

/// The numeric sums, by key and in order. Lists among them, which can be long, are not kept.
#[derive(Debug, Default)]
struct Sums(Vec<(String, u64)>);

impl Sums {
    fn of(&self, key: &str) -> Option<u64> {
        let mut sums = self.0.iter();
        sums.find_map(|(other, sum)| (other == key).then_some(*sum))
    }
}

impl<'de> Deserialize<'de> for Sums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Sums;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sums, A::Error> {
                let mut sums = Sums::default();
                while let Some((key, sum)) = map.next_entry::<String, Box<RawValue>>()? {
                    let sum = sum.get().parse().ok();
                    sums.0.extend(sum.map(|sum| (key, sum)));
                }
                Ok(sums)
            }
        }
        deserializer.deserialize_map(Numbers)
    }
}

/// What a report that was read back says about its run.
#[derive(Debug)]
pub struct Back<A> {
    pub(super) path: PathBuf,
    /// The line of its head.
    pub(super) line: u64,
    pub(super) about: A,
    pub(super) left: Option<Interrupted>,
    pub(super) said: Said,
    pub(super) common: Common,
}

/// What a report of `eval` says about its run. Its means are recorded ones: those of its entries, which are rounded, may differ.
#[derive(Debug)]
pub struct RecordedEval {
    pub(super) header: EvalHeader,
    pub(super) totals: eval::Totals,
}

impl<A> Back<A> {
    /// Fails if the sums that it states differ from those of its entries, `totals`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`].
    pub fn check(&self, totals: &impl Serialize) -> error::Result<()> {
        let written = serde_json::to_vec(totals).unwrap_or_default();
        let counted: Sums = serde_json::from_slice(&written).unwrap_or_default();
        for (key, said) in &self.said.totals.0 {
            // Shares are rounded.
            if let Some(sum) = counted.of(key).filter(|sum| sum != said) {
                let why = format!("its totals say {key} {said}, and its files add up to {sum}");
                return Err(Error::new(ErrorKind::Unsupported, why)
                    .at(&self.path)
                    .on_line(self.line)
                    .hint(
                        "it is damaged, or was changed; run the command again for a complete report",
                    ));
            }
        }
        Ok(())
    }

    /// The report, completed with what every head says.
    pub(super) fn run<B, T, F>(self, mut report: RunReport<B, T, F>) -> RunReport<B, T, F> {
        self.common.put(&mut report.head);
        report
    }
}

impl Common {
    fn put<A, T>(self, head: &mut Head<A, T>) {
        head.version = Cow::Owned(self.version);
        head.not_read = self.not_read;
        head.timings = self.timings;
    }
}

impl Back<CompactHeader> {
    /// The report on these entries, which are its own and whose sums are `totals`.
    ///
    /// # Errors
    /// The errors of [`Back::check`].
    pub fn report(
        self,
        totals: Totals,
        entries: &dyn Entries,
    ) -> error::Result<StreamedReport<'_>> {
        self.check(&totals)?;
        let mut report = StreamedReport::new(self.about.policy, totals, entries)
            .with_estimate(self.about.estimate)
            .with_left(Vec::new(), self.left);
        self.common.put(&mut report.head);
        Ok(report)
    }
}

impl Back<StatsHeader> {
    /// The report on these entries, which are its own.
    ///
    /// # Errors
    /// The errors of [`Back::check`], or if an entry cannot be read.
    pub fn report(self, entries: &dyn Entries<Examined<FileStats>>) -> error::Result<Stats<'_>> {
        let StatsHeader {
            policy,
            estimator,
            thresholds,
            top,
            ..
        } = self.about.clone();
        let about = StatsHeader::new(policy, estimator, thresholds, top);
        let mut report = Stats::of(about, entries).map_err(unread)?;
        self.check(&report.head.totals)?;
        self.common.put(&mut report.head);
        Ok(report)
    }
}

impl Back<ReplayHeader> {
    /// The report on these entries, which are its own.
    ///
    /// # Errors
    /// The errors of [`Back::check`], or if an entry cannot be read.
    pub fn report(self, entries: &dyn Entries<Examined<FileReplay>>) -> error::Result<Replays<'_>> {
        let mut report = Replays::of(self.about.clone(), entries).map_err(unread)?;
        self.check(&report.head.totals)?;
        self.common.put(&mut report.head);
        Ok(report)
    }
}

impl Back<RecordedEval> {
    /// The report on these entries, which are its own.
    pub fn report(self, entries: &dyn Entries<Examined<FileEval>>) -> Evals<'_> {
        let RecordedEval { header, totals } = self.about;
        let mut report = Evals::recorded(header, totals, entries);
        self.common.put(&mut report.head);
        report
    }
}
