//! Which answers recorded the size of the window as it is now.
//!
//! A recorded figure says how many tokens the messages before an answer had when it was requested. Compaction changes these messages
//! and keeps the answers, whose figures are then of a window that no longer exists; some of them this program lowers itself. After
//! a compaction by an agent, the answers before its summary are known to be older. Nothing in a transcript tells when this program
//! compacted it: from the answers that it kept, those that came later cannot be told apart.

use super::{Earlier, MessageOrigin};
use crate::transcript::{Conversation, Role, Transcript};

impl Earlier {
    /// The numbers (from 0) of the answers that were requested in this window as it is: none if this program, or another that
    /// follows one of the presets, has changed it. Messages that an agent's compaction preserved were requested in the window
    /// before it, which was larger.
    pub fn answers_in_window(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Vec<usize> {
        let links = transcript.links();
        let is_summary = |line: &&u32| {
            let link = links.get(**line as usize);
            link.is_some_and(|link| link.is_summary)
        };
        let compacted = conversation.all_lines().iter().filter(is_summary).max();
        let messages = conversation.messages.iter().enumerate();
        let answers: Vec<usize> = messages
            .filter(|(_, message)| message.role == Role::Assistant)
            .filter(|(_, message)| {
                compacted.is_none_or(|line| conversation.first_line(message) > *line)
            })
            .map(|(number, _)| number)
            .collect();
        match answers.is_empty() || self.has_changed(transcript, conversation) {
            true => Vec::new(),
            false => answers,
        }
    }

    /// Whether a window holds a summary or a placeholder of this policy or of a preset.
    fn has_changed(&self, transcript: &Transcript<'_>, conversation: &Conversation) -> bool {
        let mut blocks = conversation.all_blocks().map(|(_, block)| block);
        blocks.any(|block| {
            self.placeholders
                .stand_for(transcript, transcript.block(block))
        }) || {
            let origins = self.origins(transcript, conversation);
            let mut messages = conversation.messages.iter().zip(origins);
            messages.any(|(message, origin)| {
                origin == MessageOrigin::Summary && self.is_ours(transcript, conversation, message)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;
    use serde_json::{Value, json};

    fn answers(format: Format, lines: &[Value]) -> Vec<usize> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let earlier = Earlier::of(&preset("auto").unwrap()).unwrap();
        earlier.answers_in_window(&transcript, &transcript.conversations[0])
    }

    fn line(id: &str, parent: Option<&str>, rest: Value) -> Value {
        let mut line = json!({"uuid": id, "parentUuid": parent, "sessionId": "s"});
        let map = line.as_object_mut().unwrap();
        map.extend(rest.as_object().unwrap().clone());
        line
    }

    /// An answer that an agent's compaction preserved, the summary, a word, and another answer.
    fn compacted(summary: &str) -> [Value; 5] {
        let said = |id: &str| {
            json!({"type": "assistant", "message": {"id": id, "role": "assistant",
                "content": [{"type": "text", "text": "123"}]}})
        };
        let typed =
            |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
        let mut compacted = typed(summary);
        compacted["isCompactSummary"] = json!(true);
        let boundary = json!({"type": "system", "subtype": "compact_boundary",
            "compactMetadata": {"preservedMessages": {"anchorUuid": "s", "uuids": ["k"]}}});
        [
            line("k", Some("gone"), said("1")),
            line("b", None, boundary),
            line("s", Some("b"), compacted),
            line("u", Some("s"), typed("12")),
            line("a", Some("u"), said("2")),
        ]
    }

    #[test]
    fn what_an_agent_preserved_was_asked_in_another_window() {
        let lines = compacted("This session is being continued from a previous conversation.");
        assert_eq!(answers(Format::ClaudeCode, &lines), [3]);
    }

    #[test]
    fn answers_after_a_summary_of_ours_may_be_older_than_it() {
        let ours = "[Earlier conversation, summarised by ctxpack]\n## Files";
        assert!(answers(Format::ClaudeCode, &compacted(ours)).is_empty());
        // The text of another preset, and where a summary is an ordinary message.
        let user = |text: &str| json!({"role": "user", "content": text});
        let said = json!({"role": "assistant", "content": "1"});
        let of = |first: &str| answers(Format::OpenAi, &[user(first), said.clone()]);
        assert!(of("[COMPACTED_CONTEXT]\nAll is well.").is_empty());
        assert_eq!(of("All is well."), [1]);
        assert_eq!(of(&format!("What is this? {ours}")), [1]);
    }

    #[test]
    fn answers_beside_a_replaced_result_may_have_seen_its_content() {
        let with = |result: &str| {
            let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
            let lines = [
                json!({"role": "user", "content": "go"}),
                json!({"role": "assistant", "content": "1", "tool_calls": [call]}),
                json!({"role": "tool", "tool_call_id": "c", "content": result}),
                json!({"role": "assistant", "content": "2"}),
            ];
            answers(Format::OpenAi, &lines)
        };
        assert!(with("[Output of f cleared - run it again if needed]").is_empty());
        assert!(with("Tool result is at: .ctxpack/offloaded/0.txt").is_empty());
        assert!(with("Output too large. Saved to: a\nPreview:\nx...").is_empty());
        // Only the whole text counts.
        assert_eq!(
            with("[Output of f cleared - run it again if needed] or not"),
            [1, 3]
        );
        assert_eq!(with(""), [1, 3]);
    }
}
