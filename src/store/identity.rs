//! File metadata for detecting later writes.
//!
//! Plain data: decides nothing, and reads only the file that identifies the current boot of the system.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file that was written to within this time before it was read may change again without a change of its time.
const SETTLED: Duration = Duration::from_secs(2);
/// Longer than the resolution of the system's file times, in milliseconds.
const MOMENT: u64 = 20;
/// A program that writes to a file through a memory mapping changes the file's time once, and again only after the written pages
/// have been flushed to disk: by Linux's default, after 30 s and at most 5 more. If flushing can take longer, no time of an input
/// is trusted.
const FLUSHED: Duration = Duration::from_secs(60);

/// The identity of a file, as far as its metadata tells: of an input when it was read, of an output when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct FileIdentity {
    /// Its size in bytes, as it is stored.
    pub bytes: u64,
    /// The time of the last write to it, in seconds and nanoseconds since 1970; `None` if the time proves nothing.
    pub modified: Option<(u64, u32)>,
    /// Shows that it has not been touched since: see [`FileIdentity::of_output`].
    pub touched: Option<Touched>,
}

/// The numbers of a [`FileIdentity`].
pub(super) const IDENTITY_WORDS: usize = 5;
const HAS_MODIFIED: u64 = 1 << 32;
const HAS_TOUCHED: u64 = 1 << 33;

/// When a file was last changed in any way, not only by writing: a time that no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touched {
    /// A hash of that time, of the file's inode, and of the current boot of the system.
    key: u64,
    /// That time, in milliseconds since 1970.
    at: u64,
}

impl FileIdentity {
    /// The identity according to `metadata`.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since);
        FileIdentity {
            bytes: metadata.len(),
            modified: modified.map(|since| (since.as_secs(), since.subsec_nanos())),
            touched: None,
        }
    }

    /// The same for a file that was just written, with the time at which it was last touched. That time is used only on a disk of
    /// this machine: on others, and in file systems that were not made for this system, it may be delayed, coarse, or set by a
    /// program. The current boot must be known as well: what was not flushed to disk before a power cut may look unchanged but have
    /// different contents.
    pub fn of_output(path: &Path, metadata: &Metadata) -> Self {
        FileIdentity::on(path, metadata, |times| times >= Times::Own)
    }

    /// The identity of an input according to `metadata`, with the time at which it was last touched. Other programs may write to it
    /// in any way: see [`FileIdentity::settled`]. The time is used only if writes are flushed to a disk in time.
    pub fn of_input(path: &Path, metadata: &Metadata) -> Self {
        FileIdentity::on(path, metadata, |times| times >= Times::Complete)
    }

    fn on(path: &Path, metadata: &Metadata, is_enough: impl Fn(Times) -> bool) -> Self {
        let is_known = is_enough(system::times_of(path, metadata));
        FileIdentity {
            touched: system::touched(metadata).filter(|_| is_known),
            ..FileIdentity::of(metadata)
        }
    }

    /// The same for an input that is being read, without times that prove nothing: another program may still be writing to it.
    #[must_use]
    pub fn settled(self) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let is_past = |then: Duration| now.is_some_and(|now| then <= now);
        let is_settled =
            |(seconds, nanos): &(u64, u32)| is_past(Duration::new(*seconds, *nanos) + SETTLED);
        let is_flushed =
            |touched: &Touched| is_past(Duration::from_millis(touched.at).saturating_add(FLUSHED));
        FileIdentity {
            modified: self.modified.filter(is_settled),
            touched: self.touched.filter(is_flushed),
            ..self
        }
    }

    /// It as numbers.
    pub(super) fn to_words(self) -> [u64; IDENTITY_WORDS] {
        let (seconds, nanos) = self.modified.unwrap_or_default();
        let (key, at) = self
            .touched
            .map_or((0, 0), |touched| (touched.key, touched.at));
        let mut flags = u64::from(nanos);
        flags |= self.modified.map_or(0, |_| HAS_MODIFIED);
        flags |= self.touched.map_or(0, |_| HAS_TOUCHED);
        [self.bytes, seconds, flags, key, at]
    }

    /// The reverse of [`FileIdentity::to_words`].
    pub(super) fn of_words(words: &[u64; IDENTITY_WORDS]) -> Self {
        let &[bytes, seconds, flags, key, at] = words;
        FileIdentity {
            bytes,
            modified: (flags & HAS_MODIFIED != 0).then_some((seconds, flags as u32)),
            touched: (flags & HAS_TOUCHED != 0).then_some(Touched { key, at }),
        }
    }

    /// Whether an input with the identity `now` is the one that was read, and has not been touched since.
    pub fn is_untouched(&self, now: FileIdentity) -> bool {
        self.touched.is_some() && *self == now
    }

    /// Whether a file with the identity `now` has not been written to since, according to its size and time.
    pub fn is_still(&self, now: FileIdentity) -> bool {
        self.modified.is_some() && (self.bytes, self.modified) == (now.bytes, now.modified)
    }

    /// Whether an output with the identity `now` is the one that was written, and has not been touched since, if notes on other
    /// files followed it until `noted`, in milliseconds since 1970. Touching a file at the very moment at which it was written
    /// leaves no trace; after the end of the run, that moment is over.
    pub(super) fn is_untouched_output(&self, now: FileIdentity, noted: u64) -> bool {
        let is_traced = |touched: Touched| touched.at.saturating_add(MOMENT) <= noted;
        self.touched.is_some_and(is_traced) && *self == now
    }
}

