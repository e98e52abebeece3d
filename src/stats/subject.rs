//! The subject of a call: the file that it names, or the first words of its command.
//!
//! Reads only the call's input. Does not escape the text for a terminal: the renderer must do that.

use crate::scan::{Cursor, Kind, Parse, unescape};
use crate::transcript::{Block, Shape, Transcript};

/// Keys of inputs that name a file, in the known agents.
const PATHS: [&[u8]; 6] = [
    b"file_path",
    b"path",
    b"filePath",
    b"notebook_path",
    b"filename",
    b"target_file",
];
/// Keys that say what to do or to look for.
const WORDS: [&[u8]; 6] = [
    b"command",
    b"cmd",
    b"pattern",
    b"query",
    b"url",
    b"description",
];
/// The maximum length of a command in a hint, in characters. A path stays whole: of its end, two files may have the same.
const HINT_MAX: usize = 60;

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Subject {
    /// The file that its input names.
    pub(super) path: Option<String>,
    /// Its command, or what it looks for.
    words: Option<String>,
}

impl Subject {
    /// The subject of a call.
    pub(super) fn of(transcript: &Transcript<'_>, call: &Block) -> Subject {
        let input = transcript.bytes(call.line, call.content);
        let mut subject = Subject::default();
        // Arguments may not be JSON; what was parsed before the error counts.
        let _ = match call.shape {
            Shape::String => {
                // Without its quotes.
                let inside = input.get(1..input.len().saturating_sub(1));
                subject.read(&unescape(inside.unwrap_or_default()))
            }
            Shape::List | Shape::Parts | Shape::Absent | Shape::Other => subject.read(input),
        };
        subject
    }

    /// The path, or the command's first words.
    pub(super) fn hint(self) -> Option<String> {
        if let Some(path) = self.path {
            return Some(path);
        }
        let words = self.words?;
        let words = words.trim();
        let line = words.lines().next().unwrap_or_default().trim_end();
        if line.len() == words.len() && line.chars().count() <= HINT_MAX {
            return Some(line.to_owned());
        }
        let first: String = line.chars().take(HINT_MAX - 1).collect();
        Some(first.trim_end().to_owned() + "…")
    }

    fn read(&mut self, input: &[u8]) -> Parse<()> {
        let mut c = Cursor::new(input);
        let (mut path, mut words) = ((PATHS.len(), None), (WORDS.len(), None));
        let read = c.object(|key, c| {
            for (keys, best) in [(&PATHS, &mut path), (&WORDS, &mut words)] {
                if let Some(rank) = keys.iter().position(|k| *k == key).filter(|r| *r <= best.0) {
                    *best = (rank, string(c)?);
                    return Ok(());
                }
            }
            c.skip().map(drop)
        });
        let not_empty = |text: &String| !text.is_empty();
        self.path = path.1.filter(not_empty);
        self.words = words.1.filter(not_empty);
        read.map(drop)
    }
}

/// A string, or a list of them with spaces between.
fn string(c: &mut Cursor<'_>) -> Parse<Option<String>> {
    let line = c.line();
    let text = |raw: &[u8]| String::from_utf8_lossy(&unescape(raw)).into_owned();
    match c.kind()? {
        Kind::String => Ok(Some(text(c.string()?.span.of(line)))),
        Kind::Array => {
            let mut parts = Vec::new();
            c.array(|c| {
                parts.extend(c.string_or_skip()?.map(|t| text(t.span.of(line))));
                Ok(())
            })?;
            Ok(Some(parts.join(" ")))
        }
        Kind::Object | Kind::Number | Kind::Bool | Kind::Null => c.skip().map(|_| None),
    }
}
