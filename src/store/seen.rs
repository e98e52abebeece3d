//! What a file looks like, to tell later whether it was written to since.
//!
//! Plain data: decides nothing, and looks at no file but the one in which the system says which start of it this is.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file that was written to so shortly before it was read may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);
/// Longer than the system's clock takes from one time of a file to the next, in milliseconds.
const MOMENT: u64 = 20;

/// What a file is, as far as a look tells: an input when it was read, an output when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Seen {
    /// Its size in bytes, as it is stored.
    pub bytes: u64,
    /// Seconds and nanoseconds from 1970 to the last write to it; `None` if that proves nothing.
    pub modified: Option<(u64, u32)>,
    /// How it is told that nobody has touched it since: see [`Seen::of_output`].
    pub touched: Option<Touched>,
}

/// When a file was last changed in any way, written to or not: a time that no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touched {
    /// A number of that time, of which file it is, and of which start of the system that was.
    key: u64,
    /// Milliseconds from 1970 to that time.
    at: u64,
}

impl Seen {
    /// What `metadata` says.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since);
        Seen {
            bytes: metadata.len(),
            modified: modified.map(|since| (since.as_secs(), since.subsec_nanos())),
            touched: None,
        }
    }

    /// The same of a file that was just written, with when it was last touched, where the system says that and which of its starts
    /// this is: what was not flushed to the disk before a power cut may look as it did and hold something else.
    pub fn of_output(metadata: &Metadata) -> Self {
        Seen {
            touched: system::touched(metadata),
            ..Seen::of(metadata)
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
        self.modified.is_some() && (self.bytes, self.modified) == (now.bytes, now.modified)
    }

    /// Whether a file that looks like `now` is this one and nobody has touched it since, if that was noted by `noted`: the time of
    /// the last change of the note, in milliseconds from 1970. Whoever touches a file in the moment in which it was written leaves
    /// no trace: that is so only of what other programs did beside the run.
    pub(super) fn is_untouched(&self, now: Seen, noted: u64) -> bool {
        let is_traced = |touched: Touched| touched.at.saturating_add(MOMENT) <= noted;
        self.touched.is_some_and(is_traced) && *self == now
    }
}

/// When something of a file was last changed, in milliseconds from 1970; `None` where the system does not say.
pub(super) fn changed(metadata: &Metadata) -> Option<u64> {
    system::touched(metadata).map(|touched| touched.at)
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;
    use std::sync::OnceLock;

    use super::Touched;
    use crate::store::keys::key_of_bytes;

    /// Says which start of the system this is.
    const START: &str = "/proc/sys/kernel/random/boot_id";

    pub(super) fn touched(metadata: &Metadata) -> Option<Touched> {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        touched_by(metadata.ino(), changed)
    }

    /// That of a file with this inode that was last changed at this time, in seconds and nanoseconds.
    pub(in crate::store) fn touched_by(inode: u64, changed: (i64, i64)) -> Option<Touched> {
        static START_KEY: OnceLock<Option<u64>> = OnceLock::new();
        let start = START_KEY.get_or_init(|| Some(key_of_bytes(&fs::read(START).ok()?)));
        let seconds = u64::try_from(changed.0).ok()?;
        let nanos = u64::try_from(changed.1).ok()?;
        let parts = [inode, seconds, nanos, (*start)?];
        Some(Touched {
            key: key_of_bytes(parts.map(u64::to_le_bytes).as_flattened()),
            at: seconds
                .saturating_mul(1_000)
                .saturating_add(nanos / 1_000_000),
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::Metadata;

    use super::Touched;

    pub(super) fn touched(_: &Metadata) -> Option<Touched> {
        None
    }

    #[cfg(unix)]
    pub(in crate::store) fn touched_by(_: u64, _: (i64, i64)) -> Option<Touched> {
        None
    }
}

#[cfg(unix)]
pub(super) use system::touched_by;
