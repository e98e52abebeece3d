//! A temporary file that will be renamed to its final name. It hashes and counts what is written, and has the mode and owner of
//! the file that it replaces.
//!
//! Leaves nothing if it is dropped. Locked while it exists, so that a sweep can tell it from leftovers of a killed run.

use std::ffi::OsStr;
#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::nameless::{NAMING, TempFile};
use super::{Committed, Durability, FileVersion, Mode, Why, Written, put};
use crate::store::folder::{Access, Folder};
use crate::threads;

/// Combines the many small slices of an edited transcript into a few system calls.
const BUFFER_BYTES: usize = 64 * 1024;

/// What a rename does if the name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum IfTaken {
    Replace,
    Fail,
}

/// Whether a file, which must not have changed, was replaced.
pub(super) enum Replaced {
    Done(Committed),
    Not(Why),
}

/// A temporary file that hashes and counts what is written to it.
///
/// The store uses it directly if the name depends on the bytes.
#[derive(Debug)]
pub(in crate::store) struct Temp {
    out: BufWriter<Hashing>,
    mode: Mode,
    pub(super) old: Option<Metadata>,
    /// Its modification time, if not now.
    pub(super) time: Option<SystemTime>,
}

impl Temp {
    /// Creates a file in `folder`, with the mode and owner of `old`, which it will replace.
    pub(in crate::store) fn create(
        folder: &Folder,
        mode: Mode,
        old: Option<Metadata>,
    ) -> io::Result<Self> {
        // Readable by everyone only if the final file is.
        let access = if old.is_none() && mode == Mode::Default {
            Access::Default
        } else {
            Access::Private
        };
        let file = TempFile::create(folder, access)?;
        Ok(Temp {
            out: BufWriter::with_capacity(
                BUFFER_BYTES,
                Hashing {
                    file,
                    hasher: blake3::Hasher::new(),
                    bytes: 0,
                },
            ),
            mode,
            old,
            time: None,
        })
    }

    /// Writes `pieces` while an idle thread, if there is one, hashes them.
    pub(super) fn write_all_hashed_beside<'p, I: Iterator<Item = &'p [u8]>>(
        &mut self,
        pieces: impl Fn() -> I + Sync,
    ) -> io::Result<()> {
        self.out.flush()?;
        let Hashing {
            file,
            hasher,
            bytes,
        } = self.out.get_mut();
        let (file, all) = (&file.file, &pieces);
        let failed = AtomicBool::new(false);
        let (written, hashed) = threads::both(
            || {
                let written = copy(all(), file);
                failed.store(written.is_err(), Ordering::Relaxed);
                written
            },
            || {
                copy(
                    all().take_while(|_| !failed.load(Ordering::Relaxed)),
                    hasher,
                )
            },
        );
        hashed?;
        *bytes += written?;
        Ok(())
    }

    pub(super) fn written(&mut self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(self.out.get_ref().written())
    }

