//! The figures of one run, and their means.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A metric, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Names that the agent uses later without having been shown them again.
    Need,
    /// The needed names within three consecutive words of the original.
    Grounded,
    /// The needed names that a sliding window of the same budget does not contain.
    Far,
    /// Sentences of the user.
    User,
    /// Files that were changed.
    Modified,
    /// Commands.
    Commands,
    /// Error messages.
    Errors,
    /// True statements of a summary about what was last done to files.
    StateFiles,
    /// True statements of a summary about how commands ended.
    StateCommands,
    /// Tokens that are kept.
    Used,
}

impl Metric {
    /// All of them, in the order of reports.
    pub const ALL: [Metric; 10] = [
        Metric::Need,
        Metric::Grounded,
        Metric::Far,
        Metric::User,
        Metric::Modified,
        Metric::Commands,
        Metric::Errors,
        Metric::StateFiles,
        Metric::StateCommands,
        Metric::Used,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Need => "need",
            Metric::Grounded => "grounded",
            Metric::Far => "far",
            Metric::User => "user",
            Metric::Modified => "mod",
            Metric::Commands => "cmd",
            Metric::Errors => "err",
            Metric::StateFiles => "state_files",
            Metric::StateCommands => "state_cmd",
            Metric::Used => "used",
        }
    }
}

/// The scores of a method.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// The number of cuts that they come from.
    pub cuts: u64,
    /// In the order of [`Metric::ALL`], in percent; `None` if there was too little to measure.
    pub shares: [Option<f64>; 10],
    /// Names that did not occur before the cut.
    pub invented: u64,
    /// The first of these.
    pub examples: Vec<String>,
    /// Cuts at which the result was over the budget.
    pub over: u64,
    /// The cuts among them at which the policy must keep more than the budget, which is therefore unreachable.
    pub unreachable: u64,
}

/// The maximum number of invented names in a report.
const EXAMPLES: usize = 10;

impl Scores {
    /// One of the shares, rounded to a hundredth, so that a value read back from a report is equal.
    pub fn share(&self, metric: Metric) -> Option<f64> {
        let at = Metric::ALL.iter().position(|other| *other == metric)?;
        self.shares[at].map(hundredths)
    }

    /// The means of percentages, if there are any, and the sums of counts.
    pub(super) fn mean<'s>(scores: impl Iterator<Item = &'s Scores>) -> Scores {
        let mut sums = ScoreSums::default();
        scores.for_each(|one| sums.add(one));
        sums.mean()
    }

    /// Appends the exact shares: JSON has rounded ones.
    pub(super) fn put_exact(&self, to: &mut Vec<u8>) {
        for share in self.shares.iter().flatten() {
            to.extend_from_slice(&share.to_le_bytes());
        }
    }

    /// Replaces rounded shares by the exact ones, which it takes from the beginning; `None` if there are too few.
    pub(super) fn take_exact(&mut self, from: &mut &[u8]) -> Option<()> {
        for share in self.shares.iter_mut().flatten() {
            let (exact, rest) = from.split_first_chunk()?;
            *share = f64::from_le_bytes(*exact);
            *from = rest;
        }
        Some(())
    }
}

/// Scores that are added up one by one. The order matters, if only to the last bit of a mean.
#[derive(Debug, Default)]
pub(super) struct ScoreSums {
    shares: [f64; 10],
    /// How many of each there were.
    known: [u64; 10],
    cuts: u64,
    invented: u64,
    examples: BTreeSet<String>,
    over: u64,
    unreachable: u64,
}

impl ScoreSums {
    pub(super) fn add(&mut self, scores: &Scores) {
        let sums = self.shares.iter_mut().zip(&mut self.known);
        for ((sum, known), share) in sums.zip(scores.shares) {
            if let Some(share) = share {
                *sum += share;
                *known += 1;
            }
        }
        self.cuts += scores.cuts;
        self.invented += scores.invented;
        self.over += scores.over;
        self.unreachable += scores.unreachable;
        self.examples.extend(scores.examples.iter().cloned());
        while self.examples.len() > EXAMPLES {
            self.examples.pop_last();
        }
    }

