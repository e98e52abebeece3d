//! A file that may contain a report: its head, and its entries one by one.
//!
//! Holds the head and a few entries at a time. Knows no command: callers say what to read. An error names the line, and does not
//! depend on how the file was read.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::Path;

use rayon::prelude::*;
use serde::de::{DeserializeOwned, DeserializeSeed};

use super::list::{Files, Keep, Stop};
use super::split::{Split, split};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::ReadBack;
use crate::report::ReportFormat;

/// The name for reads that apply to a report of any command.
pub(super) const ANY: &str = "any command";
/// Size of the read buffer, in bytes.
const READ_BUFFER: usize = 256 << 10;
/// The number of bytes of entries to parse at once, and the number of entries from which several threads parse them.
const BATCH_BYTES: usize = 1 << 20;
const MIN_PARALLEL_ENTRIES: usize = 16;
/// Longer than any line of a report.
const MOST_LINE: u64 = 4 << 30;

/// What a report is read from.
pub trait Text: Read + Seek {}

impl<T: Read + Seek> Text for T {}

/// A file that may hold a report.
pub(super) struct Source<'r> {
    path: &'r Path,
    text: &'r mut dyn Text,
    form: Form,
    /// The head as JSON; empty if only a parser can find it.
    head: Vec<u8>,
    /// The number of lines before the head's, once they are counted.
    lines: Option<u64>,
}

/// Where the entries are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Each entry is on a line, before the line of the head, which begins at this offset.
    Lines(u64),
    /// The entries are in a list in an object.
    List(Split),
}

