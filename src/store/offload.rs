//! Tool outputs that were moved out of a transcript: text files named by the hash of their content.
//!
//! Names are read from placeholders in transcripts, which are not trusted. Never reads or writes outside `offloaded/`, and never
//! returns bytes that do not match the hash in the name.

use std::ffi::OsStr;
use std::io::{self, Write};

use super::atomic::{IfTaken, Mode, Temp, remove_opened};
use super::folder::Durability;
use super::folder::not_plain;
use super::{NAME_DIGITS, Store, content_name, is_content_name};
use crate::error::{Error, ErrorKind, Result};

pub(super) const OFFLOADED: &str = "offloaded";
const ENDING: &str = ".txt";
/// Longer than any path of a system, in bytes.
const LONGEST: usize = 32 << 10;
const READING: &str = "read the offloaded content";
const OTHER_STORE: &str =
    "it is in the store of the run that compacted the transcript; name that store with --store";

/// The name of `content` in any store: `offloaded/<32hex>.txt`, relative to the store. Pure.
pub fn offload_name(content: &[u8]) -> String {
    content_name(OFFLOADED, &blake3::hash(content), ENDING)
}

/// Computes the [`offload_name`] of a content in pieces. Pure.
#[derive(Debug, Default)]
pub struct OffloadHash(blake3::Hasher);

impl OffloadHash {
    /// Adds a piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The name of all of them together.
    pub fn name(&self) -> String {
        content_name(OFFLOADED, &self.0.finalize(), ENDING)
    }
}

/// Whether `name` has exactly the form of an [`offload_name`]. Pure.
pub fn is_offload_name(name: &str) -> bool {
    is_content_name(name, OFFLOADED, ENDING)
}

/// The [`offload_name`] at the end of a single-line path, however the path spells the store's folder: texts name contents relative
/// to the store, relative to the output, or with absolute paths. Pure.
pub fn offload_in(path: &str) -> Option<&str> {
    let len = OFFLOADED.len() + 1 + NAME_DIGITS + ENDING.len();
    let (folder, name) = path.split_at_checked(path.len().checked_sub(len)?)?;
    let is_folder = folder.is_empty() || folder.ends_with('/');
    let is_path = is_folder && folder.len() <= LONGEST && !folder.contains(char::is_control);
    (is_path && is_offload_name(name)).then_some(name)
}

/// Every [`offload_name`] in `bytes`, in order, even if another program has escaped its slash. Pure.
pub fn offload_names_in(bytes: &[u8]) -> impl Iterator<Item = String> {
    let len = NAME_DIGITS + ENDING.len();
    let begins = memchr::memmem::find_iter(bytes, OFFLOADED);
    let names = begins.filter_map(move |at| {
        let after = &bytes[at + OFFLOADED.len()..];
        let after = after.strip_prefix(b"\\").unwrap_or(after);
        let file = std::str::from_utf8(after.strip_prefix(b"/")?.get(..len)?).ok()?;
        Some(format!("{OFFLOADED}/{file}"))
    });
    names.filter(|name| is_offload_name(name))
}

/// What was found under the name of an offloaded content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Its bytes have the hash in its name.
    Whole,
    /// Its bytes have a different hash.
    Damaged,
}

/// Writes to both the hash and the writer.
struct Tee<'w, W: Write>(OffloadHash, &'w mut W);

