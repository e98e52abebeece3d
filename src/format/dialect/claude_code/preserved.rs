//! What a recorded compaction says of the messages before it that stay in the window.

use crate::scan::{Cursor, Kind};

/// The lines that a compaction names, by their ids as they stand between quotes.
#[derive(Default)]
pub(super) struct Preserved {
    /// What is preserved comes behind this one.
    pub(super) anchor: Vec<u8>,
    /// Each line, in order.
    pub(super) ids: Vec<Vec<u8>>,
    /// The first line of a chain, for agents that name no others.
    pub(super) head: Vec<u8>,
    /// The last line of that chain.
    pub(super) tail: Vec<u8>,
    /// Lines that belong to these, as far as an agent may look for them.
    all: Vec<Vec<u8>>,
}

impl Preserved {
    /// Reads `compactMetadata.preservedMessages` and `.preservedSegment` of a boundary line.
    pub(super) fn read(line: &[u8]) -> Self {
        let mut preserved = Preserved::default();
        let mut c = Cursor::new(line);
        // The line was read before; should it fail all the same, nothing is preserved.
        let read = c.object(|key, c| match (key, c.kind()?) {
            (b"compactMetadata", Kind::Object) => c
                .object(|key, c| match (key, c.kind()?) {
                    (b"preservedMessages" | b"preservedSegment", Kind::Object) => {
                        c.object(|key, c| preserved.key(key, c)).map(drop)
                    }
                    _ => c.skip().map(drop),
                })
                .map(drop),
            _ => c.skip().map(drop),
        });
        if read.is_err() {
            return Preserved::default();
        }
        preserved
    }

    /// Whether nothing is preserved.
    pub(super) fn is_empty(&self) -> bool {
        self.named().all(<[u8]>::is_empty)
    }

    /// All ids.
    pub(super) fn named(&self) -> impl Iterator<Item = &[u8]> {
        let ends = [&self.anchor, &self.head, &self.tail];
        let ids = self.ids.iter().chain(&self.all);
        ids.chain(ends).map(Vec::as_slice)
    }

    fn key(&mut self, key: &[u8], c: &mut Cursor<'_>) -> crate::scan::Parse<()> {
        let line = c.line();
        let id = |c: &mut Cursor<'_>| {
            let text = c.string_or_skip()?;
            Ok(text.map(|t| t.span.of(line).to_vec()).unwrap_or_default())
        };
        match (key, c.kind()?) {
            (b"anchorUuid", Kind::String) => self.anchor = id(c)?,
            (b"headUuid", Kind::String) => self.head = id(c)?,
            (b"tailUuid", Kind::String) => self.tail = id(c)?,
            (b"uuids" | b"allUuids", Kind::Array) => {
                let ids = if key == b"uuids" {
                    &mut self.ids
                } else {
                    &mut self.all
                };
                c.array(|c| {
                    ids.push(id(c)?);
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    }
}
