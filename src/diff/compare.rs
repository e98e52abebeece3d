//! Compares two outputs of the same input message by message: the expected and the actual output, or what two policies make of a
//! transcript.
//!
//! Both are aligned with the input, so that a message of the input has two fates. Only what differs is listed: messages with
//! different fates or replacements, texts that were written (summaries) as unified diffs, and lines outside of what models read.
//! Ids of new lines, their times and the links to them follow from the content, and do not count as differences.
//!
//! ```text
//! let differ = Differ::new(&policy)?;
//! let compared = differ.outputs(input, [expected, actual], [&[], &outcome.conversations]);
//! if expected.bytes != actual.bytes { show(&compared) }    // compared.is_same(): ids, times and links alone
//! ```

use serde::{Deserialize, Serialize};

use crate::ids::IdMap;
use crate::outcome::{ConversationOutcome, ReadBack};
use crate::transcript::Role;

use super::lines::unified;
use super::mask::Mirrors;
use super::masked::{LineDifference, differences};
use super::{
    At, Change, ConversationDiff, Diff, Differ, Fate, Row, Source, role_name, role_of_name,
};

/// How two outputs of one input differ; of each pair, the first output's comes first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Live tokens of the input.
    pub tokens_before: u64,
    /// Live tokens of the outputs.
    pub tokens_after: [u64; 2],
    /// Live messages of the outputs.
    pub messages_after: [u64; 2],
    /// The conversations that differ.
    pub conversations: Vec<ConversationComparison>,
    /// Lines that differ in something that no model reads.
    pub lines: Vec<LineDifference>,
    /// The first byte that differs, from 0; `None` where the outputs are equal.
    pub first_byte: Option<u64>,
}

/// A conversation that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationComparison {
    /// Its id in a report.
    pub id: String,
    /// Its tokens in the input.
    pub tokens_before: u64,
    /// Its tokens in the outputs.
    pub tokens_after: [u64; 2],
    /// The messages of the input whose outcomes differ.
    pub rows: Vec<RowComparison>,
    /// The messages that the input does not have, and that differ.
    pub added: Vec<AddedComparison>,
}

/// A message of the input with different outcomes in the two outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowComparison {
    /// Where it was.
    pub old: At,
    /// Its role.
    #[serde(serialize_with = "role_name", deserialize_with = "role_of_name")]
    pub role: Role,
    /// The tools of its calls and results.
    pub tools: Vec<String>,
    /// Its first words.
    pub words: String,
    /// Its tokens in the input.
    pub tokens_before: u64,
    /// Its tokens in the outputs.
    pub tokens_after: [u64; 2],
    /// What became of it.
    pub fates: [Fate; 2],
    /// Why, where a record says so.
    pub reasons: [Option<String>; 2],
    /// How the texts that replaced its parts differ, as unified diffs.
    pub texts: Vec<String>,
}

/// A message that exists only in outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddedComparison {
    /// What it is: a summary, its acknowledgement, or something else.
    pub fate: Fate,
    /// Where it is in the outputs that have it.
    pub new: [Option<At>; 2],
    /// Its tokens in the outputs.
    pub tokens_after: [u64; 2],
    /// What was restored in it.
    pub restored: [Vec<String>; 2],
    /// How its text differs, as a unified diff; if an output lacks the message, all of the text counts as removed or added.
    pub text: Vec<String>,
}

