//! Strings by 32 bytes at a time, where the processor has AVX2; which is found out while the program runs.
//!
//! Gives the same answers as [`super::string`], or none: what is wrong with a string, and where, only that says. Strings of a few
//! bytes take one step. Holds the only `unsafe` of the scanner, a call whose condition is checked beside it.

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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Found;
    use crate::scan::string::escape;

    /// Bytes in a register.
    const WIDTH: usize = 32;

    #[inline]
    pub(super) fn is_available() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
    }

    #[inline]
    pub(super) fn find(line: &[u8], start: usize) -> Option<Found> {
        if !is_available() {
            return None;
        }
        // SAFETY: `found` is unsafe to call only because it is compiled for processors with AVX2, BMI1 and POPCNT, and the line
        // above returns on every other. It takes and returns plain values and slices, and its body is safe code: it reads memory
        // only by checked indexing.
        #[allow(unsafe_code)]
        unsafe {
            found(line, start)
        }
    }

    /// The bits of a register's bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn bits(bytes: __m256i) -> u32 {
        _mm256_movemask_epi8(bytes).cast_unsigned()
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; WIDTH]) -> __m256i {
        let word = |n: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * n..8 * n + 8]);
            i64::from_le_bytes(word)
        };
        _mm256_set_epi64x(word(3), word(2), word(1), word(0))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    /// The bytes that may follow a backslash, but for `u`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn simple(bytes: __m256i) -> u32 {
        // A bit for each upper half of such a byte (2, 5, 6, 7), by its lower half, and the other way round.
        let lower = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1,
        ));
        let upper = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0,
        ));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), all(0x0f));
        let fits = _mm256_and_si256(
            _mm256_shuffle_epi8(lower, bytes),
            _mm256_shuffle_epi8(upper, high),
        );
        !bits(_mm256_cmpeq_epi8(fits, _mm256_setzero_si256()))
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn found(line: &[u8], start: usize) -> Option<Found> {
        let mut at = start;
        let mut found = Found::default();
        // 1 if the first byte is escaped by the last one before.
        let mut carry = 0;
        // Where the second half of a surrogate pair ends that was counted with the first.
        let mut pair_end = 0;
        loop {
            let rest = line.get(at..)?;
            let block = match rest.first_chunk::<WIDTH>() {
                Some(chunk) => load(chunk),
                None if rest.is_empty() => return None,
                None => {
                    let mut last = [b' '; WIDTH];
                    last[..rest.len()].copy_from_slice(rest);
                    load(&last)
                }
            };
            let slashes = bits(_mm256_cmpeq_epi8(block, all(b'\\')));
            let quotes = bits(_mm256_cmpeq_epi8(block, all(b'"')));
            let controls = bits(_mm256_cmpeq_epi8(_mm256_min_epu8(block, all(0x1f)), block));
            let escaped = escaped(slashes, &mut carry);
            let ends = quotes & !escaped;
            // The bytes before the end.
            let inside = ends.wrapping_sub(1) & !ends;
            if controls & inside != 0 {
                return None;
            }
            let escaped = escaped & inside;
            if escaped != 0 {
                found.surplus += escaped.count_ones() as usize;
                let mut others = escaped & !simple(block);
                while others != 0 {
                    let letter = at + others.trailing_zeros() as usize;
                    others &= others - 1;
                    if letter < pair_end {
                        continue;
                    }
                    let escape = escape(line, letter - 1).ok()?;
                    let is_pair = escape.value > 0xffff;
                    // One of its bytes was counted; of a pair, two.
                    found.surplus += escape.len - if is_pair { 3 } else { 2 };
                    found.astral += u32::from(is_pair);
                    found.has_lone_surrogate |= escape.is_lone_surrogate();
                    pair_end = letter + escape.len - 1;
                }
            }
            if bits(block) & inside != 0 {
                let continues = bits(_mm256_cmpgt_epi8(all(0xc0), block));
                let fours = bits(_mm256_cmpeq_epi8(_mm256_max_epu8(block, all(0xf0)), block));
                found.surplus += (continues & inside).count_ones() as usize;
                found.astral += (fours & inside).count_ones();
            }
            if ends != 0 {
                found.end = at + ends.trailing_zeros() as usize;
                return Some(found);
            }
            at += WIDTH;
        }
    }

    /// The bytes that a backslash before them escapes; `carry` is 1 if one before the block escapes its first byte.
    #[inline]
    fn escaped(slashes: u32, carry: &mut u32) -> u32 {
        const EVEN: u32 = 0x5555_5555;
        if slashes == 0 {
            return std::mem::take(carry);
        }
        // Runs of backslashes: in each, every other one escapes the byte after it.
        let slashes = slashes & !*carry;
        let follow = slashes << 1 | *carry;
        let odd_starts = slashes & !EVEN & !follow;
        let (sum, is_carried) = odd_starts.overflowing_add(slashes);
        *carry = u32::from(is_carried);
        (EVEN ^ (sum << 1)) & follow
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
        for before in 0..70 {
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
