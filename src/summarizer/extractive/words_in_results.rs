//! User text in messages with tool results: next to them, or delivered inside one.
//!
//! Excludes what the agent itself added: notices in tags, and notes that the user interrupted something.

use crate::facts::{Activity, block_text};
use crate::transcript::{BlockKind, Conversation, Message, Role, Transcript, Typed, typed_in};

/// The words, each with its line (from 0).
pub fn words_with_results(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    acts: &Activity,
    message: &Message,
) -> Vec<(u32, String)> {
    let is_result = |block: &u32| transcript.block(*block).kind == BlockKind::Result;
    let has_results = conversation.blocks(message).iter().any(is_result);
    if message.typed == Typed::Yes || !has_results {
        return Vec::new();
    }
    let words = |number: u32| {
        let block = transcript.block(number);
        let words = match block.kind {
            BlockKind::Result => acts.answers.get(&number).cloned(),
            BlockKind::Text if message.role == Role::User && block.is_words() => {
                by_user(&block_text(transcript, block)).map(str::to_owned)
            }
            _ => None,
        };
        words.map(|words| (block.line, words))
    };
    conversation
        .blocks(message)
        .iter()
        .copied()
        .filter_map(words)
        .collect()
}

/// The user's part of a text next to results.
fn by_user(text: &str) -> Option<&str> {
    typed_in(text).filter(|words| !words.trim_start().starts_with('<'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn words_are_those_beside_results_and_those_that_results_hand_on() {
        let lines = r#"{"role":"assistant","content":[{"type":"tool_use","id":"q","name":"AskUserQuestion","input":{"questions":[]}},{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"q","content":"User has answered your questions: \"Which?\"=\"Both\""},{"type":"tool_result","tool_use_id":"b","content":"a"},{"type":"text","text":"and quickly"}]}
"#;
        let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let tools = crate::policy::Tools::default();
        let acts = Activity::of(&transcript, conversation, &tools);
        let words = words_with_results(&transcript, conversation, &acts, &conversation.messages[1]);
        let words: Vec<&str> = words.iter().map(|(_, words)| &words[..]).collect();
        assert_eq!(words, ["\"Which?\"=\"Both\"", "and quickly"]);
    }
}
