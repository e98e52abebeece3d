//! The distinct lines of a file in sorted order, however many there are.
//!
//! What exceeds the memory limit is sorted in parts, which are unnamed files, and merged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use super::unnamed::merge;

/// The number of bytes sorted at a time.
const PART_BYTES: usize = 16 << 20;

/// Calls `show` with the lines of `file` that `is_wanted`, without their ends, in byte order, each once.
///
/// # Errors
/// The system's, and those of `show`.
pub(super) fn distinct_lines(
    mut file: &File,
    is_wanted: impl Fn(&[u8]) -> bool,
    show: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    distinct(&mut file, PART_BYTES, is_wanted, show)
}

fn distinct(
    file: &mut (impl io::Read + Seek),
    a_part: usize,
    is_wanted: impl Fn(&[u8]) -> bool,
    show: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    file.rewind()?;
    let mut lines = BufReader::new(file);
    let mut part = Part::default();
    let mut parts = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.is_empty() && is_wanted(text) {
            part.push(text);
        }
        if part.bytes.len() >= a_part {
            parts.push(std::mem::take(&mut part).into_file()?);
        }
    }
    if parts.is_empty() {
        return part.each(show);
    }
    parts.push(part.into_file()?);
    let mut last: Option<Vec<u8>> = None;
    merge(parts.into_iter().map(lines_of), &mut |line| {
        if last.as_ref() != Some(&line) {
            show(&line)?;
            last = Some(line);
        }
        Ok(())
    })
}

/// Some of the lines.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    /// Where each line begins and ends.
    lines: Vec<(usize, usize)>,
}

impl Part {
    fn push(&mut self, line: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(line);
        self.lines.push((begin, self.bytes.len()));
    }

    fn each(self, show: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut lines: Vec<&[u8]> = self
            .lines
            .iter()
            .map(|(a, b)| &self.bytes[*a..*b])
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().try_for_each(show)
    }

    fn into_file(self) -> io::Result<File> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        self.each(&mut |line| {
            out.write_all(line)?;
            out.write_all(b"\n")
        })?;
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// The lines of a file, without their ends.
fn lines_of(file: File) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    BufReader::new(file).split(b'\n')
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn parts_give_the_same_as_the_whole() {
        let lines: Vec<String> = (0..999).map(|n| format!("{} x", n * 7919 % 500)).collect();
        let text = format!("{}\n\nno\n7 x", lines.join("\n"));
        let sorted = |a_part| {
            let mut shown = Vec::new();
            let wanted = |line: &[u8]| line.ends_with(b"x");
            let show = &mut |line: &[u8]| {
                shown.push(line.to_vec());
                Ok(())
            };
            distinct(&mut Cursor::new(&text), a_part, wanted, show).unwrap();
            shown
        };
        let whole = sorted(usize::MAX);
        let mut expected: Vec<Vec<u8>> = lines.iter().map(|l| l.clone().into_bytes()).collect();
        expected.sort();
        expected.dedup();
        assert_eq!(whole, expected);
        for a_part in [1, 10, 100, 4_000] {
            assert_eq!(sorted(a_part), whole, "{a_part}");
        }
    }
}
