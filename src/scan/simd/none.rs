//! The fallback for targets without wide registers: it never reads anything.

use std::convert::Infallible;

use super::Inside;
use crate::scan::string::Found;

/// Proof that wide registers are available; never constructed here.
#[derive(Debug, Clone, Copy)]
pub(in crate::scan) struct Wide(Infallible);

impl Wide {
    #[inline]
    pub(in crate::scan) fn here() -> Option<Wide> {
        None
    }

    pub(in crate::scan) fn plain(self, _: &[u8], _: usize) -> Option<usize> {
        match self.0 {}
    }

    pub(in crate::scan) fn find(self, _: &[u8], _: usize) -> Option<Found> {
        match self.0 {}
    }

    pub(in crate::scan) fn unescape(self, _: &[u8], _: &mut Vec<u8>) -> usize {
        match self.0 {}
    }

    pub(in crate::scan) fn occurrences(self, _: &[u8], _: [u8; 2]) -> [u64; 2] {
        match self.0 {}
    }

    pub(in crate::scan) fn in_ranges<const N: usize>(self, _: &[u8; 64], _: &[(u8, u8); N]) -> u64 {
        match self.0 {}
    }

    pub(in crate::scan) fn inside(
        self,
        _: &[u8],
        _: usize,
        _: &mut impl FnMut(usize),
    ) -> Option<Inside> {
        match self.0 {}
    }
}
