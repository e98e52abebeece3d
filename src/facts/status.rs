//! How a command ended, as stated by the results of calls.
//!
//! PURE. Knows the phrases of agents and their tools for it: before an output, after it, or in a separate record. Does not cover
//! commands that continued in the background (`background`).

use std::borrow::Cow;

use super::block_text;
use super::exchanges::FactLocation;
use super::input::Input;
use crate::scan::{Value, decoded};
use crate::transcript::{Block, BlockKind, Transcript};

/// Which forms of a status count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    /// All that are known.
    All,
    /// Those that no file or log contains: specific to one tool, and in the place where it writes them.
    Unmistakable,
}

/// The exit status in the header or at the end of an output.
pub(super) fn status_in(
    transcript: &Transcript<'_>,
    result: &Block,
    ends: &str,
    forms: Forms,
) -> Option<i64> {
    match decoded(transcript.header(result)) {
        header if !header.is_empty() => code(&header, Forms::All),
        _ => code(ends, forms).or_else(|| beside(transcript, result)),
    }
}

/// The exit status that Copilot CLI or OpenCode records beside the text of a result: it stays where the text is cleared.
fn beside(transcript: &Transcript<'_>, result: &Block) -> Option<i64> {
    if let Some(noted) = noted(transcript, result) {
        return std::str::from_utf8(noted.field("exit").raw())
            .ok()?
            .parse()
            .ok();
    }
    let line = transcript.line(result.line);
    memchr::memmem::find(line, b"\"shellExecution\"")?;
    let status = Value::of(line).within(&["data", "shellExecution", "exitCode"]);
    std::str::from_utf8(status.raw()).ok()?.parse().ok()
}

/// Whether a text is not a command's output but a note in its place. In agents that state the end of a command in the result's
/// text, such a note does not.
pub(super) fn is_note_in_place(said: &str) -> bool {
    let said = said.trim();
    // Gemini CLI's own, around the beginning and the end of the output.
    said.starts_with("<tool_output_masked>")
        || said.starts_with('[')
            && said.ends_with(']')
            && !said.contains('\n')
            && said.contains(' ')
}

/// What the agent recorded outside the result, if the result is the only one on its line.
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

/// The maximum number of header lines at the beginning of an output.
const HEADER: usize = 4;

/// The text of a result; for a long output, only its header and last lines.
pub(super) fn ends<'t>(transcript: &'t Transcript<'_>, result: &Block) -> Cow<'t, str> {
    const ENOUGH: usize = 2_048;
    /// Where most headers end.
    const SOON: usize = 512;
    if let [text] = transcript.texts(result)
        && let raw = transcript.bytes(result.line, text.span)
        && raw.len() > 2 * ENOUGH
        && !raw.starts_with(b"{")
    {
        let header = |most: usize| {
            let mut head = decoded(&raw[..most]).into_owned();
            let (end, _) = head.match_indices('\n').nth(HEADER - 1)?;
            head.truncate(end + 1);
            Some(head)
        };
        if let Some(mut ends) = header(SOON).or_else(|| header(ENOUGH)) {
            let tail = decoded(&raw[raw.len() - ENOUGH..]);
            // A cut escape may look like the end of a line, but not like the ends of two lines.
            if let Some((last, _)) = tail.match_indices('\n').nth(1) {
                ends.push_str(&tail[last + 1..]);
                return Cow::Owned(ends);
            }
        }
    }
    block_text(transcript, result)
}

/// The beginning of Codex's one-line report on a command in its sandbox.
const IN_SANDBOX: &str = "failed in sandbox ";

/// The exit status in the phrases that agents put before or around an output.
fn code(said: &str, forms: Forms) -> Option<i64> {
    /// The phrases that precede the status on its own line in a short header.
    const BEFORE: [&str; 4] = [
        "Exit code ",
        "Exit code: ",
        "Process exited with code ",
        "exit code: ",
    ];
    if said.starts_with('{') {
        let record = Input::in_value(said.as_bytes());
        let status = |of: &Input<'_>| of.integer(&["exit_code", "exitCode", "returncode"]);
        let beside = || status(&record.object("metadata")?);
        let output = record.has(&["output", "stdout", "stderr"]);
        // A command may itself print JSON; the tool's line then follows it.
        return match (record.is_object(), forms) {
            (true, Forms::All) if output => status(&record).or_else(beside),
            // Codex's.
            (true, Forms::Unmistakable) if output => beside(),
            (true, _) => None,
            (false, forms) => End::in_forms(said, forms).code,
        };
    }
    if forms == Forms::Unmistakable {
        return End::in_forms(said, forms).code;
    }
    if let Some(said) = said.strip_prefix(IN_SANDBOX) {
        let (_, code) = said.split_once(" exit code: ")?;
        let end = code.find(|c: char| !c.is_ascii_digit() && c != '-');
        return code[..end.unwrap_or(code.len())].parse().ok();
    }
    let before = said.lines().take(HEADER).find_map(|line| {
        let line = line.trim_matches(['[', ']', '(', ')', ' ']);
        let code = BEFORE.iter().find_map(|before| line.strip_prefix(before))?;
        code.trim().parse().ok()
    });
    before.or_else(|| End::of(said).code)
}

