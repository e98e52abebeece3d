//! Statistics of a transcript: tokens by role, kind of block, tool and file, live and dead; how its windows grew over turns,
//! and how they compare with a policy's thresholds and with other estimates.
//!
//! PURE. Only counts. The fields are the JSON's keys, in its order. Integers only, so that sums do not depend on the order of
//! addition. The tokens that a message adds to its window, including those around its blocks that a policy counts (roles, braces),
//! are divided among its blocks, so that roles, kinds of block and turns add up to the total.

mod count;
mod estimates;
mod stored;
mod subject;
#[cfg(test)]
mod tests;
mod thresholds;
mod totals;
mod turns;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::outcome::{Coverage, Find, Usage};
use crate::transcript::BlockKind;

pub use count::Counter;
pub use estimates::{Estimates, Exact, PresetCount, PresetCounts};
pub use thresholds::{ResultsOver, Standing, Thresholds, Window};
pub use totals::Totals;
pub use turns::{RecordedCompaction, Turn};

/// The statistics of one input.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileStats {
    /// The counts; for an unsupported input, only its bytes.
    #[serde(flatten)]
    pub counts: Counts,
    /// The conversations that have messages, in the order of the transcript.
    pub conversations: Vec<ConversationStats>,
}

impl Find for FileStats {
    fn in_bytes(bytes: u64) -> Self {
        let mut found = FileStats::default();
        found.counts.bytes = bytes;
        found
    }

    fn status(&self) -> &'static str {
        "counted"
    }

    fn weight(&self) -> u64 {
        self.counts.live.tokens
    }

    fn parts(&self) -> usize {
        let Counts {
            roles,
            blocks,
            tools,
            paths,
            largest,
            presets,
            ..
        } = &self.counts;
        let turns = |c: &ConversationStats| c.timeline.len() + c.compactions.len();
        let turns: usize = self.conversations.iter().map(turns).sum();
        let named = roles.len() + blocks.len() + tools.len() + paths.len();
        named + largest.len() + presets.0.len() + self.conversations.len() + turns
    }
}

impl FileStats {
    /// The first conversation with a recorded provider count, and that count's relation to the estimate.
    pub fn usage(&self) -> Option<(&ConversationStats, Usage)> {
        self.conversations.iter().find_map(|c| Some((c, c.usage?)))
    }
}

/// The live window of one conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationStats {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// Its messages.
    pub messages: u64,
    /// Typed messages.
    pub turns: u64,
    /// Its tokens.
    pub tokens: u64,
    /// What the provider counted, if enough requests are recorded.
    pub usage: Option<Usage>,
    /// Its tokens by each estimator.
    pub estimates: Estimates,
    /// How it compares with the policy's thresholds.
    pub standing: Standing,
    /// The compactions of its agent whose summaries are in it; summaries of older ones are no longer there.
    #[serde(default)]
    pub compactions: Vec<RecordedCompaction>,
    /// How it grew.
    pub timeline: Vec<Turn>,
}

/// The counts of one input or of all inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes, unpacked.
    pub bytes: u64,
    /// The live windows.
    pub live: Live,
    /// Message lines outside of every live window.
    pub dead: Dead,
    /// Mirrors of results.
    pub mirrors: Mirrors,
    /// How much of the lines and of the calls is understood.
    #[serde(default)]
    pub coverage: Coverage,
    /// Live tokens by role.
    pub roles: By<Share>,
    /// Live tokens by kind of block.
    pub blocks: By<Share>,
    /// Live tokens of calls and results by the tool's name.
    pub tools: By<ToolCount>,
    /// Live tokens of calls and results by the path that a call to a read, write or edit tool names.
    pub paths: By<PathCount>,
    /// The largest live blocks, the largest first.
    pub largest: Vec<Consumer>,
    /// Live tokens by each estimator.
    pub estimates: Estimates,
    /// The live windows as presets count them.
    pub presets: PresetCounts,
}

