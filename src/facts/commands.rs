//! Commands that were run and services that were called, and how that ended if the results say so.

use std::borrow::Cow;

use super::exchanges::Ended;
use super::input::Input;
use super::looks::{ended, name_in};
use super::service::said as called;
use super::tools::steers;
use super::{Exchange, FactLocation, block_text, lossy};
use crate::policy::ToolKind;
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, Outcome, Transcript};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The call.
    pub call: FactLocation,
    /// Its result, if there is one; of a command that went on, what was said of it last.
    pub result: Option<FactLocation>,
    /// The command as passed to the shell, or the call in its own words.
    pub text: String,
    /// How it ended.
    pub exit: Exit,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Code(i64),
    /// It succeeded: the format flags failed results, and this one is not flagged.
    Well,
    /// It failed, with an unknown status.
    Badly,
    /// It was interrupted.
    Interrupted,
    /// It had not ended when the result was written.
    Running,
    /// There is no result, or it does not state how the command ended.
    Unknown,
}

/// The commands of a conversation, and its calls of services, in its order.
pub fn commands(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<Command> {
    let command = |exchange: &Exchange| {
        let input = exchange.input(transcript);
        let text = match exchange.kind {
            ToolKind::Shell => text(&input)?,
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
        let exit = match &exchange.inner {
            Some(inner) => exit_of_inner(inner.ended),
            None if exchange.kind == ToolKind::Other => answered(transcript, exchange),
            None => exit(transcript, exchange),
        };
        let last = exchange.looks.last().copied();
        Some(Command {
            call: exchange.call,
            result: last.or(exchange.result),
            text,
            exit,
        })
    };
    exchanges.iter().filter_map(command).collect()
}

/// The command: a string, or a list of arguments; or several commands, each a string, on lines of their own.
pub(super) fn text(input: &Input<'_>) -> Option<String> {
    const KEYS: [&str; 2] = ["command", "cmd"];
    if let Some(text) = input.text(&KEYS) {
        return Some(text.into_owned());
    }
    if let Some(several) = input.texts(&["commands"]) {
        return (!several.is_empty()).then(|| several.join("\n"));
    }
    let arguments = input.texts(&KEYS)?;
    match &arguments[..] {
        // A shell that is given a script: the script is the command.
        [_, flag, script] if matches!(flag.as_str(), "-c" | "-lc") => Some(script.clone()),
        [] => None,
        all => Some(all.join(" ")),
    }
}

/// How a call of a service ended: in other words than a command does.
fn answered(transcript: &Transcript<'_>, exchange: &Exchange) -> Exit {
    let Some(result) = exchange.result else {
        return Exit::Unknown;
    };
    let block = transcript.block(result.block);
    let said = ends(transcript, block);
    let is_error = said.starts_with("Error: ") || said.starts_with("{\"error\":");
    match block.outcome {
        Outcome::Failed => Exit::Badly,
        Outcome::Fine if is_error => Exit::Badly,
        Outcome::Fine => Exit::Unknown,
    }
}

fn exit_of_inner(ended: Ended) -> Exit {
    match ended {
        Ended::Status(status) => Exit::Code(status),
        Ended::Failed => Exit::Badly,
        Ended::Interrupted => Exit::Interrupted,
        Ended::Running => Exit::Running,
        // A command that fails raises no error in the cell.
        Ended::Returned | Ended::Unknown => Exit::Unknown,
    }
}

fn exit(transcript: &Transcript<'_>, exchange: &Exchange) -> Exit {
    let Some(result) = exchange.result else {
        return Exit::Unknown;
    };
    let block = transcript.block(result.block);
    let recorded = recorded(transcript, result);
    if let Some(record) = &recorded {
        if record.is_true(&["interrupted"]) {
            return Exit::Interrupted;
        }
        if record.text(&["backgroundTaskId"]).is_some() {
            return ended(transcript, exchange).unwrap_or(Exit::Running);
        }
    }
    let said = ends(transcript, block);
    let code = status_in(transcript, block, &said);
    if is_stopped(&said, block.outcome) {
        return Exit::Interrupted;
    }
    if block.outcome == Outcome::Fine && name_in(transcript, block, &said).is_some() {
        return ended(transcript, exchange).unwrap_or(Exit::Running);
    }
    // If results name their tools, the session is from another agent, which flags failures in that way.
    let names_tools = !transcript.links().is_empty() && !block.tool.is_empty();
    match (block.outcome, code) {
        (Outcome::Failed, Some(0)) => Exit::Badly,
        (_, Some(code)) => Exit::Code(code),
        (Outcome::Failed, None) => Exit::Badly,
        // A record of this shape comes from an agent that flags every failed command.
        (Outcome::Fine, None) if recorded.is_some() || names_tools => Exit::Well,
        (Outcome::Fine, None) if End::of(&said).names == Names::Failures => Exit::Well,
        (Outcome::Fine, None) => Exit::Unknown,
    }
}

/// Whether a command was stopped, or never ran because the user did not want it.
fn is_stopped(said: &str, outcome: Outcome) -> bool {
    const REFUSED: [&str; 3] = [
        "[Operation Cancelled]",
        "[Request interrupted by user",
        "The user doesn't want to ",
    ];
    // In a result without a flag, only the whole sentence of the agent counts.
    const STOPPED: [&str; 2] = [
        "Command was cancelled by user before it could ",
        "Command was automatically cancelled because it exceeded the timeout of ",
    ];
    let begins = |words: &[&str]| words.iter().any(|words| said.starts_with(words));
    begins(&STOPPED)
        || outcome == Outcome::Failed
            && (begins(&REFUSED) || said.lines().next_back() == Some("Command aborted"))
}

/// The exit status in the result of a command.
pub(super) fn status(transcript: &Transcript<'_>, result: &Block) -> Option<i64> {
    status_in(transcript, result, &ends(transcript, result))
}

/// The exit status in the header or at the end of an output.
pub(super) fn status_in(transcript: &Transcript<'_>, result: &Block, ends: &str) -> Option<i64> {
    match lossy(unescape(transcript.header(result))) {
        header if !header.is_empty() => code(&header),
        _ => code(ends),
    }
}

/// What the agent recorded beside the result, if that is the only one on its line.
pub(super) fn recorded<'t>(
    transcript: &'t Transcript<'_>,
    result: FactLocation,
) -> Option<Input<'t>> {
    let mirrors = transcript.mirrors();
    let mirror = mirrors.get(mirrors.partition_point(|mirror| mirror.line < result.line))?;
    let results = transcript
        .blocks_of_line(result.line)
        .filter(|block| transcript.block(*block).kind == BlockKind::Result);
    let is_its = mirror.line == result.line && mirror.of.is_empty() && results.count() == 1;
    let value = transcript.bytes(mirror.line, mirror.value);
    // A copy of the text records nothing.
    (is_its && value.starts_with(b"{")).then(|| Input::in_value(value))
}

