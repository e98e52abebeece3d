//! JSON text as another program would have written it, and lengths of it.

use crate::scan::unescape;
use crate::text::push_json_string;

/// A JSON value without white space between its parts and with the fewest escapes, as `JSON.stringify` writes it.
///
/// Numbers stay as they stand. `raw` is a value that was read before.
pub(super) fn compact(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        match raw[at] {
            b'"' => {
                let end = string_end(raw, at + 1);
                push_json_string(
                    &mut out,
                    &String::from_utf8_lossy(&unescape(&raw[at + 1..end])),
                );
                at = end + 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    out
}

/// The closing quote of the string whose first byte is at `at`.
fn string_end(raw: &[u8], mut at: usize) -> usize {
    while let Some(n) = raw
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += n;
        if raw[at] == b'"' {
            return at;
        }
        at += 2;
    }
    raw.len()
}

/// Unicode scalar values of UTF-8 text.
pub(super) fn scalars(text: &[u8]) -> u64 {
    text.iter().filter(|b| (**b as i8) >= -0x40).count() as u64
}

/// How many of them lie outside the basic plane.
pub(super) fn astral(text: &[u8]) -> u64 {
    text.iter().filter(|b| **b >= 0xf0).count() as u64
}
