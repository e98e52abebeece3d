//! The page of `replay`: what each policy sends, and how the context grows and shrinks over a session's requests.
//!
//! The largest sessions have a curve; what happened at each step unfolds below its row.

use std::io::{self, Write};

use super::Replays;
use super::columns::{Row, columns, replayed};
use crate::outcome::{Entries, Examined};
use crate::policy::Layer;
use crate::replay::{FileReplay, PolicyReplay, SessionReplay, Step, Verdict};
use crate::report::cells::percent;
use crate::report::column::{Column as Described, shown};
use crate::report::left_out;
use crate::report::page::{
    self, Align, Axis, Bar, Bars, Cell, Chart, Column, ColumnKind, Curves, Detail, DetailTable,
    Fact, Line, Page, Rows, ShowDetail, ShowRow, Table, Tone, Unit, amount_of, figure, unbroken,
};
use crate::report::times::time;

/// The maximum number of events below a row.
const EVENTS: usize = 200;

/// Writes the page.
pub(super) fn write(replays: &Replays<'_>, out: &mut dyn Write) -> io::Result<()> {
    let totals = &replays.head.totals;
    let rows = Sessions {
        files: replays.entries,
        rows: replays.seen.rows,
    };
    let columns = columns();
    let figures = shown(&columns).into_iter().flat_map(Described::on_page);
    let least = totals.policies.iter().min_by_key(|p| p.tokens.sent);
    let page = Page {
        command: "replay",
        headline: match least {
            Some(least) if totals.policies.len() > 1 => {
                format!(
                    "{} sends least: {}",
                    least.policy,
                    percent(least.tokens.sent, totals.whole.sent)
                )
            }
            Some(one) => format!(
                "{} sends {} of the whole",
                one.policy,
                percent(one.tokens.sent, totals.whole.sent)
            ),
            None => "Nothing was replayed".to_owned(),
        },
        lead: format!(
            "Of the tokens that would be sent without compaction; by the estimator {}.",
            replays.head.about.estimator
        ),
        bar: None,
        facts: vec![
            Fact {
                name: "Sent without compaction",
                value: figure(totals.whole.sent),
                note: "tokens".to_owned(),
            },
            Fact {
                name: "Requests",
                value: figure(totals.requests),
                note: format!("in {}", amount_of(totals.sessions, "session")),
            },
            Fact {
                name: "Largest request",
                value: figure(totals.whole.peak),
                note: "tokens, without compaction".to_owned(),
            },
        ]
        .into_iter()
        .chain(time(replays.head.timings()))
        .collect(),
        lists: vec![left_out::list(replays.head.not_read())],
        charts: charts(replays),
        table: Table {
            what: "session",
            columns: lead().into_iter().chain(figures).collect(),
            rows: &rows,
        },
        policies: &replays.head.about.policies,
    };
    page::write(&page, out)
}

fn charts(replays: &Replays<'_>) -> Vec<Chart> {
    let totals = &replays.head.totals;
    let sent = totals.policies.iter().map(|policy| {
        let (sent, whole) = (policy.tokens.sent, totals.whole.sent);
        let lost = policy.tokens.cache_lost.min(sent);
        Bar {
            name: policy.policy.clone(),
            note: format!(
                "{}, {}",
                amount_of(policy.done.compactions, "compaction"),
                amount_of(policy.done.edits, "edit")
            ),
            parts: vec![
                (Tone::Stays, sent - lost),
                (Tone::Added, lost),
                (Tone::Gone, whole.saturating_sub(sent)),
            ],
            value: format!("{}, {}", figure(sent), percent(sent, whole)),
        }
    });
    let mut charts = vec![Chart::Bars(Bars {
        title: "Tokens sent",
        about:
            "Over all requests, by each policy; what a prompt cache held in vain is paid in full."
                .to_owned(),
        parts: vec![
            (Tone::Stays, "sent"),
            (Tone::Added, "of it lost to the cache"),
            (Tone::Gone, "saved"),
        ],
        bars: sent.collect(),
    })];
    let sessions = replays.seen.curves.iter();
    charts.extend(sessions.map(|(path, session)| curves(path, session)));
    charts
}

fn curves(path: &str, session: &SessionReplay) -> Chart {
    let policies = session.policies.iter().enumerate();
    let lines = policies.map(|(number, policy)| Line {
        name: policy.policy.clone(),
        tone: Tone::Nth(number),
        points: points(policy),
        marks: policy.steps.iter().filter_map(mark).collect(),
    });
    let limits = match &session.policies[..] {
        [one] => one
            .threshold
            .map(|limit| (limit as f64, "trigger".to_owned())),
        _ => None,
    };
    Chart::Curves(Curves {
        title: "Context over requests",
        about: format!(
            "{path}, {}; as each policy counts. A large dot is a compaction.",
            session.id
        ),
        x: Axis {
            name: "request",
            unit: Unit::One,
        },
        y: Axis {
            name: "tokens",
            unit: Unit::One,
        },
        lines: lines.collect(),
        limits: limits.into_iter().collect(),
    })
}

