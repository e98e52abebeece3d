//! Background commands and their later status updates.
//!
//! PURE. Agents name such a command by a session, a task or a shell. Calls that read from it and notices of the agent state how it
//! ended. Never guesses an end: without such a statement, the command is still running.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::events::Events;
use super::exchanges::{Exchange, FactLocation, Look, TellingLocation};
use super::exit::CommandStatus;
use super::notices::{Notice, notices, tag};
use super::result_author::{ResultAuthor, ResultText};
use super::status::{Forms, ends, recorded, status_in, unwrapped};
use super::{block_text, notices};
use crate::ids::IdMap;
use crate::policy::ToolKind;
use crate::scan::decoded;
use crate::transcript::{Block, Conversation, Transcript};

/// The tools that read from a command or stop it, and the keys of their inputs that name it: Codex's, Claude Code's and Copilot
/// CLI's.
const TOOLS: [&str; 9] = [
    "write_stdin",
    "BashOutput",
    "TaskOutput",
    "read_bash",
    "read_powershell",
    "write_bash",
    "KillBash",
    "KillShell",
    "TaskStop",
];
const KEYS: [&str; 5] = ["session_id", "bash_id", "shell_id", "task_id", "shellId"];

/// How Claude Code says that it has stopped a command.
const STOPPED: [&str; 4] = [
    "{\"message\":\"Successfully killed ",
    "{\"message\":\"Successfully stopped ",
    "Successfully killed shell: ",
    "Successfully stopped task: ",
];

/// What a result or a notice says about the command with this name.
enum Said {
    /// The call with this index started it.
    First(String, usize),
    /// Its status later on.
    Later(String, CommandStatus),
}

/// The end of a background command, as stated by a later result or a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Where the end is stated.
    pub at: TellingLocation,
    /// The name of the command while it was running.
    pub name: String,
    /// The command itself or a description of it, if also stated.
    pub text: Option<String>,
    /// How it ended.
    pub exit: CommandStatus,
}

/// The ends of background commands that none of `calls` started; `calls` holds all calls that are still there.
pub fn endings(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    calls: &[Exchange],
) -> Vec<Ending> {
    let read = calls.iter().filter_map(|call| {
        let (at, name, exit) = read(transcript, call)?;
        (exit != CommandStatus::Running).then_some(Ending {
            at,
            name,
            text: None,
            exit,
        })
    });
    let notices = notices(transcript, conversation).into_iter();
    let told = notices.map(|notice| Ending {
        at: notice.at,
        name: notice.task,
        text: notice.text,
        exit: notice.exit,
    });
    let mut endings: Vec<Ending> = read.chain(told).collect();
    // If a name was reused, it is unknown which command ended.
    let looks = calls.iter().flat_map(|call| &call.looks);
    let known: BTreeSet<TellingLocation> = looks.map(|look| look.at).collect();
    let own = endings.iter().filter(|ending| known.contains(&ending.at));
    let own: BTreeSet<String> = own.map(|ending| ending.name.clone()).collect();
    endings.retain(|ending| !own.contains(&ending.name));
    endings.sort_by_key(|ending| ending.at);
    endings
}

/// Finds the later status updates of the background commands among `calls`.
pub(super) fn settle(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    calls: &mut [Exchange],
) {
    let notices = notices(transcript, conversation);
    let mut is_told = !notices.is_empty();
    let mut said: Vec<(TellingLocation, Said)> = Vec::new();
    for call in calls.iter() {
        if let Some((place, name, exit)) = read(transcript, call) {
            said.push((place, Said::Later(name, exit)));
            is_told = true;
        }
    }
    for (number, call) in calls.iter().enumerate() {
        if call.kind == ToolKind::Shell
            && let Some(result) = call.result
            && (is_told || must_be_polled(transcript, call))
            && !reads(transcript, call)
            && let Some(name) = name(transcript, call)
        {
            said.push((result.into(), Said::First(name, number)));
        }
    }
    let later = notices.into_iter();
    said.extend(later.map(|Notice { at, task, exit, .. }| (at, Said::Later(task, exit))));
    // If a cell reads from one command and starts another, the read comes first.
    said.sort_by_key(|(place, _)| *place);
    // Names may be reused.
    let mut open: IdMap<String, usize> = IdMap::default();
    for (at, said) in said {
        match said {
            Said::First(name, call) => drop(open.insert(name, call)),
            Said::Later(name, exit) => {
                if let Some(call) = open.get(&name) {
                    calls[*call].looks.push(Look { at, exit });
                }
                if exit != CommandStatus::Running {
                    open.remove(&name);
                }
            }
        }
    }
    status_updates_from_events(transcript, &open, calls);
}

