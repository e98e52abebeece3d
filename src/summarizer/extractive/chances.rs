//! The probability that the agent will use a name again before it is shown again.
//!
//! A logistic model of a few features of a name, fitted over recorded sessions. The arithmetic gives the same results on every
//! machine: it uses no logarithms or exponentials of the system's library.

use super::entities::Class;
use super::names::{Name, Speaker};
use super::units::{Unit, Units};
use super::weights::NameWeights;
use crate::ids::IdMap;

/// How many features there are.
pub const FEATURES: usize = NameWeights::NAMES.len();

/// The number of messages after which a mention counts half.
const SOON: f64 = 4.0;
const LATER: f64 = 32.0;

/// The number of lines before and after a line that count as around it.
const AROUND: usize = 3;

/// What is known about a word that occurs in names: how recently an author mentioned a name with it, for the most recent name and
/// the most recent other one.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    name: u32,
    latest: f64,
    other: f64,
    names: u32,
}

/// The features of each name of a span that ends before message `end`, in the order of [`NameWeights::NAMES`].
pub(super) fn features(found: &Units, end: usize) -> Vec<[f64; FEATURES]> {
    of_features(found, end, |features| *features)
}

/// Applies `make` to the features of each name in turn: all features together could take as much memory as the text.
fn of_features<T>(found: &Units, end: usize, make: impl Fn(&[f64; FEATURES]) -> T) -> Vec<T> {
    let names = &found.names;
    let around = around(found, end);
    let mut words: IdMap<u32, Word> = IdMap::default();
    for (number, name) in (0..).zip(names.all()) {
        let lately = recency(by_authors(name), end, LATER);
        for part in names.parts(name) {
            let word = words.entry(*part).or_default();
            word.names += 1;
            if lately > word.latest {
                (word.other, word.latest, word.name) = (word.latest, lately, number);
            } else if lately > word.other {
                word.other = lately;
            }
        }
    }
    let near = |number: u32, name: &Name| {
        let parts = names.parts(name);
        let of = |part: &u32| {
            let word = words.get(part).copied().unwrap_or_default();
            let lately = match word.name == number {
                true => word.other,
                false => word.latest,
            };
            // A word shared by many names says little about one.
            lately * 4.0 / (3.0 + f64::from(word.names))
        };
        let sum: f64 = parts.iter().map(of).sum();
        sum / parts.len().max(1) as f64
    };
    let all = (0..).zip(names.all());
    all.map(|(number, name)| {
        let is = |class: Class| f64::from(u8::from(name.class == class));
        let count = |speaker: Speaker| log(name.counts[speaker as usize]);
        let last = |speaker: Speaker, half| recency(name.last[speaker as usize], end, half);
        let any = |speaker: Speaker| f64::from(u8::from(name.counts[speaker as usize] > 0));
        let shown = f64::from(u8::from(by_authors(name) == 0));
        let age = 1.0 - f64::from(name.seen) / end.max(1) as f64;
        make(&[
            1.0,
            is(Class::Path),
            is(Class::Symbol),
            is(Class::Url),
            is(Class::Id),
            is(Class::Error),
            is(Class::Flag),
            any(Speaker::User),
            any(Speaker::Agent),
            any(Speaker::Call),
            count(Speaker::User),
            count(Speaker::Agent),
            count(Speaker::Call),
            count(Speaker::Tool),
            log(name.messages),
            recency(name.seen, end, SOON),
            recency(name.seen, end, LATER),
            age,
            last(Speaker::Agent, LATER),
            last(Speaker::Call, SOON),
            last(Speaker::Call, LATER),
            log(name.crowd),
            f64::from(u8::from(name.is_defined)),
            near(number, name),
            around[number as usize],
            f64::from(u8::from(name.is_written)),
            f64::from(u8::from(name.is_in_file)),
            is(Class::Number) * any(Speaker::Call),
            shown * log(name.messages),
            f64::from(name.length.min(64)) / 16.0,
        ])
    })
    .collect()
}

