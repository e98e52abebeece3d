//! Explains why a file is of no supported format.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::message_shape::Unrecognised;
use crate::format::Format;
use crate::text::{count, printable};

/// Why a file is of no supported format, or not of the one that was specified; displayed as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unsupported {
    /// The name of its format, `mixed`, `empty`, or `unknown`.
    pub name: &'static str,
    /// The format that most of it fits.
    pub(super) like: Option<&'static str>,
    /// The format that the user specified, if no message is of it.
    pub(super) given: Option<&'static str>,
    /// Formats that have lines in it, each with the number of its lines.
    pub(super) joined: Vec<(&'static str, u64)>,
    /// What no reader understands, each kind with its number of lines.
    pub(super) unrecognised: Vec<(String, u64)>,
    /// Whether the numbers are for the whole file or for its beginning.
    pub(super) extent: Extent,
}

/// How much of an unsupported file still fits a supported format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fit {
    /// Nothing: it is something else.
    #[default]
    None,
    /// A part: without some of its lines, or with its missing end, it would be a transcript.
    Part,
}

/// How much of a file was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Enough of it to be sure.
    Beginning,
}

/// The number of unrecognised kinds that are counted separately.
const KINDS: usize = 8;

/// The number of lines for each unrecognised kind.
pub(super) type Kinds = BTreeMap<String, u64>;

/// Counts an unrecognised kind; those after the first [`KINDS`] are counted together.
pub(super) fn add(kinds: &mut Kinds, unrecognised: Unrecognised<'_>) {
    let mut kind = unrecognised.to_string();
    if kinds.len() >= KINDS && !kinds.contains_key(&kind) {
        kind = "line of other kinds".to_owned();
    }
    match kinds.get_mut(&kind) {
        Some(lines) => *lines += 1,
        None => drop(kinds.insert(kind, 1)),
    }
}

impl fmt::Display for Unrecognised<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Names longer than this are cut.
        const LONGEST: usize = 40;
        fn name(bytes: &[u8]) -> Cow<'_, str> {
            let text = String::from_utf8_lossy(bytes);
            // The common case.
            if text.len() <= LONGEST && bytes.iter().all(u8::is_ascii_graphic) {
                return text;
            }
            printable(&text).chars().take(LONGEST).collect()
        }
        match self {
            Unrecognised::Line(b"") => f.write_str("line without a type"),
            Unrecognised::Line(kind) => write!(f, "line of type {}", name(kind)),
            Unrecognised::Key(key) => write!(f, "message with {key}"),
            Unrecognised::Role(b"") => f.write_str("message without a role"),
            Unrecognised::Role(role) => write!(f, "message by the role {}", name(role)),
            Unrecognised::Block(b"") => f.write_str("message with a block without a type"),
            Unrecognised::Block(kind) => write!(f, "message with a block of type {}", name(kind)),
            Unrecognised::ListInList => f.write_str("message with a list in its list of blocks"),
            Unrecognised::Text => f.write_str("message with a non-string text"),
            Unrecognised::Content => {
                f.write_str("message whose content is neither a text nor a list")
            }
            Unrecognised::NoContent => f.write_str("message without content"),
            Unrecognised::Parent => f.write_str("message with a parent of another type"),
            Unrecognised::Result => f.write_str("message with a result that is an object"),
            Unrecognised::Calls => f.write_str("message with tool_calls of another shape"),
            Unrecognised::Piece => f.write_str("piece of a message"),
        }
    }
}

/// Why a file of that format is not processed, if nothing but the format's name is known.
pub fn unsupported(name: &str) -> String {
    match name {
        "unknown" => "not a known transcript format".to_owned(),
        "empty" => "an empty file, not a transcript".to_owned(),
        "mixed" => "formats joined in one file".to_owned(),
        "cut-off" => "a JSON document that breaks off".to_owned(),
        "documents" => "a JSON document followed by another one or by text".to_owned(),
        "two-lists" => "a JSON document with two lists of messages".to_owned(),
        "pi-newer" => "a session of a newer version of pi, which is not supported".to_owned(),
        "ctxpack-report" => "a report of ctxpack, not a transcript".to_owned(),
        "other" => "not in the format that --input-format names".to_owned(),
        name if Format::named(name).is_some() => {
            format!("the format {name} can be read (stats, verify), but not compacted")
        }
        name => format!("the format {name} is not supported"),
    }
}

impl Unsupported {
    /// The reason, if the content shows more than the format's name.
    pub fn reason(&self) -> Option<String> {
        let is_only_read = Format::named(self.name).is_some();
        let is_told = is_only_read || !self.joined.is_empty() || !self.unrecognised.is_empty();
        is_told.then(|| self.to_string())
    }
}

impl Unsupported {
    /// How much of the file fits a supported format.
    pub fn fit(&self) -> Fit {
        let is_broken = matches!(self.name, "cut-off" | "documents" | "two-lists");
        match self.like.is_some() || self.given.is_some() || !self.joined.is_empty() || is_broken {
            true => Fit::Part,
            false => Fit::None,
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.joined.is_empty() {
            let number = |(name, n): &(&str, u64)| format!("{} of {name}", count(*n, "line"));
            let joined: Vec<String> = self.joined.iter().map(number).collect();
            if let Some(given) = self.given {
                return write!(f, "not {given}, but {}", listed(&joined));
            }
            return write!(f, "{}: {}", unsupported(self.name), listed(&joined));
        }
        match self.given.or(self.like) {
            Some(given) if self.given.is_some() => write!(f, "not {given}: ")?,
            Some(like) => write!(f, "looks like {like}, but has ")?,
            None => f.write_str(&unsupported(self.name))?,
        }
        if self.unrecognised.is_empty() {
            return Ok(());
        }
        if self.given.or(self.like).is_none() {
            f.write_str(": ")?;
        }
        if self.extent == Extent::Beginning {
            f.write_str("at least ")?;
        }
        let counted = |(kind, n): &(String, u64)| match kind.split_once(' ') {
            Some((noun, rest)) => format!("{} {rest}", count(*n, noun)),
            None => count(*n, kind),
        };
        let kinds: Vec<String> = self.unrecognised.iter().map(counted).collect();
        write!(f, "{} that no reader knows", listed(&kinds))
    }
}

/// `a, b and c`
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
