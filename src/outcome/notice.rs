//! The notices at the end of a run: one for each reason, with the inputs concerned.
//!
//! Only groups and counts. Does not render; each kind itself states whether it is shown.

mod unsummarised;
mod waiting;

use std::collections::BTreeMap;
use std::io;

use super::{Coverage, Degraded, DegradedKind, Entries, Outcome, Status, Warning, WarningKind};
use crate::format;
use unsummarised::Unsummarised;
use waiting::Waiting;

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeLevel {
    /// Something that was requested failed: the exit code is 3.
    Failed,
    /// A warning.
    Warning,
    /// Nothing is wrong, but it is worth knowing what was left out.
    Note,
}

/// What the inputs of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inputs {
    /// Files.
    #[default]
    Files,
    /// Records of a stream.
    Records,
}

impl Inputs {
    /// The word for one of them.
    pub fn noun(self) -> &'static str {
        match self {
            Inputs::Files => "file",
            Inputs::Records => "record",
        }
    }
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
    /// What the inputs are.
    pub inputs: Inputs,
    /// The number of inputs.
    pub files: u64,
    /// The first of them, up to [`NAMED_AT_MOST`].
    pub names: Vec<String>,
    /// The lines of the first input that caused it, from 1, up to [`LINES`].
    pub lines: Vec<u64>,
    /// The number of such lines in all inputs.
    pub places: u64,
}

/// The number of inputs that a notice names by default.
pub const NAMED: usize = 3;
/// The maximum number of inputs named when more are requested.
pub const NAMED_AT_MOST: usize = 50;
/// The maximum number of lines that a notice names.
pub const LINES: usize = 10;
/// The maximum number of reasons of one kind with notices of their own; the others share one.
const REASONS: usize = 5;

/// Collects notices, input by input.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    inputs: Inputs,
    groups: BTreeMap<(NoticeLevel, &'static str), BTreeMap<String, Group>>,
}

#[derive(Debug, Clone, Default)]
struct Group {
    hint: Option<&'static str>,
    files: u64,
    names: Vec<String>,
    /// The input added last: adding it again means another line of it.
    last: String,
    lines: Vec<u64>,
    /// The line added last: several things on one line are one place.
    last_line: Option<u64>,
    places: u64,
}

/// What is known about all outcomes before notices about single ones are made.
#[derive(Debug, Default)]
struct Survey {
    /// The number of inputs of each unsupported format.
    unread: BTreeMap<String, u64>,
    /// The combined coverage of all inputs that are poorly understood.
    understood: Coverage,
    unsummarised: Unsummarised,
    waiting: Waiting,
}

impl Survey {
    fn see(&mut self, outcome: &Outcome) {
        if outcome.status == Status::Unsupported {
            *self
                .unread
                .entry(format_of(outcome).to_owned())
                .or_default() += 1;
        }
        if is_hardly_understood(outcome)
            && let Some(coverage) = &outcome.coverage
        {
            self.understood += coverage;
        }
        self.unsummarised.see(outcome);
        self.waiting.see(outcome);
    }
}

/// Whether an input is poorly understood.
fn is_hardly_understood(outcome: &Outcome) -> bool {
    let is_said = |w: &Warning| w.kind == WarningKind::Coverage;
    outcome.coverage.is_some() && outcome.warnings.iter().any(is_said)
}

impl Notices {
    /// The notices of a run of `compact`. Reads remarkable outcomes twice, because a notice about one can depend on all.
    ///
    /// # Errors
    /// If an outcome cannot be read.
    pub fn of(outcomes: &dyn Entries) -> io::Result<Self> {
        let mut survey = Survey::default();
        outcomes.each_remarkable(&mut |_, outcome| {
            survey.see(outcome);
            Ok(())
        })?;
        let unsummarised = survey.unsummarised.sentence();
        let mut notices = Notices::default();
        outcomes.each_remarkable(&mut |_, outcome| {
            notices.about(outcome, &survey, unsummarised.as_deref());
            Ok(())
        })?;
        Ok(notices)
    }

