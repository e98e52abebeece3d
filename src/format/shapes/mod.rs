//! Structures that several formats share. Nothing here depends on a format.

pub(super) mod blocks;
pub(super) mod mirror;
pub(super) mod plain;
pub(super) mod removal;
pub(super) mod splice;
