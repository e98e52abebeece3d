//! The input of a call: a JSON object, or a JSON string that contains one, as OpenAI writes it.
//!
//! Reads only what is asked for. An input that is not an object has no keys. Never fails: what cannot be read counts as missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use crate::scan::{Cursor, Span, Text, decoded, lossy, unescape};
use crate::transcript::{Block, Transcript};

/// The keys of a command for a shell.
const COMMAND: [&str; 2] = ["command", "cmd"];

/// An input by its keys; if a key occurs twice, the last one counts.
#[derive(Debug)]
pub(super) struct Input<'t> {
    raw: Cow<'t, [u8]>,
    /// The keys and values, in the order in which they are written.
    members: Vec<(Text, Span)>,
}

impl<'t> Input<'t> {
    /// The input of a call. If it is a list of one file (`{"files": [{"path": …}]}`), the input for that file.
    pub(super) fn of(transcript: &'t Transcript<'_>, call: &Block) -> Input<'t> {
        let input = Input::in_json(transcript.bytes(call.line, call.content));
        match input.files().as_mut_slice() {
            [one] if input.by_name().len() == 1 => std::mem::replace(one, Input::in_value(b"")),
            _ => input,
        }
    }

    /// The files that the input lists, each with its parameters.
    pub(super) fn files(&self) -> Vec<Input<'static>> {
        self.objects("files").unwrap_or_default()
    }

    /// The keys of a JSON object, or of a JSON string that contains one.
    pub(super) fn in_json(raw: &'t [u8]) -> Input<'t> {
        match raw {
            [b'"', inside @ .., b'"'] => Input::read(unescape(inside)),
            raw => Input::in_value(raw),
        }
    }

    /// The keys of a JSON object, given by its bytes.
    pub(super) fn in_value(raw: &'t [u8]) -> Input<'t> {
        Input::read(Cow::Borrowed(raw))
    }

    fn read(raw: Cow<'t, [u8]>) -> Input<'t> {
        let mut cursor = Cursor::new(&raw);
        let read = cursor.members();
        let read = read.and_then(|members| cursor.end().map(|()| members));
        let members = read.unwrap_or_default();
        Input { raw, members }
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        !self.members.is_empty() || self.raw.trim_ascii() == b"{}"
    }

    /// The unparsed input, for tools that take text instead of an object.
    pub(super) fn plain(&self) -> Cow<'_, str> {
        lossy(&self.raw)
    }

    /// The keys in alphabetical order.
    pub(super) fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.by_name().into_keys()
    }

    /// Each key in alphabetical order, with an input that has only that key: to look up each of many would take too long.
    pub(super) fn each(&self) -> impl Iterator<Item = (Cow<'_, str>, Input<'_>)> {
        self.by_name().into_iter().map(|(name, member)| {
            let one = Input {
                raw: Cow::Borrowed(&self.raw),
                members: vec![member],
            };
            (name, one)
        })
    }

    /// The members by their keys.
    fn by_name(&self) -> BTreeMap<Cow<'_, str>, (Text, Span)> {
        let members = self.members.iter();
        members
            .map(|member| (decoded(member.0.span.of(&self.raw)), *member))
            .collect()
    }

    /// The value of the first of `names` that is present and not `null`, as written.
    fn value(&self, names: &[&str]) -> Option<&[u8]> {
        let is = |key: &Text, name: &str| {
            let raw = key.span.of(&self.raw);
            match key.is_plain() {
                true => raw == name.as_bytes(),
                false => decoded(raw) == name,
            }
        };
        names.iter().find_map(|name| {
            let mut latest = self.members.iter().rev();
            let (_, value) = latest.find(|(key, _)| is(key, name))?;
            Some(value.of(&self.raw)).filter(|value| *value != b"null")
        })
    }

    /// Whether one of `names` is present and not `null`.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.value(names).is_some()
    }

    /// The string under the first of `names`.
    pub(super) fn text(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        string(self.value(names)?)
    }

    /// Whether the first of `names` is a string.
    fn has_text(&self, names: &[&str]) -> bool {
        self.value(names).is_some_and(is_string)
    }

    /// Whether any value is a string.
    pub(super) fn has_any_text(&self) -> bool {
        let members = self.by_name().into_values();
        let mut values = members.map(|(_, value)| value.of(&self.raw));
        values.any(is_string)
    }

    /// Whether the first of `names` is `true`; models may also write it as a string.
    pub(super) fn is_true(&self, names: &[&str]) -> bool {
        matches!(self.value(names), Some(b"true" | b"\"true\""))
    }

    /// The whole number under the first of `names`; models write it as a string, too.
    pub(super) fn integer(&self, names: &[&str]) -> Option<i64> {
        number(self.value(names)?)
    }

    /// The whole number under the first of `names`; models write it as a string, too.
    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        number(self.value(names)?)
    }

    /// The two integers of a list; the second is `None` if it is negative, which means up to the end.
    pub(super) fn range(&self, name: &str) -> Option<(u64, Option<u64>)> {
        match elements(self.value(&[name])?)?[..] {
            [first, b"-1"] => Some((number(first)?, None)),
            [first, last] => Some((number(first)?, Some(number(last)?))),
            _ => None,
        }
    }

    /// The strings of the list under the first of `names`; `None` if an element is not a string.
    pub(super) fn texts(&self, names: &[&str]) -> Option<Vec<String>> {
        let texts = elements(self.value(names)?)?.into_iter();
        texts.map(|raw| Some(string(raw)?.into_owned())).collect()
    }

    /// The command for a shell: a string, a list of arguments, or several command strings, joined by line breaks.
    pub(super) fn command(&self) -> Option<String> {
        if let Some(text) = self.text(&COMMAND) {
            return Some(text.into_owned());
        }
        if let Some(several) = self.texts(&["commands"]) {
            return (!several.is_empty()).then(|| several.join("\n"));
        }
        let arguments = self.texts(&COMMAND)?;
        match &arguments[..] {
            // A shell with a script as its argument: the script is the command.
            [_, flag, script] if matches!(flag.as_str(), "-c" | "-lc") => Some(script.clone()),
            [] => None,
            all => Some(all.join(" ")),
        }
    }

    /// Whether there is a command for a shell.
    pub(super) fn has_command(&self) -> bool {
        self.has_text(&COMMAND) || self.command().is_some()
    }

    /// The object under `name`.
    pub(super) fn object(&self, name: &str) -> Option<Input<'_>> {
        self.value(&[name]).map(Input::in_value)
    }

    /// The elements of the list under `name`, each an object; models may also write the list as a string.
    pub(super) fn objects(&self, name: &str) -> Option<Vec<Input<'static>>> {
        let raw = match self.value(&[name])? {
            [b'"', inside @ .., b'"'] => unescape(inside),
            raw => Cow::Borrowed(raw),
        };
        let read = |raw: &[u8]| Input::read(Cow::Owned(raw.to_vec()));
        Some(elements(&raw)?.into_iter().map(read).collect())
    }

    /// The keys that are not `known`, with their values as written, sorted.
    pub(super) fn others(&self, known: impl Fn(&str) -> bool) -> Vec<u8> {
        let others = self.by_name().into_iter();
        let others = others.map(|(key, (_, value))| (key, value.of(&self.raw)));
        let others = others.filter(|(key, value)| *value != b"null" && !known(key));
        let others: Vec<Vec<u8>> = others
            .map(|(key, value)| [key.as_bytes(), b":", value].concat())
            .collect();
        others.join(&b'\n')
    }
}

/// The elements of a list, as written.
fn elements(raw: &[u8]) -> Option<Vec<&[u8]>> {
    let mut cursor = Cursor::new(raw);
    let mut elements = Vec::new();
    let read = cursor.array(|c| {
        elements.push(c.skip()?.of(raw));
        Ok(())
    });
    read.ok().map(|_| elements)
}

fn is_string(raw: &[u8]) -> bool {
    matches!(raw, [b'"', .., b'"'])
}

fn string(raw: &[u8]) -> Option<Cow<'_, str>> {
    match raw {
        [b'"', inside @ .., b'"'] => Some(decoded(inside)),
        _ => None,
    }
}

fn number<N: FromStr>(raw: &[u8]) -> Option<N> {
    let digits = match raw {
        [b'"', inside @ .., b'"'] => inside,
        bare => bare,
    };
    std::str::from_utf8(digits).ok()?.parse().ok()
}
