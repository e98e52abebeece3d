//! Which messages the agent has after reading a session.
//!
//! The file is read once, as the agent does: a message whose id is known replaces the earlier one in its place, a list in `$set`
//! replaces all messages, and `$rewindTo` removes a message and all after it, or everything if there is no such message. Never
//! decides which messages are sent.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::ids::IdMap;
use crate::scan::{Kind, Span, Value, unescape};
use crate::transcript::{LineKind, Link, LinkKind, Transcript};

/// A message.
#[derive(Debug, Clone)]
pub(super) struct Entry<'t> {
    id: Cow<'t, [u8]>,
    /// Where it first occurred, which determines its position among the others.
    pub(super) place: Place,
    /// Where it last occurred.
    pub(super) at: Place,
    /// All lines that consist of this message.
    pub(super) lines: Vec<u32>,
    /// Its unit; `None` if it is not sent.
    pub(super) unit: Option<usize>,
}

/// An object on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u32,
    /// Where the object begins, if it is one of a list.
    pub(super) item: Option<u32>,
}

/// Parts to leave out of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Omitted {
    pub(super) lines: BTreeSet<u32>,
    pub(super) items: BTreeSet<Place>,
}

/// What happens to lines that replace all messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacements {
    /// They replace the messages before them.
    Apply,
    /// They only add messages that were not known.
    PassOver,
}

/// The messages at the end of a session.
#[derive(Debug, Default)]
pub(super) struct History<'t> {
    /// The messages, in order.
    pub(super) entries: Vec<Entry<'t>>,
    /// The line that last replaced or rewound all messages.
    pub(super) restart: Option<u32>,
    /// The numbers of the entries, by their ids.
    known: IdMap<Cow<'t, [u8]>, usize>,
}

impl<'t> History<'t> {
    /// The messages of a whole session.
    pub(super) fn of(transcript: &'t Transcript<'_>) -> Self {
        History::without(transcript, &Omitted::default(), Replacements::Apply)
    }

    /// The messages of a session without its `omitted` parts.
    pub(super) fn without(
        transcript: &'t Transcript<'_>,
        omitted: &Omitted,
        replacements: Replacements,
    ) -> Self {
        let links = transcript.links();
        let is_there = |line: &u32| !omitted.lines.contains(line) && transcript.is_there(*line);
        let replaces = |line: &u32| replaces(&links[*line as usize]);
        let mut lines = 0..links.len() as u32;
        if replacements == Replacements::Apply {
            // Nothing before the last line that replaces all messages counts.
            let mut back = lines.clone().rev();
            let last = back.find(|line| is_there(line) && replaces(line));
            lines.start = last.unwrap_or(0);
        }
        let units = transcript.units();
        let mut units_at = IdMap::default();
        for (number, unit) in units.iter().enumerate() {
            if lines.contains(&unit.line) {
                units_at.insert((unit.line, unit.object.start), number);
            }
        }
        let mut history = History::default();
        for line in lines.filter(is_there) {
            let link = &links[line as usize];
            if link.kind == LinkKind::GoBack {
                history.go_back(transcript, line, link.content);
            } else if !link.id.is_empty() {
                let id = unescape(transcript.bytes(line, link.id));
                let unit = units.partition_point(|unit| unit.line < line);
                let unit = Some(unit).filter(|at| units.get(*at).is_some_and(|u| u.line == line));
                history.add(id, Place { line, item: None }, unit);
            } else if !link.content.is_empty() && holds_list(transcript, line) {
                if replaces(&line) && replacements == Replacements::Apply {
                    history.clear(line);
                }
                let list = Value::part(transcript.line(line), link.content);
                list.elements(|item| {
                    let place = Place {
                        line,
                        item: Some(item.span().start),
                    };
                    let Some(id) = id_of(item).filter(|_| !omitted.items.contains(&place)) else {
                        return;
                    };
                    let is_known = history.known.contains_key(&id);
                    if replacements == Replacements::Apply || !is_known {
                        let unit = units_at.get(&(line, item.span().start)).copied();
                        history.add(id, place, unit);
                    }
                });
            }
        }
        history
    }

    fn add(&mut self, id: Cow<'t, [u8]>, place: Place, unit: Option<usize>) {
        let entry = match self.known.get(&id) {
            Some(at) => &mut self.entries[*at],
            None => {
                self.known.insert(id.clone(), self.entries.len());
                self.entries.push(Entry {
                    id,
                    place,
                    at: place,
                    lines: Vec::new(),
                    unit,
                });
                let last = self.entries.len() - 1;
                &mut self.entries[last]
            }
        };
        (entry.at, entry.unit) = (place, unit);
        if place.item.is_none() {
            entry.lines.push(place.line);
        }
    }

    fn clear(&mut self, line: u32) {
        self.entries.clear();
        self.known.clear();
        self.restart = Some(line);
    }

    /// Rewinds to before the message that a line names.
    fn go_back(&mut self, transcript: &'t Transcript<'_>, line: u32, to: Span) {
        let id = unescape(transcript.bytes(line, to));
        let Some(at) = self.known.get(&id).copied() else {
            return self.clear(line);
        };
        for entry in self.entries.drain(at..) {
            self.known.remove(&entry.id);
        }
    }
}

/// Whether a line replaces all messages before it.
pub(super) fn replaces(link: &Link) -> bool {
    matches!(link.kind, LinkKind::Compaction(_))
}

/// Whether the messages on a line are in a list.
fn holds_list(transcript: &Transcript<'_>, line: u32) -> bool {
    match transcript.lines()[line as usize].kind {
        LineKind::Message | LineKind::Control | LineKind::Session => true,
        LineKind::Mirror | LineKind::Unknown | LineKind::Bad => false,
    }
}

/// The id of a message, if it has one. It is nearly always the first key.
fn id_of(message: Value<'_>) -> Option<Cow<'_, [u8]>> {
    if message.kind() != Some(Kind::Object) {
        return None;
    }
    if let Some(rest) = message.raw().strip_prefix(b"{\"id\":\"")
        && let Some(end) = memchr::memchr2(b'"', b'\\', rest)
        && rest[end] == b'"'
    {
        return Some(Cow::Borrowed(&rest[..end])).filter(|id| !id.is_empty());
    }
    let id = message.field("id").unescaped();
    id.filter(|id| !id.is_empty())
}
