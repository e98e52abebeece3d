//! Why each thing was done to an input, for users who ask: equal reasons share a line, the largest savings first.
//!
//! Says nothing that the outcome does not contain. Text from a transcript is not escaped here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::outcome::{ActionKind, Outcome, Status};
use crate::text::{count, thousands};

/// The maximum number of an input's conversations, and of reasons, to list.
const MAX_REASONS: usize = 12;

/// Equal actions together.
#[derive(Default)]
struct Group {
    number: u64,
    reason: String,
    /// Whether the numbers in the reasons differ.
    differ: bool,
    before: u64,
    after: u64,
    tools: BTreeMap<String, u64>,
}

/// One line for each conversation if there are several, or for a single one without a summary; then one for each reason.
pub(super) fn reasons(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    match &outcome.conversations[..] {
        // The edits are listed above it, but not why there is no summary.
        [only] if outcome.status == Status::Compacted && only.summary.is_none() => {
            lines.push(only.reason.clone());
        }
        [] | [_] => {}
        [_, _, ..] => {
            lines.extend(of_each(outcome));
            shorten(&mut lines, "conversation");
        }
    }
    // Reasons that differ only in numbers are merged, with the numbers of the first.
    let mut groups: BTreeMap<(&str, String), Group> = BTreeMap::new();
    for action in outcome.conversations.iter().flat_map(|c| &c.actions) {
        let group = groups
            .entry((verb(action.kind), masked(&action.reason)))
            .or_default();
        if group.number == 0 {
            group.reason.clone_from(&action.reason);
        }
        group.differ |= group.reason != action.reason;
        group.number += 1;
        group.before += action.tokens_before;
        group.after += action.tokens_after;
        if let Some(tool) = &action.tool {
            *group.tools.entry(tool.clone()).or_default() += 1;
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    // The sort is stable, so that equal groups stay in name order.
    groups.sort_by_key(|(_, group)| Reverse(group.before.saturating_sub(group.after)));
    let groups = groups.iter().map(|((verb, _), group)| line(verb, group));
    let mut why: Vec<String> = groups.collect();
    shorten(&mut why, "reason");
    lines.extend(why);
    lines
}

/// The reason of each conversation.
fn of_each(outcome: &Outcome) -> impl Iterator<Item = String> + '_ {
    let conversations = outcome.conversations.iter();
    let told = conversations.filter(|conversation| !conversation.reason.is_empty());
    told.map(|told| format!("{}: {}", told.id, told.reason))
}

/// `cleared Bash ×12, Read: 9 120 → 84 tokens: not among the 5 newest results`
fn line(verb: &str, group: &Group) -> String {
    let times = |number: u64| match number {
        1 => String::new(),
        n => format!(" ×{}", thousands(n)),
    };
    let tools: Vec<String> = group
        .tools
        .iter()
        .map(|(tool, number)| format!("{tool}{}", times(*number)))
        .collect();
    let what = match tools.is_empty() {
        true => times(group.number),
        false => format!(" {}", tools.join(", ")),
    };
    let tokens = match (group.before, group.after) {
        (0, 0) => String::new(),
        (before, after) => format!(": {} → {} tokens", thousands(before), thousands(after)),
    };
    // If the numbers differ, those shown are an example.
    let example = if group.differ { ", for example" } else { "" };
    format!("{verb}{what}{tokens}{example}: {}", group.reason)
}

/// A reason without its numbers.
fn masked(reason: &str) -> String {
    let mut masked = String::with_capacity(reason.len());
    for c in reason.chars() {
        match c {
            '0'..='9' if masked.ends_with('0') => {}
            '0'..='9' => masked.push('0'),
            _ => masked.push(c),
        }
    }
    masked
}

fn verb(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Redact => "masked",
        ActionKind::Drop => "dropped",
        ActionKind::Demote => "moved to the store",
        ActionKind::Clear => "cleared",
        ActionKind::Offload => "offloaded",
        ActionKind::Summarize => "summarised",
        ActionKind::Restore => "restored",
        ActionKind::Prune => "removed",
    }
}

fn shorten(lines: &mut Vec<String>, noun: &str) {
    let hidden = lines.len().saturating_sub(MAX_REASONS) as u64;
    if hidden > 0 {
        lines.truncate(MAX_REASONS);
        lines.push(format!("and {}", count(hidden, &format!("more {noun}"))));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::outcome::{Action, ConversationOutcome};

    #[test]
    fn equal_reasons_are_one_line() {
        let mut outcome = Outcome::unchanged(Path::new("a"), 1, "blake3:00");
        let mut conversation = ConversationOutcome::unchanged("main", "classes", 9_000, 9);
        let action = |tool: Option<&str>, kind, tokens_before, reason: &str| Action {
            kind,
            line: 1,
            message: 1,
            tool: tool.map(str::to_owned),
            reason: reason.to_owned(),
            tokens_before,
            tokens_after: tokens_before / 10,
        };
        conversation.actions = vec![
            action(Some("Bash"), ActionKind::Clear, 1_000, "old"),
            action(Some("Read"), ActionKind::Clear, 2_000, "old"),
            action(Some("Bash"), ActionKind::Clear, 500, "old"),
            action(
                Some("Bash"),
                ActionKind::Offload,
                800,
                "over 500: it has 800",
            ),
            action(Some("Bash"), ActionKind::Offload, 10, "over 500: it has 12"),
            action(None, ActionKind::Drop, 0, "dead"),
            action(None, ActionKind::Summarize, 50_000, "over 20 000"),
        ];
        outcome.conversations.push(conversation);
        let expected = [
            "summarised: 50 000 → 5 000 tokens: over 20 000",
            "cleared Bash ×2, Read: 3 500 → 350 tokens: old",
            "offloaded Bash ×2: 810 → 81 tokens, for example: over 500: it has 800",
            "dropped: dead",
        ];
        assert_eq!(reasons(&outcome), expected);
        outcome.conversations.push(ConversationOutcome {
            reason: "nothing to compact".to_owned(),
            ..ConversationOutcome::unchanged("line:7", "classes", 90, 2)
        });
        assert_eq!(reasons(&outcome)[0], "line:7: nothing to compact");
    }

    #[test]
    fn why_there_is_no_summary_is_told_beside_what_was_done() {
        let mut outcome = Outcome::unchanged(Path::new("a"), 1, "blake3:00");
        outcome.conversations.push(ConversationOutcome {
            reason: "dead lines dropped; below its trigger of 171 000".to_owned(),
            ..ConversationOutcome::unchanged("main", "classes", 90, 2)
        });
        // For an unchanged file, the line above says it.
        assert_eq!(reasons(&outcome), [""; 0]);
        outcome.status = Status::Compacted;
        let told = reasons(&outcome);
        assert_eq!(told, ["dead lines dropped; below its trigger of 171 000"]);
    }
}
