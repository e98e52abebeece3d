//! What the table and the Markdown report share: the selection of inputs to show, and the formatting of numbers for people.
//!
//! Exact figures are in the JSON and CSV reports; nothing here is meant to be parsed.

use std::borrow::Cow;
use std::io;

use crate::outcome::{
    ConversationOutcome, Entries, Examined, FileStatus, Interrupted, Outcome, Status,
    TargetOutcome, Totals,
};
use crate::text::{count, size, thousands};

/// A batch of up to this many inputs is shown in full.
const SHOWN_WHOLE: usize = 20;
/// For a longer batch, this many of the largest savings are shown.
const SAVINGS_SHOWN: usize = 10;
/// The number of failed inputs shown in addition: enough to see a pattern, and few enough for a comment on a pull request.
const TROUBLE_SHOWN: usize = 40;

/// The indices of the inputs to show, in ascending order.
pub(super) fn select(files: &dyn Entries) -> io::Result<Vec<usize>> {
    if files.len() <= SHOWN_WHOLE {
        return Ok((0..files.len()).collect());
    }
    let mut troubled: Vec<usize> = Vec::new();
    files.each_remarkable(&mut |at, outcome| {
        troubled.extend(trouble(outcome).is_some().then_some(at));
        Ok(())
    })?;
    // Among equals, the first ones stay first.
    let mut savers: Vec<(u64, usize)> = Vec::new();
    let mut next = troubled.iter().copied().peekable();
    for at in 0..files.len() {
        if next.next_if_eq(&at).is_some() {
            continue;
        }
        let saved = files.weight(at)?;
        let rank = savers.partition_point(|(other, _)| *other >= saved);
        if saved > 0 && rank < SAVINGS_SHOWN {
            savers.insert(rank, (saved, at));
            savers.truncate(SAVINGS_SHOWN);
        }
    }
    troubled.truncate(TROUBLE_SHOWN);
    let mut shown = troubled;
    shown.extend(savers.into_iter().map(|(_, at)| at));
    shown.sort_unstable();
    Ok(shown)
}

/// A note on how many files are not shown.
pub(super) fn hidden_note(hidden: usize) -> String {
    format!(
        "and {} (shown: up to {TROUBLE_SHOWN} that went wrong, the {SAVINGS_SHOWN} largest savings)",
        count(hidden as u64, "more file")
    )
}

/// Whether an input's sizes are meaningful, which requires that it was read and understood.
pub(super) fn has_sizes(status: Status) -> bool {
    match status {
        Status::Compacted | Status::Unchanged | Status::Rejected => true,
        Status::Failed | Status::Unsupported | Status::Skipped => false,
    }
}

/// What went wrong with an input, as a sentence that is not yet escaped for a terminal or a page.
pub(super) fn trouble(outcome: &Outcome) -> Option<String> {
    let troubles = troubles(outcome);
    (!troubles.is_empty()).then(|| troubles.join("; "))
}

/// The same, one sentence for each reason.
pub(super) fn troubles(outcome: &Outcome) -> Vec<String> {
    match &outcome.file.error {
        Some(error) => vec![match error.line {
            Some(line) => format!("line {line}: {}", error.message),
            None => error.message.clone(),
        }],
        None => missed_targets(outcome),
    }
}

/// A conversation, and the target that it misses.
type Missed<'o> = (&'o ConversationOutcome, TargetOutcome);

