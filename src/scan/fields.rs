//! Reads a few keys of an object, by their names, from a line that was already read once.
//!
//! [`Value::fields`] and [`Value::within`] select the keys; a [`Value`] holds what was found and its kind. If a key occurs twice,
//! the last one counts, as in every JSON reader. A value that is missing or cannot be read has no fields: no caller has to
//! distinguish the two.
//!
//! Allocates only for escapes and never fails; to find out whether a line is JSON, use the [`Cursor`].

use std::borrow::Cow;
use std::str::FromStr;

use super::cursor::Cursor;
use super::defects::Parse;
use super::kind::Kind;
use super::{Span, Text, decoded, unescape};

/// A value in a line, or no value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Value<'a> {
    line: &'a [u8],
    /// Empty where there is no value: a JSON value is never empty.
    span: Span,
}

impl<'a> Value<'a> {
    /// A line, or any other JSON text, as one value. It need not have been read before. A text longer than [`Span::MAX_LINE`]
    /// yields no value.
    pub fn of(line: &'a [u8]) -> Self {
        let is_read = line.len() <= Span::MAX_LINE;
        Value::part(line, Span::new(0, if is_read { line.len() } else { 0 }))
    }

    /// The value at `span`, which is within the line.
    pub fn part(line: &'a [u8], span: Span) -> Self {
        Value { line, span }
    }

    /// The values under `names`, if this is an object.
    pub fn fields<const N: usize>(self, names: [&str; N]) -> [Value<'a>; N] {
        let fields = Cursor::within(self.line, self.span).fields(names);
        fields.unwrap_or([Value::default(); N])
    }

    /// The same, each with its name, in the order in which they are on the line; missing ones come first.
    pub fn in_order<'n, const N: usize>(self, names: [&'n str; N]) -> [(&'n str, Value<'a>); N] {
        let values = self.fields(names);
        let mut fields = std::array::from_fn(|n| (names[n], values[n]));
        fields.sort_unstable_by_key(|(_, value)| value.span.start);
        fields
    }

    /// The value under one name.
    pub fn field(self, name: &str) -> Value<'a> {
        let [value] = self.fields([name]);
        value
    }

    /// The same, given strings of this value that were read before, in their order: they are not read again.
    pub fn field_beside(self, strings: &'a [Text], name: &str) -> Value<'a> {
        let mut cursor = Cursor::within(self.line, self.span).aware_of(strings);
        let [value] = cursor.fields([name]).unwrap_or_default();
        value
    }

    /// The value at a path of names, each a key of the object under the one before. Reads the line only once, which for large
    /// objects is cheaper than repeated calls of [`Value::field`].
    pub fn within(self, path: &[&str]) -> Value<'a> {
        let mut found = Span::default();
        match find(&mut Cursor::within(self.line, self.span), path, &mut found) {
            Ok(()) => Value::part(self.line, found),
            Err(_) => Value::default(),
        }
    }

    /// Whether there is a value.
    pub fn is_there(self) -> bool {
        !self.span.is_empty()
    }

    /// Its kind.
    pub fn kind(self) -> Option<Kind> {
        let first = self.raw().trim_ascii_start().first();
        first.and_then(|first| Kind::of(*first))
    }

    /// Its span in the line.
    pub fn span(self) -> Span {
        self.span
    }

    /// Its bytes as written; empty where there is no value.
    pub fn raw(self) -> &'a [u8] {
        self.span.of(self.line)
    }

    /// The bytes between the quotes, if it is a string; escapes stay as they are.
    pub fn string(self) -> Option<&'a [u8]> {
        self.inside().map(|inside| inside.of(self.line))
    }

    /// The span of these bytes in the line.
    pub fn inside(self) -> Option<Span> {
        let Span { start, len } = self.span;
        matches!(self.raw(), [b'"', .., b'"']).then(|| Span {
            start: start + 1,
            len: len - 2,
        })
    }

    /// The unescaped text, if it is a string.
    pub fn unescaped(self) -> Option<Cow<'a, [u8]>> {
        self.string().map(unescape)
    }

    /// The same as UTF-8: invalid bytes are replaced.
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.string().map(decoded)
    }

    /// The number, if it is one that fits into `T`.
    pub fn number<T: FromStr>(self) -> Option<T> {
        std::str::from_utf8(self.raw()).ok()?.parse().ok()
    }

    /// The integer and its span, if it is one.
    pub fn figure(self) -> Option<(Span, u64)> {
        Some((self.span, self.number()?))
    }

    /// Calls `each` with every element, if it is an array.
    pub fn elements(self, mut each: impl FnMut(Value<'a>)) {
        let mut cursor = Cursor::within(self.line, self.span);
        // The line was read before, so this should not fail; if it does, the elements end there.
        let _ = cursor.array(|c| {
            each(Value::part(self.line, c.skip()?));
            Ok(())
        });
    }
}

impl<'a> Cursor<'a> {
    /// Reads an object and returns the values under `names`.
    ///
    /// # Errors
    ///
    /// If there is no object, or it is not JSON.
    pub fn fields<const N: usize>(&mut self, names: [&str; N]) -> Parse<[Value<'a>; N]> {
        let mut values = [Value::part(self.line(), Span::default()); N];
        self.fill(&names, &mut values)?;
        Ok(values)
    }

    /// Separate, because `fields` is monomorphised for each number of names.
    fn fill(&mut self, names: &[&str], values: &mut [Value<'a>]) -> Parse<()> {
        self.object(|key, c| {
            let value = c.skip()?;
            if let Some(n) = names.iter().position(|name| name.as_bytes() == key) {
                values[n].span = value;
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn find(c: &mut Cursor<'_>, path: &[&str], found: &mut Span) -> Parse<()> {
    let Some((name, rest)) = path.split_first() else {
        *found = c.skip()?;
        return Ok(());
    };
    if c.kind()? != Kind::Object {
        return c.skip().map(drop);
    }
    c.object(|key, c| {
        if key != name.as_bytes() {
            return c.skip().map(drop);
        }
        *found = Span::default();
        find(c, rest, found)
    })
    .map(drop)
}
