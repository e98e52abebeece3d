//! The `classes` estimate: the weight of a character is its average cost in tokens after the previous character.
//!
//! Tokens tend to begin with a word, a group of digits, or a run of punctuation. The previous character shows whether a token
//! begins, so a weight belongs to a pair of classes, or to a pair of letters inside a word: `th` is mostly within a token, `xq`
//! hardly ever, which distinguishes prose from base64. A sum over pairs needs only the previous character as state, takes one
//! lookup per byte, and never decreases when text is added.
//!
//! Weights are integers in ten-thousandths of a token, so sums are the same on every machine. `scripts/fit-classes` fits them to
//! exact o200k counts and writes `weights.rs`.

mod weights;

use crate::scan::unescape_at;

/// One token.
pub(super) const TOKEN: u64 = 10_000;

/// The number of classes.
pub(super) const CLASSES: usize = 60;

/// The class before the first character.
pub(super) const START: u8 = 0;
/// a to z; inside a word, the weight is that of the letter pair.
pub(super) const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
const SPACE: u8 = 4;
const NEWLINE: u8 = 5;
const TAB: u8 = 6;
/// Also a byte that is not UTF-8.
const CONTROL: u8 = 7;
/// The first of 32: every ASCII punctuation mark is a class of its own.
const MARK: u8 = 8;
/// The first class beyond ASCII.
const BEYOND: u8 = MARK + 32;

/// The class of a character.
pub(super) const fn class(c: u32) -> u8 {
    match c {
        0x61..=0x7a => LOWER,
        0x41..=0x5a => UPPER,
        0x30..=0x39 => DIGIT,
        0x20 => SPACE,
        0x0a | 0x0d => NEWLINE,
        0x09 => TAB,
        0..0x20 | 0x7f..0xa0 => CONTROL,
        0x21..=0x2f => MARK + (c - 0x21) as u8,
        0x3a..=0x40 => MARK + 15 + (c - 0x3a) as u8,
        0x5b..=0x60 => MARK + 22 + (c - 0x5b) as u8,
        0x7b..=0x7e => MARK + 28 + (c - 0x7b) as u8,
        // Signs of Latin 1, then Latin letters and the accents that combine with them.
        0xa0..0xc0 => BEYOND,
        0xc0..0x370 | 0x1e00..0x1f00 => BEYOND + 1,
        // Greek, Cyrillic.
        0x370..0x400 | 0x1f00..0x2000 => BEYOND + 2,
        0x400..0x530 => BEYOND + 3,
        // Hebrew, Arabic, the scripts of India, those of South-East Asia.
        0x590..0x600 => BEYOND + 4,
        0x600..0x900 | 0xfb50..0xfe00 | 0xfe70..0xff00 => BEYOND + 5,
        0x900..0xe00 => BEYOND + 6,
        0xe00..0x1100 | 0x1780..0x1800 => BEYOND + 7,
        // Joiners, spaces and variation selectors; typographic marks; arrows and signs; box drawing; shapes and dingbats.
        0x2000..0x2010 | 0xfe00..0xfe10 => BEYOND + 8,
        0x2010..0x2070 => BEYOND + 9,
        0x2070..0x2500 => BEYOND + 10,
        0x2500..0x2580 => BEYOND + 11,
        0x2580..0x2e80 => BEYOND + 12,
        // CJK punctuation and full-width forms, hiragana, katakana, Han, Hangul.
        0x3000..0x3040 | 0xff00..0xfff0 => BEYOND + 13,
        0x3040..0x30a0 => BEYOND + 14,
        0x30a0..0x3100 => BEYOND + 15,
        0x2e80..0x3000 | 0x3400..0xa000 | 0xf900..0xfb00 | 0x20000..0x40000 => BEYOND + 16,
        0x1100..0x1200 | 0x3130..0x3190 | 0xac00..0xd7b0 => BEYOND + 17,
        // Emoji, all the rest.
        0x1f000..0x20000 => BEYOND + 18,
        _ => BEYOND + 19,
    }
}

/// The classes of bytes below 128.
const ASCII: [u8; 128] = {
    let mut classes = [0; 128];
    let mut c = 0;
    while c < 128 {
        classes[c] = class(c as u32);
        c += 1;
    }
    classes
};

