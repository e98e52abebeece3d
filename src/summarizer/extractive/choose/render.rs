//! Renders the chosen units: rows in reading order.
//!
//! Chooses nothing; but if the text is larger than the sum of its rows, units that were chosen last are dropped.

use std::collections::BTreeMap;

use super::super::ExtractiveSummary;
use super::super::form::{Labels, Row, Section, write};
use super::super::units::{Claim, Origin, Unit};
use super::{Choice, Chosen, Counts, WORTH_FILLING, combined, is_read};
use crate::tokens::Size;

/// Whether the summary states how many messages of the user are left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Note {
    Told,
    NoRoom,
}

impl<'c> Choice<'c> {
    /// The summary of the chosen units. The text may be larger than the sum of its rows, so the last ones may have to go.
    pub(super) fn summary(mut self) -> ExtractiveSummary {
        let estimator = self.estimator;
        let tokens = |text: &str| estimator.tokens(estimator.text(text));
        let mut note = Note::Told;
        let mut counted;
        loop {
            let rows = self.rows(|counts| counts != Counts::No);
            counted = tokens(&write(&self.with_note(rows, note), self.files));
            let excess = counted.saturating_sub(self.limit);
            if excess == 0 {
                break;
            }
            // A row is worth more than the note, so the note is dropped before the last row.
            let fewest = match note {
                Note::Told => 1,
                Note::NoRoom => 0,
            };
            if !self.drop_last(excess, fewest) {
                if note == Note::NoRoom {
                    break;
                }
                note = Note::NoRoom;
            }
        }
        let rows = self.with_note(self.rows(|_| true), note);
        let text = write(&rows, self.files);
        let (user_verbatim, user_clipped) = self.user_messages();
        ExtractiveSummary {
            tokens: tokens(&text),
            text,
            rows,
            user_verbatim,
            user_clipped,
            counted,
        }
    }

    /// Adds the row that states how many messages of the user are left out, below the user's words.
    fn with_note(&self, mut rows: Vec<Row>, note: Note) -> Vec<Row> {
        let left_out = match note {
            Note::Told if !rows.is_empty() => self.left_out(),
            Note::Told | Note::NoRoom => None,
        };
        if let Some(row) = left_out {
            let is_request = |row: &Row| row.section == Section::Requests;
            let at = rows.partition_point(is_request);
            rows.insert(at, row);
        }
        rows
    }

    /// Counts the actual text of the chosen units instead of the sum of their rows if that leaves room for more; returns whether it
    /// does. With estimated tokens, both are equal.
    pub(super) fn recount(&mut self) -> bool {
        if !self.estimator.is_exact() {
            return false;
        }
        let rows = self.rows(|counts| counts != Counts::No);
        let size = self.estimator.text(&write(&rows, self.files));
        let [counted, used] = [size, self.used].map(|size| self.estimator.tokens(size));
        let has_room =
            counted < used && self.limit.saturating_sub(counted) > self.limit / WORTH_FILLING;
        if has_room {
            self.used = size;
        }
        has_room
    }

    /// Drops units, last first, until they amount to `excess` tokens or only `fewest` are left; returns whether any was dropped.
    fn drop_last(&mut self, excess: u64, fewest: usize) -> bool {
        let mut dropped = Size::default();
        let is_free = |chosen: &Chosen<'_>| chosen.counts == Counts::Yes;
        let mut free = self.chosen.iter().filter(|chosen| is_free(chosen)).count();
        while free > fewest && self.estimator.tokens(dropped) < excess {
            free -= 1;
            let Some(last) = self.chosen.iter().rposition(is_free) else {
                break;
            };
            dropped = combined(dropped, self.chosen.remove(last).size);
        }
        dropped != Size::default()
    }

    /// The chosen units in the order of the text.
    fn in_text_order(&self) -> Vec<(&'c Unit, &Chosen<'c>)> {
        let unit = |number: usize| &self.extract.found.units[number];
        let mut chosen: Vec<_> = self.chosen.iter().map(|c| (unit(c.unit), c)).collect();
        chosen.sort_by_key(|(unit, chosen)| {
            // Changed files come before files that were only read.
            let is_read = is_read(unit);
            let line = unit.row.mark.line;
            (unit.row.section, is_read, unit.message, line, chosen.unit)
        });
        chosen
    }

