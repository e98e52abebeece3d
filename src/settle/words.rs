//! Determines which of the user's messages are preserved verbatim, by looking them up in the text of the summary.
//!
//! PURE. Looks at the text alone, whatever its author and its purpose.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use memchr::memmem;

use super::composer::Composer;
use crate::facts::{MessageOrigin, block_text, describes_pictures, picture, queued_pictures};
use crate::summarizer::extractive::{Section, left_out, parse, words_with_results};
use crate::transcript::{BlockKind, Message, Typed, typed_in};

/// What became of the typed messages that a summary replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedMessages {
    /// How many are in the summary verbatim, including the user's words in messages with results.
    pub verbatim: u64,
    /// The lines (from 0) of those that are there in part or not at all. Messages quoted by an earlier summary count too, with
    /// the line of that summary.
    pub lost: Vec<u32>,
    /// The lines (from 0) of the pictures and documents in these messages; they are removed.
    pub pictures: Vec<u32>,
}

impl Composer<'_> {
    /// Looks for the messages before `first_kept` in `text`.
    pub(super) fn typed_messages(&self, first_kept: usize, text: &str) -> TypedMessages {
        let rows = parse(text).rows;
        let rows: BTreeSet<&str> = rows.iter().map(|row| row.text.trim()).collect();
        let text = Text::new(text);
        let is_there = |words: &str| {
            let words = words.trim();
            rows.contains(words) || text.contains(words)
        };
        let mut words = TypedMessages::default();
        let messages = self
            .subject
            .conversation
            .messages
            .iter()
            .zip(self.subject.cutter.origins())
            .take(first_kept);
        for (message, origin) in messages {
            let line = self.subject.conversation.first_line(message);
            let is_users = message.typed == Typed::Yes || self.is_attachment(message);
            if is_users && *origin == MessageOrigin::Session {
                let pictures = self.pictures(message);
                words.pictures.extend(std::iter::repeat_n(line, pictures));
            }
            match (message.typed, origin) {
                (Typed::Yes, MessageOrigin::Session) => {
                    let mut texts = self.texts(message).peekable();
                    if texts.peek().is_none() {
                        // The message is only a picture.
                    } else if texts.all(|said| is_there(&said)) {
                        words.verbatim += 1;
                    } else {
                        words.lost.push(line);
                    }
                }
                (_, MessageOrigin::Summary) => {
                    for said in self.texts(message) {
                        let rows = parse(self.subject.earlier.summary_in(&said)).rows;
                        let requests = rows.iter().filter(|row| row.section == Section::Requests);
                        let is_note =
                            |text: &str| describes_pictures(text) || left_out(text).is_some();
                        let words_of = requests.filter(|row| !is_note(&row.text));
                        let lost = words_of.filter(|row| !is_there(&row.text));
                        words.lost.extend(lost.map(|_| line));
                    }
                }
                (Typed::No, MessageOrigin::Session) => {
                    let conversation = self.subject.conversation;
                    let acts = self.subject.acts();
                    let transcript = self.subject.transcript;
                    let all = words_with_results(transcript, conversation, acts, message);
                    match all.iter().find(|(_, said)| !is_there(said)) {
                        Some((line, _)) => words.lost.push(*line),
                        None => words.verbatim += u64::from(!all.is_empty()),
                    }
                }
                (_, MessageOrigin::Acknowledgement) => {}
            }
        }
        words
    }

    /// Whether the agent attached the message: it may be what the user typed while the agent was working.
    fn is_attachment(&self, message: &Message) -> bool {
        let mut blocks = self.subject.conversation.blocks(message).iter();
        blocks.all(|block| self.subject.transcript.block(*block).kind == BlockKind::Attachment)
    }

    /// The number of pictures and documents in a message.
    fn pictures(&self, message: &Message) -> usize {
        let blocks = self.subject.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| self.subject.transcript.block(*block));
        let transcript = self.subject.transcript;
        let of = |block| match picture(transcript, block) {
            Some(_) => 1,
            None => queued_pictures(transcript, block).len(),
        };
        blocks.map(of).sum()
    }

    /// The texts of a message without those that the agent added.
    fn texts<'t>(&'t self, message: &'t Message) -> impl Iterator<Item = String> + 't {
        let blocks = self.subject.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| self.subject.transcript.block(*block));
        let texts = blocks.filter(|block| block.is_words());
        let texts = texts.map(|block| block_text(self.subject.transcript, block));
        texts.filter_map(|text| Some(typed_in(&text)?.to_owned()))
    }
}

/// A text in which many others are searched for, most of which it does not contain.
struct Text<'t> {
    text: &'t str,
    /// A Bloom filter of its byte sequences of the lengths in [`IN_A_ROW`].
    seen: OnceCell<Vec<u64>>,
}

/// The lengths of byte sequences in the filter: one short enough for short texts, and one long enough to be rare.
const IN_A_ROW: [usize; 2] = [8, 32];

impl<'t> Text<'t> {
    fn new(text: &'t str) -> Self {
        Text {
            text,
            seen: OnceCell::new(),
        }
    }

    /// Whether it contains `words`.
    fn contains(&self, words: &str) -> bool {
        let (text, words) = (self.text.as_bytes(), words.as_bytes());
        let seen = self.seen.get_or_init(|| {
            // 16 bits for each byte of the text, of which at most two are set.
            let mut seen = vec![0; (text.len() / 4).next_power_of_two()];
            for row in IN_A_ROW.iter().flat_map(|len| text.windows(*len)) {
                let (at, bit) = bit_of(row, seen.len());
                seen[at] |= bit;
            }
            seen
        });
        let is_seen = |row: &[u8]| {
            let (at, bit) = bit_of(row, seen.len());
            seen[at] & bit != 0
        };
        let mut rows = IN_A_ROW.iter().flat_map(|len| words.chunks_exact(*len));
        // Searching the whole text each time would be quadratic.
        rows.all(is_seen) && memmem::find(text, words).is_some()
    }
}

/// The index of a byte sequence's 64-bit word among `words` words, and its bit in that word.
fn bit_of(row: &[u8], words: usize) -> (usize, u64) {
    let hash = FixedState::default().hash_one(row);
    ((hash / 64) as usize & (words - 1), 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_holds_what_it_holds(text in "[ab]{0,40}", words in "[ab]{0,12}") {
            prop_assert_eq!(Text::new(&text).contains(&words), text.contains(&words));
        }
    }

    #[test]
    fn a_long_text_holds_its_parts_and_nothing_else() {
        let text: String = (0..5_000)
            .map(|n| format!("The gauge {n} is read. "))
            .collect();
        let all = Text::new(&text);
        for n in 0..5_000 {
            assert!(all.contains(&format!("The gauge {n} is read.")));
            assert!(!all.contains(&format!("The gauge {n} is lost.")));
        }
    }
}
