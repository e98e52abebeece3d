//! A pull parser for one line: the caller asks for what it needs and skips the rest.
//!
//! As strict as `serde_json` about what is JSON, but it stores no values, needs no stack (arrays 100 000 deep are skipped in a
//! loop) and reads what `serde_json` cannot represent: lone surrogates, duplicate keys, numbers of any length.

use std::borrow::Cow;

use super::Span;
use super::defects::{Anomalies, Bad, Parse};
use super::kind::Kind;
use super::nesting::Nesting;
use super::simd::Scanner;
use super::string::Text;
use super::strings::{Memory, Strings};
use super::unescape::unescape;

/// More digits than `u64::MAX` or an exact double can have.
const LONG_NUMBER_DIGITS: usize = 20;
/// `serde_json`'s recursion limit.
const DEEP_LEVELS: usize = 127;

/// How many keys of one object are compared with each other; real objects have fewer.
const KEYS_COMPARED: usize = 32;

/// A position in a line of JSON.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    line: &'a [u8],
    scanner: Scanner,
    at: usize,
    /// The number of containers open at `at` that the caller has entered.
    depth: usize,
    memory: Memory<'a>,
    /// The oddities found so far.
    pub anomalies: Anomalies,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `line`.
    pub fn new(line: &'a [u8]) -> Self {
        Cursor {
            line,
            scanner: Scanner::through(line),
            at: 0,
            depth: 0,
            memory: Memory::None,
            anomalies: Anomalies::default(),
        }
    }

    /// The same, but records long strings for a later reader; `start` is the offset of the line in its text. Must be finished with
    /// [`Cursor::noted`].
    #[inline]
    pub fn noting(line: &'a [u8], start: usize, strings: &mut Strings) -> Self {
        Cursor {
            memory: Memory::Noting(strings.begin(start)),
            ..Cursor::new(line)
        }
    }

    /// Stores the recorded strings in `strings`.
    pub fn noted(self, strings: &mut Strings) {
        if let Memory::Noting(texts) = self.memory {
            strings.end(texts);
        }
    }

    /// A cursor at the start of `line`, which was read before and has these long strings.
    #[inline]
    pub fn knowing(line: &'a [u8], strings: &'a [Text]) -> Self {
        Cursor::new(line).aware_of(strings)
    }

    /// The same cursor, which takes the strings that were read before from `strings`, in the order of the line.
    #[inline]
    pub(super) fn aware_of(self, strings: &'a [Text]) -> Self {
        Cursor {
            memory: Memory::Known(strings),
            ..self
        }
    }

    /// A cursor at the start of the value at `span`, limited to that value; its spans are relative to the line.
    pub(super) fn within(line: &'a [u8], span: Span) -> Self {
        Cursor {
            line: &line[..span.end()],
            at: span.start as usize,
            ..Cursor::new(span.of(line))
        }
    }

    /// The whole line.
    pub fn line(&self) -> &'a [u8] {
        self.line
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Parse<()> {
        self.white();
        if self.at == self.line.len() {
            Ok(())
        } else {
            Err(self.bad("text after the value"))
        }
    }

    /// The kind of the next value.
    pub fn kind(&mut self) -> Parse<Kind> {
        self.white();
        match self.line.get(self.at) {
            Some(first) => Kind::of(*first).ok_or_else(|| self.bad("no JSON value")),
            None => Err(self.bad("value missing")),
        }
    }

    /// The byte at which the next value begins.
    pub fn place(&mut self) -> Parse<usize> {
        self.kind().map(|_| self.at)
    }

    /// The position just past the last byte read.
    pub fn last_end(&self) -> usize {
        self.at
    }

    /// Reads an object; `each` is called with every key (unescaped) and must read or skip its value.
    #[inline]
    pub fn object(&mut self, mut each: impl FnMut(&[u8], &mut Self) -> Parse<()>) -> Parse<Span> {
        let mut keys = self.keys()?;
        while let Some(key) = self.next_key(&mut keys)? {
            each(&key, self)?;
        }
        Ok(Span::new(keys.start, self.at))
    }

    /// Reads an array; `each` must read or skip one element.
    #[inline]
    pub fn array(&mut self, mut each: impl FnMut(&mut Self) -> Parse<()>) -> Parse<Span> {
        let start = self.open(b'[', "an array was expected")?;
        let mut is_open = !self.close(b']');
        while is_open {
            each(self)?;
            is_open = self.comma_or(b']')?;
        }
        Ok(Span::new(start, self.at))
    }

    /// Reads an object; returns the key and the value of each member, in the order in which they are written.
    pub fn members(&mut self) -> Parse<Vec<(Text, Span)>> {
        let mut members = Vec::new();
        let mut keys = self.keys()?;
        while let Some(key) = self.next_text(&mut keys)? {
            members.push((key, self.skip()?));
        }
        Ok(members)
    }

    /// Enters an object.
    fn keys(&mut self) -> Parse<Keys> {
        Ok(Keys {
            start: self.open(b'{', "an object was expected")?,
            seen: [Span::default(); KEYS_COMPARED],
            compared: 0,
            shapes: 0,
            is_first: true,
        })
    }

    /// The next key, with the cursor at its value; `None` at the end of the object, which the cursor then leaves. Separate from
    /// [`Cursor::object`], which is monomorphised for each caller.
    fn next_key(&mut self, keys: &mut Keys) -> Parse<Option<Cow<'a, [u8]>>> {
        let Some(key) = self.next_text(keys)? else {
            return Ok(None);
        };
        let raw = key.span.of(self.line);
        Ok(Some(match key.is_plain() {
            true => Cow::Borrowed(raw),
            false => unescape(raw),
        }))
    }

    /// The same, with the key as it is written.
    #[inline]
    fn next_text(&mut self, keys: &mut Keys) -> Parse<Option<Text>> {
        let is_first = std::mem::take(&mut keys.is_first);
        let key = match self.usual_key(is_first) {
            Some(key) => key,
            None => match self.any_key(is_first)? {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        if keys.repeats(key.span, self.line) {
            self.anomalies.insert(Anomalies::DUPLICATE_KEY);
        }
        Ok(Some(key))
    }

    /// The next key with its colon, if it is written like most keys: short and plain, with at most one blank, which is before it.
    /// Otherwise, the cursor stays where it is.
    #[inline]
    fn usual_key(&mut self, is_first: bool) -> Option<Text> {
        let before = match (self.line.get(self.at..)?, is_first) {
            ([b'"', ..], true) => 1,
            ([b',', b'"', ..], false) => 2,
            ([b',', b' ', b'"', ..], false) => 3,
            _ => return None,
        };
        let start = self.at + before;
        let end = self.scanner.plain(self.line, start)?;
        (self.line.get(end + 1) == Some(&b':')).then(|| {
            self.at = end + 2;
            Text::plain(start, end)
        })
    }

    /// The same for a key that may be written in any way; `None` at the end of the object.
    fn any_key(&mut self, is_first: bool) -> Parse<Option<Text>> {
        let is_open = match is_first {
            true => !self.close(b'}'),
            false => self.comma_or(b'}')?,
        };
        if !is_open {
            return Ok(None);
        }
        let key = self.string()?;
        self.colon()?;
        Ok(Some(key))
    }

    /// Reads a string.
    #[inline]
    pub fn string(&mut self) -> Parse<Text> {
        self.white();
        if self.line.get(self.at) != Some(&b'"') {
            return Err(self.bad("a string was expected"));
        }
        let start = self.at + 1;
        if let Some(end) = self.scanner.plain(self.line, start) {
            self.at = end + 1;
            return Ok(Text::plain(start, end));
        }
        self.other_string(start)
    }

    /// Reads a string that is not both short and plain.
    #[inline(never)]
    fn other_string(&mut self, start: usize) -> Parse<Text> {
        if let Some(known) = self.memory.at(start) {
            debug_assert_eq!(
                self.scanner
                    .string(self.line, start, &mut Anomalies::default())
                    .map(|(text, _)| text),
                Ok(known)
            );
            self.at = known.span.end() + 1;
            return Ok(known);
        }
        let (text, next) = self.scanner.string(self.line, start, &mut self.anomalies)?;
        if !self.anomalies.contains(Anomalies::LONE_SURROGATE) {
            self.memory.note(text);
        }
        self.at = next;
        Ok(text)
    }

    /// Reads a string, or skips any other value.
    pub fn string_or_skip(&mut self) -> Parse<Option<Text>> {
        match self.kind()? {
            Kind::String => self.string().map(Some),
            Kind::Object | Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
                self.skip().map(|_| None)
            }
        }
    }

    /// Reads a string and returns the span between its quotes; skips any other value and returns an empty span.
    pub fn string_span(&mut self) -> Parse<Span> {
        let text = self.string_or_skip()?;
        Ok(text.map(|text| text.span).unwrap_or_default())
    }

    /// Reads a value and returns whether it is `true`.
    pub fn is_true(&mut self) -> Parse<bool> {
        let span = self.skip()?;
        Ok(span.of(self.line) == b"true")
    }

    /// Skips one value of any size and depth; returns its span.
    pub fn skip(&mut self) -> Parse<Span> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            Kind::Object | Kind::Array => self.skip_container()?,
            Kind::String | Kind::Number | Kind::Bool | Kind::Null => self.scalar(kind)?,
        }
        Ok(Span::new(start, self.at))
    }

    /// Skips a container without recursion: the open containers are one bit each.
    fn skip_container(&mut self) -> Parse<()> {
        let mut open = Nesting::default();
        loop {
            match self.kind()? {
                kind @ (Kind::Object | Kind::Array) => {
                    self.at += 1;
                    open.push(kind);
                    if self.depth + open.depth > DEEP_LEVELS {
                        self.anomalies.insert(Anomalies::DEEP);
                    }
                    if !self.close_bare(if kind == Kind::Object { b'}' } else { b']' }) {
                        if kind == Kind::Object {
                            self.string()?;
                            self.colon()?;
                        }
                        continue;
                    }
                    open.pop();
                }
                kind @ (Kind::String | Kind::Number | Kind::Bool | Kind::Null) => {
                    self.scalar(kind)?
                }
            }
            // A value has ended: close the containers that end with it, or continue with the next value.
            loop {
                let Some(kind) = open.top() else {
                    return Ok(());
                };
                self.white();
                match (self.line.get(self.at), kind) {
                    (Some(b','), Kind::Object) => {
                        self.at += 1;
                        self.string()?;
                        self.colon()?;
                        break;
                    }
                    (Some(b','), _) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), Kind::Object) | (Some(b']'), Kind::Array) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(self.bad("a comma or the end of the container was expected")),
                }
            }
        }
    }

    fn scalar(&mut self, kind: Kind) -> Parse<()> {
        match kind {
            Kind::String => self.string().map(drop),
            Kind::Number => self.number(),
            Kind::Bool if self.line[self.at] == b't' => self.word(b"true"),
            Kind::Bool => self.word(b"false"),
            Kind::Null => self.word(b"null"),
            Kind::Object | Kind::Array => Err(self.bad("a plain value was expected")),
        }
    }

    fn word(&mut self, word: &[u8]) -> Parse<()> {
        if !self.line[self.at..].starts_with(word) {
            return Err(self.bad("no JSON value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Parse<()> {
        if self.line.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let mut digits = match self.line.get(self.at) {
            Some(b'0') => {
                self.at += 1;
                1
            }
            _ => self.digits()?,
        };
        if self.line.get(self.at) == Some(&b'.') {
            self.at += 1;
            digits += self.digits()?;
        }
        if matches!(self.line.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.line.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if digits > LONG_NUMBER_DIGITS {
            self.anomalies.insert(Anomalies::LONG_NUMBER);
        }
        Ok(())
    }

    fn digits(&mut self) -> Parse<usize> {
        let rest = &self.line[self.at..];
        let n = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if n == 0 {
            return Err(self.bad("a digit was expected"));
        }
        self.at += n;
        Ok(n)
    }

    /// Enters a container; returns the position of its bracket.
    fn open(&mut self, bracket: u8, what: &'static str) -> Parse<usize> {
        self.white();
        if self.line.get(self.at) != Some(&bracket) {
            return Err(self.bad(what));
        }
        self.at += 1;
        self.depth += 1;
        Ok(self.at - 1)
    }

    /// Leaves the current container if it ends here.
    fn close(&mut self, bracket: u8) -> bool {
        let closed = self.close_bare(bracket);
        self.depth -= usize::from(closed);
        closed
    }

    fn close_bare(&mut self, bracket: u8) -> bool {
        self.white();
        let closed = self.line.get(self.at) == Some(&bracket);
        self.at += usize::from(closed);
        closed
    }

    /// After an element: `true` at a comma, `false` at the end of the container.
    fn comma_or(&mut self, bracket: u8) -> Parse<bool> {
        if self.close(bracket) {
            return Ok(false);
        }
        if self.line.get(self.at) != Some(&b',') {
            return Err(self.bad("a comma or the end of the container was expected"));
        }
        self.at += 1;
        Ok(true)
    }

    fn colon(&mut self) -> Parse<()> {
        self.white();
        if self.line.get(self.at) != Some(&b':') {
            return Err(self.bad("a colon was expected"));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn white(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.line.get(self.at) {
            self.at += 1;
        }
    }

    fn bad(&self, what: &'static str) -> Bad {
        Bad::new(self.at, what)
    }
}

/// The keys of an object that is being read.
struct Keys {
    /// The byte at which the object begins.
    start: usize,
    /// The first keys.
    seen: [Span; KEYS_COMPARED],
    /// How many keys are in `seen`.
    compared: usize,
    /// A bit for the shape of each of these.
    shapes: u64,
    /// Whether no key has been read yet.
    is_first: bool,
}

impl Keys {
    /// Records a key; returns whether it was there before.
    #[inline]
    fn repeats(&mut self, key: Span, line: &[u8]) -> bool {
        if self.compared == KEYS_COMPARED {
            return false;
        }
        let raw = key.of(line);
        // Most keys of an object differ in length, first or last byte; only others are compared.
        let [first, last] = [raw.first(), raw.last()].map(|byte| u32::from(*byte.unwrap_or(&0)));
        let shape = 1u64 << (key.len.wrapping_add(5 * first + 11 * last) % u64::BITS);
        let may_repeat = self.shapes & shape != 0;
        let mut seen = self.seen[..self.compared].iter();
        let repeats = may_repeat && seen.any(|k| k.len == key.len && k.of(line) == raw);
        self.shapes |= shape;
        self.seen[self.compared] = key;
        self.compared += 1;
        repeats
    }
}

/// Whether a text is a JSON object with nothing after it.
pub(crate) fn is_object(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.kind().is_ok_and(|kind| kind == Kind::Object)
        && cursor.skip().is_ok()
        && cursor.end().is_ok()
}
