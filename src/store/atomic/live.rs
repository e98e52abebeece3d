//! Gives a new file the name of one that other programs may be appending to.
//!
//! An agent that opens its file for each line, and one that keeps it open, both write to the file and not to its name:
//! after a rename their lines could end in a file that nobody finds. So, in this order:
//!
//! 1. A file that somebody has open for writing is left alone, and so is one that is no longer what was read.
//! 2. The names of the old and of the new file are exchanged. Who wants to open one of them for writing waits meanwhile.
//! 3. Those who were late, and have the old file open now, get a moment to write and close. What they appended is copied
//!    to the end of the new file, before anybody else can append to it: lines keep their order.
//! 4. Who does not close by then is an agent that began just now: the names are exchanged back, and the old file is left
//!    alone after all. Lines that others wanted to append meanwhile come late, but they come.
//! 5. Between finding a file by its name and opening it, a program can be made to wait by the system; nobody sees it then.
//!    A file that was written to just now is therefore watched for a moment longer after it has lost its name.
//!
//! All of this holds on Linux where the file system has leases and the file is the user's own. Elsewhere (1) sees only
//! changes, not open files, and (3) waits a fixed moment instead: what an agent that keeps its file open writes later is
//! lost. Nowhere does it help against a kill between (2) and (3); what was appended in that moment is lost then.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::lease::{Against, Hold, hold};
use super::nameless::Nameless;
use super::{Stamp, Why, place};
use crate::store::folder::Folder;

/// How long an agent may take to append what it has to append. Before the exchange nothing is lost by giving up; after it,
/// a disk that is busy with others is no reason to go back.
const BEFORE: Duration = Duration::from_millis(20);
const AFTER: Duration = Duration::from_secs(1);
/// What an agent gets instead where nobody can say whether it is done.
const BLIND: Duration = Duration::from_millis(5);
/// How long a program may take from finding a file by its name to opening it: a microsecond, unless others get the
/// processor in between. On a loaded machine one exchange in some hundred meets that while thousands of lines a second
/// are appended. Who wants to append meanwhile waits.
const GRACE: Duration = Duration::from_millis(50);
/// The age from which on a file is not watched: whoever writes more seldom than this does not meet that moment.
const RECENT: Duration = Duration::from_secs(2);

/// Gives `temp`, complete, the name `target` of the file that `stamp` is of, unless there is a reason against it, which is
/// given back.
///
/// # Errors
///
/// The system's. The old file has its name then, with all that was appended to it, unless the file system cannot
/// exchange names.
pub(super) fn put(temp: Nameless, target: &OsStr, stamp: &Stamp) -> io::Result<Option<Why>> {
    // The handle is closed before the end; the name stays until then.
    let Nameless {
        file: new,
        mut name,
    } = temp;
    let folder = name.folder.clone();
    let old = folder.read(target)?;
    // Another run that replaces this file; when it is done, the stamp tells.
    if matches!(old.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(Some(Why::Busy));
    }
    let length = new.metadata()?.len();
    let fence = hold(&new, Against::All);

    let lease = quiet(&old, Against::Writers, BEFORE);
    if matches!(lease, Hold::Busy) {
        return Ok(Some(Why::Busy));
    }
    if Stamp::of(&old.metadata()?) != *stamp || !is(&folder, target, |seen| seen == *stamp)? {
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
        // Nobody may go on in the new file before what came late stands in it.
        return watch(&old, seen, &new).map(|()| None);
    }
    folder.exchange(&name.name, target)?;
    if done.is_err() {
        // The old file has these lines; they must not come back from here.
        new.set_len(length)?;
    }
    // Who found the new file under the name meanwhile has waited for this.
    drop(fence);
    let seen = folder.read(&name.name)?;
    drop(new);
    watch(&seen, length, &folder.append(target)?)?;
    done.map(Result::err)
}

/// Whether what stands under a name in a folder is as `wanted` says.
fn is(folder: &Folder, name: &OsStr, wanted: impl FnOnce(Stamp) -> bool) -> io::Result<bool> {
    let seen = folder.look(name)?;
    Ok(seen.is_some_and(|seen| wanted(Stamp::of(&seen))))
}

/// Moves what came late from the old file, which has the name `name` now, to the new one. How long the old one is then.
fn settle(
    old: &File,
    folder: &Folder,
    name: &OsStr,
    stamp: &Stamp,
    new: &File,
) -> io::Result<Result<u64, Why>> {
    let old_place = place(&old.metadata()?);
    if !is(folder, name, |seen| seen.place == old_place)? {
        // Somebody else gave the name to a third file in the moment after the last look.
        return Ok(Err(Why::Changed));
    }
    let lease = late(old);
    if matches!(lease, Hold::Busy) {
        return Ok(Err(Why::Busy));
    }
    append(old, stamp.bytes, new)
}

/// Appends to `heir` what others still write to `file`, which no longer has its name, behind the first `seen` bytes. The
/// handle of `file` must be one for reading.
fn watch(file: &File, mut seen: u64, heir: &File) -> io::Result<()> {
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    let end = Instant::now() + if age < RECENT { GRACE } else { Duration::ZERO };
    loop {
        let hold = quiet(file, Against::Writers, AFTER);
        seen = append(file, seen, heir)?.unwrap_or(seen);
        let Hold::Held { lease } = hold else {
            return Ok(());
        };
        // Who comes late waits for the lease, and is heard of.
        while !lease.is_wanted() {
            if Instant::now() >= end {
                return Ok(());
            }
            sleep(Duration::from_millis(1));
        }
    }
}

fn late(old: &File) -> Hold<'_> {
    let lease = quiet(old, Against::Writers, AFTER);
    if matches!(lease, Hold::Unknown) {
        sleep(BLIND);
    }
    lease
}

/// Holds a file once nobody else writes to it; [`Hold::Busy`] when that takes too long.
fn quiet(file: &File, against: Against, patience: Duration) -> Hold<'_> {
    let end = Instant::now() + patience;
    loop {
        match hold(file, against) {
            Hold::Busy if Instant::now() < end => sleep(Duration::from_micros(200)),
            hold => return hold,
        }
    }
}

/// Copies what is behind the first `length` bytes of `from` to the end of `to`, and says how many bytes `from` has then.
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
