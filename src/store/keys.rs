//! Numbers for texts, and tables that are sorted by them: what is asked of many files takes some bytes for each, and no names.
//!
//! PURE. Two texts can have one number: whoever finds something by it compares the texts.

/// The number of a text: a part of its hash.
pub(super) fn key_of(text: &str) -> u64 {
    key_of_bytes(text.as_bytes())
}

/// The same for bytes.
pub(super) fn key_of_bytes(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let mut key = [0; 8];
    key.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(key)
}

/// What has a key.
pub(super) trait Keyed {
    /// The number that it is found by.
    fn key(&self) -> u64;
}

/// Entries by their keys. Keys are spread evenly, so that one is found by two looks into memory, however large the table is.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// Sorted by key; those of one key in the order in which they came.
    entries: Vec<T>,
    /// Where those begin whose keys begin with the same bits, and where the last of them end.
    begins: Vec<usize>,
    /// How many bits of a key are left away for that.
    shift: u32,
}

/// More would not make anything faster.
const MOST_BITS: u32 = 28;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            entries: Vec::new(),
            begins: vec![0, 0],
            shift: u64::BITS,
        }
    }
}

impl<T: Keyed> Table<T> {
    /// The table of these entries.
    pub(super) fn new(mut entries: Vec<T>) -> Self {
        entries.sort_by_key(Keyed::key);
        let bits = entries.len().checked_ilog2().unwrap_or(0).min(MOST_BITS);
        let shift = u64::BITS - bits;
        let mut begins = vec![0; (1 << bits) + 1];
        for entry in &entries {
            begins[part(entry.key(), shift) + 1] += 1;
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        Table {
            entries,
            begins,
            shift,
        }
    }

    /// The entries that have this key.
    pub(super) fn of(&self, key: u64) -> impl DoubleEndedIterator<Item = &T> {
        let part = part(key, self.shift);
        let here = &self.entries[self.begins[part]..self.begins[part + 1]];
        here.iter().filter(move |entry| entry.key() == key)
    }

    /// All entries, sorted by key.
    pub(super) fn all(&self) -> &[T] {
        &self.entries
    }
}

/// The first bits of a key.
fn part(key: u64, shift: u32) -> usize {
    // No bits at all are left of a shift by all.
    let part = key.checked_shr(shift).unwrap_or(0);
    usize::try_from(part).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for (u64, usize) {
        fn key(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn a_key_is_found_wherever_it_is() {
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in [0, 1, 2, 17, 1_000] {
            let even: Vec<u64> = (0..n).map(spread).chain([7, 7, u64::MAX, 7]).collect();
            // As nobody's keys are.
            let low: Vec<u64> = (0..n).collect();
            let high: Vec<u64> = (0..n).map(|n| u64::MAX - 1_000 + n).collect();
            for keys in [even, low, high] {
                let entries: Vec<_> = keys.iter().copied().zip(0..).collect();
                let table = Table::new(entries.clone());
                assert_eq!(table.all().len(), entries.len());
                assert!(table.all().is_sorted());
                let edges = [0, 1, 7, 8, 999, 1_000, u64::MAX / 2, u64::MAX - 1, u64::MAX];
                for key in keys.into_iter().chain(edges) {
                    let expected = entries.iter().filter(|entry| entry.0 == key);
                    assert!(table.of(key).eq(expected), "{key}");
                }
            }
        }
        assert_eq!(Table::<(u64, usize)>::default().of(7).count(), 0);
    }
}
