//! What goes on beside the agent's own calls: commands in the background and agents of the agent. What it changes may change until
//! its end is shown.

use super::{AGENTS, ONLY_LOOK, PossibleChange, What, effects_of};
use crate::facts::beginning;
use crate::facts::exchanges::{Exchange, TellingLocation};
use crate::facts::exit::CommandStatus;
use crate::facts::{background, refused::never_ran};
use crate::policy::ToolKind;
use crate::scan::Value;
use crate::transcript::{BlockKind, Conversation, Role, Transcript, Typed};

/// The tools that wait for an agent of the agent, send it on, or read what it has done.
const FOLLOWING: [&str; 10] = [
    "wait",
    "wait_agent",
    "send_input",
    "send_message",
    "followup_task",
    "assign_task",
    "resume_agent",
    "close_agent",
    "TaskOutput",
    "AgentOutputTool",
];

/// What commands that went on may have changed: where they are looked at, and where the conversation ends if no end is shown.
pub(super) fn of_commands(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    calls: &[Exchange],
    changes: &mut Vec<PossibleChange>,
) {
    for call in calls {
        if call.kind != ToolKind::Shell
            || call.looks.is_empty() && background::name(transcript, call).is_none()
            || background::reads(transcript, call)
        {
            continue;
        }
        let Some(what) = call
            .input(transcript)
            .command()
            .and_then(|command| effects_of(&command))
        else {
            continue;
        };
        let last = call.looks.last();
        let is_open = last.is_none_or(|look| {
            matches!(
                look.exit,
                CommandStatus::Running | CommandStatus::WasRunning
            )
        });
        let end = is_open.then(|| end_of(conversation)).flatten();
        let places = call.looks.iter().map(|look| look.at).chain(end);
        changes.extend(places.map(|at| PossibleChange {
            at,
            what: what.clone(),
        }));
    }
}

/// What agents of the agent may have changed while they ran beside it: wherever something is heard of one, and where the conversation
/// ends if nothing is.
pub(super) fn of_agents(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    calls: &[Exchange],
    changes: &mut Vec<PossibleChange>,
) {
    let mut begun: Option<TellingLocation> = None;
    let mut heard: Vec<TellingLocation> = Vec::new();
    for call in calls {
        let tool = call.tool(transcript);
        let place = call.result.unwrap_or(call.call).into();
        if AGENTS.contains(&&*tool) && !only_looks(transcript, call) && !never_ran(transcript, call)
        {
            // One that is waited for has ended with its result.
            match goes_on(transcript, call, &tool) {
                true => begun = Some(place),
                false => changes.push(anything(place)),
            }
        } else if begun.is_some() && FOLLOWING.contains(&&*tool) {
            heard.push(place);
        }
    }
    for (number, message) in (0..).zip(&conversation.messages) {
        // A message of an agent, or a notice of its end.
        if message.role != Role::User || message.typed == Typed::Yes || message.is_summary {
            continue;
        }
        let blocks = conversation.blocks(message).iter();
        let text = blocks.copied().find(|block| {
            let block = transcript.block(*block);
            block.kind == BlockKind::Text
        });
        let text = text.filter(|block| begun.is_some() || is_of_an_agent(transcript, *block));
        heard.extend(text.map(|block| TellingLocation {
            message: number,
            line: transcript.block(block).line,
            block: Some(block),
        }));
    }
    if begun.is_some_and(|last| !heard.iter().any(|at| *at > last)) {
        heard.extend(end_of(conversation));
    }
    changes.extend(heard.into_iter().map(anything));
}

/// Whether a text is a message of another agent, or a notice of one, whoever began it, as Codex writes them. A notice of a task may be
/// one of a command.
fn is_of_an_agent(transcript: &Transcript<'_>, block: u32) -> bool {
    const NOTICE: &str = "<subagent_notification>";
    let block = transcript.block(block);
    let line = transcript.line(block.line);
    let kind = || Value::of(line).field("payload").field("type").string();
    let begins = beginning(transcript, block, NOTICE.len());
    begins.starts_with(NOTICE) || kind() == Some(b"agent_message")
}

fn anything(at: TellingLocation) -> PossibleChange {
    PossibleChange {
        at,
        what: What::Anything,
    }
}

/// Whether a call starts an agent that only looks.
pub(super) fn only_looks(transcript: &Transcript<'_>, call: &Exchange) -> bool {
    let input = call.input(transcript);
    let kind = input.text(&["subagent_type", "agent_type"]);
    kind.is_some_and(|kind| ONLY_LOOK.contains(&&*kind))
}

/// Whether the agent that a call starts runs beside what comes next.
fn goes_on(transcript: &Transcript<'_>, call: &Exchange, tool: &str) -> bool {
    matches!(tool, "spawn_agent" | "spawn_agents_on_csv")
        || call
            .input(transcript)
            .is_true(&["run_in_background", "background"])
}

/// The end of a conversation.
fn end_of(conversation: &Conversation) -> Option<TellingLocation> {
    let last = conversation.messages.len().checked_sub(1)?;
    let line = conversation.lines(&conversation.messages[last]).last()?;
    Some(TellingLocation {
        message: last as u32,
        line: *line,
        block: Some(u32::MAX),
    })
}
