//! Decisions and their reasons: sentences of the assistant that state one.
//!
//! Recognised by their words alone (`stance`); never inferred from actions.

use super::stance::{decides, takes_back};
use super::{FactLocation, block_text};
use crate::transcript::{BlockKind, Conversation, Role, Transcript};

/// A sentence that decides something or gives a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The text that contains it.
    pub place: FactLocation,
    /// The sentence, trimmed.
    pub text: String,
}

/// The decisions of a conversation, in its order.
pub fn decisions(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for (message, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        if block.kind != BlockKind::Text || conversation.messages[message].role != Role::Assistant {
            continue;
        }
        let place = FactLocation {
            message: message as u32,
            line: block.line,
            block: number,
        };
        let text = block_text(transcript, block);
        let deciding = sentences(&text).filter(|sentence| decides(sentence));
        decisions.extend(deciding.map(|sentence| Decision {
            place,
            text: sentence.to_owned(),
        }));
    }
    decisions
}

/// The sentences of a text, trimmed; a line break always ends one. One that takes back what precedes it belongs to that: alone,
/// the first would be told as if it held.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split('\n').flat_map(sentences_of_line);
    let mut all = all
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .peekable();
    let place = |sentence: &str| sentence.as_ptr() as usize - text.as_ptr() as usize;
    std::iter::from_fn(move || {
        let first = all.next()?;
        let (start, mut end) = (place(first), place(first) + first.len());
        while let Some(next) = all.next_if(|next| takes_back(next)) {
            end = place(next) + next.len();
        }
        Some(&text[start..end])
    })
}

fn sentences_of_line(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, others) = rest.split_at(end_of_sentence(rest));
        rest = others.trim_start();
        Some(sentence)
    })
}

/// Characters that may separate sentences without a blank.
const CLOSING: [char; 14] = [
    '。', '！', '？', '｡', '”', '’', '」', '』', '）', '》', '】', '〉', '"', ')',
];

/// One past the end of the first sentence of a text without leading blanks. A full stop ends a sentence if a blank follows, unless
/// the next letter is lower-case, as in `e.g. this`.
fn end_of_sentence(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        match c {
            '。' | '！' | '？' | '｡' => {
                // Further stops and closing quotation marks belong to it.
                let after = text[end..].trim_start_matches(CLOSING);
                return text.len() - after.len();
            }
            '!' | '?' if text[end..].starts_with(|next: char| next >= '\u{2e80}') => return end,
            '.' | '!' | '?' if chars.peek().is_some_and(|(_, next)| *next == ' ') => {
                let rest = text[end..].trim_start();
                let goes_on = at <= 2 || rest.starts_with(|c: char| c.is_lowercase());
                if !goes_on && !is_number_of_item(&text[..at]) {
                    return end;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Whether the text before a full stop is only a number: of a heading, as in `### 1. this`, or of a list item.
fn is_number_of_item(before: &str) -> bool {
    let number = before.trim_start_matches(['#', '*', '_', '-', '>', '(', ' ']);
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn a_decision_says_that_it_is_one() {
        for decision in [
            "I went back to serde because jiff cannot.",
            "Root cause: the lock is taken twice.",
            "We keep two files rather than one.",
            "改用 rayon。",
        ] {
            assert!(decides(decision), "{decision}");
        }
        for other in [
            "The tests pass.",
            "Undecided values stay.",
            "A chosenness of names",
            "",
        ] {
            assert!(!decides(other), "{other}");
        }
    }

    #[test]
    fn what_is_taken_back_is_not_told_without_that() {
        for together in [
            "Use tabs. No, wait: spaces.",
            "I'll use jiff instead of chrono. Actually, no.",
            "We keep two files.\n\nScratch that, one is enough.",
            "Use tabs. Wait, two spaces. No, wait, four.",
            "Wir nehmen Tabs. Nein, doch Leerzeichen.",
            "用制表符。不对，用空格。",
        ] {
            assert_eq!(sentences(together).collect::<Vec<_>>(), [together]);
        }
        for apart in [
            "Use tabs. Wait for the build.",
            "It is done. Actually, let me look at it.",
            "Use tabs. No spaces.",
        ] {
            assert_eq!(sentences(apart).count(), 2, "{apart}");
        }
    }

    #[test]
    fn only_what_the_assistant_says_counts() {
        let lines = concat!(
            r#"{"role":"user","content":"Use jiff instead of chrono."}"#,
            "\n",
            r#"{"role":"assistant","content":[{"type":"text","text":"I read it. The fix is one line.\nIt must not panic"}]}"#,
        );
        let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
        let found = decisions(&transcript, &transcript.conversations[0]);
        let texts: Vec<(u32, &str)> = found
            .iter()
            .map(|d| (d.place.line, d.text.as_str()))
            .collect();
        assert_eq!(
            texts,
            [(1, "The fix is one line."), (1, "It must not panic")]
        );
    }

    #[test]
    fn sentences_end_where_they_do_in_any_script() {
        let text = "It works, e.g. here. Next one!\n\n1. First. Second\n### 12. A title\n- **2. B** in 3. C\n完成了。还有吗？ no end\n他说：“好！”看a.rs里!走吧\n---";
        let found: Vec<&str> = sentences(text).collect();
        assert_eq!(
            found,
            [
                "It works, e.g. here.",
                "Next one!",
                "1. First.",
                "Second",
                "### 12. A title",
                "- **2. B** in 3.",
                "C",
                "完成了。",
                "还有吗？",
                "no end",
                "他说：“好！”",
                "看a.rs里!",
                "走吧"
            ]
        );
    }
}
