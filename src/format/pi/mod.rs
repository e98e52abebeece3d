//! pi session files (and OpenClaw's, which have the same shape): a header, then entries that form a tree.
//!
//! One message is one entry. In the first version entries follow one another and have no ids; later ones name their
//! parents. A `compaction` entry holds a summary and names the first entry that is still sent.
//! `record` says what is on a line, `tree` how entries hang together and which of them a model sees, `history` what may
//! leave, `compaction` how a summary is written, `usage` what a provider counted.

mod compaction;
mod history;
mod record;
mod tree;
mod usage;

pub(super) use compaction::{splice, without};
pub(super) use history::dead;
pub(super) use record::line;
pub(crate) use tree::{Kept, Tree};
pub(super) use tree::{link, lived};
pub(super) use usage::corrected;

#[cfg(test)]
mod tests;