/// How many of an output's first lines may be a header.
const HEADER: usize = 4;

/// The text of a result; of a long output only its header and its last lines.
pub(super) fn ends<'t>(transcript: &'t Transcript<'_>, result: &Block) -> Cow<'t, str> {
    const ENOUGH: usize = 2_048;
    if let [text] = transcript.texts(result)
        && let raw = transcript.bytes(result.line, text.span)
        && raw.len() > 2 * ENOUGH
        && !raw.starts_with(b"{")
    {
        let ends = [&raw[..ENOUGH], &raw[raw.len() - ENOUGH..]];
        let [head, tail] = ends.map(|part| lossy(unescape(part)));
        // A cut escape may look like the end of a line, but not like the ends of two lines.
        let header = head.match_indices('\n').nth(HEADER - 1);
        let last = tail.match_indices('\n').nth(1);
        if let (Some((header, _)), Some((last, _))) = (header, last) {
            return Cow::Owned([&head[..=header], &tail[last + 1..]].concat());
        }
    }
    block_text(transcript, result)
}

/// The exit status in the phrases that agents put before or around an output.
fn code(said: &str) -> Option<i64> {
    /// The phrases before the status on a line of its own in a short header.
    const BEFORE: [&str; 4] = [
        "Exit code ",
        "Exit code: ",
        "Process exited with code ",
        "exit code: ",
    ];
    if said.starts_with('{') {
        let record = Input::in_value(said.as_bytes());
        let status = |of: &Input<'_>| of.integer(&["exit_code", "exitCode", "returncode"]);
        // A command may print JSON itself: then its tool's line comes after that.
        return match record.is_object() {
            true => status(&record).or_else(|| status(&record.object("metadata")?)),
            false => End::of(said).code,
        };
    }
    let before = said.lines().take(HEADER).find_map(|line| {
        let line = line.trim_matches(['[', ']', '(', ')', ' ']);
        let code = BEFORE.iter().find_map(|before| line.strip_prefix(before))?;
        code.trim().parse().ok()
    });
    before.or_else(|| End::of(said).code)
}

