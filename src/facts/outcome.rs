//! The outcome of a call: succeeded, failed or unknown.
//!
//! PURE. A call failed only if its result says so: by a flag, by a status, or in the words of this very tool for a failure. Text
//! that only looks like an error may be the content of a file. Without an agent that flags results, it may be either.

use super::background::ended;
use super::commands::is_silent;
use super::error_lines::NOT_THERE;
use super::exchanges::{Ended, Exchange, FactLocation};
use super::exit::CommandStatus;
use super::input::Input;
use super::operation::Done;
use super::refused::{
    is_empty, is_refusal, may_be_refusal, never_ran, says_it_was_refused, was_refused,
};
use super::result_author::{ResultText, status};
use super::shell::VIEWERS;
use super::stated_end::{StatedEnd, is_cut_short, stated_end};
use super::tools::kind_of;
use super::{beginning, block_text};
use crate::policy::{ToolKind, Tools};
use crate::transcript::{Outcome, Transcript};

/// Whether there is a result, and whether it says by a flag or a status that the call failed.
pub(super) fn answered(transcript: &Transcript<'_>, exchange: &Exchange) -> Done {
    let Some(result) = exchange.result else {
        return Done::Unclear;
    };
    if let Some(inner) = &exchange.inner {
        return match (inner.ended, ended(exchange)) {
            (Ended::Running, Some(exit)) => done(exit),
            (ended, _) => ended.done(),
        };
    }
    let block = transcript.block(result.block);
    match (block.outcome, exchange.kind) {
        // A killed command may have done all, part or none of its work.
        (Outcome::Failed, ToolKind::Shell) if was_killed(transcript, exchange, result) => {
            Done::Unclear
        }
        (Outcome::Failed, _) => Done::Failed,
        (Outcome::Fine, ToolKind::Shell) => {
            let text = ResultText::of(transcript, exchange, result);
            match stated_end(transcript, exchange, result, &text) {
                StatedEnd::Refused => Done::Failed,
                StatedEnd::Interrupted | StatedEnd::Running => Done::Unclear,
                StatedEnd::Later(exit) => done(exit),
                StatedEnd::Code(code) => done(CommandStatus::Code(code)),
                StatedEnd::Nothing if is_silent(transcript, result, &text.said) => Done::Unclear,
                StatedEnd::Nothing => Done::Yes,
            }
        }
        (Outcome::Fine, _) if was_refused(transcript, exchange) => Done::Failed,
        (Outcome::Fine, _) => Done::Yes,
    }
}

/// Whether a failed command was stopped from outside: by the user, or because it took too long.
fn was_killed(transcript: &Transcript<'_>, exchange: &Exchange, result: FactLocation) -> bool {
    let text = ResultText::of(transcript, exchange, result);
    let status = || text.status(transcript, result).map(CommandStatus::Code);
    !never_ran(transcript, exchange)
        && (is_cut_short(transcript, result, &text) || status().is_some_and(is_killed))
}

/// Whether a status is that of a stopped command: from `timeout` or a signal.
fn is_killed(exit: CommandStatus) -> bool {
    matches!(exit, CommandStatus::Code(124 | 130 | 137 | 143))
}

/// Whether a command did its work, by how it ended.
fn done(exit: CommandStatus) -> Done {
    match exit {
        CommandStatus::Code(0) | CommandStatus::Succeeded => Done::Yes,
        exit if is_killed(exit) => Done::Unclear,
        CommandStatus::Code(_) | CommandStatus::Failed => Done::Failed,
        CommandStatus::Interrupted
        | CommandStatus::Begun
        | CommandStatus::Running
        | CommandStatus::WasRunning
        | CommandStatus::Refused
        | CommandStatus::Unanswered
        | CommandStatus::Unknown => Done::Unclear,
    }
}

