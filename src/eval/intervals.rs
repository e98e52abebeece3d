//! The uncertainty of the mean over sessions: 95 % confidence intervals by bootstrap.
//!
//! Resamples the sessions with replacement and recomputes the mean; the interval spans the middle 95 % of these means. The draws
//! are seeded, so that the same scores give the same interval. Never looks into a session: its cuts are not independent, so its own
//! mean is one observation.
//!
//! PURE.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::scores::{Metric, Scores, hundredths};

/// The metrics that have an interval.
pub const METRICS: [Metric; 6] = [
    Metric::Need,
    Metric::Grounded,
    Metric::User,
    Metric::Modified,
    Metric::Commands,
    Metric::Errors,
];

/// The number of resamples, and the maximum number of sessions drawn in total: a large run needs fewer resamples.
const DRAWS: usize = 2_000;
const DRAWN: usize = 2_000_000;
const FEWEST_DRAWS: usize = 200;

/// Arbitrary but fixed.
const SEED: u64 = 0x00c0_ffee;

/// The 95 % confidence interval of a mean, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Half its width.
    pub fn half(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// The intervals of a method's means, in the order of [`METRICS`]; `None` if fewer than two sessions were measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Intervals([Option<Interval>; METRICS.len()]);

/// The shares of a method in each session, in the order of [`METRICS`]: in hundredths of a percent, to which reports round them
/// anyway, and of which none of these metrics has more than 10 000.
#[derive(Debug, Default)]
pub(super) struct Columns([Vec<u16>; METRICS.len()]);

impl Columns {
    /// How many bytes the columns of so many sessions take.
    pub(super) fn size(sessions: u64) -> u64 {
        sessions.saturating_mul((METRICS.len() * size_of::<u16>()) as u64)
    }

    /// Adds a session.
    pub(super) fn add(&mut self, scores: &Scores) {
        for (column, metric) in self.0.iter_mut().zip(METRICS) {
            column.extend(
                scores
                    .share(metric)
                    .map(|share| (share * 100.0).round() as u16),
            );
        }
    }

    /// The intervals of the means; `None` if no metric has one.
    pub(super) fn intervals(&self) -> Option<Intervals> {
        let intervals = self.0.each_ref().map(|column| {
            let shares = column.iter().map(|share| f64::from(*share) / 100.0);
            interval(&shares.collect::<Vec<f64>>())
        });
        let is_any = intervals.iter().any(Option::is_some);
        is_any.then_some(Intervals(intervals))
    }
}

impl Intervals {
    /// The interval of one metric.
    pub fn get(&self, metric: Metric) -> Option<Interval> {
        let at = METRICS.iter().position(|other| *other == metric)?;
        self.0[at]
    }
}

fn interval(values: &[f64]) -> Option<Interval> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let draws = (DRAWN / count).clamp(FEWEST_DRAWS, DRAWS);
    let mut state = SEED;
    let mut means: Vec<f64> = (0..draws)
        .map(|_| {
            let drawn = (0..count).map(|_| values[below(&mut state, count)]);
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    // Of 2 000 means, 50 are below and 50 above.
    let outside = draws / 40;
    Some(Interval {
        low: hundredths(means[outside]),
        high: hundredths(means[draws - 1 - outside]),
    })
}

/// The next number below `count`, by SplitMix64.
fn below(state: &mut u64, count: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // The high half of the product is even enough for a few thousand sessions.
    ((u128::from(mixed) * count as u128) >> 64) as usize
}

impl Serialize for Intervals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(METRICS.len()))?;
        for (metric, interval) in METRICS.into_iter().zip(self.0) {
            map.serialize_entry(metric.name(), &interval.map(|of| [of.low, of.high]))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Intervals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read: BTreeMap<String, Option<[f64; 2]>> = BTreeMap::deserialize(deserializer)?;
        Ok(Intervals(METRICS.map(|metric| {
            let [low, high] = read.get(metric.name()).copied().flatten()?;
            Some(Interval { low, high })
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(needs: &[f64]) -> Option<Interval> {
        let scores: Vec<Scores> = needs
            .iter()
            .map(|need| Scores {
                shares: Metric::ALL.map(|metric| (metric == Metric::Need).then_some(*need)),
                ..Scores::default()
            })
            .collect();
        let mut columns = Columns::default();
        scores.iter().for_each(|scores| columns.add(scores));
        let intervals = columns.intervals()?;
        assert_eq!(intervals.get(Metric::User), None);
        assert_eq!(intervals.get(Metric::Used), None);
        intervals.get(Metric::Need)
    }

    #[test]
    fn an_interval_needs_two_sessions_and_holds_their_mean() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[50.0]), None);
        let same = of(&[50.0, 50.0]).unwrap();
        assert_eq!((same.low, same.high, same.half()), (50.0, 50.0, 0.0));
        let apart = of(&[0.0, 100.0]).unwrap();
        assert_eq!((apart.low, apart.high), (0.0, 100.0));
    }

    #[test]
    fn a_share_is_drawn_as_reports_round_it() {
        for share in (0..=10_000).map(|n| f64::from(n) / 100.0 + 0.001) {
            let found = of(&[share, share]).unwrap();
            assert_eq!(found.low, hundredths(share));
            assert_eq!(found.low, found.high);
        }
    }

    /// The bootstrap of many independent values agrees with theory: 1.96 standard errors on both sides.
    #[test]
    fn an_interval_is_as_wide_as_theory_says() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let found = of(&values).unwrap();
        let error = (100.0_f64 * 100.0 / 12.0 / 100.0).sqrt();
        assert!(
            (found.half() / (1.96 * error) - 1.0).abs() < 0.1,
            "{found:?}"
        );
        assert!((found.low + found.high - 99.0).abs() < 1.5, "{found:?}");
        assert_eq!(of(&values), Some(found));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let intervals = Intervals([
            None,
            Some(Interval {
                low: 1.5,
                high: 2.0,
            }),
            None,
            None,
            None,
            None,
        ]);
        let json = serde_json::to_string(&intervals).unwrap();
        assert!(
            json.starts_with(r#"{"need":null,"grounded":[1.5,2.0],"user":null"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Intervals>(&json).unwrap(), intervals);
    }
}
