//! Splits the text of a `.json` report while reading it: into its head, and each entry of its `files`.
//!
//! Finds where values end and checks nothing else, which is left to the parser of the parts. Reports text that it cannot split as
//! odd, without further detail.

use std::io::{self, Read};

/// Size of the read buffer, in bytes.
const READ_BUFFER: usize = 256 << 10;
/// Longer than any head or entry of a report.
const MOST: usize = 1 << 30;
/// The key of the entries.
const FILES: &[u8] = b"files";

/// Whether the text could be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// It has a list of files, which was shown completely.
    Whole,
    /// It is not a report, or is written in a way that requires a parser.
    Odd,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the object.
    Start,
    /// Among its keys and their values.
    Head,
    /// Where an entry or the end of the list may be.
    List(Before),
    /// In an entry.
    Entry,
    /// After the object.
    End,
}

/// What precedes a position in the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Entry,
    Comma,
}

/// The state of splitting, up to the current position.
struct Splitter<'s> {
    at: At,
    depth: usize,
    /// Set inside a string: whether its next byte is escaped.
    string: Option<Escape>,
    /// The last string among the keys and values of the head.
    key: Vec<u8>,
    has_files: bool,
    head: Vec<u8>,
    entry: Vec<u8>,
    show: &'s mut dyn FnMut(&[u8]) -> io::Result<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Yes,
}

/// Splits a text: shows each entry, and returns the rest, which is a report without entries.
///
/// # Errors
/// The errors of the text and of `show`.
pub(super) fn split(
    text: &mut dyn Read,
    show: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(Split, Vec<u8>)> {
    let mut splitter = Splitter {
        at: At::Start,
        depth: 0,
        string: None,
        key: Vec::new(),
        has_files: false,
        head: Vec::new(),
        entry: Vec::new(),
        show,
    };
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        let read = match text.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        let fed = splitter.feed(&buffer[..read])?;
        let held = splitter.head.len().max(splitter.entry.len());
        if fed == Split::Odd || held > MOST {
            return Ok((Split::Odd, Vec::new()));
        }
    }
    match splitter.at == At::End && splitter.has_files {
        true => Ok((Split::Whole, splitter.head)),
        false => Ok((Split::Odd, Vec::new())),
    }
}

