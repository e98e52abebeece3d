//! Reads strings with 32-byte registers: where they end, how many characters they have, and what they contain.
//!
//! Contains the scanner's only `unsafe` code: calls whose preconditions are checked next to them, and a load from an array.

use std::arch::x86_64::*;

use super::{Found, Inside};
use crate::scan::string::{escape, plain_escape};

/// Bytes in a register.
const WIDTH: usize = 32;
/// Bytes in a block of two registers.
const BLOCK: usize = 2 * WIDTH;

/// Proof that the processor has AVX2, BMI1 and POPCNT; exists only if it does.
#[derive(Debug, Clone, Copy)]
pub(in crate::scan) struct Wide(());

impl Wide {
    /// Detects whether this processor has the required features.
    #[inline]
    pub(in crate::scan) fn here() -> Option<Wide> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Wide(()))
    }

    /// The end of the string whose first byte is at `start`, if it is short and each of its bytes is a character, as in most keys.
    #[inline]
    pub(in crate::scan) fn plain(self, line: &[u8], start: usize) -> Option<usize> {
        // SAFETY: `plain_end` is unsafe to call only because it is compiled for processors with AVX2 and BMI1, and `here`, the only
        // place that creates a `Wide`, has checked that this is one. It takes and returns plain values and slices, and its body is
        // safe code: it reads memory only by checked indexing.
        #[allow(unsafe_code)]
        unsafe {
            plain_end(line, start)
        }
    }

    /// Reads the string whose first byte is at `start`, if it is complete and valid.
    #[inline]
    pub(in crate::scan) fn find(self, line: &[u8], start: usize) -> Option<Found> {
        // SAFETY: as for `plain_end` in `plain`; `walk` is compiled for processors with POPCNT, too.
        #[allow(unsafe_code)]
        unsafe {
            walk(line, start, |_, _| {})
        }
    }

    /// The same, and counts what it contains; `units` is called with the position of the backslash of every `\u`.
    pub(in crate::scan) fn inside(
        self,
        line: &[u8],
        start: usize,
        units: &mut impl FnMut(usize),
    ) -> Option<Inside> {
        // SAFETY: as for `walk` in `find`.
        #[allow(unsafe_code)]
        unsafe {
            counted(line, start, units)
        }
    }

    /// Appends the text of a string up to the first long escape, or up to its last bytes; returns how many bytes of `raw` it read.
    pub(in crate::scan) fn unescape(self, raw: &[u8], out: &mut Vec<u8>) -> usize {
        // SAFETY: as for `plain_end` in `plain`.
        #[allow(unsafe_code)]
        unsafe {
            unescaped(raw, out)
        }
    }

    /// How often each of two bytes occurs.
    pub(in crate::scan) fn occurrences(self, bytes: &[u8], wanted: [u8; 2]) -> [u64; 2] {
        // SAFETY: as for `plain_end` in `plain`.
        #[allow(unsafe_code)]
        unsafe {
            occurrences(bytes, wanted)
        }
    }

    /// Which bytes are in one of these ranges.
    #[inline]
    pub(in crate::scan) fn in_ranges<const N: usize>(
        self,
        bytes: &[u8; BLOCK],
        ranges: &[(u8, u8); N],
    ) -> u64 {
        // SAFETY: as for `plain_end` in `plain`.
        #[allow(unsafe_code)]
        unsafe {
            in_ranges(bytes, ranges)
        }
    }
}

/// The highest bit of each byte of a register, as a mask.
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

/// The bytes that may follow a backslash, except `u`.
#[target_feature(enable = "avx2")]
#[inline]
fn simple(bytes: __m256i) -> __m256i {
    // Two lookup tables, indexed by the lower and the upper nibble, with one bit for each upper nibble of such a byte (2, 5, 6, 7).
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
    // After the subtraction, digits and letters begin at 0, and bytes below them wrap to large values.
    let lower = _mm256_or_si256(bytes, all(0x20));
    let digit = at_most(_mm256_sub_epi8(bytes, all(b'0')), 9);
    let letter = at_most(_mm256_sub_epi8(lower, all(b'a')), 5);
    _mm256_or_si256(digit, letter)
}

/// UTF-8 continuation bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn is_continuation(bytes: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(all(0xc0), bytes)
}

/// Lead bytes of four-byte characters.
#[target_feature(enable = "avx2")]
#[inline]
fn is_four(bytes: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all(0xf0)), bytes)
}