/// What the model would see now: all live windows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Live {
    /// Conversations that have messages.
    pub conversations: u64,
    /// Messages.
    pub messages: u64,
    /// Typed messages, without summaries of earlier compactions.
    pub turns: u64,
    /// Tokens, as `compact` reports them.
    pub tokens: u64,
    /// Bytes of their lines, without mirrors.
    pub bytes: u64,
}

/// Message lines outside of every live window: before a compaction, or on an abandoned branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dead {
    /// Lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tokens of their blocks.
    pub tokens: u64,
}

/// Copies of results for a viewer, which the model never sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mirrors {
    /// Lines that contain nothing else.
    pub lines: u64,
    /// Their bytes, and those of mirrors on live lines.
    pub bytes: u64,
}

/// Blocks of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Share {
    /// Blocks.
    pub blocks: u64,
    /// Their tokens.
    pub tokens: u64,
}

/// The tokens of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCount {
    /// Calls.
    pub calls: u64,
    /// Tokens of the calls.
    pub call_tokens: u64,
    /// Results.
    pub results: u64,
    /// Tokens of the results.
    pub result_tokens: u64,
    /// Results that report a failure.
    pub failed: u64,
}

/// The tokens of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathCount {
    /// Calls that read it.
    pub reads: u64,
    /// Calls that write it or change a part of it.
    pub edits: u64,
    /// Tokens of these calls.
    pub call_tokens: u64,
    /// Tokens of their results.
    pub result_tokens: u64,
}

/// A large block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumer {
    /// Its file; `None` in a file's own list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line, from 1.
    pub line: u64,
    /// Its conversation.
    pub conversation: String,
    /// Its message in that conversation, from 1.
    pub message: u64,
    /// Its role, as in [`Counts::roles`].
    pub role: Cow<'static, str>,
    /// Its kind; named as in [`Counts::blocks`].
    #[serde(serialize_with = "kind_name", deserialize_with = "kind_of_name")]
    pub kind: BlockKind,
    /// The tool that was called.
    pub tool: Option<String>,
    /// Its tokens.
    pub tokens: u64,
    /// The path that the call names, or the first words of its command.
    pub hint: Option<String>,
}

fn kind_name<S: Serializer>(kind: &BlockKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

fn kind_of_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BlockKind, D::Error> {
    let name = Cow::<str>::deserialize(deserializer)?;
    let known = BlockKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| D::Error::custom(format!("unknown kind of block {name:?}")))
}

/// Anything with a token count by which it can be ranked.
pub trait Weigh {
    /// Its tokens.
    fn weight(&self) -> u64;
}

impl Weigh for Share {
    fn weight(&self) -> u64 {
        self.tokens
    }
}

impl Weigh for ToolCount {
    fn weight(&self) -> u64 {
        self.call_tokens + self.result_tokens
    }
}

impl Weigh for PathCount {
    fn weight(&self) -> u64 {
        self.call_tokens + self.result_tokens
    }
}

/// Counts by name; in JSON a list, the largest first, each with its `name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By<T>(BTreeMap<String, T>);

impl<T> Default for By<T> {
    fn default() -> Self {
        By(BTreeMap::new())
    }
}

impl<T> By<T> {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: Weigh + Default> By<T> {
    /// The count with this name.
    pub fn entry(&mut self, name: &str) -> &mut T {
        self.0.entry(name.to_owned()).or_default()
    }

    /// All counts, largest first; ties are ordered by name.
    pub fn ranked(&self) -> Vec<(&str, &T)> {
        let mut all: Vec<_> = self.0.iter().map(|(name, t)| (name.as_str(), t)).collect();
        all.sort_by_key(|(_, count)| Reverse(count.weight()));
        all
    }
}

impl<T: Weigh + Default + Serialize> Serialize for By<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'n, T> {
            name: &'n str,
            #[serde(flatten)]
            count: &'n T,
        }
        serializer.collect_seq(
            self.ranked()
                .into_iter()
                .map(|(name, count)| Named { name, count }),
        )
    }
}
