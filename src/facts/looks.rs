//! Commands that went on when their result was written, and what is said of them later.
//!
//! PURE. Agents give such a command a name: of a session, a task or a shell. Calls that read from it, and notices of the agent,
//! tell how it ended. Never guesses an end: where nothing says it, the command still runs.

use std::borrow::Cow;

use super::exchanges::{Exchange, FactLocation};
use super::status::{Exit, ends, recorded, status_in};
use super::{block_text, lossy};
use crate::ids::IdMap;
use crate::policy::ToolKind;
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, Conversation, Role, Transcript};

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
const STOPPED: [&str; 2] = [
    "{\"message\":\"Successfully killed ",
    "{\"message\":\"Successfully stopped ",
];

/// How Claude Code tells that a task has ended.
const NOTICE: &str = "<task-notification>";

/// Finds what is said later of the commands among `calls` that went on.
pub(super) fn settle(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    calls: &mut [Exchange],
) {
    let mut said: Vec<(FactLocation, Said)> = Vec::new();
    let own = |call: &Exchange| call.result.filter(|_| call.inner.is_none());
    for call in calls.iter() {
        if let Some(result) = own(call)
            && reads(transcript, call)
            && let input = call.input(transcript)
            && let text = input.text(&KEYS).map(Cow::into_owned)
            && let Some(name) = text.or_else(|| Some(input.integer(&KEYS)?.to_string()))
        {
            said.push((result, Said::Later(name)));
        }
    }
    said.extend(notices(transcript, conversation));
    if said.is_empty() {
        return;
    }
    for (number, call) in calls.iter().enumerate() {
        if call.kind == ToolKind::Shell
            && let Some(result) = own(call)
            && !reads(transcript, call)
            && let Some(name) = name(transcript, result)
        {
            said.push((result, Said::First(name, number)));
        }
    }
    said.sort_by_key(|(place, _)| *place);
    // A name may be given again.
    let mut open: IdMap<String, usize> = IdMap::default();
    for (place, said) in said {
        match said {
            Said::First(name, call) => drop(open.insert(name, call)),
            Said::Later(name) => {
                if let Some(call) = open.get(&name) {
                    calls[*call].looks.push(place);
                }
                if end(transcript, transcript.block(place.block)).is_some() {
                    open.remove(&name);
                }
            }
        }
    }
}

/// What a result says of a command that has this name.
enum Said {
    /// The call of this number has begun it.
    First(String, usize),
    /// How it goes on.
    Later(String),
}

/// The agent's notices of tasks.
fn notices<'t>(
    transcript: &'t Transcript<'_>,
    conversation: &'t Conversation,
) -> impl Iterator<Item = (FactLocation, Said)> + 't {
    conversation.all_blocks().filter_map(|(message, number)| {
        let block = transcript.block(number);
        if block.kind != BlockKind::Text || conversation.messages[message].role != Role::User {
            return None;
        }
        let first = transcript.texts(block).first()?;
        if !transcript
            .bytes(block.line, first.span)
            .starts_with(NOTICE.as_bytes())
        {
            return None;
        }
        let place = FactLocation {
            message: message as u32,
            line: block.line,
            block: number,
        };
        let name = tag(&block_text(transcript, block), "task-id")?.to_owned();
        Some((place, Said::Later(name)))
    })
}

/// The name of a command that goes on, by its result.
fn name(transcript: &Transcript<'_>, result: FactLocation) -> Option<String> {
    if let Some(record) = recorded(transcript, result)
        && let Some(task) = record.text(&["backgroundTaskId"])
    {
        return Some(task.into_owned());
    }
    let block = transcript.block(result.block);
    name_in(transcript, block, &ends(transcript, block))
}

/// The name that a result gives to a command that goes on. `said` is its text, or the ends of it.
pub(super) fn name_in(transcript: &Transcript<'_>, result: &Block, said: &str) -> Option<String> {
    const SESSION: &str = "Process running with session ID ";
    const BEGINNINGS: [&str; 2] = [
        "Command running in background with ID: ",
        // Gemini CLI
        "Command moved to background (PID: ",
    ];
    let header = lossy(unescape(transcript.header(result)));
    let name = if header.is_empty() {
        let after = |begins: &&str| said.strip_prefix(*begins);
        BEGINNINGS.iter().find_map(after).or_else(|| {
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

/// How a command that went on has ended, by what was said of it later.
pub(super) fn ended(transcript: &Transcript<'_>, exchange: &Exchange) -> Option<Exit> {
    let mut looks = exchange.looks.iter().rev();
    looks.find_map(|look| end(transcript, transcript.block(look.block)))
}

/// Whether a call reads from a command that goes on, or stops it.
pub(super) fn reads(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    TOOLS.contains(&&*call.tool(transcript))
}

/// How a command has ended, by the result of a call that reads from it or by a notice; `None` if it goes on.
pub(super) fn end(transcript: &Transcript<'_>, look: &Block) -> Option<Exit> {
    let said = ends(transcript, look);
    if name_in(transcript, look, &said).is_some() {
        return None;
    }
    if STOPPED.iter().any(|stopped| said.starts_with(stopped)) {
        return Some(Exit::Interrupted);
    }
    // Claude Code writes tags before the output, on more lines than a header has.
    let whole = said.starts_with('<').then(|| block_text(transcript, look));
    let tagged = whole
        .as_deref()
        .and_then(|said| Some((said, tag(said, "status")?)));
    match tagged {
        Some((said, status)) => {
            let code = tag(said, "exit_code").or_else(|| {
                let (_, code) = tag(said, "summary")?.rsplit_once("exit code ")?;
                Some(code.trim_end_matches(')'))
            });
            match (code.and_then(|code| code.trim().parse().ok()), status) {
                (Some(code), _) => Some(Exit::Code(code)),
                (None, "completed") => Some(Exit::Unknown),
                (None, "failed") => Some(Exit::Badly),
                (None, "killed" | "stopped") => Some(Exit::Interrupted),
                (None, _) => None,
            }
        }
        None => status_in(transcript, look, &said).map(Exit::Code),
    }
}

/// What is within a tag before any output.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let head = ["<output>", "<stdout>", "<event>"];
    let end = head.iter().filter_map(|begins| text.find(begins)).min();
    let head = &text[..end.unwrap_or(text.len())];
    let (_, rest) = head.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>"))
        .map(|(value, _)| value)
}

#[cfg(test)]
mod tests;