    /// Flushes the bytes to the disk; the name is not there yet.
    pub(in crate::store) fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().file.file.sync_all()
    }

    /// Gives the file its name. Leaves nothing behind on failure.
    pub(in crate::store) fn persist(
        self,
        target: &OsStr,
        if_taken: IfTaken,
        durability: Durability,
    ) -> io::Result<Committed> {
        let (_, done) = self.persist_open(target, if_taken, durability)?;
        Ok(done)
    }

    /// The same; also returns the file, still open.
    pub(super) fn persist_open(
        self,
        target: &OsStr,
        if_taken: IfTaken,
        durability: Durability,
    ) -> io::Result<(TempFile, Committed)> {
        let (mut file, done) = self.complete(target, durability)?;
        {
            let _naming = NAMING.read();
            match if_taken {
                IfTaken::Replace => file.name.rename(target)?,
                IfTaken::Fail => file.name.rename_to_free(target)?,
            }
        }
        if durability == Durability::Durable {
            file.name.folder.sync()?;
        }
        Ok((file, done))
    }

    /// Replaces the file that `stamp` describes, unless it has changed.
    pub(super) fn replace(
        self,
        target: &OsStr,
        stamp: &FileVersion,
        durability: Durability,
    ) -> io::Result<Replaced> {
        let (file, done) = self.complete(target, durability)?;
        let folder = file.name.folder.clone();
        let put = {
            let _naming = NAMING.read();
            put(file, target, stamp)?
        };
        if let Some(why) = put {
            return Ok(Replaced::Not(why));
        }
        if durability == Durability::Durable {
            folder.sync()?;
        }
        Ok(Replaced::Done(done))
    }

    /// Completes the file: bytes, mode, owner and attributes, flushed if that was asked for.
    fn complete(
        mut self,
        target: &OsStr,
        durability: Durability,
    ) -> io::Result<(TempFile, Committed)> {
        let written = self.written()?;
        let TempFile { file, name } = &self.out.get_ref().file;
        let lost = match &self.old {
            Some(old) => dress_like(file, old, name.folder.read(target).ok().as_ref())?,
            None => {
                dress(file, &self.mode)?;
                Vec::new()
            }
        };
        if let Some(time) = self.time {
            file.set_modified(time)?;
        }
        if durability == Durability::Durable {
            self.sync()?;
        }
        let out = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok((out.file, Committed { written, lost }))
    }
}

impl Write for Temp {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes `pieces`; returns their length.
fn copy<'p>(pieces: impl Iterator<Item = &'p [u8]>, to: impl Write) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, to);
    let mut bytes = 0;
    for piece in pieces {
        out.write_all(piece)?;
        bytes += piece.len() as u64;
    }
    out.flush()?;
    Ok(bytes)
}

#[derive(Debug)]
struct Hashing {
    file: TempFile,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Hashing {
    fn written(&self) -> Written {
        Written {
            hash: crate::store::hash_text(&self.hasher.finalize()),
            bytes: self.bytes,
        }
    }
}

impl Write for Hashing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = (&self.file.file).write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sets the mode of a new file.
#[cfg(unix)]
fn dress(file: &File, mode: &Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match mode {
        Mode::Default => return Ok(()),
        Mode::Private => 0o600,
        Mode::Like(rights) => {
            #[cfg(any(target_os = "linux", target_vendor = "apple"))]
            if let Some(acl) = &rights.acl {
                // Without the list, the group's bits would grant more than they do in the old file.
                if super::attributes::set_acl(file, acl).is_err() {
                    return set_mode(file, rights.permissions.mode() & 0o700);
                }
            }
            rights.permissions.mode()
        }
    };
    set_mode(file, mode)
}

/// Gives a new file the mode, owner and attributes of the one that it replaces; returns what it could not be given.
#[cfg(unix)]
fn dress_like(file: &File, old: &Metadata, opened: Option<&File>) -> io::Result<Vec<String>> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let mut lost = Vec::new();
    let new = file.metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        // Only root may change an owner; for others the file belongs to whoever writes it, as with cp.
        let owned = fchown(file, Some(old.uid()), Some(old.gid()));
        if owned.is_err() {
            lost.push("its owner".to_owned());
            if fchown(file, None, Some(old.gid())).is_err() {
                lost.push("its group".to_owned());
            }
        }
    }
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match opened {
        Some(opened) => lost.extend(super::attributes::copy(opened, file)),
        None => lost.push("all extended attributes".to_owned()),
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    let _ = opened;
    set_mode(file, old.mode())?;
    Ok(lost)
}

/// A transcript is not a program, so set-user-id and set-group-id bits are not copied.
#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

#[cfg(not(unix))]
fn dress(_: &File, _: &Mode) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn dress_like(_: &File, _: &Metadata, _: Option<&File>) -> io::Result<Vec<String>> {
    Ok(Vec::new())
}
