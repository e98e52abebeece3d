//! Gathers the units, lines and names of a span.
//!
//! Does not decide what is worth adding.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use super::chances::chances;
use super::clip::clip;
use super::entities::Class;
use super::focus::Focus;
use super::form::{Mark, Row, Section, breaks_lines, without_breaks};
use super::label::is_of_result;
use super::lines::is_outline;
use super::names::{Counted, Speaker, hash};
use super::task_changes::TaskChanges;
use super::units::{Claim, Unit, UnitKind, Units};
use super::weights::Weights;
use crate::facts::{Activity, Earlier, Ending, FactLocation, MessageOrigin, TellingLocation};
use crate::ids::{IdMap, IdSet};
use crate::policy::Policy;
use crate::scan::decoded;
use crate::transcript::{Block, Conversation, Transcript};

/// The longest statement of any kind but the user's, in bytes.
pub(super) const LONGEST: usize = 320;

/// The maximum length of a line that is scanned; only a part of a long line can be taken.
const LONGEST_LINE: usize = 2_000;

/// The shortest line of an output that is worth a unit, in bytes.
const SHORTEST: usize = 6;

/// The maximum number of names in a line of an index.
const IN_A_LINE: usize = 6;

/// Separates the names of an index.
pub(super) const BETWEEN: &str = ", ";

/// The span and what has been gathered from it.
pub(super) struct Gather<'g, 'a> {
    pub(super) transcript: &'g Transcript<'a>,
    pub(super) conversation: &'g Conversation,
    pub(super) acts: &'g Activity,
    pub(super) origins: &'g [MessageOrigin],
    pub(super) earlier: &'g Earlier,
    /// The messages that are summarised.
    pub(super) span: Range<usize>,
    pub(super) first_line: u64,
    pub(super) policy: &'g Policy,
    pub(super) focus: Focus,
    pub(super) found: Units,
    pub(super) index: Index,
    /// Lines of outputs that already are units.
    pub(super) lines: IdSet<u64>,
    /// Texts of the user that already are units.
    pub(super) user_texts: IdSet<u64>,
    /// The units of files, by the hashes of their normalised paths.
    pub(super) files: IdMap<u64, usize>,
    /// Facts that an earlier summary must not repeat, because something newer is known.
    pub(super) known: IdSet<(Section, u64)>,
    /// Changes of tasks that were created before the span.
    pub(super) task_changes: TaskChanges,
    /// The ends of commands that are stated later; computed on demand.
    pub(super) endings: OnceCell<Vec<Ending>>,
    /// The commands of the span in quoted form, with the folders that they ran in.
    pub(super) ran: Vec<(String, Option<String>)>,
    pub(super) weights: &'g Weights,
}

/// Names for indexes, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Index {
    names: Vec<Indexed>,
    /// All names, one after the other.
    text: String,
}

/// A name for an index, and where it occurred first.
#[derive(Debug)]
struct Indexed {
    /// Its range in the index's text.
    name: Range<usize>,
    number: u32,
    message: u32,
    line: u32,
}

impl Gather<'_, '_> {
    pub(super) fn weigh(&mut self) {
        self.found.weights = chances(
            &self.found,
            self.conversation.messages.len(),
            &self.weights.names,
        );
    }

    /// Adds a unit and returns it; `None` for an empty text.
    pub(super) fn add(
        &mut self,
        mut row: Row,
        message: u32,
        claim: Claim,
        base: f64,
    ) -> Option<&mut Unit> {
        let text = row.text.trim();
        if text.is_empty() {
            return None;
        }
        // The user's words are not trimmed.
        if row.section != Section::Requests && text.len() < row.text.len() {
            row.text = text.to_owned();
        }
        if row.section != Section::Requests && breaks_lines(&row.text) {
            row.text = without_breaks(&row.text);
        }
        if breaks_lines(&row.label) {
            row.label = without_breaks(&row.label);
        }
        let names = self.found.names.of(&row.text);
        self.found.units.push(Unit {
            base,
            focus: self.focus.worth(&row.text),
            row,
            message,
            claim,
            kind: UnitKind::Statement,
            names,
            head: 0,
        });
        self.found.units.last_mut()
    }

    /// A row without a label.
    pub(super) fn row(&self, section: Section, line: u32, text: &str) -> Row {
        Row {
            section,
            mark: self.mark(line),
            label: String::new(),
            text: text.to_owned(),
        }
    }

    /// The mark of a line by its number in its file.
    pub(super) fn mark(&self, line: u32) -> Mark {
        Mark::line(self.first_line + u64::from(line))
    }

