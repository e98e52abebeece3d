//! Reads standard input in a thread of its own, so that a signal can end a run that waits for a silent writer.
//!
//! Does not read far ahead: a writer that is faster than the run waits.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// The size of a pipe on Linux, in bytes: a read seldom returns more.
const PIECE: usize = 64 << 10;
/// The number of pieces read ahead.
const PIECES: usize = 16;
/// How often to check for a signal while nothing arrives.
const PATIENCE: Duration = Duration::from_millis(50);

/// Standard input.
#[derive(Debug)]
pub struct Stdin<'s> {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
    stop: &'s AtomicUsize,
    ended: Option<&'s AtomicBool>,
}

impl<'s> Stdin<'s> {
    /// Starts reading. `stop` is the signal that ends the run, 0 = none yet. Call it only once in a process: what was read ahead is
    /// lost to other readers.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if no thread can be started.
    pub fn open(stop: &'s AtomicUsize) -> Result<Self> {
        let (send, pieces) = sync_channel(PIECES);
        let read = move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut piece = vec![0; PIECE];
                let read = stdin.read(&mut piece);
                let read = read.map(|n| {
                    piece.truncate(n);
                    piece
                });
                let is_last = match &read {
                    Ok(piece) => piece.is_empty(),
                    Err(e) => e.kind() != io::ErrorKind::Interrupted,
                };
                if send.send(read).is_err() || is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .spawn(read)
            .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start a thread: {e}")))?;
        Ok(Stdin {
            pieces,
            piece: io::Cursor::default(),
            stop,
            ended: None,
        })
    }

    /// The same, but reading also ends when `ended` is set because the input is no longer needed.
    #[must_use]
    pub(super) fn until(self, ended: &'s AtomicBool) -> Self {
        Stdin {
            ended: Some(ended),
            ..self
        }
    }
}

impl Read for Stdin<'_> {
    /// Fails if a signal has ended the run.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.piece.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.piece = io::Cursor::new(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.load(Ordering::Relaxed) != 0 {
                // Not `Interrupted`, which would make readers retry.
                return Err(io::Error::other("interrupted"));
            }
            if self
                .ended
                .is_some_and(|ended| ended.load(Ordering::Relaxed))
            {
                return Ok(0);
            }
        }
    }
}