/// How reliable a file system's change times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Times {
    /// They may be delayed, coarse, or set by a program.
    Foreign,
    /// They are the system's own.
    Own,
    /// Likewise, and each write changes them, including writes through a mapping, once earlier writes have been flushed to disk.
    Complete,
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::{Mutex, OnceLock, PoisonError};
    use std::time::Duration;

    use super::{FLUSHED, Times, Touched, milliseconds};
    use crate::store::keys::key_of_bytes;

    /// Identifies the current boot of the system.
    const START: &str = "/proc/sys/kernel/random/boot_id";
    /// File systems on disks whose pages the system itself writes back, by their numbers in `statfs(2)`: ext, XFS, Btrfs, F2FS.
    const ON_DISKS: [u32; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];
    /// Other file systems whose times are the system's own: bcachefs, ZFS, tmpfs, overlayfs.
    const OURS: [u32; 4] = [0xca45_1a4e, 0x2fc1_2fc1, 0x0102_1994, 0x794c_7630];

    pub(super) fn times_of(path: &Path, metadata: &Metadata) -> Times {
        static KNOWN: Mutex<Vec<(u64, Times)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let device = metadata.dev();
        if let Some((_, times)) = known.iter().find(|(known, _)| *known == device) {
            return *times;
        }
        // The number has 32 bits, whatever type the system gives it.
        let times = match rustix::fs::statfs(path).map(|of| of.f_type as u32) {
            Ok(number) if ON_DISKS.contains(&number) && is_flushed_in_time() => Times::Complete,
            Ok(number) if ON_DISKS.contains(&number) || OURS.contains(&number) => Times::Own,
            Ok(_) | Err(_) => Times::Foreign,
        };
        known.push((device, times));
        times
    }

    /// Whether written data reaches the disk well within [`FLUSHED`].
    fn is_flushed_in_time() -> bool {
        let hundredths = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/vm/{name}")).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let ages =
            hundredths("dirty_expire_centisecs").zip(hundredths("dirty_writeback_centisecs"));
        // Zero means never.
        ages.is_some_and(|(age, every)| {
            let longest = Duration::from_millis(age.saturating_add(every).saturating_mul(10));
            every > 0 && longest.saturating_add(FLUSHED / 4) <= FLUSHED
        })
    }

    pub(super) fn touched(metadata: &Metadata) -> Option<Touched> {
        let seconds = u64::try_from(metadata.ctime()).ok()?;
        let nanos = u32::try_from(metadata.ctime_nsec()).ok()?;
        touched_by(metadata.ino(), (seconds, nanos))
    }

    /// The value for a file with this inode that was last changed at this time, in seconds and nanoseconds. A time in whole seconds
    /// is too coarse to tell anything.
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

    use super::{Times, Touched};

    pub(super) fn times_of(_: &Path, _: &Metadata) -> Times {
        Times::Foreign
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

/// Converts seconds and nanoseconds since 1970 to milliseconds.
pub(super) fn milliseconds((seconds, nanos): (u64, u32)) -> u64 {
    seconds
        .saturating_mul(1_000)
        .saturating_add(u64::from(nanos / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_untouched_only_if_it_was_left_alone_for_long() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seen = |age: u64| {
            let at = now.saturating_sub(Duration::from_secs(age));
            FileIdentity {
                bytes: 7,
                modified: Some((at.as_secs(), 5)),
                touched: Some(Touched {
                    key: 3,
                    at: at.as_millis() as u64,
                }),
            }
        };
        for (age, is) in [
            (0, false),
            (3, false),
            (50, false),
            (61, true),
            (9_999, true),
        ] {
            let read = seen(age).settled();
            assert_eq!(read.is_untouched(seen(age)), is, "{age}");
        }
        let read = seen(61).settled();
        let (touched, modified) = (read.touched.unwrap(), read.modified.unwrap());
        let is_untouched = |change: &dyn Fn(&mut FileIdentity)| {
            let mut now = seen(61);
            change(&mut now);
            read.is_untouched(now)
        };
        assert!(is_untouched(&|_| {}));
        assert!(!is_untouched(&|now| now.bytes = 8));
        assert!(!is_untouched(&|now| now.modified = Some((modified.0, 6))));
        assert!(!is_untouched(&|now| now.touched = None));
        assert!(!is_untouched(
            &|now| now.touched = Some(Touched { key: 4, ..touched })
        ));
        // A time in the future was set by a program.
        let ahead = FileIdentity {
            modified: Some((now.as_secs() + 9_999, 0)),
            ..seen(61)
        };
        assert!(!ahead.settled().is_untouched(ahead));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_the_system_tells_nothing() {
        let path = Path::new("/proc/self/status");
        let metadata = path.metadata().unwrap();
        assert_eq!(FileIdentity::of_input(path, &metadata).touched, None);
        assert_eq!(FileIdentity::of_output(path, &metadata).touched, None);
    }
}
