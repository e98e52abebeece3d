//! What `ctxpack eval` measures of a corpus, with weights by repository.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use ctxpack::artifacts::Replies;
use ctxpack::batch::{compact_bytes, eval_bytes};
use ctxpack::eval::{Budget, Candidate, Cutting, Evaluator, Metric};
use ctxpack::pipeline::Pipeline;
use ctxpack::plan::Keeping;
use ctxpack::policy::{self, Policy, Setting};
use ctxpack::summarizer::extractive::{Section, Weights, parse};
use ctxpack::tokens::Estimator;

use crate::corpus::Corpus;

/// Where sessions are cut, and what they are compacted to, in percent.
pub(crate) const CUTS: [f64; 4] = [35.0, 50.0, 65.0, 80.0];
const BUDGETS: [f64; 3] = [5.0, 10.0, 20.0];

/// Sessions of fewer tokens say too little.
pub(crate) const FEWEST: u64 = 10_000;

/// The metrics that are shown, and what each should reach at each of the budgets.
const GOALS: [(Metric, [f64; 3]); 6] = [
    (Metric::Need, [62.0, 80.0, 92.0]),
    (Metric::Grounded, [46.0, 58.0, 74.0]),
    (Metric::Commands, [65.0, 88.0, 98.0]),
    (Metric::Errors, [90.0, 90.0, 90.0]),
    (Metric::User, [97.0, 97.0, 97.0]),
    (Metric::Modified, [98.0, 100.0, 100.0]),
];

/// What a point beyond a goal is worth, beside a point below it.
const BEYOND: f64 = 0.25;

/// Measures a corpus.
pub(crate) struct Measuring<'c> {
    corpus: &'c Corpus,
    policies: Vec<Policy>,
    /// The sessions that have too few tokens; known after the first time.
    small: RefCell<BTreeSet<usize>>,
}

/// One session's figures: by budget, in the order of the goals.
#[derive(Clone)]
struct Of {
    name: String,
    tokens: u64,
    format: String,
    repo: usize,
    shares: [[Option<f64>; GOALS.len()]; BUDGETS.len()],
    used: [f64; BUDGETS.len()],
    invented: u64,
    over: u64,
}

/// The figures of all.
#[derive(Clone)]
pub(crate) struct Figures(Vec<Of>);

impl<'c> Measuring<'c> {
    pub(crate) fn new(corpus: &'c Corpus) -> Result<Self> {
        let policies = BUDGETS.iter().map(|budget| {
            let percent = budget.to_string();
            let own = [(Candidate::BUDGET, &percent[..])];
            let settings = Candidate::FOR_BUDGETS.iter().chain(&own);
            let settings: Vec<Setting> = settings
                .map(|(key, value)| Setting {
                    key: (*key).to_owned(),
                    value: (*value).to_owned(),
                    origin: "fit".to_owned(),
                })
                .collect();
            Ok(policy::resolve(policy::preset("auto")?, &settings)?.policy)
        });
        Ok(Measuring {
            corpus,
            policies: policies.collect::<Result<_>>()?,
            small: RefCell::default(),
        })
    }

    /// The figures with the weights of each repository, by its number.
    pub(crate) fn of(&self, weights: impl Fn(usize) -> Weights) -> Result<Figures> {
        let evaluators = (0..self.corpus.repos.len()).map(|repo| {
            let budgets = BUDGETS.map(Budget::Percent).to_vec();
            let policies = self.policies.iter().zip(budgets.iter().copied());
            let candidate = Candidate::new("auto".to_owned(), policies, &Replies::default())?;
            let evaluator =
                Evaluator::new(vec![candidate], Vec::new(), budgets, Cutting::at(&CUTS))?;
            Ok(evaluator.with_weights(weights(repo)))
        });
        let evaluators = evaluators.collect::<Result<Vec<_>>>()?;
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, Of)>> = Mutex::default();
        let small = self.small.borrow().clone();
        let is_small: Mutex<BTreeSet<usize>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(session) = self.corpus.sessions.get(number) else {
                            break;
                        };
                        if small.contains(&number) {
                            continue;
                        }
                        let evaluator = &evaluators[session.repo];
                        let eval = eval_bytes(&session.file, &session.bytes, evaluator);
                        let mut of_file = Vec::new();
                        for one in &eval.found.sessions {
                            if one.skipped.is_some() || one.tokens <= FEWEST {
                                continue;
                            }
                            let mut of = Of {
                                name: format!("{} {}", session.path, one.id),
                                tokens: one.tokens,
                                format: session
                                    .path
                                    .split('/')
                                    .next()
                                    .unwrap_or_default()
                                    .to_owned(),
                                repo: session.repo,
                                shares: Default::default(),
                                used: [0.0; BUDGETS.len()],
                                invented: 0,
                                over: 0,
                            };
                            for (budget, scores) in one.scores.iter().enumerate() {
                                let scores = &scores.scores;
                                of.shares[budget] = GOALS.map(|(metric, _)| scores.share(metric));
                                of.used[budget] = scores.share(Metric::Used).unwrap_or_default();
                                of.invented += scores.invented;
                                of.over += scores.over - scores.unreachable;
                            }
                            of_file.push((number, of));
                        }
                        if of_file.is_empty() {
                            is_small.lock().map(|mut all| all.insert(number)).ok();
                        }
                        found.lock().map(|mut all| all.extend(of_file)).ok();
                    }
                });
            }
        });
        self.small
            .borrow_mut()
            .extend(is_small.into_inner().unwrap_or_default());
        let mut found = found.into_inner().unwrap_or_default();
        ensure!(
            !found.is_empty(),
            "no session has more than {FEWEST} tokens"
        );
        found.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        Ok(Figures(found.into_iter().map(|(_, of)| of).collect()))
    }
}