    /// The means of percentages, if there are any, and the sums of counts.
    pub(super) fn mean(self) -> Scores {
        let mut shares = [None; 10];
        for (share, (sum, known)) in shares.iter_mut().zip(self.shares.iter().zip(self.known)) {
            *share = (known > 0).then(|| sum / known as f64);
        }
        Scores {
            cuts: self.cuts,
            shares,
            invented: self.invented,
            examples: self.examples.into_iter().collect(),
            over: self.over,
            unreachable: self.unreachable,
        }
    }
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cuts", &self.cuts)?;
        for (metric, share) in Metric::ALL.into_iter().zip(self.shares) {
            map.serialize_entry(metric.name(), &share.map(hundredths))?;
        }
        map.serialize_entry("over", &self.over)?;
        map.serialize_entry("unreachable", &self.unreachable)?;
        map.serialize_entry("invented", &self.invented)?;
        map.serialize_entry("invented_names", &self.examples)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Scores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            cuts: u64,
            over: u64,
            unreachable: u64,
            invented: u64,
            invented_names: Vec<String>,
            #[serde(flatten)]
            shares: BTreeMap<String, Option<f64>>,
        }
        let read = Read::deserialize(deserializer)?;
        Ok(Scores {
            cuts: read.cuts,
            shares: Metric::ALL.map(|metric| read.shares.get(metric.name()).copied().flatten()),
            invented: read.invented,
            examples: read.invented_names,
            over: read.over,
            unreachable: read.unreachable,
        })
    }
}

/// Rounds to two decimals.
pub(super) fn hundredths(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_leave_out_what_was_not_measured() {
        let one = |need: Option<f64>, far: Option<f64>, invented: u64| Scores {
            cuts: 1,
            shares: [need, None, far, None, None, None, None, None, None, None],
            invented,
            examples: vec!["x.rs".to_owned(); invented as usize],
            over: 1,
            unreachable: invented / 2,
        };
        let all = [one(Some(10.0), None, 0), one(Some(25.0), Some(3.0), 2)];
        let mean = Scores::mean(all.iter());
        assert_eq!(mean.share(Metric::Need), Some(17.5));
        assert_eq!(mean.share(Metric::Far), Some(3.0));
        assert_eq!(mean.share(Metric::User), None);
        assert_eq!((mean.cuts, mean.invented), (2, 2));
        assert_eq!((mean.over, mean.unreachable), (2, 1));
        assert_eq!(mean.examples, ["x.rs"]);
    }

    #[test]
    fn a_mean_names_the_first_examples_of_all() {
        let one = |n: u64| Scores {
            examples: (0..4).map(|k| format!("{:02}", (n * 4 + k) % 30)).collect(),
            ..Scores::default()
        };
        let all: Vec<Scores> = (0..40).rev().map(one).collect();
        let names: Vec<String> = (0..10).map(|n| format!("{n:02}")).collect();
        assert_eq!(Scores::mean(all.iter()).examples, names);
    }

    #[test]
    fn exact_shares_are_put_back() {
        let thirds = |n: usize| Scores {
            shares: std::array::from_fn(|at| (at != n).then_some(at as f64 / 3.0)),
            ..Scores::default()
        };
        let mut bytes = Vec::new();
        [thirds(0), thirds(7)]
            .iter()
            .for_each(|one| one.put_exact(&mut bytes));
        let mut rest = &bytes[..];
        for n in [0, 7] {
            let json = serde_json::to_string(&thirds(n)).unwrap();
            let mut read: Scores = serde_json::from_str(&json).unwrap();
            assert_ne!(read, thirds(n));
            read.take_exact(&mut rest).unwrap();
            assert_eq!(read, thirds(n));
        }
        assert!(rest.is_empty());
        assert_eq!(thirds(0).take_exact(&mut &bytes[1..9]), None);
    }
}
