//! The columns of a report on `replay`: of a policy, over a session or over all, and of a turn.
//!
//! The tables, the Markdown report and the page show the session's or the policy's name, then the columns with a heading.

use crate::outcome::Examined;
use crate::replay::{Done, Figures, FileReplay, PolicyReplay, SessionReplay, TurnReplay};
use crate::report::column::Column;
use crate::report::csv;
use crate::text::shown_name;

/// What a policy does to a session, or to all of them.
pub(super) struct Row<'r> {
    /// The path of a session's file.
    pub(super) path: &'r str,
    pub(super) session: &'r str,
    pub(super) policy: &'r str,
    pub(super) requests: u64,
    pub(super) done: Done,
    /// Without compaction.
    pub(super) whole: Figures,
    pub(super) tokens: Figures,
}

/// A turn of a session under a policy, with the session's file.
pub(super) type TurnRow<'r> = (&'r str, &'r SessionReplay, &'r PolicyReplay, &'r TurnReplay);

/// The columns, in the order of the CSV report.
pub(super) fn columns<'r>() -> Vec<Column<Row<'r>>> {
    type Of<'r> = Column<Row<'r>>;
    vec![
        Of::text("path", |row| shown_name(row.path).into_owned()),
        Of::text("session", |row| row.session.to_owned()),
        Of::text("policy", |row| row.policy.to_owned()),
        Of::number("requests", |row| row.requests),
        Of::number("compactions", |row| row.done.compactions).shown(1, "compactions"),
        Of::number("failures", |row| row.done.failures).shown(2, "failed"),
        Of::number("edits", |row| row.done.edits).shown(3, "edits"),
        Of::number("whole_sent", |row| row.whole.sent),
        Of::number("sent", |row| row.tokens.sent).shown(4, "sent"),
        Of::part(|row| [row.tokens.sent, row.whole.sent]).shown(5, "of whole"),
        Of::number("cache_lost", |row| row.tokens.cache_lost).shown(6, "cache lost"),
        Of::number("peak", |row| row.tokens.peak).shown(7, "peak"),
        Of::number("final", |row| row.tokens.last).shown(8, "final"),
    ]
}

/// The columns of turns, for CSV.
pub(super) fn turn_columns<'r>() -> Vec<Column<TurnRow<'r>>> {
    type Of<'r> = Column<TurnRow<'r>>;
    vec![
        Of::text("path", |(path, ..)| (*path).to_owned()),
        Of::text("session", |(_, session, ..)| session.id.clone()),
        Of::text("policy", |(_, _, policy, _)| policy.policy.clone()),
        Of::number("turn", |(.., turn)| turn.turn),
        Of::number("line", |(.., turn)| turn.line),
        Of::number("requests", |(.., turn)| turn.requests),
        Of::number("sent", |(.., turn)| turn.sent),
        Of::number("context", |(.., turn)| turn.context),
    ]
}

/// Each session of a file under each policy, with the file's path.
pub(super) fn replayed(
    file: &Examined<FileReplay>,
) -> impl Iterator<Item = (&str, &SessionReplay, &PolicyReplay)> {
    file.found.sessions.iter().flat_map(move |session| {
        let policies = session.policies.iter();
        policies.map(move |policy| (file.file.path.as_str(), session, policy))
    })
}

impl<'r> Row<'r> {
    /// A session under a policy.
    pub(super) fn of(
        (path, session, policy): (&'r str, &'r SessionReplay, &'r PolicyReplay),
    ) -> Self {
        Row {
            path,
            session: &session.id,
            policy: &policy.policy,
            requests: session.requests,
            done: policy.done,
            whole: session.whole,
            tokens: policy.tokens,
        }
    }
}

/// The first lines of its CSV reports.
pub(in crate::report) fn csv_headers() -> [String; 2] {
    [csv::header(&columns()), csv::header(&turn_columns())]
}
