//! Ways to write things that several formats share. Nothing here knows of any of them.

pub(super) mod blocks;
pub(super) mod mirror;
pub(super) mod removal;
pub(super) mod splice;
