//! The note below the user's words that states how many messages are left out.
//!
//! A later summary reads it back and adds to it, so that no message is lost without a trace. It is not part of the user's words.

/// What is around the number.
const BEFORE: &str = "[";
const MESSAGES: [&str; 2] = [" message", " messages"];
const AFTER: &str = " of the user left out: no room]";

/// The note.
pub(super) fn written(messages: u64) -> String {
    let noun = MESSAGES[usize::from(messages != 1)];
    format!("{BEFORE}{messages}{noun}{AFTER}")
}

/// The number in a text that is such a note.
pub fn left_out(text: &str) -> Option<u64> {
    let rest = text.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    let mut nouns = MESSAGES.iter();
    let number = nouns.find_map(|noun| rest.strip_suffix(noun)?.parse().ok())?;
    (written(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back() {
        for messages in [1, 2, 1_234] {
            assert_eq!(left_out(&written(messages)), Some(messages));
        }
        for text in ["", "[x]", "[1 messages of the user left out: no room]", "1"] {
            assert_eq!(left_out(text), None, "{text}");
        }
    }
}
