//! Adds records to a transcript, line by line, and replaces them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Author, Block, BlockKind, Line, LineKind, Link, Mirror, Presence, Role, Source, Transcript,
    Unit,
};
use crate::scan::{Anomalies, Eol, RawLine, Span, Text};

/// The record of one line, which a format's reader fills.
#[derive(Debug)]
pub struct Record<'t, 'a> {
    transcript: &'t mut Transcript<'a>,
    line: u32,
}

/// A position in a record; texts added after it can be discarded or grouped into a block.
#[derive(Debug, Clone, Copy)]
pub struct TextMark(u32);

/// A position in a record's list of blocks.
#[derive(Debug, Clone, Copy)]
pub struct BlockMark(u32);

impl Record<'_, '_> {
    /// The line's number, from 0.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// How the line ends.
    pub fn eol(&self) -> Eol {
        self.transcript.lines[self.line as usize].eol
    }

    /// Sets what is odd about the line's bytes.
    pub fn anomalies(&mut self, anomalies: Anomalies) {
        self.transcript.lines[self.line as usize].anomalies = anomalies;
    }

    /// The position of the next text.
    pub fn text_mark(&self) -> TextMark {
        TextMark(self.transcript.texts.len() as u32)
    }

    /// Adds a text to the content that is being read.
    pub fn text(&mut self, text: Text) {
        self.transcript.texts.push(text);
    }

    /// Discards the texts since `mark`.
    pub fn forget_texts(&mut self, mark: TextMark) {
        self.transcript.texts.truncate(mark.0 as usize);
    }

    /// Whether there are no blocks since `mark`, or only empty ones.
    pub fn reads_nothing(&self, mark: BlockMark) -> bool {
        // An empty string still has its quotes.
        let is_empty = |block: &Block| {
            block.content.len <= 2
                && block.images == 0
                && block.documents == 0
                && block.tool.is_empty()
        };
        self.transcript.blocks[mark.0 as usize..]
            .iter()
            .all(is_empty)
    }

    /// The position of the next block.
    pub fn block_mark(&self) -> BlockMark {
        BlockMark(self.transcript.blocks.len() as u32)
    }

    /// Adds a block that gets the texts since `texts`.
    pub fn block(&mut self, block: Block, texts: TextMark) {
        let end = self.transcript.texts.len() as u32;
        self.transcript.blocks.push(Block {
            line: self.line,
            texts: (texts.0, end),
            ..block
        });
    }

    /// Discards the blocks since `mark` but keeps their texts: they turned out to be parts of another block.
    pub fn forget_blocks(&mut self, mark: BlockMark) {
        self.transcript.blocks.truncate(mark.0 as usize);
    }

    /// The text at the start of the blocks since `mark`, if any; `line` is the line being read. A leading reminder is skipped if
    /// something else follows.
    pub fn first_words<'l>(&self, mark: BlockMark, line: &'l [u8]) -> Option<&'l [u8]> {
        let blocks = self.transcript.blocks.get(mark.0 as usize..)?;
        let words = |block: &Block| {
            let texts = block.texts.0 as usize..block.texts.1 as usize;
            let text = self.transcript.texts.get(texts)?.first()?;
            (block.kind == BlockKind::Text).then(|| text.span.of(line))
        };
        let is_reminder = |words: &[u8]| words.trim_ascii_start().starts_with(b"<system-reminder>");
        let is_other = |block: &&Block| !words(block).is_some_and(is_reminder);
        words(blocks.iter().find(is_other).or(blocks.first())?)
    }

    /// Sets who wrote the texts since `mark`: `author` is called with each text as written in `line`, the line being read.
    pub fn authors(
        &mut self,
        mark: BlockMark,
        line: &[u8],
        mut author: impl FnMut(&[u8]) -> Author,
    ) {
        let transcript = &mut *self.transcript;
        for block in &mut transcript.blocks[mark.0 as usize..] {
            let text = transcript.texts.get(block.texts.0 as usize);
            if let (BlockKind::Text, Some(text)) = (block.kind, text) {
                block.author = author(text.span.of(line));
            }
        }
    }

    /// Discards blocks and texts since the marks: the line turned out to be something else.
    pub fn forget(&mut self, blocks: BlockMark, texts: TextMark) {
        self.transcript.blocks.truncate(blocks.0 as usize);
        self.forget_texts(texts);
    }

    /// Adds a whole message on this line, with the blocks since `blocks`.
    pub fn unit(
        &mut self,
        role: Role,
        object: Span,
        content: Span,
        source: Source,
        blocks: BlockMark,
    ) {
        let end = self.transcript.blocks.len() as u32;
        let line = self.line;
        self.transcript.units.push(Unit {
            role,
            line,
            object,
            content,
            blocks: (blocks.0, end),
            source,
        });
    }

    /// Sets the links of the line.
    pub fn link(&mut self, link: Link) {
        let line = self.line as usize;
        if self.transcript.links.len() <= line {
            self.transcript.links.resize(line + 1, Link::default());
        }
        self.transcript.links[line] = link;
    }

    /// Adds a value outside of the messages that repeats a result.
    pub fn mirror(&mut self, value: Span, of: Span) {
        let line = self.line;
        self.transcript.mirrors.push(Mirror { line, value, of });
    }
}

