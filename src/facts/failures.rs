//! Failures: results that report one, and outputs of commands with error messages.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::background;
use super::commands::{exit, hides_failures};
use super::error_lines::{ALWAYS, Strength, strength};
use super::exchanges::{Ended, Exchange, FactLocation, text_of};
use super::exit::CommandStatus;
use super::result_author::{ResultAuthor, status, whose};
use super::shell::{only_shows, output};
use crate::policy::ToolKind;
use crate::transcript::{Block, Outcome, Transcript};

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub call: FactLocation,
    /// Its result.
    pub result: FactLocation,
    /// Whether the result itself reports that the call failed.
    pub outcome: Outcome,
    /// The error messages, at most [`Failure::LINES`] lines, trimmed.
    pub lines: Vec<String>,
}

impl Failure {
    /// Enough lines to identify an error, warnings around it included.
    pub const LINES: usize = 5;
}

/// The maximum number of error messages among these lines; the others are warnings.
const ERRORS: usize = 3;

/// The failures of a conversation, in its order.
pub fn failures(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<Failure> {
    let failure = |exchange: &Exchange| {
        let result = exchange.result?;
        let block = transcript.block(result.block);
        let outcome = outcome(transcript, exchange, result);
        // Other tools show files and pages, which may contain any error message.
        let is_of_command =
            exchange.kind == ToolKind::Shell || background::reads(transcript, exchange);
        if outcome == Outcome::Fine && !is_of_command {
            return None;
        }
        // Most commands succeed, and most outputs do not mention errors at all.
        if outcome == Outcome::Fine
            && (!may_contain_error(transcript, block)
                || shows_files(transcript, exchange)
                || went_well(transcript, exchange))
        {
            return None;
        }
        let said = output(text_of(transcript, result, exchange.inner.as_deref()));
        // A tool for files says in the first line what is wrong, and quotes below what it was given. A cell has a heading there.
        let most = match (exchange.kind, &exchange.inner) {
            (ToolKind::Read | ToolKind::Write | ToolKind::Edit, None) => 1,
            (ToolKind::Read | ToolKind::Write | ToolKind::Edit, Some(_))
            | (ToolKind::Shell | ToolKind::Search | ToolKind::Web | ToolKind::Other, _) => {
                usize::MAX
            }
        };
        let lines = || {
            let lines = said.lines().map(untagged);
            lines.filter(|line| !line.is_empty()).take(most)
        };
        // Gemini CLI and Qwen Code write "Error: (none)" behind what a command printed.
        let is_status = |line: &&str| {
            line.starts_with("Exit code ")
                || line.starts_with("<status>")
                || line.ends_with("(none)")
        };
        let said_why = lines().filter(|line| !is_status(line));
        let is_of_files = outcome == Outcome::Failed && shows_files(transcript, exchange);
        let least = match (outcome, is_of_files) {
            (Outcome::Failed, false) => Strength::Weak,
            (Outcome::Failed, true) => Strength::Complains,
            (Outcome::Fine, _) => Strength::Reports,
        };
        let mut errors = messages(said_why.clone(), least);
        let is_sure = |line: &String| strength(line).is_some_and(|s| s < Strength::Weak);
        if outcome == Outcome::Failed && !errors.iter().any(is_sure) {
            // If warnings are treated as errors, there may be no other message.
            let warnings = lines().filter(|_| !is_of_files);
            let warnings = warnings.filter(|line| line.to_ascii_lowercase().contains("warning"));
            let warnings = warnings.filter(|line| !errors.iter().any(|error| error == line));
            let warnings: Vec<&str> = warnings.take(Failure::LINES - errors.len()).collect();
            errors.extend(warnings.into_iter().map(str::to_owned));
        }
        // When files are shown, it is unknown which lines do not belong to them.
        if errors.is_empty()
            && outcome == Outcome::Failed
            && !(is_of_files && said_why.clone().count() > ERRORS)
        {
            let is_text = |line: &&str| line.contains(char::is_alphanumeric);
            let said = said_why.filter(is_text).take(ERRORS);
            errors = said.map(str::to_owned).collect();
        } else if errors.is_empty() && is_of_files {
            let is_message =
                |line: &&str| line.starts_with("error: ") || line.starts_with("fatal: ");
            let said = said_why.filter(is_message).take(ERRORS);
            errors = said.map(str::to_owned).collect();
        }
        let is_one = outcome == Outcome::Failed || !errors.is_empty();
        is_one.then_some(Failure {
            call: exchange.call,
            result,
            outcome,
            lines: errors,
        })
    };
    exchanges.iter().filter_map(failure).collect()
}

/// The error messages among lines, in their order: the surest of them, each once whatever its numbers, none less sure than `least`.
/// What only resembles one counts where nothing else is there, and what is weak where not even that is.
fn messages<'l>(lines: impl Iterator<Item = &'l str>, least: Strength) -> Vec<String> {
    let mut above = "";
    let weighed = lines.enumerate().filter_map(|(at, line)| {
        let above = std::mem::replace(&mut above, line);
        // Rust writes below the place what it panics with.
        let is_of_panic = above.contains(" panicked at ") && above.ends_with(':');
        let strength = match is_of_panic {
            true => Strength::Says,
            false => strength(line)?,
        };
        Some((strength, at, line))
    });
    let mut found: Vec<_> = weighed
        .filter(|(strength, ..)| *strength <= least)
        .collect();
    found.sort();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    found.retain(|(.., line)| {
        let kind = line.chars().filter(|c| !c.is_ascii_digit());
        seen.len() < ERRORS && seen.insert(kind.collect())
    });
    if let Some(first) = found.first().map(|(first, ..)| *first) {
        let last = first.max(Strength::Reports);
        found.retain(|(strength, ..)| *strength <= last);
    }
    // A report that no other line confirms is ordinary text.
    if least == Strength::Reports {
        let is_said = found.iter().any(|(strength, ..)| *strength < least);
        found.retain(|_| is_said);
    }
    found.sort_by_key(|(_, at, _)| *at);
    found.iter().map(|(.., line)| (*line).to_owned()).collect()
}

