//! Which records count. When the user undid turns, an `agent.switched` names the record after which the session continues, by its
//! number in the file; the records in between are abandoned, except reminders of prompts that stay.
//!
//! The agent counts records, not lines: blank lines have no number.

use std::collections::BTreeMap;

use crate::ids::{IdMap, IdSet};
use crate::scan::Value;
use crate::transcript::{Answer, ChangeSet, LinkKind, Replace, Transcript};

/// The records that count.
pub(super) struct Chain {
    /// Whether each line counts; `None` if all do.
    on: Option<Vec<bool>>,
}

/// Where a branch begins.
struct Edge<'t> {
    line: u32,
    branch: &'t [u8],
    base: &'t [u8],
    /// The number of the last record before the branch that counts.
    after: u64,
    /// The number of the record that undoes the same turns for older versions.
    repeats: Option<u64>,
}

impl Chain {
    pub(super) fn of(transcript: &Transcript<'_>) -> Self {
        let edges = edges(transcript);
        if edges.is_empty() {
            return Chain { on: None };
        }
        let numbers = numbers(transcript);
        let mut on = vec![false; transcript.lines().len()];
        // The last branch of a name counts; the first one has no edge.
        let mut begins: IdMap<&[u8], (Option<usize>, u32)> = IdMap::default();
        let mut ends = edges.iter().map(|edge| edge.line);
        begins.insert(b"main", (None, ends.next().unwrap_or(0)));
        let end = transcript.lines().len() as u32;
        for (number, edge) in edges.iter().enumerate() {
            let ends = ends.next().unwrap_or(end);
            begins.insert(edge.branch, (Some(number), ends));
        }
        let mut branch = edges.last().map(|edge| edge.branch);
        let mut until = u64::MAX;
        let mut seen: IdSet<&[u8]> = IdSet::default();
        while let Some(name) = branch.take() {
            // The agent does not open a session with missing or circular branches.
            let Some((edge, ends)) = begins.get(name).copied().filter(|_| seen.insert(name)) else {
                break;
            };
            let edge = edge.map(|number| &edges[number]);
            for line in edge.map_or(0, |edge| edge.line + 1)..ends {
                on[line as usize] = numbers[line as usize] <= until;
            }
            (branch, until) = (
                edge.map(|edge| edge.base),
                edge.map_or(0, |edge| edge.after),
            );
        }
        let repeated: IdSet<u64> = edges.iter().filter_map(|edge| edge.repeats).collect();
        let links = transcript.links();
        for (line, link) in links.iter().enumerate() {
            if link.kind == LinkKind::GoBack && repeated.contains(&numbers[line]) {
                on[line] = false;
            }
        }
        let id = |line: usize| transcript.bytes(line as u32, links[line].id);
        let prompts = (0..links.len()).filter(|line| on[*line] && links[*line].is_root);
        let prompts: IdSet<&[u8]> = prompts.map(id).filter(|id| !id.is_empty()).collect();
        for (line, link) in links.iter().enumerate() {
            let is_reminder = link.kind == LinkKind::Node && link.answer == Answer::Uncounted;
            if is_reminder && link.message.is_empty() {
                let owner = transcript.bytes(line as u32, link.parent);
                on[line] |= owner.is_empty() || prompts.contains(owner);
            }
        }
        Chain { on: Some(on) }
    }

    /// Whether a record counts.
    pub(super) fn has(&self, line: u32) -> bool {
        self.on.as_ref().is_none_or(|on| on[line as usize])
    }
}

/// The number of each record, from 1; a line that is not a record has the number of the record before it.
fn numbers(transcript: &Transcript<'_>) -> Vec<u64> {
    let mut number = 0;
    let lines = 0..transcript.lines().len() as u32;
    lines
        .map(|line| {
            number += u64::from(is_record(transcript, line));
            number
        })
        .collect()
}

fn is_record(transcript: &Transcript<'_>, line: u32) -> bool {
    transcript.is_there(line) && !transcript.line(line).is_empty()
}

fn edges<'t>(transcript: &'t Transcript<'_>) -> Vec<Edge<'t>> {
    let lines = (0u32..).zip(transcript.links());
    let switches = lines.filter(|(_, link)| link.kind == LinkKind::ChosenPointer);
    switches
        .filter_map(|(line, _)| {
            let [branch, base, repeats] =
                Value::of(transcript.line(line)).fields(["branch", "base", "legacyUndoLine"]);
            let [name, after] = base.fields(["branch", "line"]);
            Some(Edge {
                line,
                branch: branch.string()?,
                base: name.string()?,
                after: after.number()?,
                repeats: repeats.number(),
            })
        })
        .collect()
}

/// Adds new numbers for the records that switches name, if lines are removed or inserted.
pub(super) fn renumber(transcript: &Transcript<'_>, changes: &mut ChangeSet) {
    let edges = edges(transcript);
    if edges.is_empty() {
        return;
    }
    // Maps the old number of each record to the number of records up to it afterwards.
    let mut after: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut old, mut new) = (0, 0);
    for line in 0..transcript.lines().len() as u32 {
        if !is_record(transcript, line) {
            continue;
        }
        old += 1;
        new += changes
            .insert
            .get(&line)
            .map_or(0, |lines| lines.len() as u64);
        new += u64::from(!changes.drop.contains(&line));
        after.insert(old, new);
    }
    for edge in edges
        .iter()
        .filter(|edge| !changes.drop.contains(&edge.line))
    {
        let line = Value::of(transcript.line(edge.line));
        let named = [
            line.within(&["base", "line"]).figure(),
            line.field("legacyUndoLine").figure(),
        ];
        for (span, number) in named.into_iter().flatten() {
            let moved = after
                .range(..=number)
                .next_back()
                .map_or(0, |(_, new)| *new);
            if moved != number {
                changes
                    .replace
                    .push(Replace::number(edge.line, span, moved));
            }
        }
    }
}
