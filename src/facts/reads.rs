//! Reads of files: which lines of which file a result shows.
//!
//! Never overestimates what a result shows: an error, a hint that something was omitted, or a gap in the line numbers all count
//! against it.

use memchr::memmem::Finder;

use super::hints::{Bare, may_have_one};
use super::input::Input;
use super::lines::Lines;
use super::numbered::{Numbered, Numbering};
use super::path::{self, Folders};
use super::refused::is_refusal;
use super::shell::{Look, look};
use super::tools::Basis;
use super::{Exchange, FactLocation, block_text};
use crate::policy::ToolKind;
use crate::transcript::{Outcome, Shape, Transcript};

/// A read that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The call.
    pub call: FactLocation,
    /// Its result: all text.
    pub result: FactLocation,
    /// The normalised path of the file, the same for all reads of it.
    pub path: String,
    /// The other parameters of the read, normalised.
    pub options: Vec<u8>,
    reading: Reading,
}

/// What the result of a read shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// No line outside this range is shown.
    pub(super) within: Lines,
    /// Every line of this range is shown; `None` if no such range is known.
    pub(super) whole: Option<Lines>,
    pub(super) known_by: KnownBy,
    /// The result's block.
    pub(super) block: u32,
}

/// How the shown lines are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownBy {
    /// The result has line numbers.
    Numbers,
    /// The call requested them.
    Asking,
}

impl Read {
    /// What the result shows of the file, given the text `said`; `None` if the text only says why nothing is shown.
    pub fn shown(&self, said: &str) -> Option<Shown> {
        self.reading.shown(said, self.result.block)
    }
}

impl Shown {
    /// The lines that are shown, as far as known.
    pub fn lines(&self) -> Lines {
        self.whole.unwrap_or(self.within)
    }

    /// Whether this later result shows, in their current state, all lines that `earlier` shows. Both are from the same transcript.
    ///
    /// Changes between the two do not matter: the later read shows the newer state. Each read uses the line numbers of its own
    /// time.
    pub(super) fn covers(&self, transcript: &Transcript<'_>, earlier: &EarlierRead<'_>) -> bool {
        let Some(whole) = self.whole else {
            return false;
        };
        let shown = &earlier.shown;
        match (self.known_by, shown.known_by) {
            (KnownBy::Numbers, KnownBy::Numbers) => whole.hold(shown.within),
            // Tools count from 0 or from 1.
            (KnownBy::Numbers, KnownBy::Asking) => whole == Lines::ALL,
            (KnownBy::Asking, KnownBy::Numbers) => false,
            // A text without numbers may be an unknown error message.
            (KnownBy::Asking, KnownBy::Asking) => {
                whole.hold(shown.within) && earlier.is_part_of(transcript, self.block)
            }
        }
    }
}

/// What an earlier result shows, prepared for a search in many later ones.
#[derive(Debug)]
pub(super) struct EarlierRead<'t> {
    shown: Shown,
    /// The raw text, if a later result that contains it would have the same escapes: unescaping every pair of results would be far
    /// slower.
    written: Option<Finder<'t>>,
}

impl<'t> EarlierRead<'t> {
    /// Prepares a result of this transcript.
    pub(super) fn new(transcript: &'t Transcript<'_>, shown: Shown) -> Self {
        let written = match shown.known_by {
            KnownBy::Numbers => None,
            KnownBy::Asking => written(transcript, shown.block)
                .filter(|part| !may_have_one(part))
                .map(Finder::new),
        };
        EarlierRead { shown, written }
    }

    /// Whether a later result's text contains this one's.
    fn is_part_of(&self, transcript: &Transcript<'_>, later: u32) -> bool {
        if let (Some(part), Some(whole)) = (&self.written, written(transcript, later))
            && part.find(whole).is_none()
        {
            return false;
        }
        let texts =
            [later, self.shown.block].map(|block| block_text(transcript, transcript.block(block)));
        let [whole, part] = texts.each_ref().map(|text| Bare::of(text).text);
        whole.contains(part)
    }
}

/// The bytes of a result's text, if it is a single text.
fn written<'t>(transcript: &'t Transcript<'_>, block: u32) -> Option<&'t [u8]> {
    let block = transcript.block(block);
    let [text] = transcript.texts(block) else {
        return None;
    };
    Some(transcript.bytes(block.line, text.span))
}

