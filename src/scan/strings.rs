//! The long strings of a text, found once, so that later readers of the same bytes can skip them.
//!
//! A file is read twice: to detect its format, and then by the reader of that format. Most of its bytes are in long strings, so the
//! second reader takes those from here. Only complete strings without anomalies are kept. A debug build still reads each string and
//! compares.

use super::Text;

/// Scanning a string shorter than this is faster than looking it up.
const LONG: u32 = 96;

/// The long strings of a text, in its order, line by line.
#[derive(Debug, Clone, Default)]
pub struct Strings {
    texts: Vec<Text>,
    /// For each line with long strings: where it begins, and the index of its first one.
    lines: Vec<(usize, usize)>,
}

/// What a cursor knows about the long strings of its line.
#[derive(Debug, Clone, Default)]
pub(super) enum Memory<'a> {
    /// Nothing.
    #[default]
    None,
    /// It records the strings that it finds.
    Noting(Vec<Text>),
    /// The known strings that are still ahead of it.
    Known(&'a [Text]),
}

/// The strings of a text that was not read before.
pub static NO_STRINGS: Strings = Strings {
    texts: Vec::new(),
    lines: Vec::new(),
};

impl Strings {
    /// The strings of the line that begins at this byte of the text.
    pub(crate) fn of_line(&self, start: usize) -> &[Text] {
        let at = self.lines.partition_point(|(line, _)| *line < start);
        let Some((line, first)) = self.lines.get(at) else {
            return &[];
        };
        if *line != start {
            return &[];
        }
        let next = self.lines.get(at + 1);
        let end = next.map_or(self.texts.len(), |(_, first)| *first);
        &self.texts[*first..end]
    }

    /// Begins a line; lines must come in order. Returns the list in which its reader records strings.
    pub(super) fn begin(&mut self, line: usize) -> Vec<Text> {
        self.lines.push((line, self.texts.len()));
        std::mem::take(&mut self.texts)
    }

    /// Ends the line and takes the strings that its reader recorded.
    pub(super) fn end(&mut self, noted: Vec<Text>) {
        self.texts = noted;
        if self
            .lines
            .last()
            .is_some_and(|(_, first)| *first == self.texts.len())
        {
            self.lines.pop();
        }
    }

    /// Appends the strings of lines that follow.
    pub(crate) fn append(&mut self, later: Strings) {
        let shift = self.texts.len();
        self.texts.extend_from_slice(&later.texts);
        let lines = later.lines.iter();
        self.lines
            .extend(lines.map(|(line, first)| (*line, first + shift)));
    }
}

impl Memory<'_> {
    /// Records a string if it is long.
    #[inline]
    pub(super) fn note(&mut self, text: Text) {
        if let Memory::Noting(texts) = self
            && text.span.len >= LONG
        {
            texts.push(text);
        }
    }

    /// The string whose first byte is at `start`, if it is known.
    #[inline]
    pub(super) fn at(&mut self, start: usize) -> Option<Text> {
        let Memory::Known(texts) = self else {
            return None;
        };
        while let [first, rest @ ..] = *texts {
            if first.span.start as usize >= start {
                return (first.span.start as usize == start).then_some(*first);
            }
            *texts = rest;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cursor, lines};
    use super::*;

    #[test]
    fn a_line_is_read_again_with_what_was_noted() {
        let long = "é".repeat(80);
        let text = format!(
            "{{\"a\":\"{long}\",\"b\":\"short\",\"c\":[\"{long}\\n\"]}}\n[]\n\n{{\"a\":\"{long}\",\"b\":\n[\"{long}\"]"
        );
        let mut strings = Strings::default();
        for line in lines(text.as_bytes()) {
            let mut cursor = Cursor::noting(
                &text.as_bytes()[line.start..line.end],
                line.start,
                &mut strings,
            );
            let _ = cursor.skip();
            cursor.noted(&mut strings);
        }
        assert_eq!(strings.texts.len(), 4);
        assert_eq!(strings.lines.len(), 3);
        for line in lines(text.as_bytes()) {
            let bytes = &text.as_bytes()[line.start..line.end];
            let (mut first, mut again) = (
                Cursor::new(bytes),
                Cursor::knowing(bytes, strings.of_line(line.start)),
            );
            assert_eq!(first.skip(), again.skip());
            assert_eq!(first.last_end(), again.last_end());
        }
        assert!(strings.of_line(1).is_empty());
        assert!(Strings::default().of_line(0).is_empty());
    }

    #[test]
    fn known_strings_may_be_passed_over() {
        let long = "a".repeat(100);
        let line = format!("[\"{long}\",\"{long}\"]");
        let mut strings = Strings::default();
        let mut cursor = Cursor::noting(line.as_bytes(), 0, &mut strings);
        cursor.skip().unwrap();
        cursor.noted(&mut strings);
        let second = 105;
        let mut memory = Memory::Known(strings.of_line(0));
        assert_eq!(memory.at(second + 1), None);
        let mut memory = Memory::Known(strings.of_line(0));
        assert_eq!(memory.at(second).unwrap().span.start as usize, second);
    }
}
