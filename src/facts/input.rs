//! The input of a call: a JSON object, or a JSON string that holds one, as OpenAI writes it.
//!
//! Reads what is asked for and no more; an input that is no object has no keys. Never fails: what cannot be read is not
//! there.

use std::borrow::Cow;

use super::lossy;
use crate::scan::{Cursor, Kind, Span, unescape};
use crate::transcript::{Block, Transcript};

/// An input, by its keys; of a key that is there twice the last one counts.
#[derive(Debug)]
pub(super) struct Input<'t> {
    raw: Cow<'t, [u8]>,
    keys: Vec<(String, Span)>,
}

impl<'t> Input<'t> {
    /// The input of a call.
    pub(super) fn of(transcript: &'t Transcript<'_>, call: &Block) -> Input<'t> {
        match transcript.bytes(call.line, call.content) {
            [b'"', inside @ .., b'"'] => Input::read(unescape(inside)),
            raw => Input::read(Cow::Borrowed(raw)),
        }
    }

    fn read(raw: Cow<'t, [u8]>) -> Input<'t> {
        let mut keys: Vec<(String, Span)> = Vec::new();
        let mut cursor = Cursor::new(&raw);
        let read = cursor.object(|key, c| {
            let (key, value) = (String::from_utf8_lossy(key), c.skip()?);
            match keys.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = value,
                None => keys.push((key.into_owned(), value)),
            }
            Ok(())
        });
        if read.and_then(|_| cursor.end()).is_err() {
            keys.clear();
        }
        Input { raw, keys }
    }

    /// The value of the first of `names` that is there and not `null`, as written.
    fn value(&self, names: &[&str]) -> Option<&[u8]> {
        names.iter().find_map(|name| {
            let (_, span) = self.keys.iter().find(|(key, _)| key == name)?;
            Some(span.of(&self.raw)).filter(|value| *value != b"null")
        })
    }

    /// What the string under the first of `names` says.
    pub(super) fn text(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        string(self.value(names)?)
    }

    /// The whole number under the first of `names`; models write it as a string, too.
    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        number(self.value(names)?)
    }

    /// The two whole numbers of a list; of the second one nothing where it is below 0: to the end.
    pub(super) fn range(&self, name: &str) -> Option<(u64, Option<u64>)> {
        match self.list(&[name])?[..] {
            [first, b"-1"] => Some((number(first)?, None)),
            [first, last] => Some((number(first)?, Some(number(last)?))),
            _ => None,
        }
    }

    /// The elements of the list under the first of `names`, as written.
    fn list(&self, names: &[&str]) -> Option<Vec<&[u8]>> {
        let raw = self.value(names)?;
        let mut cursor = Cursor::new(raw);
        let mut list = Vec::new();
        let read = match cursor.kind() {
            Ok(Kind::Array) => cursor.array(|c| {
                list.push(c.skip()?.of(raw));
                Ok(())
            }),
            Ok(_) => return None,
            Err(bad) => Err(bad),
        };
        read.ok().map(|_| list)
    }

    /// The keys that are not `known`, with their values as written, in one order whatever order they stand in.
    pub(super) fn others(&self, known: impl Fn(&str) -> bool) -> Vec<u8> {
        let others = self.keys.iter().filter(|(key, span)| {
            let is_there = span.of(&self.raw) != b"null";
            is_there && !known(key)
        });
        let mut others: Vec<(&str, &[u8])> = others
            .map(|(key, span)| (key.as_str(), span.of(&self.raw)))
            .collect();
        others.sort_unstable();
        let written = |(key, value): (&str, &[u8])| [key.as_bytes(), b":", value].concat();
        let others: Vec<Vec<u8>> = others.into_iter().map(written).collect();
        others.join(&b'\n')
    }
}

fn string(raw: &[u8]) -> Option<Cow<'_, str>> {
    match raw {
        [b'"', inside @ .., b'"'] => Some(lossy(unescape(inside))),
        _ => None,
    }
}

fn number(raw: &[u8]) -> Option<u64> {
    let digits = match raw {
        [b'"', inside @ .., b'"'] => inside,
        bare => bare,
    };
    std::str::from_utf8(digits).ok()?.parse().ok()
}