/// Applies Codex's viewer events to commands without a later result. Without such an event, the agent would not have been told of
/// the end either.
fn status_updates_from_events(
    transcript: &Transcript<'_>,
    open: &IdMap<String, usize>,
    calls: &mut [Exchange],
) {
    let names = open.iter().map(|(name, number)| (*number, Some(&name[..])));
    let mut unsaid: Vec<(usize, Option<&str>)> = names.collect();
    let calls_and_numbers = calls.iter().enumerate();
    let silent = calls_and_numbers.filter(|(_, call)| says_nothing(transcript, call));
    unsaid.extend(silent.map(|(number, _)| (number, None)));
    if unsaid.is_empty() {
        return;
    }
    let events = Events::of(transcript);
    let last = calls.last().map(|call| call.call.into());
    for (number, name) in unsaid {
        let call = &mut calls[number];
        // The calls in a cell have ids of their own.
        let block = transcript.block(call.call.block);
        let id = call.inner.is_none().then_some(block.call_id);
        let id = id.map(|id| transcript.bytes(block.line, id));
        let seen = call
            .looks
            .last()
            .map(|look| look.at)
            .or(call.result.map(Into::into));
        if let Some(look) = events.end(id, name, call.call) {
            call.looks.push(look);
        } else if let Some(at) = seen.filter(|seen| last > Some(*seen))
            && name.is_some()
            && must_be_polled(transcript, call)
        {
            call.looks.push(Look {
                at,
                exit: CommandStatus::WasRunning,
            });
        }
    }
}

/// Whether the agent of a call has to poll a command for its status: Codex, which gives the command a session.
fn must_be_polled(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    match &call.inner {
        Some(inner) => inner.session.is_some(),
        None => call
            .result
            .is_some_and(|result| transcript.block(result.block).header > 0),
    }
}

/// Whether the header that Codex writes before an output states neither how the command ended nor that it is still running.
fn says_nothing(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    let Some(result) = call.result.filter(|_| call.inner.is_none()) else {
        return false;
    };
    let block = transcript.block(result.block);
    call.kind == ToolKind::Shell
        && block.header > 0
        && !reads(transcript, call)
        && status_in(transcript, block, "", Forms::All).is_none()
        && name(transcript, call).is_none()
}

/// The status update in a call that reads from a command: its location, the command's name, and its status.
fn read(
    transcript: &Transcript<'_>,
    call: &Exchange,
) -> Option<(TellingLocation, String, CommandStatus)> {
    let result = call.result.filter(|_| reads(transcript, call))?;
    let exit = match &call.inner {
        Some(inner) => inner.ended.of_look()?,
        None => {
            let block = transcript.block(result.block);
            match end(transcript, block) {
                Some(exit) => exit,
                None => goes_on(transcript, block).then_some(CommandStatus::Running)?,
            }
        }
    };
    let input = call.input(transcript);
    let text = input.text(&KEYS).map(Cow::into_owned);
    let name = text.or_else(|| Some(input.integer(&KEYS)?.to_string()))?;
    Some((result.into(), name, exit))
}

/// Whether the result of a call that reads from a command says that the command is still running.
fn goes_on(transcript: &Transcript<'_>, look: &Block) -> bool {
    let said = ends(transcript, look);
    name_in(transcript, look, &said, ResultAuthor::Agents).is_some()
        || tag(&said, "status") == Some("running")
}

