//! The scores of a method at a cut: runs a policy or a baseline, and searches what is left for the references.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{At, Evaluator, Ran, Session};
use crate::eval::candidate::{Budgeted, Candidate};
use crate::eval::events::{Event, Queued, events};
use crate::eval::index::missing;
use crate::eval::references::{Remains, share};
use crate::eval::{Baseline, Kind, MethodScores, Scores};
use crate::format::Warnings;
use crate::ids::IdSet;
use crate::pipeline::{self, Part};
use crate::tokens::Sizes;

impl Evaluator<'_> {
    /// The scores of each method, budget by budget.
    pub(super) fn scores(&self, session: &Session<'_, '_>, cuts: &[At<'_>]) -> Vec<MethodScores> {
        let policies = self.candidates.iter().map(How::Policy);
        let baselines = self.baselines.iter().copied().map(How::Baseline);
        let methods: Vec<How<'_, '_>> = policies.chain(baselines).collect();
        let mut runs = Vec::new();
        for budget in 0..self.budgets.len() {
            let works = |how: &&How<'_, '_>| match how {
                How::Policy(_) => true,
                How::Baseline(baseline) => baseline.works_with(self.budgets[budget]),
            };
            for method in methods.iter().filter(works) {
                runs.extend(cuts.iter().map(|at| (budget, method, at)));
            }
        }
        let run = |(budget, method, at): &(usize, &How<'_, '_>, &At<'_>)| match method {
            How::Policy(candidate) => {
                let budget = *budget;
                let input = pipeline::Input {
                    format: session.format,
                    bytes: &at.bytes,
                    first_line: 1,
                    part: Part::File,
                    stored: pipeline::Stored::default(),
                    instruction_source: None,
                    strings: &crate::scan::NO_STRINGS,
                    weights: session.weights,
                };
                let one = Budgeted { candidate, budget };
                self.ran(session, one, at, input, Some(&at.sizes)).scores
            }
            How::Baseline(baseline) => self.baseline(session, *baseline, *budget, at),
        };
        // Each run takes long enough to be a task of its own.
        let scores: Vec<Scores> = runs.par_iter().with_max_len(1).map(run).collect();
        let of_cuts = runs.chunks(cuts.len()).zip(scores.chunks(cuts.len()));
        of_cuts
            .map(|(runs, scores)| {
                let (budget, method, _) = runs[0];
                let (method, kind) = match method {
                    How::Policy(candidate) => (candidate.name.clone(), Kind::Policy),
                    How::Baseline(baseline) => (baseline.name().to_owned(), Kind::Baseline),
                };
                MethodScores {
                    method,
                    kind,
                    budget: self.budgets[budget],
                    scores: Scores::mean(scores.iter()),
                    intervals: None,
                }
            })
            .collect()
    }

    /// Runs a policy on an input that stands for the part before a cut; returns the result with its scores.
    pub(super) fn ran(
        &self,
        session: &Session<'_, '_>,
        one: Budgeted<'_, '_>,
        at: &At<'_>,
        input: pipeline::Input<'_, '_>,
        sizes: Option<&Sizes>,
    ) -> Ran {
        let Budgeted { candidate, budget } = one;
        let (format, pipeline) = (input.format, &candidate.pipelines[budget]);
        let mut warnings = Warnings::default();
        let compacted = match sizes {
            Some(sizes) => pipeline.compact_measured(input, sizes, &mut warnings),
            None => pipeline.compact(input, &mut warnings),
        };
        let tokens = compacted.conversations.first().map(|c| c.tokens_after);
        let output: Vec<u8> = compacted.pieces().collect::<Vec<_>>().concat();
        let transcript = format.read(&output, 1, &mut Warnings::default());
        let kept_events = match transcript.conversations.first() {
            Some(conversation) => events(&transcript, conversation, Queued::Ignored),
            None => Vec::new(),
        };
        let passages: Vec<Cow<'_, str>> = kept_events
            .iter()
            .flat_map(|event| {
                [
                    Cow::Owned(unmarked(&event.text)),
                    Cow::Borrowed(&event.body[..]),
                ]
            })
            .collect();
        let mut scores = self.score(
            session,
            at,
            budget,
            &passages,
            tokens.unwrap_or(0),
            &kept_events,
        );
        // A summary notes the token count to which the budget's share refers.
        let original = compacted.conversations.first().map(|c| c.tokens_before);
        let original = original.unwrap_or_default().to_string();
        let is_own = |name: &String| candidate.words.contains(&name[..]) || *name == original;
        scores.examples.retain(|name| !is_own(name));
        scores.invented = scores.examples.len() as u64;
        let target = compacted.conversations.first().and_then(|c| c.target);
        if target.is_some_and(|target| !target.reached) {
            scores.unreachable = scores.over;
        }
        let passages = passages.into_iter().map(Cow::into_owned).collect();
        Ran {
            scores,
            output,
            passages,
        }
    }

    fn baseline(
        &self,
        session: &Session<'_, '_>,
        baseline: Baseline,
        budget: usize,
        at: &At<'_>,
    ) -> Scores {
        let tokens = self.budgets[budget].tokens(at.place.tokens);
        let kept = self.kept(session, baseline, at.references.cut, tokens);
        self.score(session, at, budget, &kept.passages, kept.tokens, &[])
    }

    /// The scores of `passages`. `kept_events` are the events of a policy's output.
    fn score(
        &self,
        session: &Session<'_, '_>,
        at: &At<'_>,
        budget: usize,
        passages: &[Cow<'_, str>],
        tokens: u64,
        kept_events: &[Event],
    ) -> Scores {
        let passages = || passages.iter().map(AsRef::as_ref);
        let references = &at.references;
        let mut seen = session.index.seen(passages(), references.cut);
        // Names of fields do not occur in texts.
        seen.invented = missing(seen.invented, &at.bytes);
        let of = |names: &[u32], found: &IdSet<u32>| {
            let count = names.iter().filter(|name| found.contains(name)).count();
            share(count, names.len())
        };
        let [user, modified, commands, errors] = references.found(&Remains::new(passages()));
        let [files, ended] = at.state.truth(kept_events);
        let before = at.place.tokens.max(1) as f64;
        Scores {
            cuts: 1,
            shares: [
                of(&references.needed, &seen.names),
                of(&references.needed, &seen.grounded),
                of(&at.far[budget], &seen.names),
                user,
                modified,
                commands,
                errors,
                files.share(),
                ended.share(),
                Some(tokens as f64 * 100.0 / before),
            ],
            invented: seen.invented.len() as u64,
            examples: seen.invented,
            over: u64::from(tokens > self.budgets[budget].tokens(at.place.tokens)),
            unreachable: 0,
        }
    }
}

/// The method that shortens a session.
enum How<'e, 'p> {
    Policy(&'e Candidate<'p>),
    Baseline(Baseline),
}

/// A text without the marks at the beginning of a summary's rows and without restored line ranges: line numbers are not names.
pub(super) fn unmarked(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(unmarked_line).collect();
    lines.join("\n")
}

fn unmarked_line(line: &str) -> &str {
    if line.starts_with("[File restored: ")
        && let Some((path, _)) = line.rsplit_once(", lines ")
    {
        return path;
    }
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let is_line = |part: &str| part.strip_prefix('L').is_some_and(is_number);
    let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
    if mark.split(',').all(is_line) {
        rest
    } else {
        line
    }
}
