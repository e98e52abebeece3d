//! Which words of the user a result still holds, looked up in the text of its summary.
//!
//! PURE. Never asks who wrote the summary, nor what it was meant to tell.

use std::collections::BTreeSet;

use memchr::memmem;

use super::summing::Summing;
use crate::facts::{Left, is_told_picture, picture, said};
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
    /// The lines of the pictures and documents beside them, which are gone.
    pub pictures: Vec<u32>,
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
                    let pictures = self.pictures(message);
                    words.pictures.extend(std::iter::repeat_n(line, pictures));
                    let mut texts = self.texts(message).peekable();
                    if texts.peek().is_none() {
                        // A picture alone.
                    } else if texts.all(|said| is_there(&said)) {
                        words.whole += 1;
                    } else {
                        words.lost.push(line);
                    }
                }
                (_, Left::Summary) => {
                    for said in self.texts(message) {
                        let rows = parse(self.earlier.told(&said)).rows;
                        let requests = rows.iter().filter(|row| row.section == Section::Requests);
                        let words_of = requests.filter(|row| !is_told_picture(&row.text));
                        let lost = words_of.filter(|row| !is_there(&row.text));
                        words.lost.extend(lost.map(|_| line));
                    }
                }
                (_, Left::Nothing | Left::Acknowledgement) => {}
            }
        }
        words
    }

    /// How many pictures and documents a message holds.
    fn pictures(&self, message: &Message) -> usize {
        let blocks = self.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| self.transcript.block(*block));
        let pictures = blocks.filter_map(|block| picture(self.transcript, block));
        pictures.count()
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
