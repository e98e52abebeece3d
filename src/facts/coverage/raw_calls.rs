//! The calls in a transcript's bytes, counted without the formats' readers, to reveal what these miss.
//!
//! Looks only at how published formats write a call: an object of a certain `type`, or an element of a list of calls. PURE.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match, packed};
use foldhash::quality::FixedState;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ids::IdSet;
use crate::scan::{Anomalies, Bad, Cursor, Kind, Parse, lines, unescape};
use crate::transcript::{BlockKind, Transcript};

/// More deeply nested values are left to `serde_json`, which does not read them either.
const DEEPEST: u32 = 100;
/// A line without any of these marks has no call: the ends of type names, each of which stands for at most one call ...
const TYPE_MARKS: [&str; 4] = ["tool_use\"", "_call\"", "tool-call\"", "toolCall\""];
/// ... and the ends of keys that may hold any number of calls.
const LIST_MARKS: [&str; 4] = [
    "tool_calls\"",
    "toolCalls\"",
    "functionCall\"",
    "toolRequests\"",
];
/// What precedes such a word if it states why an answer ended.
const REASONS: [&[u8]; 2] = [b"\"stop_reason\":\"", b"\"stop_reason\": \""];
/// The types of objects that are calls. Calls that a provider executes itself do not count.
const TYPES: [&str; 6] = [
    "tool_use",
    "toolCall",
    "tool-call",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
];
/// The keys of lists whose elements are calls.
const LISTS: [&str; 3] = ["tool_calls", "toolCalls", "toolRequests"];
/// The keys that may hold a call's id; the one that the result repeats comes first.
const IDS: [&str; 4] = ["call_id", "toolCallId", "tool_call_id", "id"];
/// The keys of values that an agent or a tool wrote, or that repeat results: their contents are not part of the transcript's
/// structure.
const OPAQUE: [&str; 6] = [
    "parameters",
    "output",
    "result",
    "tools",
    "toolUseResult",
    "details",
];

/// The keys of a call's input. Calls with the same id but different inputs are distinct: some agents reuse ids.
const INPUTS: [&str; 4] = ["input", "arguments", "args", "function"];

/// Searches for the marks. The packed search is several times as fast where the processor supports it.
enum Marked {
    Packed(packed::Searcher),
    Plain(Option<AhoCorasick>),
}

static MARKED: LazyLock<Marked> = LazyLock::new(|| {
    let marks = || TYPE_MARKS.into_iter().chain(LIST_MARKS);
    match packed::Searcher::new(marks()) {
        Some(packed) => Marked::Packed(packed),
        None => Marked::Plain(AhoCorasick::new(marks()).ok()),
    }
});

/// The marks of a line.
#[derive(Default)]
struct Marks {
    types: usize,
    lists: usize,
}

impl Marks {
    /// The marks outside of the texts that the line's reader found: a text has no calls.
    fn of(transcript: &Transcript<'_>, line: u32) -> Self {
        let mut marks = Marks::default();
        let outside = transcript.outside_texts(line);
        outside.for_each(|bytes| marks.add(bytes));
        marks
    }

    fn add(&mut self, bytes: &[u8]) {
        let count = |mark: Match| {
            let before = &bytes[..mark.start()];
            if mark.pattern().as_usize() >= TYPE_MARKS.len() {
                self.lists += 1;
            } else if !REASONS.iter().any(|reason| before.ends_with(reason)) {
                self.types += 1;
            }
        };
        match &*MARKED {
            Marked::Packed(packed) => packed.find_iter(bytes).for_each(count),
            Marked::Plain(Some(plain)) => plain.find_iter(bytes).for_each(count),
            Marked::Plain(None) => self.lists += 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.types + self.lists == 0
    }
}

/// How calls with the same id and the same input count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// One call, written several times.
    Copies,
    /// Several calls.
    Calls,
}