impl Splitter<'_> {
    fn feed(&mut self, bytes: &[u8]) -> io::Result<Split> {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if self.string.is_some() {
                let end = self.in_string(rest);
                self.keep(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            match self.at {
                At::Entry => {
                    let end = self.in_entry(rest);
                    self.entry.extend_from_slice(&rest[..end]);
                    rest = &rest[end..];
                    if self.at != At::Entry {
                        (self.show)(&self.entry)?;
                        self.entry.clear();
                    }
                    continue;
                }
                At::List(before) => match (first, before) {
                    (b' ' | b'\n' | b'\r' | b'\t', _) => {}
                    (b',', Before::Entry) => self.at = At::List(Before::Comma),
                    (b']', Before::Nothing | Before::Entry) => {
                        self.depth = 1;
                        self.at = At::Head;
                        self.head.push(*first);
                    }
                    (b',' | b']' | b'}', _) | (_, Before::Entry) => return Ok(Split::Odd),
                    (_, Before::Nothing | Before::Comma) => {
                        self.at = At::Entry;
                        continue;
                    }
                },
                At::Head => {
                    self.head.push(*first);
                    if self.in_head(*first) == Split::Odd {
                        return Ok(Split::Odd);
                    }
                }
                At::Start | At::End => match (first, self.at) {
                    (b' ' | b'\n' | b'\r' | b'\t', _) => {}
                    (b'{', At::Start) => {
                        self.head.push(*first);
                        self.at = At::Head;
                        self.depth = 1;
                    }
                    _ => return Ok(Split::Odd),
                },
            }
            rest = after;
        }
        Ok(Split::Whole)
    }

    fn keep(&mut self, bytes: &[u8]) {
        match self.at {
            At::Entry => self.entry.extend_from_slice(bytes),
            At::Start | At::Head | At::List(_) | At::End => {
                self.head.extend_from_slice(bytes);
                if self.depth == 1 {
                    self.key.extend_from_slice(bytes);
                }
            }
        }
    }

    /// The number of bytes that belong to the open string.
    fn in_string(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.string == Some(Escape::Yes) {
            // An escaped byte ends nothing.
            self.string = Some(Escape::No);
            at = 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            at += found + 1;
            if bytes[at - 1] == b'"' {
                self.string = None;
                return at;
            }
            if at == bytes.len() {
                self.string = Some(Escape::Yes);
                return at;
            }
            at += 1;
        }
        bytes.len()
    }

    /// The number of bytes that belong to the entry, up to its end or to the start of a string in it.
    fn in_entry(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => {
                    self.string = Some(Escape::No);
                    return at + 1;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 2 => {
                    self.depth -= 1;
                    if self.depth == 2 {
                        self.at = At::List(Before::Entry);
                        return at + 1;
                    }
                }
                // An entry that is not an object; it will be rejected.
                b',' | b'}' | b']' if self.depth == 2 => {
                    self.at = At::List(Before::Entry);
                    return at;
                }
                _ => {}
            }
        }
        bytes.len()
    }

    /// Handles a byte among the keys and values of the head, outside strings.
    fn in_head(&mut self, byte: u8) -> Split {
        match byte {
            b'"' => {
                self.string = Some(Escape::No);
                if self.depth == 1 {
                    self.key.clear();
                }
            }
            b'[' if self.depth == 1 && self.key.strip_suffix(b"\"") == Some(FILES) => {
                if self.has_files {
                    return Split::Odd;
                }
                self.has_files = true;
                self.depth = 2;
                self.at = At::List(Before::Nothing);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.at = At::End;
                }
            }
            // A key with escapes may mean the same.
            b':' if self.depth == 1 && self.key.contains(&b'\\') => return Split::Odd,
            _ => {}
        }
        Split::Whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte at a time.
    struct Slow<'t>(&'t [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let (one, rest) = self.0.split_at(self.0.len().min(1));
            into[..one.len()].copy_from_slice(one);
            self.0 = rest;
            Ok(one.len())
        }
    }

    fn parts(text: &str) -> Option<(Vec<String>, String)> {
        let run = |mut text: &mut dyn Read| {
            let mut entries = Vec::new();
            let mut show = |entry: &[u8]| {
                entries.push(String::from_utf8(entry.to_vec()).unwrap());
                Ok(())
            };
            let (split, head) = split(&mut text, &mut show).unwrap();
            let head = String::from_utf8(head).unwrap();
            (split == Split::Whole).then_some((entries, head))
        };
        let at_once = run(&mut text.as_bytes());
        assert_eq!(run(&mut Slow(text.as_bytes())), at_once, "{text}");
        at_once
    }

    #[test]
    fn entries_are_taken_out_of_the_head() {
        for (text, entries, head) in [
            (r#"{"a":1,"files":[]}"#, vec![], r#"{"a":1,"files":[]}"#),
            (
                "{\n \"files\": [\n {\"a\": \"]}\\\"{\"},\n [1, [2]] ],\n \"b\": {\"files\": [3]}\n}\n",
                vec![r#"{"a": "]}\"{"}"#, "[1, [2]]"],
                "{\n \"files\": [],\n \"b\": {\"files\": [3]}\n}",
            ),
            (
                r#"{"files":[1 , "x\\",null]}"#,
                vec!["1 ", r#""x\\""#, "null"],
                r#"{"files":[]}"#,
            ),
        ] {
            let (found, rest) = parts(text).unwrap();
            assert_eq!(
                (found, &*rest),
                (entries.iter().map(|e| (*e).to_owned()).collect(), head)
            );
        }
    }

    #[test]
    fn what_takes_a_parser_is_odd() {
        for text in [
            "",
            "[]",
            "{}",
            "{\"files\":{}}",
            "{\"files\":[1,]}",
            "{\"files\":[,1]}",
            "{\"files\":[{}{}]}",
            "{\"files\":[]",
            "{\"files\":[]}x",
            "{\"files\":[],\"files\":[]}",
            "{\"fil\\u0065s\":[]}",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
