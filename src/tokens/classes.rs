//! The `classes` estimate: every character weighs what characters of its class cost on average.
//!
//! Weights are ten-thousandths of an o200k token, fitted by non-negative least squares to exact counts over code, prose
//! in nine languages, JSON and tool output. A third of the error of characters / 4.

use crate::scan::unescape_into;

/// One token.
pub(super) const TOKEN: u64 = 10_000;

const LOWER: u32 = 2031;
const UPPER: u32 = 2322;
const DIGIT: u32 = 10034;
const SPACE: u32 = 1079;
const NEWLINE: u32 = 7344;
const TAB: u32 = 3406;
const PUNCTUATION: u32 = 5082;
const CONTROL: u32 = 21026;
const LATIN: u32 = 12413;
const GREEK_CYRILLIC: u32 = 2532;
const RIGHT_TO_LEFT: u32 = 3529;
const INDIC: u32 = 18419;
const SYMBOL: u32 = 3817;
const CJK_PUNCTUATION: u32 = 0;
const KANA: u32 = 7887;
const HAN: u32 = 8107;
const HANGUL: u32 = 8318;
const OTHER: u32 = 19765;
const ASTRAL: u32 = 2927;

/// The weights of bytes below 128; bytes above count with their character.
const ASCII: [u32; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 128 {
        table[b] = match b as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' => SPACE,
            b'\n' => NEWLINE,
            b'\t' => TAB,
            0..0x20 | 0x7f => CONTROL,
            _ => PUNCTUATION,
        };
        b += 1;
    }
    table
};

fn beyond_ascii(c: u32) -> u32 {
    match c {
        0x80..0xa0 => CONTROL,
        0xa0..0x370 | 0x1e00..0x1f00 => LATIN,
        0x370..0x530 | 0x1f00..0x2000 => GREEK_CYRILLIC,
        0x590..0x900 | 0xfb50..0xfe00 | 0xfe70..0xff00 => RIGHT_TO_LEFT,
        0x900..0xe00 => INDIC,
        0x2000..0x2c00 => SYMBOL,
        0x3000..0x3040 | 0xff00..0xffef => CJK_PUNCTUATION,
        0x3040..0x3100 => KANA,
        0x3400..0xa000 | 0xf900..0xfb00 => HAN,
        0x1100..0x1200 | 0xac00..0xd7b0 => HANGUL,
        0x10000.. => ASTRAL,
        _ => OTHER,
    }
}

/// The weight of UTF-8 text; an invalid byte weighs what a control character does.
pub(super) fn plain(text: &[u8]) -> u64 {
    let mut weight = 0u64;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte < 0x80 {
            weight += u64::from(ASCII[byte as usize]);
            at += 1;
            continue;
        }
        let (c, len) = decode(&text[at..]);
        weight += u64::from(c.map_or(CONTROL, beyond_ascii));
        at += len;
    }
    weight
}

/// The weight of a JSON string, given by what stands between its quotes.
pub(super) fn written(raw: &[u8]) -> u64 {
    let mut weight = 0;
    unescape_into(raw, |chunk| weight += plain(chunk));
    weight
}

/// The character at the start of `text`, which begins with a byte above 127, and how many bytes it takes.
fn decode(text: &[u8]) -> (Option<u32>, usize) {
    let (len, lead) = match text[0] {
        b @ 0xc2..0xe0 => (2, u32::from(b & 0x1f)),
        b @ 0xe0..0xf0 => (3, u32::from(b & 0x0f)),
        b @ 0xf0..0xf5 => (4, u32::from(b & 0x07)),
        _ => return (None, 1),
    };
    let mut c = lead;
    for i in 1..len {
        match text.get(i) {
            Some(b @ 0x80..0xc0) => c = c << 6 | u32::from(b & 0x3f),
            _ => return (None, i),
        }
    }
    (Some(c), len)
}