/// What tools write behind an output: how the command ended, and where and as what it ran.
struct End<'t> {
    /// The output before it.
    output: &'t str,
    /// The status.
    code: Option<i64>,
    /// Whether these are the lines of Gemini CLI, which names only a status other than 0.
    names: Names,
}

/// Which statuses a tool names.
#[derive(PartialEq, Eq)]
enum Names {
    All,
    Failures,
}

impl<'t> End<'t> {
    /// The end of an output. Its lines are read from the last one back, as long as they are known.
    fn of(said: &'t str) -> End<'t> {
        /// Lines that say something else.
        const OTHERS: [&str; 6] = [
            "[Current working directory: ",
            "[Python interpreter: ",
            "Process Group PGID: ",
            "Background PIDs: ",
            "Signal: ",
            "</untrusted_context>",
        ];
        let mut end = End {
            output: said,
            code: None,
            names: Names::All,
        };
        loop {
            let rest = end.output.strip_suffix('\n').unwrap_or(end.output);
            let (before, line) = rest.rsplit_once('\n').unwrap_or(("", rest));
            if line.starts_with("Process Group PGID: ") {
                end.names = Names::Failures;
            } else if let Some(code) = status_of(line) {
                end.code = end.code.or(Some(code));
            } else if let Some(code) = line.strip_prefix("Exit Code: ")
                && end.names == Names::Failures
            {
                end.code = end.code.or_else(|| code.parse().ok());
            } else if line.is_empty() || !OTHERS.iter().any(|other| line.starts_with(other)) {
                return end;
            }
            if rest.len() == line.len() {
                end.output = "";
                return end;
            }
            end.output = before;
        }
    }
}

/// An output without what its tool writes behind it.
pub(super) fn without_end(said: &str) -> &str {
    End::of(said).output
}

/// The status in a line that a tool writes behind an output.
fn status_of(line: &str) -> Option<i64> {
    /// What is before the status, and after it.
    const FORMS: [(&str, &str); 6] = [
        // pi
        ("Command exited with code ", ""),
        // OpenHands
        ("[The command completed with exit code ", ".]"),
        ("[Command finished with exit code ", "]"),
        // Factory Droid
        ("[Process exited with code ", "]"),
        // others
        ("[exit code: ", "]"),
        ("[Exit code: ", "]"),
    ];
    let of = |(before, after): &(&str, &str)| line.strip_prefix(before)?.strip_suffix(after);
    let code = FORMS.iter().find_map(of).or_else(|| after_shell(line))?;
    code.parse().ok()
}

/// The status in what Copilot CLI puts after an output: `<shellId: 3 completed with exit code 1>`.
fn after_shell(last: &str) -> Option<&str> {
    let note = last.strip_prefix('<')?.strip_suffix('>')?;
    let (shell, code) = note.rsplit_once("exit code ")?;
    let is_its = shell == "exited with "
        || shell.starts_with("shellId: ") && shell.ends_with(" completed with ");
    is_its.then_some(code)
}

#[cfg(test)]
mod tests;