/// The blocks of the results that report a failure of `calls`. A cell's result does if one of the calls in it failed.
pub fn failed_results(transcript: &Transcript<'_>, calls: &[Exchange]) -> BTreeSet<u32> {
    let failed = calls.iter().filter_map(|exchange| {
        let result = exchange.result?;
        // How a command in a session ended is stated by the result of the call that read its last output.
        let inner = exchange.inner.as_ref();
        let is_said_later = inner.is_some_and(|inner| inner.session.is_some());
        let has_failed = || outcome(transcript, exchange, result) == Outcome::Failed;
        (!is_said_later && has_failed()).then_some(result.block)
    });
    failed.collect()
}

/// Whether a call failed: its result is flagged or, in formats without a flag, its text states it.
fn outcome(transcript: &Transcript<'_>, exchange: &Exchange, at: FactLocation) -> Outcome {
    if let Some(inner) = &exchange.inner {
        return match inner.ended {
            Ended::Status(0) | Ended::Returned => Outcome::Fine,
            Ended::Status(_) | Ended::Failed => Outcome::Failed,
            Ended::Interrupted | Ended::Running | Ended::Unknown => Outcome::Fine,
        };
    }
    let result = transcript.block(at.block);
    let is_status = || {
        if exchange.kind == ToolKind::Shell {
            return status(transcript, exchange, at).is_some_and(|status| status != 0);
        }
        if !background::reads(transcript, exchange) {
            return false;
        }
        match background::end(transcript, result) {
            Some(CommandStatus::Code(code)) => code != 0,
            Some(CommandStatus::Failed) => true,
            Some(
                CommandStatus::Succeeded
                | CommandStatus::Interrupted
                | CommandStatus::Begun
                | CommandStatus::Running
                | CommandStatus::WasRunning
                | CommandStatus::Refused
                | CommandStatus::Unanswered
                | CommandStatus::Unknown,
            )
            | None => false,
        }
    };
    // A command may also print such a tag.
    let may_be_tagged = || {
        exchange.kind != ToolKind::Shell || whose(transcript, exchange, at) == ResultAuthor::Agents
    };
    let is_tagged = || {
        let text = transcript.texts(result).first();
        text.is_some_and(|text| {
            transcript
                .bytes(result.line, text.span)
                .starts_with(TAG.as_bytes())
        })
    };
    let is_marked = || is_status() || is_tagged() && may_be_tagged();
    match result.outcome {
        Outcome::Fine if !is_marked() => Outcome::Fine,
        Outcome::Fine | Outcome::Failed => Outcome::Failed,
    }
}

/// Whether it is known that no part of a command failed, whatever it printed.
fn went_well(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    let has_ended_well = || match &exchange.inner {
        Some(inner) => inner.ended == Ended::Status(0),
        None => matches!(
            exit(transcript, exchange),
            CommandStatus::Code(0) | CommandStatus::Succeeded
        ),
    };
    if exchange.kind != ToolKind::Shell {
        return false;
    }
    let command = exchange.input(transcript).command();
    command.is_some_and(|command| !hides_failures(&command)) && has_ended_well()
}

/// Whether a command only shows contents of files.
fn shows_files(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    let input = exchange.input(transcript);
    input.command().is_some_and(|command| only_shows(&command))
}

/// Whether a result's raw text may contain an error line that counts in the output of a successful command.
fn may_contain_error(transcript: &Transcript<'_>, result: &Block) -> bool {
    /// An escape may encode any letter.
    const ESCAPE: &str = "\\u";
    static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let mut builder = AhoCorasick::builder();
        // With this order, several bytes are looked at in one step.
        builder.match_kind(MatchKind::LeftmostFirst);
        builder.build(ALWAYS.iter().chain([&ESCAPE])).ok()
    });
    transcript.texts(result).iter().any(|text| {
        let raw = transcript.bytes(result.line, text.span);
        MARKS.as_ref().is_none_or(|marks| marks.is_match(raw))
    })
}

/// Precedes an agent's message about a failed call.
const TAG: &str = "<tool_use_error>";

/// A trimmed line without the tags that an agent puts around an error.
fn untagged(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix(TAG).unwrap_or(line);
    line.strip_suffix("</tool_use_error>")
        .unwrap_or(line)
        .trim()
}

#[cfg(test)]
mod tests;
