//! Line boundaries. Splits on LF only: U+2028 and a lone CR are legal inside a line.

use std::ops::Range;

use memchr::memchr;

/// How a line ends, or the place of a unit in a document ([`super::document()`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eol {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// Nothing: the last line of a file without a final newline.
    None,
    /// The unit is a message of a document, followed by a comma if another message comes after it.
    Element,
    /// The unit is the part before or after the messages of a document.
    Frame,
    /// The line is inside the preceding unit of a document, and has no bytes of its own.
    Within,
}

impl Eol {
    /// Whether it is a message of a document.
    pub fn is_element(self) -> bool {
        match self {
            Eol::Element => true,
            Eol::Lf | Eol::CrLf | Eol::None | Eol::Frame | Eol::Within => false,
        }
    }

    /// The bytes that end the line.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Eol::Lf => b"\n",
            Eol::CrLf => b"\r\n",
            Eol::None | Eol::Element | Eol::Frame | Eol::Within => b"",
        }
    }
}

/// Where a line is: `start..end` without its ending; a byte order mark before the first line is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLine {
    /// First byte of the line.
    pub start: usize,
    /// One past its last byte, without the line's ending.
    pub end: usize,
    /// How it ends.
    pub eol: Eol,
}

/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of `bytes`, in order. An empty remainder after the last newline is not a line.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine> + '_ {
    lines_in(bytes, 0..bytes.len())
}

/// The lines of a part of `bytes`, which begins where a line begins and ends where one ends.
pub(crate) fn lines_in(bytes: &[u8], part: Range<usize>) -> impl Iterator<Item = RawLine> + '_ {
    let Range {
        start: mut at,
        end: last,
    } = part;
    if at == 0 && bytes[..last].starts_with(BOM) {
        at = BOM.len();
    }
    std::iter::from_fn(move || {
        if at >= last {
            return None;
        }
        let start = at;
        let (mut end, mut eol) = match memchr(b'\n', &bytes[start..last]) {
            Some(n) => (start + n, Eol::Lf),
            None => (last, Eol::None),
        };
        at = if eol == Eol::Lf { end + 1 } else { end };
        if eol == Eol::Lf && end > start && bytes[end - 1] == b'\r' {
            (end, eol) = (end - 1, Eol::CrLf);
        }
        Some(RawLine { start, end, eol })
    })
}

/// The size of a text in bytes from which threads share the work on it: a smaller one takes no longer than waking them several times.
/// In a debug build they share it on small ones, too, so that the tests show that the results are the same.
pub(crate) const LARGE: usize = match cfg!(debug_assertions) {
    true => 16 << 10,
    false => 32 << 20,
};

/// Divides `bytes` from `start`, where a line begins, into parts of whole lines; each but the last has at least `size` bytes.
pub(crate) fn parts_of_lines(bytes: &[u8], start: usize, size: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = start;
    while at < bytes.len() {
        let rest = bytes.get(at + size.max(1) - 1..).unwrap_or(b"");
        let end = memchr(b'\n', rest).map_or(bytes.len(), |n| at + size.max(1) + n);
        parts.push(at..end);
        at = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_parts_are_the_lines() {
        let texts: [&[u8]; 9] = [
            b"",
            b"a",
            b"a\n",
            b"\n\n\n",
            b"a\r\nbb\r\n\r\n",
            b"ab\n\xef\xbb\xbfcd\nef",
            b"\xef\xbb\xbf",
            b"\xef\xbb\xbf\nab\n",
            b"abcdefghi\nj\nk",
        ];
        for text in texts {
            let whole: Vec<RawLine> = lines(text).collect();
            for size in 0..12 {
                let parts = parts_of_lines(text, 0, size);
                let divided: Vec<RawLine> = parts
                    .into_iter()
                    .flat_map(|part| lines_in(text, part))
                    .collect();
                assert_eq!(divided, whole, "{text:?} in parts of {size}");
            }
        }
    }

    #[test]
    fn a_part_is_no_longer_than_its_last_line_makes_it() {
        assert_eq!(parts_of_lines(b"a\nb\nc\n", 0, 3), [0..4, 4..6]);
        assert_eq!(parts_of_lines(b"a\nb\nc\n", 2, 2), [2..4, 4..6]);
        assert_eq!(parts_of_lines(b"a\nb\nc", 2, 2), [2..4, 4..5]);
    }
}
