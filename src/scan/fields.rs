//! The second look at a line: what stands under a few keys of an object, by their names.
//!
//! [`Value::fields`] and [`Value::within`] say which keys; a [`Value`] says what is there and of which kind. Of a key that is
//! there twice the last one counts, as in every reader of JSON, and what is not there, or cannot be read, has no fields
//! either: nobody who asks has to tell these apart.
//!
//! Allocates for escapes alone and never fails; who has to know that a line is no JSON asks the [`Cursor`].

use std::borrow::Cow;
use std::str::FromStr;

use super::cursor::{Cursor, Kind};
use super::defects::Parse;
use super::{Span, unescape};

/// A value in a line, or none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Value<'a> {
    line: &'a [u8],
    /// Empty where there is none: no JSON value is.
    span: Span,
}

impl<'a> Value<'a> {
    /// A line, or any other JSON text, as one value. It need not have been read before; one that is longer than
    /// [`Span::MAX_LINE`] is none.
    pub fn of(line: &'a [u8]) -> Self {
        let is_read = line.len() <= Span::MAX_LINE;
        Value::part(line, Span::new(0, if is_read { line.len() } else { 0 }))
    }

    /// The value at `span`, which lies within the line.
    pub fn part(line: &'a [u8], span: Span) -> Self {
        Value { line, span }
    }

    /// The values under `names`, if this is an object.
    pub fn fields<const N: usize>(self, names: [&str; N]) -> [Value<'a>; N] {
        let fields = Cursor::within(self.line, self.span).fields(names);
        fields.unwrap_or([Value::default(); N])
    }

    /// The same, each with its name, in the order in which they stand on the line; first those that do not.
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

    /// The value to which the names lead, each a key of the object under the one before. Reads that far once: cheaper than
    /// [`Value::field`] again and again where the objects are large.
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

    /// Of which kind it is.
    pub fn kind(self) -> Option<Kind> {
        let first = self.raw().trim_ascii_start().first();
        first.and_then(|first| Kind::of(*first))
    }

    /// Where it stands in its line.
    pub fn span(self) -> Span {
        self.span
    }

    /// Its bytes as they stand; empty where there is none.
    pub fn raw(self) -> &'a [u8] {
        self.span.of(self.line)
    }

    /// What stands between the quotes, if it is a string: escapes are left as they are.
    pub fn string(self) -> Option<&'a [u8]> {
        self.inside().map(|inside| inside.of(self.line))
    }

    /// Where that stands in its line.
    pub fn inside(self) -> Option<Span> {
        let Span { start, len } = self.span;
        matches!(self.raw(), [b'"', .., b'"']).then(|| Span {
            start: start + 1,
            len: len - 2,
        })
    }

    /// What the string says, if it is one.
    pub fn unescaped(self) -> Option<Cow<'a, [u8]>> {
        self.string().map(unescape)
    }

    /// The number, if it is one that the type holds.
    pub fn number<T: FromStr>(self) -> Option<T> {
        std::str::from_utf8(self.raw()).ok()?.parse().ok()
    }

    /// The whole number with the place where it stands, if it is one.
    pub fn figure(self) -> Option<(Span, u64)> {
        Some((self.span, self.number()?))
    }

    /// Gives every element to `each`, if it is an array.
    pub fn elements(self, mut each: impl FnMut(Value<'a>)) {
        let mut cursor = Cursor::within(self.line, self.span);
        // What was read before can be read again; should it fail all the same, these were all.
        let _ = cursor.array(|c| {
            each(Value::part(self.line, c.skip()?));
            Ok(())
        });
    }
}

impl<'a> Cursor<'a> {
    /// Reads an object for the values under `names`.
    ///
    /// # Errors
    ///
    /// Where there is no object, or one that is no JSON.
    pub fn fields<const N: usize>(&mut self, names: [&str; N]) -> Parse<[Value<'a>; N]> {
        let line = self.line();
        let mut values = [Value::part(line, Span::default()); N];
        self.object(|key, c| {
            let value = c.skip()?;
            if let Some(n) = names.iter().position(|name| name.as_bytes() == key) {
                values[n].span = value;
            }
            Ok(())
        })?;
        Ok(values)
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