impl<W: Write> Write for Tee<'_, W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.1.write(piece)?;
        self.0.update(&piece[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

impl Store {
    /// Stores `content` and returns its name.
    #[cfg(test)]
    pub(super) fn put_offload(&self, content: &[u8]) -> Result<String> {
        let name = offload_name(content);
        self.put_offload_as(&name, |out| out.write_all(content))?;
        Ok(name)
    }

    /// Stores under `name` what `write` writes. Existing content is checked and kept; damaged content is replaced.
    ///
    /// With [`Durability::Durable`] the content is on the disk afterwards, and its name after the next [`Store::record`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when the name does not match what is written, or belongs to something other than a regular file;
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn put_offload_as(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let folder = self.folder(OFFLOADED)?;
        let file = file_of(name)?;
        let path = self.root.join(name);
        let failed = |e| not_plain(&path, "write", e);
        // A link counts as taken; reading it is refused.
        let if_taken = match folder.look(file).map_err(failed)? {
            None => IfTaken::Fail,
            Some(_) if self.pour_offload(name, &mut io::sink())? == Found::Whole => return Ok(()),
            // The new content replaces it only if it has the right hash.
            Some(_) => IfTaken::Replace,
        };
        let mut temp = Temp::create(&folder, Mode::Private, None).map_err(failed)?;
        let mut hashing = Tee(OffloadHash::default(), &mut temp);
        write(&mut hashing).map_err(failed)?;
        if hashing.0.name() != name {
            return Err(
                Error::new(ErrorKind::Store, "a content does not match its name").at(&path),
            );
        }
        if self.durability == Durability::Durable {
            temp.sync().map_err(failed)?;
        }
        match temp.persist(file, if_taken, Durability::Lazy) {
            Ok(_) => Ok(()),
            // Another thread or run has stored the same content meanwhile.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.copy_offload(name, &mut io::sink())
            }
            Err(e) => Err(failed(e)),
        }
    }

    /// Returns this store's content under a name made by [`offload_name`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when the name has any other form, when no such content is kept, when what is there
    /// is a link or not a regular file, or when its bytes do not match the name.
    pub fn read_offload(&self, name: &str) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.copy_offload(name, &mut content)?;
        Ok(content)
    }

    /// Deletes contents that only the output of this name ever needed, after the end of a run; returns the result for each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when another output needs one by now, or another run uses the store; [`ErrorKind::Io`] when the system
    /// refuses.
    pub fn delete_offloads(&self, names: &[String], output: &str) -> Vec<(String, Result<()>)> {
        self.release();
        let held = self
            .lock()
            .and_then(|lock| Ok((lock, self.offload_owners()?)));
        let delete = |name: &String| {
            let (_, owners) = held
                .as_ref()
                .map_err(|error| Error::new(error.kind, error.message.clone()).at(&self.root))?;
            if !owners.is_offload_of(name, output) {
                return Err(Error::new(
                    ErrorKind::Store,
                    "another output still refers to it",
                ));
            }
            let path = self.root.join(name);
            let failed = |e| not_plain(&path, "delete", e);
            let Some(folder) = self.part(OFFLOADED)? else {
                return Err(failed(io::ErrorKind::NotFound.into()));
            };
            let file = file_of(name)?;
            let opened = folder.read(file).map_err(failed)?;
            remove_opened(&folder, file, &opened)
                .map(drop)
                .map_err(failed)
        };
        names
            .iter()
            .map(|name| (name.clone(), delete(name)))
            .collect()
    }

    /// Writes an offloaded content to `to`, and checks that it matches this name.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when it is missing or does not match; [`ErrorKind::Io`] when the system refuses.
    pub fn copy_offload(&self, name: &str, to: &mut impl Write) -> Result<()> {
        match self.pour_offload(name, to)? {
            Found::Whole => Ok(()),
            Found::Damaged => Err(Error::new(
                ErrorKind::Store,
                "the offloaded content is damaged: its hash does not match its name",
            )
            .at(self.root.join(name))
            .hint("compacting the original again restores it")),
        }
    }

    /// Writes to `to` what is found under the name of an offloaded content.
    fn pour_offload(&self, name: &str, to: &mut impl Write) -> Result<Found> {
        file_of(name)?;
        let mut hashing = Tee(OffloadHash::default(), to);
        let mut file = self.open_content(name, READING, OTHER_STORE)?;
        io::copy(&mut file, &mut hashing).map_err(|e| Error {
            kind: ErrorKind::Store,
            ..Error::io(self.root.join(name), READING, e).hint(OTHER_STORE)
        })?;
        Ok(match hashing.0.name() == name {
            true => Found::Whole,
            false => Found::Damaged,
        })
    }
}

/// The file name, within its folder, of a name made by [`offload_name`].
fn file_of(name: &str) -> Result<&OsStr> {
    if is_offload_name(name) {
        return Ok(OsStr::new(&name[OFFLOADED.len() + 1..]));
    }
    // The name itself is not shown: it may be very long or contain control characters.
    Err(
        Error::new(ErrorKind::Store, "malformed name of an offloaded result")
            .hint("names have the form offloaded/<32 hexadecimal digits>.txt"),
    )
}
