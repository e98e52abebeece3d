//! Commands that the user ran in the agent's prompt (`!make`), which the agent records as a message.
//!
//! PURE. They are no calls: the model did not ask for them. Each is read in the exact form in which an agent writes it.

use super::block_text;
use super::commands::Command;
use super::exchanges::{FactLocation, TellingLocation};
use super::exit::CommandStatus;
use crate::scan::Value;
use crate::transcript::{Block, BlockKind, Conversation, LineKind, Role, Transcript};

/// A command that the user ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserCommand {
    /// Where it stands.
    pub(super) at: TellingLocation,
    /// What was run.
    pub(super) command: String,
    /// How it ended, as far as the agent says so.
    pub(super) exit: CommandStatus,
}

/// The same as commands, as far as they are sent to the model.
pub fn commands_of_user(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Command> {
    let all = user_commands(transcript, conversation).into_iter();
    let sent = all.filter_map(|ran| {
        Some(Command {
            call: FactLocation {
                message: ran.at.message,
                line: ran.at.line,
                block: ran.at.block?,
            },
            result: None,
            text: ran.command,
            exit: ran.exit,
            name: None,
            folder: None,
        })
    });
    sent.collect()
}

/// The commands that the user ran, in the order of the conversation; those that are not sent to the model come last.
pub(super) fn user_commands(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Vec<UserCommand> {
    let mut all = Vec::new();
    for (number, message) in (0..).zip(&conversation.messages) {
        if message.role != Role::User || message.is_summary {
            continue;
        }
        let blocks = conversation.blocks(message);
        for (place, block) in blocks.iter().enumerate() {
            let said = transcript.block(*block);
            if said.kind != BlockKind::Text {
                continue;
            }
            let next = blocks.get(place + 1).map(|next| transcript.block(*next));
            let text = block_text(transcript, said);
            let found = match next.filter(|next| is_pis(transcript, next)) {
                Some(result) => Some((text.trim().to_owned(), pis_exit(transcript, result.line))),
                None => in_text(&text).map(|(command, exit)| (command.to_owned(), exit)),
            };
            let Some((command, exit)) = found else {
                continue;
            };
            all.push(UserCommand {
                at: TellingLocation {
                    message: number,
                    line: said.line,
                    block: Some(*block),
                },
                command,
                exit,
            });
        }
    }
    unsent(transcript, conversation, &mut all);
    all
}

/// The command in a text, and how it ended: as Codex, Claude Code, Kimi, Gemini CLI and Qwen Code write it.
fn in_text(text: &str) -> Option<(&str, CommandStatus)> {
    const CODEX: &str = "<user_shell_command>\n<command>\n";
    const INPUT: &str = "<bash-input>";
    const GEMINI: &str = "I ran the following shell command:\n```sh\n";
    const GEMINI_AFTER: &str = "\n```\n\nThis produced the following result:\n";
    let text = text.trim();
    let known = |command: &'_ str| !command.trim().is_empty();
    if let Some(rest) = text.strip_prefix(CODEX) {
        let (command, result) = rest.split_once("\n</command>\n<result>\n")?;
        let code = result.strip_prefix("Exit code: ");
        let code = code.and_then(|code| code.lines().next()?.trim().parse().ok());
        let exit = code.map_or(CommandStatus::Unknown, CommandStatus::Code);
        return known(command).then_some((command.trim(), exit));
    }
    let command = match text.strip_prefix(INPUT) {
        Some(rest) => rest.split_once("</bash-input>")?.0,
        None => text.strip_prefix(GEMINI)?.split_once(GEMINI_AFTER)?.0,
    };
    known(command).then_some((command.trim(), CommandStatus::Unknown))
}

/// Whether a block is the output of pi's message of such a command, which stands behind the command.
fn is_pis(transcript: &Transcript<'_>, block: &Block) -> bool {
    block.kind == BlockKind::Result
        && block.call_id.is_empty()
        && transcript.bytes(block.line, block.tool) == b"bash"
}

/// How a command of pi's ended, by the line with its message.
fn pis_exit(transcript: &Transcript<'_>, line: u32) -> CommandStatus {
    let message = Value::of(transcript.line(line)).field("message");
    let [code, cancelled] = message.fields(["exitCode", "cancelled"]);
    if cancelled.raw() == b"true" {
        return CommandStatus::Interrupted;
    }
    let code = std::str::from_utf8(code.raw()).ok();
    let code = code.and_then(|code| code.parse().ok());
    code.map_or(CommandStatus::Unknown, CommandStatus::Code)
}

/// Those that pi does not send to the model (`!!make`), as of the message before them.
fn unsent(transcript: &Transcript<'_>, conversation: &Conversation, all: &mut Vec<UserCommand>) {
    for (line, kind) in (0..).zip(transcript.lines().iter().map(|line| line.kind)) {
        if kind != LineKind::Control || !transcript.is_there(line) {
            continue;
        }
        let bytes = transcript.line(line);
        if memchr::memmem::find(bytes, b"\"bashExecution\"").is_none() {
            continue;
        }
        let message = Value::of(bytes).field("message");
        let [role, command] = message.fields(["role", "command"]);
        let Some(command) = command
            .string()
            .filter(|_| role.string() == Some(b"bashExecution"))
        else {
            continue;
        };
        let messages = &conversation.messages;
        let after = messages.partition_point(|message| conversation.first_line(message) < line);
        all.push(UserCommand {
            at: TellingLocation {
                message: after.saturating_sub(1) as u32,
                line,
                block: None,
            },
            command: crate::scan::decoded(command).into_owned(),
            exit: pis_exit(transcript, line),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agents_form_is_read_and_nothing_like_it() {
        use CommandStatus::{Code, Unknown};
        for (text, expected) in [
            (
                "<user_shell_command>\n<command>\nrm a\n</command>\n<result>\nExit code: 2\nDuration: 1.0 seconds\nOutput:\nno\n</result>\n</user_shell_command>",
                Some(("rm a", Code(2))),
            ),
            ("<bash-input>rm a</bash-input>", Some(("rm a", Unknown))),
            ("<bash-input>\nrm a\n</bash-input>", Some(("rm a", Unknown))),
            (
                "I ran the following shell command:\n```sh\nrm a\n```\n\nThis produced the following result:\n```\n(Command produced no output)\n```",
                Some(("rm a", Unknown)),
            ),
            ("I ran the following shell command: rm a", None),
            ("<bash-input> is what?", None),
            ("see <bash-input>rm a</bash-input>", None),
            ("<bash-input></bash-input>", None),
        ] {
            assert_eq!(in_text(text), expected, "{text}");
        }
    }
}