/// The probability of each name to be needed.
pub(super) fn chances(found: &Units, end: usize, weights: &NameWeights) -> Vec<f64> {
    let weights = weights.list();
    of_features(found, end, |features| {
        let sum: f64 = features.iter().zip(weights).map(|(f, w)| f * w).sum();
        logistic(sum)
    })
}

/// For each name, how recently an author mentioned a name from the lines around it.
fn around(found: &Units, end: usize) -> Vec<f64> {
    let names = &found.names;
    let mut around = vec![0.0_f64; names.len()];
    let lately = |name: &u32| recency(by_authors(&names.all()[*name as usize]), end, LATER);
    let of = |unit: &Unit| {
        let all = names.list(&unit.names).iter();
        all.map(lately).fold(0.0, f64::max)
    };
    let best: Vec<f64> = found.units.iter().map(of).collect();
    for (at, unit) in found
        .units
        .iter()
        .enumerate()
        .filter(|(_, unit)| !unit.names.is_empty())
    {
        let places = at.saturating_sub(AROUND)..(at + AROUND + 1).min(best.len());
        let is_other = |other: &usize| *other != at && found.units[*other].message == unit.message;
        let others = places.filter(is_other).map(|other| best[other]);
        let others = others.fold(0.0, f64::max);
        for name in names.list(&unit.names) {
            let lately = &mut around[*name as usize];
            *lately = lately.max(others);
        }
    }
    around
}

/// The last message in which an author mentions a name, from 1; 0 = none.
fn by_authors(name: &Name) -> u32 {
    let last = Speaker::AUTHORS.map(|speaker| name.last[speaker as usize]);
    last.into_iter().max().unwrap_or(0)
}

/// The recency of a mention: 1 for the last message before `end`, 1/2 after `half` messages, 0 for none. `last` counts from 1.
fn recency(last: u32, end: usize, half: f64) -> f64 {
    match last {
        0 => 0.0,
        last => half / (half + (end as f64 - f64::from(last)).max(0.0)),
    }
}

/// An approximation of log2(`count` + 1).
fn log(count: u32) -> f64 {
    let one_more = u64::from(count) + 1;
    let whole = one_more.ilog2();
    f64::from(whole) + one_more as f64 / (1_u64 << whole) as f64 - 1.0
}

/// 1 / (1 + e^-x), to about six digits.
fn logistic(x: f64) -> f64 {
    const STEEPEST: f64 = 40.0;
    let power = -x.clamp(-STEEPEST, STEEPEST) * std::f64::consts::LOG2_E;
    let whole = power.floor();
    let rest = (power - whole) * std::f64::consts::LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..10 {
        term *= rest / f64::from(n);
        sum += term;
    }
    let two = if whole < 0.0 { 0.5 } else { 2.0 };
    for _ in 0..(whole.abs() as u32) {
        sum *= two;
    }
    1.0 / (1.0 + sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_the_logistic_one() {
        for (x, expected) in [
            (0.0, 0.5),
            (2.0, 0.880_797),
            (-3.5, 0.029_312),
            (9.0, 0.999_877),
        ] {
            assert!((logistic(x) - expected).abs() < 1e-6, "{x}");
        }
        assert!(logistic(-1e9) > 0.0 && logistic(1e9) <= 1.0);
    }

    #[test]
    fn logarithms_grow_with_the_count() {
        assert_eq!([0, 1, 3, 7].map(log), [0.0, 1.0, 2.0, 3.0]);
        assert!((1..50).all(|n| log(n) > log(n - 1)));
    }

    #[test]
    fn a_name_is_near_those_that_were_mentioned_lately() {
        let mut found = Units::default();
        let names = &mut found.names;
        let mut count = |text: &str, message, speaker| {
            names.count(text, message, speaker, |_, _, _| false);
        };
        count("parse_header read_body", 0, Speaker::Tool);
        count("write_header", 9, Speaker::Call);
        let near = NameWeights::NAMES
            .iter()
            .position(|name| *name == "near")
            .unwrap();
        let features = features(&found, 10);
        let of = |name: &str| features[found.names.find(name).unwrap() as usize][near];
        assert!(of("parse_header") > 0.0);
        assert_eq!((of("read_body"), of("write_header")), (0.0, 0.0));
    }
}