/// The classes of the basic plane beyond ASCII, one entry per 16 code points: class boundaries are multiples of 16.
static BASIC: [u8; 1 << 12] = {
    let mut classes = [0; 1 << 12];
    let mut c = 0x80;
    while c < 0x1_0000 {
        classes[c >> 4] = class(c as u32);
        c += 16;
    }
    classes
};

/// The weight of a character after another: `later << 8 | earlier`, as two bytes lie in a little-endian word. An ASCII character
/// is its own byte, any other its class with [`NO_BYTE`].
///
/// A full table of whole words, of which a tenth is ever read: two bytes of a text are an index as they are, and the innermost loop
/// adds straight from memory.
static PAIRS: [u32; 1 << 16] = {
    let mut pairs = [0; 1 << 16];
    let mut later = 0;
    while later < 256 {
        let mut earlier = 0;
        while earlier < 256 {
            let (first, second) = (class_of(earlier), class_of(later));
            pairs[later << 8 | earlier] = if first >= CLASSES || second >= CLASSES {
                0
            } else if earlier < 128 && later < 128 && is_lower(first) && is_lower(second) {
                weights::LETTERS[earlier - 0x61][later - 0x61] as u32
            } else {
                weights::CLASSES[first][second] as u32
            };
            earlier += 1;
        }
        later += 1;
    }
    pairs
};

/// A shorter run is added byte by byte.
const SHORT: usize = 8;

/// Marks a class in the place of a byte.
const NO_BYTE: u8 = 0x80;

/// The class of what stands for a character in [`PAIRS`].
const fn class_of(code: usize) -> usize {
    match code {
        0..128 => ASCII[code] as usize,
        _ => code - NO_BYTE as usize,
    }
}

const fn is_lower(class: usize) -> bool {
    class == LOWER as usize
}

/// The weight of UTF-8 text; an invalid byte has the weight of a control character.
pub(super) fn plain(text: &[u8]) -> u64 {
    let mut sum = Sum::new();
    sum.add(text, Escapes::None);
    sum.weight
}

/// The weight of the text of a JSON string, given without its quotes.
pub(super) fn written(raw: &[u8]) -> u64 {
    let mut sum = Sum::new();
    sum.add(raw, Escapes::Written);
    sum.weight
}

/// What a backslash in a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// The start of an escape.
    Written,
    /// A character.
    None,
}

/// The weight of a text added in pieces, each of which ends at a character boundary.
struct Sum {
    weight: u64,
    /// The last character, as in [`PAIRS`].
    last: u8,
}

impl Sum {
    fn new() -> Self {
        Sum {
            weight: 0,
            last: NO_BYTE | START,
        }
    }

    fn add(&mut self, text: &[u8], mut escapes: Escapes) {
        let mut rest = text;
        while let Some(first) = rest.first() {
            let len = match first {
                b'\\' if escapes == Escapes::Written => match escape(rest) {
                    Some((code, len)) => {
                        self.character(code);
                        len
                    }
                    // Strings that were read have only complete escapes; otherwise, the rest counts as it is.
                    None => {
                        escapes = Escapes::None;
                        0
                    }
                },
                0..0x80 => {
                    let len = run(rest, escapes);
                    self.ascii(*first, &rest[..len]);
                    len
                }
                0x80.. => {
                    let (code, len) = decode(rest);
                    self.character(code);
                    len
                }
            };
            rest = &rest[len..];
        }
    }

    /// Adds a run of ASCII that begins with `first`.
    #[inline]
    fn ascii(&mut self, first: u8, run: &[u8]) {
        // Between escapes or characters of other scripts, to begin a longer loop takes more than the run.
        if run.len() < SHORT {
            return run.iter().for_each(|byte| self.character(*byte));
        }
        self.character(first);
        self.weight += pairs(run);
        if let Some(last) = run.last() {
            self.last = *last;
        }
    }

    /// Adds a character, as in [`PAIRS`].
    #[inline]
    fn character(&mut self, code: u8) {
        self.weight += u64::from(pair(&[self.last, code]));
        self.last = code;
    }
}

/// The weight of a character after another, as in [`PAIRS`].
#[inline]
fn pair(pair: &[u8; 2]) -> u32 {
    PAIRS[usize::from(u16::from_le_bytes(*pair))]
}