/// The number of calls in a transcript; `None` if no line has more calls than its reader found, which the marks alone most often
/// show.
pub(super) fn raw_calls(transcript: &Transcript<'_>, repeats: Repeats) -> Option<u64> {
    if transcript.is_document() {
        let bytes = transcript.base();
        let lines = lines(bytes).map(|raw| &bytes[raw.start..raw.end]);
        return Some(calls_in(lines, repeats));
    }
    let mut marked = Vec::new();
    let mut is_any_unread = false;
    for line in 0..transcript.lines().len() as u32 {
        let marks = Marks::of(transcript, line);
        if !marks.is_empty() {
            let blocks = transcript.blocks_of_line(line);
            let read = blocks.filter(|block| transcript.block(*block).kind == BlockKind::Call);
            let (read, bytes) = (read.count(), transcript.line(line));
            let may_be_more = marks.lists > 0 || marks.types > read;
            is_any_unread |= may_be_more && Found::of_line(bytes).0.len() > read;
            marked.push(line);
        }
    }
    let marked = marked.into_iter().map(|line| transcript.line(line));
    is_any_unread.then(|| calls_in(marked, repeats))
}

/// The number of calls in some lines.
fn calls_in<'l>(lines: impl Iterator<Item = &'l [u8]>, repeats: Repeats) -> u64 {
    let mut found = Found::default();
    lines.for_each(|line| found.add_line(line));
    if repeats == Repeats::Calls {
        return found.0.len() as u64;
    }
    let distinct: IdSet<&(String, u64)> = found.0.iter().flatten().collect();
    let without_id = found.0.iter().filter(|call| call.is_none()).count();
    (distinct.len() + without_id) as u64
}

/// The calls that were found, each as its id and a hash of its input, if it has an id.
#[derive(Default)]
struct Found(Vec<Option<(String, u64)>>);

impl Found {
    /// The calls of a line.
    fn of_line(line: &[u8]) -> Self {
        let mut found = Found::default();
        found.add_line(line);
        found
    }

    /// Adds the calls of a line.
    fn add_line(&mut self, line: &[u8]) {
        let before = self.0.len();
        if simdutf8::basic::from_utf8(line).is_ok() && self.add_plain(line).is_ok() {
            return;
        }
        self.0.truncate(before);
        self.add_odd(line);
    }

    /// As `add_line`, by the program's own reader, for lines that it reads like other parsers.
    fn add_plain(&mut self, line: &[u8]) -> Parse<()> {
        let mut c = Cursor::new(line);
        self.value(&mut c, Place::Line, 0)?;
        c.end()?;
        let are_read_alike = [
            Anomalies::LONE_SURROGATE,
            Anomalies::DEEP,
            Anomalies::LONG_NUMBER,
        ];
        match are_read_alike.iter().any(|odd| c.anomalies.contains(*odd)) {
            true => Err(Bad::new(0, "read by others in another way")),
            false => Ok(()),
        }
    }

    /// As `add_line`, by `serde_json`. In a line that is not JSON, only the calls before the error can be read.
    fn add_odd(&mut self, line: &[u8]) {
        let mut line = serde_json::Deserializer::from_slice(line);
        let walk = Walk {
            found: self,
            place: Place::Line,
        };
        let _ = walk.deserialize(&mut line);
    }

    fn value(&mut self, c: &mut Cursor<'_>, place: Place, depth: u32) -> Parse<()> {
        match c.kind()? {
            Kind::Object if depth < DEEPEST => self.object(c, place, depth + 1),
            Kind::Array if depth < DEEPEST => {
                let place = match place {
                    Place::Calls => Place::Calls,
                    Place::Line | Place::Elsewhere => Place::Elsewhere,
                };
                c.array(|c| self.value(c, place, depth + 1)).map(drop)
            }
            Kind::Object | Kind::Array => Err(Bad::new(0, "nested deeply")),
            Kind::Number => {
                let number = c.skip()?.of(c.line());
                match number.iter().any(|b| matches!(b, b'e' | b'E')) {
                    true => Err(Bad::new(0, "a number that may be too large")),
                    false => Ok(()),
                }
            }
            Kind::String | Kind::Bool | Kind::Null => c.skip().map(drop),
        }
    }

