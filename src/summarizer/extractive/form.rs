//! The form of a summary: sections of rows, each with the lines of the transcript that it comes from; and back.
//!
//! ```text
//! ## User requests
//! [L1] Make the parser take tabs,
//!   and test it.
//!
//! ## Commands
//! [L7,8] exit 1: cargo test
//! ```
//!
//! At the start of a line stand headings and marks, nothing else: what follows the first line of a row is indented by two
//! blanks. So no text can pass for structure, and none of its words has to change. Labels are words of a fixed list and
//! stand in the sections that have them.

/// A part of a summary, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// What the user has written.
    Requests,
    /// What an agent wrote when it summarised what was before.
    Earlier,
    /// To-dos, and a plan that was shown.
    Plan,
    /// Files, with what was done to them last.
    Files,
    /// Commands, with how they ended.
    Commands,
    /// Lines that say what went wrong.
    Errors,
    /// Sentences of the assistant.
    Findings,
    /// Lines of outputs and of code, and names in them.
    Details,
    /// What was said and done last.
    State,
}

impl Section {
    /// All of them.
    pub const ALL: [Section; 9] = [
        Section::Requests,
        Section::Earlier,
        Section::Plan,
        Section::Files,
        Section::Commands,
        Section::Errors,
        Section::Findings,
        Section::Details,
        Section::State,
    ];

    /// The line that it begins with.
    pub fn heading(self) -> &'static str {
        match self {
            Section::Requests => "## User requests",
            Section::Earlier => "## Earlier summary",
            Section::Plan => "## Plan and to-dos",
            Section::Files => "## Files",
            Section::Commands => "## Commands",
            Section::Errors => "## Errors",
            Section::Findings => "## Decisions and findings",
            Section::Details => "## Details",
            Section::State => "## Current state",
        }
    }

    /// Whether its rows begin with a label.
    pub(super) fn labels(self) -> Labels {
        match self {
            Section::Plan | Section::Files | Section::Commands | Section::State => Labels::Each,
            Section::Requests
            | Section::Earlier
            | Section::Errors
            | Section::Findings
            | Section::Details => Labels::None,
        }
    }
}

/// Whether rows begin with a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    Each,
    None,
}

/// The lines that a row comes from, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The line.
    pub line: u64,
    /// The line of the result, where a row says something of a call and of its result.
    pub and: Option<u64>,
}

impl Mark {
    /// One line.
    pub fn line(line: u64) -> Mark {
        Mark { line, and: None }
    }
}

/// A statement, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The section that it stands in.
    pub section: Section,
    /// Where it comes from.
    pub mark: Mark,
    /// What was done, or what became of it, in words of a fixed list; empty in sections without labels.
    pub label: String,
    /// Words of the transcript; not empty, without blanks around them.
    pub text: String,
}

impl Row {
    /// Appends the row as it stands in a summary, with its line end.
    pub(super) fn write_to(&self, out: &mut String) {
        let Mark { line, and } = self.mark;
        match and {
            Some(and) => out.push_str(&format!("[L{line},{and}] ")),
            None => out.push_str(&format!("[L{line}] ")),
        }
        if self.section.labels() == Labels::Each {
            out.push_str(&self.label);
            out.push_str(": ");
        }
        for (n, line) in self.text.split('\n').enumerate() {
            if n > 0 && !line.is_empty() {
                out.push_str("  ");
            }
            out.push_str(line);
            out.push('\n');
        }
    }
}

/// The text of `rows`, which are in the order of the sections; without a line end behind it.
pub(super) fn write<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let mut out = String::new();
    let mut section = None;
    for row in rows {
        if section != Some(row.section) {
            if section.is_some() {
                out.push('\n');
            }
            section = Some(row.section);
            out.push_str(row.section.heading());
            out.push('\n');
        }
        row.write_to(&mut out);
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// The rows of the first summary in `text`; what stands before its first heading and what follows it is left out.
pub fn parse(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut section = None;
    // Empty lines belong to a row where it goes on behind them.
    let mut empty = 0;
    for line in text.split('\n') {
        let heading = Section::ALL.into_iter().find(|s| s.heading() == line);
        if heading.is_some() {
            section = heading;
            empty = 0;
            continue;
        }
        let Some(section) = section else {
            continue;
        };
        if line.is_empty() {
            empty += 1;
        } else if let Some(row) = row(section, line) {
            rows.push(row);
            empty = 0;
        } else if let (Some(line), Some(row)) = (line.strip_prefix("  "), rows.last_mut()) {
            row.text.extend(std::iter::repeat_n('\n', empty + 1));
            row.text.push_str(line);
            empty = 0;
        } else {
            break;
        }
    }
    rows
}

/// The first line of a row.
fn row(section: Section, line: &str) -> Option<Row> {
    let (mark, rest) = line.strip_prefix("[L")?.split_once("] ")?;
    let number = |digits: &str| {
        let is_one = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        is_one.then(|| digits.parse().ok()).flatten()
    };
    let mark = match mark.split_once(',') {
        Some((line, and)) => Mark {
            line: number(line)?,
            and: Some(number(and)?),
        },
        None => Mark::line(number(mark)?),
    };
    let (label, text) = match section.labels() {
        Labels::Each => rest.split_once(": ")?,
        Labels::None => ("", rest),
    };
    (!text.is_empty()).then(|| Row {
        section,
        mark,
        label: label.to_owned(),
        text: text.to_owned(),
    })
}
