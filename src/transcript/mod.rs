//! The model of a transcript: lines, the blocks on them, and the conversations that they form.
//!
//! A [`Transcript`] borrows the input's bytes and adds spans and small facts to them; texts stay where they are. It has two levels.
//! The *record* of a line (its [`Line`], [`Block`]s, [`Text`]s and [`Link`]) follows from that line's bytes alone. The
//! *conversations* follow from all records together. An edited line gets a new record from its new bytes and the conversations are
//! rebuilt, so what is verified is what will be written.
//!
//! Flat vectors and 32-bit spans keep all of it near a tenth of the input's size.
//!
//! Reads and writes no file, and decides nothing about compaction.

mod block;
mod changes;
mod conversation;
mod document;
mod link;
mod parts;
mod records;
mod typed;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use block::{Author, Block, BlockKind, Mirror, Outcome, Role, Shape, Source, Unit};
pub use changes::{ChangeSet, Replace};
pub use conversation::{Conversation, ConversationId, Message, Spared, SummaryMark, Typed};
pub use link::{Answer, Compaction, Link, LinkKind};
pub use records::{BlockMark, Record, TextMark};
pub use typed::{mentioned_in, typed_in};

use crate::scan::{Anomalies, BOM, Eol, Span, Text, decoded};

/// One input: a file, standard input, or one line of a conversation-per-line file.
#[derive(Debug, Clone)]
pub struct Transcript<'a> {
    /// The input as it was read.
    base: &'a [u8],
    /// All lines, in the order of the file.
    lines: Vec<Line>,
    /// New bytes of edited lines, without their endings.
    edited: BTreeMap<u32, Vec<u8>>,
    /// The lines that are edited or dropped.
    touched: BTreeSet<u32>,
    blocks: Vec<Block>,
    texts: Vec<Text>,
    mirrors: Vec<Mirror>,
    /// The links between lines; empty for formats whose lines are in sequence.
    links: Vec<Link>,
    /// Messages in the order of their lines, for formats that put whole messages on a line.
    units: Vec<Unit>,
    /// The live conversations, one for each context window.
    pub conversations: Vec<Conversation>,
}

/// One raw line.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// First byte in the input; the line's ending follows its last byte.
    pub start: usize,
    /// Bytes without the ending.
    pub len: u32,
    /// How it ends.
    pub eol: Eol,
    /// What it is.
    pub kind: LineKind,
    /// What is odd about its bytes.
    pub anomalies: Anomalies,
    /// Whether it is in the input and in the output.
    pub presence: Presence,
    /// Its blocks, by their numbers in the transcript.
    blocks: (u32, u32),
}

/// Whether a line is in the input and in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is part of the output.
    Kept,
    /// It was dropped from the output and no longer has content.
    Dropped,
    /// It was inserted: the input does not have it.
    Inserted,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Part of what a model saw: a message, several messages, or a part of one.
    Message,
    /// Repeats a message for a viewer (`progress`).
    Mirror,
    /// Steers the session: compaction boundaries, leaf pointers.
    Control,
    /// Describes the session: headers, titles, snapshots.
    Session,
    /// A JSON object of an unknown type.
    Unknown,
    /// Unreadable; passed through.
    Bad,
}

