//! Puts records together that were read by themselves, so that threads can share the work on a large transcript.
//!
//! The result is that of reading one line after the other, whatever the number of threads.

use std::collections::BTreeMap;

use super::{Block, Line, LineKind, Link, Mirror, Record, Transcript, Unit};
use crate::scan::LARGE;
use crate::threads;

impl<'a> Transcript<'a> {
    /// Whether threads share the work on it: it is large, and there are others.
    pub(crate) fn is_shared(&self) -> bool {
        self.base.len() >= LARGE && threads::can_share()
    }

    /// Does two pieces of work on a transcript: if threads share it, at the same time.
    pub(crate) fn both<A: Send, B: Send>(
        &self,
        one: impl FnOnce() -> A + Send,
        other: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        match self.is_shared() {
            true => threads::both(one, other),
            false => (one(), other()),
        }
    }

    /// Does the same work on each item: if threads share the transcript, on many at the same time.
    pub(crate) fn each<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T>,
        work: impl Fn(T) -> R + Sync + Send,
    ) -> Vec<R> {
        match self.is_shared() {
            true => threads::each(items, work),
            false => items.map(work).collect(),
        }
    }

    /// Appends the records of the lines that follow, which were read by themselves from the same base.
    pub(crate) fn append(&mut self, later: Transcript<'a>) {
        debug_assert!(later.touched.is_empty());
        let (line, block, text) = (
            self.lines.len() as u32,
            self.blocks.len() as u32,
            self.texts.len() as u32,
        );
        self.lines.extend(later.lines.iter().map(|slot| Line {
            blocks: moved(slot.blocks, block),
            ..*slot
        }));
        self.blocks.extend(later.blocks.iter().map(|of| Block {
            line: of.line + line,
            texts: moved(of.texts, text),
            ..*of
        }));
        self.texts.extend_from_slice(&later.texts);
        self.mirrors.extend(later.mirrors.iter().map(|of| Mirror {
            line: of.line + line,
            ..*of
        }));
        self.units.extend(later.units.iter().map(|of| Unit {
            line: of.line + line,
            blocks: moved(of.blocks, block),
            ..*of
        }));
        if !later.links.is_empty() {
            self.links.resize(line as usize, Link::default());
            self.links.extend_from_slice(&later.links);
        }
    }

    /// Has `read` fill the records of lines again, many at once.
    pub(super) fn records_at_once(
        &mut self,
        new: &BTreeMap<u32, Vec<u8>>,
        read: &(impl Fn(&[u8], &mut Record<'_, 'a>) -> LineKind + Sync),
    ) {
        /// The number of lines that a thread reads at a time.
        const AT_ONCE: usize = if cfg!(debug_assertions) { 4 } else { 512 };
        let lines: Vec<(u32, &[u8])> = new
            .iter()
            .map(|(line, bytes)| (*line, &bytes[..]))
            .collect();
        let of_lines = |lines: &[(u32, &[u8])]| {
            let mut part = Transcript::new(self.base);
            for ((line, bytes), number) in lines.iter().zip(0..) {
                part.lines.push(self.lines[*line as usize]);
                if let Some(link) = self.links.get(*line as usize) {
                    part.links.resize(number as usize, Link::default());
                    part.links.push(*link);
                }
                part.record(number, |record| read(bytes, record));
            }
            part
        };
        let parts = threads::each(lines.chunks(AT_ONCE), of_lines);
        for (lines, part) in lines.chunks(AT_ONCE).zip(parts) {
            self.take_records(lines, part);
        }
    }

    /// Takes the records of lines from `part`, which has nothing else.
    fn take_records(&mut self, lines: &[(u32, &[u8])], part: Transcript<'a>) {
        let of = |number: u32| lines[number as usize].0;
        let (block, text) = (self.blocks.len() as u32, self.texts.len() as u32);
        for (number, slot) in (0..).zip(&part.lines) {
            let own = &mut self.lines[of(number) as usize];
            *own = Line {
                blocks: moved(slot.blocks, block),
                ..*slot
            };
            if let Some(link) = part.links.get(number as usize) {
                let all = self.links.len().max(of(number) as usize + 1);
                self.links.resize(all, Link::default());
                self.links[of(number) as usize] = *link;
            }
        }
        self.blocks.extend(part.blocks.iter().map(|block| Block {
            line: of(block.line),
            texts: moved(block.texts, text),
            ..*block
        }));
        self.texts.extend_from_slice(&part.texts);
        self.mirrors
            .extend(part.mirrors.iter().map(|mirror| Mirror {
                line: of(mirror.line),
                ..*mirror
            }));
        self.units.extend(part.units.iter().map(|unit| Unit {
            line: of(unit.line),
            blocks: moved(unit.blocks, block),
            ..*unit
        }));
    }
}

/// A range of numbers after `by` others were put before them.
fn moved((start, end): (u32, u32), by: u32) -> (u32, u32) {
    (start + by, end + by)
}
