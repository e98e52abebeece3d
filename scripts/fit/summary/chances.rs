//! Fits the chances of names: a logistic model, by Newton's method with a small penalty.

use anyhow::Result;
use ctxpack::eval::labelled;
use ctxpack::format::{Detected, Detector, Warnings};
use ctxpack::policy::preset;
use ctxpack::summarizer::extractive::{FEATURES, NameWeights};

use crate::corpus::Corpus;
use crate::figures::{CUTS, FEWEST};

/// How strongly weights are held near zero, in whole cuts.
const PENALTY: f64 = 0.2;

/// Cuts at which fewer names are needed count less than others.
const MANY: usize = 10;

/// How often Newton's step is taken.
const ROUNDS: usize = 9;

/// The folds of an ablation.
const FOLDS: usize = 4;

/// The names at one cut.
struct Cut {
    repo: usize,
    names: Vec<([f64; FEATURES], bool)>,
    /// What each name counts.
    weight: f64,
}

/// The names of a corpus.
pub(crate) struct Chances {
    cuts: Vec<Cut>,
}

impl Chances {
    /// Collects the names of all sessions.
    pub(crate) fn of(corpus: &Corpus) -> Result<Chances> {
        let policy = preset("auto")?;
        let mut cuts = Vec::new();
        for session in &corpus.sessions {
            let mut detector = Detector::default();
            detector.look(&session.bytes);
            let Detected::Known(format, layout) = detector.decide().for_compaction() else {
                continue;
            };
            for (bytes, first_line) in layout.parts(&session.bytes) {
                let mut warnings = Warnings::default();
                let transcript = format.read(bytes, first_line, &mut warnings);
                for cut in labelled(format, &transcript, &policy, &CUTS)? {
                    let needed = cut.names.iter().filter(|(_, needed)| *needed).count();
                    if cut.tokens > FEWEST && needed > 0 {
                        cuts.push(Cut {
                            repo: session.repo,
                            names: cut.names,
                            weight: 1.0 / needed.max(MANY) as f64,
                        });
                    }
                }
            }
        }
        Ok(Chances { cuts })
    }

    /// The weights that fit best to some repositories, without one of the features.
    pub(crate) fn fit(&self, has: impl Fn(usize) -> bool, feature: Option<usize>) -> NameWeights {
        let mut weights = [0.0; FEATURES];
        for _ in 0..ROUNDS {
            let mut slope = [0.0; FEATURES];
            let mut bend = [[0.0; FEATURES]; FEATURES];
            for cut in self.cuts.iter().filter(|cut| has(cut.repo)) {
                for (features, needed) in &cut.names {
                    let chance = chance(features, &weights);
                    let error = (f64::from(u8::from(*needed)) - chance) * cut.weight;
                    let curve = (chance * (1.0 - chance)).max(1e-9) * cut.weight;
                    for a in 0..FEATURES {
                        if features[a] == 0.0 {
                            continue;
                        }
                        slope[a] += error * features[a];
                        let scaled = curve * features[a];
                        for b in 0..=a {
                            bend[a][b] += scaled * features[b];
                        }
                    }
                }
            }
            for a in 0..FEATURES {
                let (above, rest) = bend.split_at_mut(a);
                for (row, value) in above.iter_mut().zip(rest[0]) {
                    row[a] = value;
                }
                // The first one is of every name, and is not held.
                let penalty = if a == 0 { 1e-6 } else { PENALTY };
                slope[a] -= penalty * weights[a];
                bend[a][a] += penalty;
                if Some(a) == feature {
                    slope[a] = 0.0;
                    bend[a] = [0.0; FEATURES];
                    bend.iter_mut().for_each(|row| row[a] = 0.0);
                    bend[a][a] = 1.0;
                }
            }
            let step = solve(bend, slope);
            for (weight, step) in weights.iter_mut().zip(step) {
                *weight += step.clamp(-2.0, 2.0);
            }
        }
        NameWeights::of_list(weights)
    }

    /// How well needed names are told from others, in and out of fold.
    pub(crate) fn report(&self, all: &NameWeights, folds: &[NameWeights]) {
        let names: usize = self.cuts.iter().map(|cut| cut.names.len()).sum();
        let (within, out) = (self.quality(|_| *all), self.quality(|repo| folds[repo]));
        eprintln!(
            "{} cuts, {names} names: AUC {:.2} in fold, {:.2} out of fold; log loss {:.4}, {:.4}",
            self.cuts.len(),
            within.0,
            out.0,
            within.1,
            out.1
        );
    }

    /// The same without each feature in turn, out of four folds of repositories.
    pub(crate) fn ablation(&self) {
        let features = NameWeights::NAMES.iter().enumerate().skip(1);
        let all = [(None, &"nothing")].into_iter();
        for (feature, name) in all.chain(features.map(|(at, name)| (Some(at), name))) {
            let fit = |fold: usize| self.fit(|repo| repo % FOLDS != fold, feature);
            let folds: Vec<NameWeights> = (0..FOLDS).map(fit).collect();
            let (auc, loss) = self.quality(|repo| folds[repo % FOLDS]);
            eprintln!("  without {name:16} AUC {auc:.2}, log loss {loss:.4}");
        }
    }

    /// The mean over cuts of the area under the curve, in percent, and of the logarithmic loss a needed name.
    fn quality(&self, weights: impl Fn(usize) -> NameWeights) -> (f64, f64) {
        let (mut area, mut loss) = (0.0, 0.0);
        for cut in &self.cuts {
            let weights = weights(cut.repo).list();
            let mut chances: Vec<(f64, bool)> = cut
                .names
                .iter()
                .map(|(features, needed)| (chance(features, &weights), *needed))
                .collect();
            chances.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut below, mut pairs) = (0_u64, 0_u64);
            for (chance, needed) in &chances {
                match needed {
                    true => pairs += below,
                    false => below += 1,
                }
                let right = if *needed { *chance } else { 1.0 - chance };
                loss -= right.max(1e-12).ln() * cut.weight;
            }
            let needed = chances.len() as u64 - below;
            area += pairs as f64 * 100.0 / (needed * below).max(1) as f64;
        }
        let cuts = self.cuts.len().max(1) as f64;
        (area / cuts, loss / cuts)
    }
}

fn chance(features: &[f64; FEATURES], weights: &[f64; FEATURES]) -> f64 {
    let sum: f64 = features.iter().zip(weights).map(|(f, w)| f * w).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Solves a system of linear equations.
fn solve(mut a: [[f64; FEATURES]; FEATURES], mut b: [f64; FEATURES]) -> [f64; FEATURES] {
    for column in 0..FEATURES {
        let pivot = (column..FEATURES)
            .max_by(|x, y| a[*x][column].abs().total_cmp(&a[*y][column].abs()))
            .unwrap_or(column);
        a.swap(column, pivot);
        b.swap(column, pivot);
        if a[column][column].abs() < 1e-12 {
            continue;
        }
        for row in column + 1..FEATURES {
            let factor = a[row][column] / a[column][column];
            let upper = a[column];
            for (cell, above) in a[row].iter_mut().zip(upper).skip(column) {
                *cell -= factor * above;
            }
            b[row] -= factor * b[column];
        }
    }
    let mut x = [0.0; FEATURES];
    for row in (0..FEATURES).rev() {
        let known: f64 = (row + 1..FEATURES)
            .map(|column| a[row][column] * x[column])
            .sum();
        x[row] = match a[row][row].abs() < 1e-12 {
            true => 0.0,
            false => (b[row] - known) / a[row][row],
        };
    }
    x
}
