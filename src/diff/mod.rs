//! What a compaction did, read off its input and its output: two transcripts aligned message by message.
//!
//! PURE, and independent of what wrote the output: the bytes say what became of a message. If there is a record of the run, it adds
//! the reasons, and decides what the bytes leave open. Two functions:
//!
//! * [`Differ::diff`] aligns an old transcript with a new one. Each live message of the old one is in exactly one [`Row`], with its
//!   [`Fate`]; messages that only the new one has are in rows of their own. Tokens are those of the live windows, and the rows of a
//!   conversation add up to its tokens before and after.
//! * [`compare`](compare::compare) holds two outputs of the same input against each other, by the fates of the input's messages:
//!   what a regression check and a change of policy are about. Ids, times and links that follow from the content are no
//!   differences.
//!
//! | file | what it does |
//! | --- | --- |
//! | `align` | finds the same elements in two sequences |
//! | `side` | a transcript with its tokens, and the keys of its messages |
//! | `pairing` | finds the same conversations |
//! | `conversation` | the rows of a conversation |
//! | `changes` | the blocks of a message that changed |
//! | `record` | what a record says |
//! | `outside` | the lines that no model sees |
//! | `stat` | rows added up by what became of them |
//! | `lines` | what differs between two texts, line by line |
//! | `compare` | two outputs of the same input |
//! | `mask` | lines without what models read of them |
//! | `masked` | which lines of two outputs differ by more than ids, times and links |
//! | `plain` | a transcript as text, for `git diff` |

mod align;
mod changes;
pub mod compare;
mod conversation;
mod lines;
mod mask;
mod masked;
mod outside;
mod pairing;
mod plain;
mod record;
mod side;
mod stat;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Result;
use crate::facts::Earlier;
use crate::format::{Detected, Detector, Format, Layout};
use crate::outcome::{ConversationOutcome, ReadBack};
use crate::policy::{Policy, presets};
use crate::tokens::Estimator;
use crate::transcript::Role;

use align::Alignment;
use record::Records;
use side::{Side, hash};

pub use lines::{differing, unified};
pub use masked::LineDifference;
pub use outside::{LineCounts, LineRun};
pub use plain::plain;
pub use stat::{Stat, stat};

/// Compares transcripts: it counts tokens as one policy does, and knows the texts that this policy and the presets leave.
#[derive(Debug)]
pub struct Differ {
    estimator: Estimator,
    earlier: Earlier,
    policies: Vec<Policy>,
}

/// A transcript, or a file of several.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its bytes, unpacked.
    pub bytes: &'a [u8],
    /// Its format.
    pub format: Format,
    /// How the bytes hold the transcripts.
    pub layout: Layout,
}

impl<'a> Source<'a> {
    /// Detects the format of these bytes, if it is a known one.
    pub fn detect(bytes: &'a [u8]) -> Option<Self> {
        let mut detector = Detector::default();
        detector.look(bytes);
        match detector.decide() {
            Detected::Known(format, layout) => Some(Source {
                bytes,
                format,
                layout,
            }),
            Detected::Unsupported(_) => None,
        }
    }
}

/// What became of a message, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Unchanged: what a model reads of it has the same bytes.
    Kept,
    /// A placeholder took the place of a result.
    Cleared,
    /// A result went to the store, and its name stays.
    Offloaded,
    /// A result went to the store, and its beginning stays with its name.
    Demoted,
    /// Its content has changed.
    Edited,
    /// A summary took its place.
    Summarised,
    /// It is gone, and nothing took its place.
    Dropped,
    /// Only the new transcript has it: it is a summary.
    Summary,
    /// Only the new transcript has it: it acknowledges a summary.
    Acknowledgement,
    /// Only the new transcript has it.
    Inserted,
}

/// How two transcripts differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// Tokens of all live windows before.
    pub tokens_before: u64,
    /// Tokens of all live windows after.
    pub tokens_after: u64,
    /// Messages of all live windows before.
    pub messages_before: u64,
    /// Messages of all live windows after.
    pub messages_after: u64,
    /// The conversations of the old transcript in its order, then those that only the new one has.
    pub conversations: Vec<ConversationDiff>,
    /// What became of the lines outside of all live windows.
    pub outside: LineCounts,
}

