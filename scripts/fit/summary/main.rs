//! Fits the weights of the built-in summary to recorded sessions; `scripts/fit-summary` runs it.
//!
//! Every figure of a session is measured with weights that no session of its repository had a part in. The tables of
//! `src/summarizer/extractive/weights.rs` go to stdout, figures to stderr. It reads the corpus alone, draws no random numbers, and
//! gives the same weights for the same sessions.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod chances;
mod corpus;
mod figures;

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ctxpack::summarizer::extractive::{Fold, HeldOut, NameWeights, UnitWeights, WEIGHTS, Weights};

use chances::Chances;
use corpus::Corpus;
use figures::{Figures, Measuring};

/// What each of the weights of units is multiplied by, in turn.
const STEPS: [f64; 2] = [0.6, 1.6];

/// What is promised and not fitted: no figure here says what it is worth to read what was said and done last.
const PROMISED: [&str; 2] = ["state", "state_small"];

/// How often all weights of units are gone through.
const PASSES: usize = 1;

/// What is asked for.
#[derive(Default)]
struct Args {
    corpus: PathBuf,
    /// A file for the weights of each fold.
    held_out: Option<PathBuf>,
    /// Weights of units to begin with, or to measure.
    set: Vec<(String, f64)>,
    /// Only figures of the weights as they are.
    only_figures: bool,
    /// Chances are fitted, and the weights of units are as they are.
    only_chances: bool,
    /// The chances without each feature in turn.
    ablation: bool,
    /// What takes the tokens of summaries.
    sections: bool,
    /// Each session's figures.
    sessions: bool,
}

fn main() -> Result<()> {
    let args = args()?;
    let corpus = Corpus::read(&args.corpus)?;
    let mut units = WEIGHTS.units;
    for (name, value) in &args.set {
        let at = UnitWeights::NAMES.iter().position(|known| known == name);
        let mut list = units.list();
        list[at.with_context(|| format!("no weight of units is named {name}"))?] = *value;
        units = UnitWeights::of_list(list);
    }
    let measuring = Measuring::new(&corpus)?;
    if args.only_figures {
        let weights = Weights { units, ..WEIGHTS };
        if args.sections {
            return figures::sections(&measuring);
        }
        measuring
            .of(|_| weights)?
            .print("as they are, in fold", args.sessions);
        return Ok(());
    }
    let chances = Chances::of(&corpus)?;
    let all = chances.fit(|_| true, None);
    let folds: Vec<NameWeights> = (0..corpus.repos.len())
        .map(|repo| chances.fit(|other| other != repo, None))
        .collect();
    chances.report(&all, &folds);
    if args.ablation {
        chances.ablation();
        return Ok(());
    }
    let of_fold = |units: UnitWeights| {
        let folds = &folds;
        move |repo: usize| Weights {
            names: folds[repo],
            units,
        }
    };
    let mut tried: Vec<(UnitWeights, Figures)> = Vec::new();
    let mut best = (units, measuring.of(of_fold(units))?);
    best.1.print("chances of other repositories", args.sessions);
    tried.push((best.0, best.1.clone()));
    for _ in 0..if args.only_chances { 0 } else { PASSES } {
        let names = UnitWeights::NAMES.iter().enumerate();
        for (at, name) in names.filter(|(_, name)| !PROMISED.contains(name)) {
            for step in STEPS {
                let mut list = best.0.list();
                list[at] *= step;
                let units = UnitWeights::of_list(list);
                if tried.iter().any(|(known, _)| *known == units) {
                    continue;
                }
                let figures = measuring.of(of_fold(units))?;
                eprintln!("{name} {:.4}: {:.3}", list[at], figures.worth(None));
                if figures.worth(None) > best.1.worth(None) {
                    best = (units, figures.clone());
                }
                tried.push((units, figures));
            }
        }
    }
    // Each fold has the weights that are best for the others.
    let chosen: Vec<UnitWeights> = (0..corpus.repos.len())
        .map(|repo| {
            let worth = |(_, figures): &&(UnitWeights, Figures)| figures.worth(Some(repo));
            let best = tried.iter().max_by(|a, b| worth(a).total_cmp(&worth(b)));
            best.map_or(units, |(units, _)| *units)
        })
        .collect();
    let out = measuring.of(|repo| Weights {
        names: folds[repo],
        units: chosen[repo],
    })?;
    let within = measuring.of(|_| Weights {
        names: all,
        units: best.0,
    })?;
    out.print("out of fold", args.sessions);
    within.print("in fold", false);
    if let Some(path) = &args.held_out {
        let folds = (0..corpus.repos.len()).map(|repo| Fold {
            fold: corpus.repos[repo].clone(),
            paths: corpus.paths(repo),
            weights: Weights {
                names: folds[repo],
                units: chosen[repo],
            },
        });
        let text = serde_json::to_string_pretty(&HeldOut {
            folds: folds.collect(),
        })?;
        fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    print!("{}", table("NAMES", NameWeights::NAMES, &all.list()));
    print!("{}", table("UNITS", UnitWeights::NAMES, &best.0.list()));
    Ok(())
}

/// A table as it is written in the source.
fn table(title: &str, names: &[&str], weights: &[f64]) -> String {
    let mut text = format!("{title}\n");
    for (name, weight) in names.iter().zip(weights) {
        text.push_str(&format!("        {name}: {weight:.3},\n"));
    }
    text
}

fn args() -> Result<Args> {
    let mut args = Args::default();
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match &word[..] {
            "--held-out" => args.held_out = words.next().map(PathBuf::from),
            "--set" => {
                let set = words.next().unwrap_or_default();
                let (name, value) = set.split_once('=').context("--set takes NAME=NUMBER")?;
                args.set.push((name.to_owned(), value.parse()?));
            }
            "--only-figures" => args.only_figures = true,
            "--only-chances" => args.only_chances = true,
            "--ablation" => args.ablation = true,
            "--sections" => (args.only_figures, args.sections) = (true, true),
            "--sessions" => args.sessions = true,
            flag if flag.starts_with('-') => bail!("no flag is named {flag}"),
            path => args.corpus = PathBuf::from(path),
        }
    }
    ensure!(
        args.corpus.is_dir(),
        "which folder of sessions, with an INDEX.tsv?"
    );
    Ok(args)
}
