//! The form of a summary: sections of rows, each with the lines of the transcript that it comes from; and back.
//!
//! ```text
//! ## User requests
//! L1 Make the parser take tabs.
//! L3
//! ~~~
//! Then
//!   test it.
//! ~~~
//!
//! ## Commands
//! L7,L8 exit 1: for t in a b
//!  do cargo test $t; done
//! ```
//!
//! Only headings, marks and fences are at the start of a line. The lines of a row after its first are indented by a blank. The
//! user's words are not indented: if they have more than one line, or blanks around them, they are between fences that are longer
//! than any fence in them. So no text can be mistaken for structure. In sections with labels, these are from a fixed list; a
//! command's label may name its folder, and a file without a label has that of the file above: it was only read or searched.

use std::fmt;

/// A part of a summary, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Typed messages.
    Requests,
    /// Earlier summaries by an agent.
    Earlier,
    /// To-dos, and a plan that was shown.
    Plan,
    /// Files, with the last operation on each.
    Files,
    /// Commands, with how they ended.
    Commands,
    /// Error messages.
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

    /// The heading line of the section.
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

    /// The section that begins with this line.
    fn headed(line: &str) -> Option<Section> {
        let mut all = Section::ALL.into_iter();
        all.find(|section| section.heading() == line)
    }

    /// Whether the section's rows begin with a label.
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

/// Follows a label.
const AFTER_LABEL: &str = ": ";

/// The labels of files that were only read or searched: written once for several consecutive files.
const LOOKS: [&str; 2] = ["read", "searched"];

/// How files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRows {
    /// Each with its label and its path as written.
    Whole,
    /// One label for several consecutive files that were only read or searched; paths are relative to the working folder.
    Short,
}

impl FileRows {
    /// The label to write for `row` with the text `text` below a row of the same section with the label `above`.
    pub(super) fn label<'r>(self, row: &'r Row, text: &str, above: Option<&str>) -> &'r str {
        // Without its label, a deleted file would look like an existing one.
        let is_known = above == Some(row.label.as_str())
            && LOOKS.contains(&&row.label[..])
            && !text.contains(AFTER_LABEL);
        match self {
            FileRows::Short if row.section == Section::Files && is_known => "",
            FileRows::Short | FileRows::Whole => &row.label,
        }
    }
}

/// The lines that a row comes from, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The line.
    pub line: u64,
    /// The line of the result, if a row is about a call and its result.
    pub and: Option<u64>,
}

impl Mark {
    /// One line.
    pub fn line(line: u64) -> Mark {
        Mark { line, and: None }
    }

    /// Reads the mark at the beginning of a row; returns it with the rest. Older versions wrote marks in brackets, some without a
    /// letter before the second number.
    fn read(row: &str) -> Option<(Mark, &str)> {
        let (mark, rest) = match row.strip_prefix("[L") {
            Some(older) => older.split_once(']')?,
            None => {
                let mark = row.strip_prefix('L')?;
                let is_in_marks = |c: char| c.is_ascii_digit() || matches!(c, ',' | 'L');
                let end = mark.find(|c| !is_in_marks(c)).unwrap_or(mark.len());
                mark.split_at(end)
            }
        };
        let number = |digits: &str| {
            let is_one = digits.bytes().all(|b| b.is_ascii_digit());
            is_one.then(|| digits.parse().ok()).flatten()
        };
        let mark = match mark.split_once(',') {
            Some((line, and)) => Mark {
                line: number(line)?,
                and: Some(number(and.strip_prefix('L').unwrap_or(and))?),
            },
            None => Mark::line(number(mark)?),
        };
        Some((mark, rest))
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Brackets would be a token in each row.
        match self.and {
            Some(and) => write!(f, "L{},L{and}", self.line),
            None => write!(f, "L{}", self.line),
        }
    }
}

/// A statement with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The section that it is in.
    pub section: Section,
    /// Where it comes from.
    pub mark: Mark,
    /// The operation or outcome, from a fixed list, perhaps with the folder; empty in sections without labels.
    pub label: String,
    /// Text of the transcript, not empty: the user's words exactly, other text trimmed.
    pub text: String,
}

