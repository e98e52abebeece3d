//! 64-bit hash keys for strings.
//!
//! PURE. Two texts can have the same key: a caller that looks something up by key has to compare the texts.

/// The key of a text: a part of its hash.
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
