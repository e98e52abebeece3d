//! Strings by 64 bytes at a time, where the processor has AVX2; which is found out while the program runs.
//!
//! Gives the same answers as [`super::string`], or none: what is wrong with a string, and where, only that says. The first step
//! looks at 32 bytes, since most strings are keys and end there. Holds the only `unsafe` of the scanner: a call whose condition is
//! checked beside it, and a load of an array.

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
    /// Bytes in a block of two registers.
    const BLOCK: usize = 2 * WIDTH;

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
    fn bits(bytes: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; WIDTH]) -> __m256i {
        // SAFETY: reads 32 bytes, which the array has; this load needs no alignment.
        #[allow(unsafe_code)]
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    /// The bytes that are `byte`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn equal(bytes: __m256i, byte: u8) -> __m256i {
        _mm256_cmpeq_epi8(bytes, all(byte))
    }

    /// The bytes that are at most `most`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn at_most(bytes: __m256i, most: u8) -> __m256i {
        _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, all(most)), bytes)
    }

    /// The bytes that may follow a backslash, but for `u`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn simple(bytes: __m256i) -> __m256i {
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
        _mm256_xor_si256(
            _mm256_cmpeq_epi8(fits, _mm256_setzero_si256()),
            all(u8::MAX),
        )
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn is_hex(bytes: __m256i) -> __m256i {
        // Taken from each byte, digits and letters begin at 0, and what is below them is large.
        let lower = _mm256_or_si256(bytes, all(0x20));
        let digit = at_most(_mm256_sub_epi8(bytes, all(b'0')), 9);
        let letter = at_most(_mm256_sub_epi8(lower, all(b'a')), 5);
        _mm256_or_si256(digit, letter)
    }

    /// The bits of the bytes in some registers, up to two, for which `of` gives a byte with the highest bit.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn bits_of<const N: usize>(block: [__m256i; N], of: impl Fn(__m256i) -> __m256i) -> u64 {
        let mut all = 0;
        for (n, register) in block.into_iter().enumerate() {
            all |= bits(of(register)) << (n * WIDTH);
        }
        all
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn found(line: &[u8], start: usize) -> Option<Found> {
        let mut string = String::default();
        let mut at = start;
        if let Some(chunk) = line.get(at..)?.first_chunk() {
            if string.goes_on(line, at, [load(chunk)])? == Next::End {
                return Some(string.found);
            }
            at += WIDTH;
        }
        loop {
            let rest = line.get(at..)?;
            let mut last = [b' '; BLOCK];
            let chunk = match rest.first_chunk() {
                Some(chunk) => chunk,
                None if rest.is_empty() => return None,
                None => {
                    last[..rest.len()].copy_from_slice(rest);
                    &last
                }
            };
            let (low, high) = chunk.split_at(WIDTH);
            let block = [load(low.first_chunk()?), load(high.first_chunk()?)];
            if string.goes_on(line, at, block)? == Next::End {
                return Some(string.found);
            }
            at += BLOCK;
        }
    }

    /// Whether a string goes on after a block.
    #[derive(PartialEq, Eq)]
    enum Next {
        Block,
        End,
    }

    /// What is known of a string up to a block.
    #[derive(Default)]
    struct String {
        found: Found,
        /// 1 if the first byte of the next block is escaped by the last one before.
        carry: u64,
        /// Where the second half of a surrogate pair ends that was counted with the first.
        pair_end: usize,
    }

    impl String {
        /// Looks at the next block, which begins at `at`; `None` where the string is not valid.
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        #[inline]
        fn goes_on<const N: usize>(
            &mut self,
            line: &[u8],
            at: usize,
            block: [__m256i; N],
        ) -> Option<Next> {
            let slashes = bits_of(block, |bytes| equal(bytes, b'\\'));
            let quotes = bits_of(block, |bytes| equal(bytes, b'"'));
            let controls = bits_of(block, |bytes| at_most(bytes, 0x1f));
            let escaped = self.escaped::<N>(slashes);
            let ends = quotes & !escaped;
            // The bytes before the end.
            let inside = ends.wrapping_sub(1) & !ends;
            if controls & inside != 0 {
                return None;
            }
            let escaped = escaped & inside;
            if escaped != 0 {
                self.found.surplus += escaped.count_ones() as usize;
                let others = escaped & !bits_of(block, |bytes| simple(bytes));
                if others != 0 {
                    self.unicode(line, at, block, others)?;
                }
            }
            if bits_of(block, |bytes| bytes) & inside != 0 {
                let continues = bits_of(block, |bytes| _mm256_cmpgt_epi8(all(0xc0), bytes));
                let fours = bits_of(block, |bytes| {
                    _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all(0xf0)), bytes)
                });
                self.found.surplus += (continues & inside).count_ones() as usize;
                self.found.astral += (fours & inside).count_ones();
            }
            if ends == 0 {
                return Some(Next::Block);
            }
            self.found.end = at + ends.trailing_zeros() as usize;
            Some(Next::End)
        }

        /// Counts the escapes whose letters are `letters`, which are `\u` or wrong; `None` where one is.
        #[target_feature(enable = "avx2,popcnt")]
        #[inline]
        fn unicode<const N: usize>(
            &mut self,
            line: &[u8],
            at: usize,
            block: [__m256i; N],
            letters: u64,
        ) -> Option<()> {
            let hex = bits_of(block, |bytes| is_hex(bytes));
            let units = bits_of(block, |bytes| equal(bytes, b'u'));
            // Surrogates, and a few others, begin with D.
            let ds = bits_of(block, |bytes| {
                equal(_mm256_or_si256(bytes, all(0x20)), b'd')
            });
            let four = hex >> 1 & hex >> 2 & hex >> 3 & hex >> 4;
            let plain = letters & units & four & !(ds >> 1);
            // Of each, two of six bytes were counted.
            self.found.surplus += 4 * plain.count_ones() as usize;
            let mut others = letters & !plain;
            while others != 0 {
                let letter = at + others.trailing_zeros() as usize;
                others &= others - 1;
                if letter < self.pair_end {
                    continue;
                }
                let escape = escape(line, letter - 1).ok()?;
                let is_pair = escape.value > 0xffff;
                // One of its bytes was counted; of a pair, two.
                self.found.surplus += escape.len - if is_pair { 3 } else { 2 };
                self.found.astral += u32::from(is_pair);
                self.found.has_lone_surrogate |= escape.is_lone_surrogate();
                self.pair_end = letter + escape.len - 1;
            }
            Some(())
        }

        /// The bytes of a block that a backslash before them escapes.
        #[inline]
        fn escaped<const N: usize>(&mut self, slashes: u64) -> u64 {
            const EVEN: u64 = 0x5555_5555_5555_5555;
            // Runs of backslashes: in each, every other one escapes the byte after it.
            let slashes = slashes & !self.carry;
            let follow = slashes << 1 | self.carry;
            let odd_starts = slashes & !EVEN & !follow;
            let (sum, is_carried) = odd_starts.overflowing_add(slashes);
            let escaped = (EVEN ^ (sum << 1)) & follow;
            if N * WIDTH == BLOCK {
                self.carry = u64::from(is_carried);
                return escaped;
            }
            // The bit after a single register is that of the next block's first byte.
            self.carry = escaped >> WIDTH;
            escaped & !(u64::MAX << WIDTH)
        }
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
