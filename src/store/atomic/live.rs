//! Replaces a file that other programs may be appending to.
//!
//! Agents write to an open file, not to its name, whether they open it for each line or keep it open. After a rename, their
//! lines could end in a file without a name. So these are the steps:
//!
//! 1. A file that another process has open for writing, or that has changed since it was read, is not replaced.
//! 2. The names of the old and the new file are exchanged. Meanwhile, processes that open either for writing have to wait.
//! 3. Processes that opened the old file in the meantime get a moment to write and close it. What they appended is copied to
//!    the end of the new file before any other process can append to it, so lines keep their order.
//! 4. A process that does not close the file by then is an agent that has just started: the names are exchanged back, and the
//!    old file is not replaced. Lines that other processes wanted to append are late, but not lost.
//! 5. A process can be suspended between looking up a name and opening the file, and cannot be detected while it is. So a file that
//!    was written to recently is watched for a moment after it has lost its name.
//!
//! This works on Linux if the file system has leases and the file belongs to the user. Otherwise (1) detects only changes, not
//! open files, and (3) waits for a fixed time: what an agent that keeps its file open writes later is lost. If ctxpack is
//! killed between (2) and (3), what was appended in that moment is lost on any system.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::lease::{Against, Hold, hold};
use super::nameless::TempFile;
use super::{FileVersion, Why, place};
use crate::store::folder::Folder;

/// How long an agent may take to append its lines. Giving up before the exchange loses nothing; after it, a busy disk alone is
/// no reason to undo the exchange.
const BEFORE: Duration = Duration::from_millis(20);
const AFTER: Duration = Duration::from_secs(1);
/// The time for an agent if it cannot be known whether it has finished.
const BLIND: Duration = Duration::from_millis(5);
/// How long a process may take from looking up a name to opening the file: a microsecond, unless it is suspended in between. On a
/// loaded machine, about one exchange in a hundred encounters this while thousands of lines per second are appended. Other
/// processes that want to append wait meanwhile.
const GRACE: Duration = Duration::from_millis(50);
/// A file is not watched if its last change is older than this: then a write in that moment is unlikely.
const RECENT: Duration = Duration::from_secs(2);

/// Renames `temp`, which is complete, to `target`, the name of the file that `stamp` describes; or returns the reason why not.
///
/// # Errors
///
/// The system's. The old file has its name then, with everything that was appended, unless the file system cannot exchange
/// names.
pub(super) fn put(temp: TempFile, target: &OsStr, stamp: &FileVersion) -> io::Result<Option<Why>> {
    // The handle is closed before the end of this function; the name is kept until then.
    let TempFile {
        file: new,
        mut name,
    } = temp;
    let folder = name.folder.clone();
    let old = folder.read(target)?;
    // Another run may be replacing this file; the stamp shows that afterwards.
    if matches!(old.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(Some(Why::Busy));
    }
    let length = new.metadata()?.len();
    let fence = hold(&new, Against::All);

    let lease = quiet(&old, BEFORE);
    if matches!(lease, Hold::Busy) {
        return Ok(Some(Why::Busy));
    }
    if FileVersion::of(&old.metadata()?) != *stamp || !is(&folder, target, |seen| seen == *stamp)? {
        return Ok(Some(Why::Changed));
    }
    if folder.exchange(&name.name, target).is_err() {
        name.rename(target)?;
        drop(lease);
        let _lease = late(&old);
        return Ok(append(&old, stamp.bytes, &new)?.err());
    }
    drop(lease);
    let done = settle(&old, &folder, &name.name, stamp, &new);
    if let Ok(Ok(seen)) = done {
        // No process may append to the new file before the late lines are in it.
        return watch(&old, seen, &new).map(|()| None);
    }
    folder.exchange(&name.name, target)?;
    if done.is_err() {
        // The old file has these lines; they must not be copied back.
        new.set_len(length)?;
    }
    // Processes that opened the new file meanwhile have waited for this.
    drop(fence);
    let seen = folder.read(&name.name)?;
    drop(new);
    watch(&seen, length, &folder.append(target)?)?;
    done.map(Result::err)
}

/// Whether the file with this name in a folder satisfies `wanted`.
fn is(folder: &Folder, name: &OsStr, wanted: impl FnOnce(FileVersion) -> bool) -> io::Result<bool> {
    let seen = folder.look(name)?;
    Ok(seen.is_some_and(|seen| wanted(FileVersion::of(&seen))))
}

/// Moves late lines from the old file, now named `name`, to the new one. Returns the length of the old one.
fn settle(
    old: &File,
    folder: &Folder,
    name: &OsStr,
    stamp: &FileVersion,
    new: &File,
) -> io::Result<Result<u64, Why>> {
    let old_place = place(&old.metadata()?);
    if !is(folder, name, |seen| seen.place == old_place)? {
        // Another process has given the name to a third file since the last check.
        return Ok(Err(Why::Changed));
    }
    let lease = late(old);
    if matches!(lease, Hold::Busy) {
        return Ok(Err(Why::Busy));
    }
    append(old, stamp.bytes, new)
}

/// Appends to `heir` what other processes still write after the first `seen` bytes of `file`, which has lost its name. `file` must
/// be open for reading only.
fn watch(file: &File, mut seen: u64, heir: &File) -> io::Result<()> {
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    let end = Instant::now() + if age < RECENT { GRACE } else { Duration::ZERO };
    loop {
        let hold = quiet(file, AFTER);
        seen = append(file, seen, heir)?.unwrap_or(seen);
        let Hold::Held { lease } = hold else {
            return Ok(());
        };
        // A late process waits for the lease, and that can be detected.
        while !lease.is_wanted() {
            if Instant::now() >= end {
                return Ok(());
            }
            sleep(Duration::from_millis(1));
        }
    }
}

fn late(old: &File) -> Hold<'_> {
    let lease = quiet(old, AFTER);
    if matches!(lease, Hold::Unknown) {
        sleep(BLIND);
    }
    lease
}

/// Leases a file once no other process writes to it; [`Hold::Busy`] if that takes too long.
fn quiet(file: &File, patience: Duration) -> Hold<'_> {
    let end = Instant::now() + patience;
    loop {
        match hold(file, Against::Writers) {
            Hold::Busy if Instant::now() < end => sleep(Duration::from_micros(200)),
            hold => return hold,
        }
    }
}

/// Copies what follows the first `length` bytes of `from` to the end of `to`, and returns the length of `from`.
fn append(mut from: &File, length: u64, mut to: &File) -> io::Result<Result<u64, Why>> {
    let now = from.metadata()?.len();
    if now == length {
        return Ok(Ok(length));
    }
    if now < length {
        return Ok(Err(Why::Changed));
    }
    let mut lines = Vec::new();
    from.seek(SeekFrom::Start(length))?;
    from.read_to_end(&mut lines)?;
    to.seek(SeekFrom::End(0))?;
    to.write_all(&lines)?;
    Ok(Ok(length + lines.len() as u64))
}
