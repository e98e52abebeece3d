//! Mutates an input: blindly, and with knowledge of its meaning.
//!
//! The same seed gives the same bytes on every machine.

/// Words of transcripts, policies and records, and what readers trip over.
const WORDS: [&[u8]; 65] = [
    b"\"tool_use\"",
    b"\"tool_result\"",
    b"\"tool_use_id\"",
    b"\"role\":\"user\"",
    b"\"role\":\"assistant\"",
    b"\"role\":\"system\"",
    b"\"content\":[]",
    b"\"content\":null",
    b"\"type\":\"text\"",
    b"\"thinking\"",
    b"\"tool_calls\":[]",
    b"\"function_call_output\"",
    b"\"parentUuid\":null",
    b"\"isSidechain\":true",
    b"\"isCompactSummary\":true",
    b"\"compact_boundary\"",
    b"\"compacted\"",
    b"\"replacement_history\"",
    b"\"compaction\"",
    b"\"firstKeptEntryId\"",
    b"\"last-prompt\"",
    b"\"leafUuid\"",
    b"\"toolUseResult\"",
    b"\"session_meta\"",
    b"\"response_item\"",
    b"\"event_msg\"",
    b"\"token_count\"",
    b"\"messages\":[",
    b"\"id\":\"\"",
    b"\"uuid\"",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u0000",
    b"\\\"",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\0",
    b"1e400",
    b"-0",
    b"18446744073709551616",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"[L1] ",
    b"L1 ",
    b"## User requests\n",
    b"[Output of Bash cleared - run it again if needed]",
    b".ctxpack/offloaded/0123456789abcdef0123456789abcdef.txt",
    b"../../etc/passwd",
    b"{name}",
    b"99999999999999999999",
    b"sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];

/// What a value may become.
const VALUES: [&[u8]; 12] = [
    b"null",
    b"0",
    b"-1",
    b"\"\"",
    b"\"x\"",
    b"[]",
    b"{}",
    b"true",
    b"[{}]",
    b"{\"type\":\"text\",\"text\":\"\"}",
    b"[[[[]]]]",
    b"1.5e3",
];

/// Numbers that look like chance.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where there is none.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % (n.max(1) as u64)) as usize
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A few changes to `bytes`; `other` is what may be mixed in.
pub(crate) fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>, other: &[u8]) {
    // One change leaves most of a file what it was, and that is where rules are.
    for _ in 0..[1, 1, 1, 2, 3, 8][chance.below(6)] {
        one(chance, bytes, other);
    }
}

fn one(chance: &mut Chance, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = chance.below(bytes.len() + 1);
    match chance.below(16) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = *chance.pick(b"\"\\{}[],:\n\r\0 0a\xff"),
        2 => {
            let end = (at + 1 + chance.below(20)).min(bytes.len());
            bytes.drain(at.min(end)..end);
        }
        3 => bytes.truncate(at),
        4 => {
            let end = (at + chance.below(60)).min(bytes.len());
            let again = bytes[at..end].to_vec();
            let to = chance.below(bytes.len() + 1);
            bytes.splice(to..to, again);
        }
        5 | 6 => {
            let word = *chance.pick(&WORDS);
            bytes.splice(at..at, word.iter().copied());
        }
        7 => lines(chance, bytes, |_, lines, a, _| {
            lines.remove(a);
        }),
        8 => lines(chance, bytes, |_, lines, a, b| lines.swap(a, b)),
        9 => lines(chance, bytes, |_, lines, a, b| {
            let again = lines[a].clone();
            lines.insert(b, again);
        }),
        10 => {
            let foreign: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
            if !foreign.is_empty() {
                let line = chance.pick(&foreign).to_vec();
                lines(chance, bytes, |_, lines, a, _| {
                    lines.insert(a, line.clone())
                });
            }
        }
        11..=13 => value(chance, bytes),
        14 => swap_strings(chance, bytes),
        _ => {
            let from = chance.below(other.len() + 1);
            let end = (from + chance.below(200)).min(other.len());
            bytes.splice(at..at, other[from..end].iter().copied());
        }
    }
}

/// Something with two of the lines.
fn lines(
    chance: &mut Chance,
    bytes: &mut Vec<u8>,
    change: impl Fn(&mut Chance, &mut Vec<Vec<u8>>, usize, usize),
) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if lines.is_empty() {
        return;
    }
    let (a, b) = (chance.below(lines.len()), chance.below(lines.len()));
    change(chance, &mut lines, a, b);
    *bytes = lines.concat();
}

/// Another value, of another kind, behind some colon.
fn value(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let colons: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b':').collect();
    if colons.is_empty() {
        return;
    }
    let start = *chance.pick(&colons) + 1;
    let end = end_of_value(bytes, start);
    let new = *chance.pick(&VALUES);
    bytes.splice(start..end, new.iter().copied());
}

/// Where a value ends, as far as brackets and quotes tell.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at, mut in_string) = (0_usize, start, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'\n' => return at,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Two texts between quotes take each other's place: ids, roles, types.
fn swap_strings(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let quotes: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'"').collect();
    let pairs: Vec<(usize, usize)> = quotes
        .windows(2)
        .map(|pair| (pair[0] + 1, pair[1]))
        .collect();
    if pairs.len() < 2 {
        return;
    }
    let (mut a, mut b) = (*chance.pick(&pairs), *chance.pick(&pairs));
    if a > b {
        (a, b) = (b, a);
    }
    if a.1 > b.0 {
        return;
    }
    let (left, right) = (bytes[a.0..a.1].to_vec(), bytes[b.0..b.1].to_vec());
    bytes.splice(b.0..b.1, left);
    bytes.splice(a.0..a.1, right);
}
