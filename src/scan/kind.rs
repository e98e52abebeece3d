//! The kinds of JSON values, by the byte that they begin with.
//!
//! Reads no more than that byte.

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// `-` or a digit
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// The kind of the values that begin with this byte.
    pub(super) fn of(first: u8) -> Option<Kind> {
        match first {
            b'{' => Some(Kind::Object),
            b'[' => Some(Kind::Array),
            b'"' => Some(Kind::String),
            b'-' | b'0'..=b'9' => Some(Kind::Number),
            b't' | b'f' => Some(Kind::Bool),
            b'n' => Some(Kind::Null),
            _ => None,
        }
    }
}
