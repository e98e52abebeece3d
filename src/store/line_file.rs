//! A file of lines that a run appends to while it works, so that complete lines remain however the run ends.
//!
//! Locked while the run is active. Knows nothing about the contents of the lines.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{Access, Durability, Folder};
use crate::error::{Error, Result};

/// The ending of all files of lines.
pub(super) const ENDING: &str = "jsonl";
/// The size of a block in bytes; a block is extended to the end of its last line.
const BLOCK_BYTES: u64 = 256 << 10;

/// An open file of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    folder: Folder,
    name: OsString,
    /// For messages.
    path: PathBuf,
    file: Arc<File>,
    /// The last line is incomplete (a full disk); the next one must not be appended to it.
    torn: bool,
}

/// The place of a line that is looked up by a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The key.
    pub(super) key: u64,
    /// The number of the file that contains it.
    pub(super) file: u32,
    /// The offset at which it begins.
    pub(super) offset: u64,
    /// Its length.
    pub(super) bytes: u32,
}

impl Place {
    /// The place as a row of a table; rows with the same key are ordered by file, and then by the position of the line.
    pub(super) fn to_row(self) -> [u64; 3] {
        let [upper, lower] = [self.offset >> 32, self.offset << 32];
        let (file, bytes) = (u64::from(self.file), u64::from(self.bytes));
        [self.key, file << 32 | upper, lower | bytes]
    }

    /// The place in such a row.
    pub(super) fn of_row([key, upper, lower]: [u64; 3]) -> Self {
        Place {
            key,
            file: (upper >> 32) as u32,
            offset: upper << 32 | lower >> 32,
            bytes: lower as u32,
        }
    }
}

impl LineFile {
    /// Creates an empty file.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(super) fn create(folder: Folder, name: OsString, durability: Durability) -> Result<Self> {
        let path = folder.path().join(&name);
        let file = folder
            .create(&name, Access::Private)
            .map_err(|e| Error::io(&path, "create", e))?;
        // Locked while the run is active. If the file system has no locks, every such file counts as active.
        let _ = file.try_lock();
        if durability == Durability::Durable {
            let synced = folder.sync();
            synced.map_err(|e| Error::io(folder.path(), "flush the folder", e))?;
        }
        Ok(LineFile {
            folder,
            name,
            path,
            file: Arc::new(file),
            torn: false,
        })
    }

    /// Its name in its folder.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// For messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for flushing it.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Writes each line in one call, so that a killed run leaves complete lines. Returns the offset at which the line begins.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<u64> {
        let mut file = &*self.file;
        let done = if self.torn {
            file.write_all(&[b"\n", line].concat())
        } else {
            file.write_all(line)
        };
        self.torn = done.is_err();
        let end = done.and_then(|()| file.stream_position());
        let end = end.map_err(|e| Error::io(&self.path, "write", e))?;
        Ok(end.saturating_sub(line.len() as u64))
    }

    /// Writes the beginning of a line, as a full disk would.
    #[cfg(test)]
    pub(super) fn tear(&mut self, beginning: &[u8]) -> Result<u64> {
        let torn = self.append(beginning);
        self.torn = true;
        torn
    }

    /// Gives it another name, which must be free.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(super) fn rename(self, name: &OsStr) -> Result<()> {
        let renamed = self.folder.rename_to_free(&self.name, name);
        renamed.map_err(|e| Error::io(&self.path, "rename", e))
    }

    /// Removes it.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(super) fn remove(self) -> Result<()> {
        let removed = self.folder.remove(&self.name);
        removed.map_err(|e| Error::io(&self.path, "remove", e))
    }
}

/// The names of the files of lines in a folder, in no particular order.
///
/// # Errors
/// Where the folder cannot be listed.
pub(super) fn names(folder: &Folder) -> Result<Vec<OsString>> {
    let names = folder.names();
    let mut names = names.map_err(|e| Error::io(folder.path(), "list", e))?;
    names.retain(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|ending| ending == ENDING)
    });
    Ok(names)
}

