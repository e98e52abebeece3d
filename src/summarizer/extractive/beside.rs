//! What a user wrote in a message with results: words beside them, and words that a tool hands on in its result.
//!
//! What the agent added itself is none of it: notices in tags, and notes that the user interrupted something.

use memchr::memmem;

use crate::facts::block_text;
use crate::transcript::{
    Block, BlockKind, Conversation, Message, Role, Transcript, Typed, typed_in,
};

/// The words, each with its line (from 0).
pub fn words_with_results(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> Vec<(u32, String)> {
    let blocks = || {
        let blocks = conversation.blocks(message).iter();
        blocks.map(|block| transcript.block(*block))
    };
    let has_results = blocks().any(|block| block.kind == BlockKind::Result);
    if message.typed == Typed::Yes || !has_results {
        return Vec::new();
    }
    let words = |block: &Block| {
        let text = || block_text(transcript, block);
        let words = match block.kind {
            BlockKind::Result if may_hand_on(transcript.bytes(block.line, block.content)) => {
                handed_on(&text()).map(str::to_owned)
            }
            BlockKind::Text if message.role == Role::User && block.is_words() => {
                by_user(&text()).map(str::to_owned)
            }
            _ => None,
        };
        words.map(|words| (block.line, words))
    };
    blocks().filter_map(words).collect()
}

/// What of a text beside results is the user's.
fn by_user(text: &str) -> Option<&str> {
    typed_in(text).filter(|words| !words.trim_start().starts_with('<'))
}

/// Whether the JSON of a result may hold what [`handed_on`] looks for: most results are not read for it.
fn may_hand_on(json: &[u8]) -> bool {
    ["User has answered your questions", "the user said:"]
        .iter()
        .any(|words| memmem::find(json, words.as_bytes()).is_some())
}

/// The user's words in a result of Claude Code: answers to its questions, and what to do instead of a call that was refused.
fn handed_on(result: &str) -> Option<&str> {
    const ANSWERS: &str = "User has answered your questions: ";
    const AFTER_ANSWERS: &str = ". You can now continue with the user's answers in mind.";
    const REFUSED: &str = "The user doesn't want to ";
    const INSTEAD: &str = "the user said:\n";
    let result = result.trim();
    if let Some(answers) = result.strip_prefix(ANSWERS) {
        return Some(answers.strip_suffix(AFTER_ANSWERS).unwrap_or(answers));
    }
    let (_, instead) = result.strip_prefix(REFUSED)?.split_once(INSTEAD)?;
    Some(instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_hands_on_the_words_of_the_user_alone() {
        for (result, words) in [
            (
                "User has answered your questions: \"Which?\"=\"Both\". You can now continue with the user's answers in mind.",
                Some("\"Which?\"=\"Both\""),
            ),
            (
                "User has answered your questions: \"Which?\"=\"Both\"",
                Some("\"Which?\"=\"Both\""),
            ),
            (
                "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nAsk first.\nAlways.",
                Some("Ask first.\nAlways."),
            ),
            (
                "The user doesn't want to proceed with this tool use. STOP.",
                None,
            ),
            ("1\tUser has answered your questions: no", None),
            ("He says: the user said:\nx", None),
            ("", None),
        ] {
            assert_eq!(handed_on(result), words, "{result}");
        }
    }
}