/// As `answered`, for a call that shows a file, given the result's text.
pub(super) fn of_read(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
    answered: Done,
    said: &str,
) -> Done {
    let Some(result) = exchange.result.filter(|_| answered == Done::Yes) else {
        return answered;
    };
    if says_why_not(said) {
        return Done::Failed;
    }
    let is_command = exchange.kind == ToolKind::Shell;
    let is_sure = match (is_command, &exchange.inner) {
        (true, Some(inner)) => inner.ended == Ended::Status(0),
        (true, None) => status(transcript, exchange, result) == Some(0),
        (false, _) => flags_failures(transcript, exchange),
    };
    if is_sure {
        return Done::Yes;
    }
    if is_command && is_complaint(said) {
        return Done::Failed;
    }
    let may_be_none = says_it_was_refused(said) || is_refusal(said) || may_be_refusal(said);
    match is_empty(said) || may_be_none {
        true => Done::Unclear,
        false => Done::Yes,
    }
}

/// As `answered`, for a call that changes a file.
pub(super) fn of_change(transcript: &Transcript<'_>, exchange: &Exchange, answered: Done) -> Done {
    /// Beginnings, in lower case, of messages that may say why a file was not changed.
    const MAY_SAY_WHY_NOT: [&str; 9] = [
        "<error",
        "{\"error\"",
        "error",
        "failed",
        "no replacement",
        "cannot ",
        "could not ",
        "unable to ",
        "permission denied",
    ];
    /// At least as long as the longest of them, in characters.
    const LONGEST: usize = 40;
    let Some(result) = exchange.result.filter(|_| answered == Done::Yes) else {
        return answered;
    };
    if exchange.inner.is_some() {
        // A call in a cell has no result text of its own.
        return answered;
    }
    let beginning = beginning(transcript, transcript.block(result.block), LONGEST);
    if says_why_not(&beginning) {
        return Done::Failed;
    }
    // Codex does not flag failures of this tool.
    if flags_failures(transcript, exchange) && exchange.tool(transcript) != "apply_patch" {
        let beginning = beginning.to_lowercase();
        let may_say_why_not = MAY_SAY_WHY_NOT.iter().any(|b| beginning.starts_with(b));
        return match may_say_why_not {
            true => Done::Unclear,
            false => Done::Yes,
        };
    }
    let said = block_text(transcript, transcript.block(result.block));
    match says_it_is_done(&said) {
        true => Done::Yes,
        false => Done::Unclear,
    }
}

/// Whether a result is a tool's confirmation of a change. If the agent does not flag results, an unrecognised text may be an error
/// message, in any program's words and in any language.
fn says_it_is_done(said: &str) -> bool {
    /// Words of the first line, in lower case, and parts of it.
    const WORDS: [&str; 19] = [
        "added",
        "success",
        "successful",
        "successfully",
        "wrote",
        "written",
        "applied",
        "done",
        "ok",
        "edited",
        "updated",
        "created",
        "replaced",
        "saved",
        "deleted",
        "modified",
        "removed",
        "moved",
        "overwrote",
    ];
    const PARTS: [&str; 14] = [
        "here's the result of running `cat -n`",
        "here's a snippet",
        "成功",
        "完成",
        "已更新",
        "已写入",
        "已创建",
        "已修改",
        "已编辑",
        "已保存",
        "已删除",
        "已应用",
        "已替换",
        "已移动",
    ];
    /// Words that negate such a line.
    const NOT: [&str; 26] = [
        "not ",
        "n't",
        "error",
        "fail",
        "denied",
        "reject",
        "refus",
        "cancel",
        "abort",
        "interrupt",
        "unable",
        "cannot",
        "invalid",
        "no match",
        "no such",
        "no change",
        "false",
        "missing",
        "未",
        "不",
        "失败",
        "错误",
        "没有",
        "拒绝",
        "取消",
        "nothing",
    ];
    let first = said.trim().lines().next().unwrap_or_default();
    let first = first.chars().take(200).collect::<String>().to_lowercase();
    // File names may contain any of these words.
    let is_name = |word: &&str| word.contains('/') || word.trim_end_matches('.').contains('.');
    let words = first.split_whitespace().filter(|word| !is_name(word));
    let first = words.collect::<Vec<_>>().join(" ");
    let has = |parts: &[&str]| parts.iter().any(|part| first.contains(part));
    let mut words = first.split(|c: char| !c.is_alphanumeric());
    first.is_empty()
        || (words.any(|word| WORDS.contains(&word)) || has(&PARTS)) && !has(&NOT)
        || first.starts_with("diff --git")
        || first.starts_with("--- ")
}

