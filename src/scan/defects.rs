//! What can be wrong with a line: why it is not JSON, and what is odd about valid JSON.
//!
//! Never looks at a line itself.

/// Why a line is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// The byte in the line at which reading stopped.
    pub at: usize,
    /// What was wrong there, as a text for people.
    pub what: &'static str,
}

impl Bad {
    pub(crate) fn new(at: usize, what: &'static str) -> Self {
        Bad { at, what }
    }
}

/// The result of reading.
pub type Parse<T> = Result<T, Bad>;

/// The set of anomalies of a line: valid JSON that other readers may have problems with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anomalies(u8);

impl Anomalies {
    /// A `\uD800`–`\uDFFF` escape without its other half.
    pub const LONE_SURROGATE: Anomalies = Anomalies(1);
    /// A key that occurs twice in one object (among the keys that were read): the last one counts.
    pub const DUPLICATE_KEY: Anomalies = Anomalies(2);
    /// A number with more digits than any 64-bit number can hold.
    pub const LONG_NUMBER: Anomalies = Anomalies(4);
    /// Nested deeper than 127 levels, where `serde_json` gives up.
    pub const DEEP: Anomalies = Anomalies(8);
    /// Bytes that are not UTF-8. A cursor does not check for them; the code that reads the line does.
    pub const INVALID_UTF8: Anomalies = Anomalies(16);

    /// Whether nothing odd was seen.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `other` was seen.
    pub fn contains(self, other: Anomalies) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` to the set.
    pub fn insert(&mut self, other: Anomalies) {
        self.0 |= other.0;
    }
}