/// How one conversation differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationDiff {
    /// Its id in a report, in the old transcript if it is there.
    pub id: String,
    /// Its tokens before: the sum over the rows.
    pub tokens_before: u64,
    /// Its tokens after: the sum over the rows.
    pub tokens_after: u64,
    /// Its messages before.
    pub messages_before: u64,
    /// Its messages after.
    pub messages_after: u64,
    /// Its messages in the order of the conversation; replaced messages come before their replacement.
    pub rows: Vec<Row>,
}

/// One message: of both transcripts, or of one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What became of it.
    pub fate: Fate,
    /// Where it was.
    pub old: Option<At>,
    /// Where it is.
    pub new: Option<At>,
    /// Its role.
    #[serde(serialize_with = "role_name", deserialize_with = "role_of_name")]
    pub role: Role,
    /// The tools of its calls and results.
    pub tools: Vec<String>,
    /// The tokens that it added to the old window; 0 if it was not there.
    pub tokens_before: u64,
    /// The tokens that it adds to the new window; 0 if it is not there.
    pub tokens_after: u64,
    /// Why, if a record says so.
    pub reason: Option<String>,
    /// Its first words, in the old transcript if it was there.
    pub words: String,
    /// The parts that changed.
    pub changes: Vec<Change>,
    /// All that it says, if only the new transcript has it.
    pub text: Option<String>,
    /// The headers of the files, plans and the like whose content was restored in it.
    pub restored: Vec<String>,
}

/// The place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// Its first line in the file, from 1.
    pub line: u64,
    /// Its number in the conversation, from 1.
    pub message: u64,
}

/// A part of a kept message that has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What became of it.
    pub fate: Fate,
    /// Its kind: `tool_result`, `text`, …
    pub part: Cow<'static, str>,
    /// Its position among the parts of its message, from 1; in the new message, for a part that only that one has.
    pub place: u64,
    /// Its line in the old file, from 1; for a part that only the new file has, its line there.
    pub line: u64,
    /// Its tool, if it is a call or a result.
    pub tool: Option<String>,
    /// Tokens of the content before.
    pub tokens_before: u64,
    /// Tokens of the content after.
    pub tokens_after: u64,
    /// Why, if a record says so.
    pub reason: Option<String>,
    /// Its first words before.
    pub words: String,
    /// All of the new text; `None` if the part is gone.
    pub text: Option<String>,
}

fn role_name<S: serde::Serializer>(
    role: &Role,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

fn role_of_name<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Role, D::Error> {
    let name = Cow::<str>::deserialize(deserializer)?;
    let known = Role::ALL.into_iter().find(|role| role.name() == name);
    known.ok_or_else(|| D::Error::custom(format!("unknown role {name:?}")))
}

impl ReadBack for ConversationDiff {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

impl Fate {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Fate; 10] = [
        Fate::Kept,
        Fate::Cleared,
        Fate::Offloaded,
        Fate::Demoted,
        Fate::Edited,
        Fate::Summarised,
        Fate::Dropped,
        Fate::Summary,
        Fate::Acknowledgement,
        Fate::Inserted,
    ];

    /// The name in listings and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Cleared => "cleared",
            Fate::Offloaded => "offloaded",
            Fate::Demoted => "demoted",
            Fate::Edited => "edited",
            Fate::Summarised => "summarised",
            Fate::Dropped => "dropped",
            Fate::Summary => "summary",
            Fate::Acknowledgement => "acknowledgement",
            Fate::Inserted => "inserted",
        }
    }
}

impl Diff {
    /// The diff of these conversations, with their sums.
    pub fn of(conversations: Vec<ConversationDiff>, outside: LineCounts) -> Self {
        let sum = |of: fn(&ConversationDiff) -> u64| conversations.iter().map(of).sum();
        Diff {
            tokens_before: sum(|c| c.tokens_before),
            tokens_after: sum(|c| c.tokens_after),
            messages_before: sum(|c| c.messages_before),
            messages_after: sum(|c| c.messages_after),
            conversations,
            outside,
        }
    }

    /// Whether the two transcripts are the same to a model, and no line outside of the windows has changed either.
    pub fn is_same(&self) -> bool {
        let rows = self.conversations.iter().flat_map(|c| &c.rows);
        rows.map(|row| row.fate).all(|fate| fate == Fate::Kept) && self.outside.is_same()
    }
}

