//! The tokens that a provider counted for the request behind an answer, if the transcript records them.
//!
//! Lines are reread for this: the first pass over a transcript skips these figures, since few callers need them.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::Format;
use crate::scan::{Span, Value};
use crate::transcript::{Conversation, Message, Replace, Role, Transcript};

/// Anthropic's names of the figures that add up to a request's tokens.
pub(super) const ANTHROPIC: [&str; 3] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
];
/// OpenAI's name of the figure that is their sum.
const OPENAI: &str = "prompt_tokens";

/// How much of a window is left after a compaction.
///
/// A provider counts more than the transcript contains, and in other units, so its figures are reduced in the same proportion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The window's tokens before.
    pub before: u64,
    /// The window's tokens after, counted in the same way.
    pub after: u64,
}

impl Share {
    /// How much lower a provider's count would now be than `recorded`.
    pub fn saved(self, recorded: u64) -> u64 {
        if self.after >= self.before {
            return 0;
        }
        let left = u128::from(recorded) * u128::from(self.after) / u128::from(self.before);
        recorded - left as u64
    }
}

/// Lowers figures of a line by `saved` in all, one after the other as far as each goes.
pub(super) fn lowered(
    line: u32,
    figures: impl IntoIterator<Item = (Span, u64)>,
    saved: u64,
) -> impl Iterator<Item = Replace> {
    let mut left = saved;
    figures.into_iter().filter_map(move |(span, value)| {
        let by = left.min(value);
        left -= by;
        (by > 0).then(|| Replace::number(line, span, value - by))
    })
}

impl Format {
    /// The tokens of the request that `message` answers, as the provider counted them; `None` if nothing, or nothing but zeros, is
    /// recorded.
    ///
    /// An answer that spans several lines records the usage on each of them; the last one counts.
    pub fn recorded(
        self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> Option<u64> {
        if message.role != Role::Assistant {
            return None;
        }
        let recorded = self.dialect().recorded(transcript, conversation, message);
        recorded.filter(|tokens| *tokens > 0)
    }
}

/// The key of a usage object, without which nothing is parsed.
const KEY: &[u8] = b"\"usage\"";

/// Whether a line may have a usage object: its key is written outside of the texts.
pub(super) fn may_be_on(transcript: &Transcript<'_>, line: u32) -> bool {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(KEY));
    let mut outside = transcript.outside_texts(line);
    outside.any(|bytes| FINDER.find(bytes).is_some())
}

/// The tokens recorded in the usage object at the end of a path; the sum of `parts` if no total is recorded.
pub(super) fn recorded(at: Value<'_>, path: &[&str], parts: [&str; 3]) -> Option<u64> {
    memmem::find(at.raw(), KEY)?;
    let usage = at.within(path);
    usage.field(OPENAI).number().or_else(|| {
        let parts = usage.fields(parts).into_iter();
        parts.filter_map(Value::number).reduce(u64::saturating_add)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Warnings;

    fn recorded(format: Format, text: &str) -> Vec<Option<u64>> {
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let each = conversation.messages.iter();
        each.map(|m| format.recorded(&transcript, conversation, m))
            .collect()
    }

    #[test]
    fn what_was_counted_goes_down_by_the_share_that_has_left() {
        let saved = |before, after, recorded| Share { before, after }.saved(recorded);
        // The transcript's count excludes calls; the provider's count includes everything.
        assert_eq!(saved(9_030, 2_210, 296_601), 296_601 - 72_590);
        assert_eq!(saved(10, 0, 7), 7);
        assert_eq!(saved(0, 0, 7), 0);
        assert_eq!(saved(10, 10, 7), 0);
        assert_eq!(saved(10, 11, 7), 0);
        assert_eq!(saved(u64::MAX, u64::MAX / 2, u64::MAX), u64::MAX / 2 + 1);
    }

    #[test]
    fn parts_of_a_request_are_added_and_the_whole_stands_for_itself() {
        let text = concat!(
            r#"{"role":"user","content":"a","usage":{"input_tokens":9}}"#,
            "\n",
            r#"{"role":"assistant","content":"a","usage":{"input_tokens":3,"output_tokens":99,"cache_read_input_tokens":40,"cache_creation_input_tokens":500,"cache_creation":{"input_tokens":7}}}"#,
            "\n",
            r#"{"role":"assistant","content":"a","usage":{"prompt_tokens":70,"completion_tokens":5,"input_tokens":1}}"#,
            "\n",
            r#"{"role":"assistant","content":"{\"usage\":{\"input_tokens\":1}}"}"#,
            "\n",
            r#"{"role":"assistant","content":"a","usage":{"input_tokens":0}}"#,
            "\n",
            r#"{"role":"assistant","content":"a","usage":{"input_tokens":"many","x":1.5}}"#,
            "\n",
        );
        let expected = [None, Some(543), Some(70), None, None, None];
        assert_eq!(recorded(Format::Anthropic, text), expected);
        assert_eq!(recorded(Format::OpenAi, text), expected);
    }

    #[test]
    fn an_answer_over_several_lines_is_one_request_and_one_made_up_is_none() {
        let line = |id: u32, message: &str, extra: &str, usage: &str| {
            format!(
                "{{\"parentUuid\":\"{}\",\"uuid\":\"{id}\",\"sessionId\":\"s\",\"type\":\"assistant\"{extra},\"message\":{{\"id\":\"{message}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{id}\",\"name\":\"n\",\"input\":{{\"usage\":{{\"input_tokens\":1}}}}}}],\"usage\":{usage}}}}}\n",
                id - 1
            )
        };
        let text = line(1, "m1", "", r#"{"input_tokens":10}"#)
            + &line(2, "m1", "", r#"{"input_tokens":11}"#)
            + &line(3, "m2", "", r#"{"input_tokens":20}"#)
            + &line(
                4,
                "m3",
                ",\"isApiErrorMessage\":true",
                r#"{"input_tokens":30}"#,
            );
        assert_eq!(
            recorded(Format::ClaudeCode, &text),
            [Some(11), Some(20), None]
        );
    }
}