/// A mask of the bytes in a block for which `of` sets the highest bit.
#[target_feature(enable = "avx2")]
#[inline]
fn bits_of(block: &[__m256i; 2], of: impl Fn(__m256i) -> __m256i) -> u64 {
    let [low, high] = *block;
    bits(of(low)) | bits(of(high)) << WIDTH
}

/// Whether `of` sets the highest bit for any byte of a block.
#[target_feature(enable = "avx2")]
#[inline]
fn has_any(block: &[__m256i; 2], of: impl Fn(__m256i) -> __m256i) -> bool {
    let [low, high] = *block;
    bits(_mm256_or_si256(of(low), of(high))) != 0
}

/// Appends the text of a string up to the first long escape, or up to its last bytes; returns how many bytes of `raw` it read.
///
/// A register is appended before it is known how much of it precedes an escape: most escapes are line breaks, some forty bytes apart.
#[target_feature(enable = "avx2,bmi1")]
fn unescaped(raw: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(raw.len() + WIDTH);
    let mut at = 0;
    while let Some(bytes) = raw[at..].first_chunk() {
        let slashes = bits(equal(load(bytes), b'\\'));
        out.extend_from_slice(bytes);
        if slashes == 0 {
            at += WIDTH;
            continue;
        }
        let length = slashes.trailing_zeros() as usize;
        out.truncate(out.len() - WIDTH + length);
        at += length;
        let Some(plain) = raw.get(at + 1).and_then(|letter| plain_escape(*letter)) else {
            break;
        };
        out.push(plain);
        at += 2;
    }
    at
}

/// How often each of two bytes occurs.
#[target_feature(enable = "avx2")]
fn occurrences(bytes: &[u8], wanted: [u8; 2]) -> [u64; 2] {
    let mut counts = [0; 2];
    // Sums of up to 255 fit into a byte.
    for part in bytes.chunks(WIDTH * 255) {
        let (registers, rest) = part.as_chunks();
        let mut sums = [_mm256_setzero_si256(); 2];
        for register in registers {
            let register = load(register);
            // The bytes that are equal are -1.
            sums[0] = _mm256_sub_epi8(sums[0], equal(register, wanted[0]));
            sums[1] = _mm256_sub_epi8(sums[1], equal(register, wanted[1]));
        }
        for ((count, sum), wanted) in counts.iter_mut().zip(sums).zip(wanted) {
            let rest = rest.iter().filter(|byte| **byte == wanted).count();
            *count += total(sum) + rest as u64;
        }
    }
    counts
}

/// Which bytes are in one of these ranges: a bit each.
#[target_feature(enable = "avx2")]
#[inline]
fn in_ranges<const N: usize>(bytes: &[u8; BLOCK], ranges: &[(u8, u8); N]) -> u64 {
    let (registers, _) = bytes.as_chunks();
    let half = |register: &[u8; WIDTH]| {
        let register = load(register);
        let mut found = _mm256_setzero_si256();
        for (first, last) in ranges {
            // After the subtraction, a range begins at 0, and bytes below it wrap to large values.
            let from = _mm256_sub_epi8(register, all(*first));
            found = _mm256_or_si256(found, at_most(from, last - first));
        }
        bits(found)
    };
    half(&registers[0]) | half(&registers[1]) << WIDTH
}

/// The sum of all bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn total(bytes: __m256i) -> u64 {
    let sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    let pair = _mm_add_epi64(
        _mm256_castsi256_si128(sums),
        _mm256_extracti128_si256::<1>(sums),
    );
    (_mm_cvtsi128_si64(pair) + _mm_extract_epi64::<1>(pair)).cast_unsigned()
}

/// The end of a string that fits in one register and in which every byte is a character.
#[target_feature(enable = "avx2,bmi1")]
fn plain_end(line: &[u8], start: usize) -> Option<usize> {
    let bytes = load(line.get(start..)?.first_chunk()?);
    let ends = bits(equal(bytes, b'"'));
    let inside = ends.wrapping_sub(1) & !ends;
    let odd = _mm256_or_si256(equal(bytes, b'\\'), at_most(bytes, 0x1f));
    // A non-ASCII byte already has its highest bit set.
    let odd = bits(_mm256_or_si256(bytes, odd));
    (ends != 0 && odd & inside == 0).then(|| start + ends.trailing_zeros() as usize)
}