impl<'r> Source<'r> {
    /// Opens a file; its extension determines the format.
    pub(super) fn of(path: &'r Path, text: &'r mut dyn Text) -> Result<Self> {
        let unread = |error| Error::io(path, "read", error);
        let (form, head) = match ReportFormat::from_path(path)? {
            ReportFormat::Json => {
                rewind(text).map_err(unread)?;
                let (split, head) = split(text, &mut |_| Ok(())).map_err(unread)?;
                (Form::List(split), head)
            }
            ReportFormat::Jsonl => {
                let Some((begin, line)) = last_line(text).map_err(unread)? else {
                    return Err(Error::new(ErrorKind::Unsupported, "it is empty").at(path));
                };
                (Form::Lines(begin), line)
            }
            ReportFormat::Csv(_) | ReportFormat::Markdown | ReportFormat::Html => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "only .json and .jsonl reports can be read back",
                )
                .at(path));
            }
        };
        Ok(Source {
            path,
            text,
            form,
            head,
            lines: None,
        })
    }

    /// The head, parsed as `T`; `of` names the command in errors.
    pub(super) fn head<T: DeserializeOwned>(&mut self, of: &str) -> Result<T> {
        match (serde_json::from_slice(&self.head), self.form) {
            (Ok(head), _) => Ok(head),
            (Err(error), Form::Lines(_)) => {
                let first = self.line()?;
                Err(self.parse_error(&error, first, of))
            }
            (Err(_), Form::List(_)) => self.whole(of, PhantomData::<T>),
        }
    }

    /// The whole file, parsed while it is read.
    fn whole<S: DeserializeSeed<'static>>(&mut self, of: &str, seed: S) -> Result<S::Value> {
        rewind(self.text).map_err(|error| self.unread(error))?;
        let reader = BufReader::with_capacity(READ_BUFFER, &mut *self.text);
        let mut parser = serde_json::Deserializer::from_reader(reader);
        let parsed = seed.deserialize(&mut parser);
        let parsed = parsed.and_then(|parsed| parser.end().map(|()| parsed));
        parsed.map_err(|error| self.parse_error(&error, 1, of))
    }

    /// Passes on the entries in file order; `key` is the key of their list in an object.
    ///
    /// # Errors
    /// The errors of `keep`, or if an entry is not of this type; with its line.
    pub(super) fn entries<F: ReadBack + DeserializeOwned + Send>(
        &mut self,
        of: &str,
        key: &'static str,
        keep: Keep<'_, F>,
    ) -> Result<()> {
        rewind(self.text).map_err(|error| self.unread(error))?;
        match self.form {
            Form::Lines(end) => self.lines(end, of, keep),
            Form::List(Split::Whole) => {
                let mut batch = Batch::new(keep);
                let shown = split(&mut *self.text, &mut |entry| {
                    batch.add(0, entry).map_err(io::Error::other)
                });
                let done = shown.and_then(|_| batch.parse().map_err(io::Error::other));
                match (batch.failed.take(), done) {
                    (Some(Failed::Consumer(error)), _) => Err(error),
                    // Parsing the whole file tells where the error is, and whether it is the first one.
                    (Some(Failed::Unfit(_, error)), _) => {
                        self.list::<F>(of, key, &mut |_| Ok(()))?;
                        Err(self.parse_error(&error, 1, of))
                    }
                    (None, done) => done.map_err(|error| self.unread(error)),
                }
            }
            Form::List(Split::Odd) => self.list(of, key, keep),
        }
    }

    fn lines<F: ReadBack + DeserializeOwned + Send>(
        &mut self,
        end: u64,
        of: &str,
        keep: Keep<'_, F>,
    ) -> Result<()> {
        let mut batch = Batch::new(keep);
        let mut reader = BufReader::with_capacity(READ_BUFFER, Read::take(&mut *self.text, end));
        let mut line = Vec::new();
        let mut number = 0;
        let read = loop {
            line.clear();
            match reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => break Ok(()),
                Ok(read) if read as u64 == MOST_LINE => {
                    break Err(io::Error::other("a line has no end"));
                }
                Ok(_) => {}
                Err(error) => break Err(error),
            }
            number += 1;
            if !line.trim_ascii().is_empty() && batch.add(number, &line).is_err() {
                break Ok(());
            }
        };
        if batch.failed.is_none() {
            // Failures are reported below.
            let _ = batch.parse();
        }
        match batch.failed.take() {
            Some(Failed::Consumer(error)) => Err(error),
            Some(Failed::Unfit(number, error)) => Err(self.parse_error(&error, number, of)),
            None => {
                self.lines = Some(number);
                read.map_err(|error| self.unread(error))
            }
        }
    }

    /// The entries of a list, parsed one by one together with everything around them.
    fn list<F: DeserializeOwned>(
        &mut self,
        of: &str,
        key: &'static str,
        keep: Keep<'_, F>,
    ) -> Result<()> {
        let mut failed = None;
        let parsed = self.whole(
            of,
            Files {
                key,
                keep,
                failed: &mut failed,
            },
        );
        match failed {
            Some(error) => Err(error),
            None => parsed,
        }
    }

    /// The error that rejects the report as a whole.
    pub(super) fn refused(&mut self, why: impl Into<String>) -> Error {
        match self.line() {
            Ok(line) => Error::new(ErrorKind::Unsupported, why)
                .at(self.path)
                .on_line(line),
            Err(error) => error,
        }
    }

    /// The line on which the head begins, from 1.
    pub(super) fn line(&mut self) -> Result<u64> {
        match (self.form, self.lines) {
            (Form::List(_), _) => Ok(1),
            (Form::Lines(_), Some(lines)) => Ok(lines + 1),
            (Form::Lines(begin), None) => {
                let lines = lines_before(self.text, begin);
                Ok(lines.map_err(|error| self.unread(error))? + 1)
            }
        }
    }

    /// The error for content that is not as expected, in a text that starts at line `first`.
    fn parse_error(&self, error: &serde_json::Error, first: u64, of: &str) -> Error {
        if let Some(kind) = error.io_error_kind() {
            return self.unread(kind.into());
        }
        let message = match error.is_data() {
            true if of == ANY => "it is not a report".to_owned(),
            true => format!("it is not a report on `{of}`: {error}"),
            false => format!("it is not JSON: {error}"),
        };
        Error::new(ErrorKind::Unsupported, message)
            .at(self.path)
            .on_line(first + error.line().max(1) as u64 - 1)
    }

    fn unread(&self, error: io::Error) -> Error {
        Error::io(self.path, "read", error)
    }
}

/// Entries that are parsed together.
struct Batch<'k, F> {
    keep: Keep<'k, F>,
    bytes: Vec<u8>,
    /// The end offset of each entry, and its line.
    ends: Vec<(usize, u64)>,
    failed: Option<Failed>,
}

/// What went wrong.
enum Failed {
    /// The content of this line is not an entry.
    Unfit(u64, serde_json::Error),
    Consumer(Error),
}

