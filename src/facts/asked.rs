//! Whether an agent asked for a compaction, or a conversation is itself a request of an agent (for a summary, a title).
//!
//! Requests are recognised by the agent's prompt in the last typed message; those of Claude Code also by the name of the
//! subagent.

use super::{block_text, exchanges};
use crate::policy::{Skip, Tools};
use crate::scan::Value;
use crate::transcript::{Conversation, Outcome, Transcript, Typed};

/// A call for a compaction, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The first message after the result.
    pub end: usize,
    /// What the summary should focus on; "" = nothing special.
    pub focus: String,
}

/// The last call of the tool for a compaction that has a result and did not fail.
pub fn asked_for(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tool: &str,
) -> Option<Asked> {
    if tool.is_empty() {
        return None;
    }
    let exchanges = exchanges(transcript, conversation, &Tools::default());
    let answered = exchanges.iter().rev().find_map(|exchange| {
        let result = exchange.result?;
        let failed = transcript.block(result.block).outcome == Outcome::Failed;
        (!failed && exchange.tool(transcript) == tool).then_some((exchange, result))
    });
    let (exchange, result) = answered?;
    let input = exchange.input(transcript);
    Some(Asked {
        end: result.message as usize + 1,
        focus: input.text(&["focus"]).unwrap_or_default().into_owned(),
    })
}

/// What requests of agents contain: their first words, and a phrase that a person asking for a summary would not write.
const COMPACTIONS: [[&str; 2]; 3] = [
    [
        "Your task is to create a detailed summary of",
        "Primary Request and Intent",
    ],
    [
        "Please provide a comprehensive summary of our conversation structured as follows:",
        "## Technical Context",
    ],
    [
        "Summarize this conversation for continuity. Include:",
        "1) What was accomplished",
    ],
];
const MEMORIES: [&str; 1] = [
    "IMPORTANT: This message and these instructions are NOT part of the actual user conversation.",
];

/// Claude Code's names for its subagents.
const AGENTS: [(&[u8], Skip); 3] = [
    (b"acompact-", Skip::Compaction),
    (b"asession_memory-", Skip::SessionMemory),
    (b"aextract_memories-", Skip::SessionMemory),
];

/// The kind of request that a conversation is, if it is a request of an agent to itself.
pub fn agent_request_kind(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Option<Skip> {
    if let Some(skip) = agent(transcript, conversation) {
        return Some(skip);
    }
    let messages = conversation.messages.iter();
    let last = messages.rev().find(|message| message.typed == Typed::Yes)?;
    let blocks = conversation.blocks(last).iter();
    let blocks = blocks.map(|block| transcript.block(*block));
    let texts = blocks.filter(|block| block.is_words());
    for text in texts {
        let text = block_text(transcript, text);
        let holds = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
        if COMPACTIONS.iter().any(|parts| holds(parts)) {
            return Some(Skip::Compaction);
        }
        if MEMORIES.iter().any(|words| text.contains(words)) {
            return Some(Skip::SessionMemory);
        }
    }
    None
}

/// The kind of request by the `agentId` of the last line.
fn agent(transcript: &Transcript<'_>, conversation: &Conversation) -> Option<Skip> {
    let line = transcript.line(*conversation.path.last()?);
    memchr::memmem::find(line, b"\"agentId\"")?;
    let id = Value::of(line).field("agentId").string()?;
    let found = AGENTS.iter().find(|(begin, _)| id.starts_with(begin));
    found.map(|(_, skip)| *skip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    fn lines(lines: &[&str]) -> Vec<u8> {
        lines.join("\n").into_bytes()
    }

    #[test]
    fn the_last_answered_call_counts_with_its_focus() {
        let bytes = lines(&[
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"compact","input":{"focus":"the parser"}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"Compressing..."}]}"#,
            r#"{"role":"assistant","content":"so"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"compact","input":{}}]}"#,
        ]);
        let transcript = Format::Anthropic.read(&bytes, 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let asked = |tool| asked_for(&transcript, conversation, tool);
        assert_eq!(
            asked("compact"),
            Some(Asked {
                end: 3,
                focus: "the parser".to_owned()
            })
        );
        assert_eq!(asked("compress"), None);
        assert_eq!(asked(""), None);
    }

    #[test]
    fn a_call_that_failed_asks_for_nothing() {
        let failed = |error: &str| {
            let result = format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"1","content":"no such tool"{error}}}]}}"#
            );
            let bytes = lines(&[
                r#"{"role":"user","content":"go"}"#,
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"compact","input":{}}]}"#,
                &result,
            ]);
            let transcript = Format::Anthropic.read(&bytes, 1, &mut Warnings::default());
            asked_for(&transcript, &transcript.conversations[0], "compact").is_none()
        };
        assert!(failed(r#","is_error":true"#));
        assert!(!failed(r#","is_error":false"#));
    }

    #[test]
    fn a_request_is_known_by_its_words_or_by_the_agent_that_is_asked() {
        let of = |format: Format, bytes: &[u8]| {
            let transcript = format.read(bytes, 1, &mut Warnings::default());
            agent_request_kind(&transcript, &transcript.conversations[0])
        };
        let typed = |words: &str| {
            let line = format!(r#"{{"role":"user","content":"{words}"}}"#);
            let answer = r#"{"role":"assistant","content":"<summary>so</summary>"}"#;
            of(
                Format::Anthropic,
                &lines(&[r#"{"role":"user","content":"go"}"#, &line, answer]),
            )
        };
        let compaction = typed(
            "CRITICAL: words only.\\n\\nYour task is to create a detailed summary of the conversation so far.\\n1. Primary Request and Intent: all of it",
        );
        assert_eq!(compaction, Some(Skip::Compaction));
        assert_eq!(typed("Write a summary of this file"), None);
        let of_a_person = "Your task is to create a detailed summary of the auth module.";
        assert_eq!(typed(of_a_person), None);
        let aside = |agent: &str| {
            let line = format!(
                r#"{{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","isSidechain":true,"agentId":"{agent}","message":{{"role":"user","content":"notes"}}}}"#
            );
            of(Format::ClaudeCode, line.as_bytes())
        };
        assert_eq!(aside("acompact-0123"), Some(Skip::Compaction));
        assert_eq!(aside("asession_memory-0123"), Some(Skip::SessionMemory));
        assert_eq!(aside("a0123"), None);
    }
}