/// The targets that an input misses: one text for each reason, with the first conversation and the number of them.
fn missed_targets(outcome: &Outcome) -> Vec<String> {
    let mut groups: Vec<(Option<&str>, Vec<Missed<'_>>)> = Vec::new();
    for missed in outcome.missed_targets() {
        let why = missed.0.why_not_summarised();
        match groups.iter_mut().find(|(other, _)| *other == why) {
            Some((_, group)) => group.push(missed),
            None => groups.push((why, vec![missed])),
        }
    }
    let text = |(why, group): (Option<&str>, Vec<Missed<'_>>)| {
        let number = group.len() as u64;
        let (conversation, target) = *group.first()?;
        let several = match number {
            0 | 1 => String::new(),
            _ => format!("{}, the first ", count(number, "conversation")),
        };
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        Some(format!(
            "target not reached in {several}{}: {} left, {} asked for{why}",
            conversation.id,
            count(conversation.tokens_after, "token"),
            thousands(target.tokens)
        ))
    };
    groups.into_iter().filter_map(text).collect()
}

/// Why an input was not examined, by a command that only reads; empty if it was.
pub(super) fn not_examined<T>(file: &Examined<T>) -> String {
    match (&file.status, &file.file.error) {
        (FileStatus::Examined, _) => String::new(),
        (FileStatus::Unsupported(unread), _) => unread.why.clone(),
        (FileStatus::Failed, Some(error)) => format!("failed: {}", error.message),
        (FileStatus::Failed, None) => "failed".to_owned(),
    }
}

/// What went wrong with an input and what it lacks, in one line; `None` if all is well.
pub(super) fn problems(outcome: &Outcome) -> Option<String> {
    let lacks = outcome.degraded.iter().map(|d| d.message.clone());
    let all: Vec<String> = trouble(outcome).into_iter().chain(lacks).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `2 compacted, 1 failed; 1 degraded`: the statuses that occur, how many inputs lack something that was requested, and how many an
/// interrupted run did not reach.
pub(super) fn statuses(totals: &Totals) -> String {
    let mut text = [
        (totals.compacted, Status::Compacted),
        (totals.unchanged, Status::Unchanged),
        (totals.failed, Status::Failed),
        (totals.unsupported, Status::Unsupported),
        (totals.skipped, Status::Skipped),
        (totals.rejected, Status::Rejected),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, status)| format!("{} {status}", thousands(n)))
    .collect::<Vec<_>>()
    .join(", ");
    if totals.degraded > 0 {
        text.push_str(&format!("; {} degraded", thousands(totals.degraded)));
    }
    if let Some(Interrupted { left }) = totals.interrupted {
        let before = if text.is_empty() { "" } else { "; " };
        text.push_str(&format!("{before}interrupted"));
        // For a stream, the number is unknown.
        if left > 0 {
            text.push_str(&format!(", {} left", thousands(left)));
        }
    }
    text
}

/// `bytes are unpacked; on disk: 9.1 kB → 3.2 kB`, if anything is compressed.
pub(super) fn stored(totals: &Totals) -> Option<String> {
    (totals.compressed > 0).then(|| {
        format!(
            "bytes are those of the unpacked text; on disk {} → {}",
            size(totals.stored_before),
            size(totals.stored_after)
        )
    })
}

/// The share that was saved, as `79.7%`; negative if the amount grew.
pub(super) fn saved(before: u64, after: u64) -> String {
    if before == 0 {
        return "0.0%".into();
    }
    let sign = if after > before { "-" } else { "" };
    let before = u128::from(before);
    let permille = (before.abs_diff(u128::from(after)) * 2000 + before) / (before * 2);
    format!("{sign}{}.{}%", permille / 10, permille % 10)
}

/// A part of a whole, as `66.5%`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let permille = thousandths(part, whole);
    format!("{}.{}%", permille / 10, permille % 10)
}

/// A part of a whole in thousandths, rounded.
fn thousandths(part: u64, whole: u64) -> u128 {
    let whole = u128::from(whole.max(1));
    (u128::from(part) * 2000 + whole) / (whole * 2)
}

/// A part of a whole in thousandths, at most all of it.
pub(super) fn share(part: u64, whole: u64) -> u16 {
    thousandths(part, whole).min(1000) as u16
}

/// `text` in at most `max` characters, with `…` in place of its middle if necessary.
pub(super) fn elide(text: &str, max: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= max {
        return Cow::Borrowed(text);
    }
    // The end gets the odd character: a path's end says more than its start.
    let kept = max.saturating_sub(1);
    let head = kept / 2;
    let tail = kept - head;
    let mut out: String = text.chars().take(head).collect();
    out.push('…');
    out.extend(text.chars().skip(length - tail));
    Cow::Owned(out)
}
