//! A transcript that is a single document: its messages are units between what precedes and what follows them.
//!
//! Writes the commas. Untouched neighbours keep the bytes between them. Where a message was removed or inserted, the separator is
//! copied from the document, so that a document with one message per line keeps its layout.

use super::{Presence, Transcript};
use crate::scan::Eol;
use crate::text::put_on_one_line;

impl<'a> Transcript<'a> {
    /// Whether the transcript is a document.
    pub fn is_document(&self) -> bool {
        self.lines
            .first()
            .is_some_and(|line| line.eol == Eol::Frame)
    }

    /// The number of the last unit, the one after the messages; messages are appended before it.
    pub(crate) fn after_messages(&self) -> u32 {
        self.lines.len().saturating_sub(1) as u32
    }

    /// The parts around the messages, as an object with an empty list; `None` if the transcript is not a document.
    pub(crate) fn around_messages(&self) -> Option<Vec<u8>> {
        let last = self.after_messages();
        self.is_document()
            .then(|| [self.line(0), self.line(last)].concat())
    }

    /// The document as it is now.
    pub(super) fn document_pieces(&self) -> impl Iterator<Item = &[u8]> {
        let (open, comma) = self.separators();
        // The end of the last input unit, and the `eol` of the last unit written.
        let (mut at, mut last) = (0, Eol::Frame);
        let units = self.lines.iter().zip(0u32..);
        let pieces = units.filter(|(unit, _)| unit.eol != Eol::Within);
        let pieces = pieces.filter_map(move |(unit, number)| {
            let own = match unit.presence {
                Presence::Inserted => None,
                Presence::Kept | Presence::Dropped => {
                    let own = &self.base[at..unit.start];
                    at = unit.start + unit.len as usize;
                    Some(own)
                }
            };
            if unit.presence == Presence::Dropped {
                return None;
            }
            let needs_comma = last == Eol::Element && unit.eol == Eol::Element;
            last = unit.eol;
            let fits = own.filter(|own| own.contains(&b',') == needs_comma);
            let separator = fits.unwrap_or(if needs_comma { comma } else { open });
            Some([separator, self.line(number)])
        });
        pieces.flatten().filter(|piece| !piece.is_empty())
    }

    /// The input's bytes after the opening bracket, and between two messages.
    fn separators(&self) -> (&'a [u8], &'a [u8]) {
        let units = self.lines.iter();
        let of_input = |presence| match presence {
            Presence::Inserted => false,
            Presence::Kept | Presence::Dropped => true,
        };
        let mut units = units.filter(|unit| unit.eol != Eol::Within && of_input(unit.presence));
        let mut at = units
            .next()
            .map_or(0, |head| head.start + head.len as usize);
        let mut gaps = units.map(|unit| {
            let gap = &self.base[at..unit.start];
            at = unit.start + unit.len as usize;
            gap
        });
        let open = gaps.next().unwrap_or_default();
        let comma = gaps.next().filter(|gap| gap.contains(&b','));
        (open, comma.unwrap_or(b","))
    }

    /// The document as lines with one message each, without the parts around the messages and the line breaks inside them. Messages
    /// keep their line numbers.
    pub(crate) fn document_as_lines(&self) -> Option<Vec<u8>> {
        if !self.is_document() {
            return None;
        }
        let mut lines = Vec::with_capacity(self.base.len());
        for (unit, number) in self.lines.iter().zip(0u32..) {
            if unit.eol == Eol::Element && self.is_there(number) {
                let begins = lines.len();
                lines.extend_from_slice(self.line(number));
                put_on_one_line(&mut lines[begins..]);
            }
            lines.push(b'\n');
        }
        Some(lines)
    }
}
