//! Fits the weights of the `classes` estimate to exact o200k counts; `scripts/fit-classes` runs it.
//!
//! Weights go to stdout as the text of `src/tokens/classes/weights.rs`, errors by kind of text to stderr. It never reads
//! what it is not given, and the same texts give the same weights.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[allow(dead_code)]
#[path = "../../src/tokens/classes/mod.rs"]
mod classes;
mod corpus;
mod solve;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ctxpack::policy;
// The estimate's own source, included above, finds it under this name.
use ctxpack::scan;
use ctxpack::tokens::Estimator;

use corpus::Document;

fn main() -> Result<()> {
    let mut train = Vec::new();
    let mut test = Vec::new();
    let mut only_test = false;
    let mut is_test = false;
    for word in env::args_os().skip(1) {
        match word.to_str() {
            Some("--test") => is_test = true,
            // Errors of the weights as they are, without a fit.
            Some("--only-test") => (is_test, only_test) = (true, true),
            _ if is_test => test.push(PathBuf::from(word)),
            _ => train.push(PathBuf::from(word)),
        }
    }
    if only_test {
        let documents = counted(corpus::read(&test)?)?;
        report("now", &documents, |d| classes::plain(d.text.as_bytes()));
        return Ok(());
    }
    let documents = counted(corpus::read(&train)?)?;
    let (train, test) = if test.is_empty() {
        // A quarter of the origins, so that no package stands on both sides.
        documents
            .into_iter()
            .partition(|d| !corpus::hash(&d.origin).is_multiple_of(4))
    } else {
        (documents, counted(corpus::read(&test)?)?)
    };
    ensure!(
        !train.is_empty() && !test.is_empty(),
        "no texts of 300 characters or more to train on, or to test on"
    );
    report("held out, before", &test, |d| {
        classes::plain(d.text.as_bytes())
    });
    let weights = solve::fit(&train);
    report("trained on", &train, |d| solve::weigh(&weights, &d.text));
    report("held out, after", &test, |d| {
        solve::weigh(&weights, &d.text)
    });
    print!("{}", solve::source(&weights));
    Ok(())
}

/// The documents with their exact counts.
fn counted(mut documents: Vec<Document>) -> Result<Vec<Document>> {
    let policy = policy::parse(
        "fit",
        "[tokens]\nmethod = \"bpe\"\nencoding = \"o200k_base\"",
    )?;
    let exact = Estimator::new(&policy.tokens).context("o200k_base")?;
    for document in &mut documents {
        document.tokens = exact.tokens(exact.text(&document.text));
    }
    Ok(documents)
}

/// Relative errors of an estimate in ten-thousandths of a token, by kind of text.
fn report(what: &str, documents: &[Document], estimate: impl Fn(&Document) -> u64) {
    let mut kinds: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for document in documents {
        let estimate = (estimate(document) as f64 / classes::TOKEN as f64).round();
        for kind in ["(all)", &document.kind] {
            kinds
                .entry(kind)
                .or_default()
                .push((estimate, document.tokens as f64));
        }
    }
    eprintln!("{what}\n  kind            texts   median      p90     bias");
    for (kind, pairs) in kinds {
        let mut errors: Vec<f64> = pairs
            .iter()
            .map(|(e, t)| (e / t - 1.0).abs() * 100.0)
            .collect();
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
        let sum = pairs
            .iter()
            .fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        let bias = (sum.0 / sum.1 - 1.0) * 100.0;
        eprintln!(
            "  {kind:14} {:6} {:7.2}% {:7.2}% {bias:+7.2}%",
            errors.len(),
            at(0.5),
            at(0.9)
        );
    }
}
