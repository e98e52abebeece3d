//! Why a model stopped, where the transcript has kept that.
//!
//! A second look at the last answer: reading a transcript passes this by, since few ask for it.

use super::Format;
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{Conversation, Role, Transcript};

/// The names that providers and agents give to it.
const NAMES: [&[u8]; 4] = [
    b"stop_reason",
    b"finish_reason",
    b"finishReason",
    b"stopReason",
];

impl Format {
    /// The recorded reason why the last answer of a conversation ended; `None` where it is not recorded.
    pub fn finish_reason(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Option<String> {
        let messages = conversation.messages.iter();
        let last = messages
            .rev()
            .find(|message| message.role == Role::Assistant)?;
        // An answer over several lines has it on the last of them.
        let line = *conversation.lines(last).last()?;
        let bytes = transcript.line(line);
        let mut reason = None;
        let read = match self {
            Format::Anthropic | Format::OpenAi | Format::AiSdk => {
                let object = last.object;
                found(&mut Cursor::new(object.of(bytes)), &mut reason)
                    .map(|()| reason.map(|span: Span| span.of(object.of(bytes))))
            }
            Format::ClaudeCode | Format::Pi => Cursor::new(bytes)
                .object(|key, c| match (key, c.kind()?) {
                    (b"message", Kind::Object) => found(c, &mut reason),
                    _ => c.skip().map(drop),
                })
                .map(|_| reason.map(|span| span.of(bytes))),
        };
        let reason = read.ok()??;
        Some(String::from_utf8_lossy(reason).into_owned())
    }
}

/// The reason among the keys of a message.
fn found(c: &mut Cursor<'_>, reason: &mut Option<Span>) -> Parse<()> {
    c.object(|key, c| {
        if NAMES.contains(&key) {
            *reason = c.string_or_skip()?.map(|text| text.span);
        } else {
            c.skip()?;
        }
        Ok(())
    })
    .map(drop)
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
}
