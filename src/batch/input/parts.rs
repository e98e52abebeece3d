//! Reads the next bytes of a large file in parts, on all threads that are idle, while others are hashed.
//!
//! Only a regular file is read so: its parts can be read in any order. What is read does not depend on the number of threads.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;

use crate::batch::limits::InputMeasure;
use crate::error::{Error, Result};
use crate::scan::LARGE;
use crate::threads;

/// The size of a part in bytes.
const PART: usize = LARGE / 8;
/// The number of bytes that are read before the run can be stopped.
const AT_ONCE: usize = 8 * PART;

/// The bytes of a part, with their measure.
type Part<'b> = (&'b [u8], InputMeasure);

/// Reads bytes of `file`, which is at `path`, from `at` on into `room`. `see` gets each part in its order, then `hash`, which may run on another thread.
/// Returns how many bytes were read: less than the room takes if the file ends there, or the system returned less than was asked
/// for.
///
/// # Errors
/// If the file cannot be read, and those of `see`.
pub(super) fn read(
    (file, path, at): (&File, &Path, u64),
    mut room: &mut [MaybeUninit<u8>],
    mut see: impl FnMut(&[u8], InputMeasure) -> Result<()>,
    mut hash: impl FnMut(&[u8]) + Send,
) -> Result<usize> {
    let mut done = 0;
    let mut seen: Vec<Part<'_>> = Vec::new();
    while !room.is_empty() {
        let size = room.len().min(AT_ONCE);
        let (here, rest) = room.split_at_mut(size);
        let hash_seen = || seen.iter().for_each(|(bytes, _)| hash(bytes));
        let new = fill((file, at + done as u64), here, hash_seen);
        let new = new.map_err(|error| Error::io(path, "read", error))?;
        let mut filled = 0;
        for (bytes, measure) in &new {
            see(bytes, *measure)?;
            filled += bytes.len();
        }
        done += filled;
        seen = new;
        room = if filled == size { rest } else { &mut [] };
    }
    seen.iter().for_each(|(bytes, _)| hash(bytes));
    Ok(done)
}

/// Fills `room` while `meanwhile` runs. Returns the parts that follow each other without a gap.
fn fill<'b>(
    (file, at): (&File, u64),
    room: &'b mut [MaybeUninit<u8>],
    meanwhile: impl FnOnce() + Send,
) -> io::Result<Vec<Part<'b>>> {
    let size = room.len();
    let parts = room.chunks_mut(PART).enumerate();
    let part = |(number, room): (usize, &'b mut [MaybeUninit<u8>])| {
        let bytes = one(file, at + (number * PART) as u64, room)?;
        Ok((bytes, InputMeasure::of(bytes)))
    };
    let ((), read) = threads::both(meanwhile, || threads::each(parts, part));
    let mut read = read.into_iter().collect::<io::Result<Vec<Part<'b>>>>()?;
    let gap = (0..read.len()).find(|n| read[*n].0.len() < PART.min(size - n * PART));
    read.truncate(gap.map_or(read.len(), |gap| gap + 1));
    Ok(read)
}

/// Reads once. Fewer bytes than there is room for are no error: whoever goes on reads the rest.
fn one<'b>(file: &File, at: u64, room: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b [u8]> {
    match rustix::io::pread(file, room, at) {
        Ok((read, _)) => Ok(read),
        Err(rustix::io::Errno::INTR) => Ok(&[]),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_at(file: &File, at: u64, room: usize) -> Vec<u8> {
        let mut buffer: Vec<u8> = Vec::with_capacity(room);
        let room = &mut buffer.spare_capacity_mut()[..room];
        let (mut seen, mut hashed) = (Vec::new(), Vec::new());
        let see = |bytes: &[u8], measure: InputMeasure| {
            assert_eq!(measure.bytes, bytes.len() as u64);
            seen.extend_from_slice(bytes);
            Ok(())
        };
        let read = read((file, Path::new("a"), at), room, see, |bytes| {
            hashed.extend_from_slice(bytes)
        });
        assert_eq!(read.unwrap(), seen.len());
        assert_eq!(seen, hashed);
        seen
    }

    #[test]
    fn parts_follow_each_other_up_to_the_end_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let text: Vec<u8> = (0..(AT_ONCE + PART) as u32 / 4 + 100)
            .flat_map(u32::to_le_bytes)
            .collect();
        file.write_all(&text).unwrap();
        assert_eq!(read_at(&file, 0, text.len()), text);
        assert_eq!(read_at(&file, 7, PART + 1), text[7..PART + 8]);
        assert_eq!(read_at(&file, 5, 3 * AT_ONCE), text[5..]);
        assert_eq!(
            read_at(&file, text.len() as u64 - 1, 10),
            text[text.len() - 1..]
        );
        assert!(read_at(&file, text.len() as u64, 10).is_empty());
    }
}
