//! Processes entries in pieces: threads prepare pieces while finished ones are shown in order.
//!
//! Knows nothing about the result. Only a few pieces are held at a time.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use crate::outcome::{Entries, Listed};

/// The number of entries that one thread prepares at a time, and the limit on their total bytes: the entry of a large input takes
/// megabytes.
const ENTRIES_PER_BATCH: usize = 256;
const A_PIECE_BYTES: u64 = 1 << 20;

/// Calls `make` for ranges of entries and shows the results in order, until all entries are done. All threads of the current pool
/// prepare pieces.
///
/// # Errors
/// The errors of `make` and of `show`.
pub(crate) fn in_turn<E: Listed, T: Send + Sync>(
    files: &dyn Entries<E>,
    make: impl Fn(Range<usize>) -> io::Result<T> + Sync,
    show: &mut dyn FnMut(&T) -> io::Result<()>,
) -> io::Result<()> {
    // A few entries need no threads.
    if !files.is_empty() && piece_end(files, 0) == files.len() {
        return show(&make(0..files.len())?);
    }
    let mut next = 0;
    let mut some_places = || {
        let mut places = Vec::new();
        while places.len() < rayon::current_num_threads() && next < files.len() {
            let end = piece_end(files, next);
            places.push(next..end);
            next = end;
        }
        places
    };
    let ready = |places: Vec<Range<usize>>| -> io::Result<Vec<T>> {
        places.into_par_iter().map(&make).collect()
    };
    let mut pieces = ready(some_places())?;
    while !pieces.is_empty() {
        let places = some_places();
        let mut following = Ok(Vec::new());
        // Prepare the next pieces while these are shown.
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| following = ready(places));
            pieces.iter().try_for_each(&mut *show)
        })?;
        pieces = following?;
    }
    Ok(())
}

/// The end of the piece that begins at an entry; it contains at least that entry.
fn piece_end<E: Listed>(files: &dyn Entries<E>, begin: usize) -> usize {
    let mut bytes = files.bytes_on_disk(begin);
    let most = (begin + ENTRIES_PER_BATCH).min(files.len());
    let fits = |at: &usize| {
        bytes += files.bytes_on_disk(*at);
        bytes <= A_PIECE_BYTES
    };
    (begin + 1..most)
        .take_while(fits)
        .last()
        .map_or(begin + 1, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::outcome::Outcome;

    /// Outcomes with known sizes and nothing else.
    struct Large(Vec<u64>);

    impl Entries for Large {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn get(&self, _: usize) -> io::Result<Cow<'_, Outcome>> {
            Err(io::Error::other("nothing is read"))
        }

        fn bytes_on_disk(&self, at: usize) -> u64 {
            self.0[at]
        }
    }

    #[test]
    fn a_piece_has_so_many_entries_and_so_many_bytes() {
        let ends = |sizes: &[u64]| {
            let files = Large(sizes.to_vec());
            let mut ends = vec![0];
            while let Some(begin) = ends.last().copied().filter(|begin| *begin < sizes.len()) {
                ends.push(piece_end(&files, begin));
            }
            ends.split_off(1)
        };
        let (half, more) = (A_PIECE_BYTES / 2, A_PIECE_BYTES + 1);
        assert_eq!(ends(&[1; 520]), [256, 512, 520]);
        assert_eq!(ends(&[half, half, half, 1, more, more, 1]), [2, 4, 5, 6, 7]);
        assert_eq!(ends(&[more]), [1]);
        assert!(ends(&[]).is_empty());
    }
}
