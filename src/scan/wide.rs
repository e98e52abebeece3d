//! Strings by 64 bytes at a time, where the processor has AVX2; which is found out while the program runs.
//!
//! Gives the same answers as [`super::string`], or none: what is wrong with a string, and where, only that says. The first step
//! looks at 32 bytes, since most strings are keys and end there.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::defects::{Oddities, Parse};
use super::string::{Bytes, Found, Text, narrow};

/// What a cursor needs to know of a line before it reads strings in it; `None` where that is nothing.
pub(super) fn properties(line: &[u8]) -> Option<Bytes> {
    (!is_available()).then(|| Bytes::of(line))
}

/// Reads a string whose opening quote is before `at`, in one way or the other; returns the text and the position after its
/// closing quote. `bytes` are the [`properties`] of the line.
#[inline]
pub(super) fn string(
    line: &[u8],
    at: usize,
    bytes: Option<Bytes>,
    odd: &mut Oddities,
) -> Parse<(Text, usize)> {
    if bytes.is_none()
        && let Some(found) = find(line, at)
    {
        if found.has_lone_surrogate {
            odd.insert(Oddities::LONE_SURROGATE);
        }
        return Ok(found.text(at));
    }
    narrow(line, at, bytes.unwrap_or_else(Bytes::unknown), odd)
}

/// Whether strings can be read in this way here.
#[inline]
pub(super) fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return x86::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What a string has in it that others would write in another way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Its closing quote.
    pub(crate) end: usize,
    /// Escapes of two bytes.
    pub(crate) escapes: u64,
    /// Of these, quotes.
    pub(crate) quotes: u64,
    /// Of these, slashes.
    pub(crate) slashes: u64,
    /// Of these, `\b` and `\f`.
    pub(crate) feeds: u64,
    /// Bytes beyond ASCII.
    pub(crate) highs: u64,
    /// Of these, those that continue a character.
    pub(crate) continuations: u64,
    /// Of these, those that begin a character outside the basic plane.
    pub(crate) fours: u64,
    pub(crate) apostrophes: u64,
    /// The control character 0x7f, which JSON has as it is.
    pub(crate) deletes: u64,
}

/// Reads the string whose first byte is at `start`, as of [`find`], and counts what is in it; `units` gets the place of the
/// backslash of every `\u`.
pub(crate) fn inside(line: &[u8], start: usize, units: &mut impl FnMut(usize)) -> Option<Inside> {
    #[cfg(target_arch = "x86_64")]
    return x86::inside(line, start, units);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (line, start, units);
        None
    }
}

/// Reads the string whose first byte is at `start`, if it is a whole and valid one; `None` also where the processor lacks what
/// this takes.
#[inline]
pub(super) fn find(line: &[u8], start: usize) -> Option<Found> {
    #[cfg(target_arch = "x86_64")]
    return x86::find(line, start);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (line, start);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What both ways of reading say, in the same words.
    fn agree(line: &[u8], start: usize) -> Result<(), TestCaseError> {
        let mut odd = Oddities::default();
        let expected = narrow(line, start, Bytes::of(line), &mut odd);
        match (find(line, start), expected) {
            (Some(found), Ok(text)) => {
                prop_assert_eq!(found.text(start), text);
                prop_assert_eq!(found.has_lone_surrogate, !odd.is_empty());
            }
            (Some(found), Err(bad)) => prop_assert!(false, "{found:?}, {bad:?}"),
            (None, Ok(text)) => prop_assert!(!is_available(), "{text:?}"),
            (None, Err(_)) => {}
        }
        Ok(())
    }

    #[test]
    fn runs_of_backslashes_end_a_string_where_they_should_at_every_place() {
        for before in 0..130 {
            for slashes in 0..70 {
                for last in [
                    "",
                    "n",
                    "u00e9",
                    "ud83c\\udf89",
                    "ud83c",
                    "x",
                    "u12\"4",
                    "\u{1}",
                ] {
                    let line = format!(
                        "{}{}{last}\"é\\\"{}",
                        "a".repeat(before),
                        "\\".repeat(slashes),
                        "b\"".repeat(20)
                    );
                    agree(line.as_bytes(), 0).unwrap();
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn both_ways_say_the_same_of_any_bytes(
            text in "(\\\\[\"\\\\/bfnrtx]|\\\\u[0-9a-g]{4}|\\\\ud83c\\\\udf89|[\u{7f} -~é世🎉]|\\\\\\\\|[a-z]{1,40}|\u{1}){0,60}",
            start in 0usize..9,
            mutation in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut line = text.into_bytes();
            line.extend(b"\" and more");
            if let Some((at, byte)) = mutation {
                let at = at.index(line.len());
                line[at] = byte;
            }
            agree(&line, start.min(line.len()))?;
        }
    }
}
