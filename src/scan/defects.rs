//! What can be wrong with a line: why it is no JSON, and what is odd about one that is.
//!
//! Never looks at a line itself.

/// Why a line is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// The byte in the line at which reading stopped.
    pub at: usize,
    /// What was wrong there, for people.
    pub what: &'static str,
}

impl Bad {
    pub(crate) fn new(at: usize, what: &'static str) -> Self {
        Bad { at, what }
    }
}

/// The result of reading.
pub type Parse<T> = Result<T, Bad>;

/// Things that are legal JSON but that other readers trip over; a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oddities(u8);

impl Oddities {
    /// A `\uD800`–`\uDFFF` escape without its other half.
    pub const LONE_SURROGATE: Oddities = Oddities(1);
    /// A key twice in one object (of those that were looked into): the last one counts.
    pub const DUPLICATE_KEY: Oddities = Oddities(2);
    /// A number with more digits than any 64-bit number keeps.
    pub const LONG_NUMBER: Oddities = Oddities(4);
    /// Nested deeper than 127 levels, where `serde_json` gives up.
    pub const DEEP: Oddities = Oddities(8);
    /// Bytes that are no UTF-8. A cursor does not look for them; who reads the line does.
    pub const INVALID_UTF8: Oddities = Oddities(16);

    /// Whether nothing odd was seen.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `other` was seen.
    pub fn contains(self, other: Oddities) -> bool {
        self.0 & other.0 == other.0
    }

    /// Puts `other` into the set.
    pub fn insert(&mut self, other: Oddities) {
        self.0 |= other.0;
    }
}