/// A block of a string that was found valid.
struct Looked {
    /// Its first byte.
    at: usize,
    /// A mask of the bytes before the string's end.
    inside: u64,
    /// A mask of those among them that a preceding backslash escapes.
    escaped: u64,
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
fn counted(line: &[u8], start: usize, units: &mut impl FnMut(usize)) -> Option<Inside> {
    let mut all = Inside::default();
    let found = walk(line, start, |block, looked| {
        let Looked {
            at,
            inside,
            escaped,
        } = looked;
        let count = |bits: u64| u64::from((bits & inside).count_ones());
        all.apostrophes += count(bits_of(block, |bytes| equal(bytes, b'\'')));
        all.deletes += count(bits_of(block, |bytes| equal(bytes, 0x7f)));
        let highs = bits_of(block, |bytes| bytes) & inside;
        if highs != 0 {
            all.highs += count(highs);
            all.continuations += count(bits_of(block, |bytes| is_continuation(bytes)));
            all.fours += count(bits_of(block, |bytes| is_four(bytes)));
        }
        if escaped != 0 {
            let letters = |letter: u8| escaped & bits_of(block, |bytes| equal(bytes, letter));
            all.escapes += count(escaped);
            // Most escapes are line breaks.
            if escaped == letters(b'n') {
                return;
            }
            let mut numbers = letters(b'u');
            all.escapes -= count(numbers);
            all.quotes += count(letters(b'"'));
            all.slashes += count(letters(b'/'));
            all.feeds += count(letters(b'b') | letters(b'f'));
            while numbers != 0 {
                units(at + numbers.trailing_zeros() as usize - 1);
                numbers &= numbers - 1;
            }
        }
    })?;
    all.end = found.end;
    Some(all)
}

/// Reads a string; `each` is called with every block of it.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn walk(line: &[u8], start: usize, mut each: impl FnMut(&[__m256i; 2], Looked)) -> Option<Found> {
    let mut string = String::default();
    let mut at = start;
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
        if string.goes_on(line, at, block, &mut each)? == Next::End {
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

/// The state of reading a string, up to the next block.
#[derive(Default)]
struct String {
    found: Found,
    /// 1 if the last byte of the previous block escapes the first byte of the next one.
    carry: u64,
    /// Where the second half of a surrogate pair ends, which was counted with the first.
    pair_end: usize,
}

impl String {
    /// Processes the next block, which begins at `at`; `None` if the string is not valid.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn goes_on(
        &mut self,
        line: &[u8],
        at: usize,
        block: [__m256i; 2],
        each: &mut impl FnMut(&[__m256i; 2], Looked),
    ) -> Option<Next> {
        let block = &block;
        let slashes = bits_of(block, |bytes| equal(bytes, b'\\'));
        let quotes = bits_of(block, |bytes| equal(bytes, b'"'));
        let escaped = self.escaped(slashes);
        let ends = quotes & !escaped;
        // The bytes before the closing quote.
        let inside = ends.wrapping_sub(1) & !ends;
        let is_control = |bytes: __m256i| at_most(bytes, 0x1f);
        if has_any(block, is_control) && bits_of(block, is_control) & inside != 0 {
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
        let is_high = |bytes: __m256i| bytes;
        if has_any(block, is_high) && bits_of(block, is_high) & inside != 0 {
            let continues = bits_of(block, |bytes| is_continuation(bytes));
            self.found.surplus += (continues & inside).count_ones() as usize;
            self.found.astral += (bits_of(block, |bytes| is_four(bytes)) & inside).count_ones();
        }
        each(
            block,
            Looked {
                at,
                inside,
                escaped,
            },
        );
        if ends == 0 {
            return Some(Next::Block);
        }
        self.found.end = at + ends.trailing_zeros() as usize;
        Some(Next::End)
    }

    /// Counts the escapes whose letters are at `letters`: each is `\u` or invalid. `None` if one is invalid.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn unicode(
        &mut self,
        line: &[u8],
        at: usize,
        block: &[__m256i; 2],
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
        // Two of the six bytes of each escape are already accounted for.
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
            // One of its bytes is already accounted for, or two for a pair.
            self.found.surplus += escape.len - if is_pair { 3 } else { 2 };
            self.found.astral += u32::from(is_pair);
            self.found.has_lone_surrogate |= escape.is_lone_surrogate();
            self.pair_end = letter + escape.len - 1;
        }
        Some(())
    }

    /// A mask of the bytes in a block that a preceding backslash escapes.
    #[inline]
    fn escaped(&mut self, slashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        // Runs of backslashes: in each, every other one escapes the byte after it.
        let slashes = slashes & !self.carry;
        let follow = slashes << 1 | self.carry;
        let odd_starts = slashes & !EVEN & !follow;
        let (sum, is_carried) = odd_starts.overflowing_add(slashes);
        self.carry = u64::from(is_carried);
        (EVEN ^ (sum << 1)) & follow
    }
}
