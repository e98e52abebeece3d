//! Claude Code's notices that a background task ended, and Kimi Code's records of the same.
//!
//! PURE. A notice is in a message of the user's role, in an attachment, or on a line of the queue of input to be sent; often in
//! several of these. Only text that the agent itself writes is a notice, not text that a result shows.

use super::block_text;
use super::exchanges::TellingLocation;
use super::exit::CommandStatus;
use crate::scan::Value;
use crate::transcript::{Block, BlockKind, Conversation, LineKind, Role, Transcript};

/// How a notice begins.
const BEGINS: &str = "<task-notification>";
/// What precedes the command or its description in the notice's summary.
const COMMAND: &str = "Background command \"";

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// The notice's location.
    pub(super) at: TellingLocation,
    /// The task's name.
    pub(super) task: String,
    /// The task's command, or the agent's description of it.
    pub(super) text: Option<String>,
    /// How it ended.
    pub(super) exit: CommandStatus,
}

/// The notices of ended tasks, in order of location.
pub(super) fn notices(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Notice> {
    let in_blocks = conversation.all_blocks().filter_map(|(message, number)| {
        let block = transcript.block(number);
        let said = match block.kind {
            BlockKind::Text if conversation.messages[message].role == Role::User => {
                let first = transcript.texts(block).first()?;
                let raw = transcript.bytes(block.line, first.span);
                let is_one = raw.starts_with(BEGINS.as_bytes());
                is_one.then(|| block_text(transcript, block).into_owned())?
            }
            BlockKind::Attachment => attached(transcript, block)?,
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Call
            | BlockKind::Result
            | BlockKind::Server
            | BlockKind::Other => return None,
        };
        let at = TellingLocation {
            message: message as u32,
            line: block.line,
            block: Some(number),
        };
        Notice::read(at, &said)
    });
    let mut notices: Vec<Notice> = in_blocks.collect();
    notices.extend(queued(transcript, conversation));
    notices.sort_by_key(|notice| notice.at);
    notices
}

/// The queued text that an attachment repeats, if the agent itself queued it.
fn attached(transcript: &Transcript<'_>, block: &Block) -> Option<String> {
    let raw = transcript.bytes(block.line, block.content);
    memchr::memmem::find(raw, BEGINS.as_bytes())?;
    let [kind, prompt, mode] = Value::of(raw).fields(["type", "prompt", "commandMode"]);
    let is_own = kind.string() == Some(b"queued_command")
        && mode
            .string()
            .is_none_or(|mode| mode == b"task-notification");
    is_own.then(|| text(prompt))
}

/// The notices queued on lines that are not messages; each is located at the message before its line.
fn queued(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Notice> {
    if transcript.links().is_empty() {
        return Vec::new();
    }
    let lines = (0..).zip(transcript.lines());
    let lines = lines.filter(|(_, line)| line.kind == LineKind::Session);
    let at = |line: u32| {
        let messages = &conversation.messages;
        let after = messages.partition_point(|message| conversation.first_line(message) < line);
        TellingLocation {
            message: after.saturating_sub(1) as u32,
            line,
            block: None,
        }
    };
    let notice = |line: u32| {
        let raw = transcript.line(line);
        let is_of_kimi = || memchr::memmem::find(raw, b"\"task.terminated\"").is_some();
        if is_of_kimi() {
            return Notice::recorded(at(line), raw);
        }
        memchr::memmem::find(raw, BEGINS.as_bytes())?;
        let [kind, operation, content] = Value::of(raw).fields(["type", "operation", "content"]);
        if kind.string() != Some(b"queue-operation") || operation.string() != Some(b"enqueue") {
            return None;
        }
        Notice::read(at(line), &text(content))
    };
    lines.filter_map(|(line, _)| notice(line)).collect()
}

impl Notice {
    /// Reads Kimi Code's record of the end of a task.
    fn recorded(at: TellingLocation, line: &[u8]) -> Option<Notice> {
        let [kind, info] = Value::of(line).fields(["type", "info"]);
        if kind.string() != Some(b"task.terminated") {
            return None;
        }
        let [task, command, status, code] =
            info.fields(["taskId", "command", "status", "exitCode"]);
        let code = std::str::from_utf8(code.raw()).ok();
        let exit = match (code.and_then(|code| code.parse().ok()), status.string()) {
            (Some(code), _) => CommandStatus::Code(code),
            (None, Some(b"failed")) => CommandStatus::Failed,
            (None, Some(b"killed" | b"stopped")) => CommandStatus::Interrupted,
            (None, _) => CommandStatus::Unknown,
        };
        Some(Notice {
            at,
            task: task.text()?.into_owned(),
            text: command.string().map(|_| text(command)),
            exit,
        })
    }

    fn read(at: TellingLocation, said: &str) -> Option<Notice> {
        if !said.starts_with(BEGINS) {
            return None;
        }
        let text = || {
            let (_, rest) = tag(said, "summary")?.split_once(COMMAND)?;
            let (text, _) = rest.rsplit_once("\" ")?;
            Some(text.to_owned())
        };
        Some(Notice {
            at,
            task: tag(said, "task-id")?.to_owned(),
            text: text(),
            exit: end(said)?,
        })
    }
}

/// How a task ended, by the tags in a notice or before its output; `None` if it is still running.
pub(super) fn end(said: &str) -> Option<CommandStatus> {
    let status = tag(said, "status")?;
    let code = tag(said, "exit_code").or_else(|| {
        let (_, code) = tag(said, "summary")?.rsplit_once("exit code ")?;
        Some(code.trim_end_matches(')'))
    });
    match (code.and_then(|code| code.trim().parse().ok()), status) {
        (Some(code), _) => Some(CommandStatus::Code(code)),
        (None, "completed") => Some(CommandStatus::Unknown),
        (None, "failed") => Some(CommandStatus::Failed),
        (None, "killed" | "stopped") => Some(CommandStatus::Interrupted),
        (None, _) => None,
    }
}

/// The content of a tag that precedes any output.
pub(super) fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let head = ["<output>", "<stdout>", "<event>"];
    let end = head.iter().filter_map(|begins| text.find(begins)).min();
    let head = &text[..end.unwrap_or(text.len())];
    let (_, rest) = head.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>"))
        .map(|(value, _)| value)
}

/// The text of a string; empty for anything else.
fn text(value: Value<'_>) -> String {
    value.text().unwrap_or_default().into_owned()
}