/// The successful reads of a conversation whose results are text, in order.
pub fn reads(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Vec<Read> {
    let folders = Folders::new(transcript);
    let read = |exchange: &Exchange| {
        // A cell's result is not this call's alone, and the output format of an unlisted tool is unknown.
        let is_its_own = exchange.inner.is_none() && exchange.basis == Basis::Listed;
        let result = exchange.result.filter(|_| is_its_own)?;
        let block = transcript.block(result.block);
        let is_text = block.images == 0 && block.documents == 0 && block.others == 0;
        let may_be_one = matches!(
            exchange.kind,
            ToolKind::Read | ToolKind::Edit | ToolKind::Shell
        ) && matches!(block.shape, Shape::String | Shape::List | Shape::Parts)
            && block.outcome == Outcome::Fine
            && is_text;
        if !may_be_one {
            return None;
        }
        let input = exchange.input(transcript);
        if exchange.kind == ToolKind::Shell {
            let Look::At { path, lines } = look(transcript, exchange, &input)? else {
                return None;
            };
            return Some(Read {
                call: exchange.call,
                result,
                path: folders.in_one_spelling(exchange.call.line, &path),
                options: Vec::new(),
                reading: Reading::asking(lines),
            });
        }
        // One tool both reads and changes files; a parameter says which.
        if exchange.kind == ToolKind::Edit && input.text(&["command"])? != "view" {
            return None;
        }
        let (named_by, written) = path::of(&input)?;
        let reading = Reading::of(&input, &exchange.tool(transcript));
        let is_no_option = |key: &str| {
            let is_command = exchange.kind == ToolKind::Edit && key == "command";
            key == named_by || is_command || SAID.contains(&key) || reading.keys.contains(&key)
        };
        Some(Read {
            call: exchange.call,
            result,
            path: folders.in_one_spelling(exchange.call.line, &written),
            options: input.others(is_no_option),
            reading,
        })
    };
    exchanges.iter().filter_map(read).collect()
}

/// Keys of a read's input that do not change what it shows.
const SAID: [&str; 2] = ["description", "explanation"];

/// The parameters for the first line, the last line, and the number of lines.
const FIRST: [&str; 4] = [
    "offset",
    "start_line",
    "startLine",
    "start_line_one_indexed",
];
const LAST: [&str; 4] = [
    "end_line",
    "endLine",
    "end_line_one_indexed",
    "end_line_one_indexed_inclusive",
];
const NUMBER: &str = "limit";
/// The parameter for both ends as a list.
const RANGE: &str = "view_range";

/// The maximum number of lines that a read shows if the call names none.
const MOST_LINES: u64 = 2_000;

/// What a read asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    lines: Lines,
    /// The keys for the range of lines; a key with a value that is not understood counts as an option.
    keys: Vec<&'static str>,
    /// Which line numbers its result may have.
    numbering: Numbering,
}

impl Reading {
    /// A read whose command names the lines.
    pub(super) fn asking(lines: Lines) -> Reading {
        Reading {
            lines,
            keys: Vec::new(),
            numbering: Numbering::Plain,
        }
    }

    /// What a call of this tool asks for.
    pub(super) fn of(input: &Input<'_>, tool: &str) -> Reading {
        let mut asked = Reading {
            lines: Lines::ALL,
            keys: Vec::new(),
            numbering: Numbering::of(tool),
        };
        let find = |names: &[&'static str]| {
            let one = |name: &&'static str| Some((*name, input.number(&[name])?));
            names.iter().find_map(one)
        };
        if let Some((first, last)) = input.range(RANGE) {
            asked.lines = Lines { first, last };
            asked.keys.push(RANGE);
        }
        if let Some((key, first)) = find(&FIRST) {
            asked.lines.first = first;
            asked.keys.push(key);
        }
        asked.lines.first = asked.lines.first.max(1);
        let first = asked.lines.first;
        if let Some((key, last)) = find(&LAST).filter(|(_, last)| *last >= first) {
            asked.lines.last = Some(last);
            asked.keys.push(key);
        }
        if let Some((key, number)) = find(&[NUMBER]).filter(|(_, number)| *number > 0) {
            asked.lines.last = Some(first.saturating_add(number - 1));
            asked.keys.push(key);
        }
        asked
    }

    /// The requested lines.
    pub(super) fn lines(&self) -> Lines {
        self.lines
    }

    /// What a result shows of the file, given its text; `None` if the text only says why nothing is shown.
    pub(super) fn shown(&self, said: &str, block: u32) -> Option<Shown> {
        let asked = self.lines;
        let bare = Bare::of(said);
        let Some(Numbered {
            first,
            lines,
            after,
            ..
        }) = Numbered::read(bare.text, self.numbering)
        else {
            let within = bare.within(asked);
            return (!is_refusal(said)).then(|| Shown {
                within,
                whole: (!mentions_more(bare.text)).then_some(within),
                known_by: KnownBy::Asking,
                block,
            });
        };
        let number = lines.len() as u64;
        let most = asked.last.map_or(MOST_LINES, |last| {
            last.saturating_sub(asked.first).saturating_add(1)
        });
        let is_cut = !after.trim().is_empty() && !is_reminder(after);
        let ends = !is_cut && bare.last.is_none() && first == asked.first && number < most;
        let last = first.saturating_add(number - 1);
        Some(Shown {
            // A range that ends stays as it is: a file that has grown since shows more.
            within: Lines {
                first,
                last: (!ends && !is_cut).then_some(last),
            },
            whole: Some(Lines {
                first,
                last: (!ends).then_some(last),
            }),
            known_by: KnownBy::Numbers,
            block,
        })
    }
}

/// Whether a text is the reminder that an agent adds after every file, not a hint that there is more.
fn is_reminder(after: &str) -> bool {
    after.trim_start().starts_with("<system-reminder>")
        && !mentions_more(after)
        && !after.contains("offset")
}

pub(super) fn mentions_more(text: &str) -> bool {
    const HINTS: [&str; 5] = [
        "truncated",
        "Truncated",
        "TRUNCATED",
        "omitted",
        "more lines",
    ];
    HINTS.iter().any(|hint| text.contains(hint))
}

#[cfg(test)]
mod tests;
