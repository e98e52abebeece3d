//! How much of a transcript was understood: its lines, and the calls whose meaning the facts know.
//!
//! PURE. All calls of the file are counted, live or not, each once.

mod raw_calls;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize, Serializer};

use self::raw_calls::Repeats;
use super::cell_calls::understands_cell;
use super::exchanges::{Exchange, FactLocation, name};
use super::input::Input;
use super::tools::kind_of;
use super::understood::understands;
use crate::ids::{IdMap, IdSet};
use crate::policy::{ToolKind, Tools};
use crate::text::{count, printable};
use crate::transcript::{BlockKind, LineKind, Transcript};

/// How much of one or several transcripts was understood.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Counts")]
#[non_exhaustive]
pub struct Coverage {
    /// The lines.
    pub lines: u64,
    /// Of these, read: JSON of a known type.
    pub lines_read: u64,
    /// The calls, by a count that does not depend on the formats' readers.
    pub calls: u64,
    /// Of these, understood.
    pub calls_understood: u64,
    /// The tools with calls that are not understood.
    pub unknown: BTreeMap<String, NotUnderstood>,
}

/// The calls of a tool that are not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotUnderstood {
    /// How many they are.
    pub calls: u64,
    /// What the tool does, if that is known: then it is the arguments that are not understood.
    pub kind: Option<ToolKind>,
}

impl AddAssign<&NotUnderstood> for NotUnderstood {
    fn add_assign(&mut self, other: &NotUnderstood) {
        self.calls += other.calls;
        self.kind = self.kind.or(other.kind);
    }
}

/// Percentage of understood calls below which a warning is given.
const ENOUGH: u128 = 90;

impl Coverage {
    /// Whether so few calls are understood that facts and summaries miss much.
    pub fn is_low(&self) -> bool {
        u128::from(self.calls_understood) * 100 < u128::from(self.calls) * ENOUGH
    }

    /// The number of calls that no reader found.
    pub fn calls_unread(&self) -> u64 {
        let unknown = self.unknown.values().map(|unknown| unknown.calls);
        let read = unknown.chain([self.calls_understood]);
        read.fold(self.calls, u64::saturating_sub)
    }

    /// Adds a call; returns the name of its tool if the call is not understood.
    fn add_call(
        &mut self,
        transcript: &Transcript<'_>,
        block: u32,
        added: &Tools,
    ) -> Option<String> {
        let tool = name(transcript, block);
        let is_understood = understands_cell(transcript, transcript.block(block), &tool, added)
            .unwrap_or_else(|| {
                let input = || Input::of(transcript, transcript.block(block));
                understands(&tool, input, added)
            });
        if is_understood {
            self.calls_understood += 1;
            return None;
        }
        let kind = kind_of(&tool, added);
        *self.unknown.entry(tool.clone().into_owned()).or_default() += &NotUnderstood {
            calls: 1,
            kind: (kind != ToolKind::Other).then_some(kind),
        };
        Some(tool.into_owned())
    }

    /// What a user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let is_of_no_kind = |unknown: &NotUnderstood| unknown.kind.is_none();
        if self.unknown.values().any(is_of_no_kind) {
            return Some(
                "name the tools by what they do: [tools] shell, read, write, edit, search, web",
            );
        }
        // What no reader reads has no arguments to speak of.
        (!self.unknown.is_empty()).then_some(
            "arguments are read under the names that known agents use, such as command, file_path, path",
        )
    }

    /// `calls of a known kind: 12 of 170; unknown tools: exec 153, wait 5; arguments of an unknown form: Read 2`
    pub fn sentence(&self) -> String {
        /// The number of tools of each sort that are named.
        const NAMED: usize = 5;
        let mut text = format!(
            "calls of a known kind: {} of {}",
            self.calls_understood, self.calls
        );
        let unknown = self.unknown.iter();
        let (known, unknown): (Vec<_>, Vec<_>) = unknown.partition(|(_, of)| of.kind.is_some());
        for (label, mut tools) in [
            ("unknown tools", unknown),
            ("arguments of an unknown form", known),
        ] {
            if tools.is_empty() {
                continue;
            }
            tools.sort_by_key(|(_, of)| Reverse(of.calls));
            let named: Vec<String> = tools
                .iter()
                .take(NAMED)
                .map(|(tool, of)| format!("{} {}", printable(tool), of.calls))
                .collect();
            text += &format!("; {label}: {}", named.join(", "));
            if let Some(more @ 1..) = tools.len().checked_sub(NAMED) {
                text += &format!(" and {}", count(more as u64, "other"));
            }
        }
        if let unread @ 1.. = self.calls_unread() {
            text += &format!("; not read: {unread}");
        }
        text
    }
}

/// How much of a transcript is understood. `added` holds the policy's additional tool names.
pub fn coverage(transcript: &Transcript<'_>, added: &Tools) -> Coverage {
    // An agent's log may repeat a call. In a list of messages every call was made, whatever its id.
    let repeats = match transcript.links().is_empty() && !transcript.is_document() {
        true => Repeats::Calls,
        false => Repeats::Copies,
    };
    let (raw, (mut coverage, read)) = transcript.both(
        || raw_calls::raw_calls(transcript, repeats),
        || of_readers(transcript, repeats, added),
    );
    coverage.calls = raw.map_or(read, |calls| calls.max(read));
    coverage
}

