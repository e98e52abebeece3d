//! Reads the user's files that a transcript names, only from below one folder.
//!
//! A path in a transcript is untrusted, so it is never opened as it is: the folder is opened once, and each step from there is
//! one plain name relative to the folder before it. No link is followed and no step goes up, so no path leads out, even if
//! folders are renamed meanwhile. Only reads, and only regular files.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::facts::{Content, Lines};
use crate::policy::Restore;
use crate::redact::is_secret_file;

/// A folder that files are read from.
///
/// A path is below the folder if it is relative, or begins with the folder's own path, as it was given or with links resolved.
/// Another absolute path is never mapped into the folder, not even if the session was recorded in a folder of the same name:
/// the content of another project's file would be worse than none.
///
/// A hard link below the folder counts as below it, since it is indistinguishable from a file. So does a folder that is moved
/// out after it was opened.
#[derive(Debug)]
pub struct Root {
    folder: walk::Folder,
    /// Its own paths, which are stripped from absolute paths.
    own: [PathBuf; 2],
    /// The most bytes that are read of one file.
    max_bytes: usize,
}

/// Why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRead {
    /// Its path is not below the folder, or a step of it goes up.
    Outside,
    /// Files of that name contain secrets.
    Secret,
    /// It does not exist.
    Missing,
    /// It is not a regular file, or its path contains a link.
    NoFile,
    /// It is not UTF-8 text.
    NoText,
    /// The system denied access.
    Refused,
    /// Its last read shows a text that its tool never writes for a file.
    Unclear,
    /// Its content was known when it was read, but something may have changed it since.
    MayHaveChanged,
    /// Compaction has replaced what its last read showed, and only an older content is known.
    Replaced,
}

impl NotRead {
    /// The reason as a part of a sentence: "not read: …".
    pub fn reason(self) -> &'static str {
        match self {
            NotRead::Outside => "its path leads out of the folder",
            NotRead::Secret => "files with this name usually contain secrets",
            NotRead::Missing => "the file does not exist",
            NotRead::NoFile => "it is not a regular file, or its path goes through a link",
            NotRead::NoText => "it is not text in UTF-8",
            NotRead::Refused => "the system denied access",
            NotRead::MayHaveChanged => "something may have changed it since it was read",
            NotRead::Replaced => "the result of its last read has been cleared",
            NotRead::Unclear => {
                "its last read lacks the tool's usual line numbers, so its content is uncertain"
            }
        }
    }
}

/// Bytes to read per token that may be restored: enough for any text that is not mostly blanks.
const BYTES_A_TOKEN: u64 = 32;
/// The most bytes that are read of a file, however many tokens may be restored.
const MOST_BYTES: u64 = 16 << 20;

impl Root {
    /// Opens the policy's folder; `None` if it names none.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if it is not a folder, or is or contains the user's home folder, or if the system has no way to read
    /// below a folder. The system's error if it cannot be opened.
    pub fn open(settings: &Restore) -> Result<Option<Root>> {
        let home = std::env::home_dir();
        Root::open_unless_home(settings, home.as_deref())
    }

    fn open_unless_home(settings: &Restore, home: Option<&Path>) -> Result<Option<Root>> {
        let Some(given) = settings.root.path() else {
            return Ok(None);
        };
        let given = given.as_path();
        let refused = |message: &str| {
            Error::new(ErrorKind::Config, message)
                .at(given)
                .hint("name the folder of the project that the transcripts are about")
        };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::Unsupported => Error::new(
                ErrorKind::Config,
                "files cannot be read from a folder on this system",
            )
            .at(given)
            .hint("without --files-root, files are restored from the transcript"),
            _ => Error::io(given, "read files below it", error),
        };
        let plain = given.canonicalize().map_err(failed)?;
        let home = home.and_then(|home| home.canonicalize().ok());
        if plain.parent().is_none() || home.is_some_and(|home| home.starts_with(&plain)) {
            return Err(refused(
                "this folder is too broad: it is the root folder, or contains your home folder",
            ));
        }
        if !plain.is_dir() {
            return Err(refused("this is no folder to read files from"));
        }
        let max_bytes = settings
            .tokens_per_file
            .saturating_mul(BYTES_A_TOKEN)
            .min(MOST_BYTES);
        Ok(Some(Root {
            folder: walk::open(&plain).map_err(failed)?,
            own: [std::path::absolute(given).map_err(failed)?, plain],
            max_bytes: max_bytes as usize,
        }))
    }

    /// The text of a file that a transcript names: all of it, or its first lines if it is longer than what could be restored.
    ///
    /// # Errors
    /// Why it is not read.
    pub fn read(&self, path: &str) -> Result<Content, NotRead> {
        let names = self.below(path)?;
        if is_secret_file(&names.join("/")) {
            return Err(NotRead::Secret);
        }
        // One extra byte shows whether the file is longer.
        let bytes = walk::read(&self.folder, &names, self.max_bytes as u64 + 1)?;
        content(bytes, self.max_bytes)
    }

    /// The path components that lead from the folder to a file.
    fn below<'p>(&self, path: &'p str) -> Result<Vec<&'p str>, NotRead> {
        let path = Path::new(path);
        let own = self.own.iter();
        let below = if path.has_root() {
            own.filter_map(|own| path.strip_prefix(own).ok()).next()
        } else {
            Some(path)
        };
        let below = below.and_then(Path::to_str).ok_or(NotRead::Outside)?;
        let names = below.split('/').filter(|name| !matches!(*name, "" | "."));
        let names: Vec<&str> = names.collect();
        let leads_out = |name: &&str| *name == ".." || name.contains('\0');
        if names.is_empty() || names[0].starts_with('~') || names.iter().any(leads_out) {
            return Err(NotRead::Outside);
        }
        Ok(names)
    }
}