    /// The rows of the text; units of one message in a section without labels become one row.
    fn rows(&self, is_there: impl Fn(Counts) -> bool) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut last: Option<(usize, &Unit)> = None;
        // Omissions in the user's words are marked: otherwise they would look complete.
        let gap_after = |rows: &mut Vec<Row>, last: Option<(usize, &Unit)>| {
            if let (Some(row), Some((number, _))) = (rows.last_mut(), last)
                && self.are_neighbours(number, number + 1)
            {
                row.text.truncate(row.text.trim_end().len());
                row.text.push_str("\n…");
            }
        };
        let mut is_last_whole = true;
        let is_sentence = |unit: &Unit| matches!(unit.claim, Claim::Sentence(_));
        for (unit, chosen) in self.in_text_order() {
            if !is_there(chosen.counts) {
                continue;
            }
            let number = chosen.unit;
            let before = number.checked_sub(1);
            let is_gap = before.is_some_and(|before| {
                self.are_neighbours(before, number) && last.is_none_or(|(last, _)| last != before)
            });
            let gap = if is_gap { "…\n" } else { "" };
            match rows.last_mut() {
                // The text between two sentences belongs to the first one.
                Some(row)
                    if last.is_some_and(|(_, last)| goes_on(last, unit))
                        && is_sentence(unit)
                        && !is_gap
                        && is_last_whole =>
                {
                    row.text.push_str(&chosen.text);
                }
                Some(row) if last.is_some_and(|(_, last)| goes_on(last, unit)) => {
                    if is_sentence(unit) {
                        row.text.truncate(row.text.trim_end().len());
                    }
                    row.text.push('\n');
                    row.text.push_str(gap);
                    row.text.push_str(&chosen.text);
                }
                _ => {
                    gap_after(&mut rows, last);
                    rows.push(Row {
                        text: format!("{gap}{}", chosen.text),
                        ..unit.row.clone()
                    });
                }
            }
            last = Some((number, unit));
            is_last_whole = chosen.text == unit.row.text;
        }
        gap_after(&mut rows, last);
        rows
    }

    /// Whether two units are sentences of one message of the user.
    fn are_neighbours(&self, first: usize, second: usize) -> bool {
        let request = |number: usize| match self.extract.found.units.get(number)?.claim {
            Claim::Sentence(request) => Some(request),
            _ => None,
        };
        request(first).is_some() && request(first) == request(second)
    }

    /// The numbers of typed messages of the span that are quoted in full and in part.
    fn user_messages(&self) -> (u64, u64) {
        let requests = &self.extract.found.requests;
        let mut quoted: BTreeMap<u32, String> = BTreeMap::new();
        for (unit, chosen) in self.in_text_order() {
            if let Claim::Request(request) | Claim::Sentence(request) = unit.claim {
                quoted.entry(request).or_default().push_str(&chosen.text);
            }
        }
        let (mut whole, mut in_part) = (0, 0);
        for (_, unit) in self.units() {
            if let Claim::Request(request) = unit.claim
                && requests[request as usize].origin == Origin::Span
                && let Some(quoted) = quoted.get(&request)
            {
                if say_the_same(quoted, &unit.row.text) {
                    whole += 1;
                } else {
                    in_part += 1;
                }
            }
        }
        (whole, in_part)
    }
}

/// Whether two texts are the same except for blanks.
fn say_the_same(quoted: &str, text: &str) -> bool {
    let [quoted, text] = [quoted, text].map(|text| text.chars().filter(|c| !c.is_whitespace()));
    quoted.eq(text)
}

/// Whether two consecutive units are joined into one row.
fn goes_on(last: &Unit, next: &Unit) -> bool {
    let is_same = last.row.section == next.row.section
        && last.row.mark == next.row.mark
        && last.message == next.message;
    let may = match next.row.section {
        // Each typed message is a row of its own, even one from an earlier summary.
        Section::Requests => last.claim == next.claim,
        section => section.labels() == Labels::None,
    };
    is_same && may
}
