//! A diff for people: each changed message, in order, with the full text of new ones.

use std::io::{self, Write};

use super::paint::Meaning;
use super::{DiffReport, change, share, sign};
use crate::diff::{Change, ConversationDiff, Fate, LineCounts, Row};
use crate::report::Ink;
use crate::text::{count, printable, thousands};
use crate::transcript::BlockKind;

/// The minimum number of characters to show of a message's words.
const LEAST_WORDS: usize = 20;
/// The maximum number of lines to show of the text that replaced a part.
const REPLACEMENT_LINES: usize = 6;
/// The kind of part that most changes are about.
const RESULT: &str = BlockKind::Result.name();

/// Writes the listing with rows of at most `width` characters; texts of new messages are not truncated.
///
/// # Errors
/// The writer's.
pub fn write(report: &DiffReport, width: usize, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let diff = &report.diff;
    let line =
        |meaning, text: &str, out: &mut dyn Write| writeln!(out, "{}", ink.line(meaning, text));
    line(
        Meaning::Gone,
        &format!("--- {}", printable(&report.old.path)),
        out,
    )?;
    line(
        Meaning::New,
        &format!("+++ {}", printable(&report.new.path)),
        out,
    )?;
    if diff.is_same() {
        return writeln!(
            out,
            "no message has changed: {}",
            count(diff.messages_before, "message")
        );
    }
    for conversation in &diff.conversations {
        if conversation.rows.iter().all(|row| row.fate == Fate::Kept) {
            let head = format!(
                "@@ {}: the same {}, {}",
                printable(&conversation.id),
                count(conversation.messages_after, "message"),
                count(conversation.tokens_after, "token")
            );
            line(Meaning::Faint, &head, out)?;
            continue;
        }
        let head = format!(
            "@@ {}: {} tokens ({}), {} messages",
            printable(&conversation.id),
            change(conversation.tokens_before, conversation.tokens_after),
            share(conversation.tokens_before, conversation.tokens_after),
            change(conversation.messages_before, conversation.messages_after),
        );
        line(Meaning::Place, &head, out)?;
        rows(conversation, width, ink, out)?;
    }
    outside(&diff.outside, out)?;
    writeln!(
        out,
        "{} tokens ({}), {} messages; {}, tokens by {}",
        change(diff.tokens_before, diff.tokens_after),
        share(diff.tokens_before, diff.tokens_after),
        change(diff.messages_before, diff.messages_after),
        report.format,
        report.estimator
    )
}

fn rows(
    conversation: &ConversationDiff,
    width: usize,
    ink: Ink,
    out: &mut dyn Write,
) -> io::Result<()> {
    let widest = |of: fn(&Row) -> String| {
        let rows = conversation
            .rows
            .iter()
            .filter(|row| row.fate != Fate::Kept);
        rows.map(|row| of(row).chars().count()).max().unwrap_or(0)
    };
    let (of_tools, of_tokens) = (widest(tools), widest(tokens));
    let mut reason: Option<&str> = None;
    for run in conversation
        .rows
        .chunk_by(|a, b| a.fate == Fate::Kept && b.fate == Fate::Kept)
    {
        if run[0].fate == Fate::Kept {
            let kept: u64 = run.iter().map(|row| row.tokens_after).sum();
            let text = format!(
                "  … {}, {} tokens",
                count(run.len() as u64, "kept message"),
                thousands(kept)
            );
            writeln!(out, "{}", ink.line(Meaning::Faint, &text))?;
            continue;
        }
        for row in run {
            // A reason shared by consecutive messages is given once.
            let why = row.reason.as_deref().filter(|why| reason != Some(why));
            if row.old.is_some() {
                reason = row.reason.as_deref();
            }
            if let Some(why) = why.filter(|_| is_gone(row.fate)) {
                writeln!(
                    out,
                    "{}",
                    ink.line(
                        Meaning::Faint,
                        &format!("  {}: {}", row.fate.name(), printable(why))
                    )
                )?;
            }
            let head = format!(
                "{} {:<10} line {:<6} {:<9} {:<of_tools$} {:>of_tokens$}  ",
                sign(row.fate),
                row.fate.name(),
                row.old.or(row.new).map_or(0, |at| at.line),
                row.role.name(),
                tools(row),
                tokens(row),
            );
            let room = width.saturating_sub(head.chars().count()).max(LEAST_WORDS);
            let words = match row.fate {
                // Its text follows.
                Fate::Summary | Fate::Acknowledgement | Fate::Inserted => String::new(),
                Fate::Kept | Fate::Cleared | Fate::Offloaded | Fate::Demoted => {
                    cut(&row.words, room)
                }
                Fate::Edited | Fate::Summarised | Fate::Dropped => cut(&row.words, room),
            };
            let text = format!("{head}{words}");
            writeln!(out, "{}", ink.line(Meaning::of(row.fate), text.trim_end()))?;
            changes(&row.changes, width, ink, out)?;
            new_text(row, ink, out)?;
        }
    }
    Ok(())
}

