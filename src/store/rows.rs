//! Rows of numbers that were derived from a file of lines, kept beside it so that the lines need not be parsed again:
//! `<name>.rows` beside `<name>.jsonl`.
//!
//! Made only for large files whose runs have completed, and valid only for a file of the same length and time. Each row has a
//! checksum. Without them, the lines are read; what a damaged row says counts as unknown. Knows nothing about the meaning of the
//! numbers.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use flate2::Crc;

use super::atomic::{AtomicWriter, Existing, Mode};
use super::folder::{Durability, Folder, not_plain, read_exact_at};
use super::identity::FileIdentity;
use super::line_file;
use super::open_path::OpenPath;
use super::unnamed::Part;
use crate::error::{Error, Result};

/// The ending of these files.
const ENDING: &str = "rows";
/// Files with fewer bytes are read in a millisecond or two.
const LEAST_BYTES: u64 = 256 << 10;
/// The numbers of the last row, which is about the file: see [`about`].
const ABOUT: usize = 5;
const WORD: usize = size_of::<u64>();

/// What rows contain; the number changes with their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning(pub(super) u64);

/// An open file of rows.
#[derive(Debug)]
pub(super) struct Rows<const N: usize> {
    file: File,
    count: u64,
}

/// The name of the rows that belong to a file of lines.
pub(super) fn beside(lines: &OsStr) -> OsString {
    Path::new(lines).with_extension(ENDING).into_os_string()
}

/// The name of the lines to which a file of rows belongs; `None` for any other file.
pub(super) fn lines_of(rows: &OsStr) -> Option<OsString> {
    let name = Path::new(rows);
    (name.extension()? == ENDING).then(|| name.with_extension(line_file::ENDING).into_os_string())
}

/// The bytes of a row in a file: its numbers, and their checksum.
pub(super) const fn row_bytes<const N: usize>() -> usize {
    (N + 1) * WORD
}

/// The numbers of a row; `None` if they are not as they were written.
pub(super) fn row_of<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (row, sum) = bytes.split_at_checked(N * WORD)?;
    (word(sum)? == sum_of(row)).then_some(())?;
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(row.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Some(words)
}

