//! `--stat`: a line for each fate of messages, with a bar.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::compared::outside;
use super::paint::Meaning;
use super::{ComparisonReport, DiffReport, change, share};
use crate::diff::Fate;
use crate::report::Ink;
use crate::text::{count, printable, thousands};

/// The maximum length of a bar, in characters.
const BAR: u64 = 30;

/// Writes a line for each fate, and one for all: messages, tokens before and after, and a bar of what is left and what is gone.
///
/// # Errors
/// The writer's.
pub fn write_diff_stat(report: &DiffReport, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let stats = &report.stat;
    let most = stats
        .iter()
        .map(|s| s.tokens_before.max(s.tokens_after))
        .max()
        .unwrap_or(0);
    let messages: Vec<String> = stats.iter().map(|s| count(s.messages, "message")).collect();
    let tokens: Vec<String> = stats
        .iter()
        .map(|s| change(s.tokens_before, s.tokens_after))
        .collect();
    let widest = |cells: &[String]| {
        cells
            .iter()
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let (of_messages, of_tokens) = (widest(&messages), widest(&tokens));
    for ((stat, messages), tokens) in stats.iter().zip(&messages).zip(&tokens) {
        let stays = length(stat.tokens_before.min(stat.tokens_after), most);
        let gone = length(stat.tokens_before.saturating_sub(stat.tokens_after), most);
        let new = length(stat.tokens_after.saturating_sub(stat.tokens_before), most);
        writeln!(
            out,
            " {:<15} {messages:>of_messages$}  {tokens:>of_tokens$}  {}{}{}",
            stat.fate.name(),
            "=".repeat(stays),
            painted(ink, Meaning::Gone, "-", gone),
            painted(ink, Meaning::New, "+", new),
        )?;
    }
    let outside = &report.diff.outside;
    if !outside.dropped.is_empty() {
        writeln!(
            out,
            " {:<15} {} that no model sees, {} among them",
            "dropped",
            count(outside.lines_dropped(), "line"),
            count(outside.messages_dropped(), "message")
        )?;
    }
    writeln!(
        out,
        " {} messages, {} tokens ({})",
        change(report.diff.messages_before, report.diff.messages_after),
        change(report.diff.tokens_before, report.diff.tokens_after),
        share(report.diff.tokens_before, report.diff.tokens_after)
    )
}

/// Writes a line for each pair of different fates, and one for all.
///
/// # Errors
/// The writer's.
pub fn write_comparison_stat(report: &ComparisonReport, out: &mut dyn Write) -> io::Result<()> {
    let mut pairs: BTreeMap<[Fate; 2], (u64, [u64; 2])> = BTreeMap::new();
    let rows = report.comparison.conversations.iter().flat_map(|c| &c.rows);
    for row in rows {
        let (messages, tokens) = pairs.entry(row.fates).or_default();
        *messages += 1;
        tokens
            .iter_mut()
            .zip(row.tokens_after)
            .for_each(|(sum, tokens)| *sum += tokens);
    }
    let [first, second] = report.names().map(printable);
    for ([one, other], (messages, [left, right])) in pairs {
        writeln!(
            out,
            " {} by {first}, {} by {second}: {}, {} tokens against {}",
            one.name(),
            other.name(),
            count(messages, "message"),
            thousands(left),
            thousands(right)
        )?;
    }
    if let Some(text) = outside(&report.comparison) {
        writeln!(out, " {text}")?;
    }
    let before = report.comparison.tokens_before;
    for (name, after) in [first, second].iter().zip(report.comparison.tokens_after) {
        writeln!(
            out,
            " {name}: {} tokens ({})",
            change(before, after),
            share(before, after)
        )?;
    }
    Ok(())
}

/// A length in characters, at least 1 for a nonzero amount.
fn length(tokens: u64, most: u64) -> usize {
    match tokens {
        0 => 0,
        tokens => (tokens * BAR).div_ceil(most.max(1)) as usize,
    }
}

fn painted(ink: Ink, meaning: Meaning, mark: &str, length: usize) -> String {
    ink.line(meaning, &mark.repeat(length)).into_owned()
}
