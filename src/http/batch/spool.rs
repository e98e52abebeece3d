//! The requests of a run, held back on disk until all of them are known, and how they are divided into batches.
//!
//! Only their names stay in memory: the requests of 100 000 conversations take 20 GB. Sends nothing.

use std::io::{self, Write};

use super::shape::{Most, UploadEnvelope};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::atomic::Scratch;

/// Whether the store had an answer to a request when it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Earlier {
    /// No.
    None,
    /// Yes, but it was not good enough.
    NotGood,
}

/// A request in a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    /// Its name, which is that of its answer in the store.
    pub(super) id: String,
    pub(super) earlier: Earlier,
    /// Its offset and its length in bytes.
    pub(super) place: (u64, u64),
}

/// Requests on disk.
#[derive(Debug)]
pub(super) struct Spool {
    scratch: Scratch,
    end: u64,
    pub(super) held: Vec<Held>,
}

impl Spool {
    /// Creates an empty spool in this store.
    ///
    /// # Errors
    /// The errors of [`Store::scratch`].
    pub(super) fn new(store: &Store) -> Result<Self> {
        Ok(Spool {
            scratch: store.scratch()?,
            end: 0,
            held: Vec::new(),
        })
    }

    /// Adds a request.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn add(&mut self, id: String, earlier: Earlier, request_line: &[u8]) -> Result<()> {
        let written = self.scratch.append(request_line);
        written.map_err(|e| Error::io("", "hold a request back", e))?;
        let place = (self.end, request_line.len() as u64);
        self.end += place.1;
        self.held.push(Held { id, earlier, place });
        Ok(())
    }

    /// Writes requests in their envelope.
    ///
    /// # Errors
    /// The errors of `out` and of the disk.
    pub(super) fn write(
        &mut self,
        held: &[Held],
        around: &UploadEnvelope,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(around.before.as_bytes())?;
        for (number, one) in held.iter().enumerate() {
            if number > 0 {
                out.write_all(around.between.as_bytes())?;
            }
            self.scratch.copy_to(one.place, out)?;
        }
        out.write_all(around.after.as_bytes())
    }
}

/// Divides requests, in order, so that no batch exceeds its limits. A request that is too large on its own gets its own batch, so
/// that the server reports it.
pub(super) fn divided(held: Vec<Held>, most: Most) -> Vec<Vec<Held>> {
    let mut batches: Vec<Vec<Held>> = Vec::new();
    let mut bytes = 0;
    for one in held {
        // Includes the separator.
        let size = one.place.1 + 2;
        match batches.last_mut() {
            Some(batch) if batch.len() < most.requests && bytes + size <= most.bytes => {
                bytes += size;
                batch.push(one);
            }
            Some(_) | None => {
                bytes = size;
                batches.push(vec![one]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::batch::shape::around;
    use crate::http::provider::Provider;
    use crate::store::folder::Durability;

    fn sizes(held: &[u64], requests: usize, bytes: u64) -> Vec<usize> {
        let held = held.iter().map(|size| Held {
            id: String::new(),
            earlier: Earlier::None,
            place: (0, *size),
        });
        let most = Most { requests, bytes };
        let batches = divided(held.collect(), most);
        batches.iter().map(Vec::len).collect()
    }

    #[test]
    fn batches_hold_as_much_as_they_may() {
        assert_eq!(sizes(&[], 2, 100), [0; 0]);
        assert_eq!(sizes(&[8; 5], 2, 100), [2, 2, 1]);
        assert_eq!(sizes(&[8; 5], 9, 30), [3, 2]);
        assert_eq!(sizes(&[8, 99, 8, 8], 9, 30), [1, 1, 2]);
        let all = vec![1_990; 100_001];
        assert_eq!(sizes(&all, 100_000, 255_000_000), [100_000, 1]);
    }

    #[test]
    fn what_was_held_back_comes_out_in_its_form() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let mut spool = Spool::new(&store).unwrap();
        for (id, request_line) in [("a", "{\"n\":1}"), ("b", "{\"n\":2}"), ("c", "{\"n\":3}")] {
            spool
                .add(id.to_owned(), Earlier::None, request_line.as_bytes())
                .unwrap();
        }
        let held = [spool.held[0].clone(), spool.held[2].clone()];
        let mut out = Vec::new();
        spool
            .write(&held, &around(Provider::Anthropic), &mut out)
            .unwrap();
        let sent: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(sent, serde_json::json!({"requests": [{"n": 1}, {"n": 3}]}));
    }
}
