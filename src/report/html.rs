//! The report as a page that stands alone: totals, a row an input, and behind each row what was done and why.
//!
//! Loads nothing: no script, no font, no picture, and a content policy that forbids them all. Text from a transcript is always
//! escaped.

use std::io::{self, Write};

use super::Report;
use super::cells::{has_sizes, saved, statuses, told};
use super::columns;
use crate::outcome::{ConversationOutcome, Outcome};
use crate::text::{count, printable, size, thousands};

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>ctxpack</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .3em .6em; text-align: left; vertical-align: top }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td, summary { overflow-wrap: anywhere }
details table { font-size: 90% }
</style>
"#;

/// Writes the page.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let totals = report.head().totals();
    let (before, after) = (totals.tokens_before, totals.tokens_after);
    out.write_all(HEAD.as_bytes())?;
    writeln!(
        out,
        "<h1>{} → {} tokens, {} saved</h1>",
        thousands(before),
        thousands(after),
        saved(before, after)
    )?;
    write!(
        out,
        "<p>{}, {} → {}",
        count(totals.files, "file"),
        size(totals.bytes_before),
        size(totals.bytes_after)
    )?;
    if totals.files > 0 {
        write!(out, ": {}", statuses(totals))?;
    }
    let headings = columns::shown().into_iter();
    let headings = headings.map(|column| format!("<th class=n>{}", column.heading()));
    let headings: Vec<String> = headings.collect();
    writeln!(
        out,
        ".</p>\n<table>\n<tr><th>file<th>status{}",
        headings.concat()
    )?;
    for outcome in report.files() {
        write_file(outcome, out)?;
    }
    let policy = report.head().policy();
    writeln!(
        out,
        "</table>\n<p>ctxpack {}, policy {} <small>{}</small></p>",
        report.head().version,
        escaped(&policy.name),
        escaped(&policy.hash)
    )?;
    if policy.overrides.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ul>")?;
    for set in &policy.overrides {
        let value = escaped(&set.value.to_string());
        let (key, origin) = (escaped(&set.key), escaped(&set.origin));
        writeln!(out, "<li>{key} = {value} ({origin})")?;
    }
    writeln!(out, "</ul>")
}

fn write_file(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let name = escaped(&outcome.input);
    let acted = |c: &&ConversationOutcome| !c.actions.is_empty();
    write!(out, "<tr><td>")?;
    if outcome.conversations.iter().any(|c| acted(&c)) {
        writeln!(out, "<details><summary>{name}</summary>")?;
        for conversation in outcome.conversations.iter().filter(acted) {
            write_actions(conversation, out)?;
        }
        write!(out, "</details>")?;
    } else {
        write!(out, "{name}")?;
    }
    write!(out, "<td>{}", outcome.status)?;
    if let Some(why) = told(outcome) {
        write!(out, ": {}", escaped(&why))?;
    }
    for column in columns::shown() {
        match has_sizes(outcome.status) {
            true => write!(
                out,
                "<td class=n>{}",
                column.figures(&[outcome]).join(" → ")
            )?,
            false => write!(out, "<td>")?,
        }
    }
    writeln!(out)
}

fn write_actions(conversation: &ConversationOutcome, out: &mut dyn Write) -> io::Result<()> {
    let (id, reason) = (escaped(&conversation.id), escaped(&conversation.reason));
    writeln!(
        out,
        "<p>{id}: {reason}</p>\n<table>\n<tr><th class=n>line<th>what<th>tool<th>why<th class=n>tokens"
    )?;
    for action in &conversation.actions {
        writeln!(
            out,
            "<tr><td class=n>{}<td>{}<td>{}<td>{}<td class=n>{} → {}",
            thousands(action.line),
            action.kind,
            escaped(action.tool.as_deref().unwrap_or_default()),
            escaped(&action.reason),
            thousands(action.tokens_before),
            thousands(action.tokens_after)
        )?;
    }
    writeln!(out, "</table>")
}

/// Untrusted text, escaped for an element or quotes.
fn escaped(text: &str) -> String {
    let shown = printable(text);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