/// How much the formats' readers understand, and the number of calls that they found.
fn of_readers(transcript: &Transcript<'_>, repeats: Repeats, added: &Tools) -> (Coverage, u64) {
    let mut coverage = Coverage {
        lines: transcript.lines().len() as u64,
        ..Coverage::default()
    };
    let mut seen: IdSet<[&[u8]; 3]> = IdSet::default();
    let mut read = 0;
    for (line, number) in transcript.lines().iter().zip(0..) {
        coverage.lines_read += match line.kind {
            LineKind::Message | LineKind::Mirror | LineKind::Control | LineKind::Session => 1,
            LineKind::Unknown | LineKind::Bad => 0,
        };
        for number in transcript.blocks_of_line(number) {
            let call = transcript.block(number);
            if call.kind != BlockKind::Call {
                continue;
            }
            let is_new = repeats == Repeats::Calls || call.call_id.is_empty() || {
                let [id, tool, input] = [call.call_id, call.tool, call.content];
                seen.insert([id, tool, input].map(|span| transcript.bytes(call.line, span)))
            };
            if is_new {
                read += 1;
                coverage.add_call(transcript, number, added);
            }
        }
    }
    (coverage, read)
}

/// Calls of a tool that are not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrecognizedCalls {
    /// The tool's name.
    pub tool: String,
    /// How many they are.
    pub calls: u64,
    /// The first of them.
    pub first: FactLocation,
    /// The last of them.
    pub last: FactLocation,
}

/// The calls of a conversation that are not understood, by tool, most frequent first; empty if there are few. The calls in a cell
/// count as one.
pub fn missed(
    transcript: &Transcript<'_>,
    calls: &[Exchange],
    added: &Tools,
) -> Vec<UnrecognizedCalls> {
    let mut all = Coverage::default();
    let mut missed: Vec<UnrecognizedCalls> = Vec::new();
    let mut places: IdMap<String, usize> = IdMap::default();
    for of_block in calls.chunk_by(|a, b| a.call.block == b.call.block) {
        let call = of_block[0].call;
        all.calls += 1;
        let Some(tool) = all.add_call(transcript, call.block, added) else {
            continue;
        };
        let place = *places.entry(tool).or_insert_with_key(|tool| {
            missed.push(UnrecognizedCalls {
                tool: tool.clone(),
                calls: 0,
                first: call,
                last: call,
            });
            missed.len() - 1
        });
        missed[place].calls += 1;
        missed[place].last = call;
    }
    if !all.is_low() {
        return Vec::new();
    }
    missed.sort_by_key(|missed| Reverse(missed.calls));
    missed
}

impl AddAssign<&Coverage> for Coverage {
    fn add_assign(&mut self, other: &Coverage) {
        self.lines += other.lines;
        self.lines_read += other.lines_read;
        self.calls += other.calls;
        self.calls_understood += other.calls_understood;
        for (tool, unknown) in &other.unknown {
            *self.unknown.entry(tool.clone()).or_default() += unknown;
        }
    }
}

/// A coverage as a report holds it: shares for readers, sums for adding up.
#[derive(Serialize, Deserialize)]
struct Counts {
    #[serde(default, skip_deserializing)]
    lines: Option<f64>,
    #[serde(default, skip_deserializing)]
    calls: Option<f64>,
    lines_read: u64,
    lines_total: u64,
    calls_understood: u64,
    calls_total: u64,
    unknown: Vec<Unknown>,
}

#[derive(Serialize, Deserialize)]
struct Unknown {
    tool: String,
    calls: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<ToolKind>,
}

/// `part` / `whole`, rounded down to 4 decimals, so that only the whole gives 1.
fn share(part: u64, whole: u64) -> Option<f64> {
    let of_10_000 = (u128::from(part) * 10_000).checked_div(u128::from(whole))?;
    Some(of_10_000 as f64 / 10_000.0)
}

impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unknown = self.unknown.iter().map(|(tool, unknown)| Unknown {
            tool: tool.clone(),
            calls: unknown.calls,
            kind: unknown.kind,
        });
        let counts = Counts {
            lines: share(self.lines_read, self.lines),
            calls: share(self.calls_understood, self.calls),
            lines_read: self.lines_read,
            lines_total: self.lines,
            calls_understood: self.calls_understood,
            calls_total: self.calls,
            unknown: unknown.collect(),
        };
        counts.serialize(serializer)
    }
}

impl From<Counts> for Coverage {
    fn from(counts: Counts) -> Self {
        let unknown = counts.unknown.into_iter();
        Coverage {
            lines: counts.lines_total,
            lines_read: counts.lines_read,
            calls: counts.calls_total,
            calls_understood: counts.calls_understood,
            unknown: unknown
                .map(|Unknown { tool, calls, kind }| (tool, NotUnderstood { calls, kind }))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
