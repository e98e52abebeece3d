//! Recognises results that are a refusal or placeholder instead of content, by the tools' wording.
//!
//! A file may begin with any text, including error messages, so a text counts only if all of it is such a message, and a refusal
//! only if the agent wrote it. Other results with a flag need no test of their text.

use super::exchanges::Exchange;
use super::result_author::{ResultAuthor, whose};
use super::status::unwrapped;
use super::{beginning, block_text};
use crate::policy::ToolKind;
use crate::transcript::{Block, Outcome, Transcript};

/// Whether a result without line numbers only states why it does not show a file: because the file is empty, by an error message,
/// or by a hint to where the content is.
pub(super) fn is_refusal(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || is_hint(text) || is_message(text)
}

/// Whether a result that only its agent writes is an error message: in formats without a flag, nothing else tells a failure.
pub(super) fn says_it_failed(transcript: &Transcript<'_>, result: &Block) -> bool {
    let said = block_text(transcript, result);
    let said = said.trim();
    // Claude Code's, of input that it does not accept, and of a hook.
    said.starts_with("<tool_use_error>")
        || said.starts_with("Hook PreToolUse:") && said.contains(" denied this tool")
        || is_message(said)
}

/// Whether a call had no effect at all: it was refused or could not be started.
pub(super) fn never_ran(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    was_refused(transcript, call) || was_not_started(transcript, call)
}

/// Whether the user, or a reviewer in the user's place, refused a call, so that nothing happened.
pub(super) fn was_refused(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    let Some(result) = call.result.filter(|_| call.inner.is_none()) else {
        return false;
    };
    let block = transcript.block(result.block);
    // The text after a header is a command's output.
    if block.header > 0 {
        return false;
    }
    let all = beginning(transcript, block, LONGEST_REFUSAL + 1);
    let said = unwrapped(&all);
    if NOT_RUN.iter().any(|begin| said.starts_with(begin)) {
        let said = after_command(transcript, block);
        return said.is_some_and(|said| said.contains("Rejected("));
    }
    // The reader of Codex flags them, and nothing else flags such a text.
    if block.outcome == Outcome::Failed && STOPPED.iter().any(|begin| said.starts_with(begin)) {
        return true;
    }
    // Without a flag, or from a command, such a line may be about anything that a user refused.
    let about = match block.outcome == Outcome::Failed && call.kind != ToolKind::Shell {
        true => About::Anything,
        false => About::ACall,
    };
    let is_by_whom = || all.chars().nth(LONGEST_REFUSAL).is_none() && says_by_whom(&all, about);
    (says_it_was_refused(said) || is_by_whom())
        && match whose(transcript, call, result) {
            ResultAuthor::Agents => true,
            // In the log of an agent: Claude Code and Gemini CLI flag it, these do not.
            ResultAuthor::Either => !transcript.links().is_empty() && is_never_flagged(said),
            ResultAuthor::Shown => false,
        }
}

/// How Codex begins to say that it has not run a command, which it may then quote.
const NOT_RUN: [&str; 2] = [
    "exec_command failed for `",
    "exec_command failed: CreateProcess {",
];

/// How it begins to say that a hook or its guardian has stopped a call, in a result without a header.
const STOPPED: [&str; 2] = [
    "Command blocked by PreToolUse hook: ",
    "This action was rejected due to unacceptable risk.",
];

/// Codex's reason for not running a command, which follows the quoted command.
fn after_command(transcript: &Transcript<'_>, result: &Block) -> Option<String> {
    const AFTER: &str = "`: CreateProcess { message: ";
    const BARE: &str = "exec_command failed: CreateProcess { message: ";
    if result.outcome == Outcome::Fine {
        return None;
    }
    let said = block_text(transcript, result);
    let after = said
        .strip_prefix(BARE)
        .or_else(|| Some(said.rsplit_once(AFTER)?.1));
    after.map(str::to_owned)
}

/// Whether the agent says that it could not start a command or does not know the tool.
fn was_not_started(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    /// Codex's.
    const BEGINNINGS: [&str; 2] = ["unsupported call: ", "unsupported custom tool call: "];
    let Some(result) = call.result.filter(|_| call.inner.is_none()) else {
        return false;
    };
    let block = transcript.block(result.block);
    if block.outcome == Outcome::Fine || block.header > 0 {
        return false;
    }
    let said = beginning(transcript, block, LONGEST_REFUSAL);
    BEGINNINGS.iter().any(|begin| said.starts_with(begin))
        || NOT_RUN.iter().any(|begin| said.starts_with(begin))
            && after_command(transcript, block).is_some()
}