fn word(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn sum_of(bytes: &[u8]) -> u64 {
    let mut sum = Crc::new();
    sum.update(bytes);
    sum.sum().into()
}

fn write<const N: usize>(file: &mut impl Write, row: [u64; N]) -> io::Result<()> {
    let words = row.map(u64::to_le_bytes);
    let bytes = words.as_flattened();
    file.write_all(bytes)?;
    file.write_all(&sum_of(bytes).to_le_bytes())
}

/// What the last row says: the meaning of the others, their number, and the file of lines from which they were made.
fn about(meaning: Meaning, count: u64, lines: &Metadata) -> [u64; ABOUT] {
    let seen = FileIdentity::of(lines);
    let (seconds, nanos) = seen.modified.unwrap_or_default();
    [meaning.0, count, seen.bytes, seconds, nanos.into()]
}

impl<const N: usize> Rows<N> {
    /// Opens the rows that belong to a file of lines; `None` if there are none, or if they were made from other lines.
    pub(super) fn open(
        (folder, name): (&Folder, &OsStr),
        lines: &File,
        meaning: Meaning,
    ) -> Option<Self> {
        let lines = lines.metadata().ok()?;
        (lines.len() >= LEAST_BYTES).then_some(())?;
        let file = folder.read(&beside(name)).ok()?;
        let last = row_bytes::<ABOUT>() as u64;
        let end = file.metadata().ok()?.len().checked_sub(last)?;
        let mut bytes = [0; row_bytes::<ABOUT>()];
        read_exact_at(&file, &mut bytes, end).ok()?;
        let count = end / row_bytes::<N>() as u64;
        let is_whole = end % row_bytes::<N>() as u64 == 0;
        let is_of_these = row_of(&bytes)? == about(meaning, count, &lines);
        (is_whole && is_of_these).then_some(Rows { file, count })
    }

    /// Derives the rows of a file of lines, unless it is small or has them already: `derive` gives each to its argument.
    ///
    /// # Errors
    /// The system's, and those of `derive`; there are no rows then.
    pub(super) fn make(
        at: (&Folder, &OsStr),
        meaning: Meaning,
        derive: impl FnOnce(&File, &mut dyn FnMut([u64; N]) -> io::Result<()>) -> io::Result<()>,
    ) -> Result<()> {
        let (folder, name) = at;
        let failed = |e| not_plain(&folder.path().join(name), "read", e);
        let lines = match folder.read(name) {
            // Another run has merged it with others.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            lines => lines.map_err(failed)?,
        };
        let seen = lines.metadata().map_err(failed)?;
        if seen.len() < LEAST_BYTES || Rows::<N>::open(at, &lines, meaning).is_some() {
            return Ok(());
        }
        let spot = OpenPath::of(folder, &beside(name));
        let mut file =
            AtomicWriter::create(spot, Existing::Overwrite, Mode::Private, Durability::Lazy)?;
        let mut count = 0;
        derive(&lines, &mut |row| {
            count += 1;
            write(&mut file, row)
        })
        .and_then(|()| write(&mut file, about(meaning, count, &seen)))
        .map_err(|e| Error::io(folder.path(), "index the lines in", e))?;
        file.commit().map(drop)
    }

    /// The file, and its length up to the end of the rows.
    pub(super) fn bytes(&self) -> (&File, u64) {
        (&self.file, self.count * row_bytes::<N>() as u64)
    }

    /// All rows, in the order of their lines, up to the first damaged one.
    pub(super) fn each(&self) -> impl Iterator<Item = io::Result<[u64; N]>> {
        let (file, end) = self.bytes();
        let mut part: BufReader<Part<'_>> = Part::of(file, 0, end);
        let mut bytes = vec![0; row_bytes::<N>()];
        (0..self.count).map(move |_| {
            part.read_exact(&mut bytes)?;
            row_of(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    const OURS: Meaning = Meaning(7);

    fn made(folder: &Folder) -> Option<Vec<[u64; 2]>> {
        let name = OsStr::new("a.jsonl");
        let lines = folder.read(name).unwrap();
        let rows = Rows::<2>::open((folder, name), &lines, OURS)?;
        Some(rows.each().map_while(io::Result::ok).collect())
    }

    fn make(folder: &Folder) {
        let rows = (0..1_000_u64).map(|n| [n, n << 40]);
        Rows::make((folder, OsStr::new("a.jsonl")), OURS, |_, show| {
            rows.into_iter().try_for_each(show)
        })
        .unwrap();
    }

    #[test]
    fn rows_count_only_for_the_lines_that_they_were_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let (lines, rows) = (dir.path().join("a.jsonl"), dir.path().join("a.rows"));
        fs::write(&lines, "{}\n").unwrap();
        make(&folder);
        assert!(!rows.exists(), "not worth it");
        assert_eq!(made(&folder), None);

        fs::write(&lines, vec![b'\n'; LEAST_BYTES as usize]).unwrap();
        assert_eq!(made(&folder), None);
        make(&folder);
        let all: Vec<[u64; 2]> = (0..1_000).map(|n| [n, n << 40]).collect();
        assert_eq!(made(&folder).unwrap(), all);
        let name = OsStr::new("a.jsonl");
        let file = folder.read(name).unwrap();
        assert!(Rows::<2>::open((&folder, name), &file, Meaning(8)).is_none());
        assert!(Rows::<3>::open((&folder, name), &file, OURS).is_none());

        let good = fs::read(&rows).unwrap();
        // Up to the damaged row, all are good.
        let mut damaged = good.clone();
        damaged[row_bytes::<2>() * 10 + 3] ^= 1;
        fs::write(&rows, damaged).unwrap();
        assert_eq!(made(&folder).unwrap(), all[..10]);
        for cut in [1, row_bytes::<2>(), good.len()] {
            fs::write(&rows, &good[cut..]).unwrap();
            assert_eq!(made(&folder), None, "the beginning, {cut}");
            fs::write(&rows, &good[..good.len() - cut]).unwrap();
            assert_eq!(made(&folder), None, "the end, {cut}");
        }

        fs::write(&rows, &good).unwrap();
        let then = SystemTime::now() - Duration::from_secs(9);
        let file = File::options().append(true).open(&lines).unwrap();
        file.set_modified(then).unwrap();
        assert_eq!(made(&folder), None, "another time");
        make(&folder);
        assert_eq!(made(&folder).unwrap(), all);
        fs::write(&lines, vec![b'\n'; LEAST_BYTES as usize + 1]).unwrap();
        assert_eq!(made(&folder), None, "another length");
    }
}