impl Differ {
    /// Creates a differ that counts tokens as `policy` does.
    ///
    /// # Errors
    /// If the policy's token counting is not built in.
    pub fn new(policy: &Policy) -> Result<Self> {
        let mut policies = vec![policy.clone()];
        policies.extend(presets()?);
        Ok(Differ {
            estimator: Estimator::new(&policy.tokens)?,
            earlier: Earlier::of(policy)?,
            policies,
        })
    }

    /// The name of the token estimator.
    pub fn estimator(&self) -> &'static str {
        self.estimator.name()
    }

    /// Aligns `new` with `old`, which have the same format. `told` contains the records of the old conversations; it may be empty:
    /// it adds reasons, and decides what the bytes leave open, such as a summary of unknown wording.
    pub fn diff(&self, old: Source<'_>, new: Source<'_>, told: &[ConversationOutcome]) -> Diff {
        let told = Records::new(told);
        let mut conversations = Vec::new();
        let mut outside = LineCounts::default();
        for (old, new) in transcripts(old, new) {
            let part = self.transcript(old, new, &told, &mut outside);
            conversations.extend(part);
        }
        Diff::of(conversations, outside)
    }

    /// The conversations of one transcript.
    fn transcript(
        &self,
        old: Part<'_>,
        new: Part<'_>,
        told: &Records<'_>,
        outside: &mut LineCounts,
    ) -> Vec<ConversationDiff> {
        let (before, after) = (self.side(old), self.side(new));
        outside::count(&before, &after, outside);
        let pairs = pairing::pairs(&before, &after, told, old.line);
        let conversations = pairs.into_iter().map(|pair| {
            let about = conversation::About {
                before: &before,
                after: &after,
                policies: &self.policies,
                told,
                line: old.line,
            };
            about.conversation(pair)
        });
        conversations.filter(|c| !c.rows.is_empty()).collect()
    }

    fn side<'a>(&self, part: Part<'a>) -> Side<'a> {
        let Part {
            format,
            bytes,
            first_line,
            line,
        } = part;
        // A line that is not a conversation is passed through.
        let bytes = match line {
            Some(_) if !Detector::reads_conversation(format, bytes) => b"",
            Some(_) | None => bytes,
        };
        Side::read(format, bytes, first_line, &self.estimator, &self.earlier)
    }
}

/// One transcript of a source.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    format: Format,
    bytes: &'a [u8],
    /// The number of its first line in its file, from 1.
    first_line: u64,
    /// The same number, if the transcript is one line of a file of several.
    line: Option<u64>,
}

/// Pairs the transcripts of two sources; a transcript that is missing on one side is empty there.
fn transcripts<'a>(old: Source<'a>, new: Source<'a>) -> Vec<(Part<'a>, Part<'a>)> {
    let (olds, news) = (parts(old), parts(new));
    let nothing = |of: Part<'a>, format: Format| Part {
        format,
        bytes: b"",
        ..of
    };
    let keys = |parts: &[Part<'a>]| -> Vec<Option<u64>> {
        parts.iter().map(|part| Some(hash(&[part.bytes]))).collect()
    };
    let mut alignment = Alignment::new(olds.len(), news.len());
    if olds.len() == news.len() {
        (0..olds.len()).for_each(|at| alignment.pair(at, at));
    } else {
        alignment.pass(&keys(&olds), &keys(&news));
    }
    let mut pairs = Vec::new();
    let mut next = 0;
    for (at, part) in olds.iter().enumerate() {
        match alignment.new_of(at) {
            Some(to) => {
                let added = news[next..to].iter();
                pairs.extend(added.map(|part| (nothing(*part, old.format), *part)));
                pairs.push((*part, news[to]));
                next = to + 1;
            }
            None => pairs.push((*part, nothing(*part, new.format))),
        }
    }
    let added = news[next..].iter();
    pairs.extend(added.map(|part| (nothing(*part, old.format), *part)));
    pairs
}

fn parts(source: Source<'_>) -> Vec<Part<'_>> {
    let Source {
        bytes,
        format,
        layout,
    } = source;
    let parts = layout.parts(bytes).into_iter();
    parts
        .map(|(bytes, first_line)| Part {
            format,
            bytes,
            first_line,
            line: (layout == Layout::Line).then_some(first_line),
        })
        .collect()
}
