//! The scores of methods over all sessions: means in which each session has the same weight.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::intervals::Columns;
use super::rounds::RoundSums;
use super::scores::ScoreSums;
use super::{Budget, FileEval, Kind, MethodScores, RoundScores, SessionEval, Skipped};
use crate::outcome::{Entries, Examined, FileStatus};

/// The memory for the columns from which intervals are computed, in bytes. If they need more, the entries are read several times,
/// and a few methods are computed each time; those of one method are always in memory.
const COLUMN_BYTES: u64 = 32 << 20;

/// The means over all sessions, and the number of sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Sessions that were measured.
    pub sessions: u64,
    /// Cuts in them.
    pub cuts: u64,
    /// Sessions that were not measured, by the reason.
    pub skipped: BTreeMap<Skipped, u64>,
    /// Inputs of a format that is not supported.
    pub unsupported: u64,
    /// Inputs that could not be read.
    pub failed: u64,
    /// The scores of each method, budget by budget.
    pub scores: Vec<MethodScores>,
    /// The same for the sessions of each format, by its name.
    #[serde(default)]
    pub formats: Vec<FormatTotals>,
    /// The scores of each round, if sessions were compacted several times in a row: means over the sessions that have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundScores>,
}

/// The means over the sessions of one format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatTotals {
    /// The format.
    pub format: String,
    /// Sessions that were measured.
    pub sessions: u64,
    /// Cuts in them.
    pub cuts: u64,
    /// The scores of each method, budget by budget.
    pub scores: Vec<MethodScores>,
}

impl Totals {
    /// The means over the sessions of `entries`, which are in path order.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn of(entries: &dyn Entries<Examined<FileEval>>) -> io::Result<Totals> {
        Totals::with_most(entries, COLUMN_BYTES)
    }

    fn with_most(
        entries: &dyn Entries<Examined<FileEval>>,
        column_bytes: u64,
    ) -> io::Result<Totals> {
        let mut totals = Totals::default();
        let mut all = Means::default();
        let mut formats: BTreeMap<String, Means> = BTreeMap::new();
        let mut rounds = RoundSums::default();
        entries.each(&mut |file| {
            match file.status {
                FileStatus::Examined => {}
                FileStatus::Unsupported(_) => totals.unsupported += 1,
                FileStatus::Failed => totals.failed += 1,
            }
            for session in &file.found.sessions {
                if let Some(skipped) = session.skipped {
                    *totals.skipped.entry(skipped).or_default() += 1;
                    continue;
                }
                all.add(session);
                rounds.add(session);
                match formats.get_mut(format(file)) {
                    Some(means) => means.add(session),
                    None => formats
                        .entry(format(file).to_owned())
                        .or_default()
                        .add(session),
                }
            }
            Ok(())
        })?;
        totals.sessions = all.sessions;
        totals.cuts = all.cuts;
        totals.scores = all.methods();
        totals.rounds = rounds.means();
        let formats = formats.into_iter().map(|(format, means)| FormatTotals {
            format,
            sessions: means.sessions,
            cuts: means.cuts,
            scores: means.methods(),
        });
        totals.formats = formats.collect();
        totals.add_intervals(entries, column_bytes)?;
        Ok(totals)
    }

    /// Adds the intervals of all means.
    fn add_intervals(
        &mut self,
        entries: &dyn Entries<Examined<FileEval>>,
        column_bytes: u64,
    ) -> io::Result<()> {
        let of_all = self.scores.iter_mut().enumerate();
        let sessions = self.sessions;
        let mut missing: Vec<Missing<'_>> = of_all
            .map(|(number, of)| Missing::new(None, number, sessions, of))
            .collect();
        for totals in &mut self.formats {
            let (format, sessions) = (&totals.format[..], totals.sessions);
            let of_format = totals.scores.iter_mut().enumerate();
            missing.extend(
                of_format.map(|(number, of)| Missing::new(Some(format), number, sessions, of)),
            );
        }
        let mut rest = &mut missing[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |one: &&Missing<'_>| {
                bytes += Columns::size(one.sessions);
                bytes <= column_bytes
            };
            let fitting = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at_mut(fitting);
            entries.each(&mut |file| {
                now.iter_mut().for_each(|one| one.add(file));
                Ok(())
            })?;
            now.iter_mut().for_each(Missing::fill);
            rest = later;
        }
        Ok(())
    }
}

fn format(file: &Examined<FileEval>) -> &str {
    file.file.format.as_deref().unwrap_or_default()
}

/// Sessions that are added up one by one.
#[derive(Default)]
struct Means {
    sessions: u64,
    cuts: u64,
    /// The methods of the first session.
    methods: Vec<MethodSums>,
}

