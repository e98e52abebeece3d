//! The notices at the end of a run: one for each reason, with the inputs concerned.
//!
//! Only groups and counts. Does not render; each kind decides for itself whether it is shown.

mod unsummarised;
mod waiting;

use std::collections::BTreeMap;

use super::{Coverage, Degraded, DegradedKind, Outcome, Status, Warning, WarningKind};
use crate::format;
use unsummarised::Unsummarised;
use waiting::Waiting;

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeLevel {
    /// Something that was asked for failed: the exit code is 3.
    Failed,
    /// A warning.
    Warning,
    /// Nothing is wrong, but it is worth knowing what was left out.
    Note,
}

/// One reason, with the inputs concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How serious it is.
    pub weight: NoticeLevel,
    /// The stable name that scripts branch on.
    pub kind: &'static str,
    /// One sentence, the same for all of these inputs.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// How many inputs.
    pub files: u64,
    /// The first of them, up to [`NAMED_AT_MOST`].
    pub names: Vec<String>,
    /// The lines of the first input that caused it, from 1, up to [`LINES`].
    pub lines: Vec<u64>,
    /// The number of such lines in all inputs.
    pub places: u64,
}

/// How many inputs a notice names.
pub const NAMED: usize = 3;
/// How many it names where more is asked for.
pub const NAMED_AT_MOST: usize = 50;
/// How many lines a notice names.
pub const LINES: usize = 10;
/// How many reasons of one kind get notices of their own; the others share one.
const REASONS: usize = 5;

/// Collects notices, input by input.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    groups: BTreeMap<(NoticeLevel, &'static str), BTreeMap<String, Group>>,
}

#[derive(Debug, Clone, Default)]
struct Group {
    hint: Option<&'static str>,
    files: u64,
    names: Vec<String>,
    /// The input that was added last: if it is added again, that is another line of it.
    last: String,
    lines: Vec<u64>,
    places: u64,
}

impl Notices {
    /// The notices of a run of `compact`.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut notices = Notices::default();
        let mut unread: BTreeMap<&str, u64> = BTreeMap::new();
        for outcome in outcomes.iter().filter(|o| o.status == Status::Unsupported) {
            *unread.entry(format_of(outcome)).or_default() += 1;
        }
        notices.about_coverage(outcomes);
        let unsummarised = Unsummarised::of(outcomes).sentence();
        let waiting = Waiting::of(outcomes);
        for outcome in outcomes {
            let input = outcome.file.path.as_str();
            for Degraded { kind, message } in &outcome.degraded {
                let waits = match kind {
                    DegradedKind::SummaryPending => waiting.sentence(message),
                    DegradedKind::SummaryFailed | DegradedKind::NoStore => None,
                };
                let message = match (kind, &unsummarised) {
                    (DegradedKind::SummaryFailed, Some(sentence)) => sentence,
                    (
                        DegradedKind::SummaryFailed
                        | DegradedKind::SummaryPending
                        | DegradedKind::NoStore,
                        _,
                    ) => waits.as_ref().unwrap_or(message),
                };
                notices.add(
                    NoticeLevel::Failed,
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
                    notices.add(NoticeLevel::Warning, "bad_line", message, None, place);
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
                    NoticeLevel::Warning,
                    kind.name(),
                    message,
                    kind.hint(),
                    (input, *line),
                );
            }
            notices.about_conversations(outcome);
            if outcome.status == Status::Unsupported {
                let format = format_of(outcome);
                let mut warning = outcome.warnings.iter();
                let warning = warning.find(|w| w.kind == WarningKind::Unsupported);
                // With many kinds of reasons, the report's entries say which input has which.
                let is_one = unread.get(format) == Some(&1);
                match warning.filter(|_| is_one) {
                    Some(warning) => notices.unsupported(input, &warning.message, "left as it is"),
                    None => {
                        notices.unsupported(input, &format::unsupported(format), "left as it is");
                    }
                }
            }
        }
        notices
    }

    /// How much is not understood, of all inputs of which much is not.
    fn about_coverage(&mut self, outcomes: &[Outcome]) {
        let is_said = |w: &Warning| w.kind == WarningKind::Coverage;
        let low = outcomes.iter().filter(|o| o.warnings.iter().any(is_said));
        let low: Vec<_> = low
            .filter_map(|o| Some((o.file.path.as_str(), o.coverage.as_ref()?)))
            .collect();
        let mut sum = Coverage::default();
        for (_, coverage) in &low {
            sum += coverage;
        }
        let kind = WarningKind::Coverage;
        for (input, _) in low {
            self.add(
                NoticeLevel::Warning,
                kind.name(),
                &sum.sentence(),
                kind.hint(),
                (input, None),
            );
        }
    }

    /// Aims that were missed.
    fn about_conversations(&mut self, outcome: &Outcome) {
        let input = outcome.file.path.as_str();
        let targets = outcome.conversations.iter().filter_map(|c| c.target);
        for missed in targets.filter_map(|target| target.reason) {
            let message = missed.message();
            self.add(NoticeLevel::Warning, TARGET, message, None, (input, None));
        }
    }

    /// Adds an input whose format is not supported, why that is so, and what was done with it.
    pub fn unsupported(&mut self, input: &str, why: &str, left: &str) {
        let message = format!("{why}; {left}");
        self.add(
            NoticeLevel::Warning,
            "unsupported",
            &message,
            None,
            (input, None),
        );
    }

    /// Adds something about an input, with the line that caused it, if one did. Inputs must be added one after the other.
    pub fn add(
        &mut self,
        weight: NoticeLevel,
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
            if group.names.len() < NAMED_AT_MOST {
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

    /// The notices: failures first, then by kind, and within a kind those with most inputs first.
    pub fn into_list(self) -> Vec<Notice> {
        let of_kind =
            |((weight, kind), groups): ((NoticeLevel, &'static str), BTreeMap<String, Group>)| {
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

/// The message of the notice for further reasons of a kind.
const OTHERS: &str = "other reasons; the report has them";

fn format_of(outcome: &Outcome) -> &str {
    outcome.file.format.as_deref().unwrap_or("unknown")
}

/// The name of the notice of an aim that was missed.
const TARGET: &str = "target_missed";