impl<'k, F: ReadBack + Send> Batch<'k, F> {
    fn new(keep: Keep<'k, F>) -> Self {
        Batch {
            keep,
            bytes: Vec::new(),
            ends: Vec::new(),
            failed: None,
        }
    }

    fn add(&mut self, line: u64, entry: &[u8]) -> std::result::Result<(), Stop> {
        self.bytes.extend_from_slice(entry);
        self.ends.push((self.bytes.len(), line));
        match self.bytes.len() < BATCH_BYTES {
            true => Ok(()),
            false => self.parse(),
        }
    }

    /// Parses all added entries and passes them on.
    fn parse(&mut self) -> std::result::Result<(), Stop> {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        let entries = begins.zip(&self.ends);
        let entries: Vec<(&[u8], u64)> = entries
            .map(|(begin, (end, line))| (&self.bytes[begin..*end], *line))
            .collect();
        let parse = |(entry, line): (&[u8], u64)| {
            F::read_back(entry).map_err(|error| Failed::Unfit(line, error))
        };
        let mut keep =
            |parsed: std::result::Result<F, Failed>| (self.keep)(parsed?).map_err(Failed::Consumer);
        let kept = match entries.len() < MIN_PARALLEL_ENTRIES {
            true => entries.into_iter().map(parse).try_for_each(&mut keep),
            false => {
                let parsed: Vec<_> = entries.into_par_iter().map(parse).collect();
                parsed.into_iter().try_for_each(&mut keep)
            }
        };
        self.bytes.clear();
        self.ends.clear();
        kept.map_err(|failed| {
            self.failed = Some(failed);
            Stop
        })
    }
}

fn rewind(text: &mut dyn Text) -> io::Result<()> {
    text.seek(SeekFrom::Start(0)).map(drop)
}

/// The last non-empty line, and its offset.
fn last_line(text: &mut dyn Text) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut begin = text.seek(SeekFrom::End(0))?;
    // From `begin` on.
    let mut end: Vec<u8> = Vec::new();
    loop {
        let line = end.trim_ascii_end();
        if !line.is_empty()
            && let Some(at) = memchr::memrchr(b'\n', line)
        {
            let line = end.split_off(at + 1);
            return Ok(Some((begin + at as u64 + 1, line)));
        }
        if begin == 0 {
            return Ok((!line.is_empty()).then_some((0, end)));
        }
        if end.len() as u64 > MOST_LINE {
            return Err(io::Error::other("its last line has no end"));
        }
        // Read twice as much each time, so that a long line is not copied over and over.
        let more = begin.min((end.len() as u64).max(READ_BUFFER as u64));
        begin -= more;
        text.seek(SeekFrom::Start(begin))?;
        let mut before = Vec::new();
        Read::take(&mut *text, more).read_to_end(&mut before)?;
        before.append(&mut end);
        end = before;
    }
}

/// The number of lines that end before an offset.
fn lines_before(text: &mut dyn Text, end: u64) -> io::Result<u64> {
    rewind(text)?;
    let mut reader = BufReader::with_capacity(READ_BUFFER, Read::take(text, end));
    let mut lines = 0;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let read = bytes.len();
        reader.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn the_last_line_is_found_however_long_it_is() {
        let long = "x".repeat(3 * READ_BUFFER);
        let of = |text: String| {
            let mut text = Cursor::new(text.into_bytes());
            let found = last_line(&mut text).unwrap();
            found.map(|(begin, line)| (begin, String::from_utf8(line).unwrap()))
        };
        assert_eq!(of(String::new()), None);
        assert_eq!(of("\n \r\n\n".to_owned()), None);
        assert_eq!(of("ab\n".to_owned()), Some((0, "ab\n".to_owned())));
        assert_eq!(
            of("a\n\nbc\r\n \n".to_owned()),
            Some((3, "bc\r\n \n".to_owned()))
        );
        for before in ["", "\n", "a\n"] {
            let begin = before.len() as u64;
            assert_eq!(of(format!("{before}{long}")), Some((begin, long.clone())));
            let ends = format!("{long}{}", "\n".repeat(2 * READ_BUFFER));
            assert_eq!(of(format!("{before}{ends}")), Some((begin, ends)));
        }
    }
}