/// The scores of a method with a budget.
struct MethodSums {
    method: String,
    kind: Kind,
    budget: Budget,
    scores: ScoreSums,
}

impl Means {
    fn add(&mut self, session: &SessionEval) {
        if self.sessions == 0 {
            let methods = session.scores.iter().map(|of| MethodSums {
                method: of.method.clone(),
                kind: of.kind,
                budget: of.budget,
                scores: ScoreSums::default(),
            });
            self.methods = methods.collect();
        }
        self.sessions += 1;
        self.cuts += session.cuts.len() as u64;
        // A report that was read back may lack some.
        for (sums, of) in self.methods.iter_mut().zip(&session.scores) {
            sums.scores.add(&of.scores);
        }
    }

    /// The mean of each method with each budget, without its intervals.
    fn methods(self) -> Vec<MethodScores> {
        let methods = self.methods.into_iter();
        methods
            .map(|of| MethodScores {
                method: of.method,
                kind: of.kind,
                budget: of.budget,
                scores: of.scores.mean(),
                intervals: None,
            })
            .collect()
    }
}

/// The intervals that the means of a method still lack.
struct Missing<'t> {
    /// The format of the sessions; `None` for all of them.
    format: Option<&'t str>,
    /// The position of the method in each session.
    number: usize,
    sessions: u64,
    of: &'t mut MethodScores,
    columns: Columns,
}

impl<'t> Missing<'t> {
    fn new(
        format: Option<&'t str>,
        number: usize,
        sessions: u64,
        of: &'t mut MethodScores,
    ) -> Self {
        Missing {
            format,
            number,
            sessions,
            of,
            columns: Columns::default(),
        }
    }

    fn add(&mut self, file: &Examined<FileEval>) {
        if self.format.is_some_and(|only| only != format(file)) {
            return;
        }
        let sessions = file.found.sessions.iter();
        for session in sessions.filter(|session| session.skipped.is_none()) {
            if let Some(of) = session.scores.get(self.number) {
                self.columns.add(&of.scores);
            }
        }
    }

    fn fill(&mut self) {
        self.of.intervals = std::mem::take(&mut self.columns).intervals();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::eval::{Cut, Scores};

    /// A session whose shares are no round numbers.
    fn session(n: u64, skipped: Option<Skipped>) -> SessionEval {
        let of = |method: &str, k: u64| MethodScores {
            method: method.to_owned(),
            kind: Kind::Policy,
            budget: Budget::Percent(10.0),
            scores: Scores {
                cuts: 1,
                shares: std::array::from_fn(|at| {
                    let share = (n * 31 + k * 17 + at as u64 * 7) % 100;
                    (!share.is_multiple_of(9)).then_some(share as f64 / 3.0)
                }),
                ..Scores::default()
            },
            intervals: None,
        };
        let cut = Cut {
            message: 1,
            line: 1,
            tokens: 1,
            need: 1,
            user: 0,
            modified: 0,
            commands: 0,
            errors: 0,
        };
        SessionEval {
            skipped,
            cuts: vec![cut],
            scores: vec![of("a", 1), of("b", 2)],
            id: format!("line:{n}"),
            messages: 1,
            tokens: 1,
            rounds: Vec::new(),
        }
    }

    #[test]
    fn means_and_intervals_do_not_depend_on_how_often_entries_are_read() {
        let file = |n: u64| {
            let format = ["anthropic", "codex", "pi"][(n % 3) as usize];
            let mut file = Examined::<FileEval>::new(Path::new("x"), format, 0);
            let sessions = (0..n % 4).map(|k| {
                let skipped = (k == 2).then_some(Skipped::TooSmall);
                session(n * 4 + k, skipped)
            });
            file.found.sessions = sessions.collect();
            file
        };
        let files: Vec<Examined<FileEval>> = (0..40).map(file).collect();
        let files = &files[..];
        let all = Totals::of(&files).unwrap();
        assert_eq!((all.sessions, all.skipped[&Skipped::TooSmall]), (50, 10));
        assert_eq!(all.formats.iter().map(|of| of.sessions).sum::<u64>(), 50);
        for scores in all.formats.iter().map(|of| &of.scores).chain([&all.scores]) {
            assert_eq!(scores.len(), 2);
            assert!(scores.iter().all(|of| of.intervals.is_some()));
        }
        for column_bytes in [0, Columns::size(50), Columns::size(120)] {
            assert_eq!(Totals::with_most(&files, column_bytes).unwrap(), all);
        }
        // The sessions of a format count as if there were no others.
        for of in &all.formats {
            let own: Vec<_> = files
                .iter()
                .filter(|file| format(file) == of.format)
                .cloned()
                .collect();
            assert_eq!(Totals::of(&&own[..]).unwrap().scores, of.scores);
        }
    }
}
