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

use crate::scan::{next_special, unescape_at};

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

/// The weight of an ASCII character after another: `later << 8 | earlier`, as two bytes lie in a little-endian word.
///
/// Half of the table is never read: it costs memory but saves the innermost loop a shift.
static PAIRS: [u16; 1 << 15] = {
    let mut pairs = [0; 1 << 15];
    let mut later = 0;
    while later < 128 {
        let mut earlier = 0;
        while earlier < 128 {
            pairs[later << 8 | earlier] = if ASCII[earlier] == LOWER && ASCII[later] == LOWER {
                weights::LETTERS[earlier - 0x61][later - 0x61]
            } else {
                weights::CLASSES[ASCII[earlier] as usize][ASCII[later] as usize]
            };
            earlier += 1;
        }
        later += 1;
    }
    pairs
};

/// The weight of UTF-8 text; an invalid byte has the weight of a control character.
pub(super) fn plain(text: &[u8]) -> u64 {
    let mut sum = Sum::new();
    sum.add(text);
    sum.weight
}

/// The weight of the text of a JSON string, given without its quotes.
#[inline]
pub(super) fn written(raw: &[u8]) -> u64 {
    let mut sum = Sum::new();
    let mut at = 0;
    while let Some(slash) = next_special(raw, at) {
        if raw[slash] == b'"' {
            // In some formats, a value that is not a string is a text.
            sum.add(&raw[at..=slash]);
            at = slash + 1;
            continue;
        }
        sum.add(&raw[at..slash]);
        let plain = match raw.get(slash + 1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(c @ (b'"' | b'\\' | b'/')) => *c,
            _ => {
                let Some((c, len)) = unescape_at(raw, slash) else {
                    // Strings that were read have only complete escapes; otherwise, the rest counts as it is.
                    at = slash;
                    break;
                };
                sum.add(c.encode_utf8(&mut [0; 4]).as_bytes());
                at = slash + len;
                continue;
            }
        };
        sum.character(&[plain]);
        at = slash + 2;
    }
    sum.add(&raw[at..]);
    sum.weight
}

/// The weight of a text added in pieces, each of which ends at a character boundary.
struct Sum {
    weight: u64,
    /// The class of the last character.
    class: u8,
    /// The last character, if it is ASCII.
    byte: u8,
}

impl Sum {
    fn new() -> Self {
        Sum {
            weight: 0,
            class: START,
            byte: 0,
        }
    }

    fn add(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            at += self.character(&text[at..]);
            if self.byte < 0x80 && at < text.len() {
                at += self.ascii(&text[at - 1..]);
            }
        }
    }

    /// Adds the run of ASCII after the first byte of `text`, which was already added; returns its length.
    fn ascii(&mut self, text: &[u8]) -> usize {
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        let mut at = 0;
        let mut weight = 0u64;
        while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            if word & HIGHS != 0 {
                break;
            }
            // Seven pairs of neighbours; the eighth byte begins the next word.
            for n in 0..7 {
                weight += u64::from(PAIRS[(word >> (8 * n)) as usize & 0x7fff]);
            }
            at += 7;
        }
        while let Some([earlier, later]) = text.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
            if *later >= 0x80 {
                break;
            }
            weight += u64::from(PAIRS[usize::from(*later) << 8 | usize::from(*earlier)]);
            at += 1;
        }
        self.weight += weight;
        self.byte = text[at];
        self.class = ASCII[usize::from(self.byte & 0x7f)];
        at
    }

    /// Adds the character at the start of `text`; returns its length.
    #[inline]
    fn character(&mut self, text: &[u8]) -> usize {
        let (class, len) = decode(text);
        let weight = if self.class == LOWER && class == LOWER {
            PAIRS[usize::from(text[0] & 0x7f) << 8 | usize::from(self.byte & 0x7f)]
        } else {
            weights::CLASSES[usize::from(self.class)][usize::from(class)]
        };
        self.weight += u64::from(weight);
        self.class = class;
        self.byte = text[0];
        len
    }
}

/// The class of the character at the start of `text` and how many bytes it takes.
#[inline]
fn decode(text: &[u8]) -> (u8, usize) {
    let low = |byte: u8| u32::from(byte & 0x3f);
    let basic = |c: u32| BASIC[(c >> 4) as usize & 0xfff];
    match *text {
        [a @ 0..0x80, ..] => (ASCII[usize::from(a)], 1),
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
            (class(c), 4)
        }
        // Each invalid byte counts.
        _ => (CONTROL, 1),
    }
}

#[cfg(test)]
mod tests;
