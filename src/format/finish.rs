//! Which model answered and why it stopped, if the transcript records it.
//!
//! Answers are reread for this: the first pass over a transcript skips these keys, since few callers need them.

use super::Format;
use crate::scan::Value;
use crate::transcript::{Conversation, Message, Role, Transcript};

/// The keys under which providers and agents record the reason.
const REASONS: [&str; 4] = ["stop_reason", "finish_reason", "finishReason", "stopReason"];

impl Format {
    /// The recorded reason why the last answer of a conversation ended; `None` if it is not recorded.
    pub fn finish_reason(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<String> {
        let last = answers(conversation).next()?;
        let answer = self.dialect().answer(transcript, conversation, last);
        let [.., (_, last)] = answer.in_order(REASONS);
        string_of(last)
    }

    /// The recorded model of the last answer that a model gave; `None` if it is not recorded.
    pub fn model(self, transcript: &Transcript<'_>, conversation: &Conversation) -> Option<String> {
        let dialect = self.dialect();
        let model = |answer| dialect.model_of(transcript, conversation, answer);
        // For answers that the agent itself wrote, the model is empty or a name in angle brackets.
        let is_real = |model: &String| !model.is_empty() && !model.starts_with('<');
        let mut models = answers(conversation).filter_map(model);
        models.find(is_real).or_else(|| {
            let before = dialect.model_before(transcript, conversation);
            before.filter(is_real)
        })
    }

    /// The size of the model's context window in tokens, if the session recorded it.
    pub fn context_window(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<u64> {
        self.dialect().context_window(transcript, conversation)
    }
}

/// The text of a JSON string as it is written: models and reasons have no escapes.
pub(super) fn string_of(value: Value<'_>) -> Option<String> {
    let string = String::from_utf8_lossy(value.string()?);
    Some(string.into_owned())
}

/// The answers of a conversation, the newest first.
fn answers(conversation: &Conversation) -> impl Iterator<Item = &Message> {
    let messages = conversation.messages.iter();
    messages
        .rev()
        .filter(|message| message.role == Role::Assistant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Warnings;

    fn reason(format: Format, text: &str) -> Option<String> {
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        format.finish_reason(&transcript, &transcript.conversations[0])
    }

    #[test]
    fn the_last_answer_says_why_it_ended_under_any_of_its_names() {
        for name in ["stop_reason", "finish_reason", "finishReason", "stopReason"] {
            let text = format!(
                "{}\n{}\n{}\n",
                r#"{"role":"assistant","content":"a","stop_reason":"end_turn"}"#,
                format_args!(r#"{{"role":"assistant","content":"b","{name}":"length"}}"#),
                r#"{"role":"user","content":"c","stop_reason":"max_tokens"}"#,
            );
            assert_eq!(reason(Format::OpenAi, &text).as_deref(), Some("length"));
        }
        let none = r#"{"role":"assistant","content":"stop_reason","x":{"stop_reason":"length"}}"#;
        assert_eq!(reason(Format::Anthropic, none), None);
        let native = r#"{"type":"assistant","uuid":"1","parentUuid":null,"sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"max_tokens"}}"#;
        let native = reason(Format::ClaudeCode, native);
        assert_eq!(native.as_deref(), Some("max_tokens"));
    }

    #[test]
    fn codex_names_the_model_of_each_turn() {
        let turn = |model: &str| {
            format!(
                r#"{{"timestamp":"t","type":"turn_context","payload":{{"cwd":"/w","model":"{model}"}}}}"#
            )
        };
        let said = |role: &str, part: &str| {
            format!(
                r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":"model turn_context"}}]}}}}"#
            )
        };
        let text = [
            r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","timestamp":"t","cwd":"/w","originator":"o","cli_version":"0.1","model":"no"}}"#.to_owned(),
            turn("one"),
            said("user", "input_text"),
            turn("two"),
            said("assistant", "output_text"),
            turn("three"),
            said("user", "input_text"),
        ]
        .join("\n");
        let transcript = Format::Codex.read(text.as_bytes(), 1, &mut Warnings::default());
        let model = Format::Codex.model(&transcript, &transcript.conversations[0]);
        assert_eq!(model.as_deref(), Some("two"));
    }

    #[test]
    fn the_model_is_that_of_the_last_answer_that_a_model_gave() {
        let line = |model: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"{model}","sessionId":"s","message":{{"model":"{model}","id":"{model}","role":"assistant","content":[{{"type":"text","text":"a"}}]}}}}"#
            )
        };
        let text = [line("one"), line("<synthetic>")].join("\n");
        let text = text.replace(r#""uuid":"one","#, r#""uuid":"one","parentUuid":null,"#);
        let text = text.replace(r#"c>","sessionId"#, r#"c>","parentUuid":"one","sessionId"#);
        let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
        let model = Format::ClaudeCode.model(&transcript, &transcript.conversations[0]);
        assert_eq!(model.as_deref(), Some("one"));
        let plain = r#"{"role":"assistant","content":"a"}"#;
        let transcript = Format::OpenAi.read(plain.as_bytes(), 1, &mut Warnings::default());
        assert_eq!(
            Format::OpenAi.model(&transcript, &transcript.conversations[0]),
            None
        );
    }

    #[test]
    fn the_model_of_a_session_outlives_its_answers() {
        let text = concat!(
            r#"{"type":"assistant","uuid":"1","parentUuid":null,"sessionId":"s","message":{"id":"m","role":"assistant","model":"claude-test-1","content":[]}}"#,
            "\n",
            r#"{"type":"system","subtype":"compact_boundary","uuid":"2","parentUuid":"1","sessionId":"s"}"#,
            "\n",
            r#"{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"a"}}"#,
        );
        let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
        let main = &transcript.conversations[0];
        assert_eq!(main.messages.len(), 1);
        let model = Format::ClaudeCode.model(&transcript, main);
        assert_eq!(model.as_deref(), Some("claude-test-1"));
    }
}