/// The text of a file, given its bytes up to one more than `max_bytes`.
fn content(mut bytes: Vec<u8>, max_bytes: usize) -> Result<Content, NotRead> {
    let is_more = bytes.len() > max_bytes;
    bytes.truncate(max_bytes);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The last character may be incomplete.
        Err(error) if is_more && error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).map_err(|_| NotRead::NoText)?
        }
        Err(_) => return Err(NotRead::NoText),
    };
    if text.contains('\0') {
        return Err(NotRead::NoText);
    }
    if !is_more {
        return Ok(Content {
            text,
            lines: Lines::ALL,
        });
    }
    let text = match text.rfind('\n') {
        Some(end) => text[..end].to_owned(),
        None => text,
    };
    let last = text.split('\n').count() as u64;
    Ok(Content {
        lines: Lines {
            first: 1,
            last: Some(last),
        },
        text,
    })
}

/// Walks down from a folder, one name at a time.
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod walk {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open as open_path, openat, statat};
    use rustix::io::Errno;

    use super::NotRead;

    pub(super) type Folder = OwnedFd;

    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);
    /// Non-blocking, so that a pipe without a writer or a device does not stop the run.
    const FILE: OFlags = OFlags::RDONLY
        .union(OFlags::NOFOLLOW)
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::CLOEXEC);

    pub(super) fn open(folder: &Path) -> io::Result<Folder> {
        Ok(open_path(folder, FOLDER, Mode::empty())?)
    }

    /// The first `most` bytes of the file that `names` lead to.
    pub(super) fn read(root: &Folder, names: &[&str], most: u64) -> Result<Vec<u8>, NotRead> {
        let (name, folders) = names.split_last().ok_or(NotRead::NoFile)?;
        let mut below: Option<OwnedFd> = None;
        for folder in folders {
            let from = below.as_ref().unwrap_or(root);
            below = Some(openat(from, *folder, FOLDER, Mode::empty()).map_err(why)?);
        }
        let folder = below.as_ref().unwrap_or(root);
        let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
        // Opening some devices has side effects, so check before opening. Check again afterwards: by then the name may refer to
        // another file.
        let named = statat(folder, *name, AtFlags::SYMLINK_NOFOLLOW).map_err(why)?;
        if !is_file(named.st_mode) {
            return Err(NotRead::NoFile);
        }
        let file = openat(folder, *name, FILE, Mode::empty()).map_err(why)?;
        if !is_file(fstat(&file).map_err(why)?.st_mode) {
            return Err(NotRead::NoFile);
        }
        let mut bytes = Vec::new();
        let read = File::from(file).take(most).read_to_end(&mut bytes);
        read.map_err(|_| NotRead::Refused)?;
        Ok(bytes)
    }

    fn why(error: Errno) -> NotRead {
        match error {
            Errno::NOENT | Errno::NAMETOOLONG => NotRead::Missing,
            Errno::LOOP | Errno::NOTDIR | Errno::ISDIR => NotRead::NoFile,
            _ => NotRead::Refused,
        }
    }
}

/// Other systems read nothing: they have no known call that stays below a folder whatever happens to it meanwhile.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod walk {
    use std::io;
    use std::path::Path;

    use super::NotRead;

    #[derive(Debug)]
    pub(super) struct Folder;

    pub(super) fn open(_: &Path) -> io::Result<Folder> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn read(_: &Folder, _: &[&str], _: u64) -> Result<Vec<u8>, NotRead> {
        Err(NotRead::Refused)
    }
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod tests;
