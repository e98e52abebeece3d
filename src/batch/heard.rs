//! What a hook writes to one of its streams, read while it runs so that it never waits for us.
//!
//! Keeps only its beginning.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::text::printable;

/// How much is read at once, in bytes.
const READ_BUFFER: usize = 4096;
/// How many characters of a line a message shows.
const SHOWN: usize = 300;
/// How long to wait for output after the end of a hook. Its background processes may keep its standard error open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The beginning of what a hook writes.
pub(super) struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Heard {
    /// Reads to the end, so that no hook waits for us, however much it writes.
    pub(super) fn listen(mut from: impl Read + Send + 'static, most: usize) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (at_end, end): (Sender<()>, _) = channel();
        let heard = Arc::clone(&bytes);
        let listen = move || {
            let mut buffer = [0; READ_BUFFER];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                let room = most - heard.len();
                heard.extend_from_slice(&buffer[..n.min(room)]);
            }
            drop(at_end);
        };
        // If no thread can be started, only the hook's message is lost.
        let _ = thread::Builder::new().spawn(listen);
        Heard { bytes, end }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        let _ = self.end.recv_timeout(LAST_WORDS);
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.clone()
    }

    pub(super) fn first_line(self) -> String {
        let bytes = self.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        printable(line.unwrap_or_default())
            .chars()
            .take(SHOWN)
            .collect()
    }
}
