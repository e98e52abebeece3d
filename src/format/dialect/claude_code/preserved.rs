//! What a recorded compaction states about the earlier messages that remain in the window.

use crate::scan::Value;

/// The lines that a compaction names, by their ids as written between quotes.
#[derive(Default)]
pub(super) struct Preserved {
    /// The line after which the preserved lines are inserted.
    pub(super) anchor: Vec<u8>,
    /// All preserved lines, in order.
    pub(super) ids: Vec<Vec<u8>>,
    /// The first line of the preserved chain, for versions that name only its ends.
    pub(super) head: Vec<u8>,
    /// The last line of that chain.
    pub(super) tail: Vec<u8>,
    /// Further lines that an agent may look up.
    all: Vec<Vec<u8>>,
}

impl Preserved {
    /// Reads `compactMetadata.preservedMessages` and `.preservedSegment` of a boundary line.
    pub(super) fn read(line: &[u8]) -> Self {
        let mut preserved = Preserved::default();
        let metadata = Value::of(line).field("compactMetadata");
        for (_, part) in metadata.in_order(["preservedMessages", "preservedSegment"]) {
            let [anchor, head, tail] = part.fields(["anchorUuid", "headUuid", "tailUuid"]);
            let ends = [
                (anchor, &mut preserved.anchor),
                (head, &mut preserved.head),
                (tail, &mut preserved.tail),
            ];
            for (id, end) in ends {
                *end = id.string().unwrap_or(end).to_vec();
            }
            let [ids, all] = part.fields(["uuids", "allUuids"]);
            let id = |id: Value<'_>| id.string().unwrap_or_default().to_vec();
            ids.elements(|value| preserved.ids.push(id(value)));
            all.elements(|value| preserved.all.push(id(value)));
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
}
