//! Shell commands and service calls, and how they ended if the results say so.

use super::background::{ended, name};
use super::error_lines::{is_error_message, is_of_success, is_source};
use super::exchanges::{Ended, Exchange, FactLocation, TellingLocation};
use super::exit::CommandStatus;
use super::path::{Folders, below_folder};
use super::refused::says_it_was_refused;
use super::result_author::ResultText;
use super::service::said as called;
use super::stated_end::{StatedEnd, stated_end};
use super::status::{End, Names, ends, is_note_in_place, recorded};
use super::tools::steers;
use crate::policy::ToolKind;
use crate::scan::Value;
use crate::transcript::{Block, Outcome, Shape, Transcript};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The call.
    pub call: FactLocation,
    /// Its result; for a background command, the latest status update.
    pub result: Option<TellingLocation>,
    /// The command as passed to the shell, or the call in its own words.
    pub text: String,
    /// How it ended.
    pub exit: CommandStatus,
    /// The id for polling a command that was still running.
    pub name: Option<String>,
    /// The shell's working folder, normalised, if the call or the format states it; `None` if the command begins by changing to a
    /// folder that does not depend on it.
    pub folder: Option<String>,
}

/// The commands of a conversation, and its calls of services, in its order.
pub fn commands(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<Command> {
    let folders = Folders::new(transcript);
    let command = |exchange: &Exchange| {
        let input = exchange.input(transcript);
        let folder = || {
            let folder = below_folder(&input, ".");
            let folder = folders.in_one_spelling(exchange.call.line, &folder);
            (exchange.kind == ToolKind::Shell && folder != ".").then_some(folder)
        };
        let text = match exchange.kind {
            ToolKind::Shell => input.command()?,
            ToolKind::Other => {
                let tool = exchange.tool(transcript);
                called(&tool, &input).filter(|_| !steers(&tool))?
            }
            ToolKind::Read
            | ToolKind::Write
            | ToolKind::Edit
            | ToolKind::Search
            | ToolKind::Web => {
                return None;
            }
        };
        let folder = folder().filter(|_| !names_its_folder(&text));
        let exit = match &exchange.inner {
            Some(inner) if inner.ended == Ended::Running => {
                ended(exchange).unwrap_or(CommandStatus::Running)
            }
            Some(inner) => exit_of_inner(inner.ended),
            None if exchange.kind == ToolKind::Other => answered(transcript, exchange),
            None => exit(transcript, exchange),
        };
        let exit = match exit {
            CommandStatus::Code(0) | CommandStatus::Succeeded | CommandStatus::Unknown
                if exchange.kind == ToolKind::Shell && is_left_to_itself(&text) =>
            {
                CommandStatus::Begun
            }
            exit => exit,
        };
        let goes_on = matches!(exit, CommandStatus::Running | CommandStatus::WasRunning);
        // The first result names the command; the last look states its end.
        let last = exchange.looks.last().map(|look| look.at);
        Some(Command {
            call: exchange.call,
            result: last
                .filter(|_| !goes_on)
                .or(exchange.result.map(Into::into)),
            text,
            exit,
            name: goes_on.then(|| name(transcript, exchange)).flatten(),
            folder,
        })
    };
    let all = |exchange: &Exchange| {
        let Some(command) = command(exchange) else {
            return Vec::new();
        };
        let Some(several) = several(transcript, exchange) else {
            return vec![command];
        };
        let one = |(text, exit)| Command {
            text,
            exit,
            ..command.clone()
        };
        several.into_iter().map(one).collect()
    };
    exchanges.iter().flat_map(all).collect()
}

/// The commands of a call with several, each with its status, if the result states the status of each, as Cline's does.
fn several(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
) -> Option<Vec<(String, CommandStatus)>> {
    if exchange.kind != ToolKind::Shell || exchange.inner.is_some() {
        return None;
    }
    let texts = exchange.input(transcript).texts(&["commands"])?;
    let block = transcript.block(exchange.result?.block);
    if texts.len() < 2 || block.shape != Shape::List {
        return None;
    }
    let mut exits = Vec::new();
    Value::part(transcript.line(block.line), block.content).elements(|item| {
        let [success, error] = item.fields(["success", "error"]);
        let code = || {
            let error = error.text()?.into_owned();
            let code = error.strip_prefix("Command exited with code ")?;
            code.trim().parse().ok()
        };
        exits.push(match success.raw() {
            b"true" => CommandStatus::Succeeded,
            b"false" => code().map_or(CommandStatus::Failed, CommandStatus::Code),
            _ => CommandStatus::Unknown,
        });
    });
    (exits.len() == texts.len()).then(|| texts.into_iter().zip(exits).collect())
}

/// Whether the last command runs in the background (a trailing `echo started` does not count).
fn is_left_to_itself(text: &str) -> bool {
    let text = text.trim_end();
    let is_note = |line: &str| {
        let line = line.trim();
        line.starts_with("echo ") && !line.contains(['|', '&', ';', '>', '`', '('])
    };
    let last = text.rsplit(['\n', '&', ';']).next();
    let text = match last.filter(|last| is_note(last)) {
        Some(note) => text[..text.len() - note.len()].trim_end(),
        None => text,
    };
    text.ends_with('&') && !text.ends_with("&&")
}

/// Whether a command begins by changing to a folder that does not depend on where it is run.
pub fn names_its_folder(command: &str) -> bool {
    let to = command.trim_start().strip_prefix("cd ");
    to.is_some_and(|to| {
        to.trim_start_matches([' ', '"', '\''])
            .starts_with(['/', '~'])
    })
}

/// How a service call ended, which results word differently than for a command.
fn answered(transcript: &Transcript<'_>, exchange: &Exchange) -> CommandStatus {
    let Some(result) = exchange.result else {
        return CommandStatus::Unanswered;
    };
    let block = transcript.block(result.block);
    let said = ends(transcript, block);
    if says_it_was_refused(&said) {
        return CommandStatus::Refused;
    }
    let is_error = said.starts_with("Error: ") || said.starts_with("{\"error\":");
    match block.outcome {
        Outcome::Failed => CommandStatus::Failed,
        Outcome::Fine if is_error => CommandStatus::Failed,
        Outcome::Fine => CommandStatus::Unknown,
    }
}

fn exit_of_inner(ended: Ended) -> CommandStatus {
    match ended {
        Ended::Status(status) => CommandStatus::Code(status),
        Ended::Failed => CommandStatus::Failed,
        Ended::Interrupted => CommandStatus::Interrupted,
        Ended::Running => CommandStatus::Running,
        // A command that fails raises no error in the cell.
        Ended::Returned | Ended::Unknown => CommandStatus::Unknown,
    }
}

pub(super) fn exit(transcript: &Transcript<'_>, exchange: &Exchange) -> CommandStatus {
    let Some(result) = exchange.result else {
        return CommandStatus::Unanswered;
    };
    let text = ResultText::of(transcript, exchange, result);
    let code = match stated_end(transcript, exchange, result, &text) {
        StatedEnd::Refused => return CommandStatus::Refused,
        StatedEnd::Interrupted => return CommandStatus::Interrupted,
        StatedEnd::Later(exit) => return exit,
        StatedEnd::Running => return CommandStatus::Running,
        StatedEnd::Code(code) => Some(code),
        StatedEnd::Nothing => None,
    };
    let block = transcript.block(result.block);
    let recorded = recorded(transcript, result);
    let said = &*text.said;
    let is_silent = code.is_none() && is_silent(transcript, result, said);
    // If results name their tools, the session is from another agent, which flags failures in that way.
    let names_tools = !transcript.links().is_empty() && !block.tool.is_empty();
    let may_have_failed = || {
        let command = exchange.input(transcript).command();
        command.is_some_and(|command| hides_failures(&command)) && tells_of_a_failure(said)
    };
    match (block.outcome, code) {
        (Outcome::Fine, None | Some(0)) if may_have_failed() => CommandStatus::Unknown,
        (Outcome::Fine, None) if is_silent => CommandStatus::Unknown,
        (Outcome::Failed, Some(0)) => CommandStatus::Failed,
        (_, Some(code)) => CommandStatus::Code(code),
        (Outcome::Failed, None) => CommandStatus::Failed,
        // A record of this shape comes from an agent that flags every failed command.
        (Outcome::Fine, None) if recorded.is_some() || names_tools => CommandStatus::Succeeded,
        (Outcome::Fine, None) if End::of(said).names == Names::Failures => CommandStatus::Succeeded,
        (Outcome::Fine, None) => CommandStatus::Unknown,
    }
}

/// Whether a result that is not flagged no longer says how its command ended: of an output that was cleared, only what is recorded
/// outside of it is known. `said` is its text, or the beginning and end of that.
pub(super) fn is_silent(transcript: &Transcript<'_>, result: FactLocation, said: &str) -> bool {
    let block = transcript.block(result.block);
    block.outcome == Outcome::Fine
        && is_note_in_place(said)
        && recorded(transcript, result).is_none()
        && !flags_success(transcript, block)
}

/// Whether a flag of a result, or of the message that holds it, says that its call did not fail.
fn flags_success(transcript: &Transcript<'_>, result: &Block) -> bool {
    let line = Value::of(transcript.line(result.line));
    let own = Value::part(transcript.line(result.line), result.value);
    let mut places = [own, line, line.field("message")].into_iter();
    places.any(|place| place.field("isError").raw() == b"false")
}

/// Whether the status of a command covers only part of it, so that other parts may have failed.
pub(super) fn hides_failures(command: &str) -> bool {
    let command = command.trim();
    // Not the `&` of a URL, of `&&` or of `>&`.
    let runs_on = |at: usize| {
        let (before, after) = (&command[..at], &command[at + 1..]);
        !before.ends_with(['&', '>']) && !after.starts_with(|c: char| !c.is_whitespace())
    };
    command.contains(['|', ';', '\n']) || command.match_indices('&').any(|(at, _)| runs_on(at))
}

/// Whether an output has a line that reports a failure.
fn tells_of_a_failure(output: &str) -> bool {
    const WORDS: [&str; 6] = [
        "FAIL",
        " failed",
        "Failed ",
        "*** [",
        "exited with code ",
        "Traceback (most",
    ];
    // Qwen Code's heading for errors when there were none.
    const NONE: &str = "Error: (none)";
    let is_none =
        |line: &str| line.contains(" 0 failed") || line.contains("0 failures") || line == NONE;
    output.lines().any(|line| {
        !is_none(line)
            && (is_error_message(line, Outcome::Fine)
                || WORDS.iter().any(|word| line.contains(word))
                    && !is_of_success(line)
                    && !is_source(line))
    })
}

#[cfg(test)]
mod tests;
