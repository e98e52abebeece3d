//! A temporary file on its way to a name: it hashes and counts what it is given, and has the mode and owner of what it
//! replaces.
//!
//! Dropped, it leaves nothing. Locked for as long as it lives, so that a sweep can tell it from what a killed run left.

use std::ffi::OsStr;
#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use super::nameless::{NAMING, Nameless};
use super::{Committed, Durability, Mode, Stamp, Why, Written, put};
use crate::store::folder::{Access, Folder};

/// Collects the many small slices of a spliced transcript into few system calls.
const BUFFER_BYTES: usize = 64 * 1024;

/// What a rename does when its name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum IfTaken {
    Replace,
    Fail,
}

/// What became of a file that was to be replaced if it had not changed.
pub(super) enum Replaced {
    Done(Committed),
    Not(Why),
}

/// A temporary file that hashes and counts what it is given, and has no name yet.
///
/// The store uses it directly where the name depends on the bytes.
#[derive(Debug)]
pub(in crate::store) struct Temp {
    out: BufWriter<Hashing>,
    mode: Mode,
    pub(super) old: Option<Metadata>,
    /// When it says that it was written, if not now.
    pub(super) time: Option<SystemTime>,
}

impl Temp {
    /// A fresh file in `folder`; `old` is what it will replace, whose mode and owner it takes over.
    pub(in crate::store) fn create(
        folder: &Folder,
        mode: Mode,
        old: Option<Metadata>,
    ) -> io::Result<Self> {
        // Only a file that everybody may read in the end may be read by everybody before it.
        let access = if old.is_none() && mode == Mode::Default {
            Access::Default
        } else {
            Access::Private
        };
        let file = Nameless::create(folder, access)?;
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

    pub(super) fn written(&mut self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(self.out.get_ref().written())
    }

    /// Puts the bytes on the disk; their name is not yet there.
    pub(in crate::store) fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().file.file.sync_all()
    }

    /// Gives the file its name. On failure nothing is left.
    pub(in crate::store) fn persist(
        self,
        target: &OsStr,
        if_taken: IfTaken,
        durability: Durability,
    ) -> io::Result<Committed> {
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
        Ok(done)
    }

    /// Gives the file the name of the one that `stamp` is of, if that is possible without harm.
    pub(super) fn replace(
        self,
        target: &OsStr,
        stamp: &Stamp,
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

    /// The file with all its bytes, mode, owner and attributes, as far on the disk as was asked for.
    fn complete(
        mut self,
        target: &OsStr,
        durability: Durability,
    ) -> io::Result<(Nameless, Committed)> {
        let written = self.written()?;
        let Nameless { file, name } = &self.out.get_ref().file;
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

#[derive(Debug)]
struct Hashing {
    file: Nameless,
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

/// Gives a new file the mode that was asked for.
#[cfg(unix)]
fn dress(file: &File, mode: &Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match mode {
        Mode::Default => return Ok(()),
        Mode::Private => 0o600,
        Mode::Like(rights) => {
            #[cfg(any(target_os = "linux", target_vendor = "apple"))]
            if let Some(acl) = &rights.acl {
                // Without it, the group's bits would mean more than they do there.
                if super::attributes::set_acl(file, acl).is_err() {
                    return set_mode(file, rights.permissions.mode() & 0o700);
                }
            }
            rights.permissions.mode()
        }
    };
    set_mode(file, mode)
}

/// Gives a new file the mode, owner and attributes of the one that it replaces; what it could not be given.
#[cfg(unix)]
fn dress_like(file: &File, old: &Metadata, opened: Option<&File>) -> io::Result<Vec<String>> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let mut lost = Vec::new();
    let new = file.metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        // Only root may give a file away; for everybody else the file becomes the writer's, as with cp.
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

/// A transcript is never a program: the bits that lend rights are not handed on.
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
