//! The results of two policies on the same messages, for people: where they differ, and what each keeps.

use std::io::{self, Write};

use super::listing::cut;
use super::paint::Meaning;
use super::{ComparisonReport, change, share};
use crate::diff::LineDifference;
use crate::diff::compare::{AddedComparison, Comparison, ConversationComparison, RowComparison};
use crate::report::{Ink, Screen};
use crate::text::{count, printable, thousands};

/// The minimum number of characters to show of a message's words.
const LEAST_WORDS: usize = 20;

/// Writes the listing with rows of at most `width` characters; texts are not truncated.
///
/// # Errors
/// The writer's.
pub fn write(
    report: &ComparisonReport,
    width: usize,
    ink: Ink,
    out: &mut dyn Write,
) -> io::Result<()> {
    let compared = &report.comparison;
    let before = compared.tokens_before;
    let [first, second] = report.names().map(printable);
    let heads = [("---", Meaning::Gone), ("+++", Meaning::New)];
    for (((mark, meaning), name), after) in heads
        .iter()
        .zip([&first, &second])
        .zip(compared.tokens_after)
    {
        let head = format!(
            "{mark} {name}: {}, {} tokens ({})",
            printable(&report.input.path),
            change(before, after),
            share(before, after)
        );
        writeln!(out, "{}", ink.line(*meaning, &head))?;
    }
    if compared.conversations.is_empty() {
        writeln!(out, "both policies make the same of every message")?;
    }
    for conversation in &compared.conversations {
        one(conversation, [&first, &second], width, ink, out)?;
    }
    match outside(compared) {
        Some(text) => writeln!(out, "{}", ink.line(Meaning::Place, &text)),
        None => Ok(()),
    }
}

/// A note on how many lines that no model reads differ.
pub(super) fn outside(compared: &Comparison) -> Option<String> {
    let lines = compared.lines.len() as u64;
    let lines = (lines > 0).then(|| count(lines, "line"))?;
    Some(format!(
        "different, too, though no model reads it: {lines} (--json lists what)"
    ))
}

/// Writes the differences between two outputs of one input, which are called `names`; writes nothing if only ids, times and links
/// that follow from the content differ.
///
/// # Errors
/// The writer's.
pub fn write_differences(
    compared: &Comparison,
    names: [&str; 2],
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    for conversation in &compared.conversations {
        one(conversation, names, screen.width, screen.ink, out)?;
    }
    for LineDifference { lines, what } in &compared.lines {
        let number = lines.iter().flatten().next().copied().unwrap_or_default();
        let head = match lines {
            [Some(_), Some(_)] => format!("line {number}"),
            [Some(_), None] => format!("line {number}: only {}", names[0]),
            [None, _] => format!("line {number}: only {}", names[1]),
        };
        writeln!(out, "{}", screen.ink.line(Meaning::Place, &head))?;
        for value in what {
            writeln!(out, "    {}", printable(value))?;
        }
    }
    Ok(())
}

fn one(
    conversation: &ConversationComparison,
    names: [&str; 2],
    width: usize,
    ink: Ink,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [left, right] = conversation.tokens_after;
    let head = format!(
        "@@ {}: {} tokens, {} by {}, {} by {}",
        printable(&conversation.id),
        thousands(conversation.tokens_before),
        thousands(left),
        names[0],
        thousands(right),
        names[1]
    );
    writeln!(out, "{}", ink.line(Meaning::Place, &head))?;
    for row in &conversation.rows {
        message(row, width, ink, out)?;
    }
    for added in &conversation.added {
        new(added, names, ink, out)?;
    }
    Ok(())
}

fn message(row: &RowComparison, width: usize, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let [left, right] = row.fates.map(|fate| fate.name());
    let tools: Vec<_> = row.tools.iter().map(|tool| printable(tool)).collect();
    let [fewer, more] = row.tokens_after;
    let head = format!(
        "~ line {:<6} {:<9} {} {left} | {right}, {} | {} of {} tokens  ",
        row.old.line,
        row.role.name(),
        cut(&tools.join(" "), 24),
        thousands(fewer),
        thousands(more),
        thousands(row.tokens_before),
    );
    let room = width.saturating_sub(head.chars().count()).max(LEAST_WORDS);
    let meaning = match fewer.cmp(&more) {
        std::cmp::Ordering::Less => Meaning::New,
        std::cmp::Ordering::Equal => Meaning::Changed,
        std::cmp::Ordering::Greater => Meaning::Gone,
    };
    let text = format!("{head}{}", cut(&row.words, room));
    writeln!(out, "{}", ink.line(meaning, text.trim_end()))?;
    lines(&row.texts, ink, out)
}

/// A message that the input does not have.
fn new(added: &AddedComparison, names: [&str; 2], ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let has = added.new.map(|at| at.is_some());
    let [left, right] = added.tokens_after.map(|tokens| count(tokens, "token"));
    let what = added.fate.name();
    let head = match has {
        [true, true] => format!("  {what}: {left} by {}, {right} by {}", names[0], names[1]),
        [true, false] => format!("  {what}: only by {}, {left}", names[0]),
        [false, _] => format!("  {what}: only by {}, {right}", names[1]),
    };
    writeln!(out, "{}", ink.line(Meaning::Place, &head))?;
    for (name, restored) in names.iter().zip(&added.restored) {
        for header in restored {
            writeln!(out, "  restored by {name}: {}", printable(header))?;
        }
    }
    lines(&added.text, ink, out)
}

/// The lines of a unified diff.
fn lines(lines: &[String], ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        let shown = format!("    {}", printable(line));
        writeln!(out, "{}", ink.line(Meaning::of_line(line), &shown))?;
    }
    Ok(())
}