/// Whether a sentence is one with which Codex, Cline or Gemini CLI says in a result without a flag that a call was refused.
fn is_never_flagged(said: &str) -> bool {
    NEVER_FLAGGED
        .iter()
        .any(|sentence| said.starts_with(sentence))
}

/// Those sentences.
const NEVER_FLAGGED: [&str; 5] = [
    "Command injection detected: command substitution syntax ($(), backticks, <() or >()) found in command arguments.",
    "patch rejected by user",
    "exec command rejected by user",
    "Command was cancelled by user before it could start",
    "The user denied this operation.",
];

/// Whether a result begins with an agent's complete sentence for a call that the user refused.
pub(super) fn says_it_was_refused(said: &str) -> bool {
    /// Claude Code's and those that imitate it, Gemini CLI's, Cline's, Copilot CLI's, Kimi's, pi's.
    const SENTENCES: [&str; 8] = [
        "The user doesn't want to proceed with this tool use.",
        "The user doesn't want to take this action right now.",
        "[Request interrupted by user for tool use]",
        "[Operation Cancelled] Reason: User denied execution",
        "The user denied this operation",
        "The user rejected this tool call.",
        "The tool call is rejected by the user",
        "Skipped due to queued user message.",
    ];
    let is_denied = said.starts_with("Permission to ") && said.contains(" denied");
    let begins = |sentence: &&str| said.starts_with(*sentence);
    is_denied
        || is_never_flagged(said)
        || SENTENCES.iter().any(begins)
        || names_what_was_not_run(said)
}

/// Whether a result begins with the sentence of Kimi or Cline that names the tool which was not run.
fn names_what_was_not_run(said: &str) -> bool {
    const KIMIS: [&str; 4] = [
        "was not run because the user rejected the approval request.",
        "was not run because the approval request was cancelled.",
        "was denied by permission policy.",
        "was denied by permission rule.",
    ];
    const CLINES: &str = "was not approved";
    if let Some(named) = said.strip_prefix("{\"error\":\"Tool \\\"") {
        let after = named.split_once("\\\" ");
        let rest = after.and_then(|(_, rest)| rest.strip_prefix(CLINES));
        return rest.is_some_and(|rest| rest.starts_with('"'));
    }
    let named = said.strip_prefix("Tool \"");
    let after = named.and_then(|named| named.split_once("\" "));
    after.is_some_and(|(_, rest)| {
        rest.trim_end() == CLINES || KIMIS.iter().any(|kimis| rest.starts_with(kimis))
    })
}

/// What a line must be about to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Anything,
    /// By its words, an action for which an agent asks its user's permission.
    ACall,
}

/// Whether a result is one line that says, in the words of any agent, that the user refused a call.
fn says_by_whom(said: &str, about: About) -> bool {
    const NOUNS: [&str; 4] = ["command", "tool", "permission", "operation"];
    const BEGINNINGS: [&str; 6] = [
        "The user rejected this ",
        "The user denied this ",
        "The user declined this ",
        "User rejected this ",
        "User denied this ",
        "User declined this ",
    ];
    const VERBS: [&str; 3] = ["rejected by ", "denied by ", "declined by "];
    let is_by_user = |verb: &&str| {
        let by = said.split_once(verb).map(|(_, by)| by);
        let who = by.map(|by| by.strip_prefix("the ").unwrap_or(by));
        who.is_some_and(|who| who.trim_end_matches(['.', '!']) == "user")
    };
    let said = said.trim_end();
    let is_about = || {
        let lower = said.to_ascii_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        about == About::Anything || words.any(|word| NOUNS.contains(&word))
    };
    !said.contains('\n')
        && is_about()
        && (BEGINNINGS.iter().any(|begin| said.starts_with(begin))
            || VERBS.iter().any(is_by_user)
            || is_of_the_call(said))
}

/// Whether a line is no more than `User rejected the command.`, in words that programs do not use of what they ask for.
fn is_of_the_call(said: &str) -> bool {
    const SUBJECTS: [&str; 2] = ["The user ", "User "];
    const VERBS: [&str; 3] = ["rejected the ", "denied the ", "declined the "];
    const CALLS: [&str; 5] = [
        "command",
        "command execution",
        "tool call",
        "tool execution",
        "tool use",
    ];
    let after = |said, all: &[&str]| all.iter().find_map(|begin| str::strip_prefix(said, begin));
    let what = after(said, &SUBJECTS).and_then(|said| after(said, &VERBS));
    what.is_some_and(|what| CALLS.contains(&what.trim_end_matches(['.', '!'])))
}

