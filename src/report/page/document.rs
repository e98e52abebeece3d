//! The page as one HTML file, from its head with the content policy to the script at its end.
//!
//! Contains the style and the script with their hashes, which a test checks. Loads nothing and sends nothing.

use std::io::{self, Write};

use super::parts::picture;
use super::safe::{amount, escaped, figure, unbroken};
use super::{Cell, ColumnKind, Fact, List, Page, Table, charts, data};
use crate::report::PolicyRef;

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");
/// What the content security policy allows: the base64-encoded SHA-256 hashes of the two.
pub(super) const STYLE_HASH: &str = "99ZAOMcIPt4sHpHl6iKa8Y8JdDZB13fxttJ6Oohupg8=";
pub(super) const SCRIPT_HASH: &str = "wECrkUZaUz6R/IDY1T4fYdjJCW0Wjh733+EuTcdLhF0=";

/// Without a script, this many rows are shown.
const ROWS_WITHOUT_SCRIPT: usize = 50;
/// The maximum number of texts in a list.
const LIST_SHOWN: usize = 12;

/// Writes the page, row by row.
///
/// Errors are the writer's.
pub(in crate::report) fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    head(page, out)?;
    writeln!(
        out,
        "<header>\n<p class=\"brand\">ctxpack {}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>",
        escaped(page.command),
        escaped(&page.headline),
        escaped(&unbroken(&page.lead))
    )?;
    if let Some(parts) = &page.bar {
        let whole = parts.iter().map(|(_, size)| size).sum();
        write!(out, "<div class=\"whole\">")?;
        picture(parts, whole, &page.headline, out)?;
        writeln!(out, "</div>")?;
    }
    writeln!(out, "</header>\n<main>")?;
    facts(&page.facts, out)?;
    writeln!(out, "<div class=\"charts\">")?;
    for (number, chart) in page.charts.iter().enumerate() {
        charts::write(chart, number, out)?;
    }
    for one in page.lists.iter().filter(|list| !list.items.is_empty()) {
        list(one, out)?;
    }
    policies(page.policies, out)?;
    writeln!(out, "</div>")?;
    if page.table.rows.len() > 0 {
        table(&page.table, out)?;
    }
    writeln!(out, "</main>\n<script>{SCRIPT}</script>\n</html>")
}

fn head(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"ctxpack {}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} – ctxpack {}</title>\n<style>{STYLE}</style>",
        env!("CARGO_PKG_VERSION"),
        escaped(&page.headline),
        escaped(page.command)
    )
}

fn facts(facts: &[Fact], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<dl class=\"facts\">")?;
    for Fact { name, value, note } in facts {
        write!(
            out,
            "<div><dt>{}</dt><dd><b>{}</b>",
            escaped(name),
            escaped(value)
        )?;
        if !note.is_empty() {
            write!(out, "<small>{}</small>", escaped(&unbroken(note)))?;
        }
        writeln!(out, "</dd></div>")?;
    }
    writeln!(out, "</dl>")
}

fn list(list: &List, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<section class=\"list\">\n<h2>{}</h2>\n<ul>",
        escaped(list.title)
    )?;
    for (times, text) in list.items.iter().take(LIST_SHOWN) {
        writeln!(
            out,
            "<li><span class=\"n\">{}</span> {}</li>",
            figure(*times),
            escaped(&unbroken(text))
        )?;
    }
    if let Some(rest) = list.items.get(LIST_SHOWN..).filter(|rest| !rest.is_empty()) {
        let times = rest.iter().map(|(times, _)| times).sum();
        writeln!(
            out,
            "<li><span class=\"n\">{}</span> for other reasons: see the table</li>",
            figure(times)
        )?;
    }
    writeln!(out, "</ul>\n</section>")
}

fn policies(policies: &[PolicyRef], out: &mut dyn Write) -> io::Result<()> {
    let title = match policies.len() {
        1 => "Policy",
        _ => "Policies",
    };
    writeln!(out, "<section class=\"policies\">\n<h2>{title}</h2>\n<ul>")?;
    for policy in policies {
        write!(
            out,
            "<li>{} <small>{}</small>",
            escaped(&policy.name),
            escaped(&policy.hash)
        )?;
        for set in &policy.overrides {
            let value = escaped(&set.value.to_string());
            let (key, origin) = (escaped(&set.key), escaped(&set.origin));
            write!(
                out,
                "<br><code>{key} = {value}</code> <small>{origin}</small>"
            )?;
        }
        writeln!(out, "</li>")?;
    }
    writeln!(
        out,
        "</ul>\n<p><small>ctxpack {}</small></p>\n</section>",
        env!("CARGO_PKG_VERSION")
    )
}

fn table(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    let what = escaped(table.what);
    writeln!(
        out,
        "<section id=\"table\" aria-labelledby=\"table-title\">\n<h2 id=\"table-title\">Every {what}</h2>"
    )?;
    data::write(table, out)?;
    writeln!(out, "<noscript>\n<table>\n<tr>")?;
    for column in &table.columns {
        writeln!(out, "<th>{}</th>", escaped(&column.heading))?;
    }
    let rows = table.rows.len();
    table.rows.first_rows(ROWS_WITHOUT_SCRIPT, &mut |row| {
        write!(out, "<tr>")?;
        for (cell, column) in row.iter().zip(&table.columns) {
            write!(
                out,
                "<td class=\"{}\">{}</td>",
                column.kind.name(),
                escaped(&plain(cell, column.kind))
            )?;
        }
        writeln!(out, "</tr>")
    })?;
    writeln!(out, "</table>")?;
    if rows > ROWS_WITHOUT_SCRIPT {
        writeln!(
            out,
            "<p>{} more: they are shown where scripts may run.</p>",
            figure((rows - ROWS_WITHOUT_SCRIPT) as u64)
        )?;
    }
    writeln!(out, "</noscript>\n</section>")
}

/// A cell as the script shows it.
fn plain(cell: &Cell<'_>, kind: ColumnKind) -> String {
    match (cell, kind) {
        (Cell::Text(text), _) => text.clone().into_owned(),
        (Cell::Number(bytes), ColumnKind::Bytes) => amount(*bytes),
        (Cell::Number(n), _) => figure(*n),
        (Cell::Share(share), _) => format!("{:.1}%", share * 100.0),
        (Cell::Fall(before, after), _) => {
            let sign = if after > before { "\u{2212}" } else { "" };
            format!("{sign}{}", figure(before.abs_diff(*after)))
        }
        (Cell::Nothing, _) => String::new(),
    }
}
