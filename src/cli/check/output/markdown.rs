//! The result of a check in Markdown: cases that are not as expected, and the messages whose outcome changed, with tokens.
//!
//! Fits a comment on a pull request (65 536 characters), however many cases differ.

use std::io::{self, Write};

use super::report::row;
use crate::cli::check::changed::{ChangedMessage, Tokens};
use crate::cli::check::verdict::{Checked, Verdict};
use crate::diff::Fate;
use crate::outcome::path_text;
use crate::report::quoted;
use crate::text::{count, thousands};

/// The most cases that are listed.
const CASES: usize = 60;
/// The most messages that are listed.
const MESSAGES: usize = 100;
/// The maximum number of characters of a name shown in a table.
const NAME_MAX: usize = 200;
/// The maximum number of characters of a name shown in the table of messages.
const SHORT: usize = 80;

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "**ctxpack check**: {}", self.counted())?;
        self.cases_in_markdown(out)?;
        self.messages_in_markdown(out)?;
        let policy = self.under(quoted(&self.policy.name, NAME_MAX));
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "\nctxpack {version}, policy: {policy}")
    }

    fn cases_in_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_listed = |verdict: &Verdict| !matches!(verdict, Verdict::Same);
        let listed: Vec<_> = self
            .cases
            .iter()
            .filter(|(_, verdict)| is_listed(verdict))
            .collect();
        if listed.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n| case | check | tokens before | expected | got | what |\n\
             | --- | --- | ---: | ---: | ---: | --- |"
        )?;
        for (case, verdict) in listed.iter().take(CASES) {
            let (status, message) = row(verdict);
            let (figures, what) = match verdict {
                Verdict::Differs(difference) => match &difference.changed {
                    Some(changed) if !changed.messages.is_empty() => (
                        figures(changed.tokens),
                        count(changed.messages.len() as u64, "message"),
                    ),
                    Some(changed) => (figures(changed.tokens), quoted(&message, NAME_MAX)),
                    None => (Default::default(), quoted(&message, NAME_MAX)),
                },
                Verdict::Same | Verdict::Updated => Default::default(),
                Verdict::Failed(_) => (Default::default(), quoted(&message, NAME_MAX)),
            };
            let case = quoted(&path_text(case.path()), NAME_MAX);
            let [before, expected, got] = figures;
            writeln!(
                out,
                "| {case} | {status} | {before} | {expected} | {got} | {what} |"
            )?;
        }
        more(listed.len(), CASES, "more case", out)
    }

    fn messages_in_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let changed = || {
            self.cases.iter().flat_map(|(case, verdict)| {
                let messages = match verdict {
                    Verdict::Differs(difference) => difference.changed.as_ref(),
                    Verdict::Same | Verdict::Updated | Verdict::Failed(_) => None,
                };
                let messages = messages.into_iter().flat_map(|changed| &changed.messages);
                messages.map(move |message| (case, message))
            })
        };
        if changed().next().is_none() {
            return Ok(());
        }
        writeln!(
            out,
            "\n| case | message | tool | expected | got | tokens before | expected | got |\n\
             | --- | --- | --- | --- | --- | ---: | ---: | ---: |"
        )?;
        for (case, message) in changed().take(MESSAGES) {
            let [case, tool] =
                [path_text(case.path()), message.name()].map(|text| quoted(&text, SHORT));
            let [expected, got] = [message.expected, message.got].map(|fate| became(fate.as_ref()));
            let [before, as_expected, now] = figures(message.tokens);
            writeln!(
                out,
                "| {case} | {} | {tool} | {expected} | {got} | {before} | {as_expected} | {now} |",
                place(message, |id| quoted(id, SHORT))
            )?;
        }
        more(changed().count(), MESSAGES, "more message", out)
    }
}

fn figures(tokens: Tokens) -> [String; 3] {
    [tokens.before, tokens.expected, tokens.got].map(thousands)
}

pub(super) fn became(fate: Option<&Fate>) -> &'static str {
    fate.map_or("not there", |fate| fate.name())
}

/// `11 (line 12)`, with the conversation as `written` if it is not the main one.
pub(super) fn place(message: &ChangedMessage, written: impl Fn(&str) -> String) -> String {
    let conversation = match &message.conversation[..] {
        "main" => String::new(),
        id => format!(" of {}", written(id)),
    };
    match (message.message, message.line) {
        (Some(number), Some(line)) => format!("{number} (line {line}){conversation}"),
        _ => format!("new{conversation}"),
    }
}

fn more(all: usize, most: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(most) {
        0 => Ok(()),
        hidden => writeln!(out, "\nand {}", count(hidden as u64, what)),
    }
}
