//! Where there are no registers to read strings by: nothing is ever read here.

use std::convert::Infallible;

use super::Inside;
use crate::scan::string::Found;

/// Leave to read by registers, which nobody has.
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

    pub(in crate::scan) fn inside(
        self,
        _: &[u8],
        _: usize,
        _: &mut impl FnMut(usize),
    ) -> Option<Inside> {
        match self.0 {}
    }
}
