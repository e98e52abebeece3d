//! Which words of the user a result still holds, looked up in the text of its summary.
//!
//! PURE. Never asks who wrote the summary, nor what it was meant to tell.

use std::collections::BTreeSet;

use memchr::memmem;

use super::summary::Summing;
use crate::facts::{Left, said};
use crate::summarizer::extractive::{Section, is_put_there, parse};
use crate::transcript::{BlockKind, Message, Typed};

/// What became of the messages that a person typed and a summary replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// How many are there word for word.
    pub whole: u64,
    /// The lines (from 0) of those that are there in part or not at all. What an earlier summary told of such messages counts,
    /// too, with its line.
    pub lost: Vec<u32>,
}

impl Summing<'_> {
    /// Looks for the words of the messages before `tail` in `text`.
    pub(super) fn words_in(&self, tail: usize, text: &str) -> Words {
        let rows = parse(text).rows;
        let rows: BTreeSet<&str> = rows.iter().map(|row| row.text.trim()).collect();
        let is_there = |words: &str| {
            let words = words.trim();
            rows.contains(words) || memmem::find(text.as_bytes(), words.as_bytes()).is_some()
        };
        let mut words = Words::default();
        let messages = self.conversation.messages.iter().zip(self.left).take(tail);
        for (message, left) in messages {
            let line = self.conversation.first_line(message);
            match (message.typed, left) {
                (Typed::Yes, Left::Nothing) => {
                    if self.texts(message).all(|said| is_there(&said)) {
                        words.whole += 1;
                    } else {
                        words.lost.push(line);
                    }
                }
                (_, Left::Summary) => {
                    for said in self.texts(message) {
                        let rows = parse(self.earlier.told(&said)).rows;
                        let requests = rows.iter().filter(|row| row.section == Section::Requests);
                        let lost = requests.filter(|row| !is_there(&row.text));
                        words.lost.extend(lost.map(|_| line));
                    }
                }
                (_, Left::Nothing | Left::Acknowledgement) => {}
            }
        }
        words
    }

    /// The texts of a message without what an agent put beside them.
    fn texts<'t>(&'t self, message: &'t Message) -> impl Iterator<Item = String> + 't {
        let blocks = self.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| self.transcript.block(*block));
        let texts = blocks.filter(|block| block.kind == BlockKind::Text);
        let texts = texts.map(|block| said(self.transcript, block).into_owned());
        texts.filter(|text| !is_put_there(text))
    }
}
