//! Claude Code session files: a tree of lines, of which one path is what the model sees.
//!
//! One API message is spread over several lines (a block each) and interleaved with the results of its calls; lines
//! that are no messages hang in the same tree; a result is repeated in `toolUseResult` and in `progress` lines.
//! `record` says what is on a line, `tree` how lines hang together, `link` which
//! of them form a live window, `messages` what messages they form, `mirror` what repeats a result, `history` what may
//! leave, `lived` what its agent went through, `compaction` how a summary is written, `answered` which line says what model
//! answers, `usage` what a provider counted.

mod answered;
mod compaction;
mod history;
mod link;
mod lived;
mod messages;
mod mirror;
mod preserved;
mod record;
mod tree;
mod usage;

pub(super) use answered::last_answer;
pub(super) use compaction::{splice, without};
pub(super) use history::dead;
pub(super) use link::link;
pub(super) use lived::lived;
pub use mirror::{MirrorCut, mirror_cuts};
pub(super) use record::line;
pub(super) use usage::corrected;

#[cfg(test)]
mod tests;
