//! What a run was given but did not read, for people: a list on pages, lines in Markdown.
//!
//! The JSON report has the same under `not_read`. File names are untrusted text, and are shown as such.

use std::io::{self, Write};

use super::page::List;
use super::quoted::quoted;
use crate::outcome::NotRead;
use crate::text::{shown_name, thousands};

/// The maximum number of reasons in Markdown, one per line.
const MAX_ROWS: usize = 20;
/// The maximum length of a name in Markdown, in characters: long enough for session names with their folders, because a reader has
/// nothing else to find the file by.
const NAME_MAX: usize = 160;

/// `other extension, .txt`, `unsupported, chat-export`
fn why(not_read: &NotRead) -> String {
    let kind = not_read.kind.replace('_', " ");
    match not_read.format.as_ref().or(not_read.extension.as_ref()) {
        Some(which) => format!("{kind}, {which}"),
        None => kind,
    }
}

/// An ellipsis if more files were left out than are named.
fn more(not_read: &NotRead) -> &'static str {
    match not_read.count > not_read.examples.len() as u64 {
        true => ", …",
        false => "",
    }
}

/// The list for a page; empty if everything was read.
pub(super) fn list(all: &[NotRead]) -> List {
    let item = |one: &NotRead| {
        let names: Vec<_> = one.examples.iter().map(|name| shown_name(name)).collect();
        let names = names.join(", ");
        let text = format!("{}: {names}{}", why(one), more(one));
        (one.count, text)
    };
    List {
        title: "Not read",
        items: all.iter().map(item).collect(),
    }
}

/// Writes one line per reason.
pub(super) fn write_markdown(all: &[NotRead], out: &mut dyn Write) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNot read:\n")?;
    for one in all.iter().take(MAX_ROWS) {
        let names = one.examples.iter();
        let names = names.map(|name| quoted(&shown_name(name), NAME_MAX));
        let names: Vec<String> = names.collect();
        writeln!(
            out,
            "- {} × {}: {}{}",
            thousands(one.count),
            quoted(&why(one), NAME_MAX),
            names.join(", "),
            more(one)
        )?;
    }
    if let Some(left @ 1..) = all.len().checked_sub(MAX_ROWS) {
        writeln!(out, "- and {} more kinds", thousands(left as u64))?;
    }
    Ok(())
}