    /// The mark of a call: its line, and the result's line if the label has a word that may occur only there.
    pub(super) fn mark_of(
        &self,
        call: FactLocation,
        result: Option<TellingLocation>,
        label: &str,
    ) -> Mark {
        Mark {
            and: result
                .filter(|_| is_of_result(label))
                .map(|result| self.mark(result.line).line),
            ..self.mark(call.line)
        }
    }

    /// Counts the names of a text, and collects new ones for an index.
    pub(super) fn count<'t>(
        &mut self,
        text: &'t str,
        message: u32,
        line: u32,
        speaker: Speaker,
    ) -> Counted<'t> {
        let index = &mut self.index;
        let names = &mut self.found.names;
        names.count(text, message, speaker, |class, name, number| {
            let is_pointed_at = match class {
                Class::Path | Class::Symbol | Class::Url | Class::Id => true,
                Class::Error | Class::Flag | Class::Number => false,
            };
            if is_pointed_at && name.len() <= LONGEST {
                let start = index.text.len();
                index.text.push_str(name);
                index.names.push(Indexed {
                    name: start..index.text.len(),
                    number,
                    message,
                    line,
                });
            }
            is_pointed_at
        })
    }

    /// Adds indexes of names that first occurred in a text, grouped by value.
    pub(super) fn index(&mut self) {
        let Index { mut names, text } = std::mem::take(&mut self.index);
        let is_same = |a: &Indexed, b: &Indexed| (a.message, a.line) == (b.message, b.line);
        for of_one in names.chunk_by_mut(is_same) {
            let weight = |name: &Indexed| self.found.weights[name.number as usize];
            of_one.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
            for names in of_one.chunks(IN_A_LINE) {
                let words: Vec<&str> = names.iter().map(|n| &text[n.name.clone()]).collect();
                let words = words.join(BETWEEN);
                let (message, line) = (names[0].message, names[0].line);
                let numbers = names.iter().map(|name| name.number);
                let unit = Unit {
                    base: 0.0,
                    focus: self.focus.worth(&words),
                    row: self.row(Section::Details, line, &words),
                    message,
                    claim: Claim::Free,
                    kind: UnitKind::Names,
                    names: self.found.names.of_numbers(numbers),
                    head: 0,
                };
                self.found.units.push(unit);
            }
        }
    }

    /// Adds a line of an output or a file, unless it occurred before. A line without value of its own is added only if it contains
    /// a name.
    pub(super) fn detail(&mut self, line: &str, message: u32, at: u32, base: f64) {
        self.line(line, None, message, at, base);
    }

    /// The same for a line of `counted`.
    pub(super) fn line(
        &mut self,
        line: &str,
        counted: Option<&Counted<'_>>,
        message: u32,
        at: u32,
        base: f64,
    ) {
        let line = line_of(line.trim());
        if line.len() < SHORTEST {
            return;
        }
        let focus = self.focus.worth(&line);
        let names = match counted {
            Some(counted) => self.found.names.of_part(&line, counted),
            None => self.found.names.of(&line),
        };
        if !names.is_empty() && is_outline(&line) {
            self.found.names.note(&names, |name| name.is_defined = true);
        }
        // A line without value here may gain one if it occurs again at the end of an output.
        if base + focus <= 0.0 && names.is_empty() || !self.lines.insert(hash(&line)) {
            return;
        }
        let unit = Unit {
            base,
            focus,
            row: self.row(Section::Details, at, &line),
            message,
            claim: Claim::Free,
            kind: UnitKind::Statement,
            names,
            head: 0,
        };
        self.found.units.push(unit);
    }
}

/// The part of a line that is scanned: a long line only if it has blanks at which it can be cut.
pub(super) fn line_of(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST {
        return Cow::Borrowed(line);
    }
    let has_words = line.bytes().take(LONGEST / 2).any(|b| b == b' ');
    clip(line, if has_words { LONGEST_LINE } else { LONGEST })
}

/// A call's input as JSON, with unescaped strings.
pub(super) fn input<'t>(transcript: &'t Transcript<'_>, call: &Block) -> Cow<'t, str> {
    match transcript.bytes(call.line, call.content) {
        [b'"', inside @ .., b'"'] => {
            // JSON in a string, or plain text.
            let text = decoded(inside);
            match text.starts_with('{') {
                true => Cow::Owned(decoded(text.as_bytes()).into_owned()),
                false => text,
            }
        }
        raw => decoded(raw),
    }
}
