//! 64-bit hash keys for strings.
//!
//! PURE. Two texts can have the same key: a caller that looks something up by key has to compare the texts.

/// The key of a text: a part of its hash.
pub(super) fn key_of(text: &str) -> u64 {
    key_of_bytes(text.as_bytes())
}

/// The same for bytes.
pub(super) fn key_of_bytes(bytes: &[u8]) -> u64 {
    let [key, _] = wide_key_of(bytes);
    key
}

/// A key of 128 bits: no two texts that anyone has found have the same one.
pub(super) fn wide_key_of(bytes: &[u8]) -> [u64; 2] {
    let hash = blake3::hash(bytes);
    let mut words = hash.as_bytes().as_chunks().0.iter();
    let mut word = || words.next().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    [word(), word()]
}