/// Whether the whole message is gone.
fn is_gone(fate: Fate) -> bool {
    match fate {
        Fate::Summarised | Fate::Dropped => true,
        Fate::Kept | Fate::Cleared | Fate::Offloaded | Fate::Demoted | Fate::Edited => false,
        Fate::Summary | Fate::Acknowledgement | Fate::Inserted => false,
    }
}

/// The fate of each part, with its current text.
fn changes(changes: &[Change], width: usize, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    for change in changes {
        let why = change.reason.as_deref().map(printable);
        let tool = change
            .tool
            .as_deref()
            .map(|tool| format!(" of {}", printable(tool)));
        let part = format!(
            "{}{}, {} tokens, {}",
            printable(&change.part),
            tool.unwrap_or_default(),
            super::change(change.tokens_before, change.tokens_after),
            change.fate.name()
        );
        // For a single result, the message's line already says the rest.
        let head = match (changes.len(), &*change.part, why) {
            (1, RESULT, why) => why.map(|why| format!("      {why}")),
            (_, _, Some(why)) => Some(format!("      {part}: {why}")),
            (_, _, None) => Some(format!("      {part}")),
        };
        if let Some(head) = head {
            writeln!(out, "{}", ink.line(Meaning::Faint, &head))?;
        }
        let text = change.text.as_deref().unwrap_or_default();
        for line in text.lines().take(REPLACEMENT_LINES) {
            let line = format!(
                "    + {}",
                cut(line, width.saturating_sub(6).max(LEAST_WORDS))
            );
            writeln!(out, "{}", ink.line(Meaning::New, &line))?;
        }
        let more = text.lines().count().saturating_sub(REPLACEMENT_LINES);
        if more > 0 {
            writeln!(out, "    … {}", count(more as u64, "more line"))?;
        }
    }
    Ok(())
}

/// The full text of a new message, and what was restored in it.
fn new_text(row: &Row, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let Some(text) = &row.text else { return Ok(()) };
    for line in text.lines() {
        writeln!(
            out,
            "{}",
            ink.line(Meaning::New, &format!("    + {}", printable(line)))
        )?;
    }
    for restored in &row.restored {
        let line = format!("  restored: {}", printable(restored));
        writeln!(out, "{}", ink.line(Meaning::New, &line))?;
    }
    Ok(())
}

/// The fate of the lines that no model sees.
fn outside(counts: &LineCounts, out: &mut dyn Write) -> io::Result<()> {
    let dropped = counts.lines_dropped();
    let mut parts = Vec::new();
    if dropped > 0 {
        let messages = count(counts.messages_dropped(), "dead message");
        parts.push(format!("{} dropped ({messages})", thousands(dropped)));
    }
    for (number, what) in [(counts.edited, "edited"), (counts.inserted, "inserted")] {
        if number > 0 {
            parts.push(format!("{} {what}", thousands(number)));
        }
    }
    if !parts.is_empty() {
        writeln!(out, "lines that no model sees: {}", parts.join(", "))?;
    }
    match counts.mended {
        0 => Ok(()),
        mended => writeln!(out, "links and figures mended in {}", count(mended, "line")),
    }
}

fn tools(row: &Row) -> String {
    let tools: Vec<_> = row.tools.iter().map(|tool| printable(tool)).collect();
    cut(&tools.join(" "), 24)
}

fn tokens(row: &Row) -> String {
    match (row.old, row.new) {
        (Some(_), Some(_)) => change(row.tokens_before, row.tokens_after),
        (Some(_), None) => format!("−{}", thousands(row.tokens_before)),
        (None, _) => format!("+{}", thousands(row.tokens_after)),
    }
}

/// The beginning of a text on one line, in at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    let shown = printable(text);
    if shown.chars().count() <= most {
        return shown.into_owned();
    }
    let mut start: String = shown.chars().take(most.saturating_sub(1)).collect();
    start.push('…');
    start
}