/// What tools write after an output: how the command ended, where it ran, and as which process.
pub(super) struct End<'t> {
    /// The output before it.
    output: &'t str,
    /// The status.
    code: Option<i64>,
    /// Whether these are the lines of Gemini CLI, which names only a status other than 0.
    pub(super) names: Names,
    /// Whether they name a signal that ended the command.
    pub(super) by_signal: bool,
}

/// Which statuses a tool names.
#[derive(PartialEq, Eq)]
pub(super) enum Names {
    All,
    Failures,
}

impl<'t> End<'t> {
    /// The end of an output. Its lines are read from the last one back, as long as they are known.
    pub(super) fn of(said: &'t str) -> End<'t> {
        End::in_forms(said, Forms::All)
    }

    fn in_forms(said: &'t str, forms: Forms) -> End<'t> {
        /// Lines with other information.
        const OTHERS: [&str; 5] = [
            "[Current working directory: ",
            "[Python interpreter: ",
            "Process Group PGID: ",
            "Background PIDs: ",
            "</untrusted_context>",
        ];
        let mut end = End {
            output: said,
            code: None,
            names: Names::All,
            by_signal: false,
        };
        loop {
            let rest = end.output.strip_suffix('\n').unwrap_or(end.output);
            let (before, line) = rest.rsplit_once('\n').unwrap_or(("", rest));
            if line.starts_with("Process Group PGID: ") {
                end.names = Names::Failures;
            } else if let Some(code) = status_of(line, forms) {
                end.code = end.code.or(Some(code));
            } else if let Some(code) = line.strip_prefix("Exit Code: ")
                && end.names == Names::Failures
            {
                end.code = end.code.or_else(|| code.parse().ok());
            } else if let Some(signal) = line.strip_prefix("Signal: ") {
                end.by_signal |= end.names == Names::Failures && signal != "(none)";
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

/// A result without the line with which Gemini CLI marks what others may have written in it.
pub(super) fn unwrapped(said: &str) -> &str {
    said.strip_prefix("<untrusted_context>\n").unwrap_or(said)
}

/// Whether the agent recorded beside a result that its command ended without a status, as OpenCode does where it stopped it.
pub(super) fn ended_without_status(transcript: &Transcript<'_>, result: &Block) -> bool {
    noted(transcript, result).is_some_and(|noted| noted.field("exit").raw() == b"null")
}

/// What OpenCode noted beside the result of a call.
fn noted<'t>(transcript: &'t Transcript<'_>, result: &Block) -> Option<Value<'t>> {
    let mirrors = transcript.mirrors();
    let first = mirrors.partition_point(|mirror| mirror.line < result.line);
    let of_line = mirrors[first..]
        .iter()
        .take_while(|mirror| mirror.line == result.line);
    let mut its = of_line.filter(|mirror| !mirror.of.is_empty() && mirror.of == result.call_id);
    let mirror = its.next()?;
    Some(Value::part(transcript.line(mirror.line), mirror.value))
}

/// An output without the lines that its tool writes after it.
pub(super) fn without_end(said: &str) -> &str {
    End::of(said).output
}

/// The status in a line that a tool writes after an output.
fn status_of(line: &str, forms: Forms) -> Option<i64> {
    /// What precedes and follows the status, in forms that other programs also write.
    const COMMON: [(&str, &str); 3] = [
        // pi
        ("Command exited with code ", ""),
        // others
        ("[exit code: ", "]"),
        ("[Exit code: ", "]"),
    ];
    const OWN: [(&str, &str); 3] = [
        // OpenHands
        ("[The command completed with exit code ", ".]"),
        ("[Command finished with exit code ", "]"),
        // Factory Droid
        ("[Process exited with code ", "]"),
    ];
    let common = match forms {
        Forms::All => &COMMON[..],
        Forms::Unmistakable => &[],
    };
    let of = |(before, after): &(&str, &str)| line.strip_prefix(before)?.strip_suffix(after);
    let mut all = OWN.iter().chain(common);
    let code = all.find_map(of).or_else(|| after_shell(line))?;
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