    /// Adds the notices about an outcome.
    fn about(&mut self, outcome: &Outcome, survey: &Survey, unsummarised: Option<&str>) {
        let input = outcome.file.path.as_str();
        if is_hardly_understood(outcome) {
            let kind = WarningKind::Coverage;
            self.add(
                NoticeLevel::Warning,
                kind.name(),
                &survey.understood.sentence(),
                survey.understood.hint(),
                (input, None),
            );
        }
        for Degraded { kind, message } in &outcome.degraded {
            let waits = match kind {
                DegradedKind::SummaryPending => survey.waiting.sentence(message),
                DegradedKind::SummaryFailed | DegradedKind::NoStore => None,
            };
            let message = match (kind, unsummarised) {
                (DegradedKind::SummaryFailed, Some(sentence)) => sentence,
                (
                    DegradedKind::SummaryFailed
                    | DegradedKind::SummaryPending
                    | DegradedKind::NoStore,
                    _,
                ) => waits.as_ref().unwrap_or(message),
            };
            self.add(
                NoticeLevel::Failed,
                kind.name(),
                message,
                kind.hint(),
                (input, None),
            );
        }
        self.warnings(
            input,
            &outcome.warnings,
            "lines that cannot be read were passed through",
        );
        self.about_conversations(outcome);
        if outcome.status == Status::Unsupported {
            let format = format_of(outcome);
            let mut warning = outcome.warnings.iter();
            let warning = warning.find(|w| w.kind == WarningKind::Unsupported);
            // With several inputs of a format, only the report's entries state each one's reason.
            let is_one = survey.unread.get(format) == Some(&1);
            match warning.filter(|_| is_one) {
                Some(warning) => self.unsupported(input, &warning.message, "left as it is"),
                None => self.unsupported(input, &format::unsupported(format), "left as it is"),
            }
        }
    }

    /// Adds the warnings about an input that are always shown; `unread` is the message for unreadable lines.
    pub fn warnings(&mut self, input: &str, warnings: &[Warning], unread: &str) {
        for warning in warnings {
            let Warning {
                kind,
                line,
                message,
            } = warning;
            let place = (input, *line);
            if let WarningKind::Line(kind) = kind
                && kind.is_bad_line()
                && *kind != format::WarningKind::Truncated
            {
                self.add(NoticeLevel::Warning, "bad_line", unread, None, place);
            }
            if kind.is_always_said() {
                self.add(
                    NoticeLevel::Warning,
                    kind.name(),
                    message,
                    kind.hint(),
                    place,
                );
            }
        }
    }

    /// Adds notices about missed aims.
    fn about_conversations(&mut self, outcome: &Outcome) {
        let input = outcome.file.path.as_str();
        let targets = outcome.conversations.iter().filter_map(|c| c.target);
        for missed in targets.filter_map(|target| target.reason) {
            let message = missed.message();
            self.add(NoticeLevel::Warning, TARGET, message, None, (input, None));
        }
    }

    /// Adds an input in an unsupported format, with the reason and what was done with it.
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

    /// Adds a notice about an input, with the line that caused it, if any. Everything about one input must be added before the next
    /// one.
    pub fn add(
        &mut self,
        weight: NoticeLevel,
        kind: &'static str,
        message: &str,
        hint: Option<&'static str>,
        (input, line): (&str, Option<u64>),
    ) {
        let group = self.group((weight, kind), message, hint);
        if group.files == 0 || group.last != input {
            group.files += 1;
            input.clone_into(&mut group.last);
            group.last_line = None;
            if group.names.len() < NAMED_AT_MOST {
                group.names.push(input.to_owned());
            }
        }
        let is_again = |line: &u64| group.last_line == Some(*line) || group.lines.contains(line);
        if let Some(line) = line.filter(|line| group.files > 1 || !is_again(line)) {
            group.last_line = Some(line);
            group.places += 1;
            if group.files == 1 && group.lines.len() < LINES {
                group.lines.push(line);
            }
        }
    }

    /// Adds a notice about a number of inputs, of which these are the first.
    pub fn add_all(
        &mut self,
        of: (NoticeLevel, &'static str),
        message: &str,
        hint: Option<&'static str>,
        (files, names): (u64, Vec<String>),
    ) {
        let group = self.group(of, message, hint);
        group.files += files;
        group.names.extend(names);
        group.names.truncate(NAMED_AT_MOST);
    }

    /// The group of inputs with this notice.
    fn group(
        &mut self,
        of: (NoticeLevel, &'static str),
        message: &str,
        hint: Option<&'static str>,
    ) -> &mut Group {
        let groups = self.groups.entry(of).or_default();
        let message = if groups.contains_key(message) || groups.len() < REASONS {
            message
        } else {
            OTHERS
        };
        let group = groups.entry(message.to_owned()).or_default();
        group.hint = hint;
        group
    }

    /// None yet, about records of a stream.
    pub fn of_records() -> Self {
        Notices {
            inputs: Inputs::Records,
            ..Notices::default()
        }
    }

    /// The notices: failures first, then by kind, and within a kind by descending number of inputs.
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
                        inputs: self.inputs,
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
const OTHERS: &str = "other reasons; a report names them";

fn format_of(outcome: &Outcome) -> &str {
    outcome.file.format.as_deref().unwrap_or("unknown")
}

/// The name of the notice about a missed aim.
const TARGET: &str = "target_missed";