/// The weights of the neighbours in a run of ASCII.
///
/// Pairs that begin at even places and those between them are taken from two slices. Then the compiler loads each by itself, which
/// is faster than shifting it out of a longer word.
#[inline]
fn pairs(run: &[u8]) -> u64 {
    const EACH: usize = 4;
    let (even, _) = run.as_chunks();
    let (odd, _) = run.get(1..).unwrap_or_default().as_chunks();
    let mut sum = 0;
    let eights = even
        .as_chunks::<EACH>()
        .0
        .iter()
        .zip(odd.as_chunks::<EACH>().0);
    for (even, odd) in eights.clone() {
        let eight: u32 = (0..EACH).map(|n| pair(&even[n]) + pair(&odd[n])).sum();
        sum += u64::from(eight);
    }
    let done = EACH * eights.len();
    for each in &even[done..] {
        sum += u64::from(pair(each));
    }
    for each in &odd[done..] {
        sum += u64::from(pair(each));
    }
    sum
}

/// The length of the run of ASCII at the start of a text, up to an escape.
#[inline]
fn run(text: &[u8], escapes: Escapes) -> usize {
    const WORD: usize = size_of::<u64>();
    let before = |ends: u64| (ends.trailing_zeros() / 8) as usize;
    let (words, rest) = text.as_chunks::<WORD>();
    for (n, word) in words.iter().enumerate() {
        let ends = ends(u64::from_le_bytes(*word), escapes);
        if ends != 0 {
            return WORD * n + before(ends);
        }
    }
    let mut last = [0; WORD];
    last[..rest.len()].copy_from_slice(rest);
    let ends = ends(u64::from_le_bytes(last), escapes);
    WORD * words.len() + rest.len().min(before(ends))
}

/// The escape at the start of `raw`, as in [`PAIRS`], and its length; `None` if it is not complete.
#[inline]
fn escape(raw: &[u8]) -> Option<(u8, usize)> {
    Some(match raw.get(1) {
        Some(b'n') => (b'\n', 2),
        Some(b't') => (b'\t', 2),
        Some(c @ (b'"' | b'\\' | b'/')) => (*c, 2),
        _ => {
            let (c, len) = unescape_at(raw, 0)?;
            let code = match u32::from(c) {
                ascii @ 0..0x80 => ascii as u8,
                basic @ 0..0x1_0000 => NO_BYTE | BASIC[(basic >> 4) as usize],
                other => NO_BYTE | class(other),
            };
            (code, len)
        }
    })
}

/// The high bit of each byte of `word` that ends a run; exact for the lowest such byte.
#[inline]
fn ends(word: u64, escapes: Escapes) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let slashes = match escapes {
        Escapes::Written => {
            let slash = word ^ (ONES * b'\\' as u64);
            slash.wrapping_sub(ONES) & !slash
        }
        Escapes::None => 0,
    };
    (word | slashes) & HIGHS
}

/// The character at the start of `text`, as in [`PAIRS`], and how many bytes it takes.
#[inline]
fn decode(text: &[u8]) -> (u8, usize) {
    let low = |byte: u8| u32::from(byte & 0x3f);
    let basic = |c: u32| NO_BYTE | BASIC[(c >> 4) as usize & 0xfff];
    match *text {
        [a @ 0..0x80, ..] => (a, 1),
        [a @ 0xe0..0xf0, b @ 0x80..0xc0, c @ 0x80..0xc0, ..] => {
            (basic(u32::from(a & 0x0f) << 12 | low(b) << 6 | low(c)), 3)
        }
        [a @ 0xc2..0xe0, b @ 0x80..0xc0, ..] => (basic(u32::from(a & 0x1f) << 6 | low(b)), 2),
        [
            a @ 0xf0..0xf5,
            b @ 0x80..0xc0,
            c @ 0x80..0xc0,
            d @ 0x80..0xc0,
            ..,
        ] => {
            let c = u32::from(a & 0x07) << 18 | low(b) << 12 | low(c) << 6 | low(d);
            (NO_BYTE | class(c), 4)
        }
        // Each invalid byte counts.
        _ => (NO_BYTE | CONTROL, 1),
    }
}

#[cfg(test)]
mod tests;