/// Whether a file of lines belongs to an active run, as far as that can be known.
pub(super) fn is_alive(folder: &Folder, name: &OsStr) -> bool {
    let Ok(file) = folder.read(name) else {
        return true;
    };
    // A file is created before it is locked; until then it is empty.
    file.metadata().is_ok_and(|seen| seen.len() == 0) || file.try_lock_shared().is_err()
}

/// The lines of a file, several complete ones at a time, for threads that take turns reading it. A line that extends `most` bytes
/// beyond its block is an error, and ends the reading.
pub(super) fn blocks(file: impl Read, most: u64) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let mut file = BufReader::new(file);
    let mut read = move || {
        let mut block = Vec::new();
        file.by_ref().take(BLOCK_BYTES).read_to_end(&mut block)?;
        if !block.ends_with(b"\n") {
            let rest = file.by_ref().take(most).read_until(b'\n', &mut block)?;
            if rest as u64 == most && !block.ends_with(b"\n") {
                let too_long = "a line is longer than any that ctxpack writes";
                return Err(io::Error::new(io::ErrorKind::InvalidData, too_long));
            }
        }
        Ok(block)
    };
    let mut has_failed = false;
    std::iter::from_fn(move || {
        let block = (!has_failed).then(&mut read)?;
        has_failed = block.is_err();
        match block {
            Ok(block) if block.is_empty() => None,
            block => Some(block),
        }
    })
}

/// The next line of a file, and the number of bytes that it takes in the file; for a line longer than `most`, its first `most`
/// bytes. `None` at the end.
///
/// # Errors
/// The system's.
pub(super) fn next_line(
    file: &mut impl BufRead,
    most: u64,
    line: &mut Vec<u8>,
) -> io::Result<Option<u64>> {
    line.clear();
    let read = file.by_ref().take(most).read_until(b'\n', line)? as u64;
    Ok((read > 0).then_some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_lines_in_their_order() {
        let block = BLOCK_BYTES as usize;
        for text in [
            String::new(),
            "\n".repeat(3),
            "no end".to_owned(),
            "a line\n".repeat(block),
            format!("{}\nb\n{}", "a".repeat(block - 1), "c".repeat(3 * block)),
            format!("{}\nb\n", "a".repeat(2 * block)),
        ] {
            let read: io::Result<Vec<Vec<u8>>> = blocks(text.as_bytes(), u64::MAX).collect();
            let read = read.unwrap();
            assert!(read.concat() == text.as_bytes());
            let whole = read
                .iter()
                .rev()
                .skip(1)
                .all(|block| block.ends_with(b"\n"));
            assert!(whole, "a line is in one block");
            assert!(read.iter().all(|block| !block.is_empty()));
        }
        // A line that is too long is not held in memory, and nothing after it is taken for a line.
        let long = format!("{}\nb\n", "a".repeat(9 * block));
        let read: Vec<bool> = blocks(long.as_bytes(), 10)
            .map(|block| block.is_ok())
            .collect();
        assert_eq!(read, [false]);
    }

    #[test]
    fn rows_are_in_the_order_of_their_places() {
        let numbers = [0, 1, 7, u32::MAX];
        let offsets = [0, 1, u64::from(u32::MAX), 1 << 32, 1 << 40, u64::MAX];
        let mut places = Vec::new();
        for (key, file) in [0, 5, u64::MAX]
            .iter()
            .flat_map(|k| numbers.map(|f| (*k, f)))
        {
            for (offset, bytes) in offsets.iter().flat_map(|o| numbers.map(|b| (*o, b))) {
                places.push((key, file, offset, bytes));
            }
        }
        let row = |(key, file, offset, bytes)| {
            let place = Place {
                key,
                file,
                offset,
                bytes,
            };
            place.to_row()
        };
        let rows: Vec<[u64; 3]> = places.iter().copied().map(row).collect();
        assert!(rows.is_sorted_by(|a, b| a < b));
        let read = rows.into_iter().map(Place::of_row);
        assert!(read.map(|p| (p.key, p.file, p.offset, p.bytes)).eq(places));
    }

    #[test]
    fn nothing_is_read_after_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::Other.into())
            }
        }
        let read: Vec<bool> = blocks(Broken, 10).map(|block| block.is_ok()).collect();
        assert_eq!(read, [false]);
    }
}