impl<'a> Transcript<'a> {
    /// An empty transcript over `base`.
    pub fn new(base: &'a [u8]) -> Self {
        Transcript {
            base,
            lines: Vec::new(),
            edited: BTreeMap::new(),
            touched: BTreeSet::new(),
            blocks: Vec::new(),
            texts: Vec::new(),
            mirrors: Vec::new(),
            links: Vec::new(),
            units: Vec::new(),
            conversations: Vec::new(),
        }
    }

    /// Adds a line of the base and has `read` fill its record; a line that is too long for spans is [`LineKind::Bad`].
    pub fn push_line(
        &mut self,
        raw: RawLine,
        read: impl FnOnce(&'a [u8], &mut Record<'_, 'a>) -> LineKind,
    ) {
        let line = self.lines.len() as u32;
        let base = self.base;
        let bytes = &base[raw.start..raw.end];
        let blocks = self.blocks.len() as u32;
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.lines.push(Line {
            start: raw.start,
            len,
            eol: raw.eol,
            kind: LineKind::Bad,
            anomalies: Anomalies::default(),
            presence: Presence::Kept,
            blocks: (blocks, blocks),
        });
        if bytes.len() <= Span::MAX_LINE {
            self.record(line, |record| read(bytes, record));
        }
    }

    /// Replaces the bytes of lines and has `read` fill their records again. Threads share the work on a large transcript.
    ///
    /// The conversations refer to the old records until the format rebuilds them.
    pub(crate) fn replace_lines(
        &mut self,
        new: BTreeMap<u32, Vec<u8>>,
        read: impl Fn(&[u8], &mut Record<'_, 'a>) -> LineKind + Sync,
    ) {
        self.mirrors.retain(|m| !new.contains_key(&m.line));
        self.units.retain(|u| !new.contains_key(&u.line));
        match self.is_shared() {
            true => self.records_at_once(&new, &read),
            false => {
                for (line, bytes) in &new {
                    self.record(*line, |record| read(bytes, record));
                }
            }
        }
        self.touched.extend(new.keys());
        self.edited.extend(new);
        self.sort_records();
    }

    /// Removes lines. They keep their numbers but no longer have records.
    ///
    /// The conversations refer to them until the format rebuilds them.
    pub(crate) fn drop_lines(&mut self, lines: &BTreeSet<u32>) {
        self.mirrors.retain(|m| !lines.contains(&m.line));
        self.units.retain(|u| !lines.contains(&u.line));
        for line in lines {
            let slot = &mut self.lines[*line as usize];
            if slot.presence == Presence::Inserted {
                // The input has no line ending to remove there.
                slot.eol = Eol::None;
            }
            slot.presence = Presence::Dropped;
            slot.kind = LineKind::Session;
            slot.blocks = (0, 0);
            if let Some(link) = self.links.get_mut(*line as usize) {
                *link = Link::default();
            }
        }
        self.touched.extend(lines);
    }

    /// Inserts new lines, each list before the line with its key (the number of lines means the end), and has `read` fill their
    /// records. New lines get the same ending as the line after them, and the lines after them are renumbered.
    ///
    /// The conversations refer to the old numbers until the format rebuilds them.
    pub(crate) fn insert_lines(
        &mut self,
        new: &BTreeMap<u32, Vec<Vec<u8>>>,
        mut read: impl FnMut(&[u8], &mut Record<'_, 'a>) -> LineKind,
    ) {
        let document = self.is_document();
        // The new number of each line.
        let (mut new_lines, mut before) = (new.iter().peekable(), 0);
        let moved: Vec<u32> = (0..self.lines.len() as u32)
            .map(|line| {
                while let Some((_, lines)) = new_lines.next_if(|(at, _)| **at <= line) {
                    before += lines.len() as u32;
                }
                line + before
            })
            .collect();
        let moved = |line: u32| moved[line as usize];
        for block in &mut self.blocks {
            block.line = moved(block.line);
        }
        for mirror in &mut self.mirrors {
            mirror.line = moved(mirror.line);
        }
        for unit in &mut self.units {
            unit.line = moved(unit.line);
        }
        let edited = std::mem::take(&mut self.edited).into_iter();
        self.edited = edited.map(|(line, bytes)| (moved(line), bytes)).collect();
        let touched = std::mem::take(&mut self.touched).into_iter();
        self.touched = touched.map(moved).collect();
        if !self.links.is_empty() {
            self.links.resize(self.lines.len(), Link::default());
        }
        for (at, lines) in new.iter().rev() {
            let at = *at as usize;
            // The last line may have no ending; then take that of a line before it.
            let here = self.lines.get(at).into_iter();
            let mut near = here
                .chain(self.lines[..at].iter().rev())
                .map(|line| line.eol);
            let eol = match document {
                true => Eol::Element,
                false => near.find(|eol| *eol != Eol::None).unwrap_or(Eol::Lf),
            };
            let start = self
                .lines
                .get(at)
                .map_or(self.base.len(), |line| line.start);
            let inserted = Line {
                start,
                len: 0,
                eol,
                kind: LineKind::Bad,
                anomalies: Anomalies::default(),
                presence: Presence::Inserted,
                blocks: (0, 0),
            };
            self.lines.splice(at..at, lines.iter().map(|_| inserted));
            if !self.links.is_empty() {
                self.links
                    .splice(at..at, lines.iter().map(|_| Link::default()));
            }
        }
        let mut earlier = 0;
        for (at, lines) in new {
            for bytes in lines {
                let line = at + earlier;
                earlier += 1;
                self.record(line, |record| read(bytes, record));
                self.edited.insert(line, bytes.clone());
                self.touched.insert(line);
            }
        }
        self.sort_records();
    }

    /// Discards dropped lines and replaced records, so that the size of a transcript that grows and is compacted over a long time
    /// depends only on its content. The remaining lines are renumbered, and can no longer be written together with the bytes around
    /// them. Returns the new number of each block.
    ///
    /// The conversations refer to the old numbers until the format rebuilds them.
    pub(crate) fn forget_dropped(&mut self) -> Vec<Option<u32>> {
        let mut lines = Vec::new();
        let mut links = Vec::new();
        let mut blocks = Vec::new();
        let mut texts = Vec::new();
        let mut moved_lines = vec![None; self.lines.len()];
        let mut moved_blocks = vec![None; self.blocks.len()];
        for (old, slot) in self.lines.iter().enumerate() {
            if slot.presence == Presence::Dropped {
                continue;
            }
            let line = lines.len() as u32;
            moved_lines[old] = Some(line);
            let first = blocks.len() as u32;
            for old in slot.blocks.0..slot.blocks.1 {
                moved_blocks[old as usize] = Some(blocks.len() as u32);
                let block = self.blocks[old as usize];
                let said = &self.texts[block.texts.0 as usize..block.texts.1 as usize];
                let start = texts.len() as u32;
                texts.extend_from_slice(said);
                let texts = (start, texts.len() as u32);
                blocks.push(Block {
                    line,
                    texts,
                    ..block
                });
            }
            links.extend(self.links.get(old).copied());
            let blocks = (first, blocks.len() as u32);
            lines.push(Line { blocks, ..*slot });
        }
        let moved = |line: u32| moved_lines[line as usize];
        // A dropped line has no units and no mirrors; blocks of a unit are those of its line.
        for unit in &mut self.units {
            let first = moved_blocks.get(unit.blocks.0 as usize);
            let start = first.copied().flatten().unwrap_or(0);
            unit.blocks = (start, start + (unit.blocks.1 - unit.blocks.0));
            unit.line = moved(unit.line).unwrap_or(unit.line);
        }
        for mirror in &mut self.mirrors {
            mirror.line = moved(mirror.line).unwrap_or(mirror.line);
        }
        let edited = std::mem::take(&mut self.edited).into_iter();
        self.edited = edited
            .filter_map(|(line, bytes)| Some((moved(line)?, bytes)))
            .collect();
        let touched = std::mem::take(&mut self.touched).into_iter();
        self.touched = touched.filter_map(moved).collect();
        self.lines = lines;
        self.links = links;
        self.blocks = blocks;
        self.texts = texts;
        moved_blocks
    }

    /// Restores line order in both lists after new records were appended.
    fn sort_records(&mut self) {
        self.mirrors.sort_by_key(|m| m.line);
        self.units.sort_by_key(|u| u.line);
    }

    pub(super) fn record(&mut self, line: u32, read: impl FnOnce(&mut Record<'_, 'a>) -> LineKind) {
        let start = self.blocks.len() as u32;
        let (texts, units, mirrors) = (self.texts.len(), self.units.len(), self.mirrors.len());
        let kind = read(&mut Record {
            transcript: self,
            line,
        });
        if kind == LineKind::Bad {
            // Reading stopped in the middle: discard what was found so far.
            self.blocks.truncate(start as usize);
            self.texts.truncate(texts);
            self.units.truncate(units);
            self.mirrors.truncate(mirrors);
            if let Some(link) = self.links.get_mut(line as usize) {
                *link = Link::default();
            }
        }
        let end = self.blocks.len() as u32;
        let slot = &mut self.lines[line as usize];
        slot.kind = kind;
        slot.blocks = (start, end);
    }
}
