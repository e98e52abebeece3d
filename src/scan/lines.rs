//! Line boundaries. Splits on LF only: U+2028 and a lone CR are legal inside a line.

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
    let mut at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let start = at;
        let (mut end, mut eol) = match memchr(b'\n', &bytes[start..]) {
            Some(n) => (start + n, Eol::Lf),
            None => (bytes.len(), Eol::None),
        };
        at = if eol == Eol::Lf { end + 1 } else { end };
        if eol == Eol::Lf && end > start && bytes[end - 1] == b'\r' {
            (end, eol) = (end - 1, Eol::CrLf);
        }
        Some(RawLine { start, end, eol })
    })
}
