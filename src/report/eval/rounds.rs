//! The tables of `eval --rounds` for people: what is left after each round, a table for each policy with each budget.
//!
//! Shares are means over the sessions that have the round; files, to-dos and sentences are counted over all sessions.

use super::Evals;
use super::columns::title;
use crate::eval::{Kept, Metric, RoundScores};
use crate::report::rows::Table;
use crate::text::{printable, thousands};

/// The shares that a table shows.
const SHARES: [Metric; 7] = [
    Metric::Need,
    Metric::Grounded,
    Metric::User,
    Metric::Modified,
    Metric::Commands,
    Metric::Errors,
    Metric::Used,
];

/// The tables, in the order of the rounds' methods and budgets.
pub(super) fn tables(evals: &Evals<'_>) -> Vec<Table> {
    let rounds = &evals.head.totals.rounds;
    let is_same = |a: &RoundScores, b: &RoundScores| (&a.method, a.budget) == (&b.method, b.budget);
    rounds.chunk_by(is_same).map(table).collect()
}

fn table(rounds: &[RoundScores]) -> Table {
    let of = rounds.first();
    let name = of.map_or_else(String::new, |of| {
        format!("{}, {}", printable(&of.method), title(of.budget))
    });
    let shares = SHARES.map(|metric| metric.name().to_owned());
    let counts = ["files", "to-dos", "sentences", "invented"].map(str::to_owned);
    let mut table = Table::new([name].into_iter().chain(shares).chain(counts));
    for round in rounds {
        let share = |metric| match round.scores.share(metric) {
            Some(share) => format!("{share:.1}"),
            None => "-".to_owned(),
        };
        let mut cells = vec![format!("round {}", round.round)];
        cells.extend(SHARES.map(share));
        cells.extend([&round.files, &round.todos, &round.sentences].map(kept));
        cells.push(thousands(round.scores.invented));
        table.rows.push(cells);
    }
    table
}

fn kept(of: &Kept) -> String {
    format!("{}/{}", of.kept, of.of)
}
