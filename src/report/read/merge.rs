//! Several reports in one: those of `compact`, and those of `stats` by one way of counting.
//!
//! What cannot be added up is refused with its reason: shares, means and peaks of different runs are not sums.

use std::collections::BTreeSet;

use super::AnyReport;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Entry, NotRead, NotReads, Totals};
use crate::report::times::RunTimings;
use crate::report::{Head, PolicyRef, Report, Stats};

/// All inputs of several reports in one. Where those of `compact` were made under different policies, it names them all.
///
/// # Errors
/// Reports that do not add up.
pub fn merge(reports: Vec<AnyReport>) -> Result<AnyReport> {
    let mut compact = Vec::new();
    let mut stats = Vec::new();
    for report in reports {
        match report {
            AnyReport::Compact(report) => compact.push(report),
            AnyReport::Stats(report) => stats.push(*report),
            AnyReport::Replay(_) | AnyReport::Eval(_) => {
                return Err(refused(format!(
                    "a report on {} holds peaks and means of one run, which do not add up",
                    report.command()
                ))
                .hint("run the command over all of the files at once"));
            }
        }
    }
    match (compact.is_empty(), stats.is_empty()) {
        (false, false) => Err(refused(
            "reports on compact and on stats say different things, and do not add up".to_owned(),
        )),
        (true, false) => merged_stats(stats).map(|merged| AnyReport::Stats(Box::new(merged))),
        (false, true) | (true, true) => Ok(AnyReport::Compact(merged(compact))),
    }
}

/// The inputs that more than one of the reports has; `merge` counts them in each. Of standard input nobody knows.
pub fn shared(reports: &[AnyReport]) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    let mut shared = BTreeSet::new();
    for report in reports {
        let inputs: BTreeSet<&str> = match report {
            AnyReport::Compact(report) => paths(report.files()),
            AnyReport::Stats(report) => paths(report.files()),
            AnyReport::Replay(_) | AnyReport::Eval(_) => BTreeSet::new(),
        };
        shared.extend(inputs.intersection(&seen));
        seen.extend(inputs);
    }
    shared
}

fn paths<E: Entry>(files: &[E]) -> BTreeSet<&str> {
    let paths = files.iter().map(|file| file.file().path.as_str());
    paths.filter(|path| *path != "-").collect()
}

fn refused(why: String) -> Error {
    Error::new(ErrorKind::Usage, why)
}

fn merged(reports: Vec<Report>) -> Report {
    let policies = reports.iter().map(|report| report.policy());
    let policy = joined(&policies.collect::<Vec<_>>());
    let not_read = all_not_read(reports.iter().map(Report::head));
    let timings = RunTimings::of_all(reports.iter().map(|report| report.head().timings()));
    let mut left = Totals::default();
    for report in &reports {
        left += Totals {
            interrupted: report.totals().interrupted,
            ..Totals::default()
        };
    }
    let files = reports.into_iter().flat_map(Report::into_files);
    Report::new(policy, files.collect())
        .with_interrupted(left.interrupted)
        .with_not_read(not_read)
        .with_merged_timings(timings)
}

fn merged_stats(reports: Vec<Stats>) -> Result<Stats> {
    let abouts: Vec<_> = reports.iter().map(|report| report.head().about()).collect();
    let Some(first) = abouts.first().copied().cloned() else {
        return Err(refused("no report is named".to_owned()));
    };
    let is_like = |other: &&crate::report::stats::Counting| {
        (&other.policy, &other.estimator, &other.thresholds)
            == (&first.policy, &first.estimator, &first.thresholds)
    };
    if let Some(other) = abouts.iter().find(|other| !is_like(other)) {
        let (one, other) = (&first.policy, &other.policy);
        return Err(refused(format!(
            "they were counted under different policies ({} {} and {} {}), and their tokens do not add up",
            one.name, one.hash, other.name, other.hash
        ))
        .hint("count the files again under one policy"));
    }
    let presets = |report: &Stats| -> Vec<String> {
        let presets = &report.totals().counts.presets.0;
        presets.iter().map(|preset| preset.policy.clone()).collect()
    };
    let known = reports
        .iter()
        .map(presets)
        .filter(|names| !names.is_empty());
    if known.collect::<BTreeSet<_>>().len() > 1 {
        return Err(refused(
            "they were made by versions with different presets, whose counts do not add up"
                .to_owned(),
        )
        .hint("count the files again with one version"));
    }
    let top = abouts.iter().map(|about| about.top).max();
    let not_read = all_not_read(reports.iter().map(Stats::head));
    let timings = RunTimings::of_all(reports.iter().map(|report| report.head().timings()));
    let mut files: Vec<_> = reports.into_iter().flat_map(Stats::into_files).collect();
    files.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    let report = Stats::new(
        first.policy,
        first.estimator,
        first.thresholds,
        files,
        top.unwrap_or_default(),
    );
    Ok(report.with_not_read(not_read).with_merged_timings(timings))
}

/// What none of them has read.
fn all_not_read<'r, A: 'r, T: 'r>(heads: impl Iterator<Item = &'r Head<A, T>>) -> Vec<NotRead> {
    let mut all = NotReads::default();
    for head in heads {
        all.extend(head.not_read().to_vec());
    }
    all.into_list()
}

fn joined(policies: &[&PolicyRef]) -> PolicyRef {
    if let [first, rest @ ..] = policies
        && rest.iter().all(|policy| policy == first)
    {
        return (*first).clone();
    }
    let names: BTreeSet<&str> = policies.iter().map(|policy| &policy.name[..]).collect();
    let hashes: BTreeSet<&str> = policies.iter().map(|policy| &policy.hash[..]).collect();
    let list = |set: BTreeSet<&str>| set.into_iter().collect::<Vec<_>>().join(" + ");
    PolicyRef {
        name: list(names),
        hash: list(hashes),
        overrides: Vec::new(),
    }
}