impl Row {
    /// Appends the row in its written form, with this label, `text` as its text, and a line break.
    pub(super) fn write_to(&self, out: &mut String, label: &str, text: &str) {
        out.push_str(&self.mark.to_string());
        if !self.is_fenced(text) {
            out.push(' ');
        }
        self.write_unmarked(out, label, text);
    }

    fn is_fenced(&self, text: &str) -> bool {
        self.section == Section::Requests && needs_fence(text)
    }

    /// As `write_to`, without the mark.
    fn write_unmarked(&self, out: &mut String, label: &str, text: &str) {
        if self.is_fenced(text) {
            let fence = fence(text);
            out.push_str(&format!("\n{fence}\n{text}\n{fence}\n"));
            return;
        }
        if !label.is_empty() {
            out.push_str(label);
            out.push_str(AFTER_LABEL);
        }
        let indent = indent(text.split('\n').skip(1));
        for (n, line) in text.split('\n').enumerate() {
            if n > 0 && !line.is_empty() {
                out.push_str(indent);
            }
            out.push_str(line);
            out.push('\n');
        }
    }
}

/// The indentation of the lines of a text after its first: one blank, which mostly forms one token with the following word. Two if
/// every line is itself indented, so that a reader can tell its own blanks from ours; older versions always wrote two.
fn indent<'l>(lines: impl Iterator<Item = &'l str>) -> &'static str {
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let are_indented = lines.peek().is_some() && lines.all(|line| line.starts_with(' '));
    if are_indented { "  " } else { " " }
}

/// The character of a fence, and its minimum length.
const FENCE: char = '~';
const SHORTEST_FENCE: usize = 3;

fn needs_fence(text: &str) -> bool {
    text.contains('\n') || text.trim() != text || breaks_lines(text)
}

/// Characters besides `\n` that some readers treat as a line end, after which a heading could follow.
const BREAKS: [char; 6] = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The text with these characters replaced by as many blanks as they have bytes, so that offsets stay the same.
pub(super) fn without_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match BREAKS.contains(&c) {
            true => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
            false => out.push(c),
        }
    }
    out
}

/// Whether a text contains any of these characters.
pub(super) fn breaks_lines(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_likely = memchr::memchr3(b'\r', 0xb, 0xc, bytes).is_some() || !text.is_ascii();
    is_likely && text.contains(BREAKS)
}

/// A fence that is longer than any in `text`.
fn fence(text: &str) -> String {
    let fences = text.split('\n').filter(|line| is_fence(line));
    let longest = fences.map(str::len).max();
    FENCE
        .to_string()
        .repeat(longest.map_or(SHORTEST_FENCE, |longest| longest + 1))
}

fn is_fence(line: &str) -> bool {
    line.len() >= SHORTEST_FENCE && line.chars().all(|c| c == FENCE)
}

/// The text of `rows`, which are in the order of the sections, without a final line break.
pub(super) fn write<'r>(rows: impl IntoIterator<Item = &'r Row>, files: FileRows) -> String {
    below_headings(rows, |out, row, above| {
        let label = files.label(row, &row.text, above.map(|above| above.label.as_str()));
        row.write_to(out, label, &row.text);
    })
}

/// The same without marks, for a reader who does not have the transcript that they refer to.
pub(in crate::summarizer) fn write_unmarked(rows: &[Row]) -> String {
    below_headings(rows, |out, row, _| {
        row.write_unmarked(out, &row.label, &row.text);
    })
}

/// Calls `write` for each row below its heading, with the previous row of the section.
fn below_headings<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    write: impl Fn(&mut String, &'r Row, Option<&'r Row>),
) -> String {
    let mut out = String::new();
    let mut above: Option<&Row> = None;
    for row in rows {
        above = above.filter(|above| above.section == row.section);
        if above.is_none() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(row.section.heading());
            out.push('\n');
        }
        write(&mut out, row, above);
        above = Some(row);
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// The text with every line that could be read as a section heading turned into a smaller heading.
pub fn as_prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if Section::headed(line.trim_end_matches('\n')).is_some() {
            out.push('#');
        }
        out.push_str(line);
    }
    out
}

