//! The fit: least squares on relative errors, with weights that are never below what a byte of the longest tokens costs.
//!
//! Three times, from coarse to fine: a weight that few texts speak of stays near what its coarser relatives cost. Each
//! time the texts are weighed anew by their last error, so that the sum of the absolute errors becomes small rather than
//! that of their squares: a few odd texts shall not bend all others.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::classes::{CLASSES, LOWER, START, TOKEN, class};
use crate::corpus::Document;

/// Weights by pair of classes, then by pair of letters.
pub(crate) type Weights = Vec<f64>;

const CELLS: usize = CLASSES * CLASSES + 26 * 26;

/// The longest tokens of the vocabulary have 128 characters.
const LEAST: f64 = 1.0 / 128.0;

/// How strongly a weight is held by its coarser relatives, against the evidence of all texts as 1.
const PULL: f64 = 1e-6;

/// Marks of ASCII, in the coarse model one class.
const MARKS: std::ops::Range<usize> = 8..40;

/// Which weight a character takes after another.
fn cell(earlier: Option<char>, later: char) -> usize {
    let a = earlier.map_or(START, |c| class(c as u32));
    let b = class(later as u32);
    match earlier {
        Some(earlier) if a == LOWER && b == LOWER => {
            CLASSES * CLASSES + (earlier as usize - 0x61) * 26 + (later as usize - 0x61)
        }
        _ => usize::from(a) * CLASSES + usize::from(b),
    }
}

/// The cell's relatives at a level of detail: 0 by the later character, 1 by classes with all marks as one, 2 itself.
fn relatives(cell: usize, level: usize) -> usize {
    let (a, b) = if cell < CLASSES * CLASSES {
        (cell / CLASSES, cell % CLASSES)
    } else {
        (usize::from(LOWER), usize::from(LOWER))
    };
    let merged = |class: usize| {
        if MARKS.contains(&class) {
            MARKS.start
        } else {
            class
        }
    };
    match level {
        0 => merged(b),
        // A mark that is repeated is a run.
        1 if a == b && MARKS.contains(&a) => CLASSES * CLASSES,
        1 => merged(a) * CLASSES + merged(b),
        _ => cell,
    }
}

/// How often each weight is taken in a text.
fn counts(text: &str) -> BTreeMap<usize, f64> {
    let mut counts = BTreeMap::new();
    let mut earlier = None;
    for later in text.chars() {
        *counts.entry(cell(earlier, later)).or_insert(0.0) += 1.0;
        earlier = Some(later);
    }
    counts
}

/// Fits weights to the texts' exact counts; all kinds of text matter, the rare ones a little less.
pub(crate) fn fit(documents: &[Document]) -> Weights {
    let mut kinds: BTreeMap<&str, f64> = BTreeMap::new();
    for document in documents {
        *kinds.entry(&document.kind).or_default() += 1.0;
    }
    let rows: Vec<BTreeMap<usize, f64>> = documents
        .iter()
        .map(|d| {
            counts(&d.text)
                .into_iter()
                .map(|(cell, n)| (cell, n / d.tokens as f64))
                .collect()
        })
        .collect();
    let importance: Vec<f64> = documents
        .iter()
        .map(|d| 1.0 / kinds[d.kind.as_str()].max(30.0).sqrt())
        .collect();
    let mut weights = vec![0.3; CELLS];
    for level in 0..3 {
        weights = refine(&rows, &importance, level, &weights);
    }
    weights
}

/// The weights at a level of detail, held by those of the level above.
fn refine(
    rows: &[BTreeMap<usize, f64>],
    importance: &[f64],
    level: usize,
    above: &Weights,
) -> Weights {
    let unknowns = CELLS + 1;
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); unknowns];
    let mut held = vec![(0.0, 0.0); unknowns];
    for (cell, weight) in above.iter().enumerate() {
        let held = &mut held[relatives(cell, level)];
        *held = (held.0 + weight, held.1 + 1.0);
    }
    for (row, counts) in rows.iter().enumerate() {
        for (cell, n) in counts {
            let column = &mut columns[relatives(*cell, level)];
            match column.last_mut() {
                Some((last, sum)) if *last == row => *sum += n,
                _ => column.push((row, *n)),
            }
        }
    }
    let held: Vec<f64> = held.iter().map(|(sum, n)| sum / n).collect();
    let mut x = held.clone();
    let mut errors = vec![-1.0; rows.len()];
    for (column, x) in columns.iter().zip(&x) {
        for (row, n) in column {
            errors[*row] += n * x;
        }
    }
    let mut trust = importance.to_vec();
    for _ in 0..8 {
        let all: f64 = trust.iter().sum();
        for _ in 0..40 {
            for (j, column) in columns.iter().enumerate() {
                if column.is_empty() {
                    continue;
                }
                let mut slope = PULL * (x[j] - held[j]);
                let mut bend = PULL;
                for (row, n) in column {
                    slope += trust[*row] / all * n * errors[*row];
                    bend += trust[*row] / all * n * n;
                }
                let step = (x[j] - slope / bend).max(LEAST) - x[j];
                x[j] += step;
                for (row, n) in column {
                    errors[*row] += n * step;
                }
            }
        }
        for ((trust, importance), error) in trust.iter_mut().zip(importance).zip(&errors) {
            *trust = importance / error.abs().max(0.02);
        }
    }
    (0..CELLS).map(|cell| x[relatives(cell, level)]).collect()
}

fn whole(weight: f64) -> u64 {
    ((weight * TOKEN as f64).round() as u64).min(u64::from(u16::MAX))
}

/// What the weights say of a text, in ten-thousandths of a token.
pub(crate) fn weigh(weights: &Weights, text: &str) -> u64 {
    counts(text)
        .into_iter()
        .map(|(cell, n)| whole(weights[cell]) * n as u64)
        .sum()
}

/// The weights as a source file.
pub(crate) fn source(weights: &Weights) -> String {
    let mut out = String::from(
        "//! The weights of `classes` in ten-thousandths of a token: rows are the earlier, columns the later of two characters.\n\
         //!\n//! Written by `scripts/fit-classes`; it holds no logic and is not changed by hand.\n",
    );
    let (pairs, letters) = weights.split_at(CLASSES * CLASSES);
    let tables = [
        ("CLASSES", "super::CLASSES", CLASSES, pairs),
        ("LETTERS", "26", 26, letters),
    ];
    for (name, size, width, weights) in tables {
        let _ = writeln!(
            out,
            "\n#[rustfmt::skip]\npub(super) static {name}: [[u16; {size}]; {size}] = ["
        );
        for row in weights.chunks(width) {
            let row: Vec<String> = row.iter().map(|w| whole(*w).to_string()).collect();
            let _ = writeln!(out, "    [{}],", row.join(", "));
        }
        out.push_str("];\n");
    }
    out
}
