//! The page of a report on `compact`: what was saved, where, what was done and why, and every input with its edits.
//!
//! Only says what is on the page; `page` determines how it looks and makes it safe.

mod charts;
mod messages;
mod rows;

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::cells::{saved, statuses};
use super::left_out;
use super::page::{Fact, List, Page, Table, Tone, amount, amount_of, figure};
use super::times::time;
use super::view::View;
use crate::outcome::{Outcome, Status, Totals};

/// Writes the page. Reads each entry several times: for figures, for its row, and for what unfolds below it.
pub(super) fn write(report: View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let View { head, entries, .. } = report;
    let totals = head.totals();
    let mut charts = charts::Seen::default();
    let mut untouched = Untouched::default();
    entries.each(&mut |outcome| {
        charts.see(outcome);
        untouched.see(outcome);
        Ok(())
    })?;
    let files = rows::Files::of(report);
    let page = Page {
        command: "compact",
        headline: format!(
            "{} → {} tokens, {} saved",
            figure(totals.tokens_before),
            figure(totals.tokens_after),
            saved(totals.tokens_before, totals.tokens_after)
        ),
        lead: match totals.files {
            0 if totals.interrupted.is_none() => "No file was given.".to_owned(),
            n => format!("{}: {}", amount_of(n, "file"), statuses(totals)),
        },
        bar: (totals.tokens_before > 0).then(|| change(totals.tokens_before, totals.tokens_after)),
        facts: facts(totals)
            .into_iter()
            .chain(time(head.timings()))
            .collect(),
        lists: vec![
            List {
                title: "Why nothing was done",
                items: untouched.list(),
            },
            left_out::list(head.not_read()),
        ],
        charts: charts.charts(entries)?,
        table: Table {
            what: "file",
            columns: rows::columns(&report),
            rows: &files,
        },
        policies: std::slice::from_ref(&head.about().policy),
    };
    super::page::write(&page, out)
}

/// A changed amount as the parts of a bar.
fn change(before: u64, after: u64) -> Vec<(Tone, u64)> {
    vec![
        (Tone::Stays, before.min(after)),
        (Tone::Gone, before.saturating_sub(after)),
        (Tone::Added, after.saturating_sub(before)),
    ]
}

fn facts(totals: &Totals) -> Vec<Fact> {
    let change = |name, before: String, after: String, note: String| Fact {
        name,
        value: format!("{before} → {after}"),
        note,
    };
    let mut facts = vec![
        Fact {
            name: "Tokens saved",
            value: figure(totals.tokens_saved()),
            note: format!(
                "{} of the live windows",
                saved(totals.tokens_before, totals.tokens_after)
            ),
        },
        Fact {
            name: "Files compacted",
            value: figure(totals.compacted),
            note: format!("of {}", figure(totals.files)),
        },
        change(
            "Messages",
            figure(totals.messages_before),
            figure(totals.messages_after),
            String::new(),
        ),
        change(
            "Size",
            amount(totals.bytes_before),
            amount(totals.bytes_after),
            match totals.compressed {
                0 => format!("{} saved", saved(totals.bytes_before, totals.bytes_after)),
                // Sizes of compressed and uncompressed text are never mixed.
                _ => format!(
                    "{} saved, unpacked; on disk {} → {}",
                    saved(totals.bytes_before, totals.bytes_after),
                    amount(totals.stored_before),
                    amount(totals.stored_after)
                ),
            },
        ),
    ];
    let trouble = totals.failed + totals.rejected;
    if trouble + totals.degraded > 0 {
        facts.push(Fact {
            name: "Went wrong",
            value: figure(trouble),
            note: format!(
                "{} failed, {} rejected, {} without all that was asked for",
                figure(totals.failed),
                figure(totals.rejected),
                figure(totals.degraded)
            ),
        });
    }
    if let Some(spent) = &totals.spent {
        facts.push(Fact {
            name: "Requests for summaries",
            value: figure(spent.requests),
            note: format!(
                "{} tokens in, {} out, {} from the store",
                figure(spent.input_tokens),
                figure(spent.output_tokens),
                amount_of(spent.cached, "answer")
            ),
        });
    }
    facts
}

/// The maximum number of distinct reasons: errors may name what they are about, so there may be as many as inputs.
const REASONS: usize = 10_000;

/// Why inputs are unchanged.
#[derive(Default)]
struct Untouched {
    reasons: BTreeMap<String, u64>,
    /// The number of inputs with further reasons.
    others: u64,
}

impl Untouched {
    fn see(&mut self, outcome: &Outcome) {
        if outcome.status == Status::Compacted {
            return;
        }
        let why = rows::why(outcome);
        let reason = match why.is_empty() {
            true => outcome.status.to_string(),
            false => format!("{}: {why}", outcome.status),
        };
        match self.reasons.len() < REASONS || self.reasons.contains_key(&reason) {
            true => *self.reasons.entry(reason).or_default() += 1,
            false => self.others += 1,
        }
    }

    /// Each reason with the number of inputs, the most frequent first.
    fn list(self) -> Vec<(u64, String)> {
        let reasons = self.reasons.into_iter();
        let mut reasons: Vec<(u64, String)> = reasons.map(|(why, n)| (n, why)).collect();
        // The sort is stable, so that equally frequent reasons stay in alphabetical order.
        reasons.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
        // Other reasons come last, as a number only.
        reasons.extend((self.others > 0).then(|| (self.others, "other reasons".to_owned())));
        reasons
    }
}