impl<'a> Transcript<'a> {
    /// The input as it was read.
    pub fn base(&self) -> &'a [u8] {
        self.base
    }

    /// All lines, in the order of the file.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The current bytes of a line, without its ending.
    pub fn line(&self, line: u32) -> &[u8] {
        self.edited
            .get(&line)
            .map_or_else(|| self.original_line(line), Vec::as_slice)
    }

    /// The bytes of a line as they were read, without its ending.
    pub fn original_line(&self, line: u32) -> &'a [u8] {
        let Line { start, len, .. } = self.lines[line as usize];
        &self.base[start..start + len as usize]
    }

    /// Whether a line's bytes differ from the input.
    pub fn is_edited(&self, line: u32) -> bool {
        self.edited.contains_key(&line)
    }

    /// Whether a line is part of the output.
    pub fn is_there(&self, line: u32) -> bool {
        match self.lines[line as usize].presence {
            Presence::Kept | Presence::Inserted => true,
            Presence::Dropped => false,
        }
    }

    /// Whether any line was dropped.
    pub fn has_dropped(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| line.presence == Presence::Dropped)
    }

    /// The number (from 0) of each line in the input; for an inserted line, that of the line after it.
    pub fn input_lines(&self) -> Vec<u32> {
        let mut next = 0;
        let number = |line: &Line| {
            let number = next;
            next += u32::from(line.presence != Presence::Inserted);
            number
        };
        self.lines.iter().map(number).collect()
    }

    /// The header of a block's content, without the opening quote: the bytes that stay when the content is replaced.
    pub fn header(&self, block: &Block) -> &[u8] {
        let start = block.content.start + u32::from(block.header > 0);
        let len = block.header;
        self.bytes(block.line, Span { start, len })
    }

    /// The bytes of a span of a line.
    #[inline]
    pub fn bytes(&self, line: u32, span: Span) -> &[u8] {
        span.of(self.line(line))
    }

    /// The block with this number.
    pub fn block(&self, block: u32) -> &Block {
        &self.blocks[block as usize]
    }

    /// The number of blocks, including those of replaced records.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The numbers of the blocks of a line.
    pub fn blocks_of_line(&self, line: u32) -> std::ops::Range<u32> {
        let (start, end) = self.lines[line as usize].blocks;
        start..end
    }

    /// The call that is stored in the same element as its result. The two belong together, whatever their ids.
    pub fn call_beside(&self, result: u32) -> Option<u32> {
        let answers = self.block(result);
        let is_beside = |other: &Block| {
            other.line == answers.line && other.tool == answers.tool && !answers.tool.is_empty()
        };
        let mut before = (0..result).rev().take_while(|b| is_beside(self.block(*b)));
        before.find(|b| self.block(*b).kind == BlockKind::Call)
    }

    /// The texts of a block's content that a model reads.
    pub fn texts(&self, block: &Block) -> &[Text] {
        &self.texts[block.texts.0 as usize..block.texts.1 as usize]
    }

    /// The bytes of a line outside of the long texts that its reader found, for a search that need not look at them.
    pub(crate) fn outside_texts(&self, line: u32) -> impl Iterator<Item = &[u8]> {
        /// Searching a shorter text costs less than skipping it.
        const LONG: u32 = 64;
        let bytes = self.line(line);
        let blocks = self.blocks_of_line(line);
        let texts = blocks.flat_map(|block| self.texts(self.block(block)));
        let spans = texts.map(|text| (text.span.start as usize, text.span.end(), text.span.len));
        let end = (bytes.len(), bytes.len(), LONG);
        let mut at = 0;
        spans.chain([end]).filter_map(move |(start, end, len)| {
            let outside = (start >= at && len >= LONG).then(|| &bytes[at..start])?;
            at = end;
            Some(outside)
        })
    }

    /// The texts of a block, separated by line breaks. Invalid UTF-8 is replaced.
    pub fn block_text(&self, block: &Block) -> Cow<'_, str> {
        let one = |text: &Text| decoded(self.bytes(block.line, text.span));
        match self.texts(block) {
            [text] => one(text),
            texts => {
                let texts: Vec<Cow<'_, str>> = texts.iter().map(one).collect();
                Cow::Owned(texts.join("\n"))
            }
        }
    }

    /// Values outside of the messages that repeat results.
    pub fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }

    /// The links between lines; empty for formats without a tree.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whole messages on a line, in order; empty for formats with a tree.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The edited lines, with their new bytes.
    pub fn edited(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.edited
            .iter()
            .map(|(line, bytes)| (*line, bytes.as_slice()))
    }

    /// The whole transcript as it is now, in pieces: long runs of untouched bytes, and new lines.
    pub fn pieces(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match self.is_document() {
            true => Box::new(self.document_pieces()),
            false => Box::new(self.line_pieces()),
        }
    }

    fn line_pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        let touched = self.touched.iter().flat_map(move |line| {
            let slot = &self.lines[*line as usize];
            let run = &self.base[at..slot.start];
            at = slot.start + slot.len as usize;
            let new = self.edited.get(line).map_or(&[][..], Vec::as_slice);
            match slot.presence {
                Presence::Kept => [run, new, &[], &[]],
                Presence::Dropped => {
                    at += slot.eol.bytes().len();
                    [run, &[], &[], &[]]
                }
                Presence::Inserted => [run, self.missing_end(*line), new, slot.eol.bytes()],
            }
        });
        let last = self.touched.last().map(|line| &self.lines[*line as usize]);
        let rest = last.map_or(0, |slot| match slot.presence {
            Presence::Kept | Presence::Inserted => slot.start + slot.len as usize,
            Presence::Dropped => slot.start + slot.len as usize + slot.eol.bytes().len(),
        });
        [self.guard()]
            .into_iter()
            .chain(touched)
            .chain([&self.base[rest..]])
            .filter(|piece| !piece.is_empty())
    }

    /// A blank line, if the first line of the output would begin with a byte order mark. Without it, the mark would count as the
    /// file's own, and the line would become readable.
    fn guard(&self) -> &'static [u8] {
        let is_there = |line: &&Line| line.presence != Presence::Dropped;
        let first = self.lines.iter().position(|line| is_there(&line));
        let Some(first) = first.filter(|_| !self.base.starts_with(BOM)) else {
            return b"";
        };
        match self.lines[first].eol {
            _ if !self.line(first as u32).starts_with(BOM) => b"",
            Eol::CrLf => Eol::CrLf.bytes(),
            Eol::Lf | Eol::None | Eol::Element | Eol::Frame | Eol::Within => Eol::Lf.bytes(),
        }
    }

    /// The missing line ending before an inserted line: the last line of the input may have none.
    fn missing_end(&self, inserted: u32) -> &'static [u8] {
        let own = self.lines[inserted as usize].eol;
        let before = self.lines[..inserted as usize].iter();
        // An inserted line that was dropped again.
        let never = |line: &&Line| {
            line.presence == Presence::Dropped && line.len == 0 && line.eol == Eol::None
        };
        let before = before.rev().find(|line| !never(line));
        match before.map(|line| (line.presence, line.eol)) {
            Some((Presence::Kept, Eol::None)) => own.bytes(),
            Some((Presence::Kept | Presence::Dropped | Presence::Inserted, _)) | None => b"",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_stays_small() {
        // A line of a real session has 1 to 2 kB; these sizes determine how much memory its record takes.
        assert!(size_of::<Line>() <= 32);
        assert!(size_of::<Block>() <= 56);
        assert!(size_of::<Text>() <= 16);
        assert!(size_of::<Link>() <= 40);
        assert!(size_of::<Unit>() <= 40);
        assert!(size_of::<Message>() <= 40);
    }
}