/// Whether a result begins with words that only one of the known tools uses, for a failure that not every version flags.
fn says_why_not(said: &str) -> bool {
    const BEGINNINGS: [&str; 4] = [
        // Claude Code.
        "<tool_use_error>",
        // The editor of the Anthropic API.
        "No replacement was performed",
        // Copilot CLI.
        "File too large to read at once (",
        // Codex.
        "apply_patch verification failed",
    ];
    let is_line_too_long = || {
        // pi: "[Line 7 is 60.0KB, exceeds 50.0KB limit. Use bash: …]"
        said.starts_with("[Line ") && said.ends_with(']') && said.contains(" limit. Use bash: ")
    };
    BEGINNINGS.iter().any(|begin| said.starts_with(begin)) || is_line_too_long()
}

/// Whether an output is only the error message of a command that cannot read the file it should show: `cat: a: No such file`. Used
/// only if the exit status is unknown.
pub(super) fn is_complaint(output: &str) -> bool {
    let mut lines = output.trim().lines();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let program = line.split_once(": ").map(|(program, _)| program);
    program.is_some_and(|program| VIEWERS.contains(&program))
}

/// Whether a failed result of this call would have a flag: in an agent's log, failed results of its own tools do. A plain list of
/// messages may come from any program.
pub(super) fn flags_failures(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    let is_own = || kind_of(&exchange.tool(transcript), &Tools::default()) != ToolKind::Other;
    !transcript.links().is_empty() && is_own()
}

/// Whether the result of a failed call says that the file is missing, or has changed since it was shown.
pub(super) fn says_it_has_changed(transcript: &Transcript<'_>, result: FactLocation) -> bool {
    const PHRASES: [&str; 3] = [
        "does not exist",
        "has been modified since",
        "has been unexpectedly modified",
    ];
    let said = block_text(transcript, transcript.block(result.block));
    let mut phrases = PHRASES.iter().chain(&NOT_THERE);
    phrases.any(|phrase| said.contains(phrase))
}

/// Whether the result of a change says that the user modified it before it was applied, so that the call does not determine the
/// file's content.
pub(super) fn says_that_user_changed_it(transcript: &Transcript<'_>, result: FactLocation) -> bool {
    let block = transcript.block(result.block);
    let raw = transcript.bytes(block.line, block.content);
    memchr::memmem::find(raw, b"ser modified").is_some()
}

/// Whether a result lists the contents of a folder, as some tools for reading files do.
pub(super) fn lists_a_folder(
    transcript: &Transcript<'_>,
    result: FactLocation,
    said: &str,
) -> bool {
    if said.starts_with("Here's the files and directories up to 2 levels deep in ") {
        return true;
    }
    // Copilot CLI records this outside of the result.
    let line = Input::in_value(transcript.line(result.line));
    let view_type = || {
        let data = line.object("data")?;
        let telemetry = data.object("toolTelemetry")?;
        let properties = telemetry.object("properties")?;
        Some(properties.text(&["viewType"])? == "directory")
    };
    view_type().unwrap_or(false)
}

impl Ended {
    /// How the call in the cell ended.
    pub(super) fn done(self) -> Done {
        match self {
            Ended::Status(0) | Ended::Returned => Done::Yes,
            Ended::Status(_) | Ended::Failed => Done::Failed,
            Ended::Interrupted | Ended::Running | Ended::Unknown => Done::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_done_where_its_tool_says_so() {
        for said in [
            "",
            "ok",
            "Done!",
            "The file /w/error.rs has been updated.",
            "Successfully replaced text in a.rs",
            "{\"success\": true}",
            "Deleted.",
            "Added 1 file(s): /w/src/n.py",
            "文件已更新",
        ] {
            assert!(says_it_is_done(said), "{said}");
        }
        for said in [
            "No match found for old_string in /w/done.rs",
            "Token limit exceeded",
            "The change was abandoned",
            "unsaved",
            "{\"success\": false}",
            "could not be updated",
            "文件已存在",
            "未找到要替换的字符串",
            "aborted by user after 3s",
        ] {
            assert!(!says_it_is_done(said), "{said}");
        }
    }
}
