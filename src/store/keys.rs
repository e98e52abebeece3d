//! Numbers for texts, and tables that are sorted by them: what is asked of many files takes some bytes for each, and no names.
//!
//! PURE. Two texts can have one number: whoever finds something by it compares the texts.

/// The number of a text: a part of its hash.
pub(super) fn key_of(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    let mut key = [0; 8];
    key.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(key)
}

/// Where those with this key begin in a sorted table, or would. Keys are spread evenly, so that the search begins where it is
/// likely to end: the table is larger than the processor's memory.
pub(super) fn first_of<T>(table: &[T], key: u64, key_of: impl Fn(&T) -> u64) -> usize {
    let likely = (u128::from(key) * table.len() as u128) >> 64;
    let likely = usize::try_from(likely).unwrap_or(table.len());
    let is_before = |at: usize| table.get(at).is_some_and(|entry| key_of(entry) < key);
    let (mut begin, mut end) = (likely, likely);
    let mut step = STEP;
    while begin > 0 && !is_before(begin) {
        begin = begin.saturating_sub(step);
        step *= 2;
    }
    step = STEP;
    while end < table.len() && is_before(end) {
        end = (end + step).min(table.len());
        step *= 2;
    }
    begin + table[begin..end].partition_point(|entry| key_of(entry) < key)
}

/// How far from the likely place the search goes on at first.
const STEP: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_wherever_it_is() {
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in [0, 1, 2, 17, 1_000] {
            let mut even: Vec<u64> = (0..n).map(spread).chain([7, 7, u64::MAX]).collect();
            even.sort_unstable();
            // As nobody's keys are.
            let low: Vec<u64> = (0..n).collect();
            let high: Vec<u64> = (0..n).map(|n| u64::MAX - 1_000 + n).collect();
            for table in [even, low, high] {
                let edges = [0, 1, 7, 8, 999, 1_000, u64::MAX / 2, u64::MAX - 1, u64::MAX];
                for key in table.iter().copied().chain(edges) {
                    let found = first_of(&table, key, |key| *key);
                    assert_eq!(found, table.partition_point(|other| *other < key), "{key}");
                }
            }
        }
    }
}