/// The name of a command that is still running, from its result.
pub(super) fn name(transcript: &Transcript<'_>, call: &Exchange) -> Option<String> {
    let result = call.result?;
    match &call.inner {
        Some(inner) => inner.session.map(|session| session.to_string()),
        None => {
            let text = ResultText::of(transcript, call, result);
            name_told(transcript, call, result, &text)
        }
    }
}

/// The same for a call that is in no cell, given its result.
pub(super) fn name_told(
    transcript: &Transcript<'_>,
    call: &Exchange,
    result: FactLocation,
    text: &ResultText<'_>,
) -> Option<String> {
    if let Some(record) = recorded(transcript, result)
        && let Some(task) = record.text(&["backgroundTaskId"])
    {
        return Some(task.into_owned());
    }
    let block = transcript.block(result.block);
    let whose = match text.whose {
        // The call asked for a background run.
        ResultAuthor::Either
            if call
                .input(transcript)
                .is_true(&["run_in_background", "is_background"]) =>
        {
            ResultAuthor::Agents
        }
        whose => whose,
    };
    name_in(transcript, block, &text.said, whose)
}

/// The name that a result gives to a running command. `said` is the text of the result, or its beginning and end; `whose` states
/// who wrote it.
fn name_in(
    transcript: &Transcript<'_>,
    result: &Block,
    said: &str,
    whose: ResultAuthor,
) -> Option<String> {
    const SESSION: &str = "Process running with session ID ";
    const BEGINNINGS: [&str; 4] = [
        "Command running in background with ID: ",
        "Command is running in background. PID: ",
        // Gemini CLI
        "Command moved to background (PID: ",
        // Qwen Code
        "Background shell started.\nid: ",
    ];
    let header = decoded(transcript.header(result));
    let said = unwrapped(said);
    let name = if header.is_empty() {
        let beginnings = match whose {
            ResultAuthor::Agents => &BEGINNINGS[..],
            ResultAuthor::Either => &[],
            ResultAuthor::Shown => return None,
        };
        let after = |begins: &&str| said.strip_prefix(*begins);
        let of_kimi = || {
            said.strip_prefix("task_id: ")
                .filter(|_| is_running_task(said))
        };
        let begun = beginnings.iter().find_map(after);
        begun
            .or_else(|| of_kimi().filter(|_| whose == ResultAuthor::Agents))
            .or_else(|| {
                // Copilot CLI
                let last = said.lines().next_back()?.strip_prefix("<command ")?;
                last.split_once("with shellId: ").map(|(_, name)| name)
            })?
    } else {
        header.lines().find_map(|line| line.strip_prefix(SESSION))?
    };
    let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | ',' | ')'));
    let name = name[..end.unwrap_or(name.len())].trim_end_matches('.');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether a result is Kimi Code's message about a command that it started in the background.
fn is_running_task(said: &str) -> bool {
    said.lines().take(6).any(|line| line == "status: running")
}

/// How a background command ended, by its latest status update.
pub(super) fn ended(exchange: &Exchange) -> Option<CommandStatus> {
    exchange.looks.last().map(|look| look.exit)
}

/// Whether a call reads from or stops a running command.
pub(super) fn reads(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    TOOLS.contains(&&*call.tool(transcript))
}

/// How a command ended, by the result of a call that reads from it; `None` if it is still running, or the result does not say.
pub(super) fn end(transcript: &Transcript<'_>, look: &Block) -> Option<CommandStatus> {
    let said = ends(transcript, look);
    if name_in(transcript, look, &said, ResultAuthor::Agents).is_some() {
        return None;
    }
    if STOPPED.iter().any(|stopped| said.starts_with(stopped)) {
        return Some(CommandStatus::Interrupted);
    }
    // Claude Code writes tags before the output, on more lines than a header spans.
    let whole = said.starts_with('<').then(|| block_text(transcript, look));
    let whole = whole
        .as_deref()
        .filter(|said| tag(said, "status").is_some());
    match whole {
        Some(said) => notices::end(said),
        None => status_in(transcript, look, &said, Forms::All).map(CommandStatus::Code),
    }
}

#[cfg(test)]
mod tests;
