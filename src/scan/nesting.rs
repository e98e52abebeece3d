//! Which containers are open while a value is skipped, without recursion.
//!
//! Reads nothing.

use super::kind::Kind;

/// The open containers of a skipped value, one bit each: 1 GiB of `[` costs 128 MiB, not the stack. Few values need more than a
/// word.
#[derive(Default)]
pub(super) struct Nesting {
    /// The innermost ones, the last one in the lowest bit: set for an object.
    last: u64,
    /// Those around them, 64 in each word.
    others: Vec<u64>,
    /// How many are open.
    pub(super) depth: usize,
}

impl Nesting {
    /// Opens a container.
    #[inline]
    pub(super) fn push(&mut self, kind: Kind) {
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.others.push(self.last);
        }
        self.last = self.last << 1 | u64::from(kind == Kind::Object);
        self.depth += 1;
    }

    /// Closes the innermost one.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.last = match self.depth.is_multiple_of(64) {
            true => self.others.pop().unwrap_or_default(),
            false => self.last >> 1,
        };
    }

    /// The kind of the innermost one; `None` if all are closed.
    #[inline]
    pub(super) fn top(&self) -> Option<Kind> {
        let is_object = self.last & 1 == 1;
        (self.depth > 0).then_some(if is_object { Kind::Object } else { Kind::Array })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_close_in_the_order_in_which_they_were_not_opened() {
        let kind = |level: usize| match level % 3 {
            0 => Kind::Object,
            _ => Kind::Array,
        };
        let mut open = Nesting::default();
        for _ in 0..2 {
            (0..300).for_each(|level| open.push(kind(level)));
            for level in (100..300).rev() {
                assert_eq!((open.top(), open.depth), (Some(kind(level)), level + 1));
                open.pop();
            }
            (100..200).for_each(|level| open.push(kind(level)));
            for level in (0..200).rev() {
                assert_eq!(open.top(), Some(kind(level)));
                open.pop();
            }
            assert_eq!(open.top(), None);
        }
    }
}
