//! Structures that several formats share. Nothing here depends on a format.

pub(super) mod blocks;
pub(super) mod climb;
pub(super) mod conversation;
pub(super) mod event_log;
pub(super) mod joined_sessions;
pub(super) mod mirror;
pub(super) mod paired_calls;
pub(super) mod parts;
pub(super) mod removal;
pub(super) mod splice;