/// The window of each request, and before and after each step at which something happened; then the window at the end.
fn points(policy: &PolicyReplay) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut steps = policy.steps.iter().peekable();
    let sizes = |step: &Step| {
        let at = step.request as f64;
        [(at, step.before as f64), (at, step.after as f64)]
    };
    for (request, tokens) in (1..).zip(&policy.windows) {
        while let Some(step) = steps.next_if(|step| step.request <= request) {
            points.extend(sizes(step));
        }
        points.push((request as f64, *tokens as f64));
    }
    points.extend(steps.flat_map(sizes));
    let last = points.last().map_or(0.0, |point| point.0);
    points.push((last, policy.own.last as f64));
    // Repeated points are merged.
    points.dedup();
    points
}

/// A step that compacted.
fn mark(step: &Step) -> Option<(f64, f64, String)> {
    let compacted = step.events.iter().find(|event| {
        let is_done = match event.result {
            Verdict::Made | Verdict::LeftOut => true,
            Verdict::Failed | Verdict::Held => false,
        };
        event.layer == Layer::Summarize && is_done
    })?;
    let told = format!(
        "request {}: {} → {} tokens, {}",
        figure(step.request),
        figure(step.before),
        figure(step.after),
        compacted.reason
    );
    Some((step.request as f64, step.after as f64, told))
}

/// The name and the columns before the figures.
fn lead() -> Vec<Column> {
    vec![
        Column::new("session", ColumnKind::Name),
        Column::new("policy", ColumnKind::Word),
        Column::new("requests", ColumnKind::Number),
    ]
}

struct Sessions<'r> {
    files: &'r dyn Entries<Examined<FileReplay>>,
    rows: usize,
}

impl Rows for Sessions<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn first_rows(&self, most: usize, show: ShowRow<'_>) -> io::Result<()> {
        let mut left = most;
        for at in 0..self.files.len() {
            if left == 0 {
                break;
            }
            let file = self.files.get(at)?;
            let first = columns();
            for row in replayed(&file).take(left) {
                show(&cells(&Row::of(row), &first))?;
                left -= 1;
            }
        }
        Ok(())
    }

    fn each_row(&self, show: ShowRow<'_>) -> io::Result<()> {
        self.files.each(&mut |file| {
            let all = columns();
            replayed(file).try_for_each(|row| show(&cells(&Row::of(row), &all)))
        })
    }

    fn each_detail(&self, show: ShowDetail<'_>) -> io::Result<()> {
        self.files
            .each(&mut |file| replayed(file).try_for_each(|(_, _, policy)| show(detail(policy))))
    }
}

fn cells<'r>(row: &Row<'r>, columns: &[Described<Row<'r>>]) -> Vec<Cell<'r>> {
    let name = match row.session {
        "main" => row.path.into(),
        id => format!("{} {id}", row.path).into(),
    };
    let mut cells = vec![
        Cell::Text(name),
        Cell::Text(row.policy.into()),
        Cell::Number(row.requests),
    ];
    let figures = shown(columns).into_iter();
    cells.extend(figures.flat_map(|column| column.page_cells(Some(row))));
    cells
}

/// What happened at each step, if anything did.
fn detail(policy: &PolicyReplay) -> Option<Detail> {
    let events = policy.steps.iter();
    let events = events.flat_map(|step| step.events.iter().map(move |event| (step, event)));
    let all = events.clone().count();
    let rows = events.take(EVENTS).map(|(step, event)| {
        let result = match event.result {
            Verdict::Made => "done",
            Verdict::LeftOut => "left out",
            Verdict::Failed => "failed",
            Verdict::Held => "not tried",
        };
        vec![
            figure(step.request),
            step.line.to_string(),
            format!("{} {result}", event.layer.name()),
            figure(event.count),
            figure(event.freed),
            unbroken(&event.reason),
        ]
    });
    let left = all.saturating_sub(EVENTS) as u64;
    (all > 0).then(|| Detail {
        facts: Vec::new(),
        tables: vec![DetailTable {
            title: "What happened".to_owned(),
            headings: &[
                ("request", Align::Right),
                ("line", Align::Right),
                ("what", Align::Left),
                ("times", Align::Right),
                ("freed", Align::Right),
                ("why", Align::Left),
            ],
            rows: rows.collect(),
            note: match left {
                0 => String::new(),
                _ => format!(
                    "and {}, which the JSON report has",
                    amount_of(left, "more event")
                ),
            },
        }],
    })
}