impl ReadBack for ConversationComparison {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

impl Comparison {
    /// Whether nothing differs but ids of new lines, their times, and the links to them.
    pub fn is_same(&self) -> bool {
        self.conversations.is_empty() && self.lines.is_empty()
    }
}

impl Differ {
    /// Compares two outputs of `input`; all three have the same format. `told` contains the records of the outputs, for reasons; it
    /// may be empty.
    pub fn outputs(
        &self,
        input: Source<'_>,
        outputs: [Source<'_>; 2],
        told: [&[ConversationOutcome]; 2],
    ) -> Comparison {
        let [left, right] = outputs;
        let (of_left, of_right) = (
            self.diff(input, left, told[0]),
            self.diff(input, right, told[1]),
        );
        let mut compared = compare(&of_left, &of_right);
        // If the conversations differ, copies of results differ as well.
        let mirrors = match compared.conversations.is_empty() {
            true => Mirrors::Compared,
            false => Mirrors::Ignored,
        };
        let same = left
            .bytes
            .iter()
            .zip(right.bytes)
            .take_while(|(a, b)| a == b)
            .count();
        if same < left.bytes.len().max(right.bytes.len()) {
            compared.first_byte = Some(same as u64);
            compared.lines = differences(self, left, right, mirrors);
        }
        compared
    }
}

/// Compares the diffs of two outputs of the same input; the result contains no lines or bytes, which the diffs do not record.
pub fn compare(left: &Diff, right: &Diff) -> Comparison {
    let nothing = |of: &ConversationDiff| ConversationDiff {
        id: of.id.clone(),
        tokens_before: of.tokens_before,
        tokens_after: 0,
        messages_before: of.messages_before,
        messages_after: 0,
        rows: Vec::new(),
    };
    let by_id = |diff: &'_ Diff| -> IdMap<String, usize> {
        let ids = diff.conversations.iter().map(|one| one.id.clone());
        ids.zip(0..).collect()
    };
    let (lefts, rights) = (by_id(left), by_id(right));
    let mut conversations = Vec::new();
    for one in &left.conversations {
        conversations.extend(match rights.get(&one.id) {
            Some(other) => conversation(one, &right.conversations[*other]),
            None => conversation(one, &nothing(one)),
        });
    }
    for one in &right.conversations {
        if !lefts.contains_key(&one.id) {
            conversations.extend(conversation(&nothing(one), one));
        }
    }
    Comparison {
        tokens_before: left.tokens_before,
        tokens_after: [left.tokens_after, right.tokens_after],
        messages_after: [left.messages_after, right.messages_after],
        conversations,
        lines: Vec::new(),
        first_byte: None,
    }
}

/// The comparison of a conversation, if it differs.
fn conversation(
    left: &ConversationDiff,
    right: &ConversationDiff,
) -> Option<ConversationComparison> {
    let olds = |of: &ConversationDiff| -> Vec<Row> {
        of.rows
            .iter()
            .filter(|row| row.old.is_some())
            .cloned()
            .collect()
    };
    // Both have every message of the input, in its order.
    let rows = olds(left).into_iter().zip(olds(right));
    let rows: Vec<RowComparison> = rows
        .filter_map(|(left, right)| row(&left, &right))
        .collect();
    let mut added_rows = Vec::new();
    for fate in [Fate::Summary, Fate::Acknowledgement, Fate::Inserted] {
        let of = |of: &ConversationDiff| -> Vec<Row> {
            let rows = of
                .rows
                .iter()
                .filter(|row| row.old.is_none() && row.fate == fate);
            rows.cloned().collect()
        };
        let (left, right) = (of(left), of(right));
        let most = left.len().max(right.len());
        added_rows.extend((0..most).filter_map(|at| added(fate, left.get(at), right.get(at))));
    }
    let is_same = rows.is_empty() && added_rows.is_empty();
    (!is_same).then(|| ConversationComparison {
        id: left.id.clone(),
        tokens_before: left.tokens_before,
        tokens_after: [left.tokens_after, right.tokens_after],
        rows,
        added: added_rows,
    })
}

/// A message of the input, if its outcomes differ.
fn row(left: &Row, right: &Row) -> Option<RowComparison> {
    let mut texts = Vec::new();
    let mut is_other = left.fate != right.fate;
    for one in &left.changes {
        match like(one, &right.changes) {
            Some(other) if one.text == other.text => {}
            Some(other) => {
                let of = |change: &Change| change.text.clone().unwrap_or_default();
                texts.extend(unified(&of(one), &of(other)));
                is_other = true;
            }
            None => is_other = true,
        }
    }
    is_other |= right
        .changes
        .iter()
        .any(|one| like(one, &left.changes).is_none());
    is_other.then(|| RowComparison {
        old: left.old.or(right.old).unwrap_or(At {
            line: 0,
            message: 0,
        }),
        role: left.role,
        tools: left.tools.clone(),
        words: left.words.clone(),
        tokens_before: left.tokens_before,
        tokens_after: [left.tokens_after, right.tokens_after],
        fates: [left.fate, right.fate],
        reasons: [left.reason.clone(), right.reason.clone()],
        texts,
    })
}

/// The change of the same part.
fn like<'c>(one: &Change, others: &'c [Change]) -> Option<&'c Change> {
    let is_alike = |other: &&Change| other.place == one.place && other.part == one.part;
    others.iter().find(is_alike)
}

/// A message that an output has and the input lacks, if it differs.
fn added(fate: Fate, left: Option<&Row>, right: Option<&Row>) -> Option<AddedComparison> {
    let sides = [left, right];
    let [old, new] = sides.map(|row| row.and_then(|row| row.text.as_deref()));
    let is_same = old.is_some() && old == new;
    (!is_same).then(|| AddedComparison {
        fate,
        new: sides.map(|row| row.and_then(|row| row.new)),
        tokens_after: sides.map(|row| row.map_or(0, |row| row.tokens_after)),
        restored: sides.map(|row| row.map(|row| row.restored.clone()).unwrap_or_default()),
        text: unified(old.unwrap_or_default(), new.unwrap_or_default()),
    })
}
