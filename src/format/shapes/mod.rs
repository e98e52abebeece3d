//! Structures that several formats share. Nothing here depends on a format.

pub(super) mod answered;
pub(super) mod blocks;
pub(super) mod climb;
pub(super) mod conversation;
pub(super) mod joined;
pub(super) mod logged;
pub(super) mod mirror;
pub(super) mod parts;
pub(super) mod removal;
pub(super) mod splice;