/// At least as long as the longest of these sentences, in characters.
const LONGEST_REFUSAL: usize = 160;

/// Whether a result shows nothing: the file is empty, or the tool reports a failure this way.
pub(super) fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether a result states that a file is unchanged since it was last shown.
pub(super) fn is_unchanged_note(text: &str) -> bool {
    text.starts_with("File unchanged since last read.")
}

/// Whether a text is what agents write in place of content.
pub(super) fn is_hint(text: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "<tool_use_error>",
        "<system-reminder>",
        "<persisted-output>",
        "<tool_output_masked>",
        "[Old tool result content cleared]",
    ];
    BEGINNINGS.iter().any(|begin| text.starts_with(begin))
}

/// The maximum length of a message in lines, including the tool's additions.
const LINES: usize = 4;

fn is_message(text: &str) -> bool {
    let is_record = text.starts_with("{\"error\"") && text.ends_with('}')
        || text.starts_with("<error") && text.ends_with("</error>");
    let first = text.lines().next().unwrap_or_default().trim();
    if first == "Traceback (most recent call last):" {
        // The last line of a traceback is the exception.
        return text.lines().next_back().is_some_and(is_raised);
    }
    // Most results are long, and do not begin like that.
    if !is_record && !may_be_one(first) {
        return false;
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.take(LINES + 1).count() <= LINES || text.lines().skip(1).all(is_of_a_stack)
}

/// Whether a result without line numbers begins like such a message, whatever follows. The result may also be a log; since this
/// cannot be known, it does not count as the content of a file.
pub(super) fn may_be_refusal(text: &str) -> bool {
    may_be_one(text.trim().lines().next().unwrap_or_default().trim())
}

fn may_be_one(line: &str) -> bool {
    begins_a_message(line) || ends_a_message(line) || is_raised(line)
}

/// Whether a line states where an exception was raised.
fn is_of_a_stack(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("at ")
}

/// Whether a line begins like an error message of a tool or a program.
fn begins_a_message(line: &str) -> bool {
    const BEGINNINGS: [&str; 24] = [
        "Error: ",
        "error: ",
        "ERROR: ",
        "Error reading ",
        "Error opening ",
        "Error accessing ",
        "Error executing ",
        "Error calling ",
        "Failed to ",
        "failed to ",
        "Cannot read ",
        "Cannot open ",
        "Cannot access ",
        "Could not read ",
        "Could not open ",
        "Could not find ",
        "Unable to read ",
        "Unable to open ",
        "Unable to access ",
        "Permission denied",
        "Access denied",
        "No such file",
        "File not found",
        "File does not exist",
    ];
    BEGINNINGS.iter().any(|begin| line.starts_with(begin)) || has_code(line)
}

/// Whether a line begins with a system error code: `ENOENT: no such file …`, `[Errno 2] …`.
fn has_code(line: &str) -> bool {
    const CODES: [&str; 6] = [
        "ENOENT:", "EACCES:", "EISDIR:", "ENOTDIR:", "EPERM:", "[Errno ",
    ];
    CODES.iter().any(|code| line.starts_with(code))
}

/// Whether a line ends like a program's message about a file error: `cat: a: No such file or directory`, `File a does not exist.`
fn ends_a_message(line: &str) -> bool {
    const OF_SYSTEMS: [&str; 5] = [
        ": No such file or directory",
        ": Permission denied",
        ": Is a directory",
        ": Not a directory",
        ": no such file or directory",
    ];
    const OF_TOOLS: [&str; 4] = [
        " does not exist",
        " not found",
        " is a directory",
        " is not readable",
    ];
    const SUBJECTS: [&str; 5] = ["File ", "The file ", "Path ", "The path ", "Directory "];
    let line = line.trim_end_matches(['.', '!']);
    OF_SYSTEMS.iter().any(|end| line.ends_with(end))
        || SUBJECTS.iter().any(|begin| line.starts_with(begin))
            && OF_TOOLS.iter().any(|end| line.ends_with(end))
}

/// Whether a line is an exception with its message: `FileNotFoundError: a`.
fn is_raised(line: &str) -> bool {
    let Some((name, _)) = line.split_once(": ") else {
        return false;
    };
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._".contains(c))
    };
    (name.ends_with("Error") || name.ends_with("Exception"))
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && is_name(name)
}

#[cfg(test)]
mod tests;
