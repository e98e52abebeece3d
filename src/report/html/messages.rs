//! The messages of one compacted file on its page: each with its fate, in the order of the conversation.
//!
//! Shows first words only; the whole texts of what changed are on the page of `diff`.

use crate::diff::{ConversationDiff, Diff, Row};
use crate::report::page::{Align, DetailTable, amount_of, figure, unbroken};

/// The maximum number of messages of a conversation.
const MAX_MESSAGES: usize = 2_000;

/// A table for each conversation.
pub(super) fn tables(diff: &Diff) -> impl Iterator<Item = DetailTable> {
    let shown = diff.conversations.iter().filter(|c| !c.rows.is_empty());
    shown.map(table)
}

fn table(conversation: &ConversationDiff) -> DetailTable {
    let rows = conversation.rows.iter().take(MAX_MESSAGES).map(cells);
    let left = conversation.rows.len().saturating_sub(MAX_MESSAGES) as u64;
    DetailTable {
        title: unbroken(&format!(
            "{}, message by message: {} → {}",
            conversation.id,
            figure(conversation.messages_before),
            figure(conversation.messages_after)
        )),
        headings: &[
            ("line", Align::Right),
            ("new line", Align::Right),
            ("became", Align::Left),
            ("role", Align::Left),
            ("tool", Align::Left),
            ("what it says", Align::Left),
            ("before", Align::Right),
            ("after", Align::Right),
        ],
        rows: rows.collect(),
        note: match left {
            0 => String::new(),
            _ => format!(
                "and {}, which `ctxpack diff` lists",
                amount_of(left, "more message")
            ),
        },
    }
}

fn cells(row: &Row) -> Vec<String> {
    let line = |at: Option<crate::diff::At>| at.map(|at| at.line.to_string()).unwrap_or_default();
    let mut words = row.words.clone();
    if !row.restored.is_empty() {
        let restored = format!("restored: {}", row.restored.join("; "));
        words = match words.is_empty() {
            true => restored,
            false => format!("{words} ({restored})"),
        };
    }
    vec![
        line(row.old),
        line(row.new),
        row.fate.name().to_owned(),
        row.role.name().to_owned(),
        row.tools.join(" "),
        words,
        figure(row.tokens_before),
        figure(row.tokens_after),
    ]
}
