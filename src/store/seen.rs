//! What a file looks like, to tell later whether it was written to since.
//!
//! Plain data: decides nothing, and looks at no file but the one in which the system says which start of it this is.

use std::fs::Metadata;
use std::path::Path;
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

    /// The same of a file that was just written, with when it was last touched. That is known only on a disk of this machine: on
    /// others, and in file systems that were not made for this system, that time may come late, be coarse, or be set. And the
    /// system must say which of its starts this is: what was not flushed to the disk before a power cut may look as it did and
    /// hold something else.
    pub fn of_output(path: &Path, metadata: &Metadata) -> Self {
        let is_known = system::is_on_a_disk_of_ours(path, metadata);
        Seen {
            touched: system::touched(metadata).filter(|_| is_known),
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

    /// Whether a file that looks like `now` is this one and nobody has touched it since, if other files were noted after it until
    /// `noted`, in milliseconds from 1970. Whoever touches a file in the moment in which it was written leaves no trace; after the
    /// end of the run, that moment is over.
    pub(super) fn is_untouched(&self, now: Seen, noted: u64) -> bool {
        let is_traced = |touched: Touched| touched.at.saturating_add(MOMENT) <= noted;
        self.touched.is_some_and(is_traced) && *self == now
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::{Touched, milliseconds};
    use crate::store::keys::key_of_bytes;

    /// Says which start of the system this is.
    const START: &str = "/proc/sys/kernel/random/boot_id";
    /// The file systems whose times of changes are the system's own, by the numbers of `statfs(2)`: ext, XFS, Btrfs, F2FS,
    /// bcachefs, ZFS, tmpfs, overlayfs.
    const OURS: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0xca45_1a4e,
        0x2fc1_2fc1,
        0x0102_1994,
        0x794c_7630,
    ];

    pub(super) fn is_on_a_disk_of_ours(path: &Path, metadata: &Metadata) -> bool {
        static KNOWN: Mutex<Vec<(u64, bool)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let device = metadata.dev();
        if let Some((_, is)) = known.iter().find(|(known, _)| *known == device) {
            return *is;
        }
        // The number has 32 bits, whatever type the system gives it.
        let is = rustix::fs::statfs(path).is_ok_and(|of| OURS.contains(&(of.f_type as u32)));
        known.push((device, is));
        is
    }

    pub(super) fn touched(metadata: &Metadata) -> Option<Touched> {
        let seconds = u64::try_from(metadata.ctime()).ok()?;
        let nanos = u32::try_from(metadata.ctime_nsec()).ok()?;
        touched_by(metadata.ino(), (seconds, nanos))
    }

    /// That of a file with this inode that was last changed at this time, in seconds and nanoseconds. A time in whole seconds is
    /// too coarse to tell anything.
    pub(in crate::store) fn touched_by(
        inode: u64,
        (seconds, nanos): (u64, u32),
    ) -> Option<Touched> {
        static START_KEY: OnceLock<Option<u64>> = OnceLock::new();
        let start = START_KEY.get_or_init(|| Some(key_of_bytes(&fs::read(START).ok()?)));
        let parts = [inode, seconds, nanos.into(), (*start)?];
        (nanos > 0).then(|| Touched {
            key: key_of_bytes(parts.map(u64::to_le_bytes).as_flattened()),
            at: milliseconds((seconds, nanos)),
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::Metadata;
    use std::path::Path;

    use super::Touched;

    pub(super) fn is_on_a_disk_of_ours(_: &Path, _: &Metadata) -> bool {
        false
    }

    pub(super) fn touched(_: &Metadata) -> Option<Touched> {
        None
    }

    #[cfg(unix)]
    pub(in crate::store) fn touched_by(_: u64, _: (u64, u32)) -> Option<Touched> {
        None
    }
}

#[cfg(unix)]
pub(super) use system::touched_by;

/// Milliseconds from 1970 to a time in seconds and nanoseconds.
pub(super) fn milliseconds((seconds, nanos): (u64, u32)) -> u64 {
    seconds
        .saturating_mul(1_000)
        .saturating_add(u64::from(nanos / 1_000_000))
}
