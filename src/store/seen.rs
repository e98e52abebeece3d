//! What a file looks like, to tell later whether it was written to since.
//!
//! Plain data: decides nothing, and looks at no file.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

/// A file that was written to so shortly before it was read may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// What a file is, as far as a look tells: an input when it was read, an output when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Seen {
    /// Its size in bytes, as it is stored.
    pub bytes: u64,
    /// Seconds and nanoseconds from 1970 to the last write to it; `None` if that proves nothing.
    pub modified: Option<(u64, u32)>,
}

impl Seen {
    /// What `metadata` says.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since);
        Seen {
            bytes: metadata.len(),
            modified: modified.map(|since| (since.as_secs(), since.subsec_nanos())),
        }
    }

    /// The same, without a time if the file was written to a moment before it was read.
    #[must_use]
    pub fn settled(self) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let is_settled = |(seconds, nanos): &(u64, u32)| {
            let then = Duration::new(*seconds, *nanos);
            now.is_some_and(|now| then + SETTLED <= now)
        };
        Seen {
            modified: self.modified.filter(is_settled),
            ..self
        }
    }

    /// Whether a file that looks like `now` has not been written to since, as its size and time tell.
    pub fn is_still(&self, now: Seen) -> bool {
        self.modified.is_some() && *self == now
    }
}