/// A text that may contain a summary of this form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'t> {
    /// The text before the summary: all of it if there is none.
    pub before: &'t str,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The text after the last row, which does not belong to the summary.
    pub after: &'t str,
}

/// Reads the first summary in `text`. It begins with a heading followed by a row, and ends with the last row: other text may
/// contain the same headings or surround the summary.
pub fn parse(text: &str) -> Parsed<'_> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let after = at + line.len();
        if let Some(section) = Section::headed(line.trim_end_matches('\n'))
            && row(section, None, &text[after..]).is_some()
        {
            let (rows, after) = rows(&text[at..]);
            return Parsed {
                before: &text[..at],
                rows,
                after,
            };
        }
        at = after;
    }
    Parsed {
        before: text,
        rows: Vec::new(),
        after: "",
    }
}

/// Reads the rows under headings at the beginning of `text`; returns them with the rest.
fn rows(text: &str) -> (Vec<Row>, &str) {
    let mut rows: Vec<Row> = Vec::new();
    let mut section = None;
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = line_of(rest);
        if let Some(headed) = Section::headed(line) {
            section = Some(headed);
            rest = after;
        } else if line.is_empty() {
            rest = after;
        } else if let Some((row, after)) = section.and_then(|section| {
            let above = rows.last().filter(|above| above.section == section);
            row(section, above, rest)
        }) {
            rows.push(row);
            rest = after;
        } else {
            break;
        }
    }
    (rows, rest)
}

/// The first line of `text` and what follows it.
fn line_of(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Reads the row at the beginning of `text`, below the row `above` of the same section; returns it with the rest.
fn row<'t>(section: Section, above: Option<&Row>, text: &'t str) -> Option<(Row, &'t str)> {
    let (first, after) = line_of(text);
    let (mark, content) = Mark::read(first)?;
    let of = |label: &str, text: String| Row {
        section,
        mark,
        label: label.to_owned(),
        text,
    };
    if section == Section::Requests {
        if let Some(text) = content.strip_prefix(' ') {
            return (!text.is_empty()).then(|| (of("", text.to_owned()), after));
        }
        let (fence, inside) = line_of(after);
        if !content.is_empty() || !is_fence(fence) {
            return None;
        }
        let (text, after) = inside.split_once(&format!("\n{fence}\n")).or_else(|| {
            // The summary's text may end with it.
            Some((inside.strip_suffix(fence)?.strip_suffix('\n')?, ""))
        })?;
        return Some((of("", text.to_owned()), after));
    }
    let content = content.strip_prefix(' ')?;
    let (label, content) = match section.labels() {
        Labels::Each => content.split_once(AFTER_LABEL).or_else(|| {
            let above = above.filter(|_| section == Section::Files)?;
            Some((above.label.as_str(), content))
        })?,
        Labels::None => ("", content),
    };
    if content.is_empty() {
        return None;
    }
    let (text, after) = indented(content, after);
    Some((of(label, text), after))
}

/// Joins the first line and the indented lines at the beginning of `rest`; returns the text and what follows.
fn indented<'t>(first: &str, rest: &'t str) -> (String, &'t str) {
    let mut lines = Vec::new();
    // Empty lines belong to the row if indented lines follow.
    let (mut end, mut count, mut looked_at) = (rest, 0, rest);
    while !looked_at.is_empty() {
        let (line, after) = line_of(looked_at);
        if !line.is_empty() && !line.starts_with(' ') {
            break;
        }
        lines.push(line);
        if !line.is_empty() {
            (end, count) = (after, lines.len());
        }
        looked_at = after;
    }
    lines.truncate(count);
    let bare = |line: &&'t str| line.strip_prefix(' ').unwrap_or(line);
    let indent = indent(lines.iter().map(bare));
    let mut text = first.to_owned();
    for line in lines {
        text.push('\n');
        text.push_str(line.strip_prefix(indent).unwrap_or_default());
    }
    (text, end)
}
