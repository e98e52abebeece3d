//! What the end of a run says besides the totals: one entry a reason, with the inputs that it concerns.
//!
//! Only groups and counts. Never renders, and never decides what is worth saying: each kind does.

use std::collections::BTreeMap;

use super::{Degraded, Outcome, Status, Warning, WarningKind};
use crate::format;

/// How much a notice weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It was asked for and failed: the exit code is 3.
    Failed,
    /// It is worth knowing: a warning.
    Warning,
}

/// One reason, and the inputs that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it weighs.
    pub weight: Weight,
    /// The stable name that scripts branch on.
    pub kind: &'static str,
    /// One sentence, the same for all of these inputs.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// How many inputs.
    pub files: u64,
    /// The first of them, up to [`NAMED`].
    pub names: Vec<String>,
    /// The lines of the first input, from 1, up to [`LINES`], where lines are to blame.
    pub lines: Vec<u64>,
    /// How many lines, in all inputs.
    pub places: u64,
}

/// How many inputs a notice names.
pub const NAMED: usize = 3;
/// How many lines a notice names.
pub const LINES: usize = 10;
/// How many reasons of one kind are told apart; the others become one notice.
const REASONS: usize = 5;

/// Notices, while the inputs are gone over.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    groups: BTreeMap<(Weight, &'static str), BTreeMap<String, Group>>,
}

#[derive(Debug, Clone, Default)]
struct Group {
    hint: Option<&'static str>,
    files: u64,
    names: Vec<String>,
    /// The input that was added last: what it adds again is another line of it.
    last: String,
    lines: Vec<u64>,
    places: u64,
}

impl Notices {
    /// The notices on a run of `compact`.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut notices = Notices::default();
        let mut unread: BTreeMap<&str, u64> = BTreeMap::new();
        for outcome in outcomes.iter().filter(|o| o.status == Status::Unsupported) {
            *unread.entry(format_of(outcome)).or_default() += 1;
        }
        for outcome in outcomes {
            let input = outcome.input.as_str();
            for Degraded { kind, message } in &outcome.degraded {
                notices.add(
                    Weight::Failed,
                    kind.name(),
                    message,
                    kind.hint(),
                    (input, None),
                );
            }
            for warning in &outcome.warnings {
                if let WarningKind::Line(kind) = warning.kind
                    && kind.is_bad_line()
                    && kind != format::WarningKind::Truncated
                {
                    let message = "lines that cannot be read were passed through";
                    let place = (input, warning.line);
                    notices.add(Weight::Warning, "bad_line", message, None, place);
                }
                if !warning.kind.is_always_said() {
                    continue;
                }
                let Warning {
                    kind,
                    line,
                    message,
                } = warning;
                notices.add(
                    Weight::Warning,
                    kind.name(),
                    message,
                    kind.hint(),
                    (input, *line),
                );
            }
            notices.about_conversations(outcome);
            if outcome.status == Status::Unsupported {
                let format = format_of(outcome);
                let mut told = outcome.warnings.iter();
                let told = told.find(|w| w.kind == WarningKind::Unsupported);
                // What each of many has, their entries in the report tell.
                let is_one = unread.get(format) == Some(&1);
                match told.filter(|_| is_one) {
                    Some(told) => notices.unsupported(input, &told.message, "left as it is"),
                    None => {
                        notices.unsupported(input, &format::unsupported(format), "left as it is");
                    }
                }
            }
        }
        notices
    }

    /// Aims that were missed.
    fn about_conversations(&mut self, outcome: &Outcome) {
        let input = outcome.input.as_str();
        let targets = outcome.conversations.iter().filter_map(|c| c.target);
        for missed in targets.filter_map(|target| target.reason) {
            let message = missed.message();
            self.add(Weight::Warning, TARGET, message, None, (input, None));
        }
    }

    /// An input whose format is not supported, why that is so, and what became of it.
    pub fn unsupported(&mut self, input: &str, why: &str, left: &str) {
        let message = format!("{why}; {left}");
        self.add(
            Weight::Warning,
            "unsupported",
            &message,
            None,
            (input, None),
        );
    }

    /// Something about an input, at one of its lines where one is to blame. Inputs come one after the other.
    pub fn add(
        &mut self,
        weight: Weight,
        kind: &'static str,
        message: &str,
        hint: Option<&'static str>,
        (input, line): (&str, Option<u64>),
    ) {
        let groups = self.groups.entry((weight, kind)).or_default();
        let message = if groups.contains_key(message) || groups.len() < REASONS {
            message
        } else {
            OTHERS
        };
        let group = groups.entry(message.to_owned()).or_default();
        group.hint = hint;
        if group.files == 0 || group.last != input {
            group.files += 1;
            input.clone_into(&mut group.last);
            if group.names.len() < NAMED {
                group.names.push(input.to_owned());
            }
        }
        if let Some(line) = line {
            group.places += 1;
            if group.files == 1 && group.lines.len() < LINES {
                group.lines.push(line);
            }
        }
    }

    /// What failed first, then by kind; of one kind, what concerns most inputs first.
    pub fn into_list(self) -> Vec<Notice> {
        let of_kind =
            |((weight, kind), groups): ((Weight, &'static str), BTreeMap<String, Group>)| {
                let mut list: Vec<Notice> = groups
                    .into_iter()
                    .map(|(message, group)| Notice {
                        weight,
                        kind,
                        message,
                        hint: group.hint,
                        files: group.files,
                        names: group.names,
                        lines: group.lines,
                        places: group.places,
                    })
                    .collect();
                list.sort_by_key(|notice| {
                    (notice.message == OTHERS, std::cmp::Reverse(notice.files))
                });
                list
            };
        self.groups.into_iter().flat_map(of_kind).collect()
    }
}

/// What the notice says that takes the place of further reasons of a kind.
const OTHERS: &str = "other reasons; the report has them";

fn format_of(outcome: &Outcome) -> &str {
    outcome.format.as_deref().unwrap_or("unknown")
}

/// The name of the notice of an aim that was missed.
const TARGET: &str = "target_missed";