    fn object(&mut self, c: &mut Cursor<'_>, place: Place, depth: u32) -> Parse<()> {
        let line = c.line();
        let mut is_call = place == Place::Calls;
        let mut ids: [Option<String>; IDS.len()] = Default::default();
        let mut input = FixedState::default().build_hasher();
        let mut is_repeated = false;
        let mut is_broken_off = false;
        let before = self.0.len();
        c.object(|key, c| {
            let key = std::str::from_utf8(key).unwrap_or_default();
            if key == "type" {
                let kind = plain_text(c)?.unwrap_or_default();
                is_call |= TYPES.iter().any(|name| name.as_bytes() == &*kind);
                is_repeated = place == Place::Line && *kind == *b"progress";
            } else if key == "stopReason" {
                is_broken_off = matches!(plain_text(c)?.as_deref(), Some(b"aborted" | b"error"));
            } else if let Some(number) = IDS.iter().position(|id| *id == key) {
                let id = plain_text(c)?;
                ids[number] = id.map(|id| String::from_utf8_lossy(&id).into_owned());
            } else if INPUTS.contains(&key) {
                c.skip()?.of(line).hash(&mut input);
            } else if OPAQUE.contains(&key) || is_repeated {
                c.skip()?;
            } else {
                let place = match LISTS.contains(&key) || key == "functionCall" {
                    true => Place::Calls,
                    false => Place::Elsewhere,
                };
                self.value(c, place, depth)?;
            }
            Ok(())
        })?;
        if is_call {
            let id = ids.into_iter().flatten().next();
            let id = id.filter(|id| !id.is_empty());
            self.0.push(id.map(|id| (id, input.finish())));
        }
        if is_broken_off {
            self.0.truncate(before);
        }
        Ok(())
    }
}

/// The text of a string; `None` if the value has none. Whether numbers and containers are readable is left to `serde_json`.
fn plain_text<'l>(c: &mut Cursor<'l>) -> Parse<Option<Cow<'l, [u8]>>> {
    let line = c.line();
    match c.kind()? {
        Kind::String => Ok(Some(unescape(c.string()?.span.of(line)))),
        Kind::Bool | Kind::Null => c.skip().map(|_| None),
        Kind::Number | Kind::Object | Kind::Array => Err(Bad::new(0, "no text")),
    }
}

/// The position of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the line.
    Line,
    /// It is a list of calls or one of its elements.
    Calls,
    Elsewhere,
}

/// Walks through a value and collects the calls in it.
struct Walk<'f> {
    found: &'f mut Found,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let place = match self.place {
            Place::Calls => Place::Calls,
            Place::Line | Place::Elsewhere => Place::Elsewhere,
        };
        while list
            .next_element_seed(Walk {
                found: &mut *self.found,
                place,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut is_call = self.place == Place::Calls;
        let mut ids: [Option<Value>; IDS.len()] = Default::default();
        let mut input = FixedState::default().build_hasher();
        let mut is_repeated = false;
        let mut is_broken_off = false;
        let before = self.found.0.len();
        while let Some(key) = map.next_key::<String>()? {
            if key == "type" {
                let kind: Value = map.next_value()?;
                let kind = kind.as_str().unwrap_or_default();
                is_call |= TYPES.contains(&kind);
                // A viewer line repeats what another agent did.
                is_repeated = self.place == Place::Line && kind == "progress";
            } else if key == "stopReason" {
                let reason: Value = map.next_value()?;
                is_broken_off = matches!(reason.as_str(), Some("aborted" | "error"));
            } else if let Some(number) = IDS.iter().position(|id| *id == key) {
                ids[number] = Some(map.next_value()?);
            } else if INPUTS.contains(&&*key) {
                let value = map.next_value::<&RawValue>()?;
                value.get().as_bytes().hash(&mut input);
            } else if OPAQUE.contains(&&*key) || is_repeated {
                map.next_value::<IgnoredAny>()?;
            } else {
                let place = match LISTS.contains(&&*key) || key == "functionCall" {
                    true => Place::Calls,
                    false => Place::Elsewhere,
                };
                map.next_value_seed(Walk {
                    found: &mut *self.found,
                    place,
                })?;
            }
        }
        if is_call {
            let id = ids.iter().flatten().find_map(Value::as_str);
            let id = id.filter(|id| !id.is_empty());
            let call = id.map(|id| (id.to_owned(), input.finish()));
            self.found.0.push(call);
        }
        if is_broken_off {
            // These calls were never made.
            self.found.0.truncate(before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