/// How the tokens of the summaries of whole sessions, at the smallest budget, are spread over sections.
pub(crate) fn sections(measuring: &Measuring<'_>) -> Result<()> {
    let policy = &measuring.policies[0];
    let pipeline = Pipeline::new(policy, Keeping::Nothing)?;
    let estimator = Estimator::new(&policy.tokens)?;
    let mut spread: BTreeMap<Section, (u64, u64)> = BTreeMap::new();
    let mut kept = (0, 0);
    for session in &measuring.corpus.sessions {
        let (outcome, bytes) = compact_bytes(&session.file, &session.bytes, &pipeline, None);
        let Some(of) = outcome
            .conversations
            .first()
            .filter(|of| of.tokens_before > FEWEST)
        else {
            continue;
        };
        let Some(summary) = &of.summary else { continue };
        kept.0 += of.tokens_after - summary.tokens.min(of.tokens_after);
        kept.1 += of.tokens_after;
        let text = String::from_utf8_lossy(&bytes);
        let texts = text.split('"').filter(|text| text.contains("## "));
        for text in texts {
            for row in parse(&text.replace("\\n", "\n")).rows {
                let of = spread.entry(row.section).or_default();
                of.0 += 1;
                of.1 += estimator.tokens(estimator.text(&row.text));
            }
        }
    }
    eprintln!("beside the summary: {} of {} tokens", kept.0, kept.1);
    for (section, (rows, tokens)) in spread {
        eprintln!("  {section:?}: {rows} rows, {tokens} tokens of text");
    }
    Ok(())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

impl Figures {
    /// How near the goals they are, without the sessions of one repository: more is better.
    pub(crate) fn worth(&self, without: Option<usize>) -> f64 {
        let others = || self.0.iter().filter(|of| Some(of.repo) != without);
        let mut worth = 0.0;
        for (goal, (_, wanted)) in GOALS.iter().enumerate() {
            for (budget, wanted) in wanted.iter().enumerate() {
                let share = mean(others().filter_map(|of| of.shares[budget][goal]));
                let beyond = share.unwrap_or(*wanted) - wanted;
                worth += beyond.min(0.0) + BEYOND * beyond.max(0.0);
            }
        }
        worth
    }

    /// Prints means over sessions, also by format.
    pub(crate) fn print(&self, title: &str, each: bool) {
        eprintln!("\n{title}: {:.3}", self.worth(None));
        eprint!("  {:22}{:>4}", "", "n");
        for (metric, _) in GOALS {
            eprint!("  {:>14}", metric.name());
        }
        eprintln!("  {:>14} invented over", "used");
        let formats: BTreeSet<&str> = self.0.iter().map(|of| &of.format[..]).collect();
        let line = |name: &str, own: &[&Of]| {
            eprint!("  {name:22}{:4}", own.len());
            for goal in 0..GOALS.len() {
                let of = |budget: usize| mean(own.iter().filter_map(|of| of.shares[budget][goal]));
                let text = [0, 1, 2].map(|budget| match of(budget) {
                    Some(share) => format!("{share:.1}"),
                    None => "-".to_owned(),
                });
                eprint!("  {:>14}", text.join("/"));
            }
            let used = [0, 1, 2].map(|b| {
                format!(
                    "{:.1}",
                    mean(own.iter().map(|of| of.used[b])).unwrap_or(0.0)
                )
            });
            let sum = |count: fn(&Of) -> u64| own.iter().map(|of| count(of)).sum::<u64>();
            eprintln!(
                "  {:>14} {:8} {:4}",
                used.join("/"),
                sum(|of| of.invented),
                sum(|of| of.over)
            );
        };
        line("all", &self.0.iter().collect::<Vec<_>>());
        for format in formats {
            let own: Vec<&Of> = self.0.iter().filter(|of| of.format == format).collect();
            line(format, &own);
        }
        for of in self.0.iter().filter(|_| each) {
            let short: String = of.name.chars().rev().take(48).collect();
            let short: String = short.chars().rev().collect();
            line(&format!("{short} {}", of.tokens), &[of]);
        }
    }
}
